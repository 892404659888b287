/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool's user: the work of request.c for bios, done for the tests, and reported to the oracle.
 * All of this runs inside a machine.
 */
#ifndef SIM_USERS_H
#define SIM_USERS_H

#include "disk.h"
#include "oracle.h"
#include "log/log.h"
#include "pool/pool.h"

/* The window of a cache whose SSDs hold the same; the others have larger logs. */
#define USUAL_WINDOW		1024u
#define WIDE_WINDOW		1536u
#define NARROW_WINDOW		768u
#define WIDE_WINDOW_OF_ROWS	4608u	/* of a cache of kind parity1 */

struct host {
	struct kvp_pool *pool;
	struct oracle *o;
	struct kvp_refusal refusal;
	wait_queue_head_t space;
	u32 space_seq;
	u32 ssd_reads;		/* that were answered by the SSD cache */
	u32 mistrusted;		/* of those, that did not verify */
	/* to read a block of the log with neighbours; that worked */
	u32 spilled_tries, spilled_reads;
	u32 seen;		/* by the first fault, until the pool had started */
	bool stopped;
	bool suspended;		/* or about to be: no message begins */
	u32 messages;		/* that are at work */
	wait_queue_head_t messages_wait;	/* for @messages to be 0, or @suspended to end */
	u64 lying;		/* bit per disk: an SSD that may not hold what was written there */
	u64 rotten;		/* block of each SSD that the test has made rotten; 0: none */
	bool may_fail;		/* faults are about: errors are no failure of the test */
	void (*quiesced)(struct host *h);	/* what happens once, before the next table */
	/* What happens once, in the middle of the next read: */
	void (*before_fill)(struct host *h);	/* verified, not yet in the RAM cache */
	/* read, not yet verified for the SSD cache */
	void (*before_ssd_fill)(struct host *h);
	void (*amid_hit)(struct host *h);	/* half of it copied from the RAM cache */
	/* one leg has answered, the others were not yet asked */
	void (*amid_wide)(struct host *h);
};

struct host_vdev {
	u32 legs;
	bool parity, cache;
};

struct host_start {
	u32 refused_from, refused_until;	/* allocations of the start that fail, from 1 on */
	u32 legs;		/* of all vdevs */
	/* the vdevs, in place of all that is below; one without legs ends them */
	const struct host_vdev *wide;
	bool format, degraded, readonly, accept_fork;
	bool returns;		/* online_auto: legs that were lost return by themselves */
	bool first_resume;	/* as the target's, which does not unquiesce the pool */
	u64 missing;		/* bit per leg */
	/* with one leg more: UUID of the leg that leaves later; NULL: none does */
	const u8 *replaces;
	const u8 *named;	/* UUID of the one that is, in a table of other SSDs; NULL: "-" */
	bool strict;
	bool rotational;	/* the legs say that they seek */
	bool large;		/* of a cache: made with LARGE_BLOCKS, so several leaves */
	bool parity;		/* a parity1, of short chunks */
	u32 second;		/* so many legs, the last ones, are another vdev */
	bool second_parity;	/* which is a parity1 */
	u32 log_mib;		/* 0: 4 */
	u32 chunk;		/* blocks of a chunk of a parity1; 0: few */
	u32 cache_dirty;	/* so many blocks of it may be dirty; 0: as many as by default */
	u32 cache;		/* so many legs, behind all others, are a cache with the log */
	bool cache_parity;	/* of kind parity1 */
	/* this leg is on the disk behind all others; 0: none */
	u32 swapped;
	/* the disk of each leg, in place of all that; NULL: by its number */
	const u8 *on;
	/* number of disks before those of the cache that do not belong to the pool */
	u32 blank;
	u32 shadow;		/* number of the disk of the shadow, + 1; 0: none is named */
	u64 table_blocks;	/* length of a table that changes the pool; 0: any */
	bool writethrough;	/* without the log */
	bool discard_log;
	u32 leg_blocks;		/* so many of each disk with data are there for the pool; 0: all */
	u32 all_blocks;		/* the same of legs of the first vdev; 0: leg_blocks */
	u32 second_blocks;	/* the same of legs of the second vdev; 0: leg_blocks */
	bool grown;		/* the second vdev was added: the size is what both have */
	/* bit per leg: it was put back to an older state, and must be found stale */
	u32 outdated;
	bool hostile;		/* labels say anything, so any leg may look as if it was */
};

/** host_window() - for the name of a test: is the window of its cache another than by default? */
static inline const char *host_window(const struct host_start *s)
{
	return s->cache_dirty > USUAL_WINDOW ? "-wide" : s->cache_dirty ? "-narrow" : "";
}

/** host_boundary() - of two vdevs: a block of the second one that follows one of the first */
u64 host_boundary(const struct host_start *s);

/** host_start() - start the pool on the disks; the engine's error */
int host_start(struct host *h, struct oracle *o, const struct host_start *s);
/**
 * host_suspend() - wait for messages that other tasks have begun, then quiesce the pool
 *
 * So no host_checkpoint() meets a log that is stopped. The target holds that, too: it waits for all
 * orders before it quiesces the pool, and begins none meanwhile. But here requests are accepted, as
 * device-mapper would not do: that is harder for the pool. host_resume() ends both.
 */
void host_suspend(struct host *h);
void host_resume(struct host *h);
/**
 * host_grow() - suspend, take in the vdevs that @hs has beyond the pool's, resume; the engine's
 * error
 */
int host_grow(struct host *h, const struct host_start *hs);
/**
 * host_replace_ssds() - suspend, replace the SSDs of the cache by those of @hs, resume; the
 * engine's error
 */
