/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folder format/: codecs of the on-disk format, and the arithmetic on it.
 *
 * Its main idea: module, kvpoolctl and tests use the same code to read and write what is on a
 * device. So all is pure: no I/O, no allocation, no locks, and any context may call it. The folder
 * includes only compat/, and every floor above uses it.
 *
 * All that comes from a device is hostile. A decoder checks every count and range before it uses
 * it, and says in words what it found: in struct kvp_why, or in the text that it returns.
 *
 *   numbers.h      types for blocks of the pool, of a vdev and of a leg, and for places in the log
 *   this header    geometry, table entries, the codecs of superblocks and log entries
 *   regions.h      which vdev holds which block of the pool
 *   stripe.h       how a parity1 lays a request on its legs; logstripe.h: an entry in a cache's log
 *   logplace.h     which vdevs carry the log; generations.h: entries of older activations in it
 *   sbring.h       which superblocks a leg may have; outs.h: which of them count after a loss
 *   grow.h, replaces.h, shadow.h, spare.h
 *                  changes of devices, as the superblock remembers them
 *   heartbeat.h    which activation has the pool
 *   point.h        a point in the pool's history, as people write it
 *   summary.h      what a segment of an SSD cache holds
 *   kind.h, tunables.h
 *                  names of kinds of vdev, and the table of tunables
 *
 * The structs as they lie on a device are in kvpool_format.h, which a reader of the format needs
 * first. Then begin here: kvp_layout() makes a geometry, kvp_sb_decode() reads a superblock, and
 * kvp_log_decode() reads an entry of the log.
 */
#ifndef KVP_FORMAT_CODEC_H
#define KVP_FORMAT_CODEC_H

#include "compat/crc.h"
#include "kvpool_format.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#else
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#ifndef cpu_to_le64
#define cpu_to_le64(x)	((__le64)htole64(x))
#define cpu_to_le32(x)	((__le32)htole32(x))
#define cpu_to_le16(x)	((__le16)htole16(x))
#define le64_to_cpu(x)	le64toh((uint64_t)(x))
#define le32_to_cpu(x)	le32toh((uint32_t)(x))
#define le16_to_cpu(x)	le16toh((uint16_t)(x))
#endif
#ifndef __must_check
#define __must_check	__attribute__((warn_unused_result))
#endif
#endif

#include "format/numbers.h"

/* --- sums --------------------------------------------------------------- */

/**
 * struct kvp_seed - what the sums of a vdev start with
 * @crc: crc32c of the pool's nonce and of the vdev's index
 * @folded: sums of blocks are as KVP_INCOMPAT_FOLDED_SUMS says
 */
struct kvp_seed {
	u32 crc;
	bool folded;
};

/**
 * kvp_sum_seed() - make the seed for sums of a vdev
 * @nonce: of the pool
 * @vdev: index of the vdev
 * @incompat: features of the pool
 */
struct kvp_seed kvp_sum_seed(u64 nonce, u32 vdev, u64 incompat);

/** kvp_text_valid() - true for a name or comment without control characters */
bool kvp_text_valid(const char *text);

/** kvp_block_sum() - sum of one 4 KiB block of data at physical block @block */
u32 kvp_block_sum(struct kvp_seed seed, kvp_block_t block, const void *data);

/* Words of a fold, and after how many words of the block they are turned. */
#define KVP_FOLD_WORDS	7
#define KVP_FOLD_TURN	252

/**
 * struct kvp_sum - sum of a block whose data comes in pieces
 * @crc: of what came
 * @bytes: how much came
 * @place: what the address adds to the sum
 * @folded: as in the seed
 * @fold: of what came
 */
struct kvp_sum {
	u32 crc, bytes, place;
	bool folded;
	u64 fold[KVP_FOLD_WORDS];
};

/**
 * kvp_sum_begin() - begin kvp_block_sum() of data that comes in pieces
 *
 * kvp_sum_add() - add a piece, of any length and alignment
 *
 * kvp_sum_end() - the sum, once KVP_BLOCK_SIZE bytes were added
 */
void kvp_sum_begin(struct kvp_sum *sum, struct kvp_seed seed, kvp_block_t block);
void kvp_sum_add(struct kvp_sum *sum, const void *data, u32 bytes);
u32 kvp_sum_end(const struct kvp_sum *sum);

/**
 * kvp_zeros_sum() - kvp_block_sum() of a block of zeros at @address, without reading one
 *
 * Sums are linear. What data adds to a sum is the XOR of the sum and of the zeros' sum. Let a block
 * be the XOR of other blocks. Then what it adds is the XOR of what these add.
 */
u32 kvp_zeros_sum(struct kvp_seed seed, u64 address);

/** kvp_page_sum() - sum of table page (@level, @index), never 0 */
u32 kvp_page_sum(struct kvp_seed seed, u32 level, u64 index, const void *page);

/* --- table entries and pointers ----------------------------------------- */

/**
 * kvp_entry() - make the entry of a block, or of the parity of a row
 * @crc: its sum; 0 unless @state is valid
 * @era: of the checkpoint that is to write it; at most KVP_ERA_MAX
 *
 * kvp_entry_crc(), kvp_entry_era() and kvp_entry_state() take entry @e apart. The state is one of
 * enum kvp_entry_state, or 3, which is none. Entries are in the processor's byte order here, on
 * disk and in the pages of the table they are not. Context: any.
 */
static inline u64 kvp_entry(u32 crc, u32 era, enum kvp_entry_state state)
{
	return (u64)crc | (u64)(era & KVP_ERA_MAX) << KVP_ENTRY_ERA_SHIFT |
	       (u64)state << KVP_ENTRY_STATE_SHIFT;
}

static inline u32 kvp_entry_crc(u64 e)
{
	return (u32)e;
}

