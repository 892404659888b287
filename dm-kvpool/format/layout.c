// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where things lie on a leg: one layout for every leg of a vdev, computed
 * once when the vdev is made and kept in the superblock.
 */
#include "format/format.h"

#define ALIGN_BLOCKS		256ull		/* regions start at multiples of 1 MiB */
#define LOG_MIN_BYTES		(4ull << 20)
#define LOG_DEFAULT_MIN		(32ull << 20)
#define LOG_DEFAULT_MAX		(1ull << 30)
#define LOG_DEFAULT_SHARE	32		/* of the leg */
#define LOG_MAX_BYTES		(64ull << 30)
#define DATA_MIN_BLOCKS		256ull

static u64 round_up_to(u64 n, u64 unit)
{
	return (n + unit - 1) / unit * unit;
}

u64 kvp_pages_at(u64 data_blocks, u32 level)
{
	u64 span = 1ull << (KVP_PTRS_SHIFT * (level + 1));

	return data_blocks / span + !!(data_blocks % span);
}

static u32 levels_for(u64 data_blocks)
{
	u32 levels = 1;

	while (levels < KVP_MAX_LEVELS && kvp_pages_at(data_blocks, levels - 1) > KVP_MAX_ROOTS)
		levels++;
	return levels;
}

static u64 group_up(u64 pages)
{
	return round_up_to(pages, KVP_SLOT_GROUP);
}

u64 kvp_table_blocks(u64 data_blocks, u32 levels)
{
	u64 pages = 0;
	u32 level;

	for (level = 0; level < levels; level++)
		pages += group_up(kvp_pages_at(data_blocks, level));
	return 2 * pages;
}

u64 kvp_page_block(const struct kvp_geometry *g, u32 level, u64 index, unsigned int slot)
{
	u64 pages = 0;
	u32 l;

	for (l = 0; l < level; l++)
		pages += group_up(kvp_pages_at(g->data_blocks, l));
	return g->table_start + 2 * (pages + index - index % KVP_SLOT_GROUP) +
	       (slot & 1) * KVP_SLOT_GROUP + index % KVP_SLOT_GROUP;
}

u64 kvp_log_pos(const struct kvp_geometry *g, u64 lsn)
{
	return lsn % kvp_log_blocks(g);
}

static u64 default_log_bytes(u64 leg_blocks)
{
	u64 bytes = (leg_blocks << KVP_BLOCK_SHIFT) / LOG_DEFAULT_SHARE;

	if (bytes < LOG_DEFAULT_MIN)
		bytes = LOG_DEFAULT_MIN;
	if (bytes > LOG_DEFAULT_MAX)
		bytes = LOG_DEFAULT_MAX;
	/* a tiny leg, as tests use them, gives the log a quarter */
	while (bytes > LOG_MIN_BYTES && bytes > (leg_blocks << KVP_BLOCK_SHIFT) / 4)
		bytes /= 2;
	return bytes;
}

static int lay_log(u64 bytes, struct kvp_geometry *g, struct kvp_why *why)
{
	u64 blocks = bytes >> KVP_BLOCK_SHIFT;

	if (bytes < LOG_MIN_BYTES || bytes > LOG_MAX_BYTES) {
		snprintf(why->text, sizeof(why->text),
			 "log size %llu is not between 4 MiB and 64 GiB", (unsigned long long)bytes);
		return -EINVAL;
	}
	g->segment_blocks = KVP_SEGMENT_BLOCKS;
	while (blocks / g->segment_blocks < 2 * KVP_MIN_SEGMENTS &&
	       g->segment_blocks > KVP_MAX_ENTRY_BLOCKS)
		g->segment_blocks /= 2;
	g->segments = (u32)(blocks / g->segment_blocks);
	return 0;
}

/* What the table takes, all its copies on the leg one behind the other. */
static u64 table_region(u64 data_blocks, u32 copies)
{
	return round_up_to(copies * kvp_table_blocks(data_blocks, levels_for(data_blocks)),
			   ALIGN_BLOCKS);
}

/* Data and its table share what is left: 4 KiB of data cost 16 bytes a copy, and a little. */
static u64 data_that_fits(u64 start, u64 end, u32 copies)
{
	u64 data, need;

	if (end <= start)
		return 0;
	data = end - start;
	for (;;) {
		need = table_region(data, copies) + data;
		if (need <= end - start)
			return data;
		if (data <= need - (end - start))
			return 0;
		data -= need - (end - start);
	}
}

int kvp_layout(u32 kind, u32 legs, u64 leg_blocks, u64 use_blocks, u64 log_bytes,
	       struct kvp_geometry *g, struct kvp_why *why)
{
	/* Nobody else has the table of a single. */
	u32 copies = kind == KVP_VDEV_SINGLE ? 2 : 1;
	u64 usable = leg_blocks, log;
	int ret;

