// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "log/internal.h"
#include "log/log.h"
#include "log/renew.h"
#include "policy/renew.h"
#include "policy/throttle.h"
#include "ram/wbuf.h"

#define PARTS		4u	/* of a step of the tail; each is renewed together */

static u32 mark_of(const struct kvp_log *log)
{
	return (u32)READ_ONCE(log->tunables[KVP_T_RENEW_MARK]);
}

/* The window, or what it is to become if that is smaller. */
static u64 window_of(const struct kvp_log *log)
{
	u64 window = kvp_log_window(READ_ONCE(log->vdevs->log_vdev)->g);
	u64 shrinks = kvp_log_shrinks(log);

	return shrinks ? min(shrinks, window) : window;
}

/* True if nothing new may enter the log, or all of it is about to go home. */
static bool is_closed(const struct kvp_log *log)
{
	return kvp_log_is_closed(log) || (kvp_log_is_squeezed(log) && !kvp_log_shrinks(log)) ||
	       kvp_faulted(log->failure) || test_bit(KVP_POOL_SUSPENDING, log->flags) ||
	       test_bit(KVP_POOL_QUIESCED, log->flags) ||
	       test_bit(KVP_POOL_EMPTYING, log->flags);
}

u64 kvp_log_renew_step(const struct kvp_log *log)
{
	const struct kvp_geometry *g = READ_ONCE(log->vdevs->log_vdev)->g;

	return kvp_renew_step(window_of(log), g->segment_blocks);
}

u64 kvp_log_of_cache_renew_kept(const struct kvp_log *log)
{
	const struct kvp_geometry *g = READ_ONCE(log->vdevs->log_vdev)->g;

	return mark_of(log) ? kvp_renew_reserve(kvp_log_window(g), g->segment_blocks) : 0;
}

bool kvp_log_of_cache_may_renew(const struct kvp_log *log)
{
	kvp_lsn_t tail = kvp_log_tail(log);

	return kvp_log_renew_kept(log) && !is_closed(log) &&
	       READ_ONCE(log->renew_stuck) != kvp_lsn_add(tail, 1);
}

bool kvp_log_of_cache_renews(const struct kvp_log *log)
{
	return kvp_log_may_renew(log) &&
	       kvp_renew_pays(window_of(log), mark_of(log), kvp_wbuf_live(log->wbuf));
}

u64 kvp_log_fullness(const struct kvp_log *log, u64 most)
{
	if (!kvp_log_renews(log))
		return kvp_log_taken(log, most);
	return kvp_renew_fullness(window_of(log), mark_of(log), kvp_wbuf_live(log->wbuf), most);
}

bool kvp_log_streams_pass(const struct kvp_log *log)
{
	u64 most = kvp_log_limit_empty(log);

	return !kvp_log_renews(log) || kvp_throttle_slows(most, kvp_log_fullness(log, most));
}

bool kvp_log_lets_streams_pass(struct kvp_log *log)
{
	u64 most = kvp_log_limit_empty(log);

	lockdep_assert_held(&log->build_lock);
	log->streams_pass = !kvp_log_renews(log) ||
			    kvp_renew_passes(log->streams_pass, most,
					     kvp_log_fullness(log, most));
	return log->streams_pass;
}

u64 kvp_log_clean_limit(const struct kvp_log *log)
{
	const struct kvp_geometry *g = READ_ONCE(log->vdevs->log_vdev)->g;
	u64 window = window_of(log), usual = window / 8 * 5;

	return kvp_log_renews(log) ? max(usual, kvp_renew_clean(window, g->segment_blocks)) :
				      usual;
}

/*
 * A checkpoint is taken when half of the log is used. Clean blocks may use that half. Otherwise a
 * log with little else would get no checkpoint, and its tail would not move. While the checkpoint
 * runs, clean blocks may use another eighth, and no more. Where blocks are renewed, more of the log
 * is in use all the time (kvp_log_clean_limit()).
 */
bool kvp_log_has_spare(struct kvp_log *log, u32 blocks)
{
	u64 window = kvp_log_window(log->vdevs->log_vdev->g), used = kvp_log_used(log);
	u64 rest = kvp_log_renews(log) ? kvp_log_renew_step(log) / 2 : window / 16;

	lockdep_assert_held(&log->build_lock);
	/* The entry may begin with the next segment, and leave this many blocks unused. */
	blocks += 32;
	used += kvp_log_reserved(log);
	return !READ_ONCE(log->full) && used + blocks <= kvp_log_clean_limit(log) &&
	       kvp_wbuf_buffered(log->wbuf) + rest <= kvp_log_limit_after(log, blocks);
}

kvp_lsn_t kvp_log_renew_below(const struct kvp_log *log)
{
	const struct kvp_geometry *g = log->vdevs->log_vdev->g;
	kvp_lsn_t head = kvp_log_head(log);
	u64 window = window_of(log);
	u64 span = kvp_renew_span(window, g->segment_blocks, kvp_wbuf_live(log->wbuf));
	kvp_lsn_t below = kvp_lsn_nr(head) > span ? kvp_lsn_back(head, span) : 0, step;

	if (!kvp_log_shrinks(log))
		return below;
	/* Much lies below. The reserve is for a step: the tail must move after each. */
	step = kvp_lsn_add(kvp_log_tail(log), kvp_log_renew_step(log));
	return kvp_lsn_first(below, step);
}

bool kvp_log_renew_due(struct kvp_log *log)
{
	kvp_lsn_t below = kvp_log_renew_below(log);
	u64 some = kvp_log_renew_step(log) / PARTS;

	return kvp_lsn_nr(below) > some &&
	       kvp_wbuf_waits_below(log->wbuf, kvp_lsn_back(below, some));
}

void kvp_log_renew_stuck(struct kvp_log *log)
{
	WRITE_ONCE(log->renew_stuck, kvp_lsn_add(kvp_log_tail(log), 1));
}
