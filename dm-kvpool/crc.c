// SPDX-License-Identifier: GPL-2.0-only
/*
 * crc32c by the crypto API: with the processor's instruction where there is
 * one. libcrc32c's wrapper would cost a third more for a block; a few bytes
 * are cheaper by table.
 */
#include <crypto/hash.h>
#include <linux/crc32.h>

#include "crc.h"
#include "format/format.h"

#define BY_TABLE	32

static struct crypto_shash *crc32c_shash;

u32 kvp_crc32c(u32 crc, const void *data, size_t bytes)
{
	SHASH_DESC_ON_STACK(desc, crc32c_shash);
	u32 *state = (u32 *)shash_desc_ctx(desc);

	if (bytes <= BY_TABLE)
		return __crc32c_le(crc, data, bytes);
	desc->tfm = crc32c_shash;
	*state = crc;
	/* cannot fail: no key, no allocation */
	crypto_shash_update(desc, data, bytes);
	return *state;
}

int __init kvp_crc_init(void)
{
	crc32c_shash = crypto_alloc_shash("crc32c", 0, 0);
	return PTR_ERR_OR_ZERO(crc32c_shash);
}

void kvp_crc_exit(void)
{
	crypto_free_shash(crc32c_shash);
}