int host_replace_ssds(struct host *h, const struct host_start *hs);
/**
 * host_replace() - suspend, put the disk behind all others in the place of the leg with data
 * hs->swapped, resume; the engine's error
 */
int host_replace(struct host *h, const struct host_start *hs);
/**
 * host_attach() - suspend, let the vdevs be those of @hs, one of which has one leg more, resume;
 * the engine's error
 */
int host_attach(struct host *h, const struct host_start *hs);
/** host_detach() - the same with one leg less */
int host_detach(struct host *h, const struct host_start *hs);
/**
 * host_shadow() - suspend, let the disk hs->shadow be the shadow of the leg hs->replaces, resume;
 * the engine's error
 */
int host_shadow(struct host *h, const struct host_start *hs);
/** host_take_place() - suspend, let the shadow take its place, resume; the engine's error */
int host_take_place(struct host *h);
/** host_forget_shadow() - suspend, cancel that, resume; the engine's error */
int host_forget_shadow(struct host *h);
/** host_larger() - suspend, use more of the legs, as @hs has them, resume; the engine's error */
int host_larger(struct host *h, const struct host_start *hs);

/** host_grow_ahead() - begin to copy the table for that; the engine's error */
int host_grow_ahead(struct host *h, const struct host_start *hs);
/** host_labelled() - true if some block of the disk's label is not zeros */
bool host_labelled(u32 disk);
/** host_wrote_superblock() - true if the request writes a superblock: @sb receives it */
bool host_wrote_superblock(const struct trace_request *r, struct kvp_sb *sb);
/** host_disk() - the disk that leg @leg is on */
u32 host_disk(const struct host_start *hs, u32 leg);
/**
 * host_shrink() - suspend, remove the cache, which @hs does not have, resume; the engine's error
 */
int host_shrink(struct host *h, const struct host_start *hs);
/** host_stop() - orderly end; fails the test if anything stays allocated */
void host_stop(struct host *h);

int host_write(struct host *h, u64 block, u32 count, bool fua);
int host_write_zeros(struct host *h, u64 block, u32 count);
int host_write_special(struct host *h, u64 block, const u8 *data);
int host_flush(struct host *h);
int host_discard(struct host *h, u64 block, u32 count);
/** host_checkpoint() - the message; while the device is suspended, it waits before it begins */
int host_checkpoint(struct host *h);
/** host_destage() - bring home all that is durable now, and take a checkpoint; in the background */
void host_destage(struct host *h);
/** host_press() - destage with room for @limit versions in the buffer, and without renewal */
void host_press(struct host *h, u32 limit);
/**
 * host_try_home() - write home logged data that takes space of the buffer
 * Return: false if there was a checkpoint, which the builder may cause if it runs at that time.
 */
bool host_try_home(struct host *h);
/** host_home_without_checkpoint() - the same, and there must not be one */
void host_home_without_checkpoint(struct host *h);
/** host_write_by_intent() - @count blocks, until they have gone home by intent, at least in part */
void host_write_by_intent(struct host *h, u64 block, u32 count);
/**
 * host_occupy_destage() - give destage a round that does not end, of data that no test reads
 *
 * Later writes then stay in the log, and are not locked. The caller holds homes.
 */
void host_occupy_destage(struct host *h);
/** host_scrub() - to its end; how many were healed and could not be */
void host_scrub(struct host *h, u64 *healed, u64 *unrepaired);

/** host_scrub_since() - the same of what changed in era @since and later */
void host_scrub_since(struct host *h, u32 since, u64 *healed, u64 *unrepaired);
/** host_warm_up() - wait for the end of the cache rebuild */
void host_warm_up(struct host *h);
/** host_read() - one block into @data, the way bios take; the engine's error */
int host_read(struct host *h, u64 block, u8 *data);
/** host_read_check() - and see that it is current */
void host_read_check(struct host *h, u64 block);
/** host_read_each() - the same of @count blocks, one after the other */
void host_read_each(struct host *h, u64 first, u32 count);
/** host_write_each() - @count blocks, each made durable before the next is written */
void host_write_each(struct host *h, u64 first, u32 count);
/** host_read_slowly() - one block under its lock, from scratch; the engine's error */
int host_read_slowly(struct host *h, u64 block, u8 *data);
/**
 * host_read_wide() - @count neighbours of a parity1 at once (wide.c)
 * @errors: of each block
 *
 * Return: how many, of a leg that is out, were made without a lock, and verified.
 */
u32 host_read_wide(struct host *h, u64 block, u32 count, u8 *data, int *errors);
/** host_read_wide_check() - and see that all are current */
u32 host_read_wide_check(struct host *h, u64 block, u32 count);
/** host_cached() - true if the RAM cache has the block */
bool host_cached(struct host *h, u64 block);
/**
 * host_cache_check() - the caches agree with the table, except for blocks in the buffer
 *
 * The SSD cache is checked where the table's leaf is in memory; restored blocks, as far as they
 * would be used. But all restored blocks lie in their places, and have their sums.
 */
void host_cache_check(struct host *h);
void host_sleep(u32 ms);
/** host_online() - the leg on @disk returns, and its resilver begins; the engine's error */
int host_online(struct host *h, u32 disk);
/** host_wait_resilver() - until no leg resilvers, nor waits to return by itself */
void host_wait_resilver(struct host *h);
/** host_wait_replaced() - until no leg is there that is to leave, as another has taken its place */
void host_wait_replaced(struct host *h);
/** host_lies_home() - true if the block's data is valid in the table and not in the buffer */
struct kvp_leg *host_leg(struct host *h, u32 disk);

#endif
