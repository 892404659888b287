// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>

#include "cache/pacing.h"
#include "core/core.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "log/log.h"
#include "log/renew.h"
#include "policy/ssdpolicy.h"
#include "ram/wbuf.h"

/* --- the wanted rate ------------------------------------------------------------------- */

/* Per cent of the window that may be dirty; 0: the log is not renewed. */
static u32 renew_mark(const struct kvp_pool *pool)
{
	return kvp_log_renew_kept(pool->log) ? (u32)READ_ONCE(pool->tunables[KVP_T_RENEW_MARK]) : 0;
}

u64 kvp_pacing_dirty(struct kvp_pool *pool)
{
	struct kvp_wbuf *w = pool->wbuf;
	kvp_lsn_t head = kvp_log_head(pool->log), first;
	u64 dirty = 0;

	kvp_wbuf_lock_lists(w);
	if (__kvp_wbuf_oldest(w, &first) && kvp_lsn_before(first, head))
		dirty = kvp_lsn_since(head, first);
	kvp_wbuf_unlock_lists(w);
	return dirty ? dirty + kvp_log_reserved(pool->log) : 0;
}

u64 kvp_pacing_wants(struct kvp_pool *pool)
{
	u64 floor = READ_ONCE(pool->tunables[KVP_T_DESTAGE_MIN_RATE]) >> KVP_BLOCK_SHIFT;
	u64 window = kvp_log_window(READ_ONCE(pool->vdevs.log_vdev)->g);
	u64 full = kvp_speed_full(pool);
	u32 mark = renew_mark(pool);

	/*
	 * The place of the oldest block does not matter if that block can be renewed. At the mark,
	 * destage goes as fast as possible.
	 */
	if (mark)
		return kvp_ssd_destage(div_u64(window * mark, 50),
				       floor ?: DIV_ROUND_UP_ULL(window, 3600),
				       kvp_wbuf_live(pool->wbuf), full);
	return kvp_ssd_destage(window, floor, kvp_pacing_dirty(pool), full);
}

u32 kvp_pacing_room(const struct kvp_pool *pool)
{
	u64 most = kvp_log_limit_empty(pool->log);

	if (!most)
		return 0;
	return (u32)div64_u64(100 * (most - min(most, kvp_log_fullness(pool->log, most))), most);
}

u64 kvp_pacing_in_use(const struct kvp_pool *pool, u64 *most)
{
	*most = kvp_log_limit_empty(pool->log);
	return kvp_log_fullness(pool->log, *most);
}

u64 kvp_pacing_in_use_for_streams(const struct kvp_pool *pool, u64 *most)
{
	if (!kvp_log_streams_pass(pool->log))
		return kvp_pacing_in_use(pool, most);
	*most = kvp_log_limit_empty(pool->log);
	return kvp_log_spent(pool->log, *most);
}

bool kvp_pacing_joins_stream(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask)
{
	u32 set = READ_ONCE(pool->tunables[KVP_T_SEQ_CUTOFF_WRITE]) >> KVP_BLOCK_SHIFT;
	u32 run;

	/* Finding a stream takes time: skip it for a write that could not use the answer. */
	if (!kvp_ssd_may_bypass(ask, true, blocks))
		return false;
	run = kvp_throttle_run(pool, first, blocks);
	/* The first test uses the lower cutoff. So kvp_throttle_is_slow() is rarely called. */
	return run >= kvp_ssd_cutoff_write(set, true) &&
	       run >= kvp_ssd_cutoff_write(set, kvp_throttle_is_slow(pool));
}