	if (!(kind == KVP_VDEV_SINGLE && legs == 1) &&
	    !(kind == KVP_VDEV_MIRROR && legs >= 2 && legs <= KVP_MAX_MIRROR_LEGS)) {
		snprintf(why->text, sizeof(why->text),
			 "a single has one leg, a mirror 2 to %d; this has %u",
			 KVP_MAX_MIRROR_LEGS, legs);
		return -EINVAL;
	}
	if (use_blocks && use_blocks < usable)
		usable = use_blocks;
	g->kind = kind;
	g->leg_count = legs;
	g->chunk_blocks = 0;
	ret = lay_log(log_bytes ?: default_log_bytes(usable), g, why);
	if (ret)
		return ret;
	log = round_up_to(kvp_log_blocks(g), ALIGN_BLOCKS);
	g->table_start = KVP_LABEL_BLOCKS;
	g->data_blocks = usable > KVP_LABEL_BLOCKS + log ?
		data_that_fits(KVP_LABEL_BLOCKS + log, usable - KVP_LABEL_BLOCKS, copies) : 0;
	if (g->data_blocks < DATA_MIN_BLOCKS) {
		snprintf(why->text, sizeof(why->text),
			 "%llu KiB are too few for labels, a log of %llu KiB, table and data",
			 (unsigned long long)usable * 4, (unsigned long long)kvp_log_blocks(g) * 4);
		return -ENOSPC;
	}
	g->levels = levels_for(g->data_blocks);
	if (kvp_pages_at(g->data_blocks, g->levels - 1) > KVP_MAX_ROOTS) {
		snprintf(why->text, sizeof(why->text),
			 "more than 512 TiB of data a leg; use less of it with size=");
		return -EINVAL;
	}
	g->table_copy = copies == 2 ?
		g->table_start + kvp_table_blocks(g->data_blocks, g->levels) : 0;
	g->log_start = g->table_start + table_region(g->data_blocks, copies);
	g->data_start = g->log_start + log;
	return 0;
}

/* Is @start .. @start + @blocks between the labels, without overflow? */
static bool inside(u64 start, u64 blocks, u64 leg_blocks)
{
	return start >= KVP_LABEL_BLOCKS && leg_blocks > 2 * KVP_LABEL_BLOCKS &&
	       start <= leg_blocks - KVP_LABEL_BLOCKS &&
	       blocks <= leg_blocks - KVP_LABEL_BLOCKS - start;
}

/* A second copy has a place of its own between the first one and the log. */
static bool copy_fits(const struct kvp_geometry *g)
{
	u64 blocks = kvp_table_blocks(g->data_blocks, g->levels);

	return !g->table_copy ||
	       (g->table_copy >= g->table_start + blocks && g->table_copy <= g->log_start &&
		blocks <= g->log_start - g->table_copy);
}

static const char *geometry_fault(const struct kvp_geometry *g, u64 leg_blocks)
{
	if (!(g->kind == KVP_VDEV_SINGLE && g->leg_count == 1) &&
	    !(g->kind == KVP_VDEV_MIRROR && g->leg_count >= 2 &&
	      g->leg_count <= KVP_MAX_MIRROR_LEGS))
		return "kind or number of legs";
	if (!g->data_blocks || !inside(g->data_start, g->data_blocks, leg_blocks))
		return "data region";
	if (g->levels < 1 || g->levels > KVP_MAX_LEVELS ||
	    kvp_pages_at(g->data_blocks, g->levels - 1) > KVP_MAX_ROOTS)
		return "table levels";
	if (g->segment_blocks < KVP_MAX_ENTRY_BLOCKS || g->segment_blocks > KVP_SEGMENT_BLOCKS ||
	    g->segments < KVP_MIN_SEGMENTS || !inside(g->log_start, kvp_log_blocks(g), leg_blocks))
		return "log region";
	if (!inside(g->table_start, kvp_table_blocks(g->data_blocks, g->levels), leg_blocks))
		return "table region";
	if (g->table_start + kvp_table_blocks(g->data_blocks, g->levels) > g->log_start ||
	    g->log_start + kvp_log_blocks(g) > g->data_start)
		return "order of the regions";
	if (!copy_fits(g))
		return "second copy of the table";
	return NULL;
}

int kvp_geometry_check(const struct kvp_geometry *g, u64 leg_blocks, struct kvp_why *why)
{
	const char *fault = geometry_fault(g, leg_blocks);

	if (!fault)
		return 0;
	snprintf(why->text, sizeof(why->text), "geometry: bad %s (device of %llu blocks)",
		 fault, (unsigned long long)leg_blocks);
	return -EUCLEAN;
}
