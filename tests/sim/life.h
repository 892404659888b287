/* SPDX-License-Identifier: GPL-2.0-only */
/* What lives of a pool whose legs change share: random writes, and a look at all copies. */
#ifndef SIM_LIFE_H
#define SIM_LIFE_H

#include "users.h"

/**
 * struct life_writer - random writes to a pool
 * @host, @rng: are used, not owned
 * @blocks: to write to, from 0 on
 * @goes_on, @ended: of the writer that life_begin_writer() starts
 */
struct life_writer {
	struct host *host;
	struct rng *rng;
	u32 blocks;
	bool goes_on, ended;
};

/** life_write() - a write or a discard, somewhere. Context: a task of the machine, as all below. */
void life_write(struct life_writer *w);

/** life_writes() - @n of them, with checkpoints and times of quiet between; then a flush */
void life_writes(struct life_writer *w, u32 n);

/** life_begin_writer() - begin to write beside what comes next, until life_end_writer() */
void life_begin_writer(struct life_writer *w);
void life_end_writer(struct life_writer *w);

/** life_expect_scrubbed() - fail unless a scrub finds each copy right, at home and in the table */
void life_expect_scrubbed(struct host *h);

/** life_expect_sound() - the same, and blocks all over the first @blocks read as they should */
void life_expect_sound(struct host *h, u32 blocks);

/** life_blank_disk() - a new disk takes the place of @disk; the trace has nothing of that */
void life_blank_disk(u32 disk);

#endif /* SIM_LIFE_H */
