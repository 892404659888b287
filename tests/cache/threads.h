/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests with threads, which compile a file of the policy into their own: real locks and real
 * atomic accesses in place of the stand-ins. Include it before that file, and after all headers.
 */
#ifndef CACHE_THREADS_H
#define CACHE_THREADS_H

#include <sched.h>

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_load_acquire
#undef smp_store_release
#undef spin_lock
#undef spin_unlock
#undef spin_lock_irqsave
#undef spin_unlock_irqrestore
#undef atomic_inc_return
#undef atomic_read
#define READ_ONCE(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)		__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)		__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define spin_lock(l)			real_lock(l)
#define spin_unlock(l)			real_unlock(l)
#define spin_lock_irqsave(l, f)		do { (f) = 0; real_lock(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); real_unlock(l); } while (0)
#define atomic_read(a)			READ_ONCE((a)->counter)
#define atomic_inc_return(a)		__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_SEQ_CST)

/*
 * Lets other threads run often, so that they meet accesses without the lock, and what has changed
 * between two takings of it.
 */
static void give_way(void)
{
	static __thread unsigned int calls;

	if (++calls % 5 == 0)
		sched_yield();
}

static void real_lock(spinlock_t *lock)
{
	give_way();
	while (__atomic_exchange_n(&lock->usage, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void real_unlock(spinlock_t *lock)
{
	__atomic_store_n(&lock->usage, 0, __ATOMIC_RELEASE);
	give_way();
}

#endif /* CACHE_THREADS_H */
