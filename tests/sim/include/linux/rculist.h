/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_RCULIST_H
#define SIM_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#define hlist_add_head_rcu(n, h)		hlist_add_head(n, h)
#define hlist_del_rcu(n)			hlist_del(n)
#define hlist_for_each_entry_rcu(p, h, member)	hlist_for_each_entry(p, h, member)

#endif
