// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two entries with intents of a stream go to a leg as one request.
 *
 * The intents of 15 MiB take 16 blocks of the log. A disk that seeks needs as long for these as for
 * 1 MiB of data. On a parity1 of three legs, 15 MiB are 7.5 MiB for each leg. So the log takes a
 * twelfth of its time. An entry cannot hold more intents, and the block layer does not join
 * requests with FUA.
 *
 * So a sealed entry is kept (log->unsent, by build_lock) under three conditions. It holds only
 * intents. No caller waits for it. And other intents are still on their way home, so that its own
 * intents could not go yet. The next entry is sent together with it, if it lies right behind it.
 *
 * They share the request, and nothing else. Each entry has its own place and header, and its own
 * link in the chain. It is in flight from the time when it was sealed, and counts by itself. The
 * cases:
 *
 * - The power goes while an entry is kept: that is the same as an entry in flight that did not
 *   arrive. No caller was told of it.
 * - The power goes during the request, or before a leg has flushed it: any part of the request may
 *   be there, torn at any place. The chain ends before the first entry, before the second, or
 *   behind it, as with two requests. No code knew one of them to be durable and the other not.
 * - The request fails on a leg: the leg lacks both entries, and is given up. Then the first entry
 *   counts, then the second.
 * - The request fails on all legs: neither entry counts, and both go back into the buffer. The
 *   entry that is built anew at the first one's place has another sum. So if the second is on a leg
 *   after all, no chain leads to it.
 * - An entry before it fails: handle_failures() sends the kept entry before it waits until all have
 *   ended.
 * - A caller waits for accepted blocks, or the interval is over: the entry that is built then goes
 *   with the kept one. If there is nothing to build, the kept entry goes alone. It also goes alone
 *   when no intents are on their way home any more: when the last of them have ended,
 *   kvp_commit_kick() looks for a kept entry. No block on its way home waits for a kept entry.
 * - Pages run out: intents on their way home free their pages, and then the kept entry is sent.
 * - The pool stops: an orderly stop has sent every entry before. Otherwise the entry stays in RAM.
 * - The next entry will lie in another segment, or on another vdev: then this one is not kept. With
 *   several vdevs nearly every entry goes to another vdev than the one before, so hardly any is
 *   kept.
 * - Parity of rows, or clean blocks, are appended: that is the next entry, and a caller waits for
 *   it.
 *
 * With the log on a cache no entry is kept: SSDs do not seek, and intents go home at the pace of
 * the disks. The work of recovery, KVP_LOG_UNWITNESSED, R24 and the limit of open intents depend on
 * the number of entries, which is the same as without this.
 */
#include "core/core.h"
#include "core/log_ops.h"
#include "log/internal.h"
#include "log/log.h"

/* The room in a segment that kvp_log_room() wants for a large entry. */
#define ROOM_FOR_LARGE	32

static bool __homes_on_their_way(const struct kvp_log *log, const struct kvp_entry_io *e)
{
	const struct kvp_direct *b;

	list_for_each_entry(b, &log->open, list)
		if (b != e->direct && b->phase < KVP_DIRECT_HOME)
			return true;
	return false;
}

static bool must_go(struct kvp_log *log, const struct kvp_entry_io *e)
{
	unsigned long flags;
	bool must;

	spin_lock_irqsave(&log->lock, flags);
	must = kvp_log_due(log) || kvp_log_failed(log) || !list_empty(&log->waiters) ||
	       !__homes_on_their_way(log, e);
	spin_unlock_irqrestore(&log->lock, flags);
	return must;
}

/* True if the next entry can go with @e. */
static bool may_be_first(struct kvp_log *log, const struct kvp_entry_io *e)
{
	kvp_lsn_t next = kvp_lsn_add(e->hdr.lsn, e->hdr.blocks);

	return e->direct && e->intents == e->records && !e->due &&
	       e->hdr.blocks < kvp_log_ops(log->vdevs)->most_joined &&
	       !kvp_lsn_before(kvp_log_segment_end(log->vdevs->log_vdev->g, e->hdr.lsn),
			       kvp_lsn_add(next, ROOM_FOR_LARGE)) &&
	       kvp_log_vdev(log->vdevs, next) == kvp_log_vdev(log->vdevs, e->hdr.lsn);
}

static bool lies_behind(const struct kvp_entry_io *first, const struct kvp_entry_io *e)
{
	return kvp_lsn_add(first->hdr.lsn, first->hdr.blocks) == e->hdr.lsn &&
	       first->hdr.blocks + e->hdr.blocks <= KVP_MAX_ENTRY_BLOCKS;
}

void kvp_log_send_unsent(struct kvp_log *log)
{
	struct kvp_entry_io *e = log->unsent;

	lockdep_assert_held(&log->build_lock);
	WRITE_ONCE(log->unsent, NULL);
	if (e)
		kvp_log_submit(log, e);
}

void kvp_log_send_or_keep(struct kvp_log *log, struct kvp_entry_io *e)
{
	struct kvp_entry_io *first = log->unsent;

	lockdep_assert_held(&log->build_lock);
	if (first && lies_behind(first, e)) {
		first->joined = e;
		kvp_log_send_unsent(log);
		return;
	}
	kvp_log_send_unsent(log);
	if (may_be_first(log, e) && !must_go(log, e))
		WRITE_ONCE(log->unsent, e);
	else
		kvp_log_submit(log, e);
}

bool kvp_log_must_go(struct kvp_log *log, const struct kvp_entry_io *e)
{
	return !READ_ONCE(log->stopped) && must_go(log, e);
}

void __kvp_log_joined_ended(struct kvp_entry_io *e)
{
	struct kvp_entry_io *second = e->joined;

	lockdep_assert_held(&e->log->lock);
	second->v = e->v;
	second->needed = e->needed;
	second->sent = e->sent;
	second->extra = e->extra;
	second->failed = e->failed;
	second->phase = KVP_ENTRY_ENDED;
}
