// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sums of blocks and table pages.
 *
 * The address goes into the sum first. So a block that was written to a wrong place does not
 * verify there. A sum that continues from a seed costs eight bytes a block instead of twenty.
 */
#include "format/format.h"

u32 kvp_sum_seed(u64 nonce, u32 vdev)
{
	__le64 n = cpu_to_le64(nonce);
	__le32 v = cpu_to_le32(vdev);

	return kvp_crc32c(kvp_crc32c(~0u, &n, sizeof(n)), &v, sizeof(v));
}

u32 kvp_block_sum(u32 seed, kvp_block_t block, const void *data)
{
	__le64 b = cpu_to_le64(kvp_block_nr(block));

	return kvp_crc32c(kvp_crc32c(seed, &b, sizeof(b)), data, KVP_BLOCK_SIZE);
}

/* What a block of zeros makes of a crc32c that has n << 4 * k, at [k][n]; its bits add up. */
static const u32 behind_zeros[8][16] = {
	{ 0x00000000, 0xc2a5b65e, 0x80a71a4d, 0x4202ac13,
	  0x04a2426b, 0xc607f435, 0x84055826, 0x46a0ee78,
	  0x094484d6, 0xcbe13288, 0x89e39e9b, 0x4b4628c5,
	  0x0de6c6bd, 0xcf4370e3, 0x8d41dcf0, 0x4fe46aae },
	{ 0x00000000, 0x128909ac, 0x25121358, 0x379b1af4,
	  0x4a2426b0, 0x58ad2f1c, 0x6f3635e8, 0x7dbf3c44,
	  0x94484d60, 0x86c144cc, 0xb15a5e38, 0xa3d35794,
	  0xde6c6bd0, 0xcce5627c, 0xfb7e7888, 0xe9f77124 },
	{ 0x00000000, 0x2d7cec31, 0x5af9d862, 0x77853453,
	  0xb5f3b0c4, 0x988f5cf5, 0xef0a68a6, 0xc2768497,
	  0x6e0b1779, 0x4377fb48, 0x34f2cf1b, 0x198e232a,
	  0xdbf8a7bd, 0xf6844b8c, 0x81017fdf, 0xac7d93ee },
	{ 0x00000000, 0xdc162ef2, 0xbdc02b15, 0x61d605e7,
	  0x7e6c20db, 0xa27a0e29, 0xc3ac0bce, 0x1fba253c,
	  0xfcd841b6, 0x20ce6f44, 0x41186aa3, 0x9d0e4451,
	  0x82b4616d, 0x5ea24f9f, 0x3f744a78, 0xe362648a },
	{ 0x00000000, 0xfc5cf59d, 0xfd559dcb, 0x01096856,
	  0xff474d67, 0x031bb8fa, 0x0212d0ac, 0xfe4e2531,
	  0xfb62ec3f, 0x073e19a2, 0x063771f4, 0xfa6b8469,
	  0x0425a158, 0xf87954c5, 0xf9703c93, 0x052cc90e },
	{ 0x00000000, 0xf329ae8f, 0xe3bf2bef, 0x10968560,
	  0xc292212f, 0x31bb8fa0, 0x212d0ac0, 0xd204a44f,
	  0x80c834af, 0x73e19a20, 0x63771f40, 0x905eb1cf,
	  0x425a1580, 0xb173bb0f, 0xa1e53e6f, 0x52cc90e0 },
	{ 0x00000000, 0x047c1faf, 0x08f83f5e, 0x0c8420f1,
	  0x11f07ebc, 0x158c6113, 0x190841e2, 0x1d745e4d,
	  0x23e0fd78, 0x279ce2d7, 0x2b18c226, 0x2f64dd89,
	  0x321083c4, 0x366c9c6b, 0x3ae8bc9a, 0x3e94a335 },
	{ 0x00000000, 0x47c1faf0, 0x8f83f5e0, 0xc8420f10,
	  0x1aeb9d31, 0x5d2a67c1, 0x956868d1, 0xd2a99221,
	  0x35d73a62, 0x7216c092, 0xba54cf82, 0xfd953572,
	  0x2f3ca753, 0x68fd5da3, 0xa0bf52b3, 0xe77ea843 },
};

u32 kvp_zeros_sum(u32 seed, u64 block)
{
	__le64 b = cpu_to_le64(block);
	u32 k, before = kvp_crc32c(seed, &b, sizeof(b)), sum = 0;

	for (k = 0; k < 8; k++)
		sum ^= behind_zeros[k][before >> 4 * k & 15];
	return sum;
}

u32 kvp_page_sum(u32 seed, u32 level, u64 index, const void *page)
{
	/* The top bits tell a page from a block: neither index reaches them. */
	__le64 where = cpu_to_le64(index | (u64)(level + 1) << 56);
	u32 sum = kvp_crc32c(kvp_crc32c(seed, &where, sizeof(where)), page, KVP_BLOCK_SIZE);

	return sum ?: 1;
}
