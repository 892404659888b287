/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The users of the pool. For tests, this code does what target/ does for bios, and reports it to
 * the oracle. All of it runs inside a machine. Functions that return an int return the engine's
 * error.
 */
#ifndef SIM_USERS_H
#define SIM_USERS_H

#include "disk.h"
#include "oracle.h"
#include "core/refusal.h"
#include "log/log.h"
#include "pool/pool.h"

/* Windows of a log on a cache, in blocks: the default in the simulator, and two others. */
#define USUAL_WINDOW		1024u
#define WIDE_WINDOW		1536u
#define NARROW_WINDOW		768u
#define WIDE_WINDOW_OF_ROWS	4608u	/* of a cache of kind parity1 */

struct kvp_tpage;

struct host {
	struct kvp_pool *pool;
	struct oracle *o;
	struct kvp_refusal refusal;
	wait_queue_head_t space;
	u32 space_seq;
	u32 ssd_reads;		/* reads that the SSD cache answered */
	u32 mistrusted;		/* those of them that did not verify */
	/* attempts to read a spilled block together with neighbours, and those that succeeded */
	u32 spilled_tries, spilled_reads;
	/*
	 * Reads that may be mixed, and those that were; and of these, those that got their block
	 * from the SSDs that were read beside home.
	 */
	u32 mixed_tries, mixed_reads, beside_reads;
	u32 passed;		/* reads that were made as their leg was passed over */
	u32 seen;		/* requests that the first fault saw until the pool had started */
	bool stopped;
	bool haste;		/* the next tables come with a suspend in haste */
	bool halted;		/* the pool is halted, and is to be stopped */
	bool suspended;		/* the pool is suspended, or soon will be: no message begins */
	u64 accepted;		/* oracle_mark() of the writes before the change that goes on */
	u32 discards;		/* on their way */
	u32 messages;		/* messages at work */
	wait_queue_head_t messages_wait;	/* for @messages to be 0, or @suspended to end */
	u64 lying;		/* bit per disk: an SSD that may have lost what was written there */
	u64 rotten;		/* the block of each SSD that the test has made rotten; 0: none */
	bool may_fail;		/* there are faults, so an error is no failure of the test */
	void (*quiesced)(struct host *h);	/* called once, before the next table */
	/* Called once, in the middle of the next read: */
	/* when the SSD cache was asked for it */
	void (*amid_look)(struct host *h);
	/* when it is verified, before it enters the RAM cache */
	void (*before_fill)(struct host *h);
	/* when it has come, before it is verified for the SSD cache */
	void (*before_ssd_fill)(struct host *h);
	/* when half of it was copied from the RAM cache */
	void (*amid_hit)(struct host *h);
	/* when home and the SSDs have answered; makes the read a mixed one */
	void (*amid_mixed)(struct host *h);
	/* when one leg has answered, before the others are asked */
	void (*amid_wide)(struct host *h);
};

struct host_vdev {
	u32 legs;
	bool parity, cache;
};

/* The shape of a pool, and how to start it. */
struct host_start {
	/* allocations of the start that fail, counted from 1; from 0: none fails */
	u32 refused_from, refused_until;
	bool format, degraded, readonly, accept_fork, discard_log;
	bool returns;		/* online_auto: legs that were lost return by themselves */
	bool first_resume;	/* start as the first resume does, which leaves the pool quiesced */
	bool strict;

	/* The shape. Legs come in this order: first vdev, second vdev, cache. */
	u32 legs;		/* number of legs of all vdevs */
	bool parity;		/* the first vdev is a parity1, of short chunks */
	u32 second;		/* number of legs of the second vdev; 0: there is none */
	bool second_parity;	/* the second vdev is a parity1 */
	u32 cache;		/* number of legs of the cache; 0: there is none */
	bool cache_parity;	/* the cache is of kind parity1 */
	bool writethrough;	/* the cache does not carry the log */
	/* the vdevs, if the fields above cannot describe them; ends with one without legs */
	const struct host_vdev *wide;
	bool large;		/* with a cache: LARGE_BLOCKS, so the table has several leaves */
	u32 log_mib;		/* size of the log in MiB; 0: 4 */
	u32 chunk;		/* blocks of a chunk of a parity1; 0: SMALL_CHUNK */
	u32 cache_dirty;	/* blocks of the cache that may be dirty; 0: the default */
	bool rotational;	/* the legs say that they seek */

