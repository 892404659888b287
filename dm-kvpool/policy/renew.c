// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/minmax.h>

#include "policy/renew.h"

#define MOST_OVER	66u	/* per cent of the window: so much is renewed above a lower mark */
/*
 * per cent of a full log, as policy/throttle.c: where writers are slowed down, and as fast as
 * destage
 */
#define SLOWER_FROM	75u
#define AS_DESTAGE	90u
#define PASSES_UNTIL	25u	/* a third of the mark */
#define STEPS	16u		/* of the tail, on its way round */
#define MOST_STEPS	64u	/* if each is long enough for a checkpoint */
/* 256 MiB: while a checkpoint runs, users' writes use up what the step before has freed */
#define LONG_ENOUGH	(1u << 16)

u64 kvp_renew_step(u64 window, u32 segment)
{
	u64 step = min_t(u64, window / STEPS, LONG_ENOUGH);

	return max3(step, window / MOST_STEPS, (u64)segment);
}

/* A step, and the headers of what is renewed. */
static u64 kept(u64 window, u32 segment)
{
	u64 step = kvp_renew_step(window, segment);

	return step + step / 4;
}

/*
 * Users stop where the reserve begins. The segment of the tail is not free, either. Renewals begin
 * two steps before that, so that the tail moves before users stop.
 */
static u64 full_span(u64 window, u32 segment)
{
	u64 ahead = segment + kept(window, segment) + 2 * kvp_renew_step(window, segment);

	return window > ahead ? window - ahead : 0;
}

u64 kvp_renew_reserve(u64 window, u32 segment)
{
	return full_span(window, segment) >= window / 4 ? kept(window, segment) : 0;
}

u64 kvp_renew_span(u64 window, u32 segment, u64 live)
{
	u64 full = full_span(window, segment);

	return live < window / STEPS ? min(full, window / 2 - window / STEPS) : full;
}

u64 kvp_renew_clean(u64 window, u32 segment)
{
	return full_span(window, segment) + kvp_renew_step(window, segment);
}

/* While writers are slowed down, blocks are renewed up to this part of the window. */
static u32 limit_of(u32 mark)
{
	return max(mark, min(mark + mark / 10, MOST_OVER));
}

bool kvp_renew_pays(u64 window, u32 mark, u64 live)
{
	return live * 100 <= window * limit_of(mark) && mark;
}

bool kvp_renew_passes(bool passes, u64 most, u64 fullness)
{
	return fullness * 100 > most * (passes ? PASSES_UNTIL : SLOWER_FROM);
}

u64 kvp_renew_fullness(u64 window, u32 mark, u64 live, u64 most)
{
	u64 at_mark = div_u64(window * mark, 100);
	u64 over = div_u64(window * limit_of(mark), 100) - at_mark;

	if (live <= at_mark || !over)
		return min(most, div64_u64(live * SLOWER_FROM * most, max(at_mark * 100, 1ull)));
	return min(most, div_u64(most * SLOWER_FROM, 100) +
			 div64_u64((live - at_mark) * most * (AS_DESTAGE - SLOWER_FROM),
				   over * 100));
}
