// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "format/spare.h"
#include "io/io.h"
#include "pool/spare.h"
#include "super/members.h"

static int read_label(struct kvp_leg *leg, u64 offset, struct page *page, struct kvp_disk_sb *d)
{
	kvp_lblock_t first = kvp_lblock(offset >> KVP_BLOCK_SHIFT);
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < KVP_SB_BLOCKS; i++) {
		ret = kvp_io_page(leg, KVP_IO_READ, kvp_lblock_add(first, i), page);
		if (!ret)
			memcpy((u8 *)d + i * KVP_BLOCK_SIZE, page_address(page), KVP_BLOCK_SIZE);
	}
	return ret;
}

bool kvp_spare_is_ours(const struct kvp_pool *pool, struct kvp_leg *leg, struct page *page,
		       u8 uuid[16])
{
	struct kvp_disk_sb *d = kvzalloc(sizeof(*d), GFP_KERNEL);
	struct kvp_spare ends[2];
	struct kvp_why why;
	bool ours = d;
	u32 end;

	for (end = 0; ours && end < 2; end++) {
		u64 offset = kvp_spare_offset(leg->size_blocks, end);

		ours = !read_label(leg, offset, page, d) &&
		       !kvp_spare_decode(d, offset, leg->size_blocks, &ends[end], &why) &&
		       !memcmp(ends[end].pool_uuid, pool->sb->pool_uuid, 16);
	}
	kvfree(d);
	if (ours)
		memcpy(uuid, ends[0].uuid, 16);
	return ours && !memcmp(ends[0].uuid, ends[1].uuid, 16);
}

int kvp_spare_note(struct kvp_pool *pool, const u8 uuid[16], bool listed)
{
	static const u8 none[16];
	struct kvp_sb *sb = pool->sb;
	int ret = 0;
	u32 at;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	if (!memcmp(uuid, none, 16))
		return -EINVAL;
	mutex_lock(&pool->sb_lock);
	if (listed == (kvp_spares_find(sb, uuid) < KVP_MAX_SPARES))
		goto out;
	at = kvp_spares_find(sb, listed ? none : uuid);
	if (at == KVP_MAX_SPARES) {
		ret = -ENOSPC;
		goto out;
	}
	memcpy(sb->spares[at], listed ? uuid : none, 16);
	ret = kvp_sb_commit(pool);
	if (ret)
		memcpy(sb->spares[at], listed ? none : uuid, 16);
out:
	mutex_unlock(&pool->sb_lock);
	return ret;
}

void kvp_spare_taken(struct kvp_pool *pool, const u8 uuid[16])
{
	u32 at = kvp_spares_find(pool->sb, uuid);

	lockdep_assert_held(&pool->sb_lock);
	if (at < KVP_MAX_SPARES)
		memset(pool->sb->spares[at], 0, 16);
}
