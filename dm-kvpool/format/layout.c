// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where things lie on a leg. All legs of a vdev have one layout. It is computed once, when the
 * vdev is made, and is in the superblock.
 */
#include "format/format.h"
#include "format/logstripe.h"

#define ALIGN_BLOCKS		256ull		/* areas start at multiples of 1 MiB */
#define LOG_MIN_BYTES		(4ull << 20)
#define LOG_DEFAULT_MIN		(32ull << 20)
#define LOG_DEFAULT_MAX		(1ull << 30)
#define LOG_DEFAULT_SHARE	32		/* of the leg */
#define LOG_MAX_BYTES		(64ull << 30)
#define CACHE_MAX_BLOCKS	(1ull << 31)	/* 8 TiB: what an index of it can number */
#ifndef CACHE_COPIES_MIN	/* the simulator's are small */
/* a smaller log is not made smaller still for copies */
#define CACHE_COPIES_MIN	(60ull << 20 >> KVP_BLOCK_SHIFT)
#endif
#define DATA_MIN_BLOCKS		256ull
#ifndef KVP_LEAST_LEVELS	/* the simulator's pools are small, but need deep tables */
#define KVP_LEAST_LEVELS	1u
#endif

static u64 round_up_to(u64 n, u64 unit)
{
	return (n + unit - 1) / unit * unit;
}

/* --- where things lie ------------------------------------------------------ */

u64 kvp_pages_at(const struct kvp_geometry *g, u32 level)
{
	u64 span = (u64)kvp_leaf_blocks(g) << (KVP_PTRS_SHIFT * level);

	return g->data_blocks / span + !!(g->data_blocks % span);
}

u32 kvp_extent_blocks(const struct kvp_geometry *g)
{
	u32 leaf = kvp_leaf_blocks(g), parts = leaf / KVP_EXTENT_BLOCKS;
	u32 units = kvp_is_parity1(g) ? leaf / kvp_stripe_blocks(g) : leaf;

	while (parts > 1 && units % parts)
		parts--;
	return parts > 1 ? leaf / parts : leaf;
}

/* A vdev that has a table keeps its levels, or gets more. */
static u32 levels_for(struct kvp_geometry g, u32 max_roots)
{
	if (g.levels < KVP_LEAST_LEVELS)
		g.levels = KVP_LEAST_LEVELS;
	while (g.levels < KVP_MAX_LEVELS && kvp_pages_at(&g, g.levels - 1) > max_roots)
		g.levels++;
	return g.levels;
}

static u64 group_up(u64 pages)
{
	return round_up_to(pages, KVP_SLOT_GROUP);
}

/* Pages of the levels below @level, each filled up to whole groups. */
static u64 pages_below(const struct kvp_geometry *g, u32 level)
{
	u64 pages = 0;
	u32 l;

	for (l = 0; l < level; l++)
		pages += group_up(kvp_pages_at(g, l));
	return pages;
}

u64 kvp_table_blocks(const struct kvp_geometry *g)
{
	u64 pages = pages_below(g, g->levels), groups = pages / KVP_SLOT_GROUP;

	if (!kvp_is_parity1(g))
		return 2 * pages;
	/*
	 * Groups go to the legs in rounds. In each round, a leg gets a group of either copy. A page
	 * has two slots.
	 */
	return (groups + g->leg_count - 1) / g->leg_count * 2 * 2 * KVP_SLOT_GROUP;
}

kvp_lblock_t kvp_page_block(const struct kvp_geometry *g, u32 level, u64 index, unsigned int slot)
{
	return kvp_page_place(g, level, index, slot, 0).block;
}

struct kvp_place kvp_page_place(const struct kvp_geometry *g, u32 level, u64 index,
				unsigned int slot, u32 copy)
{
	u64 group = (pages_below(g, level) + index) / KVP_SLOT_GROUP;
	u64 within = (slot & 1) * KVP_SLOT_GROUP + index % KVP_SLOT_GROUP;
	u32 n = g->leg_count;
	struct kvp_place p;

	if (kvp_is_parity1(g)) {
		p.leg = (u32)((group + copy) % n);
		p.block = kvp_lblock(g->table_start +
				     (group / n * 2 + copy) * 2 * KVP_SLOT_GROUP + within);
		return p;
	}
	p.leg = copy % n;
	p.block = kvp_lblock(g->table_start + group * 2 * KVP_SLOT_GROUP + within);
	p.block = kvp_page_copy(g, p.block, copy / n);
	return p;
}

