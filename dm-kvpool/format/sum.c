// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sums of blocks and table pages.
 *
 * The address is part of the sum. So a block that was written to a wrong place does not verify
 * there. The sum of a page is a crc32c that begins with its address. So is the sum of a block of an
 * older pool. That of a newer pool (KVP_INCOMPAT_FOLDED_SUMS) is the XOR of three:
 *
 *   - the crc32c of the data;
 *   - a fold of the data. Programs end what they write with its crc32c: ext4 does so with its
 *     superblock and its extents. The crc32c of that piece and its own crc32c is a constant. So a
 *     crc32c alone would not tell two versions of it apart. The fold sees where words are, and not
 *     what precedes them.
 *   - what sum_of_place() makes of the address, for a few instructions.
 *
 * About the fold:
 *
 *   - The words of the block are XORed into KVP_FOLD_WORDS words in turn, and these are turned
 *     after each KVP_FOLD_TURN words of the block. So a change that is made twice does not cancel
 *     itself either, unless a multiple of 56 bytes lies between the two, in one half of the block:
 *     such a distance is no power of two, and no number of sectors.
 *   - It is linear, as crc32c is, and that of zeros is 0: the sum of parity follows from the sums
 *     of its data (kvp_zeros_sum()).
 *   - Each bit of the block changes two bits of the fold. So an odd number of wrong bits is found,
 *     as with crc32c alone. The rotations were found by trying all: no two bits change the sum
 *     alike. So three wrong bits are always found, and any run of 22 wrong bits. Of changes that
 *     sum themselves one in 2^31 is missed: their number of wrong bits is even.
 */
#include "format/format.h"

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/compiler.h>
#else
#define OPTIMIZER_HIDE_VAR(word)
#ifndef noinline
#define noinline
#endif

static u32 rol32(u32 word, u32 bits)
{
	return word << (bits & 31) | word >> (-bits & 31);
}

static u64 rol64(u64 word, u32 bits)
{
	return word << (bits & 63) | word >> (-bits & 63);
}

static u64 ror64(u64 word, u32 bits)
{
	return rol64(word, -bits);
}
#endif

#define PLACE_FACTOR	0x61c8864680b583ebull

#define FOLD_ROUND	(12 * KVP_FOLD_WORDS)
#define TURN_BITS	11
#define TURNS		2
_Static_assert(KVP_FOLD_TURN % FOLD_ROUND == 0, "whole rounds");
_Static_assert(KVP_BLOCK_SIZE / sizeof(u64) == TURNS * KVP_FOLD_TURN + KVP_FOLD_WORDS + 1,
	       "the end of fold_block()");

struct kvp_seed kvp_sum_seed(u64 nonce, u32 vdev, u64 incompat)
{
	__le64 n = cpu_to_le64(nonce);
	__le32 v = cpu_to_le32(vdev);

	return (struct kvp_seed){
		.crc = kvp_crc32c(kvp_crc32c(~0u, &n, sizeof(n)), &v, sizeof(v)),
		.folded = incompat & KVP_INCOMPAT_FOLDED_SUMS,
	};
}

/* Out of line: the frame of kvp_block_sum() then has no buffer, and needs no guard. */
static noinline u32 crc_of_address(struct kvp_seed seed, u64 address)
{
	__le64 a = cpu_to_le64(address);

	return kvp_crc32c(seed.crc, &a, sizeof(a));
}

/*
 * What an address adds to the sum of a block: the upper half of a product (Knuth, The Art of
 * Computer Programming 6.4, Fibonacci hashing). The factor is 2^64 divided by the square of the
 * golden ratio. It keeps addresses apart that lie less than 2^32 / sqrt(5) from each other, 7 TiB.
 */
static u32 sum_of_place(struct kvp_seed seed, u64 address)
{
	return seed.crc ^ (u32)(address * PLACE_FACTOR >> 32);
}

/* --- the fold ------------------------------------------------------------------------------- */

/* Each word is rotated by 12 bits more than the one before. @turned: bits that are missing yet. */
static __always_inline u32 fold_end(const u64 *fold, u32 turned)
{
	u64 all = fold[0] ^ rol64(fold[1], 12) ^ rol64(fold[2], 24) ^ rol64(fold[3], 36) ^
		  rol64(fold[4], 48) ^ rol64(fold[5], 60) ^ rol64(fold[6], 72 - 64);
	u32 lower, upper;

	all = rol64(all, turned);
	lower = (u32)all;
	upper = (u32)(all >> 32);
	return lower ^ rol32(lower, 1) ^ rol32(upper, 25) ^ rol32(upper, 27);
}

static __always_inline void fold_words(u64 *fold, const __le64 *words)
{
	fold[0] ^= le64_to_cpu(words[0]);
	fold[1] ^= le64_to_cpu(words[1]);
	fold[2] ^= le64_to_cpu(words[2]);
	fold[3] ^= le64_to_cpu(words[3]);
	fold[4] ^= le64_to_cpu(words[4]);
	fold[5] ^= le64_to_cpu(words[5]);
	fold[6] ^= le64_to_cpu(words[6]);
	OPTIMIZER_HIDE_VAR(fold[0]);
	OPTIMIZER_HIDE_VAR(fold[1]);
	OPTIMIZER_HIDE_VAR(fold[2]);
	OPTIMIZER_HIDE_VAR(fold[3]);
	OPTIMIZER_HIDE_VAR(fold[4]);
	OPTIMIZER_HIDE_VAR(fold[5]);
	OPTIMIZER_HIDE_VAR(fold[6]);
}

