// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's spinlocks with one thread: taking a held lock is a fault. And damaged lists are one.
 */
#include <stdarg.h>
#include <stdlib.h>

#include <linux/bug.h>
#include <linux/spinlock.h>

#include "suite.h"

void (*after_unlock)(void);
static unsigned int held;

void sim_spin_lock_init(spinlock_t *lock, const char *name)
{
	*lock = (spinlock_t){ .ready = true };
}

void sim_spin_lock(spinlock_t *lock, bool irq_off, const char *where)
{
	if (!lock->ready || lock->usage || held) {
		fprintf(stderr, "# %s: %s\n", where, held ? "a second lock" : "no lock");
		abort();
	}
	lock->usage = 1;
	held++;
}

void sim_spin_unlock(spinlock_t *lock, const char *where)
{
	if (!lock->usage) {
		fprintf(stderr, "# %s: unlocks what is not locked\n", where);
		abort();
	}
	lock->usage = 0;
	held--;
	if (after_unlock)
		after_unlock();
}

/* with one thread there is no waiting */
void sim_yield(void)
{
}

void sim_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}
