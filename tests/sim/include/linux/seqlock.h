/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: no other task runs inside a change, or inside a look, so a look is never repeated. */
#ifndef SIM_LINUX_SEQLOCK_H
#define SIM_LINUX_SEQLOCK_H

#include <linux/bug.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

typedef struct {
	unsigned int sequence;
	spinlock_t *lock;
} seqcount_spinlock_t;

typedef struct {
	unsigned int sequence;
	struct mutex *lock;
} seqcount_mutex_t;

static inline void seqcount_spinlock_init(seqcount_spinlock_t *s, spinlock_t *lock)
{
	s->sequence = 0;
	s->lock = lock;
}

static inline void seqcount_mutex_init(seqcount_mutex_t *s, struct mutex *lock)
{
	s->sequence = 0;
	s->lock = lock;
}

#define write_seqcount_begin(s) do {				\
	lockdep_assert_held((s)->lock);				\
	BUG_ON((s)->sequence++ & 1);				\
} while (0)

#define write_seqcount_end(s) do {				\
	lockdep_assert_held((s)->lock);				\
	BUG_ON(!((s)->sequence++ & 1));				\
} while (0)

static inline unsigned int sim_seqcount_begin(const unsigned int *sequence)
{
	BUG_ON(*sequence & 1);
	return *sequence;
}

#define read_seqcount_begin(s)		sim_seqcount_begin(&(s)->sequence)
#define read_seqcount_retry(s, seq)	((s)->sequence != (seq))

#endif
