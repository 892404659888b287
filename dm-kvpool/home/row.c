// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>

#include "compat/xor.h"
#include "core/cache_client.h"
#include "core/core.h"
#include "core/shadow.h"
#include "core/xor.h"
#include "home/heal.h"
#include "home/row.h"
#include "io/io.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"

/*
 * As kvp_data_place() and kvp_parity_place(), but faster: all pieces of a row lie at the same block
 * of their legs.
 */
struct kvp_place kvp_row_place(const struct kvp_geometry *g, u64 row, u32 piece)
{
	u32 stripe = row / g->chunk_blocks % g->leg_count;
	u32 leg = (piece + stripe) % g->leg_count;

	return (struct kvp_place){ leg, kvp_lblock(g->data_start + row) };
}

kvp_block_t kvp_row_block_at(const struct kvp_tpage *leaf, u64 row, u32 piece)
{
	return kvp_leaf_block(leaf, kvp_row_block(leaf->v->g, row, piece));
}

u32 kvp_row_sum(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page)
{
	const struct kvp_vdev *v = leaf->v;

	return piece ? kvp_block_sum(v->pool->seed, kvp_row_block_at(leaf, row, piece),
				     page_address(page)) :
		       kvp_block_sum(v->seed, kvp_parity_addr(row), page_address(page));
}

u64 kvp_row_entry(const struct kvp_tpage *leaf, u64 row, u32 piece)
{
	return piece ? kvp_table_entry(leaf, kvp_row_block_at(leaf, row, piece)) :
		       kvp_table_parity(leaf, row);
}

static bool verifies(const struct kvp_tpage *leaf, u64 row, u32 piece, u64 entry,
		     struct page *page)
{
	return kvp_row_sum(leaf, row, piece, page) == kvp_entry_crc(entry);
}

/* As kvp_row_read(); but -EBUSY: the leg refused the read (kvp_io_ask()). */
static int read_piece(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page,
		      struct kvp_patience *p)
{
	u64 entry = kvp_row_entry(leaf, row, piece);
	struct kvp_place at = kvp_row_place(leaf->v->g, row, piece);
	struct kvp_leg *leg = &leaf->v->legs[at.leg];
	int error;

	if (kvp_entry_state(entry) != KVP_ENTRY_VALID) {
		if (!piece && kvp_entry_state(entry) == KVP_ENTRY_POISONED)
			return -ENODATA;
		clear_page(page_address(page));
		return 0;
	}
	if (!kvp_leg_in_sync(leg))
		return -ENXIO;
	error = kvp_io_ask(leg, at.block, page, p);
	if (error == -EBUSY)
		return error;
	if (error) {
		atomic64_inc(&leg->err_read);
		return error;
	}
	if (verifies(leaf, row, piece, entry, page))
		return 0;
	atomic64_inc(&leg->err_checksum);
	return -EILSEQ;
}

int kvp_row_read(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page)
{
	struct kvp_patience p = { 0 };
	int error;

	while ((error = read_piece(leaf, row, piece, page, &p)) == -EBUSY)
		kvp_patience_pause();
	return error;
}

bool kvp_row_silent(int error)
{
	return error && error != -EILSEQ && error != -ENODATA && error != -ENXIO;
}

/*
 * Make the piece from the other pieces of the row. All legs are asked, unless a piece is lost, so
 * that those that refuse the read are waited for together. -EBUSY: some refused it, and all others
 * gave their pieces.
 */
static int rebuild(const struct kvp_tpage *leaf, u64 row, u32 piece, struct page *page,
		   struct page *scratch, struct kvp_patience *p)
{
	u64 entry = kvp_row_entry(leaf, row, piece);
	bool unknown = !piece && kvp_entry_state(entry) != KVP_ENTRY_VALID;
	bool refused = false, silent = false;
	u32 i;

