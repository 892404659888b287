// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two entries of a stream's intents go to a leg as one request.
 *
 * The records of 15 MiB are 16 blocks, for which a disk that seeks takes as long as for a MiB of data: of
 * a parity1 of three legs, where 15 MiB are 7.5 for each, a twelfth of its time. An entry cannot have
 * more, and the block layer does not join requests with FUA. So an entry that has nothing but intents,
 * no waiter, and could not go home yet since others are on their way, is sealed
 * and kept (@unsent, by build_lock). The next one that is built is sent with it, if it lies behind it.
 *
 * Only the request is one. Each entry has its place, header and chain, is in flight from
 * when it was sealed, and counts by itself. The cases:
 *
 *   the power goes while one is kept: as if it were in flight, and had not arrived. No caller was told of it.
 *   It goes during the request, or before a leg has flushed it: any part may be there, torn where it
 *	likes. The chain ends before the first entry, or before the second, or behind it, as it does
 *	with two requests. No leg was known to have one durable and not the other.
 *   A leg fails the request: it lacks both. It is given up, then the first counts, then the second.
 *   All fail it: neither counts. Both go back into the buffer, and what is built anew at the first one's place
 *	has another sum, so that the second, should it be there, follows nothing.
 *   An entry before it fails: settle_failures() sends what is kept before it waits for all to end.
 *   A caller waits for accepted blocks, or the interval is over: the entry that is built then goes with it;
 *	if there is none to build it goes alone. So does it when nothing is on its way home any more.
 *	The end of the last one kicks: kvp_commit_kick() looks for a kept entry. Nothing that goes home waits for what is kept.
 *   Pages run out: those of what is on its way home come free, which is when it goes.
 *   The pool stops: in good order everything was wanted. Else it stays where it was, in RAM.
 *   The next entry lies in another segment, or its turn is another vdev's: none is kept that
 *	would have such a one behind it. Of several vdevs turns change with nearly each entry, so hardly any is.
 *   A parity of rows, or clean blocks, are appended: as a next entry. They are for waiters.
 *
 * Not with the log on a cache: SSDs do not seek, and intents pass it by at the pace of the disks. What recovery reads,
 * KVP_LOG_UNWITNESSED, R24 and the limit of open intents go by entries, of which there are no more than before.
 */
#include "core/core.h"
#include "log/internal.h"
#include "log/log.h"

/* What kvp_log_room() wants to be left of a segment for a large entry. */
#define ROOM_FOR_LARGE	32

static bool __homes_on_their_way(const struct kvp_log *log, const struct kvp_entry_io *e)
{
	const struct kvp_direct *b;

	list_for_each_entry(b, &log->bypass, list)
		if (b != e->bypass && b->phase != KVP_DIRECT_HOME)
			return true;
	return false;
}

static bool must_go(struct kvp_log *log, const struct kvp_entry_io *e)
{
	unsigned long flags;
	bool must;

	spin_lock_irqsave(&log->lock, flags);
	must = log->due || kvp_log_failed(log) || !list_empty(&log->waiters) || !__homes_on_their_way(log, e);
	spin_unlock_irqrestore(&log->lock, flags);
	return must;
}

/* Can the next entry go with it? */
static bool may_be_first(struct kvp_pool *pool, const struct kvp_entry_io *e)
{
	struct kvp_log *log = pool->log;
	u64 next = e->hdr.lsn + e->hdr.blocks;

	return e->bypass && e->intents == e->records && !e->due && !kvp_pool_logs_on_cache(pool) &&
	       next + ROOM_FOR_LARGE <= kvp_log_segment_end(log->pool->log_vdev->g, e->hdr.lsn) &&
	       kvp_log_vdev(pool, next) == kvp_log_vdev(pool, e->hdr.lsn);
}

static bool lies_behind(const struct kvp_entry_io *first, const struct kvp_entry_io *e)
{
	return first->hdr.lsn + first->hdr.blocks == e->hdr.lsn &&
	       first->hdr.blocks + e->hdr.blocks <= KVP_MAX_ENTRY_BLOCKS;
}

void kvp_log_send_unsent(struct kvp_pool *pool)
{
	struct kvp_entry_io *e = pool->log->unsent;

	lockdep_assert_held(&pool->log->build_lock);
	WRITE_ONCE(pool->log->unsent, NULL);
	if (e)
		kvp_log_submit(pool, e);
}

void kvp_log_send_or_keep(struct kvp_pool *pool, struct kvp_entry_io *e)
{
	struct kvp_log *log = pool->log;
	struct kvp_entry_io *first = log->unsent;

	lockdep_assert_held(&log->build_lock);
	if (first && lies_behind(first, e)) {
		first->joined = e;
		kvp_log_send_unsent(pool);
		return;
	}
	kvp_log_send_unsent(pool);
	if (may_be_first(pool, e) && !must_go(log, e))
		WRITE_ONCE(log->unsent, e);
	else
		kvp_log_submit(pool, e);
}

bool kvp_log_must_go(struct kvp_pool *pool, const struct kvp_entry_io *e)
{
	return !READ_ONCE(pool->log->stopped) && must_go(pool->log, e);
}

void __kvp_log_joined_ended(struct kvp_entry_io *e)
{
	struct kvp_entry_io *second = e->joined;

	lockdep_assert_held(&e->pool->log->lock);
	second->v = e->v;
	second->needed = e->needed;
	second->sent = e->sent;
	second->failed = e->failed;
	second->phase = KVP_ENTRY_ENDED;
}
