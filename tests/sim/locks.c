// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spinlocks, mutexes, wait queues and RCU, with the checks of lockdep and might_sleep(): no sleep
 * with a spinlock held, no release of a lock that is not held, no lock taken both in interrupts and
 * with interrupts on.
 */
#include <string.h>

#include "sched.h"

#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#define USED_IRQS_ON	1
#define USED_IN_IRQ	2

static void remember(const void *lock, const char *where)
{
	struct task_sim *t = sim_current;

	if (t->nr_locks == TASK_LOCKS)
		sim_fail("%s: too many locks held", where);
	t->locks[t->nr_locks] = lock;
	t->lock_places[t->nr_locks++] = where;
}

static void forget(const void *lock, const char *where)
{
	struct task_sim *t = sim_current;
	u32 i;

	for (i = t->nr_locks; i && t->locks[i - 1] != lock; i--)
		;
	if (!i)
		sim_fail("%s: releases a lock that it does not hold", where);
	for (t->nr_locks--; i <= t->nr_locks; i++) {
		t->locks[i - 1] = t->locks[i];
		t->lock_places[i - 1] = t->lock_places[i];
	}
}

/* --- takings ------------------------------------------------------------------------ */

/* So many places in the code take a lock of which there is one in a pool. */
#define PLACES	128u

static struct {
	const char *lock, *place;
	u32 taken;
} places[PLACES];
static u32 nr_places;
static bool counting;

void sim_count_takings(void)
{
	nr_places = 0;
	counting = true;
}

u32 sim_takings(void)
{
	u32 all = 0, i;

	counting = false;
	for (i = 0; i < nr_places; i++)
		all += places[i].taken;
	return all;
}

u32 sim_takings_in(const char *place)
{
	u32 all = 0, i;

	for (i = 0; i < nr_places; i++)
		all += strcmp(places[i].place, place) ? 0 : places[i].taken;
	return all;
}

void sim_print_takings(FILE *to)
{
	u32 i;

	for (i = 0; i < nr_places; i++)
		fprintf(to, "\t%u\t%s in %s\n", places[i].taken, places[i].lock, places[i].place);
}

/* One of many locks is no lock that all processors take. */
static void taken(const char *lock, const char *where)
{
	u32 i;

	if (!counting || strchr(lock, '['))
		return;
	for (i = 0; i < nr_places && (places[i].lock != lock || strcmp(places[i].place, where));
	     i++)
		;
	if (i == PLACES)
		sim_fail("%s: too many places take locks", where);
	if (i == nr_places) {
		places[nr_places].lock = lock;
		places[nr_places].place = where;
		places[nr_places++].taken = 0;
	}
	places[i].taken++;
}

/* --- spinlocks ---------------------------------------------------------------------- */

void sim_spin_lock_init(spinlock_t *lock, const char *name)
{
	lock->owner = NULL;
	lock->name = name;
	lock->usage = 0;
	lock->ready = true;
}

bool sim_spin_trylock(spinlock_t *lock, const char *where)
{
	if (!lock->ready)
		sim_fail("%s: spinlock was not initialised", where);
	if (lock->owner)
		return false;
	lock->owner = sim_current;
	sim_current->spins++;
	taken(lock->name, where);
	remember(lock, where);
	return true;
}

void sim_spin_lock(spinlock_t *lock, bool irq_off, const char *where)
{
	/* On another processor a task may be held up here as anywhere. */
	if (sim_slow)
		sim_maybe_preempt();
	/* No task switch happens with a spinlock held, so it can only be ours. */
	if (lock->owner)
		sim_fail("%s: deadlock on a spinlock held by %s", where, lock->owner->name);
	if (sim_current->irq)
		lock->usage |= USED_IN_IRQ;
	else if (!irq_off)
		lock->usage |= USED_IRQS_ON;
	if (lock->usage == (USED_IRQS_ON | USED_IN_IRQ))
		sim_fail("%s: lock is taken in interrupts and with interrupts on", where);
	sim_spin_trylock(lock, where);
}