static inline u32 kvp_entry_era(u64 e)
{
	return (u32)(e >> KVP_ENTRY_ERA_SHIFT) & KVP_ERA_MAX;
}

static inline unsigned int kvp_entry_state(u64 e)
{
	return (unsigned int)(e >> KVP_ENTRY_STATE_SHIFT);
}

/**
 * kvp_ptr() - make the pointer to a page of the table
 * @sum: kvp_page_sum() of the page; 0: a null pointer, as nothing below is written
 * @era: the newest one of all entries below
 * @slot: which of the page's two slots has it: 0 or 1
 * @poison: a block below is poisoned
 *
 * kvp_ptr_sum(), kvp_ptr_era(), kvp_ptr_slot() and kvp_ptr_poison() take pointer @p apart.
 * kvp_ptr_null() is true for a null pointer: its era and slot count all the same. Byte order and
 * context: as for kvp_entry().
 */
static inline u64 kvp_ptr(u32 sum, u32 era, unsigned int slot, bool poison)
{
	return (u64)sum | (u64)(era & KVP_ERA_MAX) << KVP_PTR_ERA_SHIFT |
	       (u64)(slot & 1) << KVP_PTR_SLOT_SHIFT |
	       (u64)poison << KVP_PTR_POISON_SHIFT;
}

static inline u32 kvp_ptr_sum(u64 p)
{
	return (u32)p;
}

static inline bool kvp_ptr_null(u64 p)
{
	return !kvp_ptr_sum(p);
}

static inline u32 kvp_ptr_era(u64 p)
{
	return (u32)(p >> KVP_PTR_ERA_SHIFT) & KVP_ERA_MAX;
}

static inline unsigned int kvp_ptr_slot(u64 p)
{
	return (unsigned int)(p >> KVP_PTR_SLOT_SHIFT) & 1;
}

static inline bool kvp_ptr_poison(u64 p)
{
	return p >> KVP_PTR_POISON_SHIFT;
}

/*
 * The pointer to a page that was lost and given up: everything below it is poisoned. No reader
 * follows it. Its era makes sure that it names no page, since no checkpoint has that era.
 */
#define KVP_PTR_LOST	kvp_ptr(1, KVP_ERA_MAX, 0, true)

/** kvp_ptr_lost() - true for KVP_PTR_LOST. Its poison is set, and it is no null pointer. */
static inline bool kvp_ptr_lost(u64 p)
{
	return p == KVP_PTR_LOST;
}

/* --- geometry ------------------------------------------------------------ */

/* Geometry of one vdev. Numbers are blocks, unless their comment says otherwise. */
struct kvp_geometry {
	u32 kind;		/* enum kvp_vdev_kind */
	u32 first_leg, leg_count;
	u32 levels;
	u64 table_start;
	u64 log_start;
	u32 segments, segment_blocks;
	u64 data_start, data_blocks;
	u32 chunk_blocks;
	u64 table_copy;		/* where a second copy of the table begins; 0: there is none */
	u64 log_window;		/* of a cache: kvp_log_window(); 0: the default */
};

#define KVP_MAX_TABLE_COPIES	2	/* on one leg */

/* Why a layout or a superblock is refused: what was found, in plain words. */
#define KVP_WHY_LEN	192
struct kvp_why {
	char text[KVP_WHY_LEN];
};

/** kvp_cache_kind() - true if a vdev of that kind is a cache */
static inline bool kvp_cache_kind(u32 kind)
{
	return kind == KVP_VDEV_CACHE || kind == KVP_VDEV_CACHE_PARITY1;
}

/** kvp_is_cache() - true if the vdev has the log, or clean blocks, and no homes of blocks */
static inline bool kvp_is_cache(const struct kvp_geometry *g)
{
	return kvp_cache_kind(g->kind);
}

/**
 * kvp_log_striped() - true if entries of its log lie as full stripes (logstripe.h)
 *
 * So they do on a cache of kind parity1.
 */
static inline bool kvp_log_striped(const struct kvp_geometry *g)
{
	return g->kind == KVP_VDEV_CACHE_PARITY1;
}

/** kvp_log_blocks() - size of the log in blocks; its ring begins anew at each multiple of that */
static inline u64 kvp_log_blocks(const struct kvp_geometry *g)
{
	return (u64)g->segments * g->segment_blocks;
}

#ifndef KVP_LOG_WINDOW		/* the simulator's disks are small */
#define KVP_LOG_WINDOW		(1u << 18)	/* blocks, whole segments: 1 GiB */
#endif
#ifndef KVP_LOG_WINDOW_LEAST	/* the simulator has smaller windows, too */
#define KVP_LOG_WINDOW_LEAST	(1u << 14)	/* blocks, whole segments: 64 MiB */
#endif
#define KVP_LOG_WINDOW_MOST	(1u << 24)	/* 64 GiB */

/**
 * kvp_log_window() - the most blocks, from the segment of the tail on, that may hold records that
 * count
 *
 * A cache's log is as large as the cache, and most of it is there to be read from. A recovery
 * looks at the window only. It may change while the pool runs (pool/cachewindow.h). So a caller
 * that calls this twice may get two answers, and must not subtract one from the other.
 */
static inline u64 kvp_log_window(const struct kvp_geometry *g)
{
	u64 blocks = kvp_log_blocks(g), own = *(const volatile u64 *)&g->log_window;
	u64 window = own ? own : KVP_LOG_WINDOW;

	return kvp_is_cache(g) && blocks > window ? window : blocks;
}

/** kvp_log_window_most() - the largest kvp_log_window() that a vdev's log can get */
static inline u64 kvp_log_window_most(const struct kvp_geometry *g)
{
	u64 blocks = kvp_log_blocks(g);

	return kvp_is_cache(g) && blocks > KVP_LOG_WINDOW_MOST ? KVP_LOG_WINDOW_MOST : blocks;
}

