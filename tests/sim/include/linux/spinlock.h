/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: spinlocks that check how they are used. They never spin. */
#ifndef SIM_LINUX_SPINLOCK_H
#define SIM_LINUX_SPINLOCK_H

#include <linux/kernel.h>
#include <linux/lockdep.h>

struct task_sim;

/* @name: as the engine calls it where it is set up; a lock with '[' in it is one of many. */
typedef struct spinlock {
	struct task_sim *owner;
	const char *name;
	u8 usage;		/* taken with interrupts on; taken in an interrupt */
	bool ready;
} spinlock_t;
typedef spinlock_t raw_spinlock_t;

#define __SPIN_LOCK_UNLOCKED(x)	{ .ready = true }
#define DEFINE_SPINLOCK(x)	spinlock_t x = __SPIN_LOCK_UNLOCKED(x)

void sim_spin_lock_init(spinlock_t *lock, const char *name);
void sim_spin_lock(spinlock_t *lock, bool irq_off, const char *where);
bool sim_spin_trylock(spinlock_t *lock, const char *where);
void sim_spin_unlock(spinlock_t *lock, const char *where);
bool sim_spin_held(const spinlock_t *lock);

#define spin_lock_init(l)	sim_spin_lock_init(l, #l)
#define spin_lock(l)		sim_spin_lock(l, false, __func__)
#define spin_unlock(l)		sim_spin_unlock(l, __func__)
#define spin_trylock(l)		sim_spin_trylock(l, __func__)
#define spin_lock_bh(l)		spin_lock(l)
#define spin_unlock_bh(l)	spin_unlock(l)
#define spin_lock_irq(l)	sim_spin_lock(l, true, __func__)
#define spin_unlock_irq(l)	spin_unlock(l)
#define spin_lock_nested(l, n)	spin_lock(l)
#define spin_lock_irqsave(l, f)	do { (f) = 0; sim_spin_lock(l, true, __func__); } while (0)
#define spin_trylock_irqsave(l, f)	((f) = 0, sim_spin_trylock(l, __func__))
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock(l); } while (0)
#define spin_is_locked(l)	((l)->owner != NULL)
#define assert_spin_locked(l)	lockdep_assert_held(l)
#define raw_spin_lock		spin_lock
#define raw_spin_unlock		spin_unlock
#define raw_spin_lock_init	spin_lock_init

#endif
