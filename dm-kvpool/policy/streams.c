// SPDX-License-Identifier: GPL-2.0-only
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/minmax.h>

#include "policy/streams.h"

/*
 * A word has the next block of a stream and the stream's length. 44 bits of the block's number are
 * enough to tell streams apart.
 */
#define LENGTH_BITS	20
#define LENGTH_MOST	((1u << LENGTH_BITS) - 1)

static u64 next_of(u64 block)
{
	return block << LENGTH_BITS;
}

static u64 *place_of(struct kvp_streams *s, u64 block)
{
	return &s->word[hash_64(block, KVP_STREAMS_BITS)];
}

u32 kvp_streams_read(struct kvp_streams *s, u64 block, u32 count)
{
	u64 *place = place_of(s, block), word = READ_ONCE(*place);
	u32 length = count;

	if (word >> LENGTH_BITS == next_of(block) >> LENGTH_BITS) {
		length += word & LENGTH_MOST;
		WRITE_ONCE(*place, 0);
	}
	length = min(length, LENGTH_MOST);
	WRITE_ONCE(*place_of(s, block + count), next_of(block + count) | length);
	return length;
}
