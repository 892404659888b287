/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: mutexes that check how they are used. */
#ifndef SIM_LINUX_MUTEX_H
#define SIM_LINUX_MUTEX_H

#include <linux/kernel.h>
#include <linux/lockdep.h>

struct task_sim;

struct mutex {
	struct task_sim *owner, *heir;
	const char *name;
	bool ready;
};

#define DEFINE_MUTEX(x)	struct mutex x = { .ready = true }

void sim_mutex_init(struct mutex *m, const char *name);
void mutex_destroy(struct mutex *m);
void sim_mutex_lock(struct mutex *m, const char *where);
bool sim_mutex_trylock(struct mutex *m, const char *where);
void sim_mutex_unlock(struct mutex *m, const char *where);

#define mutex_init(m)			sim_mutex_init(m, #m)
#define mutex_lock(m)			sim_mutex_lock(m, __func__)
#define mutex_lock_nested(m, n)		sim_mutex_lock(m, __func__)
#define mutex_lock_interruptible(m)	(sim_mutex_lock(m, __func__), 0)
#define mutex_trylock(m)		sim_mutex_trylock(m, __func__)
#define mutex_unlock(m)			sim_mutex_unlock(m, __func__)
#define mutex_is_locked(m)		((m)->owner != NULL)

#endif
