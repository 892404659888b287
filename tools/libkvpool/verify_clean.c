// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks which summaries and which of their blocks still hold: docs/on-disk-format.md, 4.7. If the
 * table says that a block was written since, its copy is not clean any more.
 */
#include <stdlib.h>

#include "format/logplace.h"
#include "format/regions.h"
#include "format/summary.h"
#include "logrows.h"
#include "verify_clean.h"

#define IN_FLIGHT	8u	/* entries that may be in flight at a time */
#define ENTRY_SPACE	(KVP_MAX_ENTRY_BLOCKS + 32u)

/* leaves of the table in memory: summaries name blocks in any order */
#define LEAVES		1024u

struct leaf {
	u64 index;		/* of the leaf */
	u32 vdev;
	bool loaded;
	u64 entry[KVP_PTRS_PER_PAGE];
};

struct cleaner {
	const struct offline_pool *pool;	/* the cache */
	struct table *tables;			/* of each vdev */
	struct leaf *leaves;
	struct verify *v;
	/* the cache may be written up to end; a place counts only above doubt */
	u64 end, doubt;
	struct log_rows *rows;	/* of kind parity1 */
	struct kvp_disk_summary *summary;
	u8 *data;		/* of another kind: one leg's copy of a segment */
	bool there[KVP_SEGMENT_BLOCKS];
};

static u64 max_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* The lsn up to which the log, or admission without it, may have written; 0: unknown. */
static u64 written_to(const struct cleaner *c)
{
	const struct kvp_sb *sb = c->pool->sb;

	if (c->pool->vdev != sb->log_vdev)
		return sb->cache_lsn;
	return log_state(c->pool, &c->v->log) == LOG_SOUND ? c->v->log.head : 0;
}

static bool has_parity(const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		if (kvp_is_parity1(&sb->vdevs[i]))
			return true;
	return false;
}

/* Entries in flight beyond the end, or a recovery's chain, may have overwritten blocks there. */
static u64 doubt_from(const struct cleaner *c, u64 written)
{
	const struct kvp_geometry *g = c->pool->g;
	const struct kvp_sb *sb = c->pool->sb;
	u64 most = sb->log_tail - sb->log_tail % g->segment_blocks + kvp_log_window(g);
	u64 in_flight = written + IN_FLIGHT * (ENTRY_SPACE + kvp_log_kept(g));

	if (c->pool->vdev != sb->log_vdev)
		return c->end;
	if (!has_parity(sb) && in_flight < most)
		most = in_flight;
	return max_of(written, most);
}

/* One leg's summary of the segment at @lsn. */
static bool read_summary(struct cleaner *c, u64 lsn, u32 copy, int *leg)
{
	const struct kvp_sb *sb = c->pool->sb;
	struct kvp_place at = kvp_summary_place(c->pool->g, lsn, copy);

	*leg = offline_leg(c->pool, at.leg);
	return *leg >= 0 &&
	       !device_read(c->pool->legs[*leg], at.block, KVP_SUMMARY_BLOCKS, c->summary) &&
	       kvp_summary_valid(c->summary, sb->nonce, sb->legs[c->pool->index[*leg]].uuid, lsn,
				 sb->era + 1);
}

static void load_leaf(struct cleaner *c, struct leaf *l, u32 vdev, u64 index)
{
	struct table *t = &c->tables[vdev];
	u64 next;
	enum page_state state = table_leaf(t, index, &next);
	u32 i;

	*l = (struct leaf){ .index = index, .vdev = vdev, .loaded = true };
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		l->entry[i] = state == PAGE_GOOD ? table_entry(t, i) : 0;
}

/*
 * The table's entry of a block of the pool; if it cannot be read, the entry of an unwritten block.
 */
static u64 entry_of(struct cleaner *c, u64 block)
{
	const struct kvp_sb *sb = c->pool->sb;
	struct kvp_map_place at = kvp_map_find(&sb->map, block);
	u64 word = kvp_entry_index(&sb->vdevs[at.vdev], at.block), index = word / KVP_PTRS_PER_PAGE;
	struct leaf *l = &c->leaves[(index + at.vdev) % LEAVES];

	if (!l->loaded || l->index != index || l->vdev != at.vdev)
		load_leaf(c, l, at.vdev, index);
	return l->entry[word % KVP_PTRS_PER_PAGE];
}

