// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "policy/yield.h"

#define PARTS		(KVP_YIELD_OTHERS + 1)
#define LESS_FROM	50u	/* per cent */
#define NONE_FROM	75u
#define NONE_SEEKS	95u
#define WALK_TIMES	63u

void kvp_yield_begin(struct kvp_yield *y, u64 asked)
{
	y->asked = asked;
	y->at = 0;
}

bool kvp_yield_busy(struct kvp_yield *y, u64 asked, u64 now, u64 within)
{
	if (asked != y->asked) {
		y->asked = asked;
		y->at = now;
	}
	return y->at && now - y->at < within;
}

u32 kvp_yield_others(u32 full, bool seek)
{
	u32 above = full - min(full, LESS_FROM), most = (seek ? NONE_SEEKS : NONE_FROM) - LESS_FROM;

	if (above >= most)
		return 0;
	if (!seek)
		return KVP_YIELD_OTHERS * (most - above) / most;
	/* Slowly at first: most hosts need little of the room that is left. */
	return KVP_YIELD_OTHERS - KVP_YIELD_OTHERS * above * above * above / (most * most * most);
}

u64 kvp_yield_rest(u64 took, u32 others, u32 most)
{
	u64 ns = (u64)most * NSEC_PER_SEC;

	return min(div_u64(min(took, ns) * others, PARTS - others), ns);
}

u64 kvp_yield_rest_of_walk(u64 took, u32 most)
{
	u64 ns = (u64)most * NSEC_PER_SEC;

	return min(min(took, ns) * WALK_TIMES, ns);
}