void sim_spin_unlock(spinlock_t *lock, const char *where)
{
	if (lock->owner != sim_current)
		sim_fail("%s: releases a spinlock that it does not hold", where);
	lock->owner = NULL;
	sim_current->spins--;
	forget(lock, where);
	sim_maybe_preempt();
}

bool sim_spin_held(const spinlock_t *lock)
{
	return lock->owner == sim_current;
}

void sim_assert_spin(const struct spinlock *lock, const char *where)
{
	if (lock->owner != sim_current)
		sim_fail("%s: a spinlock should be held", where);
}

/* --- mutexes ---------------------------------------------------------------------------- */

void sim_mutex_init(struct mutex *m, const char *name)
{
	m->owner = NULL;
	m->heir = NULL;
	m->name = name;
	m->ready = true;
}

void mutex_destroy(struct mutex *m)
{
	if (m->owner)
		sim_fail("a held mutex is destroyed");
	m->ready = false;
}

bool sim_mutex_trylock(struct mutex *m, const char *where)
{
	if (!m->ready)
		sim_fail("%s: mutex was not initialised", where);
	if (sim_current->irq)
		sim_fail("%s: mutex in interrupt", where);
	if (m->owner || (m->heir && m->heir != sim_current))
		return false;
	m->owner = sim_current;
	m->heir = NULL;
	taken(m->name, where);
	remember(m, where);
	return true;
}

void sim_mutex_lock(struct mutex *m, const char *where)
{
	sim_might_sleep(where);
	sim_maybe_preempt();
	if (m->owner == sim_current)
		sim_fail("%s: deadlock on a mutex that it holds", where);
	sim_work_takes(m, where);
	while (!sim_mutex_trylock(m, where)) {
		if (sim_hands_over && !m->heir)
			m->heir = sim_current;
		sim_block(m, where);
	}
}

void sim_mutex_unlock(struct mutex *m, const char *where)
{
	if (m->owner != sim_current)
		sim_fail("%s: releases a mutex that it does not hold", where);
	m->owner = NULL;
	forget(m, where);
	sim_wake(m);
	sim_maybe_preempt();
}

void sim_assert_mutex(const struct mutex *m, const char *where)
{
	if (m->owner != sim_current)
		sim_fail("%s: a mutex should be held", where);
}

/* --- wait queues --------------------------------------------------------------------------- */

void init_waitqueue_head(wait_queue_head_t *wq)
{
	wq->wakes = 1;
	wq->ready = true;
}

void wake_up_all(wait_queue_head_t *wq)
{
	if (!wq->ready)
		sim_fail("a wait queue was not initialised");
	wq->wakes++;
	sim_wake(wq);
}

u64 sim_wakes(const wait_queue_head_t *wq)
{
	if (!wq->ready)
		sim_fail("a wait queue was not initialised");
	return wq->wakes;
}

void sim_wait(wait_queue_head_t *wq, u64 seen, const char *why)
{
	sim_might_sleep(why);
	if (wq->wakes == seen)
		sim_block(wq, why);
}

bool sim_wait_until(wait_queue_head_t *wq, u64 seen, u64 until, const char *why)
{
	sim_might_sleep(why);
	if (until <= jiffies)
		return false;
	return wq->wakes != seen || sim_block_until(wq, why, until);
}

/* Returns true too often rather than too rarely: a task may be about to wait. */
bool waitqueue_active(wait_queue_head_t *wq)
{
	return wq->ready;
}

void schedule_timeout_uninterruptible(long timeout)
{
	static const char channel;

	sim_block_until(&channel, "timeout", jiffies + (timeout > 0 ? timeout : 1));
}

/* --- RCU ------------------------------------------------------------------------------------ */

void rcu_read_lock(void)
{
	sim_current->rcu++;
}

void rcu_read_unlock(void)
{
	if (!sim_current->rcu--)
		sim_fail("rcu_read_unlock without a lock");
}

void synchronize_rcu(void)
{
	sim_might_sleep(__func__);
	sim_yield();
}

/* No task switch happens inside a read-side section: only our own could still use it. */
void sim_free_rcu(void *p)
{
	if (sim_current->rcu)
		sim_fail("kfree_rcu inside a read-side section");
	sim_free(p);
}
