// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting: read the labels, decide which superblock and which legs count, or
 * refuse in words. Nothing is written here, except by format.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "format/logplace.h"
#include "format/regions.h"
#include "pool/pool.h"
#include "pool/start.h"

#define RING_PAGES	(KVP_SB_RING * KVP_SB_BLOCKS)

__printf(4, 5) int kvp_refuse(struct kvp_refusal *r, int error, const char *mend,
			      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, args);
	va_end(args);
	snprintf(r->mend, sizeof(r->mend), "%s", mend);
	return error;
}

/* --- reading labels ------------------------------------------------------------- */

void kvp_labels_free(struct kvp_labels *l)
{
	u32 i;

	if (!l)
		return;
	for (i = 0; i < RING_PAGES; i++)
		if (l->pages && l->pages[i])
			__free_page(l->pages[i]);
	kvfree(l->pages);
	kvfree(l->slot);
	kvfree(l->tmp);
	for (i = 0; i < KVP_MAX_LEGS; i++)
		kvfree(l->legs[i].sb);
	kvfree(l);
}

struct kvp_labels *kvp_labels_alloc(void)
{
	struct kvp_labels *l = kvzalloc(sizeof(*l), GFP_KERNEL);
	u32 i;

	if (!l)
		return NULL;
	l->pages = kvcalloc(RING_PAGES, sizeof(*l->pages), GFP_KERNEL);
	l->slot = kvzalloc(sizeof(*l->slot), GFP_KERNEL);
	l->tmp = kvzalloc(sizeof(*l->tmp), GFP_KERNEL);
	for (i = 0; l->pages && i < RING_PAGES; i++) {
		l->pages[i] = alloc_page(GFP_KERNEL);
		if (!l->pages[i])
			goto fail;
	}
	if (l->pages && l->slot && l->tmp)
		return l;
fail:
	kvp_labels_free(l);
	return NULL;
}

static void copy_slot(struct kvp_labels *l, u32 slot)
{
	u32 i;

	for (i = 0; i < KVP_SB_BLOCKS; i++)
		memcpy((u8 *)l->slot + i * KVP_BLOCK_SIZE,
		       page_address(l->pages[slot * KVP_SB_BLOCKS + i]), KVP_BLOCK_SIZE);
}

static int read_ring(struct kvp_labels *l, struct kvp_leg *leg, u32 end)
{
	struct kvp_io io = {
		.leg = leg,
		.op = KVP_IO_READ,
		.block = kvp_sb_slot_offset(leg->size_blocks, end, 0) >> KVP_BLOCK_SHIFT,
		.nr = RING_PAGES,
		.pages = l->pages,
	};
	u32 i, errors = 0;

	if (!kvp_io_sync(&io))
		return 0;
	/* Slot by slot, then: one bad sector must not hide the others. */
	io.nr = KVP_SB_BLOCKS;
	for (i = 0; i < KVP_SB_RING; i++) {
		u32 p;

		io.pages = &l->pages[i * KVP_SB_BLOCKS];
		if (!kvp_io_sync(&io)) {
			io.block += KVP_SB_BLOCKS;
			continue;
		}
		errors++;
		for (p = 0; p < KVP_SB_BLOCKS; p++)
			clear_page(page_address(io.pages[p]));
		io.block += KVP_SB_BLOCKS;
	}
	return errors == KVP_SB_RING ? -EIO : 0;
}

/* The newest valid superblock of one leg; @label says what was seen. */
static void read_label(struct kvp_labels *l, struct kvp_leg *leg, struct kvp_label *label)
{
	u32 end, slot;

	for (end = 0; end < 2; end++) {
		if (read_ring(l, leg, end)) {
			label->unreadable = true;
			continue;
		}
		for (slot = 0; slot < KVP_SB_RING; slot++) {
			struct kvp_why why;
			int ret;

			copy_slot(l, slot);
			ret = kvp_sb_decode(l->slot, kvp_sb_slot_offset(leg->size_blocks, end, slot),
					    leg->size_blocks, l->tmp, &why);
			if (ret == -ENODATA)
				continue;
			if (ret) {
				label->bad++;
				label->error = ret;
				label->why = why;
				continue;
			}
			label->valid++;
			if (!label->found || kvp_sb_newer(l->tmp, label->sb)) {
				*label->sb = *l->tmp;
				label->found = true;
			}
		}
	}
}

