// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verified reads of one block from its home, with healing.
 *
 * Everything here happens under the block's range lock. Neither destage nor a direct write nor
 * another healer can change home or table entry meanwhile. So a block that does not verify is the
 * device's fault (R19). And rewriting a bad copy with the version that the table names needs no
 * record in the log (R1).
 *
 * kvp_block_read():
 * 1. read_once() takes the block's range lock.
 * 2. read_buffered() looks for a version that is not home yet.
 * 3. kvp_home_read() asks the table for the state and sum of the block. kvp_copies_read() asks leg
 *    after leg, and an SSD if no leg has it. In a parity1, kvp_row_home_read() (row.c) does that.
 * 4. heal_copies() rewrites bad copies with the good one.
 * 5. If there is no good copy, kvp_copies_lose() marks the block lost, unless a silent leg may have
 *    it.
 * 6. Before the answer, kvp_poison_make_durable() makes that mark durable, without the lock.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "checkpoint/checkpoint.h"
#include "core/cache_client.h"
#include "core/core.h"
#include "core/vdev_ops.h"
#include "home/heal.h"
#include "io/io.h"
#include "log/spill.h"
#include "ram/wbuf.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"

static bool verifies(struct kvp_pool *pool, kvp_block_t block, u64 entry, struct page *page)
{
	return kvp_block_sum(pool->seed, block, page_address(page)) == kvp_entry_crc(entry);
}

/*
 * Read and verify the copy of one leg, and count errors. -EBUSY: the leg refused the read, which
 * says nothing about the copy (kvp_io_ask()).
 */
static int read_copy(struct kvp_pool *pool, struct kvp_leg *leg, kvp_block_t block, u64 entry,
		     struct page *page, struct kvp_patience *p)
{
	int error = kvp_io_ask(leg, kvp_home_block(pool, block), page, p);

	if (error == -EBUSY)
		return error;
	if (error) {
		atomic64_inc(&leg->err_read);
		return error;
	}
	if (verifies(pool, block, entry, page))
		return 0;
	atomic64_inc(&leg->err_checksum);
	return -EILSEQ;
}

/* Rewrite a bad copy and read it back. A leg that cannot be repaired is given up. */
static void heal_copy(struct kvp_pool *pool, struct kvp_leg *leg, kvp_block_t block, u64 entry,
		      struct page *good, struct page *scratch)
{
	kvp_lblock_t at = kvp_home_block(pool, block);

	if (kvp_io_page(leg, KVP_IO_WRITE_FUA, at, good) ||
	    kvp_io_read_back(leg, at, scratch) ||
	    !verifies(pool, block, entry, scratch)) {
		kvp_leg_failed_write(leg);
		kvp_leg_give_up(leg, "a bad block cannot be repaired");
		return;
	}
	atomic64_inc(&leg->healed);
	atomic64_inc(&pool->work_stats.healed);
	kvp_trace_heal(pool, leg->index, block);
	kvp_found_block(pool, KVP_FIND_HEALED, leg, block);
}

/*
 * Step 4. Returns 0, or -ENOMEM: not done.
 * @bad: legs whose copies are bad, as bits
 * @spare: a page to read rewritten copies into, or NULL to get one
 */
static int heal_copies(const struct kvp_vdev *v, unsigned long bad, kvp_block_t block, u64 entry,
		       struct page *good, struct page *spare)
{
	struct kvp_pool *pool = v->pool;
	struct page *scratch;
	u32 i;