/**
 * kvp_chunk_asked() - a chunk of @bytes in blocks, for kvp_layout_one()
 *
 * Returns 0 if @bytes is 0. Returns ~0, which kvp_layout_one() refuses, if @bytes is no size of a
 * chunk.
 */
static inline u32 kvp_chunk_asked(u64 bytes)
{
	u64 blocks = bytes >> KVP_BLOCK_SHIFT;

	return bytes % KVP_BLOCK_SIZE || blocks > ~0u ? ~0u : (u32)blocks;
}

/** kvp_log_window_asked() - @bytes that may be dirty, in blocks, for kvp_layout_cache(); 0 for 0 */
static inline u64 kvp_log_window_asked(u64 bytes)
{
	u64 blocks = bytes >> KVP_BLOCK_SHIFT;

	return blocks ? blocks : !!bytes;
}

#ifndef KVP_LOG_UNWITNESSED	/* the simulator's logs are small */
/*
 * Blocks: 10 MiB. An entry begins less than this behind the place that its header names as
 * durable.
 */
#define KVP_LOG_UNWITNESSED	2560u
#endif

/** kvp_log_first_header() - how many blocks of a segment hold all of its first header, at most */
static inline u32 kvp_log_first_header(const struct kvp_geometry *g)
{
	return kvp_log_striped(g) ? 2 * KVP_MAX_HDR_BLOCKS : KVP_MAX_HDR_BLOCKS;
}

/**
 * kvp_log_kept() - how many blocks at the end of each segment are kept for its summary
 *
 * Where lsns are counted row by row, two legs have room for a summary each (kvp_summary_place()).
 */
static inline u32 kvp_log_kept(const struct kvp_geometry *g)
{
	if (!kvp_is_cache(g))
		return 0;
	return KVP_SUMMARY_BLOCKS + (kvp_log_striped(g) ? g->leg_count : 0);
}

/* A block of a leg. */
struct kvp_place {
	u32 leg;		/* of the vdev */
	kvp_lblock_t block;		/* from the start of the leg */
};

#define KVP_CHUNK_BLOCKS	16u	/* of a parity1, by default: 64 KiB */

/** kvp_is_parity1() - true for a vdev with data and parity; false for a cache of kind parity1 */
static inline bool kvp_is_parity1(const struct kvp_geometry *g)
{
	return g->kind == KVP_VDEV_PARITY1;
}

/** kvp_has_data() - true if blocks of the pool live on the vdev */
static inline bool kvp_has_data(const struct kvp_geometry *g)
{
	return !kvp_is_cache(g);
}

/** kvp_losses() - the number of its legs that may be lost */
static inline u32 kvp_losses(const struct kvp_geometry *g)
{
	return kvp_is_parity1(g) || kvp_log_striped(g) ? 1 : g->leg_count - 1;
}

/**
 * kvp_log_needs() - the number of its legs that must be left, any of them, to read all of its log
 */
static inline u32 kvp_log_needs(const struct kvp_geometry *g)
{
	return g->leg_count - kvp_losses(g);
}

/** kvp_stripe_blocks() - blocks of data in a stripe; 0 if the vdev has no stripes */
static inline u32 kvp_stripe_blocks(const struct kvp_geometry *g)
{
	return (g->leg_count - 1) * g->chunk_blocks;
}

/** kvp_unit_blocks() - how many blocks are locked, and go home, together: a stripe's, or one */
static inline u32 kvp_unit_blocks(const struct kvp_geometry *g)
{
	return kvp_is_parity1(g) ? kvp_stripe_blocks(g) : 1;
}

/** kvp_unit_on_leg() - blocks that such a unit has on one leg, parity included */
static inline u32 kvp_unit_on_leg(const struct kvp_geometry *g)
{
	return kvp_is_parity1(g) ? g->chunk_blocks : 1;
}

/** kvp_side_by_side() - how many of @count blocks from @block on lie side by side on their legs */
static inline u32 kvp_side_by_side(const struct kvp_geometry *g, kvp_vblock_t block, u32 count)
{
	u32 left;

	if (!kvp_is_parity1(g))
		return count;
	left = g->chunk_blocks - (u32)(kvp_vblock_nr(block) % g->chunk_blocks);
	return count < left ? count : left;
}

/**
 * kvp_homes_need() - the number of its legs that must be in use to read its blocks; 0 for a cache
 */
static inline u32 kvp_homes_need(const struct kvp_geometry *g)
{
	return kvp_is_cache(g) ? 0 : kvp_log_needs(g);
}

/**
 * kvp_leaf_blocks() - blocks whose entries are in one leaf of the table
 *
 * A leaf of a parity1 has the blocks of whole stripes, and their parity. So a row and its parity
 * are below one leaf.
 */
static inline u32 kvp_leaf_blocks(const struct kvp_geometry *g)
{
	if (!kvp_is_parity1(g))
		return KVP_PTRS_PER_PAGE;
	return KVP_PTRS_PER_PAGE / (g->leg_count * g->chunk_blocks) * kvp_stripe_blocks(g);
}

/**
 * kvp_extent_blocks() - blocks of an extent: each of several vdevs has one or a few in its turn
 *
 * Few blocks, so that all vdevs work for one stream. They are a whole part of a leaf.
 */
u32 kvp_extent_blocks(const struct kvp_geometry *g);

/** kvp_home_blocks() - blocks of its data area that a leg uses */
static inline u64 kvp_home_blocks(const struct kvp_geometry *g)
{
	return kvp_is_parity1(g) ? g->data_blocks / (g->leg_count - 1) : g->data_blocks;
}

/*
 * Rows of a parity1: row r is block r of every leg's data area. The row holds n - 1 blocks of data,
 * of pieces 1 to n - 1 of the stripe, and their parity.
 */

