// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sums of blocks and table pages.
 *
 * The address goes in first, so that a block written to the wrong place does
 * not verify there. Continuing from a seed costs eight bytes a block instead
 * of twenty.
 */
#include "format/format.h"

u32 kvp_sum_seed(u64 nonce, u32 vdev)
{
	__le64 n = cpu_to_le64(nonce);
	__le32 v = cpu_to_le32(vdev);

	return kvp_crc32c(kvp_crc32c(~0u, &n, sizeof(n)), &v, sizeof(v));
}

u32 kvp_block_sum(u32 seed, u64 block, const void *data)
{
	__le64 b = cpu_to_le64(block);

	return kvp_crc32c(kvp_crc32c(seed, &b, sizeof(b)), data, KVP_BLOCK_SIZE);
}

u32 kvp_page_sum(u32 seed, u32 level, u64 index, const void *page)
{
	/* The top bits tell a page from a block: neither index reaches them. */
	__le64 where = cpu_to_le64(index | (u64)(level + 1) << 56);
	u32 sum = kvp_crc32c(kvp_crc32c(seed, &where, sizeof(where)), page, KVP_BLOCK_SIZE);

	return sum ?: 1;
}
