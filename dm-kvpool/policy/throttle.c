// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/math64.h>

#include "policy/throttle.h"

#define ACCEPT_LESS	75	/* per cent from where on writers are slowed down */
#define ACCEPT_EVEN	90	/* writers are as fast as destage */
#define SECOND_NS	1000000000ull
#define SAVED_NS	(SECOND_NS / 32)

bool kvp_throttle_slows(u64 capacity, u64 dirty)
{
	return dirty * 100 > capacity * ACCEPT_LESS;
}

u64 kvp_throttle_rate(u64 capacity, u64 dirty, u64 full)
{
	u64 room = capacity - min(dirty, capacity);
	u64 even = div_u64(capacity * (100 - ACCEPT_EVEN), 100);

	if (!kvp_throttle_slows(capacity, dirty))
		return ~0ull;
	return div64_u64(room * full, max(even, 1ull));
}

u64 kvp_bucket_take(struct kvp_bucket *b, u64 now, u32 blocks, u64 rate)
{
	u64 next;

	/* Fits: it is no more than 2^32 blocks, by the second. */
	if (b->next > now && b->rate != rate)
		b->next = now + div64_u64((b->next - now) * b->rate, rate);
	b->rate = rate;
	next = max(b->next, now - min(now, SAVED_NS));
	if (next > now)
		return next - now;
	b->next = next + div64_u64(blocks * SECOND_NS, rate);
	return 0;
}
