// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>

#include "core/core.h"
#include "home/speed.h"
#include "ram/wbuf.h"

#define LATELY_NS	(8ull * NSEC_PER_SEC)	/* ns of work; older work counts half, and so on */
#define RECENT		64u			/* versions; the same */
#define SHOWN_NS	(16ull * NSEC_PER_SEC)
/* versions a second, until the first rounds are over */
#define UNKNOWN		(1u << 20)

static u64 clock_of(const struct kvp_speed *s)
{
	return ktime_get_ns() - READ_ONCE(s->napped);
}

u64 kvp_speed_clock(const struct kvp_pool *pool)
{
	return clock_of(pool->speed);
}

u64 *kvp_speed_naps(struct kvp_pool *pool)
{
	return &pool->speed->napped;
}

void kvp_speed_init(struct kvp_pool *pool)
{
	pool->speed->ended = ktime_get_ns();
}

static void add(u64 *what, u64 *ns, u64 more, u64 more_ns, u64 window)
{
	u64 w = *what + more, n = *ns + more_ns;

	while (n > 2 * window) {
		w /= 2;
		n /= 2;
	}
	WRITE_ONCE(*what, w);
	WRITE_ONCE(*ns, n);
}

void kvp_speed_begin(struct kvp_pool *pool, u32 versions)
{
	WRITE_ONCE(pool->speed->taken, versions);
	WRITE_ONCE(pool->speed->began, kvp_speed_clock(pool));
}

void kvp_speed_note(struct kvp_pool *pool, u32 versions, u64 ns, enum kvp_speed_burst burst)
{
	struct kvp_speed *s = pool->speed;
	u64 now = ktime_get_ns();

	WRITE_ONCE(s->began, 0);
	if (burst == KVP_SPEED_FULL) {
		add(&s->worked, &s->work_ns, versions, ns, LATELY_NS);
		add(&s->recent_ns, &s->recent, ns, versions, RECENT);
	} else if (burst == KVP_SPEED_BESIDE) {
		add(&s->beside, &s->beside_ns, versions, ns, LATELY_NS);
	}
	add(&s->home, &s->wall_ns, versions, now - s->ended, SHOWN_NS);
	WRITE_ONCE(s->ended, now);
}

static u64 a_second(u64 what, u64 ns)
{
	u64 us = max(div_u64(ns, NSEC_PER_USEC), 1ull);

	return div64_u64(what * (NSEC_PER_SEC / NSEC_PER_USEC), us);
}

/* Upper limit of the speed that the burst in progress can still show. */
static u64 at_most(const struct kvp_speed *s)
{
	u64 began = READ_ONCE(s->began), now = clock_of(s);

	return began && now > began ? a_second(READ_ONCE(s->taken), now - began) : UNKNOWN;
}

static u64 recent(const struct kvp_speed *s)
{
	u64 ns = READ_ONCE(s->recent_ns);

	return ns ? a_second(READ_ONCE(s->recent), ns) : UNKNOWN;
}

u64 kvp_speed_full(const struct kvp_pool *pool)
{
	const struct kvp_speed *s = pool->speed;
	u64 ns = READ_ONCE(s->work_ns), what = READ_ONCE(s->worked);
	u64 now = min(at_most(s), recent(s));

	if (!ns) {
		ns = READ_ONCE(s->beside_ns);
		what = READ_ONCE(s->beside);
	}
	return clamp(ns ? min(a_second(what, ns), now) : now, 1ull, (u64)UNKNOWN);
}

u64 kvp_speed_shown(const struct kvp_pool *pool)
{
	const struct kvp_speed *s = pool->speed;
	u64 since = ktime_get_ns() - READ_ONCE(s->ended);

	return a_second(READ_ONCE(s->home), READ_ONCE(s->wall_ns) + since);
}

u64 kvp_speed_drain_ms(const struct kvp_pool *pool)
{
	return div64_u64(kvp_wbuf_nr_logged(pool->wbuf) * 1000ull, kvp_speed_full(pool));
}
