// SPDX-License-Identifier: GPL-2.0-only
/* The module's policy, driven as a cache would. */
#include <stdlib.h>

#include <linux/gfp.h>

#include "policy/s3fifo.h"
#include "policies.h"

/* High bits of block numbers must not be lost. */
#define FIRST_BLOCK	0x9123456789abull

static void *make(uint32_t capacity, uint32_t span)
{
	struct kvp_s3 *c = malloc(sizeof(*c));

	if (!c || kvp_s3_init(c, capacity, 0x5eed, GFP_KERNEL))
		abort();
	return c;
}

static bool ask(void *cache, uint32_t block)
{
	struct kvp_s3_block victim;
	u32 slot;

	if (kvp_s3_find(cache, FIRST_BLOCK + block, &slot)) {
		kvp_s3_hit(cache, slot);
		return true;
	}
	kvp_s3_insert(cache, FIRST_BLOCK + block, cache, &victim);
	return false;
}

static void drop(void *cache)
{
	kvp_s3_exit(cache);
	free(cache);
}

const struct policy ours = { "s3fifo", make, ask, drop };
