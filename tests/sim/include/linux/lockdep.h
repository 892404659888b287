/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: assertions that really check. */
#ifndef SIM_LINUX_LOCKDEP_H
#define SIM_LINUX_LOCKDEP_H

#include <linux/kernel.h>

struct spinlock;
struct mutex;
struct rw_semaphore;
void sim_assert_spin(const struct spinlock *l, const char *where);
void sim_assert_mutex(const struct mutex *l, const char *where);

#define lockdep_assert_held(l) _Generic((l),				\
	struct mutex *: sim_assert_mutex,				\
	const struct mutex *: sim_assert_mutex,				\
	struct spinlock *: sim_assert_spin,				\
	const struct spinlock *: sim_assert_spin)((const void *)(l), __func__)
#define lockdep_assert_held_once	lockdep_assert_held
#define lockdep_assert_not_held(l)	do { (void)(l); } while (0)
#define lockdep_assert(c)		WARN_ON(!(c))
#define lockdep_set_class(l, k)		do { } while (0)
#define lockdep_set_subclass(l, k)	do { } while (0)
struct lock_class_key {
	int dummy;
};

#endif