	clear_page(page_address(page));
	for (i = 0; i < leaf->v->nr_legs; i++) {
		int error = i == piece ? 0 : read_piece(leaf, row, i, scratch, p);

		if (error && !kvp_row_silent(error))
			return -EBADMSG;
		refused |= error == -EBUSY;
		silent |= error && error != -EBUSY;
		if (i != piece)
			kvp_xor(page, scratch);
	}
	if (silent || refused)
		return silent ? -EIO : -EBUSY;
	return unknown || verifies(leaf, row, piece, entry, page) ? 0 : -EBADMSG;
}

/*
 * Make the piece from the others. The SSD cache may have a data block that they cannot make.
 * -EBUSY: a leg or an SSD that refused the read may give it later.
 */
static int make(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		struct page *page, struct page *scratch, struct kvp_patience *p)
{
	u64 entry = kvp_row_entry(leaf, row, piece);
	int ret = rebuild(leaf, row, piece, page, scratch, p), error;

	if (!ret || !piece || kvp_entry_state(entry) != KVP_ENTRY_VALID)
		return ret;
	error = kvp_cache_rescue(&pool->vdevs, kvp_row_block_at(leaf, row, piece), entry, page, p);
	if (!error || error == -EBUSY)
		return error;
	/* An SSD that did not answer may still have the block. */
	return error == -ENOENT || ret == -EBUSY ? ret : -EIO;
}

int kvp_row_rebuild(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		    struct page *page, struct page *scratch)
{
	struct kvp_patience p = { 0 };
	int ret;

	while ((ret = make(pool, leaf, row, piece, page, scratch, &p)) == -EBUSY)
		kvp_patience_pause();
	return ret;
}

void kvp_row_heal(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		  struct page *good, struct page *scratch)
{
	u64 entry = kvp_row_entry(leaf, row, piece);
	struct kvp_place at = kvp_row_place(leaf->v->g, row, piece);
	struct kvp_leg *leg = &leaf->v->legs[at.leg];

	if (!kvp_leg_in_sync(leg) || kvp_pool_readonly(pool))
		return;
	if (kvp_io_page(leg, KVP_IO_WRITE_FUA, at.block, good) ||
	    kvp_io_read_back(leg, at.block, scratch) ||
	    !verifies(leaf, row, piece, entry, scratch)) {
		kvp_leg_failed_write(leg);
		kvp_leg_give_up(leg, "a bad block cannot be repaired");
		return;
	}
	atomic64_inc(&leg->healed);
	atomic64_inc(&pool->work_stats.healed);
	if (piece)
		kvp_found_block(pool, KVP_FIND_HEALED, leg, kvp_row_block_at(leaf, row, piece));
	else
		kvp_found(pool, KVP_FIND_HEALED_ROW, leg, 0, row);
}

/*
 * The piece's own copy is bad, by error *@bad: make the piece from the others, and heal the copy. A
 * leg that refused the read is waited for only if the others do not give the piece. If its copy is
 * bad then, the next reader heals it.
 */
static int mend(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		struct page *page, struct page *scratch, int *bad)
{
	struct kvp_patience p = { 0 };
	bool refused = *bad == -EBUSY;
	int ret = -EBUSY;

	for (;;) {
		if (ret == -EBUSY)
			ret = make(pool, leaf, row, piece, page, scratch, &p);
		if (!ret)
			break;
		if (*bad == -EBUSY)
			*bad = read_piece(leaf, row, piece, page, &p);
		if (!*bad || (*bad != -EBUSY && ret != -EBUSY))
			return *bad ? ret : 0;
		kvp_patience_pause();
	}
	if (*bad != -ENXIO && !refused)
		kvp_row_heal(pool, leaf, row, piece, page, scratch);
	return 0;
}

int kvp_row_fetch(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row, u32 piece,
		  struct page *page, struct page *scratch, int *bad)
{
	*bad = read_piece(leaf, row, piece, page, NULL);
	return *bad ? mend(pool, leaf, row, piece, page, scratch, bad) : 0;
}

