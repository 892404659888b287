// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>

#include "compat/xor.h"
#include "core/xor.h"
#include "format/format.h"

void kvp_xor(struct page *sum, struct page *source)
{
	void *from = page_address(source);

	kvp_compat_xor(page_address(sum), &from, 1, KVP_BLOCK_SIZE);
}

void kvp_xor_sum(struct page *sum, struct page **sources, u32 nr)
{
	void *to = page_address(sum), *from[KVP_XOR_SOURCES];
	u32 i, n;

	if (!nr)
		clear_page(to);
	else if (sources[0] != sum)
		copy_page(to, page_address(sources[0]));
	for (i = 1; i < nr; i += n) {
		for (n = 0; n < KVP_XOR_SOURCES && i + n < nr; n++)
			from[n] = page_address(sources[i + n]);
		kvp_compat_xor(to, from, n, KVP_BLOCK_SIZE);
	}
}
