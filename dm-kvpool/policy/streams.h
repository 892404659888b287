/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which reads are part of a long sequential stream. Such a stream does not go through
 * the RAM cache: it is hardly read again soon, and a disk is fast at it.
 *
 * There is one word for each of 128 streams. It says with which block the stream is
 * expected to go on, and how long the stream is. A hash of that block gives the place
 * of the word, so the word moves with every read. If another stream's word comes to
 * the same place, the first stream is forgotten and begins anew. A list of the last
 * 128 reads would forget streams as well, and would need a lock. A race of two
 * readers loses the length of a stream, and nothing else.
 *
 * Pure: no lock, no clock, no memory. May be called from any context, at once.
 */
#ifndef KVP_STREAMS_H
#define KVP_STREAMS_H

#include <linux/types.h>

#define KVP_STREAMS_BITS	7

/** struct kvp_streams - all zeros: none yet */
struct kvp_streams {
	u64 word[1 << KVP_STREAMS_BITS];
};

/**
 * kvp_streams_read() - @count blocks are read at @block
 *
 * Return: length of the stream that they end, in blocks, themselves included;
 * beyond a million (4 GiB) it does not grow.
 */
u32 kvp_streams_read(struct kvp_streams *s, u64 block, u32 count);

#endif /* KVP_STREAMS_H */