	if (!bad || kvp_pool_readonly(pool))
		return 0;
	scratch = spare ?: alloc_page(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (!scratch)
		return -ENOMEM;
	for (i = 0; i < v->nr_legs; i++)
		if ((bad & BIT(i)) && kvp_leg_in_sync(&v->legs[i]))
			heal_copy(pool, &v->legs[i], block, entry, good, scratch);
	if (!spare)
		__free_page(scratch);
	return 0;
}

/* Step 5. No copy verifies. The block is lost: reads of it fail until it is overwritten (R8). */
int kvp_copies_lose(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block)
{
	atomic64_inc(&pool->work_stats.unrepaired);
	kvp_found_block(pool, KVP_FIND_LOST, NULL, block);
	if (kvp_pool_readonly(pool))
		return -EIO;
	kvp_table_set(pool->table, leaf, block, 0, KVP_ENTRY_POISONED);
	return -EBADMSG;
}

/*
 * True if @d was written home in an earlier start of the pool, and the log still had it. Then its
 * entry in the table says so, and a reader of the block verifies it. The entry's era does not help.
 * The log does not say in which era @d was written, and @d may have been written home in the same
 * era. So the sum decides, as for every reader.
 */
static bool was_written_home(struct kvp_tpage *leaf, const struct kvp_version *d)
{
	u64 entry = kvp_table_entry(leaf, d->block);

	return d->restored && kvp_entry_state(entry) == KVP_ENTRY_VALID &&
	       kvp_entry_crc(entry) == d->crc;
}

int kvp_block_lose(struct kvp_pool *pool, struct kvp_version *d)
{
	struct kvp_tpage *leaf = kvp_table_load_home(pool->table, d->block);
	struct kvp_range range;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	kvp_block_lock(pool, &range, d->block);
	if (kvp_wbuf_outlived(pool->wbuf, d) || was_written_home(leaf, d))
		;
	else
		leaf->v->ops->lose(pool, leaf, d->block);
	/*
	 * Do this under the lock, so that the next holder of the lock does not find the version as
	 * not yet home.
	 */
	list_del(&d->list);
	kvp_wbuf_drop(pool->wbuf, d);
	kvp_range_unlock(&pool->ranges, &range);
	kvp_table_put(leaf);
	return 0;
}

/*
 * What the legs have answered.
 * @bad, @refused: legs whose copies are bad, and legs that refused the read, as bits
 * @cache_refused: an SSD refused the read
 * @silent: a device that does not answer may still have a good copy
 */
struct answers {
	unsigned long bad, refused;
	bool cache_refused, found, silent;
};

/* Ask those of @legs that are in sync; with @spare all, otherwise until one has the block. */
static void ask_legs(struct kvp_tpage *leaf, unsigned long legs, struct kvp_patience *p,
		     kvp_block_t block, u64 entry, struct page *page, struct page *spare,
		     struct answers *a)
{
	const struct kvp_vdev *v = leaf->v;
	u32 n, i;

	/* With @spare, read every copy: those after the first good one go to @spare. */
	for (n = 0; n < v->nr_legs && (!a->found || spare); n++) {
		int error;

		i = (n + (u32)(kvp_block_nr(block) >> 8)) % v->nr_legs;
		if (!(legs & BIT(i)) || !kvp_leg_in_sync(&v->legs[i]))
			continue;
		error = read_copy(v->pool, &v->legs[i], block, entry, a->found ? spare : page,
				  p);
		if (!error) {
			a->found = true;
		} else if (error == -EBUSY) {
			a->refused |= BIT(i);
		} else {
			a->bad |= BIT(i);
			a->silent |= error != -EILSEQ && error != -ENODATA;
		}
	}
}

static void ask_cache(struct kvp_tpage *leaf, struct kvp_patience *p, kvp_block_t block, u64 entry,
		      struct page *page, struct answers *a)
{
	int error = kvp_cache_rescue(&leaf->v->pool->vdevs, block, entry, page, p);

	a->found = !error;
	a->cache_refused = error == -EBUSY;
	a->silent |= error == -EIO;
}

/*
 * Ask those again that refused the read, all in turns, until none of them need be waited for:
 * without @spare, one has the block.
 */
static void ask_again(struct kvp_tpage *leaf, kvp_block_t block, u64 entry, struct page *page,
		      struct page *spare, struct answers *a)
{
	struct kvp_patience p = { 0 };

	for (;;) {
		unsigned long legs = a->refused;

		a->refused = 0;
		ask_legs(leaf, legs, &p, block, entry, page, spare, a);
		if (!a->found && a->cache_refused)
			ask_cache(leaf, &p, block, entry, page, a);
		if (spare ? !a->refused : a->found || !(a->refused || a->cache_refused))
			return;
		kvp_patience_pause();
	}
}

/*
 * Step 3. Returns 0, or the reason why no copy is good. A leg that refuses the read is waited for
 * only if no other has the block, or if each copy must be read. If that is in vain, its copy counts
 * as one that cannot be read now.
 */
int kvp_copies_read(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block, u64 entry,
		    struct page *page, struct page *spare)
{
	struct answers a = { 0 };
	bool no_memory;

