// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bits.h>
#include <linux/ktime.h>

#include "core/core.h"
#include "io/slow.h"

const char *const kvp_slow_kinds[KVP_SLOW_KINDS] = {
	[KVP_SLOW_READ] = "read",
	[KVP_SLOW_LONG] = "long_read",
	[KVP_SLOW_WRITE] = "write",
	[KVP_SLOW_FLUSH] = "flush",
};

bool kvp_slow_probes(struct kvp_leg *leg)
{
	return !((u32)atomic_inc_return(&leg->passed_over) % KVP_SLOW_PROBE);
}

/* --- the watch ---------------------------------------------------------------------------- */

static u32 counted(struct kvp_slow *s, u32 leg, enum kvp_slow_kind kind)
{
	u32 n = 0, i;

	for (i = 0; i < KVP_SLOW_BUCKETS; i++)
		n += (u32)atomic_read(&s->counts[leg].nr[kind][i]);
	return n;
}

static void take_counts(struct kvp_slow *s, u32 leg, enum kvp_slow_kind kind, u32 *count)
{
	u32 i;

	for (i = 0; i < KVP_SLOW_BUCKETS; i++)
		count[i] = (u32)atomic_xchg(&s->counts[leg].nr[kind][i], 0);
}

/* Begin the first windows of a leg, with nothing of what it did before it was in use. */
static void begin_windows(struct kvp_slow *s, u32 leg, u64 now)
{
	u32 count[KVP_SLOW_BUCKETS];
	u32 kind;

	s->leg[leg].counts = true;
	for (kind = 0; kind < KVP_SLOW_KINDS; kind++) {
		take_counts(s, leg, kind, count);
		s->leg[leg].times[kind].began = now;
	}
}

/* Returns the kinds whose windows have ended, as bits. */
static u32 end_windows(struct kvp_slow *s, u32 leg, u32 of, u64 now)
{
	u32 count[KVP_SLOW_BUCKETS];
	u32 kind, ended = 0;

	for (kind = 0; kind < KVP_SLOW_KINDS; kind++) {
		struct kvp_slow_times *t = &s->leg[leg].times[kind];

		if (!kvp_slow_window_ends(t, counted(s, leg, kind), now))
			continue;
		take_counts(s, leg, kind, count);
		kvp_slow_end_window(t, count, of, now);
		ended |= BIT(kind);
	}
	return ended;
}

/* Report that the leg has become slow, or is not slow any more, unless that was reported before. */
static void tell(struct kvp_leg *leg)
{
	struct kvp_slow *s = leg->pool->slow;
	enum kvp_slow_kind by = kvp_slow_by(&s->leg[leg->index]);
	const struct kvp_slow_times *t;

	if ((by < KVP_SLOW_KINDS) == s->told[leg->index])
		return;
	s->told[leg->index] = by < KVP_SLOW_KINDS;
	t = by < KVP_SLOW_KINDS ? &s->leg[leg->index].times[by] : NULL;
	leg->pool->leg_client->slow(leg, t ? kvp_slow_kinds[by] : NULL, t ? t->p99 : 0,
				    t ? t->verdict[KVP_SLOW_ALIKE].others : 0);
}

static void judge(struct kvp_leg *leg, u32 ended, u64 now)
{
	const struct kvp_vdev *v = leg->v;
	struct kvp_slow *s = leg->pool->slow;
	u32 kind;

	for (kind = 0; kind < KVP_SLOW_KINDS; kind++)
		if (ended & BIT(kind))
			kvp_slow_judge(&s->leg[v->legs[0].index], v->nr_legs,
				       leg->index - v->legs[0].index, kind,
				       kvp_slow_factor(leg->pool), now);
	WRITE_ONCE(leg->slow, kvp_slow_reads_last(&s->leg[leg->index]));
	tell(leg);
}

/* A leg that is new, out, or not judged does not count as slow. */
static void forget(struct kvp_leg *leg)
{
	struct kvp_slow *s = leg->pool->slow;

	kvp_slow_forget(&s->leg[leg->index]);
	WRITE_ONCE(leg->slow, false);
	if (kvp_leg_in_sync(leg))
		tell(leg);
	s->told[leg->index] = false;
}

/*
 * True if the leg's number belonged to another leg at the last look. That happens when legs are
 * added, or leave.
 */
static bool is_another(struct kvp_leg *leg)
{
	struct kvp_slow *s = leg->pool->slow;

	if (s->bdev[leg->index] == leg->bdev)
		return false;
	s->bdev[leg->index] = leg->bdev;
	s->told[leg->index] = false;
	return true;
}

static void look_at_vdev(const struct kvp_vdev *v, u64 now)
{
	struct kvp_slow *s = v->pool->slow;
	u32 ended[KVP_MAX_LEGS] = { 0 };
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_leg *leg = &v->legs[i];

		s->leg[leg->index].seeks = leg->rotational;
		if (is_another(leg) || !kvp_leg_in_sync(leg) || !kvp_slow_is_judged(leg))
			forget(leg);
		else if (!s->leg[leg->index].counts)
			begin_windows(s, leg->index, now);
		else
			ended[i] = end_windows(s, leg->index, kvp_slow_timed_of(leg), now);
	}
	for (i = 0; i < v->nr_legs; i++)
		if (ended[i])
			judge(&v->legs[i], ended[i], now);
}

void kvp_slow_look(struct kvp_pool *pool)
{
	u64 now = ktime_get_ns();
	u32 i;

	/* While the pool is suspended, legs and vdevs may change their places. */
	if (!test_bit(KVP_POOL_RUNNING, &pool->flags) ||
	    test_bit(KVP_POOL_QUIESCED, &pool->flags))
		return;
	for (i = 0; i < pool->vdevs.nr; i++)
		look_at_vdev(&pool->vdevs.v[i], now);
}

/* --- status -------------------------------------------------------------------------------- */

static enum kvp_slow_kind slow_beside_any(const struct kvp_slow_leg *leg)
{
	enum kvp_slow_kind kind = 0;

	while (kind < KVP_SLOW_KINDS && !READ_ONCE(leg->times[kind].verdict[KVP_SLOW_ANY].slow))
		kind++;
	return kind;
}

void kvp_slow_figures(const struct kvp_leg *leg, struct kvp_slow_figures *f)
{
	const struct kvp_slow_leg *s = &leg->pool->slow->leg[leg->index];
	enum kvp_slow_beside beside = KVP_SLOW_ALIKE;
	enum kvp_slow_kind by = kvp_slow_by(s);
	u32 kind;

	for (kind = 0; kind < KVP_SLOW_KINDS; kind++)
		f->p99[kind] = READ_ONCE(s->times[kind].p99);
	f->state = by < KVP_SLOW_KINDS ? "yes" : "no";
	if (by == KVP_SLOW_KINDS) {
		by = slow_beside_any(s);
		beside = KVP_SLOW_ANY;
		f->state = by < KVP_SLOW_KINDS ? "expected" : "no";
	}
	f->by = by < KVP_SLOW_KINDS ? kvp_slow_kinds[by] : NULL;
	f->others = f->by ? READ_ONCE(s->times[by].verdict[beside].others) : 0;
}