void kvp_row_poison(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row, u32 piece)
{
	kvp_block_t block = kvp_row_block_at(leaf, row, piece);

	atomic64_inc(&pool->work_stats.unrepaired);
	kvp_found_block(pool, KVP_FIND_LOST, NULL, block);
	kvp_table_lock(pool->table, leaf);
	__kvp_table_set(pool->table, leaf, block, 0, KVP_ENTRY_POISONED);
	/* The parity counts the lost block, and that block cannot be taken out of it. */
	__kvp_table_set_parity(pool->table, leaf, row, 0, KVP_ENTRY_POISONED);
	kvp_table_unlock(pool->table);
}

/* The block's own copy is bad, by error @bad. Make the block from the others, and heal it. */
static int read_rebuilt(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block, int bad,
			struct page *page, struct page *scratch)
{
	kvp_vblock_t own = kvp_vdev_block(leaf, block);
	u64 row = kvp_row_of(leaf->v->g, own);
	u32 piece = kvp_piece_of(leaf->v->g, own);
	int ret = mend(pool, leaf, row, piece, page, scratch, &bad);

	if (!ret)
		return 0;
	/* In a pool that has lost too many legs, the homes may be in any state. */
	if (ret == -EIO || kvp_row_silent(bad) || kvp_pool_faulted(pool))
		return -EIO;
	if (kvp_pool_readonly(pool)) {
		atomic64_inc(&pool->work_stats.unrepaired);
		kvp_found_block(pool, KVP_FIND_LOST, NULL, block);
		return -EIO;
	}
	kvp_row_poison(pool, leaf, row, piece);
	return -EBADMSG;
}

int kvp_row_home_read(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block,
		      struct page *page, struct page *spare)
{
	kvp_vblock_t own = kvp_vdev_block(leaf, block);
	u64 row = kvp_row_of(leaf->v->g, own);
	u32 piece = kvp_piece_of(leaf->v->g, own);
	/* With @spare, the copy itself must be read. */
	int error = spare ? kvp_row_read(leaf, row, piece, page) :
			    read_piece(leaf, row, piece, page, NULL);
	struct page *scratch;

	if (!error)
		return 0;
	scratch = spare ?: alloc_page(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (!scratch)
		return -ENOMEM;
	error = read_rebuilt(pool, leaf, block, error, page, scratch);
	if (!spare)
		__free_page(scratch);
	return error;
}

static void write_shadow(const struct kvp_leg *leg, kvp_lblock_t block, struct page *page)
{
	struct kvp_leg *shadow = kvp_leg_shadow(leg);

	if (shadow && kvp_io_page(shadow, KVP_IO_WRITE, block, page))
		kvp_leg_give_up(shadow, "a write failed");
}

/* The old parity is unknown. Write the right one, and then enter it in the table. */
static int renew_parity(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row, struct page *good)
{
	struct kvp_place at = kvp_parity_place(leaf->v->g, row);
	struct kvp_leg *leg = &leaf->v->legs[at.leg];
	u32 crc = kvp_row_sum(leaf, row, 0, good);

	if (kvp_pool_readonly(pool))
		return 0;
	if (kvp_leg_takes_writes(leg) && kvp_io_page(leg, KVP_IO_WRITE, at.block, good) &&
	    !kvp_leg_fail(leg, "a write failed"))
		return -EIO;
	write_shadow(leg, at.block, good);
	kvp_table_lock(pool->table, leaf);
	__kvp_table_set_parity(pool->table, leaf, row, crc, KVP_ENTRY_VALID);
	kvp_table_unlock(pool->table);
	return 0;
}

int kvp_row_scrub_parity(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row, struct page *page,
			 struct page *scratch)
{
	bool unknown = kvp_entry_state(kvp_table_parity(leaf, row)) ==
		       KVP_ENTRY_POISONED;
	int error = kvp_row_read(leaf, row, 0, page), ret;

	if (!error || error == -ENXIO)
		return 0;
	ret = kvp_row_rebuild(pool, leaf, row, 0, page, scratch);
	if (!ret && unknown)
		return renew_parity(pool, leaf, row, page);
	if (!ret)
		kvp_row_heal(pool, leaf, row, 0, page, scratch);
	/* A bad block of data is found, and counted, when the scrub reads it as data. */
	return 0;
}