u64 kvp_log_area(const struct kvp_geometry *g)
{
	if (kvp_log_striped(g))
		return kvp_log_blocks(g) / g->leg_count;
	if (!kvp_is_parity1(g))
		return kvp_log_blocks(g);
	return ((u64)g->segments + g->leg_count - 1) / g->leg_count * 2 * g->segment_blocks;
}

u64 kvp_striped_index(const struct kvp_geometry *g, kvp_vblock_t block)
{
	u64 nr = kvp_vblock_nr(block);
	u32 leaf = kvp_leaf_blocks(g);

	return (nr / leaf << KVP_PTRS_SHIFT) + nr % leaf;
}

u64 kvp_parity_index(const struct kvp_geometry *g, u64 row)
{
	u64 first = kvp_vblock_nr(kvp_row_block(g, row, 1)), leaf = kvp_leaf_blocks(g);
	u64 rows = leaf / (g->leg_count - 1);

	/* The parity lies behind the data of its leaf: each leg has as many rows of it. */
	return (first / leaf << KVP_PTRS_SHIFT) + leaf + row % rows;
}

struct kvp_place kvp_striped_place(const struct kvp_geometry *g, kvp_vblock_t block)
{
	u32 stripe_blocks = kvp_stripe_blocks(g);
	u64 nr = kvp_vblock_nr(block), stripe = nr / stripe_blocks;
	struct kvp_stripe_at at;
	struct kvp_piece piece;

	at = kvp_stripe_at(g->leg_count, stripe_blocks, (u32)(nr % stripe_blocks));
	kvp_stripe_home(g->leg_count, g->chunk_blocks, stripe, at.piece, &piece);
	return (struct kvp_place){ piece.leg, kvp_lblock(g->data_start + piece.block + at.row) };
}

struct kvp_place kvp_parity_place(const struct kvp_geometry *g, u64 row)
{
	struct kvp_piece piece;

	kvp_stripe_home(g->leg_count, g->chunk_blocks, row / g->chunk_blocks, 0, &piece);
	return (struct kvp_place){ piece.leg, kvp_lblock(g->data_start + row) };
}

/* --- laying out -------------------------------------------------------------- */

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

static void cut_segments(u64 blocks, struct kvp_geometry *g)
{
	g->segment_blocks = KVP_SEGMENT_BLOCKS;
	while (blocks / g->segment_blocks < 2 * KVP_MIN_SEGMENTS &&
	       g->segment_blocks > KVP_MAX_ENTRY_BLOCKS)
		g->segment_blocks /= 2;
	g->segments = (u32)(blocks / g->segment_blocks);
}

static int lay_log(u64 bytes, struct kvp_geometry *g, struct kvp_why *why)
{
	if (bytes < LOG_MIN_BYTES || bytes > LOG_MAX_BYTES) {
		snprintf(why->text, sizeof(why->text),
			 "log size %llu is not between 4 MiB and 64 GiB",
			 (unsigned long long)bytes);
		return -EINVAL;
	}
	cut_segments(bytes >> KVP_BLOCK_SHIFT, g);
	return 0;
}

/* A single has two copies of the table on its leg. A mirror that was a single keeps them. */
static bool has_two_copies(const struct kvp_geometry *g)
{
	return g->kind == KVP_VDEV_SINGLE || g->table_copy;
}

/* Returns the blocks that the table takes on a leg. If it has two copies there, they adjoin. */
static u64 table_area(const struct kvp_geometry *g, u64 data_blocks, u32 max_roots)
{
	struct kvp_geometry all = *g;

	all.data_blocks = data_blocks;
	all.levels = levels_for(all, max_roots);
	return round_up_to((has_two_copies(g) ? 2 : 1) * kvp_table_blocks(&all), ALIGN_BLOCKS);
}

/* Data and its table share the rest: 4 KiB of data cost 16 bytes a copy, and a little more. */
static u64 data_that_fits(const struct kvp_geometry *g, u64 start, u64 end, u32 max_roots)
{
	/* a unit of data takes so much of a leg: a block, or a stripe and its chunk */
	u64 unit = kvp_is_parity1(g) ? kvp_stripe_blocks(g) : 1;
	u64 on_leg = kvp_is_parity1(g) ? g->chunk_blocks : 1;
	u64 units, need, excess;

	if (end <= start)
		return 0;
	units = (end - start) / on_leg;
	for (;;) {
		need = table_area(g, units * unit, max_roots) + units * on_leg;
		if (need <= end - start)
			return units * unit;
		excess = (need - (end - start) + on_leg - 1) / on_leg;
		if (units <= excess)
			return 0;
		units -= excess;
	}
}