int kvp_labels_read(struct kvp_labels *l, struct kvp_pool *pool, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_label *label = &l->legs[i];

		kvfree(label->sb);
		memset(label, 0, sizeof(*label));
		if (!pool->legs[i].bdev)
			continue;
		label->sb = kvzalloc(sizeof(*label->sb), GFP_KERNEL);
		if (!label->sb)
			return kvp_refuse(r, -ENOMEM, "free some memory and try again",
					  "out of memory while reading labels");
		if (pool->legs[i].size_blocks > 2 * KVP_LABEL_BLOCKS)
			read_label(l, &pool->legs[i], label);
	}
	return 0;
}

/* --- choosing --------------------------------------------------------------------- */

static int check_found(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_label *label = &l->legs[i];
		const char *path = pool->legs[i].path;

		if (!pool->legs[i].bdev || label->found)
			continue;
		if (label->bad)
			return kvp_refuse(r, label->error,
					  "give '-' in place of the device to start without it",
					  "%s: no valid label: %s", path, label->why.text);
		if (label->unreadable)
			return kvp_refuse(r, -EIO, "give '-' in place of the device to start without it",
					  "%s: the label cannot be read", path);
		return kvp_refuse(r, -ENODATA, "name the pool's own devices, or create a pool first",
				  "%s has no kvpool label", path);
	}
	return 0;
}

static struct kvp_label *newest_label(struct kvp_pool *pool, struct kvp_labels *l)
{
	struct kvp_label *best = NULL;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (l->legs[i].found && (!best || kvp_sb_newer(l->legs[i].sb, best->sb)))
			best = &l->legs[i];
	return best;
}

static bool knows_fork(const struct kvp_sb *sb, u64 fork)
{
	u32 i;

	for (i = 0; i < sb->fork_count; i++)
		if (sb->forks[i] == fork)
			return true;
	return false;
}

/*
 * Was @sb's leg in use after it parted from @best's? It was if it knows of a
 * forced start that @best does not, or if it went on without @best's leg. One
 * that calls itself stale did not go on: its label was written by the others.
 */
static bool forked(const struct kvp_sb *sb, const struct kvp_sb *best)
{
	if (sb->fork_count && !knows_fork(best, sb->forks[sb->fork_count - 1]))
		return true;
	if (sb->leg_index >= sb->leg_count || sb->legs[sb->leg_index].state != KVP_LEG_IN_SYNC)
		return false;
	return best->leg_index < sb->leg_count &&
	       !memcmp(sb->legs[best->leg_index].uuid, best->leg_uuid, 16) &&
	       sb->legs[best->leg_index].state != KVP_LEG_IN_SYNC;
}

/* Do all labels belong together? */
static int check_family(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best,
			const struct kvp_start *s, struct kvp_refusal *r)
{
	u32 i, j;

	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_sb *sb = l->legs[i].sb;
		const char *path = pool->legs[i].path;

		if (!l->legs[i].found)
			continue;
		if (memcmp(sb->pool_uuid, best->pool_uuid, 16))
			return kvp_refuse(r, -EINVAL, "name the devices of one pool only",
					  "%s belongs to another pool, '%s'", path, sb->name);
		for (j = 0; j < i; j++)
			if (l->legs[j].found && !memcmp(sb->leg_uuid, l->legs[j].sb->leg_uuid, 16))
				return kvp_refuse(r, -EEXIST,
					"disconnect the copy, or clear its label",
					"%s and %s carry the same leg UUID: one is a copy of the other",
					pool->legs[j].path, path);
		l->legs[i].forked = forked(sb, best);
		if (l->legs[i].forked && !s->accept_fork)
			return kvp_refuse(r, -ESTALE,
				"accept_fork (import --accept-fork) keeps the newer history; or start the half you want alone",
				"split brain: %s was written to in a history that the newest leg does not know",
				path);
	}
	return 0;
}

bool kvp_vdevs_match(const struct kvp_sb *sb, const struct kvp_start *s)
{
	bool match = sb->vdev_count == s->nr_vdevs && sb->leg_count == s->nr_legs;
	u32 i;

	for (i = 0; match && i < s->nr_vdevs; i++)
		match = sb->vdevs[i].kind == s->vdevs[i].kind &&
			sb->vdevs[i].leg_count == s->vdevs[i].nr_legs;
	return match;
}

