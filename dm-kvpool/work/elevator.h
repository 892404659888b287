/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The elevator takes spilled versions home by address. It goes over all versions that only the log
 * of a cache holds, from one end of the pool to the other, and begins again. So it finds neighbours
 * at home together, however far apart in time they were written.
 *
 * Versions that the elevator knows are on wbuf->elevator in log order, so that the oldest one is
 * found. They are also here, by block. Of two versions of a block, or of a stripe, the older one
 * never goes home after the newer one: all versions that the elevator does not know are newer than
 * all that it knows.
 *
 * Most of them are plain data, and alone of their block. The buffer keeps only a record of each of
 * those: they are packed (ram/packs.h). The elevator walks over them by address, and makes each
 * whole again when it takes it. A packed version is older than all others of its block.
 */
#ifndef KVP_ELEVATOR_H
#define KVP_ELEVATOR_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "format/format.h"
#include "ram/wbuf.h"

struct kvp_spell;
struct kvp_vdevs;
struct kvp_version;
struct kvp_log_at;

/**
 * struct kvp_elevator - versions by block; by pool->checkpoint_lock. It knows no pool
 * @wbuf: the write buffer that has the versions
 * @vdevs: where their homes are
 * @spell: of the worker that calls: how long it has had its processor
 * @known: the versions, linked by by_block; those of one block in log order
 * @hand: block where the elevator goes on; versions below it wait until it begins again
 * @nr: number of versions in @known; packed ones do not count
 * @short_of_memory: a packed version could not be taken for lack of memory
 * @part: number of versions that are gathered at a time; only tests change it
 */
struct kvp_elevator {
	struct kvp_wbuf *wbuf;
	struct kvp_vdevs *vdevs;
	struct kvp_spell *spell;
	struct rb_root known;
	kvp_block_t hand;
	u32 nr, part;
	bool short_of_memory;
};

/** kvp_elevator_nr() - number of versions that the elevator knows, packed or not. Any context. */
static inline u32 kvp_elevator_nr(const struct kvp_elevator *e)
{
	return READ_ONCE(e->nr) + kvp_wbuf_nr_packed(e->wbuf);
}

/**
 * kvp_elevator_init() - begin without versions, at block 0
 * @spell: the destage worker gives way to other tasks by it while it gathers versions
 *
 * @w, @vdevs and @spell must stay. Context: any.
 */
void kvp_elevator_init(struct kvp_elevator *e, struct kvp_wbuf *w, struct kvp_vdevs *vdevs,
		       struct kvp_spell *spell);

/**
 * kvp_elevator_gather() - learn of spilled versions, below @limit and before the first discard
 *
 * Takes the oldest first, and at most @part of them: after a restart there may be millions. Return:
 * true: it took @part, and there may be more. Context: caller holds pool->checkpoint_lock; may
 * sleep.
 */
bool kvp_elevator_gather(struct kvp_elevator *e, kvp_lsn_t limit);

/**
 * kvp_elevator_drop_older() - kvp_order_ops.drop_older(), without parity; true: a packed one is
 * outlived, too
 *
 * @d is durable, and holds the tail. So the older versions are outlived (R2). With parity they
 * count for their rows, and stay until their turn comes. Context: as for kvp_elevator_gather().
 */
bool kvp_elevator_drop_older(struct kvp_elevator *e, const struct kvp_version *d);

/**
 * kvp_elevator_take() - take the next versions by address
 * @max: about how many versions
 * @runs: about how many requests to each leg
 * @to: empty; receives them in log order
 * @end: in: a place above all versions that the elevator knows. Out: the place of the first version
 *	that it does not know, if that is lower. No version below @end stays in the rows of those
 *	taken
 *
 * All versions of a block, or of a stripe, are taken together. Return: how many were taken; fewer,
 * or none, with @e->short_of_memory set. Context: caller holds pool->checkpoint_lock; may sleep.
 */
u32 kvp_elevator_take(struct kvp_elevator *e, u32 max, u32 runs, struct list_head *to,
		      struct kvp_log_at *end);

/**
 * kvp_elevator_put_back() - put back versions that were taken last, and not written home
 * @versions: in log order; empty afterwards
 * @pass: go on behind them: they come again in the next turn
 *
 * Context: caller holds pool->checkpoint_lock; may sleep.
 */
void kvp_elevator_put_back(struct kvp_elevator *e, struct list_head *versions, bool pass);

/**
 * kvp_elevator_drop() - drop versions that a discard covers, which is newer than all known versions
 * @hole: durable, in a pool without parity
 * @to: receives the versions, by address, behind those that it has. They must not go home any
 *	more. Packed ones are dropped at once
 *
 * Looks only at the covered versions. Context: caller holds pool->checkpoint_lock; may sleep.
 */
void kvp_elevator_drop(struct kvp_elevator *e, const struct kvp_version *hole,
		       struct list_head *to);

/**
 * kvp_elevator_take_passed() - take all versions that streams have passed. They must not go home
 * any more
 * @to: receives them, behind those that it has. Packed ones are dropped at once
 *
 * Context: caller holds pool->checkpoint_lock; may sleep.
 */
void kvp_elevator_take_passed(struct kvp_elevator *e, struct list_head *to);

/**
 * struct kvp_elevator_look - what lies at the tail of the log
 * @below: look at versions below this place, the oldest first
 * @max: room in @of
 * @of: result: versions that are the newest of their block, in log order; @nr of them
 * @pending: result: number of versions that have a newer one, which is not durable
 * @outlived: empty; receives versions that need not go home any more, at most KVP_WBUF_AT_ONCE.
 *	They are no longer known to the elevator
 */
struct kvp_elevator_look {
	kvp_lsn_t below;
	u32 max, nr, pending;
	struct kvp_version **of;
	struct list_head outlived;
};

/**
 * kvp_elevator_look() - look at the oldest versions that the elevator knows; fills in @look
 *
 * Packed versions at the tail are made whole first, some at a time. Stops after
 * KVP_ELEVATOR_PENDING pending versions. Only in a pool without parity: with parity,
 * outlived versions count for the rows. Context: the destage worker, under checkpoint_lock.
 */
#define KVP_ELEVATOR_PENDING	1024u
void kvp_elevator_look(struct kvp_elevator *e, struct kvp_elevator_look *look);

#endif /* KVP_ELEVATOR_H */