/** kvp_row_of() - the row that @block is in */
static inline u64 kvp_row_of(const struct kvp_geometry *g, kvp_vblock_t block)
{
	u64 nr = kvp_vblock_nr(block);

	return nr / kvp_stripe_blocks(g) * g->chunk_blocks + nr % g->chunk_blocks;
}

/** kvp_row_block() - the block of piece @piece (1 to n - 1) in @row */
static inline kvp_vblock_t kvp_row_block(const struct kvp_geometry *g, u64 row, u32 piece)
{
	return kvp_vblock(row / g->chunk_blocks * kvp_stripe_blocks(g) +
			  (u64)(piece - 1) * g->chunk_blocks + row % g->chunk_blocks);
}

/** kvp_piece_of() - the piece of its row that @block is */
static inline u32 kvp_piece_of(const struct kvp_geometry *g, kvp_vblock_t block)
{
	return 1 + (u32)(kvp_vblock_nr(block) % kvp_stripe_blocks(g)) / g->chunk_blocks;
}

/** kvp_row_count() - rows of the vdev */
static inline u64 kvp_row_count(const struct kvp_geometry *g)
{
	return kvp_home_blocks(g);
}

/** kvp_parity_addr() - the address that seeds the sum of a row's parity; no block has it */
static inline kvp_block_t kvp_parity_addr(u64 row)
{
	return kvp_block(row | 1ull << 55);
}

/** kvp_striped_place() - kvp_data_place() of a parity1 */
struct kvp_place kvp_striped_place(const struct kvp_geometry *g, kvp_vblock_t block);

/** kvp_data_place() - home of @block; of a mirror, which has it on every leg, the one on leg 0 */
static inline struct kvp_place kvp_data_place(const struct kvp_geometry *g, kvp_vblock_t block)
{
	if (kvp_is_parity1(g))
		return kvp_striped_place(g, block);
	return (struct kvp_place){ 0, kvp_lblock(g->data_start + kvp_vblock_nr(block)) };
}

/** kvp_parity_place() - home of the parity of @row */
struct kvp_place kvp_parity_place(const struct kvp_geometry *g, u64 row);

/** kvp_striped_index() - kvp_entry_index() of a parity1 */
u64 kvp_striped_index(const struct kvp_geometry *g, kvp_vblock_t block);

/** kvp_entry_index() - place of @block's entry in the table: page << KVP_PTRS_SHIFT, and word */
static inline u64 kvp_entry_index(const struct kvp_geometry *g, kvp_vblock_t block)
{
	return kvp_is_parity1(g) ? kvp_striped_index(g, block) : kvp_vblock_nr(block);
}

/** kvp_parity_index() - the same for the parity of @row; the page is that of the row's data */
u64 kvp_parity_index(const struct kvp_geometry *g, u64 row);

/** kvp_pages_at() - number of table pages of @level */
u64 kvp_pages_at(const struct kvp_geometry *g, u32 level);

/** kvp_root_count() - pages of the top level, whose pointers are in the superblock */
static inline u32 kvp_root_count(const struct kvp_geometry *g)
{
	return (u32)kvp_pages_at(g, g->levels - 1);
}

/** kvp_page_block() - block on a leg of slot @slot of table page (@level, @index), first copy */
kvp_lblock_t kvp_page_block(const struct kvp_geometry *g, u32 level, u64 index, unsigned int slot);

/**
 * kvp_table_copies() - copies of each table page on one leg; a parity1 has two, on different legs
 */
static inline u32 kvp_table_copies(const struct kvp_geometry *g)
{
	return g->table_copy ? 2 : 1;
}

/** kvp_table_behind() - true if the table lies behind the data: the vdev has grown */
static inline bool kvp_table_behind(const struct kvp_geometry *g)
{
	return kvp_has_data(g) && g->table_start > g->data_start;
}

/**
 * kvp_page_copy() - the leg's block of copy @copy, of a slot that kvp_page_block() puts at @block
 */
static inline kvp_lblock_t kvp_page_copy(const struct kvp_geometry *g, kvp_lblock_t block, u32 copy)
{
	return copy ? kvp_lblock(kvp_lblock_nr(block) - g->table_start + g->table_copy) : block;
}

/** kvp_page_copies() - copies of each table page on all legs together */
static inline u32 kvp_page_copies(const struct kvp_geometry *g)
{
	return kvp_is_parity1(g) ? 2 : g->leg_count * kvp_table_copies(g);
}

/** kvp_page_rounds() - requests that write all copies: to one leg each, or to all legs at once */
static inline u32 kvp_page_rounds(const struct kvp_geometry *g)
{
	return kvp_is_parity1(g) ? 2 : kvp_table_copies(g);
}

/** kvp_page_place() - where copy @copy of a page lies; there are kvp_page_copies() */
struct kvp_place kvp_page_place(const struct kvp_geometry *g, u32 level, u64 index,
				unsigned int slot, u32 copy);

/** kvp_table_blocks() - size on a leg of the table area, or of the first of two */
u64 kvp_table_blocks(const struct kvp_geometry *g);

/** kvp_log_copies() - copies of each log segment; with 1, a lost block is made from its row */
static inline u32 kvp_log_copies(const struct kvp_geometry *g)
{
	if (kvp_log_striped(g))
		return 1;
	return kvp_is_parity1(g) ? 2 : g->leg_count;
}

/** kvp_log_area() - blocks of the log on one leg */
u64 kvp_log_area(const struct kvp_geometry *g);

#define KVP_SSDCOPY_SHARE	64	/* table pages get a 64th of a cache's log on each leg */

/**
 * kvp_ssdcopy_blocks() - blocks of a cache's leg, from table_start on, for copies of table pages
 */
static inline u64 kvp_ssdcopy_blocks(const struct kvp_geometry *g)
{
	return g->table_start ? kvp_log_area(g) / KVP_SSDCOPY_SHARE : 0;
}

