// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way home of a parity1. Whole stripes are locked, and the new parity of each row that changes
 * is computed. Then:
 *
 *   - In rows of which every block at home is replaced, data and parity go home.
 *   - Of all other rows, parity first goes into the log, and is durable there (R6). Then data and
 *     parity go home.
 *
 * The entries of data and parity change in the table together. Until then, the log tells what was
 * at home: docs/design/parity.md.
 *
 * Stripes under intents are begun only while all legs of their vdev are in use (begin_stripes()).
 * If a leg is lost, the pool records that only when the stripes that were begun have ended (R7).
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "core/xor.h"
#include "format/stripe.h"
#include "home/home.h"
#include "home/home_row.h"
#include "home/pace.h"
#include "home/row.h"
#include "io/batch.h"
#include "io/io.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/table.h"

#define CHUNK_ROWS	128	/* the most rows of a chunk */
#define MAX_ROWS	256	/* rows at a time; their parity fills about one entry of the log */
#define WHOLE_ROWS	256	/* rows of a vdev, for a direct write: 1 MiB to each leg at once */
#define MAX_WHOLE_ROWS	(2 * WHOLE_ROWS)
#define MIN_STRIPES	16
#define MAX_STRIPES	256
#define ROWS_AT_ONCE	32u	/* rows that change under one lock of the table */
#define BATCH_JIFFIES	(HZ / 4)	/* after this time readers may have the stripes' locks */
#ifndef KVP_ROW_INPUTS		/* the simulator has small pools */
#define KVP_ROW_INPUTS	256	/* pieces that are read at once; enough for one row at least */
#endif
#define WHOLE_INPUTS	min(64, KVP_ROW_INPUTS)	/* of a direct write: few of its rows need any */
/* pages that lie side by side in memory, if possible */
#define RUN_ORDER	4u
#define RUN_PAGES	(1u << RUN_ORDER)
/* a silent piece is asked for again for PATIENCE; after that none is, for NO_PATIENCE */
#define PATIENCE	(3 * HZ)
#define NO_PATIENCE	(60 * HZ)
#define PAUSE_MS	200

static_assert(KVP_DIRECT_ROWS <= WHOLE_ROWS);
static_assert(MAX_WHOLE_ROWS / RUN_PAGES <= BITS_PER_LONG &&
	      KVP_ROW_INPUTS / RUN_PAGES <= BITS_PER_LONG);
static_assert(KVP_ROW_INPUTS >= KVP_STRIPE_MAX_LEGS);
/* chunks are powers of two */
static_assert(KVP_PTRS_PER_PAGE / KVP_STRIPE_MIN_LEGS < 2 * CHUNK_ROWS);

/**
 * struct stripe - a locked stripe, and the versions that go home to it
 * @leaf: the leaf with its entries
 * @versions: in order of blocks
 * @first: its first block, as the pool counts
 * @row: its first row
 * @parity_leg: the leg with the parity; piece i is on the i-th leg after it, around
 * @end: behind its last row that changes
 * @next: index of the row that row_of() will probably return next
 * @repeated: some block has more than one version
 */
struct stripe {
	struct kvp_tpage *leaf;
	struct list_head versions;
	kvp_block_t first;
	u64 row, end;
	u32 parity_leg, next;
	bool repeated;
};

/**
 * struct row - a row that changes
 * @row: its number
 * @stripe: its stripe
 * @new: for each piece of data, the newest version that goes home; NULL: the piece stays
 * @lost: bit per piece: it stays, but its contents are lost
 * @inputs: bit per piece: it is read, to compute the parity
 * @first_input: number of the row's first input
 * @parity: the new parity
 * @crc: its sum
 * @state: valid; unwritten if nothing of the row is written; poisoned if it is not known
 * @partial: a piece stays that only its home has, and that the parity counts
 */
struct row {
	u64 row;
	struct stripe *stripe;
	struct kvp_version *new[KVP_STRIPE_MAX_LEGS];
	unsigned long lost, inputs;
	u32 first_input;
	struct page *parity;
	u32 crc;
	enum kvp_entry_state state;
	bool partial;
};

/**
 * struct input - a piece that is read to compute parity
 * @leg: the leg that has it; NULL: a request for it was planned
 * @block: on the leg
 * @io: index of that request
 */
struct input {
	struct kvp_leg *leg;
	kvp_lblock_t block;
	u32 io;
};

/**
 * struct run_pages - pages that are neighbours in memory if possible
 * @page: the pages, in order
 * @nr: how many
 * @together: bit per RUN_PAGES of them: they were allocated together
 */
struct run_pages {
	struct page **page;
	u32 nr;
	unsigned long together;
};

