// SPDX-License-Identifier: GPL-2.0-only
/*
 * Part of step 4 of a start: does a leg that lacks the newest superblock have the table pages that
 * this superblock names? If not, an older state was put back onto it (R29).
 *
 * The sequence of its label does not tell: a power cut between the writes to two legs leaves one of
 * them behind, too. But a superblock is written only after its pages are durable on all legs in
 * sync, in slots that the superblock before does not name (R3). And no slot of these is written
 * again before all legs have the superblock. So the leg has each page that has changed since its
 * own superblock.
 *
 * - Has it one of these pages? Then it was not put back. One page may have rotted. So if a page is
 *   wrong on this leg, those that changed below it are asked for as well. Which these are is found
 *   by a comparison with the page that the leg's own superblock names.
 * - Can a page not be read now? Then it says nothing (R27), and the label counts.
 * - Is no root another one? Then no home was written for good since: the log still has it all,
 *   or its intents, and the recovery makes the legs equal.
 * - Of a parity1, each page is on two legs. If the leg has no place for a page that changed,
 *   nothing is known.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "format/format.h"
#include "format/sbring.h"
#include "io/flight.h"
#include "io/io.h"
#include "io/probe.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/start_steps.h"

#define MOST_PAGES	64	/* that are asked for before it counts that none is there */

/* Pages to read into: an old and a new one for each level, and one for the leg that is asked. */
static_assert(2 * KVP_MAX_LEVELS + 1 <= KVP_SB_RING * KVP_SB_BLOCKS);

struct look {
	struct kvp_pool *pool;
	struct kvp_leg *leg;		/* the one that lacks the newest superblock */
	const struct kvp_geometry *g;	/* of its vdev */
	struct page **pages;
	struct kvp_seed seed;
	u32 pauses, asked, wrong;
	bool right;			/* the leg has a page that changed */
};

static struct kvp_leg *leg_at(const struct look *k, struct kvp_place at)
{
	return &k->pool->legs[k->g->first_leg + at.leg];
}

static int read_at(struct look *k, struct kvp_place at, struct page *page)
{
	struct kvp_io io = {
		.leg = leg_at(k, at),
		.op = KVP_IO_READ,
		.block = at.block,
		.nr = 1,
		.pages = &page,
	};

	return kvp_start_read(&io, &k->pauses);
}

/* Ask the leg for each of its copies of a page. It is wrong there if all were read, and differ. */
static void ask(struct look *k, u32 level, u64 index, u64 ptr)
{
	struct page *page = k->pages[2 * KVP_MAX_LEVELS];
	bool wrong = false, unread = false;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(k->g); copy++) {
		struct kvp_place at = kvp_page_place(k->g, level, index, kvp_ptr_slot(ptr), copy);

		if (leg_at(k, at) != k->leg)
			continue;
		if (read_at(k, at, page))
			unread = true;
		else if (kvp_page_sum(k->seed, level, index, page_address(page)) ==
			 kvp_ptr_sum(ptr))
			k->right = true;
		else
			wrong = true;
	}
	k->wrong += wrong && !unread;
}

/* Read the page that @ptr names from any leg in sync. Returns false if none gives it. */
static bool find(struct look *k, u32 level, u64 index, u64 ptr, struct page *page)
{
	u32 copy;

	if (kvp_ptr_null(ptr)) {
		clear_page(page_address(page));
		return true;
	}
	for (copy = 0; !kvp_ptr_lost(ptr) && copy < kvp_page_copies(k->g); copy++) {
		struct kvp_place at = kvp_page_place(k->g, level, index, kvp_ptr_slot(ptr), copy);

		if (leg_at(k, at)->bdev && kvp_leg_in_sync(leg_at(k, at)) &&
		    !read_at(k, at, page) &&
		    kvp_page_sum(k->seed, level, index, page_address(page)) == kvp_ptr_sum(ptr))
			return true;
	}
	return false;
}

static u64 word(struct page *page, u32 i)
{
	return le64_to_cpu(((const __le64 *)page_address(page))[i]);
}

/*
 * Ask for the page that was named by @was, and is by @is, and for those that changed below it,
 * until one is right. The recursion is at most three deep.
 */
static void look_below(struct look *k, u32 level, u64 index, u64 was, u64 is)
{
	struct page *old = k->pages[2 * level], *new = k->pages[2 * level + 1];
	u32 i;

	if (was == is || kvp_ptr_null(is) || kvp_ptr_lost(is) || k->right ||
	    k->asked >= MOST_PAGES)
		return;
	k->asked++;
	ask(k, level, index, is);
	if (k->right || !level || !find(k, level, index, was, old) ||
	    !find(k, level, index, is, new))
		return;
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		look_below(k, level - 1, index * KVP_PTRS_PER_PAGE + i, word(old, i), word(new, i));
}

static u32 roots_of(const struct kvp_geometry *g)
{
	return g->levels ? kvp_root_count(g) : 0;
}

static u32 first_root(const struct kvp_sb *sb, u32 v)
{
	u32 i, first = 0;

	for (i = 0; i < v; i++)
		first += roots_of(&sb->vdevs[i]);
	return first;
}

/* True if the roots of vdev @v name the same places in both superblocks. */
static bool same_table(const struct kvp_sb *a, const struct kvp_sb *b, u32 v)
{
	return v < a->vdev_count && a->vdevs[v].levels == b->vdevs[v].levels &&
	       a->vdevs[v].table_start == b->vdevs[v].table_start &&
	       roots_of(&a->vdevs[v]) == roots_of(&b->vdevs[v]) &&
	       first_root(a, v) == first_root(b, v);
}

static u32 vdev_of(const struct kvp_sb *sb, u32 leg)
{
	u32 v = 0;

	while (leg >= sb->vdevs[v].first_leg + sb->vdevs[v].leg_count)
		v++;
	return v;
}

/* True if the leg lacks all pages that changed since @own, its newest superblock. */
static bool lacks_pages(struct kvp_pool *pool, struct kvp_labels *l, u32 leg,
			const struct kvp_sb *own, const struct kvp_sb *best)
{
	u32 v = vdev_of(best, leg), first = first_root(best, v), i;
	struct look k = {
		.pool = pool, .leg = &pool->legs[leg], .g = &best->vdevs[v], .pages = l->pages,
		.seed = kvp_sum_seed(best->nonce, v, best->incompat),
	};

	/* If the table was moved, it is unknown which pages changed. */
	if (!same_table(own, best, v))
		return false;
	for (i = 0; i < roots_of(k.g); i++)
		look_below(&k, k.g->levels - 1, i, own->roots[first + i], best->roots[first + i]);
	return k.wrong && !k.right;
}

void kvp_find_put_back(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best)
{
	u32 i;

	if (!best->behind_known)
		return;
	kvp_probes_begin(pool);
	for (i = 0; i < best->leg_count; i++) {
		const struct kvp_label *label = l->ordered_label[i];
		struct kvp_leg *leg = &pool->legs[i];
		u64 held;

		if (!label || !kvp_leg_in_sync(leg))
			continue;
		held = kvp_sb_rings_may_hold(&label->rings, label->sb->sequence);
		if (held >= best->sequence || !lacks_pages(pool, l, i, label->sb, best))
			continue;
		leg->lag = best->sequence - held;
		leg->state = KVP_LEG_STALE;
	}
	kvp_probes_end(pool);
	kvp_flights_wait_watch(pool);
}
