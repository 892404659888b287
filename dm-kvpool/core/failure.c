// SPDX-License-Identifier: GPL-2.0-only
/* How a pool fails: see failure.h. No other file changes pool->failure. */
#include "core/core.h"
#include "core/failure.h"

void kvp_fail(struct kvp_pool *pool, enum kvp_fail_reason reason, const char *why)
{
	u32 before = (u32)atomic_fetch_or(1 << reason, &pool->failure);
	enum kvp_failure_mode mode = kvp_failure_mode_of(before | 1u << reason);

	if (mode >= KVP_FAULTED && mode > kvp_failure_mode_of(before))
		pool->leg_client->faulted(pool, why);
}

bool kvp_fail_late(struct kvp_pool *pool)
{
	kvp_fail(pool, KVP_FAIL_HOST,
		 "no heartbeat was written in time, so another host may have taken over the pool");
	return true;
}

void kvp_leg_failed_write(struct kvp_leg *leg)
{
	if (kvp_leg_takes_writes(leg) && !kvp_failed_by(leg->pool, KVP_FAIL_HOST))
		atomic64_inc(&leg->err_write);
}

void kvp_fail_ended(struct kvp_pool *pool, enum kvp_fail_reason reason)
{
	atomic_andnot(1 << reason, &pool->failure);
}

void kvp_fail_clearing(struct kvp_pool *pool, bool begins)
{
	if (begins)
		atomic_or(1 << KVP_FAIL_CLEARING, &pool->failure);
	else
		atomic_andnot(1 << KVP_FAIL_CLEARING, &pool->failure);
	smp_mb__after_atomic();	/* pairs with the barrier in hold_read() */
}