struct kvp_row_home {
	struct kvp_pool *pool;
	struct kvp_batch *batch;
	bool whole;			/* for whole stripes, which are under intents */
	unsigned long begun;		/* bit per vdev: kvp_vdev_begin_stripes() was called */
	u32 nr_stripes, nr_rows, max_rows;
	u32 most_stripes;		/* stripes; the most at a time, by kvp_pace() */
	u32 max_legs, max_stripe;	/* the largest of all vdevs; @max_stripe in blocks */
	struct stripe stripes[MAX_STRIPES];
	struct kvp_range ranges[MAX_STRIPES];	/* the locks of @stripes */
	struct row *rows;
	struct run_pages parity;	/* a page for each row */
	struct kvp_row_parity *records;
	struct run_pages input;
	struct input inputs[KVP_ROW_INPUTS];	/* each has the page of @input with its number */
	struct kvp_io ios[KVP_ROW_INPUTS];
	struct page *asked[KVP_ROW_INPUTS];	/* pages, in the order of requests */
	u32 nr_inputs, nr_ios;
	struct page *piece, *scratch;	/* for reading pieces one after another */
	unsigned long asks_until;	/* jiffies; a piece is asked for until then; 0: none was */
	struct kvp_version *edge;	/* versions for blocks that a discard makes unwritten */
};

/* --- life ---------------------------------------------------------------------------- */

static int alloc_pages_of(struct page **pages, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		if (!pages[i])
			return -ENOMEM;
	}
	return 0;
}

/*
 * Allocate pages that are neighbours in memory if possible. A long request of scattered pages has
 * more segments than many devices take, and is split in two.
 */
static int alloc_run_pages(struct run_pages *pages, u32 nr)
{
	gfp_t gfp = GFP_KERNEL | __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN;
	u32 i, k;

	pages->page = kvcalloc(nr, sizeof(*pages->page), GFP_KERNEL);
	if (!pages->page)
		return -ENOMEM;
	pages->nr = nr;
	for (i = 0; i + RUN_PAGES <= nr; i += RUN_PAGES) {
		struct page *run = alloc_pages(gfp, RUN_ORDER);

		if (!run) {
			if (alloc_pages_of(&pages->page[i], RUN_PAGES))
				return -ENOMEM;
			continue;
		}
		for (k = 0; k < RUN_PAGES; k++)
			pages->page[i + k] = virt_to_page(page_address(run) + k * KVP_BLOCK_SIZE);
		__set_bit(i / RUN_PAGES, &pages->together);
	}
	return alloc_pages_of(&pages->page[i], nr - i);
}

static void note_sizes(struct kvp_row_home *h)
{
	u32 i;

	for (i = 0; i < h->pool->vdevs.nr; i++) {
		const struct kvp_vdev *v = &h->pool->vdevs.v[i];

		h->max_legs = max(h->max_legs, v->ops->row_legs(v));
		h->max_stripe = max(h->max_stripe, kvp_stripe_blocks(v->g));
	}
}

/* The number of rows that make one batch of whole stripes. */
static u32 whole_rows(const struct kvp_row_home *h)
{
	u32 i, rows = 0;

	for (i = 0; i < h->pool->vdevs.nr; i++)
		if (h->pool->vdevs.v[i].ops->row_legs(&h->pool->vdevs.v[i]))
			rows += WHOLE_ROWS;
	rows = clamp_t(u32, rows, WHOLE_ROWS, MAX_WHOLE_ROWS);
	return clamp_t(u32, KVP_BATCH_PAGES / h->max_legs, CHUNK_ROWS, rows);
}

struct kvp_row_home *kvp_row_home_alloc(struct kvp_pool *pool, bool whole)
{
	struct kvp_row_home *h = kvzalloc(sizeof(*h), GFP_KERNEL);
	u32 i;

	if (!h)
		return NULL;
	h->pool = pool;
	h->whole = whole;
	h->most_stripes = MIN_STRIPES;
	note_sizes(h);
	h->max_rows = whole ? whole_rows(h) : MAX_ROWS;
	h->rows = kvcalloc(h->max_rows, sizeof(*h->rows), GFP_KERNEL);
	h->records = kvcalloc(h->max_rows, sizeof(*h->records), GFP_KERNEL);
	for (i = 0; i < MAX_STRIPES; i++)
		INIT_LIST_HEAD(&h->stripes[i].versions);
	h->batch = kvp_batch_alloc(&pool->vdevs);
	h->edge = kvcalloc(h->max_stripe, sizeof(*h->edge), GFP_KERNEL);
	if (!h->batch || !h->edge || !h->rows || !h->records ||
	    alloc_run_pages(&h->parity, h->max_rows) ||
	    alloc_run_pages(&h->input, whole ? WHOLE_INPUTS : KVP_ROW_INPUTS) ||
	    alloc_pages_of(&h->piece, 1) || alloc_pages_of(&h->scratch, 1)) {
		kvp_row_home_free(h);
		return NULL;
	}
	return h;
}

static void free_pages_of(struct page **pages, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (pages[i])
			__free_page(pages[i]);
}

static void free_run_pages(struct run_pages *pages)
{
	u32 i, n;

	for (i = 0; i < pages->nr; i += n) {
		n = min(RUN_PAGES, pages->nr - i);
		if (test_bit(i / RUN_PAGES, &pages->together))
			__free_pages(pages->page[i], RUN_ORDER);
		else
			free_pages_of(&pages->page[i], n);
	}
	kvfree(pages->page);
}