static int check_against_table(struct kvp_pool *pool, const struct kvp_sb *sb,
			       const struct kvp_start *s, struct kvp_refusal *r)
{
	if (!s->any_uuid && memcmp(s->uuid, sb->pool_uuid, 16))
		return kvp_refuse(r, -EINVAL, "give the UUID that the legs carry, or '-'",
				  "the table names another pool UUID than the legs carry");
	if (sb->flags & KVP_SB_JOINING)
		return kvp_refuse(r, -ENXIO, "name the pool's own legs, or clear the label",
				  "the legs were about to be added to the pool '%s', and no leg of that is here",
				  sb->name);
	if (!kvp_vdevs_match(sb, s))
		return kvp_refuse(r, -EINVAL, "name every vdev and leg, '-' for a missing one",
				  "the table names %u legs in %u vdevs, the pool has %u in %u, or of other kinds",
				  s->nr_legs, s->nr_vdevs, sb->leg_count, sb->vdev_count);
	if (s->pool_blocks && s->pool_blocks != sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the refusal names",
				  "the table is %llu sectors long, the pool %llu",
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS,
				  (unsigned long long)sb->pool_blocks * KVP_BLOCK_SECTORS);
	if ((sb->flags & KVP_SB_DESTROYED) && !s->undestroy)
		return kvp_refuse(r, -ENOENT, "import --destroyed brings it back",
				  "the pool '%s' is marked destroyed", sb->name);
	if ((sb->ro_compat & ~KVP_RO_COMPAT_KNOWN) && !s->readonly)
		return kvp_refuse(r, -EOPNOTSUPP, "import --readonly, or use a newer module",
				  "the pool uses read-only compatible features %llx that this module does not know",
				  (unsigned long long)sb->ro_compat);
	return 0;
}

/* Put the legs into the order of the superblock; missing ones get their places too. */
static int order_legs(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best,
		      struct kvp_refusal *r)
{
	struct kvp_leg *legs = l->ordered;
	u32 i;

	memset(legs, 0, sizeof(l->ordered));
	memset(l->ordered_forked, 0, sizeof(l->ordered_forked));
	for (i = 0; i < pool->nr_legs; i++) {
		u32 at;

		if (!l->legs[i].found)
			continue;
		for (at = 0; at < best->leg_count; at++)
			if (!memcmp(best->legs[at].uuid, l->legs[i].sb->leg_uuid, 16))
				break;
		if (at == best->leg_count)
			return kvp_refuse(r, -EINVAL, "leave the device out, or clear its label",
					  "%s was once a leg of the pool '%s', but is not any more",
					  pool->legs[i].path, best->name);
		legs[at] = pool->legs[i];
		l->ordered_forked[at] = l->legs[i].forked;
	}
	memcpy(pool->legs, legs, sizeof(pool->legs));
	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		leg->pool = pool;
		leg->index = i;
		leg->state = best->legs[i].state;
		/* Its history is given up: it must not be a source, whatever the winner thought of it. */
		leg->adopt = l->ordered_forked[i];
		if (leg->adopt && leg->state == KVP_LEG_IN_SYNC)
			leg->state = KVP_LEG_STALE;
		atomic64_set(&leg->err_read, best->legs[i].err_read);
		atomic64_set(&leg->err_write, best->legs[i].err_write);
		atomic64_set(&leg->err_checksum, best->legs[i].err_checksum);
		atomic64_set(&leg->healed, best->legs[i].healed);
	}
	return 0;
}

/* Legs of a vdev that are missing without being recorded out. */
static u32 missing_of(struct kvp_pool *pool, const struct kvp_sb *sb, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += !pool->legs[i].bdev && sb->legs[i].state == KVP_LEG_IN_SYNC;
	return n;
}

static u32 usable_of(struct kvp_pool *pool, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += kvp_leg_usable(&pool->legs[i]);
	return n;
}

/* A cache that is missing may have to be waited for, but cannot have gone on: cachevdev.c. */
static u32 needed_of(const struct kvp_geometry *g)
{
	if (!kvp_has_data(g))
		return 0;
	return kvp_is_parity1(g) ? g->leg_count - 1 : 1;
}

/* Each vdev must have legs enough: a pool is lost with any of them. */
static int check_enough(struct kvp_pool *pool, const struct kvp_sb *sb, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++) {
		const struct kvp_geometry *g = &sb->vdevs[i];
		u32 usable = usable_of(pool, g);

		if (!usable && sb->vdev_count == 1)
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
					  "no leg that is in sync is present");
		if (!usable && needed_of(g) && !kvp_is_parity1(g))
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
					  "of vdev %u no leg that is in sync is present", i);
		if (usable < needed_of(g))
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
				"%u of %u legs are present and in sync; a parity1 needs all but one",
				usable, g->leg_count);
	}
	return 0;
}

/*
 * R16: could the missing legs have gone on without those that are here? Only if
 * they are enough in every vdev. (Of a parity1 two that are missing would be one
 * too many here as well.)
 */
