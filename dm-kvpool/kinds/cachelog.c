// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log on a cache, of either kind. Blocks stay there, dirty or clean, for as long as there is
 * room. So versions spill, dirty blocks are renewed, and streams are told apart when they come.
 */
#include "cache/pacing.h"
#include "core/core.h"
#include "core/log_ops.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "log/spill.h"
#include "policy/estimate.h"
#include "work/destage_ops.h"

const struct kvp_log_ops kvp_cache_log_ops = {
	.word = "cache",
	.read_us = KVP_READ_SSD_US,
	.memory = kvp_reload_alloc,
	.lost = kvp_log_of_cache_lost,
	.refuge = kvp_log_of_cache_refuge,
	.arrived = kvp_log_of_cache_arrived,
	.quick_data = KVP_ENTRY_MAX_DATA,
	.most_joined = 0,
	.plan_intents = kvp_log_plan_streams,
	.has_room = kvp_log_has_room,
	.count = kvp_log_count_causes,
	.most_apart = KVP_MAX_VDEVS,
	.least_apart = KVP_MOST_APART,
	.reserve = kvp_log_reserve_nothing,
	.most_holes = kvp_log_usual_holes,
	.resolved = __kvp_log_resolved_of_copies,
	.may_stay = kvp_log_of_cache_may_stay,
	.renew_kept = kvp_log_of_cache_renew_kept,
	.may_renew = kvp_log_of_cache_may_renew,
	.renews = kvp_log_of_cache_renews,
	.destage = &kvp_destage_at_a_pace,
	.half = 4,
	.in_use = kvp_pacing_in_use,
	.in_use_for_streams = kvp_pacing_in_use_for_streams,
	.joins_stream = kvp_pacing_joins_stream,
	.spill = kvp_log_of_cache_spills,
	.read_spilled = kvp_log_of_cache_read,
};

/* With a parity1, each record counts for the parity of a row: none stays, and none is renewed. */
const struct kvp_log_ops kvp_cache_log_in_order_ops = {
	.word = "cache",
	.read_us = KVP_READ_SSD_US,
	.memory = kvp_reload_alloc,
	.lost = kvp_log_of_cache_lost,
	.refuge = kvp_log_of_cache_refuge,
	.arrived = kvp_log_of_cache_arrived,
	.quick_data = KVP_ENTRY_MAX_DATA,
	.most_joined = 0,
	.plan_intents = kvp_log_plan_streams_in_order,
	.has_room = kvp_log_has_room_for_parity,
	.count = kvp_log_count_causes,
	.most_apart = 1,
	.least_apart = KVP_MOST_APART,
	.reserve = kvp_log_reserve_parity,
	.most_holes = kvp_log_holes_with_parity,
	.resolved = __kvp_log_resolved_with_parity,
	.may_stay = kvp_log_goes_home,
	.renew_kept = kvp_log_keeps_nothing,
	.may_renew = kvp_log_never_renews,
	.renews = kvp_log_never_renews,
	.destage = &kvp_destage_at_a_pace,
	.half = 4,	/* records that are not needed any more fill what is reserved */
	.in_use = kvp_pacing_in_use,
	.in_use_for_streams = kvp_pacing_in_use,
	.joins_stream = kvp_pacing_joins_stream,
	.spill = kvp_log_of_cache_spills,
	.read_spilled = kvp_log_of_cache_read,
};
