// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of an SSD cache keeps its data over a restart. The newest version of each block becomes a
 * spilled version in the write buffer (log/spill.h). It is read from the SSD, and goes home later.
 * Intents and discards are resolved, as in any recovery. The resulting table is durable with the
 * superblock that begins the next generation of the log (format/generations.h). So for the next
 * recovery, an intent or discard of this generation means: the table counts for its block, and no
 * older record in the log does.
 */
#include <linux/slab.h>

#include "core/core.h"
#include "format/generations.h"
#include "format/logplace.h"
#include "log/log.h"
#include "policy/replay.h"
#include "ram/wbuf.h"
#include "recovery/recovery.h"

/*
 * Make a version of record @r; NULL: there is no memory. There may be very many versions. The
 * kernel must not kill a process for their memory: the log can be written home instead.
 */
static struct kvp_version *new_version(const struct kvp_replay_rec *r)
{
	struct kvp_version *d = kzalloc(sizeof(*d),
					GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	if (!d)
		return NULL;
	INIT_HLIST_NODE(&d->hash);
	d->block = r->block;
	d->count = 1;
	d->crc = r->crc;
	d->lsn = r->lsn;
	d->rec = r->rec;
	d->payload = (u16)(kvp_lsn_since(r->payload, r->lsn));
	d->row = r->row;
	d->state = KVP_VERSION_LOGGED;
	d->restored = true;
	/*
	 * If the cache is lost or the log moves, no log has this version any more. So no intent may
	 * pass it.
	 */
	d->over = KVP_OVER_UNKNOWN;
	return d;
}

void kvp_recovery_unspill(struct kvp_recovery *rec)
{
	struct kvp_version *d, *next;

	list_for_each_entry_safe(d, next, &rec->kept, list) {
		list_del(&d->list);
		kfree(d);
		cond_resched();
	}
}

/*
 * The list is in log order: destage and the tail need that. No version is kept if the superblock
 * cannot name another generation.
 */
bool kvp_recovery_spill(struct kvp_recovery *rec)
{
	struct kvp_replay_rec *r;

	if (!kvp_log_stays(rec->pool->sb) || !rec->entries ||
	    kvp_generations_full(rec->pool->sb, rec->end.prev_lsn))
		return false;
	list_for_each_entry(r, &rec->replay.data, list) {
		struct kvp_version *d = new_version(r);

		if (!d) {
			kvp_recovery_unspill(rec);
			return false;
		}
		list_add_tail(&d->list, &rec->kept);
		cond_resched();
	}
	return true;
}

void kvp_recovery_retain(struct kvp_recovery *rec)
{
	rec->stays = !list_empty(&rec->kept);
	rec->pool->recovery.kept = kvp_wbuf_restore(rec->pool->wbuf, &rec->kept);
}
