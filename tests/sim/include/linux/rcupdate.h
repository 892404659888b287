/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: no other task runs inside a read-side section, so a grace period is short. */
#ifndef SIM_LINUX_RCUPDATE_H
#define SIM_LINUX_RCUPDATE_H

#include <linux/slab.h>

void rcu_read_lock(void);
void rcu_read_unlock(void);
void synchronize_rcu(void);
void sim_free_rcu(void *p);

#define kfree_rcu(p, field)	sim_free_rcu(p)
#define kvfree_rcu(p, field)	sim_free_rcu(p)
#define call_rcu(head, func)	(func)(head)
#define rcu_barrier()		synchronize_rcu()
#define rcu_dereference(p)	READ_ONCE(p)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_assign_pointer(p, v)	WRITE_ONCE(p, v)
#define RCU_INIT_POINTER(p, v)	((p) = (v))

#endif
