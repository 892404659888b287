// SPDX-License-Identifier: GPL-2.0-only
/* crc32c for userspace: the processor's instruction where there is one, else a table. */
#include "format/format.h"

#define POLY 0x82f63b78u	/* Castagnoli, bit-reversed */

static u32 table[256];

static void __attribute__((constructor)) make_table(void)
{
	u32 i, bit, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLY : 0);
		table[i] = crc;
	}
}

static u32 crc_table(u32 crc, const u8 *p, size_t bytes)
{
	while (bytes--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef __x86_64__
/*
 * The instruction takes three cycles and one can begin in each, so three lanes of a block are
 * summed at once. A sum is linear. The sum of two lanes is the first lane's sum, moved on over as
 * many zeros as the second lane is long, xor the second lane's sum.
 */
#define LANE	1360u		/* bytes, whole words; a block is three lanes and two words */

/* effect of each byte of a sum, by its value, over a lane of zeros */
static u32 over_lane[4][256];

static void __attribute__((constructor)) make_over_lane(void)
{
	u32 bit, byte, value, i;

	make_table();	/* the table may not be made yet */
	for (bit = 0; bit < 32; bit++) {
		u32 crc = 1u << bit;

		for (i = 0; i < LANE; i++)
			crc = crc >> 8 ^ table[crc & 0xff];
		byte = bit / 8;
		for (value = 0; value < 256; value++)
			if (value >> bit % 8 & 1)
				over_lane[byte][value] ^= crc;
	}
}

static u32 move_on(u32 crc)
{
	return over_lane[0][crc & 0xff] ^ over_lane[1][crc >> 8 & 0xff] ^
	       over_lane[2][crc >> 16 & 0xff] ^ over_lane[3][crc >> 24];
}

__attribute__((target("sse4.2")))
static u32 crc_lanes(u32 crc, const u8 *p)
{
	u64 a = crc, b = 0, c = 0, word;
	const u8 *end = p + LANE;

	for (; p < end; p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		a = __builtin_ia32_crc32di(a, word);
		memcpy(&word, p + LANE, sizeof(word));
		b = __builtin_ia32_crc32di(b, word);
		memcpy(&word, p + 2 * LANE, sizeof(word));
		c = __builtin_ia32_crc32di(c, word);
	}
	return move_on(move_on((u32)a) ^ (u32)b) ^ (u32)c;
}

__attribute__((target("sse4.2")))
static u32 crc_sse42(u32 crc, const u8 *p, size_t bytes)
{
	u64 c, word;

	for (; bytes >= 3 * LANE; p += 3 * LANE, bytes -= 3 * LANE)
		crc = crc_lanes(crc, p);
	c = crc;
	for (; bytes >= sizeof(word); p += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		c = __builtin_ia32_crc32di(c, word);
	}
	for (; bytes; bytes--)
		c = __builtin_ia32_crc32qi((u32)c, *p++);
	return (u32)c;
}

u32 kvp_crc32c(u32 crc, const void *data, size_t bytes)
{
	if (__builtin_cpu_supports("sse4.2"))
		return crc_sse42(crc, data, bytes);
	return crc_table(crc, data, bytes);
}
#else
u32 kvp_crc32c(u32 crc, const void *data, size_t bytes)
{
	return crc_table(crc, data, bytes);
}
#endif