/**
 * kvp_log_holds_discard() - true if the log is large enough for a parity1 with such chunks; 0: no
 * parity1
 *
 * The parity of the rows that one discard begins and ends in must fit into the log.
 */
bool kvp_log_holds_discard(const struct kvp_geometry *log, u32 chunk_blocks);

/** kvp_log_pos() - block within the log area of @lsn */
static inline u64 kvp_log_pos(const struct kvp_geometry *g, kvp_lsn_t lsn)
{
	return kvp_lsn_nr(lsn) % kvp_log_blocks(g);
}

/** kvp_log_place() - where copy @copy of the log's @lsn lies; there are kvp_log_copies() */
static inline struct kvp_place kvp_log_place(const struct kvp_geometry *g, kvp_lsn_t lsn, u32 copy)
{
	u64 pos = kvp_log_pos(g, lsn), segment = pos / g->segment_blocks;
	u32 n = g->leg_count;

	if (kvp_log_striped(g))
		return (struct kvp_place){ (u32)(pos % n), kvp_lblock(g->log_start + pos / n) };
	if (!kvp_is_parity1(g))
		return (struct kvp_place){ copy, kvp_lblock(g->log_start + pos) };
	return (struct kvp_place){
		(u32)((segment + copy) % n),
		kvp_lblock(g->log_start + (segment / n * 2 + copy) * g->segment_blocks +
			   pos % g->segment_blocks),
	};
}

/**
 * kvp_layout() - lay out a vdev
 * @kind: single, mirror or parity1
 * @legs: number of legs
 * @leg_blocks: size of the smallest leg
 * @use_blocks: use only this much of each leg; 0: all
 * @log_bytes: wanted log size; 0: the default
 * @g: result; first_leg stays as it is, and so does chunk_blocks of a parity1 if it is not 0
 * @why: on error, the reason
 *
 * Return: 0, -ENOSPC (too small), -EINVAL (kind, count, log size).
 */
int __must_check kvp_layout(u32 kind, u32 legs, u64 leg_blocks, u64 use_blocks,
			    u64 log_bytes, struct kvp_geometry *g, struct kvp_why *why);

/**
 * kvp_layout_one() - the same for one of several vdevs, which may be a cache
 * @max_roots: the most roots of its table: all vdevs share those of the superblock
 *
 * Return: as kvp_layout(); of a cache also -ERANGE: its log cannot have the window log_window of
 * @g.
 */
int __must_check kvp_layout_one(u32 kind, u32 legs, u64 leg_blocks, u64 use_blocks, u64 log_bytes,
				u32 max_roots, struct kvp_geometry *g, struct kvp_why *why);

/**
 * kvp_layout_cache() - lay out a cache vdev, whose log takes all that it can use of the device
 * @kind: KVP_VDEV_CACHE, whose legs all hold the same, or KVP_VDEV_CACHE_PARITY1
 * @legs: number of legs
 * @leg_blocks: size of the smallest leg
 * @g: result; first_leg stays as it is. log_window has the blocks that may be dirty, 0 for the
 *	default. It receives whole segments, no more than there are, and 0 if that is the default
 * @why: on error, the reason
 *
 * Return: 0, -ENOSPC (too small), -EINVAL (count), -ERANGE (log_window).
 */
int __must_check kvp_layout_cache(u32 kind, u32 legs, u64 leg_blocks, struct kvp_geometry *g,
				  struct kvp_why *why);

/**
 * kvp_layout_window() - put another window into the geometry of a cache
 * @blocks: that may be dirty; 0: the default
 * @g: log_window receives whole segments, no more than there are, and 0 if that is the default
 * @why: on error, the reason
 *
 * Return: 0, -ERANGE.
 */
int __must_check kvp_layout_window(u64 blocks, struct kvp_geometry *g, struct kvp_why *why);

/**
 * kvp_geometry_check() - check that a geometry read from a device is sound for a leg of @leg_blocks
 */
int __must_check kvp_geometry_check(const struct kvp_geometry *g, u64 leg_blocks,
				    struct kvp_why *why);

/* --- superblock ----------------------------------------------------------- */

struct kvp_leg_info {
	u8 uuid[16];
	u32 state;		/* enum kvp_leg_state */
	u32 in_sync_era;
	u64 size_blocks;
	u64 err_read, err_write, err_checksum, healed;
	kvp_vblock_t cursor;	/* blocks of its vdev below are in sync as of @cursor_era */
	u64 in_sync_epoch;	/* of the superblock that called it in sync again; 0: never out */
	u32 cursor_era;
	u8 replaces;		/* number in its vdev of the leg that it replaces, + 1; 0: none */
	u64 out;		/* number of a superblock that called it out, + 1: outs.h */
};

/* A device that is to take the place of a leg of a parity1: shadow.h. */
struct kvp_shadow_info {
	u8 uuid[16];
	u64 size_blocks;
	kvp_vblock_t cursor;	/* blocks of its vdev below are on it as of @cursor_era */
	u32 cursor_era;
	u32 vdev;
	u32 of;			/* number in the vdev of the leg, + 1; 0: there is none */
	u64 label;		/* number of its newest label, which may not be written yet */
};

struct kvp_scrub_info {
	kvp_block_t cursor;
	u64 started, finished, healed, unrepaired;
	u32 state;		/* enum kvp_scrub_state */
};

struct kvp_trim_info {
	kvp_block_t cursor;	/* all blocks before it are done */
	u64 blocks;		/* of these, legs were told of so many */
	u32 state;		/* enum kvp_trim_state */
};

/* A region: blocks of the pool, and the vdevs that share them. See regions.h. */
struct kvp_region {
	u64 blocks;
	u16 share[KVP_MAX_VDEVS];	/* extents in each round */
};

