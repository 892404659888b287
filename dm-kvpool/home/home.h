/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing versions home: blocks that the log records reach their places in this way only. Destage
 * and direct writes use it.
 *
 * The caller has versions, sorted by block. Their records are durable. It has its own struct
 * kvp_home, with all memory that is needed. A caller that gets -ENOMEM takes a checkpoint, and
 * tries again: then table pages are clean, and can be freed.
 *
 * The way of a run of neighbours:
 * 1. The leaf of the table is loaded, and the range is locked. If another caller has the range,
 *    this one first finishes all that it has locked. So no two callers wait for each other.
 * 2. The newest version of each block goes into a batch. To disks that seek, gaps are read,
 *    verified and written along (coalesce.h). A parity1 takes its own way, by stripes (home_row.h).
 * 3. The batch is written to all legs (io/batch.h).
 * 4. The table is changed, and the versions leave the buffer, still under the lock.
 * 5. The ranges are unlocked.
 *
 * After an error the versions are on the caller's list again. The table has entries of those only
 * that are home.
 *
 * Locks: ranges, then the locks of the table. Only kvp_log_parity(), which appends an entry and
 * waits for it, takes a lock of the log.
 *
 * Other files of this folder read. heal.h reads one block and heals it, and row.h does that for
 * rows. stripe_read.h reads several legs without a lock. missing.h makes the blocks of a leg that
 * is out.
 */
#ifndef KVP_HOME_H
#define KVP_HOME_H

#include <linux/list.h>

#include "log/log.h"

struct kvp_version;
struct kvp_home;
struct kvp_pool;
struct kvp_spell;
struct kvp_vdev;

/* The progress of a discard that takes several bursts. */
struct kvp_discard_at {
	struct kvp_log_at hole;		/* place of its record */
	u64 seq;			/* its seq: a log that moves begins anew with its places */
	u32 vdev;			/* all vdevs before this one are done */
	kvp_vblock_t own;		/* all blocks of this vdev before this one are done */
};

/**
 * kvp_home_alloc() - allocate memory to write versions home; NULL if there is none
 * @whole: for whole stripes of a parity1, for which nothing has to be read: more of them at a time
 *
 * Context: process, may sleep.
 */
struct kvp_home * __must_check kvp_home_alloc(struct kvp_pool *pool, bool whole);

/**
 * kvp_home_gives_way() - from now on give way to other tasks, as kvp_give_way(); NULL: do not
 *
 * Context: the caller of kvp_home_write().
 */
void kvp_home_gives_way(struct kvp_home *h, struct kvp_spell *spell);
/** kvp_home_free() - free what kvp_home_alloc() gave, or NULL. Context: process, may sleep. */
void kvp_home_free(struct kvp_home *h);

/*
 * Of kvp_home_write(), with @whole: what is left on @versions are whole stripes of a parity1. It
 * lacks a leg, and nothing of them was written (R7). It is no errno, as a device may end a request
 * with any errno.
 */
#define KVP_NOT_BEGUN	1

/** kvp_home_sort() - sort versions by block; those of one block keep their order */
void kvp_home_sort(struct list_head *versions);

/**
 * kvp_home_write() - write versions home, update the table, and forget the versions
 * @h: memory, used by one caller at a time
 * @versions: sorted by block; emptied on success
 * @limit: for a parity1: place in the log; every version before it is on @versions or home, and
 *	none from it on is on @versions
 *
 * The record of each is durable (R1). Of several versions of one block only the last is written. A
 * version whose successor is durable is not written. Under the blocks' range lock, home and table
 * change together.
 *
 * Return: 0; -EIO: no leg took a block, or no copy of a table page can be read; -ENOMEM: no memory
 * for a table page, and a checkpoint may help; KVP_NOT_BEGUN. After an error, versions that are not
 * home are still on @versions. Context: process, waits for I/O; takes range locks, and those of the
 * table.
 */
int __must_check kvp_home_write(struct kvp_home *h, struct list_head *versions,
				struct kvp_log_at limit);

/**
 * kvp_home_discard() - apply discard @hole, whose record is durable; does not forget it
 * @at: where to go on: vdev 0, block 0 at first; receives the progress
 * @leaves: the number of leaves of the table that may be visited; receives how many are left
 *
 * A null pointer in the table stays null, and costs nothing per leaf. Caller holds
 * pool->checkpoint_lock. It must not let any newer version of the range go home before the whole
 * discard is applied.
 *
 * Return: 0; 1: there are more leaves; else errors as kvp_home_write(). Context: process, waits for
 * I/O.
 */
int __must_check kvp_home_discard(struct kvp_home *h, const struct kvp_version *hole,
				  struct kvp_discard_at *at, u32 *leaves);

/**
 * kvp_home_discard_leaves() - discard the blocks of @v from *@own to before @end; of a parity1,
 * whole stripes
 * @own: receives the progress
 * @leaves: as for kvp_home_discard()
 *
 * Return: 0 or -errno.
 */
int __must_check kvp_home_discard_leaves(struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end,
					 u32 *leaves);

/**
 * kvp_home_discard_rows() - the same for a vdev with rows
 * @behind: right behind the discard's record
 *
 * A row in which the discard ends is written, as older than @behind.
 */
int __must_check kvp_home_discard_rows(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own,
				       kvp_vblock_t end, struct kvp_log_at behind, u32 *leaves);

#endif /* KVP_HOME_H */