static bool may_have_gone_on(struct kvp_pool *pool, const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		if (missing_of(pool, sb, &sb->vdevs[i]) < needed_of(&sb->vdevs[i]))
			return false;
	return true;
}

/* R16: a leg that is missing, and not recorded out, may hold newer data. */
static int check_missing(struct kvp_pool *pool, struct kvp_sb *sb, const struct kvp_start *s,
			 bool auto_start, struct kvp_refusal *r)
{
	bool fork = may_have_gone_on(pool, sb);
	int ret = check_enough(pool, sb, r);
	u32 i, missing = 0;

	if (ret)
		return ret;
	for (i = 0; i < sb->vdev_count; i++)
		missing += missing_of(pool, sb, &sb->vdevs[i]);
	if (!missing)
		return 0;
	if (fork && !s->degraded && !auto_start)
		return kvp_refuse(r, -ENOTCONN,
			"connect it, or import --degraded if it will not come back",
			"%u leg%s in sync when last seen, but missing now: newer data may be there",
			missing, missing > 1 ? "s were" : " was");
	if (s->readonly)
		return 0;
	for (i = 0; i < pool->nr_legs; i++)
		if (!pool->legs[i].bdev && sb->legs[i].state == KVP_LEG_IN_SYNC)
			pool->legs[i].state = KVP_LEG_STALE;
	if (!fork)
		return 0;
	if (sb->fork_count == KVP_MAX_FORKS)
		memmove(sb->forks, sb->forks + 1, (--sb->fork_count) * sizeof(sb->forks[0]));
	get_random_bytes(&sb->forks[sb->fork_count++], sizeof(sb->forks[0]));
	return 0;
}

int kvp_identify(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r)
{
	struct kvp_label *best;
	int ret;

	ret = check_found(pool, l, r);
	if (ret)
		return ret;
	best = newest_label(pool, l);
	if (!best)
		return kvp_refuse(r, -ENXIO, "connect at least one leg", "every leg is missing");
	*pool->sb = *best->sb;
	return 0;
}

int kvp_choose(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
	       bool auto_start, struct kvp_refusal *r)
{
	int ret;

	ret = kvp_identify(pool, l, r);
	if (!ret)
		ret = check_family(pool, l, pool->sb, s, r);
	if (!ret)
		ret = check_against_table(pool, pool->sb, s, r);
	if (!ret)
		ret = order_legs(pool, l, pool->sb, r);
	if (ret)
		return ret;
	if (pool->sb->tunable_mask & BIT_ULL(KVP_T_DEGRADED_START))
		auto_start |= pool->sb->tunables[KVP_T_DEGRADED_START];
	return check_missing(pool, pool->sb, s, auto_start, r);
}

/* --- format -------------------------------------------------------------------------- */

int kvp_check_blank(struct kvp_leg *leg, struct page *page, struct kvp_refusal *r)
{
	u64 starts[2] = { 0, leg->size_blocks - KVP_LABEL_BLOCKS }, block;
	u32 end;

	for (end = 0; end < 2; end++)
		for (block = starts[end]; block < starts[end] + KVP_LABEL_BLOCKS; block++) {
			if (kvp_io_page(leg, KVP_IO_READ, block, page))
				return kvp_refuse(r, -EIO, "use a device that can be read",
						  "%s: block %llu cannot be read", leg->path,
						  (unsigned long long)block);
			if (memchr_inv(page_address(page), 0, KVP_BLOCK_SIZE))
				return kvp_refuse(r, -EEXIST,
					"zero the first and last MiB, or let kvpoolctl create -f do it",
					"%s is not blank: block %llu holds data", leg->path,
					(unsigned long long)block);
		}
	return 0;
}