static __always_inline void fold_4_times(u64 *fold, const __le64 *w)
{
	fold_words(fold, w);
	fold_words(fold, w + KVP_FOLD_WORDS);
	fold_words(fold, w + 2 * KVP_FOLD_WORDS);
	fold_words(fold, w + 3 * KVP_FOLD_WORDS);
}

/*
 * One instruction a word: the fold is in registers, and the compiler is kept from adding up words
 * of the block first.
 */
static __always_inline void fold_half(u64 *fold, const __le64 *w)
{
	const __le64 *end = w + KVP_FOLD_TURN;

	for (; w < end; w += FOLD_ROUND) {
		fold_4_times(fold, w);
		fold_4_times(fold, w + 4 * KVP_FOLD_WORDS);
		fold_4_times(fold, w + 8 * KVP_FOLD_WORDS);
	}
}

/* What is in the fold is turned back, instead of all that follows. */
static __always_inline void turn_back(u64 *fold)
{
	fold[0] = ror64(fold[0], TURN_BITS);
	fold[1] = ror64(fold[1], TURN_BITS);
	fold[2] = ror64(fold[2], TURN_BITS);
	fold[3] = ror64(fold[3], TURN_BITS);
	fold[4] = ror64(fold[4], TURN_BITS);
	fold[5] = ror64(fold[5], TURN_BITS);
	fold[6] = ror64(fold[6], TURN_BITS);
}

static u32 fold_block(const void *data)
{
	const __le64 *w = data;
	u64 fold[KVP_FOLD_WORDS] = { 0 };

	fold_half(fold, w);
	turn_back(fold);
	fold_half(fold, w + KVP_FOLD_TURN);
	turn_back(fold);
	fold_words(fold, w + 2 * KVP_FOLD_TURN);
	fold[0] ^= le64_to_cpu(w[2 * KVP_FOLD_TURN + KVP_FOLD_WORDS]);
	return fold_end(fold, TURNS * TURN_BITS);
}

/* Fold a word of the block, or some of its bytes; the others are 0. */
static void fold_word(u64 *fold, u32 at, u64 word)
{
	fold[at % KVP_FOLD_WORDS] ^= rol64(word, at / KVP_FOLD_TURN * TURN_BITS);
}

/* Fold a piece of a block that begins at @at. */
static void fold_piece(u64 *fold, u32 at, const u8 *data, u32 bytes)
{
	u32 end = at + bytes;
	__le64 word;

	while (at < end) {
		if (at % sizeof(word) || end - at < sizeof(word)) {
			fold_word(fold, at / 8, (u64)*data++ << 8 * (at % 8));
			at++;
			continue;
		}
		memcpy(&word, data, sizeof(word));
		fold_word(fold, at / sizeof(word), le64_to_cpu(word));
		at += sizeof(word);
		data += sizeof(word);
	}
}

/* --- sums of blocks ------------------------------------------------------------------------- */

u32 kvp_block_sum(struct kvp_seed seed, kvp_block_t block, const void *data)
{
	u64 address = kvp_block_nr(block);

	if (!seed.folded)
		return kvp_crc32c(crc_of_address(seed, address), data, KVP_BLOCK_SIZE);
	return kvp_crc32c(0, data, KVP_BLOCK_SIZE) ^ fold_block(data) ^
	       sum_of_place(seed, address);
}

void kvp_sum_begin(struct kvp_sum *sum, struct kvp_seed seed, kvp_block_t block)
{
	u64 address = kvp_block_nr(block);

	*sum = (struct kvp_sum){ .folded = seed.folded };
	if (seed.folded)
		sum->place = sum_of_place(seed, address);
	else
		sum->crc = crc_of_address(seed, address);
}

void kvp_sum_add(struct kvp_sum *sum, const void *data, u32 bytes)
{
	sum->crc = kvp_crc32c(sum->crc, data, bytes);
	if (sum->folded)
		fold_piece(sum->fold, sum->bytes, data, bytes);
	sum->bytes += bytes;
}

u32 kvp_sum_end(const struct kvp_sum *sum)
{
	return sum->folded ? sum->crc ^ fold_end(sum->fold, 0) ^ sum->place : sum->crc;
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

u32 kvp_zeros_sum(struct kvp_seed seed, u64 address)
{
	u32 k, before, sum = 0;

	if (seed.folded)
		return sum_of_place(seed, address);
	before = crc_of_address(seed, address);
	for (k = 0; k < 8; k++)
		sum ^= behind_zeros[k][before >> 4 * k & 15];
	return sum;
}

u32 kvp_page_sum(struct kvp_seed seed, u32 level, u64 index, const void *page)
{
	/* The top bits tell a page from a block: neither index reaches them. */
	u32 sum = kvp_crc32c(crc_of_address(seed, index | (u64)(level + 1) << 56), page,
			     KVP_BLOCK_SIZE);

	return sum ?: 1;
}