void kvp_row_home_free(struct kvp_row_home *h)
{
	if (!h)
		return;
	kvp_batch_free(h->batch);
	kvfree(h->edge);
	kvfree(h->rows);
	kvfree(h->records);
	free_run_pages(&h->parity);
	free_run_pages(&h->input);
	free_pages_of(&h->piece, 1);
	free_pages_of(&h->scratch, 1);
	kvfree(h);
}

/* The vdev that the row belongs to. */
static const struct kvp_vdev *vdev_of(const struct row *r)
{
	return r->stripe->leaf->v;
}

/* The number of the row that has @block, a block of the pool. */
static u64 row_number(const struct stripe *s, kvp_block_t block)
{
	return s->row + (u32)kvp_block_since(block, s->first) % s->leaf->v->g->chunk_blocks;
}

/* --- the new parity -------------------------------------------------------------------- */

static bool is_valid(const struct row *r, u32 piece)
{
	return kvp_entry_state(kvp_row_entry(r->stripe->leaf, r->row, piece)) ==
	       KVP_ENTRY_VALID;
}

/*
 * Pieces of data that are valid at home now, as bits: those that change if @change, else those that
 * stay.
 */
static unsigned long valid_pieces(const struct row *r, bool change)
{
	unsigned long pieces = 0;
	u32 i;

	for (i = 1; i < vdev_of(r)->nr_legs; i++)
		if (!r->new[i] == !change && is_valid(r, i))
			pieces |= BIT(i);
	return pieces;
}

static bool readable(const struct row *r, unsigned long pieces)
{
	const struct kvp_vdev *v = vdev_of(r);
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if ((pieces & BIT(i)) &&
		    !kvp_leg_in_sync(&v->legs[kvp_row_place(v->g, r->row, i).leg]))
			return false;
	return true;
}

/*
 * Choose the pieces to read in order to compute the parity: either those that stay, or the old
 * parity and those that change. The choice is the smaller set that can be read. 0: neither set can.
 */
static unsigned long choose_inputs(const struct row *r, unsigned long stays)
{
	bool reconstruct = readable(r, stays);
	unsigned long changes;

	/* No set is smaller than one piece. */
	if (reconstruct && hweight_long(stays) == 1)
		return stays;
	changes = valid_pieces(r, true) | BIT(0);
	if (is_valid(r, 0) && readable(r, changes) &&
	    (!reconstruct || hweight_long(changes) < hweight_long(stays)))
		return changes;
	return reconstruct ? stays : 0;
}

static bool changes_as_a_whole(const struct row *r)
{
	u32 i, legs = vdev_of(r)->nr_legs;

	for (i = 1; i < legs; i++)
		if (!r->new[i])
			return false;
	return true;
}

/* Note which pieces of the row must be read to compute its parity. */
static void begin_row(struct kvp_row_home *h, struct row *r)
{
	unsigned long stays = changes_as_a_whole(r) ? 0 : valid_pieces(r, false);
	const struct kvp_vdev *v = vdev_of(r);
	u32 i;

	r->lost = 0;
	r->inputs = 0;
	r->partial = stays;
	if (!stays)
		return;
	r->inputs = choose_inputs(r, stays);
	r->first_input = h->nr_inputs;
	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_place at;

		if (!(r->inputs & BIT(i)))
			continue;
		at = kvp_row_place(v->g, r->row, i);
		h->inputs[h->nr_inputs++] = (struct input){
			.leg = &v->legs[at.leg], .block = at.block
		};
	}
}

/*
 * Add input @in to the last request if it lies behind that, or else begin a request. @n inputs have
 * been added so far.
 */
static void ask_for(struct kvp_row_home *h, struct kvp_leg *leg, const struct input *in, u32 n)
{
	struct kvp_io *io = h->nr_ios ? &h->ios[h->nr_ios - 1] : NULL;

	if (io && io->leg == leg && kvp_lblock_add(io->block, io->nr) == in->block) {
		io->nr++;
		return;
	}
	io = &h->ios[h->nr_ios++];
	memset(io, 0, sizeof(*io));
	io->leg = leg;
	io->op = KVP_IO_READ;
	io->block = in->block;
	io->nr = 1;
	io->pages = &h->asked[n];
}

/* Read all inputs, leg by leg, so that neighbours make one request. */
static void read_inputs(struct kvp_row_home *h)
{
	struct kvp_io_group group;
	u32 first, i, n = 0;

	h->nr_ios = 0;
	for (first = 0; first < h->nr_inputs; first++) {
		struct kvp_leg *leg = h->inputs[first].leg;

		for (i = first; leg && i < h->nr_inputs; i++) {
			if (h->inputs[i].leg != leg)
				continue;
			ask_for(h, leg, &h->inputs[i], n);
			h->asked[n++] = h->input.page[i];
			h->inputs[i].io = h->nr_ios - 1;
			h->inputs[i].leg = NULL;
		}
	}
	kvp_io_group_init(&group);
	kvp_io_group_submit_all(&group, h->ios, h->nr_ios);
	kvp_io_group_wait(&group);
}

