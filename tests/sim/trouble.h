/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool of several leaves and its user, for tests that end with a check of the contents, without
 * power cuts. Table pages, sectors, legs and memory fail while it runs, or between two lives. The
 * exception is cut_lives().
 */
#ifndef SIM_TROUBLE_H
#define SIM_TROUBLE_H

#include "suite.h"

#define LEG_BLOCKS	65536u		/* 256 MiB */
#define BLOCKS		61440u		/* minimum of data blocks: 120 leaves */
#define LEAF		512u
#define LEAVES		(BLOCKS / LEAF)

struct trouble {
	struct host host;
	struct host_start start;
	struct oracle o;
	u32 leg_blocks;
	const char *name;
	bool cut;			/* the second life, everywhere from there on: */
	u32 cuts_from;
	struct crash crash;		/* the allowed results then; legs and contents are known */
	u64 checkpointed;		/* set by a task that runs beside the test */
	int checkpoint_error;
	bool scrubbed, over;
	void (*run)(struct trouble *t);
	/* With @then the first life ends without a clean stop; its damage is for the second. */
	void (*then)(struct trouble *t);
};

#define NAMED(function) #function, function

/** trouble() - @run on a pool of @legs, in several orders of events; for one vdev */
void trouble(const char *name, void (*run)(struct trouble *t), u32 legs);

/**
 * two_lives() - @run, and @then on the contents that it left; the first life does not end cleanly
 */
void two_lives(const char *name, void (*run)(struct trouble *t), void (*then)(struct trouble *t),
	       u32 legs, u32 leg_blocks);

/** lives_of() - the same for a pool of that shape; @then may be NULL */
void lives_of(const char *name, void (*run)(struct trouble *t), void (*then)(struct trouble *t),
	      const struct host_start *shape, u32 leg_blocks);

/** cut_lives() - two lives of a mirror, the second one cut everywhere */
void cut_lives(const char *name, void (*run)(struct trouble *t), void (*then)(struct trouble *t),
	       u32 legs, u32 leg_blocks);

/** spread() - a few blocks below every leaf, home and in the table, and none in memory */
void spread(struct host *h);
/** rot() - a block of a disk has other contents than were written */
void rot(u32 disk, u64 block);
/** expect_scrub() - scrub, and expect that it heals and leaves so much */
void expect_scrub(struct host *h, u64 healed, u64 unrepaired);
/** expect_eio() - a read of @block must fail */
void expect_eio(struct host *h, u64 block);
/** page_at() - where on the legs the page of @level above @block is, which is clean */
u64 page_at(struct host *h, u32 level, u64 block);
/** lose_page() - the page rots, in each copy on each leg; it is not in memory */
void lose_page(struct host *h, u32 level, u64 block);
/**
 * lose_page_with() - the same, and reads of it end with @error until it is written; 0: they do not
 */
void lose_page_with(struct host *h, u32 level, u64 block, int error);

#endif
