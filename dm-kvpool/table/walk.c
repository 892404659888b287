// SPDX-License-Identifier: GPL-2.0-only
/* Searches through the table: what was written, what changed since an era, what is poisoned. */
#include "core/core.h"
#include "format/regions.h"
#include "table/table.h"
#include "table/tpage.h"

/**
 * struct walk - what a search through the table looks for
 * @since: changes in this era or later, as of the last checkpoint; 0: all that was ever written
 * @poison: poisoned blocks
 * @discard: the caller discards all of it: give up lost pages above the leaves, and do not read
 *	pages that kvp_table_discard() need not read
 */
struct walk {
	u32 since;
	bool poison, discard;
};

/* True if nothing that @w looks for is below the page of @level above @block. */
static bool skipped(struct kvp_table *t, const struct kvp_vdev *v, struct kvp_tpage *parent,
		    u32 level, kvp_vblock_t block, const struct walk *w)
{
	u64 index = tpage_index(v, level, block), ptr = tpage_pointer(t, v, parent, index);
	struct kvp_tpage *tp;
	bool skip;

	if (!w->poison && kvp_ptr_era(ptr) < w->since)
		return true;
	if (w->poison ? kvp_ptr_poison(ptr) : !kvp_ptr_null(ptr))
		return false;
	/*
	 * Until the next checkpoint a change may be in memory only. A clean leaf is as its pointer
	 * says.
	 */
	tp = kvp_tpage_lookup(t, v, level, index);
	if (!tp)
		return true;
	if (w->poison)
		skip = !test_bit(KVP_TPAGE_POISON, &tp->flags);
	else
		skip = !level && !test_bit(KVP_TPAGE_DIRTY, &tp->flags) &&
		       !test_bit(KVP_TPAGE_WRITING, &tp->flags);
	kvp_table_put(tp);
	return skip;
}

/* True if kvp_table_discard() discards all that is below the page of level 1 above @own at once. */
static bool is_whole(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own,
		     kvp_vblock_t end)
{
	return kvp_vblock_before(own, kvp_table_behind_whole(t, v, own, end));
}

/*
 * Find the first block of one vdev, from @block on, with a change below its leaf. *@at receives it,
 * or @end. After an error, *@at is below the page that could not be read, and *@behind is behind
 * all blocks below that page.
 */
static int next_of_vdev(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t block,
			kvp_vblock_t end, const struct walk *w, kvp_vblock_t *at,
			kvp_vblock_t *behind)
{
	u32 top = v->g->levels - 1, level;

	while (kvp_vblock_before(block, end)) {
		struct kvp_tpage *parent = NULL;

		for (level = top; ; level--) {
			if (skipped(t, v, parent, level, block, w) || !level ||
			    (level == 1 && w->discard && is_whole(t, v, block, end)))
				break;
			if (parent)
				kvp_table_put(parent);
			parent = __kvp_tpage_load(t, v, level, tpage_index(v, level, block),
						  w->discard ? KVP_LOST_GOES :
						  KVP_LOST_STAYS);
			if (IS_ERR(parent)) {
				*at = block;
				*behind = tpage_behind(v, level, block);
				return PTR_ERR(parent);
			}
		}
		if (!skipped(t, v, parent, level, block, w)) {
			if (parent)
				kvp_table_put(parent);
			break;
		}
		if (parent)
			kvp_table_put(parent);
		block = tpage_behind(v, level, block);
	}
	*at = kvp_vblock_first(block, end);
	return 0;
}

int kvp_table_next_own(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end,
		       kvp_vblock_t *next)
{
	static const struct walk written = { .discard = true };
	kvp_vblock_t behind;

	return next_of_vdev(t, v, own, end, &written, next, &behind);
}

/*
 * Where a search goes on after @at, whose page cannot be read. @behind is the first block of @v
 * that is not below that page.
 */
static kvp_block_t next_readable(struct kvp_table *t, struct kvp_vdev *v, kvp_block_t at,
				 kvp_vblock_t behind)
{
	/* Other vdevs have their turns among the blocks below it: go on behind this turn. */
	if (t->client.vdevs->nr_with_data == 1)
		return kvp_pool_block(v, behind);
	return kvp_block_add(at, kvp_vdevs_find(t->client.vdevs, at).left);
}

/*
 * The same for the whole pool, by the pool's block numbers. Returns an error only if the page of
 * @block itself cannot be read; *@next is then behind all that is below this page. If it is the
 * page of a later block, this returns that block, and the next call gets the error.
 */
static int next_of_pool(struct kvp_table *t, kvp_block_t block, const struct walk *w,
			kvp_block_t *next)
{
	kvp_block_t end = kvp_vdevs_end(t->client.vdevs);
	u32 i;

	*next = end;
	for (i = 0; i < t->client.vdevs->nr_with_data; i++) {
		struct kvp_vdev *v = t->client.vdevs->with_data[i];
		kvp_vblock_t own, behind;
		kvp_block_t at;
		int error;

		error = next_of_vdev(t, v, kvp_vdev_from(v, block), kvp_vdev_from(v, end), w, &own,
				     &behind);
		at = kvp_pool_block(v, own);
		if (error && at == block) {
			*next = next_readable(t, v, at, behind);
			return error;
		}
		*next = kvp_block_first(*next, at);
	}
	return 0;
}