/*
 * Put the row's pages that were read into @sources. Returns how many; 0: one of them could not be
 * read, or does not have its sum.
 */
static u32 take_inputs(struct kvp_row_home *h, struct row *r, struct page **sources)
{
	u32 i, n = r->first_input, nr = 0;

	for (i = 0; i < vdev_of(r)->nr_legs; i++) {
		if (!(r->inputs & BIT(i)))
			continue;
		if (h->ios[h->inputs[n].io].error ||
		    kvp_row_sum(r->stripe->leaf, r->row, i, h->input.page[n]) !=
		    kvp_entry_crc(kvp_row_entry(r->stripe->leaf, r->row, i)))
			return 0;
		sources[nr++] = h->input.page[n++];
	}
	return nr;
}

/*
 * Add a piece that stays to the parity. It is read, or rebuilt from the others if it must be (R8).
 * If neither works, it is lost. Or it may still be there, as a leg does not answer: then @silent
 * gets its bit.
 */
static int add_staying(struct kvp_row_home *h, struct row *r, u32 piece, unsigned long *silent)
{
	struct kvp_tpage *leaf = r->stripe->leaf;
	int error, ret = kvp_row_fetch(h->pool, leaf, r->row, piece, h->piece, h->scratch, &error);

	if (ret && kvp_pool_faulted(h->pool))
		return -EIO;
	if (!ret) {
		kvp_xor(r->parity, h->piece);
	} else if (ret == -EIO || kvp_row_silent(error)) {
		*silent |= BIT(piece);
	} else {
		r->lost |= BIT(piece);
	}
	return 0;
}

/*
 * The other way: take the pieces that change out of the old parity. The pieces that stay are not
 * needed then.
 */
static bool subtract_changing(struct kvp_row_home *h, struct row *r)
{
	unsigned long pieces = valid_pieces(r, true);
	struct kvp_tpage *leaf = r->stripe->leaf;
	u32 i;

	if (!is_valid(r, 0) || kvp_row_read(leaf, r->row, 0, h->scratch))
		return false;
	for (i = 1; i < leaf->v->nr_legs; i++) {
		if (!(pieces & BIT(i)))
			continue;
		if (kvp_row_read(leaf, r->row, i, h->piece))
			return false;
		kvp_xor(h->scratch, h->piece);
	}
	copy_page(page_address(r->parity), page_address(h->scratch));
	return true;
}

/*
 * True if a piece that did not answer may be asked for again. Locks are held, and the log waits. So
 * no piece is asked for again after some seconds, nor for the next rows. One request may take as
 * long as the leg lets it.
 */
static bool may_ask_again(struct kvp_row_home *h)
{
	if (!h->asks_until || time_after(jiffies, h->asks_until + NO_PATIENCE))
		h->asks_until = (jiffies + PATIENCE) | 1;
	if (time_after_eq(jiffies, h->asks_until))
		return false;
	msleep(PAUSE_MS);
	return true;
}

static bool parity_is_kept(const struct row *r)
{
	const struct kvp_vdev *v = vdev_of(r);

	return kvp_leg_takes_writes(&v->legs[kvp_row_place(v->g, r->row, 0).leg]);
}

/*
 * The pieces in @silent did not answer, and the parity must count them. One bad sector may hold the
 * tail for no longer: such a piece is lost. If a leg in use answers nothing at all, it is gone, and
 * its vdev cannot be without it. It may come back with all that it has, so nothing is lost: the
 * pool is faulted.
 */
static int give_up(struct kvp_row_home *h, struct row *r, unsigned long silent)
{
	const struct kvp_vdev *v = vdev_of(r);
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (kvp_leg_in_sync(&v->legs[i]) && !kvp_leg_answers(&v->legs[i], h->scratch)) {
			kvp_fail(&h->pool->failure, KVP_FAIL_LEGS,
				 "a leg of a parity1 does not answer, and another one is out");
			return -EIO;
		}
	r->lost |= silent;
	return 0;
}

/*
 * An input could not be read, or does not have its sum. A piece that stays and does not answer is
 * not lost (R27):
 *
 *   - If the old parity and the old contents of the pieces that change can be read, they give the
 *     new parity.
 *   - Else the silent piece is asked for again, for a while.
 *   - If the leg of the parity is out, the parity need not be known.
 *
 * Otherwise the piece is given up, or the pool is faulted.
 */
static int reconstruct_slowly(struct kvp_row_home *h, struct row *r)
{
	unsigned long pieces = valid_pieces(r, false), silent;
	int ret = 0;
	u32 i;

	do {
		silent = 0;
		r->lost = 0;
		clear_page(page_address(r->parity));
		for (i = 1; !ret && i < vdev_of(r)->nr_legs; i++)
			if (pieces & BIT(i))
				ret = add_staying(h, r, i, &silent);
		if (ret || !silent)
			return ret;
		if (subtract_changing(h, r)) {
			r->lost = 0;
			return 0;
		}
	} while (may_ask_again(h));
	if (parity_is_kept(r))
		return give_up(h, r, silent);
	r->state = KVP_ENTRY_POISONED;
	return 0;
}

