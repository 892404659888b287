/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the tool's tests that spoil data by chance: here the input makes their choices. Included
 * once.
 */
#ifndef KVPOOL_FUZZ_CHOICES_H
#define KVPOOL_FUZZ_CHOICES_H

#include "fuzz.h"

static struct input all;

/*
 * The number below @below at position @at of the input, which moves on. Beyond the end there are
 * zeros.
 */
static u64 choose(u64 *at, u64 below)
{
	u64 from = *at < all.left ? *at : all.left;
	struct input rest = { all.at + from, all.left - from };
	u32 bytes = below <= 1 ? 0 : below <= 256 ? 1 : below <= 65536 ? 2 : 8;

	*at += bytes;
	return take(&rest, bytes) % below;
}

/* Some first inputs: random bytes. */
static void seed_choices(unsigned int n, size_t size)
{
	u64 state = 88172645463325252ull;
	u8 text[256];
	size_t i;

	while (n--) {
		for (i = 0; i < size; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			text[i] = (u8)(state >> 24);
		}
		seed(text, size);
	}
}

#endif
