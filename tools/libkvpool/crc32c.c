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
__attribute__((target("sse4.2")))
static u32 crc_sse42(u32 crc, const u8 *p, size_t bytes)
{
	u64 c = crc, word;

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