void kvp_random_uuid(u8 *uuid)
{
	get_random_bytes(uuid, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static void fill_new_sb(struct kvp_pool *pool, const struct kvp_start *s)
{
	struct kvp_sb *sb = pool->sb;
	u32 i;

	if (s->any_uuid)
		kvp_random_uuid(sb->pool_uuid);
	else
		memcpy(sb->pool_uuid, s->uuid, 16);
	snprintf(sb->name, sizeof(sb->name), "%s", s->name[0] ? s->name : "pool");
	snprintf(sb->comment, sizeof(sb->comment), "%s", s->comment);
	sb->create_time = ktime_get_real_seconds();
	get_random_bytes(&sb->nonce, sizeof(sb->nonce));
	sb->log_tail = kvp_log_blocks(&sb->vdevs[sb->log_vdev]);
	sb->log_commit = sb->log_tail;
	sb->leg_count = s->nr_legs;
	sb->root_count = (u32)kvp_sb_roots(sb);
	sb->pool_blocks = s->pool_blocks ?: kvp_map_blocks(&sb->map);
	sb->flags = KVP_SB_CLEAN;
	for (i = 0; i < s->nr_legs; i++) {
		kvp_random_uuid(sb->legs[i].uuid);
		sb->legs[i].state = KVP_LEG_IN_SYNC;
		sb->legs[i].size_blocks = pool->legs[i].size_blocks;
		pool->legs[i].state = KVP_LEG_IN_SYNC;
	}
}

/* The geometry of one vdev, whose legs begin with @first. */
static int lay_out_vdev(struct kvp_pool *pool, const struct kvp_start *s, u32 index, u32 first,
			struct kvp_refusal *r)
{
	struct kvp_geometry *g = &pool->sb->vdevs[index];
	u32 n = s->vdevs[index].nr_legs, i;
	u64 smallest = ~0ull;
	struct kvp_why why;
	int ret;

	for (i = first; i < first + n; i++) {
		if (!pool->legs[i].bdev)
			return kvp_refuse(r, -EINVAL, "give every leg", "a new pool cannot miss a leg");
		smallest = min(smallest, pool->legs[i].size_blocks);
	}
	g->first_leg = first;
	g->chunk_blocks = kvp_chunk_asked(s->chunk_bytes);
	g->log_window = kvp_log_window_asked(s->dirty_bytes);
	ret = kvp_layout_one(s->vdevs[index].kind, n, smallest, s->leg_bytes >> KVP_BLOCK_SHIFT,
			     s->log_bytes, KVP_MAX_ROOTS / s->nr_vdevs, g, &why);
	return ret ? kvp_refuse(r, ret, kvp_layout_mend(ret), "%s", why.text) : 0;
}

/* All vdevs, and what each of them holds of the pool. */
static int lay_out(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct kvp_sb *sb = pool->sb;
	u32 i, first = 0;
	int ret = 0;

	/* What is added later goes before it, and it can leave. */
	for (i = 0; i + 1 < s->nr_vdevs; i++)
		if (kvp_cache_kind(s->vdevs[i].kind))
			return kvp_refuse(r, -EINVAL, "name the cache last",
					  "a vdev with data cannot come behind the cache");
	if (s->dirty_bytes && !kvp_cache_kind(s->vdevs[s->nr_vdevs - 1].kind))
		return kvp_refuse(r, -EINVAL, "leave out cache_dirty_max, or name a cache",
				  "the pool has no cache");
	for (i = 0; !ret && i < s->nr_vdevs; i++) {
		ret = lay_out_vdev(pool, s, i, first, r);
		first += s->vdevs[i].nr_legs;
	}
	if (ret)
		return ret;
	sb->vdev_count = s->nr_vdevs;
	sb->tunable_mask = s->tunable_mask;
	memcpy(sb->tunables, s->tunables, sizeof(s->tunables));
	if (kvp_regions_lay_out(sb))
		return kvp_refuse(r, -EINVAL, "use fewer vdevs, or less of each leg with size=",
			"the vdevs are too large together, or their sizes too different, for one pool");
	for (i = 0; i < sb->vdev_count; i++)
		if (!kvp_logs_hold_discard(sb, sb->vdevs[i].chunk_blocks))
			return kvp_refuse(r, -EINVAL, "give a larger log_size=, or smaller chunks",
					  "the log is too small for chunks of %u KiB",
					  sb->vdevs[i].chunk_blocks * 4);
	if (s->pool_blocks > kvp_map_blocks(&sb->map))
		return kvp_refuse(r, -ENOSPC, "make the table shorter",
				  "the legs hold %llu sectors of data, the table is %llu long",
				  (unsigned long long)kvp_map_blocks(&sb->map) * KVP_BLOCK_SECTORS,
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS);
	return 0;
}

int kvp_format(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
	       struct kvp_refusal *r)
{
	int ret = lay_out(pool, s, r);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < pool->nr_legs; i++) {
		if (l->legs[i].valid || l->legs[i].bad)
			return kvp_refuse(r, -EEXIST, "destroy the pool, or clear the label, first",
					  "%s carries a kvpool label already", pool->legs[i].path);
		ret = kvp_check_blank(&pool->legs[i], l->pages[0], r);
		if (ret)
			return ret;
	}
	fill_new_sb(pool, s);
	return 0;
}