	/* The disks of the legs. */
	u64 missing;		/* bit per leg */
	/* UUID under which the table names a missing leg; NULL: the table has "-" */
	const u8 *named;
	u32 swapped;		/* the leg with this number is on the last disk; 0: none is */
	/* number of disks in front of those of the cache that are not of the pool */
	u32 blank;
	/* the disk of each leg, whatever the two fields above say; NULL: they decide */
	const u8 *on;
	u32 leg_blocks;		/* blocks that the pool sees of a disk with data; 0: all */
	u32 all_blocks;		/* the same for disks of the first vdev; 0: leg_blocks */
	u32 second_blocks;	/* the same for disks of the second vdev; 0: leg_blocks */
	u64 shrunk;		/* bit per leg: its device shows only @shrunk_blocks by now */
	u32 shrunk_blocks;
	/* bit per leg: it was put back to an older state, and the start must find it stale */
	u32 outdated;
	bool hostile;		/* labels are forged: a start may call any leg outdated */

	/* Tables that change the pool. */
	/* UUID of the leg that leaves when the new leg is in sync; NULL: no leg does */
	const u8 *replaces;
	u32 shadow;		/* number of the shadow's disk, + 1; 0: the table names none */
	u64 table_blocks;	/* length of the table; 0: any */
	bool grown;		/* the pool has all blocks that its vdevs hold */
};

/** host_window() - part of a test's name: whether the window of its cache is not the default */
static inline const char *host_window(const struct host_start *s)
{
	return s->cache_dirty > USUAL_WINDOW ? "-wide" : s->cache_dirty ? "-narrow" : "";
}

/** host_boundary() - of two vdevs: a block of the second one that follows one of the first */
u64 host_boundary(const struct host_start *s);

/** host_start() - start the pool on the disks */
int host_start(struct host *h, struct oracle *o, const struct host_start *s);
/**
 * host_suspend() - wait for messages that other tasks have begun, then quiesce the pool, or halt it
 *
 * So no host_checkpoint() meets a log that is stopped. The target does the same: it waits for all
 * orders before it quiesces the pool, and begins none meanwhile. Unlike device-mapper, this code
 * goes on to accept requests, which is harder for the pool. host_resume() ends both.
 */
void host_suspend(struct host *h);
void host_resume(struct host *h);
/* Each of the following functions suspends the pool, changes it as @hs says, and resumes it. */
/** host_grow() - add the vdevs that @hs has and the pool lacks */
int host_grow(struct host *h, const struct host_start *hs);
/** host_replace_ssds() - give the cache the SSDs of @hs */
int host_replace_ssds(struct host *h, const struct host_start *hs);
/** host_replace() - put the last disk in the place of leg hs->swapped, which has data */
int host_replace(struct host *h, const struct host_start *hs);
/** host_attach() - give one vdev one leg more, as @hs has it */
int host_attach(struct host *h, const struct host_start *hs);
/** host_detach() - take one leg from a vdev, as @hs lacks it */
int host_detach(struct host *h, const struct host_start *hs);
/** host_shadow() - make the disk hs->shadow the shadow of the leg hs->replaces */
int host_shadow(struct host *h, const struct host_start *hs);
/** host_take_place() - let the shadow take the place of its leg */
int host_take_place(struct host *h);
/** host_forget_shadow() - cancel the order that made the shadow */
int host_forget_shadow(struct host *h);
/** host_larger() - use more of the legs, which are as large as @hs says */
int host_larger(struct host *h, const struct host_start *hs);

/** host_grow_ahead() - begin to copy the table for host_larger(), while the pool is in use */
int host_grow_ahead(struct host *h, const struct host_start *hs);
/** host_labelled() - true if the disk's label has a block that is not zeros */
bool host_labelled(u32 disk);
/** host_wrote_superblock() - true if the request writes a superblock; @sb receives that */
bool host_wrote_superblock(const struct trace_request *r, struct kvp_sb *sb);
/** host_disk() - the disk that leg @leg is on */
u32 host_disk(const struct host_start *hs, u32 leg);
/** host_shrink() - suspend, remove the cache, which @hs lacks, and resume */
int host_shrink(struct host *h, const struct host_start *hs);
/** host_stop() - stop the pool in good order; fail the test if any memory stays allocated */
void host_stop(struct host *h);