/* The share of one vdev in a region. Counts blocks of the pool, but @first those of the vdev. */
struct kvp_map_part {
	u32 vdev;
	u32 leaf;		/* blocks below a leaf of its table */
	u32 at, width;		/* where in a round its turn begins, and the length of the turn */
	kvp_vblock_t first;	/* its first block in the region, which begins a leaf */
};

struct kvp_map_region {
	kvp_block_t start, end;
	u32 round;		/* blocks of a round; with one vdev it means nothing */
	u32 nr;
	struct kvp_map_part part[KVP_MAX_VDEVS];
};

/* All regions of a pool, worked out. */
struct kvp_map {
	u32 nr;
	struct kvp_map_region region[KVP_MAX_REGIONS];
};

/* What an older activation left in the log: see struct kvp_disk_generation. */
struct kvp_generation {
	u64 nonce;
	kvp_lsn_t next_lsn, last_lsn;
	u32 last_csum;
};

#define KVP_MAX_SPARES		(KVP_MAX_VDEVS / 2)	/* that a pool lists */

/* A superblock in host byte order. It has 21 KiB: never put it on a stack. */
struct kvp_sb {
	u8 pool_uuid[16];
	u8 leg_uuid[16];
	u64 compat, ro_compat, incompat;
	u64 self_offset;	/* bytes */
	u64 epoch, sequence;
	u64 write_time, create_time;
	u32 leg_index, flags;
	u64 nonce;
	u64 log_nonce;
	kvp_lsn_t log_tail, log_prev_lsn, log_commit;
	/* intents below it are durable at home, and in the table that the roots name */
	kvp_lsn_t log_resolved;
	u32 log_prev_csum;
	u32 era;
	u64 checkpoint, written_blocks, poisoned_blocks, pool_blocks;
	u32 vdev_count, leg_count, fork_count, root_count, event_seq;
	u32 uncounted_leaves;
	u8 log_discards;	/* how often the log of a cache was discarded by order; may wrap */
	u64 redo_nonce;
	kvp_lsn_t redo_lsn;
	u32 redo_state;			/* enum kvp_redo_state */
	u32 generation_count;
	struct kvp_generation generations[KVP_MAX_GENERATIONS];	/* oldest first */
	u64 checkpoint_time;
	u64 forks[KVP_MAX_FORKS];
	u64 tunable_mask, tunables[KVP_MAX_TUNABLES];
	struct kvp_scrub_info scrub;
	struct kvp_trim_info trim;
	char name[KVP_NAME_LEN + 1];
	char comment[KVP_COMMENT_LEN + 1];
	u64 host;		/* digest of the host that runs it, or ran it last; 0: unknown */
	char host_name[KVP_NAME_LEN + 1];
	u32 region_count;
	u32 log_vdev, log_others;	/* the vdev with the log; a bit for each other one */
	kvp_lsn_t cache_lsn;		/* kvp_disk_sb.cache_lsn */
	u32 behind;		/* kvp_disk_sb.behind */
	bool behind_known;	/* false: an older module wrote the superblock, without @behind */
	struct kvp_region regions[KVP_MAX_REGIONS];
	struct kvp_map map;	/* worked out from the regions; not on disk */
	struct kvp_geometry vdevs[KVP_MAX_VDEVS];
	struct kvp_leg_info legs[KVP_MAX_LEGS];
	struct kvp_shadow_info shadow;
	u8 spares[KVP_MAX_SPARES][16];	/* UUIDs; zeros: a free place. See spare.h */
	u64 roots[KVP_MAX_ROOTS];
};

/* Features that this code knows. It treats an unknown bit as the format says. */
#define KVP_COMPAT_KNOWN	0ull
#define KVP_RO_COMPAT_KNOWN	0ull
/* A bit without a name here is unknown. Programs go by the names; docs/json-schema.md has them. */
#define KVP_INCOMPAT_NAMES(each)				\
	each(KVP_INCOMPAT_VDEVS, "vdevs")			\
	each(KVP_INCOMPAT_CACHE, "cache")			\
	each(KVP_INCOMPAT_CACHE_PARITY1, "cache-parity1")	\
	each(KVP_INCOMPAT_LOG_WINDOW, "log-window")		\
	each(KVP_INCOMPAT_LOG_TURNS, "log-turns")		\
	each(KVP_INCOMPAT_GENERATIONS, "generations")		\
	each(KVP_INCOMPAT_RESILVER, "resilver")			\
	each(KVP_INCOMPAT_TABLE_BEHIND, "table-behind")		\
	each(KVP_INCOMPAT_HEARTBEAT, "heartbeat")		\
	each(KVP_INCOMPAT_FOLDED_SUMS, "folded-sums")
#define KVP_OR_BIT(bit, name)	| (bit)
#define KVP_INCOMPAT_KNOWN	(0ull KVP_INCOMPAT_NAMES(KVP_OR_BIT))

/* What a new pool has from the start, and keeps. */
#ifndef KVP_FEATURES_OF_NEW	/* simulation */
#define KVP_FEATURES_OF_NEW	KVP_INCOMPAT_FOLDED_SUMS
#endif

#define KVP_ADD_LEN(bit, name)	+ sizeof(name)
/* A comma for each, and the NUL. */
#define KVP_FEATURES_LEN	(0 KVP_INCOMPAT_NAMES(KVP_ADD_LEN))

/**
 * kvp_features_print() - print the names of incompatible features, with commas between them
 * @bits: of kvp_sb.incompat
 * @text: KVP_FEATURES_LEN bytes; receives "" if there are none
 */
void kvp_features_print(u64 bits, char *text);

/* The last era. It does not end. The decoder takes a larger one for damage. */
#define KVP_ERA_LAST		(KVP_ERA_MAX - 1)

/*
 * Epoch, sequence and number of a checkpoint stay below this. No pool comes near it, so none of
 * them wraps around.
 */