/* Is a block unchanged since the summary in memory was written? */
static bool still_so(struct cleaner *c, const struct kvp_summary_rec *r)
{
	u64 entry = entry_of(c, r->block);

	return kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_crc(entry) == r->crc &&
	       kvp_entry_era(entry) < le32_to_cpu(c->summary->era);
}

static void count(struct cleaner *c, const struct kvp_summary_rec *r, int leg, const void *data)
{
	if (data && kvp_block_sum(c->pool->data_seed, r->block, data) == r->crc) {
		c->v->clean++;
		return;
	}
	c->v->clean_bad++;
	c->v->legs[c->pool->index[leg]].clean_bad++;
}

/* Checks all blocks of the segment at @lsn that the summary in memory names; both are in memory. */
static void check_named(struct cleaner *c, u64 lsn, int of)
{
	const struct kvp_geometry *g = c->pool->g;
	u32 at, end = g->segment_blocks - kvp_log_kept(g);

	for (at = 0; at < end; at++) {
		struct kvp_summary_rec r;
		const void *data;
		int leg = of;

		if (!kvp_summary_get(c->summary, at, c->pool->sb->pool_blocks, &r) ||
		    !still_so(c, &r))
			continue;
		if (c->rows) {
			leg = log_rows_leg(c->pool, lsn + at);
			data = log_rows_block(c->rows, lsn + at);
		} else {
			data = c->there[at] ? c->data + ((size_t)at << KVP_BLOCK_SHIFT) : NULL;
		}
		if (leg >= 0)
			count(c, &r, leg, data);
	}
}

/* Loads a segment from a leg of a cache that has all of it. */
static void load(struct cleaner *c, u64 lsn, int leg)
{
	u32 blocks = c->pool->g->segment_blocks, i;
	u64 at = kvp_log_place(c->pool->g, lsn, 0).block;
	bool whole = !device_read(c->pool->legs[leg], at, blocks, c->data);

	for (i = 0; i < blocks; i++)
		c->there[i] = whole || !device_read(c->pool->legs[leg], at + i, 1,
						    c->data + ((size_t)i << KVP_BLOCK_SHIFT));
}

/* A parity1 cache has one summary for a segment, in two copies; otherwise each leg has its own. */
static void check_segment(struct cleaner *c, u64 lsn)
{
	u32 copy;
	int leg;

	for (copy = 0; copy < kvp_summary_copies(c->pool->g); copy++) {
		if (!read_summary(c, lsn, copy, &leg))
			continue;
		if (c->rows)
			log_rows_load(c->rows, lsn);
		else
			load(c, lsn, leg);
		check_named(c, lsn, leg);
		if (c->rows)
			return;
	}
}

static void check_all(struct cleaner *c)
{
	u32 step = c->pool->g->segment_blocks;
	u64 ring = kvp_log_blocks(c->pool->g), lsn = c->end, done = 0;

	while (done < ring && lsn >= ring + step && lsn - step + ring >= c->doubt) {
		lsn -= step;
		done += step;
		check_segment(c, lsn);
		if (c->v->progress)
			c->v->progress(c->v->progress_arg, done, ring);
	}
}

int verify_clean(const struct offline_pool *pools, struct table *tables, struct verify *v)
{
	struct cleaner *c;
	int cache = kvp_cache_find(pools->sb), ret = -ENOMEM;
	u64 written;

	if (cache < 0 || !pools[cache].leg_count)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return ret;
	c->pool = &pools[cache];
	c->tables = tables;
	c->leaves = calloc(LEAVES, sizeof(*c->leaves));
	c->v = v;
	c->summary = blocks_alloc(KVP_SUMMARY_BLOCKS);
	if (kvp_log_striped(c->pool->g))
		c->rows = log_rows_alloc(c->pool);
	else
		c->data = blocks_alloc(KVP_SEGMENT_BLOCKS);
	if (c->summary && c->leaves && (c->rows || c->data)) {
		written = written_to(c);
		c->end = written + c->pool->g->segment_blocks - 1;
		c->end -= c->end % c->pool->g->segment_blocks;
		c->doubt = doubt_from(c, written);
		if (written)
			check_all(c);
		ret = 0;
	}
	log_rows_free(c->rows);
	free(c->leaves);
	free(c->summary);
	free(c->data);
	free(c);
	return ret;
}