/* True if a vdev may have this shape. */
static bool shape_known(const struct kvp_geometry *g)
{
	switch (g->kind) {
	case KVP_VDEV_SINGLE:
		return g->leg_count == 1;
	case KVP_VDEV_MIRROR:
		return g->leg_count >= 2 && g->leg_count <= KVP_MAX_MIRROR_LEGS;
	case KVP_VDEV_PARITY1:
		return g->leg_count >= KVP_STRIPE_MIN_LEGS && g->leg_count <= KVP_STRIPE_MAX_LEGS;
	case KVP_VDEV_CACHE:
		return g->leg_count >= 1 && g->leg_count <= KVP_MAX_MIRROR_LEGS;
	case KVP_VDEV_CACHE_PARITY1:
		return g->leg_count >= KVP_STRIPE_MIN_LEGS && g->leg_count <= KVP_STRIPE_MAX_LEGS;
	default:
		return false;
	}
}

/* A leaf of the table holds whole stripes. */
static bool chunk_known(const struct kvp_geometry *g)
{
	u32 chunk = g->chunk_blocks;

	return !kvp_is_parity1(g) ||
	       (chunk && !(chunk & (chunk - 1)) && chunk <= KVP_PTRS_PER_PAGE / g->leg_count);
}

bool kvp_log_holds_discard(const struct kvp_geometry *log, u32 chunk_blocks)
{
	return !chunk_blocks ||
	       kvp_log_window(log) >= 2ull * chunk_blocks * kvp_log_entry_blocks(log, 1, 1) +
				      3 * log->segment_blocks;
}

static int check_shape(const struct kvp_geometry *g, struct kvp_why *why)
{
	if (!shape_known(g)) {
		snprintf(why->text, sizeof(why->text),
			 "a single has one leg, a mirror 2 to %d, a parity1 %d to %d (a cache of that kind, too), a cache 1 to %d; this has %u",
			 KVP_MAX_MIRROR_LEGS, KVP_STRIPE_MIN_LEGS, KVP_STRIPE_MAX_LEGS,
			 KVP_MAX_MIRROR_LEGS, g->leg_count);
		return -EINVAL;
	}
	if (!chunk_known(g)) {
		snprintf(why->text, sizeof(why->text),
			 "a chunk must be a power of two, of 4 KiB to %u KiB for %u legs",
			 KVP_PTRS_PER_PAGE / g->leg_count * 4, g->leg_count);
		return -EINVAL;
	}
	return 0;
}

int kvp_layout_one(u32 kind, u32 legs, u64 leg_blocks, u64 use_blocks, u64 log_bytes,
		   u32 max_roots, struct kvp_geometry *g, struct kvp_why *why)
{
	u64 usable = leg_blocks, log;
	int ret;

	if (kvp_cache_kind(kind))
		return kvp_layout_cache(kind, legs, leg_blocks, g, why);
	if (use_blocks && use_blocks < usable)
		usable = use_blocks;
	g->kind = kind;
	g->leg_count = legs;
	g->log_window = 0;
	g->levels = 0;
	g->table_copy = 0;
	if (!kvp_is_parity1(g))
		g->chunk_blocks = 0;
	else if (!g->chunk_blocks)
		g->chunk_blocks = KVP_CHUNK_BLOCKS;
	ret = check_shape(g, why);
	if (!ret)
		ret = lay_log(log_bytes ?: default_log_bytes(usable), g, why);
	if (ret)
		return ret;
	if (!kvp_log_holds_discard(g, g->chunk_blocks)) {
		snprintf(why->text, sizeof(why->text),
			 "a log of %llu KiB is too small for chunks of %u KiB",
			 (unsigned long long)kvp_log_blocks(g) * 4, g->chunk_blocks * 4);
		return -EINVAL;
	}
	log = round_up_to(kvp_log_area(g), ALIGN_BLOCKS);
	g->table_start = KVP_LABEL_BLOCKS;
	g->data_blocks = usable > KVP_LABEL_BLOCKS + log ?
		data_that_fits(g, KVP_LABEL_BLOCKS + log, usable - KVP_LABEL_BLOCKS, max_roots) : 0;
	if (g->data_blocks < DATA_MIN_BLOCKS) {
		snprintf(why->text, sizeof(why->text),
			 "%llu KiB are too few for labels, a log of %llu KiB, table and data",
			 (unsigned long long)usable * 4, (unsigned long long)kvp_log_blocks(g) * 4);
		return -ENOSPC;
	}
	g->levels = levels_for(*g, max_roots);
	if (kvp_pages_at(g, g->levels - 1) > max_roots) {
		snprintf(why->text, sizeof(why->text),
			 "more than %u TiB of data a leg; use less of it with size=",
			 max_roots / 2);
		return -EINVAL;
	}
	/* A single has no other leg with the table, so it has two copies. */
	g->table_copy = kind == KVP_VDEV_SINGLE ? g->table_start + kvp_table_blocks(g) : 0;
	g->log_start = g->table_start + table_area(g, g->data_blocks, max_roots);
	g->data_start = g->log_start + log;
	return 0;
}

