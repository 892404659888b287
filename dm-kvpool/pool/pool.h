/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Life of a pool: start, stop, settings.
 *
 * Only this folder knows all parts. The target calls it, in this order:
 *
 *   kvp_pool_alloc()      allocates all parts, and wires them (wiring.c)
 *   kvp_pool_start()      reads and chooses labels (start.c), recovers the log, starts work
 *   kvp_pool_suspending() lets orders end early; kvp_pool_write_back() while requests are served
 *   kvp_pool_quiesce()    makes all durable, and home unless the log is retained; stops workers
 *   kvp_pool_add(), kvp_pool_remove(), kvp_pool_replace_ssds(), kvp_pool_replace_leg(),
 *   kvp_pool_attach(), kvp_pool_detach()
 *                         for a new table, while quiesced
 *   kvp_pool_unquiesce()  marks the label as not clean, lets workers run
 *   kvp_pool_stop(), kvp_pool_free()
 *
 * The first resume only starts. Settings and marks may change while the pool runs: each change is
 * one superblock, and is undone in memory if that fails. kvp_pool_clear() is the order to try again
 * after a failure (core/failure.h).
 *
 * Locks: the target calls one of these at a time. Exceptions are settings, marks and `clear`:
 * messages may call them at the same time, and they hold sb_lock. A change of a cache's mode
 * (cachemode.h) holds drain->lock, the outermost of all. kvp_pool_quiesce() holds no lock while it
 * waits for workers, since they take all other locks.
 *
 * A new command on legs gets its own file here: numbered steps at its head, a plan that can be
 * refused before the device is suspended, and one superblock that puts it into effect.
 */
#ifndef KVP_POOL_H
#define KVP_POOL_H

#include "core/core.h"
#include "format/logplace.h"

struct kvp_refusal;

