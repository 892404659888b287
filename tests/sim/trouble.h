/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool of several leaves, and its user. Table pages, sectors, legs and memory fail while the pool
 * runs, or between two lives. A test ends with a check of the contents. Only cut_lives() cuts the
 * power.
 */
#ifndef SIM_TROUBLE_H
#define SIM_TROUBLE_H

#include "script.h"

#define LEG_BLOCKS	65536u		/* 256 MiB */
#define BLOCKS		61440u		/* minimum of data blocks: 120 leaves */
#define LEAF		512u
#define LEAVES		(BLOCKS / LEAF)

/* What tasks that run beside a test tell it. */
extern struct beside {
	u64 checkpointed;
	int checkpoint_error;
	bool scrubbed, over;
} beside;

#define NAMED(function) #function, function

/** trouble() - call @run on a pool with one vdev of @legs, in several orders of events */
void trouble(const char *name, void (*run)(struct script *t), u32 legs);

/**
 * two_lives() - call @run, and @then after the start of a second life
 *
 * The first life ends without a clean stop.
 */
void two_lives(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
	       u32 legs, u32 leg_blocks);

/** lives_of() - two_lives() with a pool of the shape @shape; with @then NULL there is one life */
void lives_of(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
	      const struct host_start *shape, u32 leg_blocks);

/** cut_lives() - two_lives() of a mirror, and the second life is cut everywhere */
void cut_lives(const char *name, void (*run)(struct script *t), void (*then)(struct script *t),
	       u32 legs, u32 leg_blocks);

/** spread() - write a few blocks below every leaf, write them home, and drop all table pages */
void spread(struct host *h);
/** rot() - give a block of a disk other contents than were written */
void rot(u32 disk, u64 block);
/** expect_scrub() - scrub; fail unless it heals @healed copies and cannot repair @unrepaired */
void expect_scrub(struct host *h, u64 healed, u64 unrepaired);
/** expect_eio() - fail unless a read of @block fails */
void expect_eio(struct host *h, u64 block);
/** page_at() - the block of the legs with the page of @level above @block, which is clean */
u64 page_at(struct host *h, u32 level, u64 block);
/** lose_page() - let each copy of that page rot, on each leg. The page is not in memory */
void lose_page(struct host *h, u32 level, u64 block);
/**
 * lose_page_with() - the same; with an @error, reads of the page end with that until it is written
 */
void lose_page_with(struct host *h, u32 level, u64 block, int error);

#endif