int kvp_table_next_changed(struct kvp_table *t, kvp_block_t block, u32 since, kvp_block_t *next)
{
	const struct walk w = { .since = since };

	return next_of_pool(t, block, &w, next);
}

int kvp_table_next_written(struct kvp_table *t, kvp_block_t block, kvp_block_t *next)
{
	return kvp_table_next_changed(t, block, 0, next);
}

int kvp_table_next_of_vdev(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
			   kvp_vblock_t end, u32 since, kvp_vblock_t *next, kvp_vblock_t *behind)
{
	const struct walk w = { .since = since };

	return next_of_vdev(t, v, own, end, &w, next, behind);
}

/* What kvp_table_next_born() looks for in one vdev, and what it finds, in blocks of that vdev. */
struct born {
	u32 since;
	kvp_vblock_t first, end;
	bool whole;
};

/* True if @ptr alone tells what is below: there is no page that tells which blocks changed. */
static bool tells_all(u64 ptr)
{
	return kvp_ptr_null(ptr) || kvp_ptr_lost(ptr);
}

/* Follow pointers from the top to the lowest that names a page which may have changed. */
static int next_born(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t end, struct born *b)
{
	kvp_vblock_t at = b->first;

	for (; kvp_vblock_before(at, end); at = b->end) {
		u32 level = v->g->levels - 1;
		struct kvp_tpage *page = NULL;
		u64 ptr;

		for (;; level--) {
			ptr = tpage_pointer(t, v, page, tpage_index(v, level, at));
			if (page)
				kvp_table_put(page);
			if (!level || kvp_ptr_era(ptr) < b->since || tells_all(ptr))
				break;
			page = kvp_tpage_load(t, v, level, tpage_index(v, level, at));
			if (page == ERR_PTR(-ENOMEM))
				return -ENOMEM;
			if (IS_ERR(page))
				break;
		}
		b->end = tpage_behind(v, level, at);
		b->whole = IS_ERR(page) || tells_all(ptr);
		if (kvp_ptr_era(ptr) >= b->since)
			break;
	}
	b->first = kvp_vblock_first(at, end);
	return 0;
}

int kvp_table_next_born(struct kvp_table *t, kvp_block_t block, u32 since, struct kvp_stretch *s)
{
	kvp_block_t end = kvp_vdevs_end(t->client.vdevs), first;
	u32 i;

	*s = (struct kvp_stretch){ .first = end, .end = end };
	for (i = 0; i < t->client.vdevs->nr_with_data; i++) {
		struct kvp_vdev *v = t->client.vdevs->with_data[i];
		struct born b = { .since = since, .first = kvp_vdev_from(v, block) };
		int ret;

		ret = next_born(t, v, kvp_vdev_from(v, end), &b);
		if (ret)
			return ret;
		first = kvp_pool_block(v, b.first);
		if (!kvp_block_before(first, s->first))
			continue;
		/* With several vdevs, other vdevs have their turns next: end with this turn. */
		s->end = t->client.vdevs->nr_with_data == 1 ?
				 kvp_pool_block(v, b.end) :
				 kvp_block_add(first, kvp_vdevs_find(t->client.vdevs, first).left);
		s->end = kvp_block_first(s->end, end);
		s->first = first;
		s->whole = b.whole;
	}
	return 0;
}

/* The first poisoned block from @block to before @behind, below @leaf; or @behind. */
static kvp_block_t first_poisoned(const struct kvp_tpage *leaf, kvp_block_t block,
				  kvp_block_t behind)
{
	while (kvp_block_before(block, behind) &&
	       kvp_entry_state(kvp_table_entry(leaf, block)) != KVP_ENTRY_POISONED)
		block = kvp_block_add(block, 1);
	return block;
}

/*
 * Go on at *@block: skip what has no poison, or look below one leaf, or pass a page that cannot be
 * read. Returns 1: *@block is poisoned; 0: it is not; or -ENOMEM.
 */
static int seek_poison(struct kvp_table *t, kvp_block_t *block)
{
	static const struct walk w = { .poison = true };
	int ret = next_of_pool(t, *block, &w, block);
	struct kvp_tpage *leaf;
	kvp_block_t behind;

	if (ret || !kvp_block_before(*block, kvp_vdevs_end(t->client.vdevs)))
		return ret == -ENOMEM ? ret : 0;
	behind = kvp_block_add(*block, kvp_vdevs_find(t->client.vdevs, *block).left);
	leaf = kvp_table_load(t, *block);
	if (leaf == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	*block = IS_ERR(leaf) ? behind : first_poisoned(leaf, *block, behind);
	if (!IS_ERR(leaf))
		kvp_table_put(leaf);
	return kvp_block_before(*block, behind);
}

int kvp_table_next_poisoned(struct kvp_table *t, kvp_block_t block, kvp_block_t *next)
{
	kvp_block_t end = kvp_vdevs_end(t->client.vdevs);
	int found = 0;

	/* Most pools have no poison, and the counter saves the walk. */
	if (!READ_ONCE(t->poisoned))
		block = end;
	while (!found && kvp_block_before(block, end)) {
		/*
		 * A suspend waits for this search, with all I/O stopped. The caller can ask again.
		 */
		if (test_bit(KVP_POOL_SUSPENDING, t->client.flags))
			return -EINTR;
		found = seek_poison(t, &block);
		if (found < 0)
			return found;
		kvp_table_shrink(t, false);
	}
	*next = kvp_block_first(block, end);
	return 0;
}