/* How to start a pool; from the table line. */
struct kvp_start {
	bool format, readonly, degraded, auto_degraded, accept_fork, undestroy, discard_log;
	/* the table may name more vdevs than the running pool has */
	bool add;
	bool remove;			/* the table may leave out the cache of the running pool */
	/*
	 * The cache may have other SSDs, a leg that is out may have another device, or a mirror may
	 * have one leg more or less.
	 */
	bool replace;
	/* The new leg of a mirror, or @shadow, replaces the leg @leaves. */
	bool replaces;
	/* the table names @shadow; without a device it is missing */
	bool shadow_named;
	u8 leaves[16];			/* UUID of the leg that leaves */
	bool grow;			/* legs may be larger than the running pool knows */
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
	u64 dirty_bytes;			/* the same, of a cache: its window */
	u64 tunable_mask, tunables[KVP_TUNABLES];
	/*
	 * Called when labels have been read and chosen, and nothing has been written: may the pool
	 * have these devices (R25)? 0 or -errno.
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

/**
 * kvp_pool_alloc() - allocate a pool without legs, for kvp_pool_start(); NULL without memory
 *
 * The caller has the one reference: kvp_pool_free(). Context: process, may sleep.
 */
struct kvp_pool * __must_check kvp_pool_alloc(void);

/**
 * kvp_pool_free() - drop a reference to the pool, and free it with the last one
 *
 * The last reference may be that of a stray (io/flight.h). Context: process.
 */
void kvp_pool_free(struct kvp_pool *pool);

/**
 * kvp_pool_start() - read the labels, choose among them, recover, and begin to serve
 *
 * Return: 0, or -errno with @refusal filled in. Then nothing was written, unless the text says so.
 * Context: process, waits for I/O.
 */
int __must_check kvp_pool_start(struct kvp_pool *pool, const struct kvp_start *s,
				struct kvp_refusal *refusal);

/**
 * kvp_pool_suspending() - the device will soon be suspended: let orders end early
 *
 * A drain ends soon with -ECANCELED, kvp_destage_order() with -EINTR, and a scrub pauses. Requests
 * are served meanwhile. The caller must then call kvp_pool_quiesce(), kvp_pool_halt() or
 * kvp_pool_not_suspending(). Waits for no I/O: a leg may hang, and the suspend must be able to end.
 * Return: the number of this suspend. Each has its own, so that what waits for one that was
 * interrupted takes no later one for it.
 *
 * kvp_pool_wait_suspending() waits for what scrub, resilver, trim and others have in flight, while
 * kvp_is_suspending(). Return: is that still so?
 *
 * kvp_pool_not_suspending() is for a suspend that was interrupted. It waits for nothing. Scrub,
 * resilver, trim and the copy of a table go on; a drain, and an order for a checkpoint, do not. It
 * ends kvp_pool_wait_suspending() and kvp_pool_write_back().
 *
 * Context: process.
 */
u32 kvp_pool_suspending(struct kvp_pool *pool);
bool kvp_pool_wait_suspending(struct kvp_pool *pool, u32 suspend);
void kvp_pool_not_suspending(struct kvp_pool *pool);

/**
 * kvp_pool_write_back() - do most of the work of kvp_pool_quiesce() while requests are served
 * @suspend: the number of the suspend; this ends when it is interrupted
 * @haste: do that of kvp_pool_halt() instead
 *
 * Makes durable what was accepted before. Without @haste, writes home what must be home at a stop.
 * Return: 0 or -errno, which needs no handling: what follows tries again. Context: process, waits
 * for I/O.
 */
int kvp_pool_write_back(struct kvp_pool *pool, u32 suspend, bool haste);

/**
 * kvp_pool_hasten() - the caller of a suspend was killed: end the work that is done before it
 *
 * kvp_pool_halt() or kvp_pool_not_suspending() follows.
 *
 * Ends kvp_pool_wait_suspending(), and kvp_pool_write_back() without haste. Context: process; waits
 * for nothing.
 */
void kvp_pool_hasten(struct kvp_pool *pool);

/**
 * kvp_pool_quiesce() - make everything durable, and home unless the log is retained; stop workers
 *
 * The device is suspended, and no requests are in flight. kvp_pool_unquiesce() starts the workers
 * again. Context: process, waits for I/O.
 */
void kvp_pool_quiesce(struct kvp_pool *pool);

/**
 * kvp_pool_halt() - the same in haste: make everything durable, and leave in the log what is not
 * home
 *
 * All I/O of the device waits meanwhile. kvp_pool_finish() does the rest of kvp_pool_quiesce(): it
 * must be called before the legs or vdevs of the pool change, and before kvp_pool_stop(). If it
 * fails, that is as if kvp_pool_quiesce() had. Both: Context: process, waits for I/O.
 */
void kvp_pool_halt(struct kvp_pool *pool);
void kvp_pool_finish(struct kvp_pool *pool);

/**
 * kvp_pool_empty() - write home what the log of a quiesced pool holds, and mark the label as clean
 *
 * If SSDs do not answer, versions on them are not given up, as they would be while the pool runs:
 * the SSDs may answer later. If not all is written home, the label does not call the pool clean,
 * and kvp_change_ready() refuses. Context: process, waits for I/O.
 */
void kvp_pool_empty(struct kvp_pool *pool);
void kvp_pool_unquiesce(struct kvp_pool *pool);

/**
 * kvp_pool_stop() - free all that the start has made; after kvp_pool_quiesce(). Context: process.
 */
void kvp_pool_stop(struct kvp_pool *pool);

/**
 * kvp_pool_recovery_ms() - how many ms a recovery would take in the worst case (policy/estimate.h)
 *
 * Depends on what was written since the start, on the legs, and on the place of the log. So it is
 * computed at each call. Context: process.
 */
u64 kvp_pool_recovery_ms(struct kvp_pool *pool);

/**
 * kvp_pool_set() - change a tunable, durably
 *
 * Return: 0; -ENOMEM or another -errno: nothing changed. Context: process, waits for I/O; takes
 * sb_lock.
 */
int __must_check kvp_pool_set(struct kvp_pool *pool, unsigned int id, u64 value);

/**
 * kvp_pool_set_comment() - change the pool's comment, durably
 *
 * Return: 0; -ERANGE: too long; -EINVAL: control characters; or another -errno. Context: process,
 * waits for I/O; takes sb_lock.
 */
int __must_check kvp_pool_set_comment(struct kvp_pool *pool, const char *text);

/**
 * kvp_pool_rename() - give the pool another name; its device keeps its own name
 *
 * Return: 0: the name is durable. -EINVAL: no valid name for a pool; -EROFS: nothing changed. Or
 * the superblock's error: some leg may have the new name, and a start before the next superblock
 * may show it. Context: process; takes sb_lock.
 */
int __must_check kvp_pool_rename(struct kvp_pool *pool, const char *name);

/**
 * kvp_pool_mark() - set or clear label flags, durably
 *
 * Return: 0 or -errno. Context: process, waits for I/O; takes sb_lock.
 */
int __must_check kvp_pool_mark(struct kvp_pool *pool, u32 set, u32 clear);

/**
 * kvp_pool_clear() - set counters of leg @only (-1: of all legs) to zero, and try again what failed
 *
 * In a pool that is read-only there is nothing to try again.
 *
 * Context: process, waits for I/O; takes sb_lock.
 */
void kvp_pool_clear(struct kvp_pool *pool, int only);

#endif /* KVP_POOL_H */