#define KVP_SB_COUNT_END	(1ull << 62)

/* Positions of the log's tail, and of a cache's newest entry, stay below these. */
#define KVP_LOG_TAIL_END	(1ull << 56)
#define KVP_CACHE_LSN_END	(1ull << 55)

/*
 * A start that writes needs this much room below each of these ends. One run of a pool cannot use
 * it up: in blocks of a log it is 4 PiB.
 */
#define KVP_SB_COUNT_ROOM	(1ull << 40)

/** kvp_sb_note_resilver() - set the feature bit that the states of the legs need. Pure. */
void kvp_sb_note_resilver(struct kvp_sb *sb);

/** kvp_sb_slot_offset() - byte offset of ring slot @slot at end @end (0 front, 1 back) of a leg */
u64 kvp_sb_slot_offset(u64 leg_blocks, unsigned int end, unsigned int slot);

/** kvp_sb_encode() - write @sb in disk form, sealed with its sum */
void kvp_sb_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d);

/**
 * kvp_sb_decode() - check a superblock slot and take it apart
 * @d: 16 KiB as read
 * @offset: where it was read, in bytes
 * @leg_blocks: size of the device
 * @sb: result
 * @why: on error, what was found and what was expected
 *
 * Checks in this order: magic, sum, version, incompatible features, own location, counts,
 * geometry, states. Return: 0; -ENODATA: no label here (no magic, the rest is not read); -EUCLEAN:
 * magic, but a bad sum or content; -EOPNOTSUPP: a newer version or an unknown incompatible
 * feature; -ENOSPC: the device has become too small, all else is well, and @sb is filled in.
 */
int __must_check kvp_sb_decode(const struct kvp_disk_sb *d, u64 offset, u64 leg_blocks,
			       struct kvp_sb *sb, struct kvp_why *why);

/*
 * The end of a leg stays unused: 1 to 2 MiB, but nothing of a small leg. Docks, controllers and
 * partition tables may take the end of a disk later. Another disk of the same size may have a few
 * sectors less. In both cases the layout still fits. The second label moves: it always lies at the
 * end of the device.
 */
#define KVP_SLACK_BLOCKS	256u
#define KVP_SLACK_FROM		(1u << 18)	/* 1 GiB */

/** kvp_leg_room() - the blocks of a new leg of @leg_blocks that can be laid out */
static inline u64 kvp_leg_room(u64 leg_blocks)
{
	return leg_blocks < KVP_SLACK_FROM ? leg_blocks :
	       leg_blocks - leg_blocks % KVP_SLACK_BLOCKS - KVP_SLACK_BLOCKS;
}

/** kvp_leg_least() - blocks that a device must have to be a leg of @g, a vdev with data */
u64 kvp_leg_least(const struct kvp_geometry *g);

/**
 * kvp_leg_used() - blocks of a leg up to the end of all that is laid out, and one area for a label
 *
 * Its homes, a table behind them, or a cache's log come last.
 */
static inline u64 kvp_leg_used(const struct kvp_geometry *g)
{
	return kvp_has_data(g) ? kvp_leg_least(g) :
				 g->log_start + kvp_log_area(g) + KVP_LABEL_BLOCKS;
}

/**
 * kvp_layout_larger() - the geometry of vdev @old with more data, for larger legs
 * @leg_blocks: how much of each leg may be used, with both labels
 * @max_roots: the most roots that it may have
 *
 * Log and data stay where they are. The table goes behind the data, to the end. So no new place of
 * it lies on the table or the data of @old.
 *
 * Return: 0; -ENOSPC: not enough for two more leaves of data and a table apart from the old one;
 * -EOVERFLOW: more roots.
 */
int __must_check kvp_layout_larger(const struct kvp_geometry *old, u64 leg_blocks, u32 max_roots,
				   struct kvp_geometry *g);

/** kvp_sb_roots() - roots of all vdevs together; may exceed the room for them */
static inline u64 kvp_sb_roots(const struct kvp_sb *sb)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		n += kvp_has_data(&sb->vdevs[i]) ? kvp_root_count(&sb->vdevs[i]) : 0;
	return n;
}

/** kvp_sb_newer() - true if @a wins over @b */
static inline bool kvp_sb_newer(const struct kvp_sb *a, const struct kvp_sb *b)
{
	return a->epoch != b->epoch ? a->epoch > b->epoch : a->sequence > b->sequence;
}

/** kvp_sb_knows_forks() - true if @sb knows the last forced start of @of, if any. Pure. */
bool kvp_sb_knows_forks(const struct kvp_sb *sb, const struct kvp_sb *of);

/**
 * kvp_sb_forked() - true if the leg that has @own was in use after it parted from another history
 * @own: the newest superblock of a leg
 * @best: the newest of all; or, while the pool runs, its own
 * @any: ask about each leg that @best calls in sync; else only about the leg that has @best, if
 *	that is in sync
 *
 * The leg has parted if @own knows a forced start that @best does not know. It has also parted if
 * @own went on without such a leg: @own calls that leg out, or names others in its vdev with data.
 * It has not parted if that other leg was resilvered or attached since. Nor has a leg parted that
 * calls itself stale, as the other legs wrote its label. Pure.
 */
bool kvp_sb_forked(const struct kvp_sb *own, const struct kvp_sb *best, bool any);

/* --- log ------------------------------------------------------------------- */

struct kvp_rec {
	u64 block;		/* as kvp_rec_block(), kvp_rec_row() or kvp_rec_own() says */
	u32 count;
	u32 crc;
	unsigned int kind;	/* enum kvp_rec_kind */
	u32 vdev;		/* of a parity; 0 for all others */
};

/** kvp_rec_block() - the first block of the pool that a record names; not one of a parity */
static inline kvp_block_t kvp_rec_block(const struct kvp_rec *r)
{
	return kvp_block(r->block);
}