/* True if the version has contents; zeros have none. */
static bool has_contents(const struct kvp_version *d)
{
	return d && !d->zero;
}

/*
 * The sum of parity that is made of new contents alone, computed from their sums. Suppose that a
 * page has changed in memory since it was summed. Then the parity does not match this sum, which is
 * better than a match.
 */
static u32 sum_of_new(const struct kvp_row_home *h, const struct row *r)
{
	const struct kvp_vdev *v = vdev_of(r);
	u32 sum = kvp_zeros_sum(v->seed, kvp_block_nr(kvp_parity_addr(r->row))), i;

	for (i = 1; i < v->nr_legs; i++)
		if (has_contents(r->new[i]))
			sum ^= r->new[i]->crc ^
			       kvp_zeros_sum(h->pool->seed, kvp_block_nr(r->new[i]->block));
	return sum;
}

/*
 * The inputs of the row were read: compute its parity. If @last, the parity may take the page of
 * the first input, since no later row needs that.
 */
static int end_row(struct kvp_row_home *h, struct row *r, bool last)
{
	struct page *sources[2 * KVP_STRIPE_MAX_LEGS];
	u32 i, n = 0, legs = vdev_of(r)->nr_legs;
	int ret = 0;

	r->state = KVP_ENTRY_VALID;
	if (r->partial) {
		n = take_inputs(h, r, sources);
		if (!n) {
			ret = reconstruct_slowly(h, r);
			sources[n++] = r->parity;
		} else if (last) {
			r->parity = sources[0];
		}
	}
	if (r->state == KVP_ENTRY_POISONED) {
		r->partial = false;
		r->crc = 0;
		return ret;
	}
	for (i = 1; i < legs; i++)
		if (has_contents(r->new[i]))
			sources[n++] = r->new[i]->page;
	kvp_xor_sum(r->parity, sources, n);
	r->state = n ? KVP_ENTRY_VALID : KVP_ENTRY_UNWRITTEN;
	/*
	 * Parity for the log is summed anew: a recovery refuses a log with a block that does not
	 * match its record.
	 */
	r->crc = r->partial ? kvp_row_sum(r->stripe->leaf, r->row, 0, r->parity) : sum_of_new(h, r);
	return ret;
}

/*
 * Compute the parity of all rows. As many rows are read at once as there are pages for their
 * inputs.
 */
static int compute_rows(struct kvp_row_home *h)
{
	u32 first = 0, next, i;
	int ret = 0;

	while (!ret && first < h->nr_rows) {
		h->nr_inputs = 0;
		for (next = first; next < h->nr_rows; next++) {
			if (h->nr_inputs + vdev_of(&h->rows[next])->nr_legs > h->input.nr)
				break;
			begin_row(h, &h->rows[next]);
		}
		read_inputs(h);
		for (i = first; !ret && i < next; i++) {
			kvp_batch_give_way(h->batch);
			ret = end_row(h, &h->rows[i], next == h->nr_rows);
		}
		first = next;
	}
	return ret;
}

/* --- log, home, table ------------------------------------------------------------------------ */

/* R6: log the parity of partial rows before any block of these rows is written at home. */
static int log_parity(struct kvp_row_home *h, struct kvp_log_at limit)
{
	u32 i, n = 0;

	for (i = 0; i < h->nr_rows; i++) {
		struct row *r = &h->rows[i];

		if (r->partial)
			h->records[n++] = (struct kvp_row_parity){ vdev_of(r), r->row, r->crc,
								   r->parity };
	}
	return n ? kvp_log_parity(h->pool->log, h->records, n, limit) : 0;
}

static int add_page(struct kvp_row_home *h, const struct kvp_vdev *v, struct kvp_place at,
		    struct page *page)
{
	int ret;

	if (kvp_batch_add_at(h->batch, v, at, page))
		return 0;
	ret = kvp_batch_write(h->batch);
	if (ret)
		return ret;
	/* The batch is empty now. */
	return WARN_ON_ONCE(!kvp_batch_add_at(h->batch, v, at, page)) ? -EIO : 0;
}

/* The new contents of a piece; NULL: it stays as it is, or has no contents. */
static struct page *new_contents(const struct row *r, u32 piece)
{
	if (!piece)
		return r->state == KVP_ENTRY_VALID ? r->parity : NULL;
	return has_contents(r->new[piece]) ? r->new[piece]->page : NULL;
}

/* Index behind the last row of the stripe that row @i is in. */
static u32 end_of_stripe(const struct kvp_row_home *h, u32 i)
{
	const struct stripe *s = h->rows[i].stripe;

	while (i < h->nr_rows && h->rows[i].stripe == s)
		i++;
	return i;
}

