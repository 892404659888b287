/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: no other task runs inside a change, or inside a look, so a look is never repeated. */
#ifndef SIM_LINUX_SEQLOCK_H
#define SIM_LINUX_SEQLOCK_H

#include <linux/bug.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>

typedef struct {
	unsigned int sequence;
	spinlock_t *lock;
} seqcount_spinlock_t;

static inline void seqcount_spinlock_init(seqcount_spinlock_t *s, spinlock_t *lock)
{
	s->sequence = 0;
	s->lock = lock;
}

static inline void write_seqcount_begin(seqcount_spinlock_t *s)
{
	lockdep_assert_held(s->lock);
	BUG_ON(s->sequence++ & 1);
}

static inline void write_seqcount_end(seqcount_spinlock_t *s)
{
	lockdep_assert_held(s->lock);
	BUG_ON(!(s->sequence++ & 1));
}

static inline unsigned int read_seqcount_begin(const seqcount_spinlock_t *s)
{
	BUG_ON(s->sequence & 1);
	return s->sequence;
}

static inline bool read_seqcount_retry(const seqcount_spinlock_t *s, unsigned int sequence)
{
	return s->sequence != sequence;
}

#endif
