// SPDX-License-Identifier: GPL-2.0-only
/*
 * crc32c by the crypto API, which uses the processor's instruction where there is one. The wrapper
 * in libcrc32c would cost a third more for a block.
 */
#include <crypto/hash.h>
#include <linux/crc32.h>

#include "compat/crc.h"

#define BY_TABLE	32

static struct crypto_shash *crc32c_shash;

u32 kvp_crc32c(u32 crc, const void *data, size_t bytes)
{
	/* SHASH_DESC_ON_STACK() has room for any hash, which some kernels clear each time. */
	struct {
		struct shash_desc shash;
		u32 state;
	} desc;

	if (bytes <= BY_TABLE)
		return __crc32c_le(crc, data, bytes);
	desc.shash.tfm = crc32c_shash;
	*(u32 *)shash_desc_ctx(&desc.shash) = crc;
	/* cannot fail: no key, no allocation */
	crypto_shash_update(&desc.shash, data, bytes);
	return *(u32 *)shash_desc_ctx(&desc.shash);
}

int __init kvp_crc_init(void)
{
	crc32c_shash = crypto_alloc_shash("crc32c", 0, 0);
	if (IS_ERR(crc32c_shash))
		return PTR_ERR(crc32c_shash);
	if (crypto_shash_descsize(crc32c_shash) == sizeof(u32))
		return 0;
	crypto_free_shash(crc32c_shash);
	return -EINVAL;
}

void kvp_crc_exit(void)
{
	crypto_free_shash(crc32c_shash);
}
