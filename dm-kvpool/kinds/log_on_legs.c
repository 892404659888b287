// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log on the legs of vdevs with data. All that it holds is in RAM, too, and goes home soon.
 */
#include "core/core.h"
#include "core/log_ops.h"
#include "home/throttle.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "work/destage_ops.h"

static int no_memory(struct kvp_log *log, struct kvp_log_memory *m)
{
	return 0;
}

const struct kvp_log_ops kvp_legs_log_ops = {
	.word = "legs",
	.memory = no_memory,
	.lost = kvp_log_is_never_lost,
	.refuge = kvp_log_stays_there,
	.arrived = kvp_log_ends_loss,
	.quick_data = KVP_LOG_QUICK_DATA,
	.most_joined = KVP_MAX_ENTRY_BLOCKS,
	.plan_intents = kvp_log_plan_runs,
	.has_room = kvp_log_has_room,
	.count = kvp_log_count_nothing,
	.most_apart = KVP_MAX_VDEVS,
	.reserve = kvp_log_reserve_nothing,
	.most_holes = kvp_log_usual_holes,
	.resolved = __kvp_log_resolved_of_copies,
	.may_stay = kvp_log_goes_home,
	.renew_kept = kvp_log_keeps_nothing,
	.may_renew = kvp_log_never_renews,
	.renews = kvp_log_never_renews,
	.destage = &kvp_destage_soon,
	.half = 4,
	.in_use = kvp_throttle_in_use,
	.in_use_for_streams = kvp_throttle_in_use_for_streams,
	.joins_stream = kvp_throttle_joins_stream,
	.spill = kvp_log_spills_nothing,
	.read_spilled = kvp_log_has_all_pages,
};

/* With a parity1, the log has room for the parity of rows. */
const struct kvp_log_ops kvp_legs_log_in_order_ops = {
	.word = "legs",
	.memory = no_memory,
	.lost = kvp_log_is_never_lost,
	.refuge = kvp_log_stays_there,
	.arrived = kvp_log_ends_loss,
	.quick_data = KVP_ENTRY_MAX_DATA,
	.most_joined = KVP_MAX_ENTRY_BLOCKS,
	.plan_intents = kvp_log_plan_runs_in_order,
	.has_room = kvp_log_has_room_for_parity,
	.count = kvp_log_count_nothing,
	.most_apart = 1,
	.reserve = kvp_log_reserve_parity,
	.most_holes = kvp_log_holes_with_parity,
	.resolved = __kvp_log_resolved_with_parity,
	.may_stay = kvp_log_goes_home,
	.renew_kept = kvp_log_keeps_nothing,
	.may_renew = kvp_log_never_renews,
	.renews = kvp_log_never_renews,
	.destage = &kvp_destage_soon,
	.half = 5,	/* little of what is reserved is used */
	.in_use = kvp_throttle_in_use,
	.in_use_for_streams = kvp_throttle_in_use_for_streams,
	.joins_stream = kvp_throttle_joins_stream,
	.spill = kvp_log_spills_nothing,
	.read_spilled = kvp_log_has_all_pages,
};
