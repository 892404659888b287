// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>

#include "core/core.h"
#include "home/speed.h"
#include "ram/wbuf.h"

#define LATELY_NS	(8ull * NSEC_PER_SEC)	/* ns of work; older work counts half, and so on */
#define SHOWN_NS	(16ull * NSEC_PER_SEC)
/* versions a second, until the first rounds are over */
#define UNKNOWN		(1u << 20)

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

void kvp_speed_note(struct kvp_pool *pool, u32 versions, u64 ns, enum kvp_speed_burst burst)
{
	struct kvp_speed *s = pool->speed;
	u64 now = ktime_get_ns();

	if (burst == KVP_SPEED_FULL)
		add(&s->worked, &s->work_ns, versions, ns, LATELY_NS);
	else if (burst == KVP_SPEED_BESIDE)
		add(&s->beside, &s->beside_ns, versions, ns, LATELY_NS);
	add(&s->home, &s->wall_ns, versions, now - s->ended, SHOWN_NS);
	WRITE_ONCE(s->ended, now);
}

static u64 a_second(u64 what, u64 ns)
{
	u64 us = max(div_u64(ns, NSEC_PER_USEC), 1ull);

	return div64_u64(what * (NSEC_PER_SEC / NSEC_PER_USEC), us);
}

u64 kvp_speed_full(const struct kvp_pool *pool)
{
	const struct kvp_speed *s = pool->speed;
	u64 ns = READ_ONCE(s->work_ns), what = READ_ONCE(s->worked);

	if (!ns) {
		ns = READ_ONCE(s->beside_ns);
		what = READ_ONCE(s->beside);
	}
	return ns ? clamp(a_second(what, ns), 1ull, (u64)UNKNOWN) : UNKNOWN;
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