static u64 end_of_table(const struct kvp_geometry *g)
{
	return (g->table_copy ?: g->table_start) + kvp_table_blocks(g);
}

int kvp_layout_larger(const struct kvp_geometry *old, u64 leg_blocks, u32 max_roots,
		      struct kvp_geometry *g)
{
	u64 end = leg_blocks > KVP_LABEL_BLOCKS ? leg_blocks - KVP_LABEL_BLOCKS : 0;

	*g = *old;
	end -= end % ALIGN_BLOCKS;
	g->data_blocks = data_that_fits(g, g->data_start, end, max_roots);
	if (g->data_blocks < old->data_blocks + 2 * kvp_leaf_blocks(g))
		return -ENOSPC;
	g->levels = levels_for(*g, max_roots);
	if (kvp_pages_at(g, g->levels - 1) > max_roots)
		return -EOVERFLOW;
	g->table_start = end - table_area(g, g->data_blocks, max_roots);
	g->table_copy = has_two_copies(g) ? g->table_start + kvp_table_blocks(g) : 0;
	/* Pages are copied from one to the other. */
	return kvp_table_behind(old) && g->table_start < end_of_table(old) ? -ENOSPC : 0;
}

u64 kvp_leg_least(const struct kvp_geometry *g)
{
	u64 homes = g->data_start + kvp_home_blocks(g);

	return (kvp_table_behind(g) ? end_of_table(g) : homes) + KVP_LABEL_BLOCKS;
}

int kvp_layout(u32 kind, u32 legs, u64 leg_blocks, u64 use_blocks, u64 log_bytes,
	       struct kvp_geometry *g, struct kvp_why *why)
{
	return kvp_layout_one(kind, legs, leg_blocks, use_blocks, log_bytes, KVP_MAX_ROOTS, g, why);
}

/* Divide what lies between the labels: the log, and behind it a place for copies of table pages. */
static void cut_cache(struct kvp_geometry *g, u64 blocks)
{
	u64 copies = blocks / KVP_SSDCOPY_SHARE;

	if (blocks - copies < CACHE_COPIES_MIN)
		copies = 0;
	blocks -= copies;
	if (kvp_log_striped(g))
		blocks *= g->leg_count;
	cut_segments(blocks < CACHE_MAX_BLOCKS ? blocks : CACHE_MAX_BLOCKS, g);
	/* Where the log begins anew, a row does too. */
	if (kvp_log_striped(g))
		g->segments -= g->segments % g->leg_count;
	g->table_start = copies ? g->log_start + kvp_log_area(g) : 0;
}

/* The window is noted in whole segments, and as 0 if it is the default. */
int kvp_layout_window(u64 blocks, struct kvp_geometry *g, struct kvp_why *why)
{
	u64 all = kvp_log_blocks(g), usual = all < KVP_LOG_WINDOW ? all : KVP_LOG_WINDOW;

	if (blocks && (blocks < KVP_LOG_WINDOW_LEAST || blocks > KVP_LOG_WINDOW_MOST)) {
		snprintf(why->text, sizeof(why->text),
			 "%llu bytes of a cache that may be dirty are not between 64 MiB and 64 GiB",
			 (unsigned long long)blocks << KVP_BLOCK_SHIFT);
		return -ERANGE;
	}
	blocks -= blocks % g->segment_blocks;
	blocks = blocks < all ? blocks : all;
	g->log_window = blocks != usual ? blocks : 0;
	return 0;
}

int kvp_layout_cache(u32 kind, u32 legs, u64 leg_blocks, struct kvp_geometry *g,
		     struct kvp_why *why)
{
	u64 window = g->log_window;
	u64 blocks = leg_blocks > 2 * KVP_LABEL_BLOCKS ? leg_blocks - 2 * KVP_LABEL_BLOCKS : 0;
	u32 first_leg = g->first_leg;
	int ret;

