/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which reads are part of a long sequential stream. Such a stream does not go through
 * the RAM cache: it is hardly read again soon, and a disk is fast at it.
 *
 * There is one word for each of 128 streams: where it is expected to go on, and how
 * long it is by now. The place of the word is a hash of the former, so a stream moves
 * with every read. Another stream that comes to its place makes it begin anew, as in
 * a list of the last 128 reads, which would need a lock. Two readers that race lose
 * a length, no more.
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