int host_write(struct host *h, u64 block, u32 count, bool fua);
int host_write_zeros(struct host *h, u64 block, u32 count);
int host_write_special(struct host *h, u64 block, const u8 *data);
int host_flush(struct host *h);
int host_discard(struct host *h, u64 block, u32 count);
/** host_checkpoint() - act as the message "checkpoint"; wait first while the pool is suspended */
int host_checkpoint(struct host *h);
/** host_destage() - have all that is durable now written home, with a checkpoint; does not wait */
void host_destage(struct host *h);
/** host_press() - run destage as if the buffer had @limit pages, and nothing were renewed */
void host_press(struct host *h, u32 limit);
/**
 * host_try_home() - write home all that is logged, by pressure on the buffer
 *
 * Return: false if there was a checkpoint: the builder may ask for one meanwhile.
 */
bool host_try_home(struct host *h);
/** host_home_without_checkpoint() - host_try_home(); fails the test if there was a checkpoint */
void host_home_without_checkpoint(struct host *h);
/** host_write_by_intent() - write @count blocks; fail the test if none goes home by intent */
void host_write_by_intent(struct host *h, u64 block, u32 count);
/**
 * host_occupy_destage() - give destage a round that does not end
 *
 * The round writes a block that no test reads. Later writes then stay in the log, and their blocks
 * are not locked. The caller has called disks_hold_homes().
 */
void host_occupy_destage(struct host *h);
/** host_scrub() - scrub to the end; tell how many copies were healed, and how many could not be */
void host_scrub(struct host *h, u64 *healed, u64 *unrepaired);

/** host_scrub_since() - the same for what changed in era @since and later */
void host_scrub_since(struct host *h, u32 since, u64 *healed, u64 *unrepaired);
/** host_warm_up() - wait for the end of the cache rebuild */
void host_warm_up(struct host *h);
/** host_read() - read one block into @data, in the way that bios go */
int host_read(struct host *h, u64 block, u8 *data);
/** host_read_check() - read one block; fail the test if it is not the newest version */
void host_read_check(struct host *h, u64 block);
/** host_read_each() - host_read_check() for @count blocks, one after the other */
void host_read_each(struct host *h, u64 first, u32 count);
/** host_write_each() - write @count blocks, each durable before the next is written */
void host_write_each(struct host *h, u64 first, u32 count);
/** host_read_slowly() - read one block under its lock, as a read that failed is repeated */
int host_read_slowly(struct host *h, u64 block, u8 *data);
/**
 * host_read_wide() - read @count neighbours of a parity1 at once (wide.c)
 * @errors: receives the error of each block
 *
 * Return: how many blocks of a leg that is out were made without a lock, and verified.
 */
u32 host_read_wide(struct host *h, u64 block, u32 count, u8 *data, int *errors);
/** host_read_wide_check() - the same; fail the test if a block is not the newest version */
u32 host_read_wide_check(struct host *h, u64 block, u32 count);
/**
 * host_read_passing() - read a block of a parity1 whose leg is read last, as long_read.c and
 * read_anew.c do; 0 or -EIO. The caller verifies it.
 */
int host_read_passing(struct host *h, const struct kvp_tpage *leaf, u64 block, u8 *data);
/** host_cached() - true if the RAM cache has the block */
bool host_cached(struct host *h, u64 block);
/**
 * host_cache_check() - fail the test unless the caches agree with the table
 *
 * Blocks that the buffer has are left out. Blocks of the SSD cache are compared where their leaf of
 * the table is in memory. A block from before the start is compared only if a reader would use it.
 * But each of these must lie in its place, with its sum.
 */
void host_cache_check(struct host *h);
void host_sleep(u32 ms);
/** host_offline() - take the leg on @disk out by order; the case fails if that is refused */
void host_offline(struct host *h, u32 disk);

/** host_online() - let the leg on @disk return: its resilver begins */
int host_online(struct host *h, u32 disk);
/** host_wait_resilver() - wait until no leg resilvers, and none is about to return by itself */
void host_wait_resilver(struct host *h);
/** host_wait_replaced() - wait until each leg whose place is taken has left */
void host_wait_replaced(struct host *h);
/** host_leg() - the leg on @disk */
struct kvp_leg *host_leg(struct host *h, u32 disk);

#endif