/*
 * Add the pieces that lie on @leg, of the rows from @first to before @end. The rows are of one
 * stripe.
 */
static int add_pieces(struct kvp_row_home *h, u32 first, u32 end, u32 leg)
{
	const struct row *r = &h->rows[first], *behind = &h->rows[end];
	const struct kvp_vdev *v = r->stripe->leaf->v;
	u32 from = r->stripe->parity_leg;
	u32 piece = leg >= from ? leg - from : leg + v->nr_legs - from;
	struct kvp_place at = { .leg = leg };
	u64 start = v->g->data_start;
	int ret = 0;

	if (leg >= v->nr_legs)
		return 0;
	for (; !ret && r < behind; r++) {
		struct page *page = new_contents(r, piece);

		at.block = kvp_lblock(start + r->row);
		if (page)
			ret = add_page(h, v, at, page);
	}
	return ret;
}

/*
 * Write all pieces home. They are added leg by leg, so that stripes that follow one another make
 * one request.
 */
static int write_home(struct kvp_row_home *h)
{
	u32 leg, i, end;
	int ret = 0;

	for (leg = 0; leg < h->max_legs; leg++)
		for (i = 0; !ret && i < h->nr_rows; i = end) {
			end = end_of_stripe(h, i);
			ret = add_pieces(h, i, end, leg);
		}
	if (!ret)
		ret = kvp_batch_write(h->batch);
	kvp_batch_reset(h->batch);
	/* Half a row may be at home now. Only a recovery can repair that, from the log. */
	if (ret)
		kvp_fail(&h->pool->failure, KVP_FAIL_LOST, "a row may be half at home");
	return ret;
}

static void __update_row(struct kvp_pool *pool, struct kvp_tpage *leaf, const struct row *r)
{
	u32 i, legs = leaf->v->nr_legs;

	for (i = 1; i < legs; i++)
		if (r->new[i])
			__kvp_table_set_home(pool->table, leaf, r->new[i]);
	__kvp_table_set_parity(pool->table, leaf, r->row, r->crc, r->state);
}

static void poison_lost(struct kvp_row_home *h)
{
	u32 r, i;

	for (r = 0; r < h->nr_rows; r++)
		for (i = 1; h->rows[r].lost && i < vdev_of(&h->rows[r])->nr_legs; i++)
			if (h->rows[r].lost & BIT(i))
				kvp_row_poison(h->pool, h->rows[r].stripe->leaf, h->rows[r].row, i);
}

/*
 * Enter all rows in the table, under one lock for the rows of a stripe, or of several stripes with
 * few rows.
 */
static void update_rows(struct kvp_row_home *h)
{
	struct kvp_tpage *leaf;
	u32 i, end, r, n = 0;
	bool held = false;

	poison_lost(h);
	for (i = 0; i < h->nr_rows; i = end) {
		leaf = h->rows[i].stripe->leaf;
		end = end_of_stripe(h, i);
		if (held)
			kvp_table_lock_next(h->pool->table, leaf);
		else
			kvp_table_lock(h->pool->table, leaf);
		for (r = i; r < end; r++)
			__update_row(h->pool, leaf, &h->rows[r]);
		n += end - i;
		held = n < ROWS_AT_ONCE && end < h->nr_rows;
		if (held)
			continue;
		kvp_table_unlock(h->pool->table);
		n = 0;
	}
}

/* Count all versions of the row as covered, since new[] has only the newest ones. */
static void cover_versions(struct kvp_row_home *h, const struct row *r)
{
	struct kvp_version *d;

	list_for_each_entry(d, &r->stripe->versions, list)
		if (row_number(r->stripe, d->block) == r->row)
			kvp_log_covered(h->pool->log, d);
}

/*
 * The parity of partial rows is in the log. So their versions need no more room there. Versions of
 * other rows keep their room until the tail has passed them.
 */
static void cover_rows(struct kvp_row_home *h)
{
	u32 i, piece;

	for (i = 0; i < h->nr_rows; i++) {
		const struct row *r = &h->rows[i];

		if (!r->partial)
			continue;
		for (piece = 1; piece < vdev_of(r)->nr_legs; piece++)
			if (r->new[piece])
				kvp_log_covered(h->pool->log, r->new[piece]);
		if (r->stripe->repeated)
			cover_versions(h, r);
	}
}

static void unlock_all(struct kvp_row_home *h)
{
	u32 i;

	kvp_range_unlock_each(&h->pool->ranges, h->ranges, h->nr_stripes);
	for (i = 0; i < h->nr_stripes; i++)
		kvp_table_put(h->stripes[i].leaf);
	h->nr_stripes = 0;
	h->nr_rows = 0;
}

static void put_back(struct kvp_row_home *h, struct list_head *versions)
{
	LIST_HEAD(back);
	u32 i;

	for (i = 0; i < h->nr_stripes; i++)
		list_splice_tail_init(&h->stripes[i].versions, &back);
	unlock_all(h);
	list_splice(&back, versions);
}

