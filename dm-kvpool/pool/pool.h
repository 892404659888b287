/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Life of a pool: how it is started, stopped, and set.
 *
 * This is the only folder that knows all parts. The target calls it, in this order:
 *
 *   kvp_pool_alloc()      memory of all parts, wired (wiring.c)
 *   kvp_pool_start()      labels are read and chosen (start.c), the log is recovered, work begins
 *   kvp_pool_suspending() orders end early; kvp_pool_write_back() while requests are served
 *   kvp_pool_quiesce()    all durable, and home unless the log is retained; workers stopped
 *   kvp_pool_add(), kvp_pool_remove(), kvp_pool_replace(), kvp_pool_substitute(),
 *   kvp_pool_attach(), kvp_pool_detach()
 *                         a new table, while quiesced
 *   kvp_pool_unquiesce()  the label says not clean, workers run
 *   kvp_pool_stop(), kvp_pool_free()
 *
 * The first resume only starts. Settings and marks may change while the pool runs: each is one
 * superblock, and is undone in memory if that fails. kvp_pool_clear() is the order to try again
 * after a failure (core/failure.h).
 *
 * Locks: the target calls one of these at a time, except settings, marks and `clear`, which
 * messages may call beside each other: those hold sb_lock. A change of the mode of a cache
 * (cachemode.h) holds drain->lock, the outermost of all. kvp_pool_quiesce() holds no lock while it
 * waits for workers, as these take all others.
 *
 * A new command on legs gets a file of its own here, with numbered steps at its head, a plan that
 * can be refused before the device is suspended, and one superblock that makes it so.
 */
#ifndef KVP_POOL_H
#define KVP_POOL_H

#include "core/core.h"
#include "format/logplace.h"

/* How a pool is to be started; from the table line. */
struct kvp_start {
	bool format, readonly, degraded, auto_degraded, accept_fork, undestroy, discard_log;
	bool add;			/* vdevs may follow those of the running pool */
	bool remove;			/* the cache of the running pool may be left out */
	/*
	 * The cache may have other SSDs, a leg that is out another device, or a mirror one leg more
	 * or less.
	 */
	bool replace;
	bool replaces;			/* the new leg of a mirror, or @shadow, replaces the leg @leaves */
	bool shadow_named;		/* @shadow is; without a device: it is not there */
	u8 leaves[16];			/* a UUID */
	bool grow;			/* legs of the running pool may be larger */
	u8 uuid[16];
	bool any_uuid;
	char name[KVP_NAME_LEN + 1];
	char comment[KVP_COMMENT_LEN + 1];
	u64 host;			/* the host that starts it; 0: unknown */
	char host_name[KVP_NAME_LEN + 1];
	u64 pool_blocks;
	u32 nr_vdevs;
	struct kvp_vdev_asked vdevs[KVP_MAX_VDEVS];
	u64 log_bytes, leg_bytes, chunk_bytes;	/* with format and add */
	u64 dirty_bytes;			/* the same for a cache: its window */
	u64 tunable_mask, tunables[KVP_TUNABLES];
	/*
	 * Labels are read and chosen, nothing is written: allow this device to have the pool, or
	 * not (R25).
	 */
	int (*claim)(struct kvp_pool *pool, struct kvp_refusal *refusal);
	void *owner;
	u32 nr_legs;	/* legs of all vdevs, as the table names them, missing ones included */
	struct kvp_start_leg {
		struct block_device *bdev;	/* NULL: missing */
		char path[KVP_PATH_LEN];
		u64 size_blocks;
		bool rotational, named;	/* named: a missing leg with its UUID (with replace) */
		u8 uuid[16];
	} legs[KVP_MAX_LEGS], shadow;	/* @shadow: to take the place of a leg of a parity1 */
};

struct kvp_pool * __must_check kvp_pool_alloc(void);

/**
 * kvp_pool_free() - drop a reference; the last leg that has not answered (io/flight.h) may drop the
 * last one
 */
void kvp_pool_free(struct kvp_pool *pool);

/**
 * kvp_pool_start() - read the labels, choose, recover, begin to serve
 *
 * Return: 0 or -errno with @refusal filled in; then nothing was written,
 * unless the text says so. Context: process, waits for I/O.
 */
int __must_check kvp_pool_start(struct kvp_pool *pool, const struct kvp_start *s,
				struct kvp_refusal *refusal);

/**
 * kvp_pool_suspending() - the device will soon be suspended: end orders early
 *
 * A drain ends as soon as it can with -ECANCELED, kvp_destage_order() with -EINTR, and a scrub
 * pauses. Requests are served meanwhile. Then call kvp_pool_quiesce(), or
 * kvp_pool_not_suspending(). Context: process.
 */
void kvp_pool_suspending(struct kvp_pool *pool);
void kvp_pool_not_suspending(struct kvp_pool *pool);

/**
 * kvp_pool_write_back() - do, while requests are served, most of what kvp_pool_quiesce() would do
 * later
 *
 * Makes durable what was accepted before, and writes back what must be home at a stop. Failures are
 * left to kvp_pool_quiesce(). Context: process, waits for I/O.
 */
void kvp_pool_write_back(struct kvp_pool *pool);

/**
 * kvp_pool_quiesce() - make everything durable and home; background work stops
 *
 * Called when the device is suspended; no requests are in flight.
 * kvp_pool_unquiesce() takes up work again.
 */
void kvp_pool_quiesce(struct kvp_pool *pool);

/**
 * kvp_pool_empty() - bring home what the log of a quiesced pool holds, and say so in the label
 *
 * Versions on SSDs that do not answer are not given up, other than while the pool runs: the SSDs
 * may answer later. If not all comes home, the label does not call the pool clean, and
 * kvp_change_ready() refuses. Context: process, waits for I/O.
 */
void kvp_pool_empty(struct kvp_pool *pool);
void kvp_pool_unquiesce(struct kvp_pool *pool);

/** kvp_pool_stop() - free all that start has made; after quiesce */
void kvp_pool_stop(struct kvp_pool *pool);

/**
 * kvp_pool_recovery_ms() - how many milliseconds a recovery would take at worst (policy/estimate.h)
 *
 * What was written since the start counts, as do the legs and the place of the log: so it is of
 * now, and is not kept. Context: process.
 */
u64 kvp_pool_recovery_ms(struct kvp_pool *pool);

/** kvp_pool_set() - change a tunable; durable when it returns 0. -ENOMEM: nothing changed. */
int __must_check kvp_pool_set(struct kvp_pool *pool, unsigned int id, u64 value);

/**
 * kvp_pool_set_comment() - the pool's comment; durable at 0; -ERANGE: too long; -EINVAL: control
 * characters
 */
int __must_check kvp_pool_set_comment(struct kvp_pool *pool, const char *text);

/**
 * kvp_pool_rename() - give the pool another name; its device keeps the one that it has
 *
 * Return: 0: it is durable. -EINVAL: a pool cannot have this name; -EROFS: nothing changed. Or the
 * superblock's error: some leg may have the new name, and a start before the next superblock may
 * show it. Context: process; takes sb_lock.
 */
int __must_check kvp_pool_rename(struct kvp_pool *pool, const char *name);

/** kvp_pool_mark() - set or clear label flags; durable when it returns 0 */
int __must_check kvp_pool_mark(struct kvp_pool *pool, u32 set, u32 clear);

/** kvp_pool_clear() - set counters of one leg (or all: -1) to zero, and retry what failed */
void kvp_pool_clear(struct kvp_pool *pool, int only);

#endif /* KVP_POOL_H */
