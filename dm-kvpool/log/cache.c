// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a log on a cache does in its own way (core/log_ops.h): blocks stay there, dirty or clean,
 * for as long as there is room. renew.c, spill.c and spilled.c are about such a log, too.
 */
#include "core/core.h"
#include "format/logstripe.h"
#include "log/log.h"
#include "log/renew.h"
#include "policy/ssdpolicy.h"
#include "ram/wbuf.h"

/*
 * Only blocks of a long stream become intents. The stream is noted when a write is accepted, since
 * in the buffer it may lie between other writes. It goes round what the cache has: such blocks stay
 * there, clean or dirty, as data. It passes them where they would cut it into many short requests
 * (kvp_ssd_stream_passes()). If more is dirty than renewal allows, or nothing is renewed, it passes
 * them everywhere, until far less is dirty.
 */
void kvp_log_plan_streams(struct kvp_log *log, struct kvp_entry_io *e)
{
	u32 set = READ_ONCE(log->tunables[KVP_T_SEQ_CUTOFF_WRITE]) >> KVP_BLOCK_SHIFT;

	e->only_streams = true;
	e->goes_round = !kvp_log_lets_streams_pass(log);
	e->keeps = e->goes_round;
	e->over = KVP_OVER_MOST + 1;
	e->least_run = kvp_ssd_least_run(set, false);
	e->least_wanted = kvp_ssd_least_run(set, true);
}

/* The same, but the parity of a row counts all versions in the order of the log. */
void kvp_log_plan_streams_in_order(struct kvp_log *log, struct kvp_entry_io *e)
{
	kvp_log_plan_streams(log, e);
	e->over = 0;
}

void kvp_log_count_causes(struct kvp_log *log, const struct kvp_entry_io *e)
{
	enum kvp_log_cause payload = e->clean ? KVP_LOG_FILLS : e->append ? KVP_LOG_PARITY :
				     KVP_LOG_DATA;
	u32 headers = kvp_log_entry_blocks(log->vdevs->log_vdev->g, e->hdr.hdr_blocks, 0);

	lockdep_assert_held(&log->lock);
	log->ssd_blocks[KVP_LOG_HEADERS] += headers;
	log->ssd_blocks[KVP_LOG_PARITY] += e->hdr.blocks - headers - e->hdr.payload;
	log->ssd_blocks[payload] += e->hdr.payload - e->again - e->renewed;
	log->ssd_blocks[KVP_LOG_AGAIN] += e->again;
	log->ssd_blocks[KVP_LOG_RENEWED] += e->renewed;
}

bool kvp_log_of_cache_may_stay(const struct kvp_log *log)
{
	return !READ_ONCE(log->vdevs->log_moving) && !kvp_faulted(log->failure);
}

bool kvp_log_of_cache_lost(const struct kvp_vdevs *vdevs)
{
	return READ_ONCE(vdevs->log_moving);
}

struct kvp_vdev *kvp_log_of_cache_refuge(struct kvp_vdevs *vdevs, struct kvp_vdev *v)
{
	return kvp_log_refuge(vdevs);
}

/* This cache may have been lost since the move began. */
bool kvp_log_of_cache_arrived(struct kvp_vdevs *vdevs)
{
	return false;
}
