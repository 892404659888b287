// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "policy/slow.h"

#define BUSY_TIMES	2u	/* so many times the requests of another leg */
#define DAY		(24ull * 3600 * NSEC_PER_SEC)

/* Shorter times are never slow. Flushes of an SSD without a capacitor take some milliseconds. */
static const u64 floors[KVP_SLOW_KINDS] = {
	[KVP_SLOW_READ] = NSEC_PER_MSEC,
	[KVP_SLOW_LONG] = NSEC_PER_MSEC,
	[KVP_SLOW_WRITE] = 10 * NSEC_PER_MSEC,
	[KVP_SLOW_FLUSH] = 10 * NSEC_PER_MSEC,
};

u64 kvp_slow_bound(u32 bucket)
{
	if (!bucket)
		return 1ull << KVP_SLOW_SHORTEST;
	return (3ull + (bucket - 1) % 2) << (KVP_SLOW_SHORTEST - 1 + (bucket - 1) / 2);
}

bool kvp_slow_window_ends(const struct kvp_slow_times *t, u32 samples, u64 now)
{
	return t->began && samples >= KVP_SLOW_SAMPLES && now - t->began >= KVP_SLOW_WINDOW;
}

void kvp_slow_end_window(struct kvp_slow_times *t, const u32 count[KVP_SLOW_BUCKETS], u32 of,
			 u64 now)
{
	u32 samples = 0, above = 0, i, top;

	for (i = 0; i < KVP_SLOW_BUCKETS; i++)
		samples += count[i];
	/* One in a hundred may be above. */
	for (top = KVP_SLOW_BUCKETS - 1; top && above + count[top] <= samples / 100; top--)
		above += count[top];
	t->requests = (u64)samples * of;
	t->p99 = kvp_slow_bound(top);
	t->least = top ? kvp_slow_bound(top - 1) : 0;
	t->before = t->began;
	t->ended = now;
	t->began = now;
}

/* True if @a had a window that ended within the last one of @t. */
static bool was_asked(const struct kvp_slow_times *a, const struct kvp_slow_times *t)
{
	return a->ended && a->ended > t->before;
}

/* The times of the best other leg that @me is compared with, or NULL. */
static const struct kvp_slow_times *best_other(const struct kvp_slow_leg *legs, u32 nr, u32 me,
					       enum kvp_slow_kind kind, enum kvp_slow_beside beside)
{
	const struct kvp_slow_times *best = NULL;
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct kvp_slow_times *t = &legs[i].times[kind];

		if (i == me || !legs[i].counts || !was_asked(t, &legs[me].times[kind]))
			continue;
		if (beside == KVP_SLOW_ALIKE && legs[me].seeks && !legs[i].seeks)
			continue;
		if (!best || t->p99 < best->p99)
			best = t;
	}
	return best;
}

static u64 lasted_ms(const struct kvp_slow_times *t)
{
	return div_u64(t->ended - t->before, NSEC_PER_MSEC);
}

static bool is_busier(const struct kvp_slow_times *t, const struct kvp_slow_times *than)
{
	return t->requests * lasted_ms(than) > BUSY_TIMES * than->requests * lasted_ms(t);
}

static bool becomes_slow(struct kvp_slow_verdict *v, bool bad, u64 now)
{
	v->bad = bad ? v->bad + 1 : 0;
	if (v->bad < KVP_SLOW_BAD)
		return false;
	v->flaps = v->well && now - v->well < DAY ? min_t(u32, v->flaps + 1, KVP_SLOW_FLAPS) : 0;
	v->slow = true;
	v->fair = 0;
	return true;
}

static bool becomes_well(struct kvp_slow_verdict *v, bool fair, u64 now)
{
	v->fair = fair ? v->fair + 1 : 0;
	if (v->fair < KVP_SLOW_FAIR << v->flaps)
		return false;
	v->slow = false;
	v->bad = 0;
	v->well = now;
	return true;
}

static bool judge_beside(struct kvp_slow_leg *legs, u32 nr, u32 me, enum kvp_slow_kind kind,
			 enum kvp_slow_beside beside, u32 factor, u64 now)
{
	const struct kvp_slow_times *best = best_other(legs, nr, me, kind, beside);
	struct kvp_slow_times *t = &legs[me].times[kind];
	struct kvp_slow_verdict *v = &t->verdict[beside];

	if (!best)
		return false;
	v->others = best->p99;
	if (!v->slow)
		return becomes_slow(v, t->least >= max(factor * best->p99, floors[kind]) &&
				       !is_busier(t, best), now);
	return becomes_well(v, 2 * t->p99 <= max(factor * best->p99, 2 * floors[kind]), now);
}

bool kvp_slow_judge(struct kvp_slow_leg *legs, u32 nr, u32 me, enum kvp_slow_kind kind,
		    u32 factor, u64 now)
{
	bool changed = false;
	u32 beside;

	for (beside = 0; beside < KVP_SLOW_BESIDES; beside++)
		changed |= judge_beside(legs, nr, me, kind, beside, factor, now);
	return changed;
}

void kvp_slow_forget(struct kvp_slow_leg *leg)
{
	memset(leg, 0, sizeof(*leg));
}

bool kvp_slow_reads_last(const struct kvp_slow_leg *leg)
{
	return leg->times[KVP_SLOW_READ].verdict[KVP_SLOW_ANY].slow ||
	       leg->times[KVP_SLOW_LONG].verdict[KVP_SLOW_ANY].slow;
}

bool kvp_slow_leaves_to_others(u32 own, u32 busiest, bool seeks, u32 factor)
{
	u64 most = (u64)factor * (own + 1ull);

	return busiest < max_t(u64, most, seeks ? 0 : KVP_SLOW_IDLE);
}

enum kvp_slow_kind kvp_slow_by(const struct kvp_slow_leg *leg)
{
	enum kvp_slow_kind kind = 0;

	while (kind < KVP_SLOW_KINDS && !leg->times[kind].verdict[KVP_SLOW_ALIKE].slow)
		kind++;
	return kind;
}
