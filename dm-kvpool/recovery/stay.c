// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of an SSD cache keeps its data over a restart: what is newest of each block becomes
 * a parked version in the write buffer (cache/park.h), which is read from the SSD and goes
 * home later. Intents and discards are resolved, as they are in any recovery, and the table
 * that says so is durable with the superblock that begins the next generation of the log
 * (format/generations.h). So to the next recovery those of this generation mean: what the
 * table says, and nothing that is older in the log.
 */
#include <linux/slab.h>

#include "format/generations.h"
#include "format/logplace.h"
#include "recovery/recovery.h"

/*
 * Not of a parity1: its rows may be half written at home, and who lacks a leg would have to
 * know which (R6). And not if the superblock cannot name one generation more.
 */
bool kvp_recovery_may_stay(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;

	return kvp_log_on_cache(pool->sb) && !pool->parity && rec->entries &&
	       !kvp_generations_full(pool->sb, rec->end.prev_lsn);
}

/* They may be very many, and nobody need be killed for them: the log can be brought home instead. */
static struct kvp_dirty *new_version(const struct kvp_replay_rec *r)
{
	struct kvp_dirty *d = kzalloc(sizeof(*d), GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	if (!d)
		return NULL;
	INIT_HLIST_NODE(&d->hash);
	d->block = r->block;
	d->count = 1;
	d->crc = r->crc;
	d->lsn = r->lsn;
	d->rec = r->rec;
	d->payload = (u16)(r->payload - r->lsn);
	d->row = r->row;
	d->state = KVP_DIRTY_LOGGED;
	d->restored = true;
	return d;
}

/* In log order, as destage and the tail want them. */
static int make_versions(struct kvp_recovery *rec, struct list_head *versions)
{
	struct kvp_replay_rec *r;

	list_for_each_entry(r, &rec->replay.data, list) {
		struct kvp_dirty *d = new_version(r);

		if (!d)
			return -ENOMEM;
		list_add_tail(&d->list, versions);
		cond_resched();
	}
	return 0;
}

bool kvp_recovery_stay(struct kvp_recovery *rec)
{
	struct kvp_dirty *d, *next;
	LIST_HEAD(versions);

	if (make_versions(rec, &versions)) {
		list_for_each_entry_safe(d, next, &versions, list) {
			kfree(d);
			cond_resched();
		}
		rec->stays = false;
		return false;
	}
	rec->stays = !list_empty(&versions);
	rec->pool->recovery.kept = kvp_wbuf_restore(rec->pool, &versions);
	return true;
}
