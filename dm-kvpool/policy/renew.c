// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/minmax.h>

#include "policy/renew.h"

#define STEPS	16u	/* of the tail, on its way round; or a segment, if that is more */

static u64 step_of(u64 window, u32 segment)
{
	return max_t(u64, window / STEPS, segment);
}

/* A step, and the headers of what is renewed. */
static u64 kept(u64 window, u32 segment)
{
	u64 step = step_of(window, segment);

	return step + step / 4;
}

/*
 * Users stop where the reserve begins, and the segment of the tail is not free, either. Two steps
 * before that renewals begin, so that the tail moves before users stop.
 */
static u64 full_span(u64 window, u32 segment)
{
	u64 ahead = segment + kept(window, segment) + 2 * step_of(window, segment);

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
	return full_span(window, segment) + step_of(window, segment);
}

bool kvp_renew_pays(u64 window, u32 mark, u64 live)
{
	return live * 100 <= window * mark && mark;
}

u64 kvp_renew_fullness(u64 window, u32 mark, u64 live, u64 most)
{
	return min(most, div64_u64(live * 75 * most, max(window * mark, 1ull)));
}