/*
 * Do this under the locks, so that the next holder of a lock does not find these versions as not
 * yet home.
 */
static void forget_versions(struct kvp_row_home *h)
{
	struct kvp_version *d, *next;
	LIST_HEAD(done);
	u32 i;

	for (i = 0; i < h->nr_stripes; i++)
		list_splice_tail_init(&h->stripes[i].versions, &done);
	list_for_each_entry_safe(d, next, &done, list)
		if (!d->page)
			list_del(&d->list);	/* of the edge of a discard */
	kvp_wbuf_drop_list(h->pool->wbuf, &done);
}

static void end_stripes(struct kvp_row_home *h)
{
	u32 i;

	for (i = 0; i < h->pool->vdevs.nr; i++)
		if (h->begun & BIT(i))
			kvp_vdev_end_stripes(&h->pool->vdevs.v[i]);
	h->begun = 0;
}

/*
 * R7: data in the log protects what destage writes. Nothing but the other legs protects a stripe
 * under an intent, so none is begun without a leg. Returns false if one is out.
 */
static bool begin_stripes(struct kvp_row_home *h)
{
	u32 i;

	for (i = 0; h->whole && i < h->nr_stripes; i++) {
		u32 v = h->stripes[i].leaf->v->index;

		if (h->begun & BIT(v))
			continue;
		if (!kvp_vdev_begin_stripes(&h->pool->vdevs.v[v])) {
			end_stripes(h);
			return false;
		}
		h->begun |= BIT(v);
	}
	return true;
}

/* Write all rows home that are locked. */
static int finish(struct kvp_row_home *h, struct list_head *versions, struct kvp_log_at limit)
{
	unsigned long start = jiffies;
	u32 stripes = h->nr_stripes;
	int ret;

	if (!stripes)
		return 0;
	ret = compute_rows(h);
	if (!ret)
		ret = log_parity(h, limit);
	if (!ret && !begin_stripes(h))
		ret = KVP_NOT_BEGUN;
	if (!ret) {
		cover_rows(h);
		ret = write_home(h);
		end_stripes(h);
	}
	if (ret) {
		put_back(h, versions);
		return ret;
	}
	update_rows(h);
	forget_versions(h);
	unlock_all(h);
	if (stripes * 2 > h->most_stripes)
		h->most_stripes = kvp_pace(h->most_stripes, start, BATCH_JIFFIES, MIN_STRIPES,
					   MAX_STRIPES);
	return 0;
}

/* --- taking stripes -------------------------------------------------------------------- */

static void begin_stripe(struct stripe *s, struct kvp_tpage *leaf, kvp_block_t first)
{
	const struct kvp_geometry *g = leaf->v->g;

	s->leaf = leaf;
	s->first = first;
	s->row = kvp_row_of(g, kvp_vdev_block(leaf, first));
	s->parity_leg = kvp_row_place(g, s->row, 0).leg;
	s->end = 0;
	s->next = 0;
	s->repeated = false;
}

static struct stripe *lock_stripe(struct kvp_row_home *h, struct list_head *versions,
				  kvp_block_t first, struct kvp_log_at limit, int *error)
{
	u32 blocks = kvp_stripe_blocks(kvp_locate(h->pool, first).v->g);
	kvp_block_t last = kvp_block_add(first, blocks - 1);
	struct kvp_tpage *leaf = kvp_table_load_home(h->pool->table, first);
	struct stripe *s = &h->stripes[h->nr_stripes];

	if (IS_ERR(leaf)) {
		*error = PTR_ERR(leaf);
		return NULL;
	}
	if (!kvp_range_trylock(&h->pool->ranges, &h->ranges[h->nr_stripes], first, last)) {
		/* The holder may wait for ranges that this caller holds: finish those first. */
		*error = finish(h, versions, limit);
		if (*error) {
			kvp_table_put(leaf);
			return NULL;
		}
		s = &h->stripes[0];
		kvp_range_lock(&h->pool->ranges, &h->ranges[0], first, last);
	}
	begin_stripe(s, leaf, first);
	h->nr_stripes++;
	return s;
}

static struct row *add_row(struct kvp_row_home *h, struct stripe *s, u64 number)
{
	struct row *r = &h->rows[h->nr_rows];

	memset(r, 0, sizeof(*r));
	r->row = number;
	r->stripe = s;
	r->parity = h->parity.page[h->nr_rows++];
	s->end = max(s->end, number + 1);
	return r;
}

/*
 * The row with @number of the stripe; it is added if there is none. Callers ask in order of blocks:
 * chunk after chunk, and within each row after row.
 */
static struct row *row_of(struct kvp_row_home *h, struct stripe *s, u64 number)
{
	u32 i = s->next;

	if (i < h->nr_rows && h->rows[i].stripe == s && h->rows[i].row == number) {
		s->next++;
		return &h->rows[i];
	}
	if (number >= s->end)
		return add_row(h, s, number);
	for (i = h->nr_rows; i && h->rows[i - 1].stripe == s; i--)
		if (h->rows[i - 1].row == number) {
			s->next = i;
			return &h->rows[i - 1];
		}
	return add_row(h, s, number);
}

