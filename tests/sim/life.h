/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For suites of pools whose legs change: random writes, superblocks that fail, and a check of all
 * copies.
 */
#ifndef SIM_LIFE_H
#define SIM_LIFE_H

#include "users.h"

/**
 * struct life_writer - random writes to a pool
 * @host, @rng: the caller's
 * @blocks: it writes to blocks below this number
 * @goes_on, @ended: state of the task that life_begin_writer() starts
 */
struct life_writer {
	struct host *host;
	struct rng *rng;
	u32 blocks;
	bool goes_on, ended;
};

/** life_write() - write or discard at random. Context: a task of the machine, as all below. */
void life_write(struct life_writer *w);

/** life_writes() - call life_write() @n times, with checkpoints and pauses between; then flush */
void life_writes(struct life_writer *w, u32 n);

/** life_begin_writer() - start a task that calls life_write() until life_end_writer() */
void life_begin_writer(struct life_writer *w);
void life_end_writer(struct life_writer *w);

/** life_expect_scrubbed() - fail unless a scrub finds each copy right, at home and in the table */
void life_expect_scrubbed(struct host *h);

/** life_expect_sound() - the same, and host_read_check() for every seventh of the first @blocks */
void life_expect_sound(struct host *h, u32 blocks);

/** life_superblock() - the first block of superblock @sequence of @disk, in ring @end (1: back) */
u64 life_superblock(u32 disk, u32 end, u64 sequence);
/** life_fail_superblock() - the writes of it fail; bit per ring */
void life_fail_superblock(u32 disk, u32 rings, u64 sequence);
/** life_hold_superblock() - the disk does not answer them before disks_release(); bit per ring */
void life_hold_superblock(u32 disk, u32 rings, u64 sequence);
/** life_fail_next_superblock() - the next one fails on all legs in sync, and no other does */
void life_fail_next_superblock(struct host *h);

/**
 * life_newer_module() - let a newer module have written superblock @sequence of a leg; untraced
 * @from: number of the superblock that it changed: by a feature that no module knows yet
 */
void life_newer_module(struct image *img, u64 from, u64 sequence);

struct script;
struct script_case;

/**
 * life_run() - script_run() for pools whose legs change
 *
 * The pool is made by the first start, there are two blank disks beside it, and the life ends
 * without a stop.
 */
void life_run(struct script_case *c);

/** life_begin() - lost legs return by themselves from now on, and @w can write to all blocks */
void life_begin(struct script *s, struct life_writer *w, struct rng *rng);
void life_set_rate(struct script *s, u64 resilver_rate);
/** life_stop() - flush, and stop the pool */
void life_stop(struct script *s);
/** life_again() - the same, and start it again */
void life_again(struct script *s);

/** life_expect_in_sync() - fail unless each leg of s->start is in sync, and on its disk */
void life_expect_in_sync(struct script *s);
/** life_blank_disk() - put a new disk in the place of @disk; so the turn is untraced */
void life_blank_disk(struct script *s, u32 disk);

struct kvp_spare;

/** life_label_spare() - write the label at end @end (0 front, 1 back) of a spare; untraced */
void life_label_spare(struct image *img, const struct kvp_spare *s, u32 end);
/** life_make_spare() - both labels of spare 5 of the pool that has @leg; untraced */
void life_make_spare(struct image *img, const struct image *leg);
/** life_spare_labels() - which of the two labels of a spare does the disk have? A bit each. */
u32 life_spare_labels(const struct image *img);
/** life_spares_listed() - the spares in the superblock: a bit for the first byte of each UUID */
u32 life_spares_listed(const struct host *h);

/**
 * life_while_it_hangs() - a change of a pool with a heartbeat meets a new disk that answers no read
 * @change: makes it, and returns its error
 *
 * The change must be refused in time. The heartbeat goes on meanwhile, and the pool afterwards.
 */
void life_while_it_hangs(struct script *s, u32 disk, int (*change)(struct script *s));

#endif /* SIM_LIFE_H */