/** kvp_rec_row() - the row of a record of a parity */
static inline u64 kvp_rec_row(const struct kvp_rec *r)
{
	return r->block;
}

/** kvp_rec_own() - the vdev's block, of a record as the history of its vdev keeps it */
static inline kvp_vblock_t kvp_rec_own(const struct kvp_rec *r)
{
	return kvp_vblock(r->block);
}

/** kvp_rec_has_payload() - true if a block of payload follows for this record */
static inline bool kvp_rec_has_payload(const struct kvp_rec *r)
{
	return r->kind == KVP_REC_DATA || r->kind == KVP_REC_PARITY || r->kind == KVP_REC_CLEAN;
}

/**
 * kvp_rec_counts() - true if the record still says something about the pool's data
 *
 * A reader of a log passes over a record that does not count, and does not look at its payload:
 * that block is at home, or was superseded since.
 */
static inline bool kvp_rec_counts(const struct kvp_rec *r)
{
	return r->kind != KVP_REC_CLEAN;
}

/* Header of a log entry in host byte order, without its records. */
struct kvp_log_hdr {
	u64 nonce, epoch, write_time;
	kvp_lsn_t lsn, prev_lsn, durable, limit_lsn;
	u32 csum, prev_csum, blocks, hdr_blocks, rec_count, open_count, flags, limit_rec;
	kvp_lsn_t open[KVP_MAX_OPEN_INTENTS];
	u32 payload;	/* blocks of it; not on disk, the records say so */
};

/** kvp_log_hdr_blocks() - blocks that a header with @records takes */
static inline u32 kvp_log_hdr_blocks(u32 records)
{
	return (KVP_LOG_HDR_SIZE + records * (u32)sizeof(struct kvp_disk_rec) +
		KVP_BLOCK_SIZE - 1) >> KVP_BLOCK_SHIFT;
}

/** kvp_log_segment_end() - first lsn after the segment that holds @lsn */
static inline kvp_lsn_t kvp_log_segment_end(const struct kvp_geometry *g, kvp_lsn_t lsn)
{
	return kvp_lsn_add(kvp_lsn_down(lsn, g->segment_blocks), g->segment_blocks);
}

/**
 * kvp_rec_encode() - write a record as it lies in a log entry's header, behind its first part
 *
 * r->block must be below 2^48, and r->vdev 0 unless it is the parity of a row: nothing is checked.
 * kvp_rec_decode() is the reverse, and checks nothing either.
 */
void kvp_rec_encode(const struct kvp_rec *r, struct kvp_disk_rec *d);
void kvp_rec_decode(const struct kvp_disk_rec *d, struct kvp_rec *r);

/**
 * kvp_log_seal() - fill in and sum a header whose records lie behind it in @buf
 *
 * The pool's nonce and the log's seed the sum. No user of the device knows either of them. So data
 * in a payload cannot pose as an entry.
 */
void kvp_log_seal(void *buf, struct kvp_log_hdr *h, u64 pool_nonce);

/**
 * kvp_log_seal_over() - the same in a buffer that is zeros from @written bytes on
 *
 * So a header of one record need not have a whole block cleared each time. Return: bytes of header
 * and records. It clears the other bytes up to @written.
 */
u32 kvp_log_seal_over(void *buf, struct kvp_log_hdr *h, u64 pool_nonce, u32 written);

/**
 * kvp_log_decode() - check an entry's header and records
 * @g: geometry
 * @buf: the header's block and what follows, @avail blocks of it
 * @pool_nonce: of the pool
 * @log_nonce: of this activation's log
 * @lsn: where it was read
 * @pool_blocks: records must lie below
 * @h: result
 * @why: on error, the reason
 *
 * Does not look at payload. kvp_rec_decode() reads the records from buf + KVP_LOG_HDR_SIZE on. The
 * caller asks kvp_log_rows_known() whether the rows of parity records exist. Return: 0, -ENODATA
 * (no entry of this log here), -EUCLEAN (an entry, but not sound).
 */
int __must_check kvp_log_decode(const struct kvp_geometry *g, const void *buf, u32 avail,
				u64 pool_nonce, u64 log_nonce, kvp_lsn_t lsn, u64 pool_blocks,
				struct kvp_log_hdr *h, struct kvp_why *why);

/**
 * kvp_log_rows_known() - true if the pool has the vdev and row of each parity record of an entry
 * that decodes
 */
bool kvp_log_rows_known(const struct kvp_sb *sb, const void *buf, const struct kvp_log_hdr *h);

/**
 * kvp_log_epoch() - look for the header of an entry that this pool wrote, in any activation
 * @buf: @avail blocks
 * @pool_nonce: of the pool
 * @epoch: result
 *
 * A segment of a higher epoch than the superblock's shows that the superblock is old.
 */
bool kvp_log_epoch(const void *buf, u32 avail, u64 pool_nonce, u64 *epoch);

/** kvp_log_hdr_claims() - blocks of the header that block @buf begins; 0: none. Not verified. */
u32 kvp_log_hdr_claims(const void *buf);

/* A place between two records of the log: versions are in order by it. */
struct kvp_log_at {
	kvp_lsn_t lsn;
	u32 rec;
};

/** kvp_log_before() - true if @a comes before @b */
static inline bool kvp_log_before(struct kvp_log_at a, struct kvp_log_at b)
{
	return a.lsn != b.lsn ? kvp_lsn_before(a.lsn, b.lsn) : a.rec < b.rec;
}

/** kvp_log_same() - true if they are the same place */
static inline bool kvp_log_same(struct kvp_log_at a, struct kvp_log_at b)
{
	return a.lsn == b.lsn && a.rec == b.rec;
}

#endif /* KVP_FORMAT_CODEC_H */
