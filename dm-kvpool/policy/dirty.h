/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory the dirty blocks of a cache take. The tool asks too, before it makes a cache. */
#ifndef KVP_DIRTY_H
#define KVP_DIRTY_H

#include "format/format.h"

#define KVP_DIRTY_BYTES		24u	/* memory of a record in policy/packed.h, in the mean */
#define KVP_WBUF_BUCKET_BITS	14	/* of the hash table, at least */
#define KVP_WBUF_CHAIN		8u	/* blocks of a bucket, if all of a large window is dirty */

/**
 * kvp_wbuf_bucket_bits() - the write buffer's hash table has 2 to the power of this many buckets
 * @window: the most blocks that may ever be dirty on a cache; 0: the pool has no cache
 */
static inline u32 kvp_wbuf_bucket_bits(u64 window)
{
	u32 bits = KVP_WBUF_BUCKET_BITS;

	while ((u64)KVP_WBUF_CHAIN << bits < window)
		bits++;
	return bits;
}

/**
 * kvp_dirty_ram() - most bytes that dirty blocks of a cache take, without the pages of their data
 *
 * The hash table is made for the largest window that the cache can get, so that a window can become
 * larger while the pool runs.
 */
static inline u64 kvp_dirty_ram(const struct kvp_geometry *g)
{
	return kvp_log_window(g) * KVP_DIRTY_BYTES +
	       (sizeof(void *) << kvp_wbuf_bucket_bits(kvp_log_window_most(g)));
}

#endif /* KVP_DIRTY_H */