/*
 * Sort the rows of a stripe: those that only a later chunk changes were added last. In order of
 * rows, neighbours on a leg make one request.
 */
static void sort_rows(struct row *rows, u32 nr)
{
	struct row r;
	u32 i, k;

	for (i = 1; i < nr; i++) {
		if (rows[i - 1].row < rows[i].row)
			continue;
		r = rows[i];
		for (k = i; k && rows[k - 1].row > r.row; k--)
			rows[k] = rows[k - 1];
		rows[k] = r;
	}
}

/* Lock the stripe at the head of @versions, and take all versions that go to it. */
static int take_stripe(struct kvp_row_home *h, struct list_head *versions, struct kvp_log_at limit)
{
	struct kvp_version *d = list_first_entry(versions, struct kvp_version, list);
	struct kvp_spot at = kvp_locate(h->pool, d->block);
	const struct kvp_geometry *g = at.v->g;
	u32 blocks = kvp_stripe_blocks(g), chunk = g->chunk_blocks, before;
	kvp_block_t first = kvp_block_back(d->block, kvp_vblock_nr(at.block) % blocks);
	struct stripe *s;
	int error = 0;

	s = lock_stripe(h, versions, first, limit, &error);
	if (!s)
		return error;
	before = h->nr_rows;
	list_for_each_entry(d, versions, list) {
		u32 in = kvp_block_since(d->block, first);
		struct kvp_version **new;

		if (kvp_block_since(d->block, first) >= blocks)
			break;
		new = &row_of(h, s, s->row + in % chunk)->new[1 + in / chunk];
		s->repeated |= !!*new;
		/* Of several versions of a block the last one counts, which is the newest. */
		*new = d;
	}
	list_cut_before(&s->versions, versions, &d->list);
	sort_rows(&h->rows[before], h->nr_rows - before);
	return 0;
}

void kvp_row_home_gives_way(struct kvp_row_home *h, struct kvp_spell *spell)
{
	h->batch->spell = spell;
}

int kvp_row_home_write(struct kvp_row_home *h, struct list_head *versions, struct kvp_log_at limit)
{
	int ret = 0;

	while (!ret && !list_empty(versions)) {
		kvp_batch_give_way(h->batch);
		ret = take_stripe(h, versions, limit);
		if (!ret && (h->nr_stripes >= h->most_stripes ||
			     h->nr_rows + h->pool->vdevs.max_chunk > h->max_rows))
			ret = finish(h, versions, limit);
	}
	/* If there is no memory for one more page, write the others home: that may free memory. */
	if (!ret || ret == -ENOMEM)
		ret = finish(h, versions, limit) ?: ret;
	else
		put_back(h, versions);
	return ret;
}

/* --- discards -------------------------------------------------------------------------- */

/* Discard a part of a stripe, as if zeros overwrote it. */
static int discard_part(struct kvp_row_home *h, kvp_block_t block, u32 count,
			struct kvp_log_at limit)
{
	LIST_HEAD(versions);
	u32 i;

	for (i = 0; i < count; i++) {
		struct kvp_version *d = &h->edge[i];

		memset(d, 0, sizeof(*d));
		d->block = kvp_block_add(block, i);
		d->count = 1;
		d->zero = true;
		list_add_tail(&d->list, &versions);
	}
	return kvp_row_home_write(h, &versions, limit);
}

/* The same, but only if any of the part's entries is written: null pointers stay null. */
static int discard_edge(struct kvp_row_home *h, struct kvp_vdev *v, kvp_vblock_t own, u32 count,
			struct kvp_log_at limit)
{
	kvp_vblock_t end = kvp_vblock_add(own, count), written;
	int ret = kvp_table_next_own(v->pool->table, v, own, end, &written);

	if (ret || !kvp_vblock_before(written, end))
		return ret;
	return discard_part(h, kvp_pool_block(v, own), count, limit);
}

int kvp_row_home_discard(struct kvp_row_home *h, struct kvp_vdev *v, kvp_vblock_t *own,
			 kvp_vblock_t end, struct kvp_log_at limit, u32 *leaves)
{
	u32 stripe = kvp_stripe_blocks(v->g);
	kvp_vblock_t whole = kvp_vblock(kvp_vblock_nr(end) - kvp_vblock_nr(end) % stripe);
	int ret = 0;

	while (!ret && kvp_vblock_before(*own, end) && *leaves) {
		u32 n = min_t(u64, stripe - kvp_vblock_nr(*own) % stripe,
			      kvp_vblock_since(end, *own));

		if (n == stripe) {
			ret = kvp_home_discard_leaves(v, own, whole, leaves);
			continue;
		}
		ret = discard_edge(h, v, *own, n, limit);
		if (!ret)
			*own = kvp_vblock_add(*own, n);
		--*leaves;
	}
	return ret;
}
