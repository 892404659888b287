// SPDX-License-Identifier: GPL-2.0-only
/* How a pool fails: see failure.h. No other file changes the reasons. */
#include "core/core.h"
#include "core/failure.h"

void kvp_fail(struct kvp_failure *f, enum kvp_fail_reason reason, const char *why)
{
	u32 before = (u32)atomic_fetch_or(1 << reason, &f->reasons);
	enum kvp_failure_mode mode = kvp_failure_mode_of(before | 1u << reason);

	if (mode >= KVP_FAULTED && mode > kvp_failure_mode_of(before))
		f->faulted(f, why);
}

bool kvp_fail_late(struct kvp_failure *f)
{
	kvp_fail(f, KVP_FAIL_HOST,
		 "no heartbeat was written in time, so another host may have taken over the pool");
	return true;
}

void kvp_leg_failed_write(struct kvp_leg *leg)
{
	if (kvp_leg_takes_writes(leg) &&
	    !(leg->pool && kvp_failed_by(&leg->pool->failure, KVP_FAIL_HOST)))
		atomic64_inc(&leg->err_write);
}

void kvp_fail_ended(struct kvp_failure *f, enum kvp_fail_reason reason)
{
	atomic_andnot(1 << reason, &f->reasons);
}

void kvp_fail_clearing(struct kvp_failure *f, bool begins)
{
	if (begins)
		atomic_or(1 << KVP_FAIL_CLEARING, &f->reasons);
	else
		atomic_andnot(1 << KVP_FAIL_CLEARING, &f->reasons);
	smp_mb__after_atomic();	/* pairs with the barrier in hold_read() */
}