	*g = (struct kvp_geometry){ .kind = kind, .first_leg = first_leg, .leg_count = legs };
	ret = check_shape(g, why);
	if (ret)
		return ret;
	if (blocks < LOG_MIN_BYTES >> KVP_BLOCK_SHIFT) {
		snprintf(why->text, sizeof(why->text),
			 "%llu KiB are too few for the labels and a log of 4 MiB of a cache",
			 (unsigned long long)leg_blocks * 4);
		return -ENOSPC;
	}
	g->log_start = KVP_LABEL_BLOCKS;
	cut_cache(g, blocks);
	return kvp_layout_window(window, g, why);
}

/* True if @start .. @start + @blocks lies between the labels, without overflow. */
static bool inside(u64 start, u64 blocks, u64 leg_blocks)
{
	return start >= KVP_LABEL_BLOCKS && leg_blocks > 2 * KVP_LABEL_BLOCKS &&
	       start <= leg_blocks - KVP_LABEL_BLOCKS &&
	       blocks <= leg_blocks - KVP_LABEL_BLOCKS - start;
}

/* A second copy has a place of its own between the first one and the log, or the end. */
static bool copy_fits(const struct kvp_geometry *g, u64 leg_blocks)
{
	u64 blocks = kvp_table_blocks(g);

	if (!g->table_copy)
		return true;
	if (kvp_is_parity1(g) || g->table_copy < g->table_start + blocks)
		return false;
	return kvp_table_behind(g) ? inside(g->table_copy, blocks, leg_blocks) :
	       g->table_copy <= g->log_start && blocks <= g->log_start - g->table_copy;
}

/* The table lies before the log, or behind the data. */
static bool in_order(const struct kvp_geometry *g)
{
	if (g->log_start + kvp_log_area(g) > g->data_start)
		return false;
	return kvp_table_behind(g) ? g->table_start >= g->data_start + kvp_home_blocks(g) :
	       g->table_start + kvp_table_blocks(g) <= g->log_start;
}

static bool log_sound(const struct kvp_geometry *g, u64 leg_blocks)
{
	return g->segment_blocks >= KVP_MAX_ENTRY_BLOCKS &&
	       g->segment_blocks <= KVP_SEGMENT_BLOCKS &&
	       !(g->segment_blocks & (g->segment_blocks - 1)) && g->segments >= KVP_MIN_SEGMENTS &&
	       kvp_log_blocks(g) <= CACHE_MAX_BLOCKS &&
	       inside(g->log_start, kvp_log_area(g), leg_blocks);
}

/* True if the log has whole segments, and enough of them, or the default number. */
static bool window_sound(const struct kvp_geometry *g)
{
	u64 window = g->log_window;

	return !window || (window >= KVP_LOG_WINDOW_LEAST && window <= KVP_LOG_WINDOW_MOST &&
			   !(window % g->segment_blocks) && window <= kvp_log_blocks(g));
}

/* A cache has a log, and perhaps table pages behind it. Returns what is wrong there, or NULL. */
static const char *cache_fault(const struct kvp_geometry *g, u64 leg_blocks)
{
	if (g->data_start || g->data_blocks || g->levels || g->table_copy || g->chunk_blocks)
		return "table or data of a cache";
	if (!log_sound(g, leg_blocks) || (kvp_log_striped(g) && g->segments % g->leg_count))
		return "log area";
	if (!window_sound(g))
		return "window of the log";
	if (g->table_start && (g->table_start < g->log_start + kvp_log_area(g) ||
			       !inside(g->table_start, kvp_ssdcopy_blocks(g), leg_blocks)))
		return "place for copies of the table";
	return NULL;
}

static const char *geometry_fault(const struct kvp_geometry *g, u64 leg_blocks)
{
	if (!shape_known(g))
		return "kind or number of legs";
	if (!kvp_has_data(g))
		return cache_fault(g, leg_blocks);
	if (!chunk_known(g))
		return "chunk";
	if (!g->data_blocks || (kvp_is_parity1(g) && g->data_blocks % kvp_stripe_blocks(g)) ||
	    !inside(g->data_start, kvp_home_blocks(g), leg_blocks))
		return "data area";
	if (g->levels < 1 || g->levels > KVP_MAX_LEVELS ||
	    kvp_pages_at(g, g->levels - 1) > KVP_MAX_ROOTS)
		return "table levels";
	if (!log_sound(g, leg_blocks) || g->log_window)
		return "log area";
	if (!kvp_log_holds_discard(g, g->chunk_blocks))
		return "log size for its chunks";
	if (!inside(g->table_start, kvp_table_blocks(g), leg_blocks))
		return "table area";
	if (!in_order(g))
		return "order of the areas";
	if (!copy_fits(g, leg_blocks))
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