	ask_legs(leaf, ~0ul, NULL, block, entry, page, spare, &a);
	if (!a.found && (a.bad || a.refused))
		ask_cache(leaf, NULL, block, entry, page, &a);
	if ((spare && a.refused) || (!a.found && (a.refused || a.cache_refused)))
		ask_again(leaf, block, entry, page, spare, &a);
	no_memory = a.found && heal_copies(leaf->v, a.bad, block, entry, page, spare);
	/* Without @spare, a good copy is enough. The next reader, or a scrub, heals the others. */
	if (no_memory && spare)
		return -ENOMEM;
	if (a.found)
		return 0;
	return a.silent || !a.bad ? -EIO : kvp_copies_lose(pool, leaf, block);
}

int kvp_home_read(struct kvp_pool *pool, kvp_block_t block, struct page *page, struct page *spare)
{
	struct kvp_tpage *leaf = kvp_table_load(pool->table, block);
	u64 entry;
	int ret;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	entry = kvp_table_entry(leaf, block);
	switch (kvp_entry_state(entry)) {
	case KVP_ENTRY_UNWRITTEN:
		clear_page(page_address(page));
		ret = 0;
		break;
	case KVP_ENTRY_VALID:
		ret = leaf->v->ops->read(pool, leaf, block, entry, page, spare);
		break;
	default:
		ret = -ENODATA;
	}
	kvp_table_put(leaf);
	return ret;
}

/*
 * True if the version that could not be read is still the newest. If it is not, a newer one has
 * become durable meanwhile, and this one was dropped. Then the log has come round to its place, and
 * no SSD is at fault.
 */
static bool still_spilled(struct kvp_pool *pool, const struct kvp_spilled *at)
{
	struct kvp_version *d = kvp_wbuf_find(pool->wbuf, at->block);
	bool same = d && !d->zero && !d->page && kvp_lsn_add(d->lsn, d->payload) == at->lsn;

	if (d)
		kvp_wbuf_unlock(pool->wbuf, at->block);
	return same;
}

/*
 * Step 2. Read the newest version if it is in the buffer, or spilled. -ENOENT: there is none;
 * -EAGAIN: the newest version has changed.
 */
static int read_buffered(struct kvp_pool *pool, kvp_block_t block, struct page *page)
{
	struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);
	struct kvp_spilled at;
	bool zero, spilled;
	int ret;

	if (!d && !kvp_wbuf_in_hole(pool->wbuf, block))
		return -ENOENT;
	zero = !d || d->zero;
	spilled = !zero && !d->page;
	if (zero)
		clear_page(page_address(page));
	else if (!spilled)
		memcpy(page_address(page), page_address(d->page), KVP_BLOCK_SIZE);
	else
		at = (struct kvp_spilled){ block, kvp_lsn_add(d->lsn, d->payload), d->crc, d->row };
	if (d)
		kvp_wbuf_unlock(pool->wbuf, block);
	if (!spilled)
		return 0;
	ret = kvp_spill_read(pool->log, &at, page, NULL);
	return ret && ret != -ENOMEM && !still_spilled(pool, &at) ? -EAGAIN : ret;
}

void kvp_block_lock(struct kvp_pool *pool, struct kvp_range *range, kvp_block_t block)
{
	struct kvp_spot at = kvp_locate(pool, block);
	u32 unit = kvp_unit_blocks(at.v->g);
	kvp_block_t first = kvp_block_back(block, kvp_vblock_nr(at.block) % unit);

	kvp_range_lock(&pool->ranges, range, first, kvp_block_add(first, unit - 1));
}

/* Step 1. Make one attempt, under the block's lock. */
static int read_once(struct kvp_pool *pool, kvp_block_t block, struct page *page)
{
	struct kvp_range range;
	int ret;

	kvp_block_lock(pool, &range, block);
	do {
		ret = read_buffered(pool, block, page);
	} while (ret == -EAGAIN);
	if (ret == -ENOENT)
		ret = kvp_home_read(pool, block, page, NULL);
	kvp_range_unlock(&pool->ranges, &range);
	return ret;
}

int kvp_block_read(struct kvp_pool *pool, kvp_block_t block, struct page *page)
{
	int ret;

	/*
	 * This host has no page. Destage frees memory, as long as anything can go home. A leg that
	 * refuses the read is no such case: kvp_io_read_patiently() has a limit.
	 */
	while ((ret = read_once(pool, block, page)) == -ENOMEM && !kvp_pool_faulted(pool))
		kvp_wait_for_memory();
	/*
	 * A power cut must not undo this answer. That holds also if another reader found the loss
	 * first.
	 */
	if (ret == -EBADMSG || ret == -ENODATA)
		kvp_poison_note(pool);
	if (ret == -EBADMSG || ret == -ENODATA)
		return -EBADMSG;
	return ret ? -EIO : 0;
}
