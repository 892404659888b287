// SPDX-License-Identifier: GPL-2.0-only
/* Streams the checksum table. */
#include <stdlib.h>

#include "format/regions.h"
#include "table.h"

int table_open(struct table *t, const struct offline_pool *pool)
{
	u32 level;

	memset(t, 0, sizeof(*t));
	t->pool = pool;
	t->raw = blocks_alloc(1);
	for (level = 0; level < pool->g->levels; level++) {
		t->levels[level].page = blocks_alloc(1);
		if (!t->raw || !t->levels[level].page) {
			table_close(t);
			return -ENOMEM;
		}
	}
	return 0;
}

void table_close(struct table *t)
{
	u32 level;

	for (level = 0; level < KVP_MAX_LEVELS; level++)
		free(t->levels[level].page);
	free(t->raw);
	memset(t, 0, sizeof(*t));
}

u64 table_leaves(const struct offline_pool *pool)
{
	return kvp_pages_at(pool->g, 0);
}

/* Reads every copy, so that each leg's bad ones are counted; keeps the first good one. */
static enum page_state read_page(struct table *t, u32 level, u64 index, u64 ptr)
{
	const struct offline_pool *p = t->pool;
	enum page_state state = PAGE_ELSEWHERE;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(p->g); copy++) {
		struct kvp_place at = kvp_page_place(p->g, level, index, kvp_ptr_slot(ptr), copy);
		int leg = offline_leg(p, at.leg);

		if (leg < 0)
			continue;
		if (device_read(p->legs[leg], at.block, 1, t->raw) ||
		    kvp_page_sum(p->seed, level, index, t->raw) != kvp_ptr_sum(ptr)) {
			t->bad[leg]++;
			state = state == PAGE_GOOD ? PAGE_GOOD : PAGE_LOST;
		} else if (state != PAGE_GOOD) {
			state = PAGE_GOOD;
			memcpy(t->levels[level].page, t->raw, KVP_BLOCK_SIZE);
		}
	}
	t->good += state == PAGE_GOOD;
	t->lost += state == PAGE_LOST;
	t->elsewhere += state == PAGE_ELSEWHERE;
	return state;
}

/* This page was given up: everything below it is poisoned. */
static void fill_given_up(struct kvp_disk_page *page, u32 level)
{
	u64 word = level ? KVP_PTR_LOST : kvp_entry(0, 0, KVP_ENTRY_POISONED);
	u32 i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		page->slot[i] = cpu_to_le64(word);
}

/* Pointer to page (@level, @index); false where a page above already decides the state. */
static bool find_ptr(struct table *t, u32 level, u64 index, u64 *ptr)
{
	const struct table_level *up = &t->levels[level + 1];

	if (level == t->pool->g->levels - 1) {
		*ptr = t->pool->sb->roots[t->pool->first_root + index];
		return true;
	}
	if (up->state != PAGE_GOOD)
		return false;
	*ptr = le64_to_cpu(up->page->slot[index % KVP_PTRS_PER_PAGE]);
	return true;
}

/* Loads page (@level, @index) into its level; the pages above are loaded. */
static void load_page(struct table *t, u32 level, u64 index)
{
	struct table_level *l = &t->levels[level];

	if (l->loaded && l->index == index)
		return;
	l->loaded = true;
	l->index = index;
	l->decided = level;
	if (!find_ptr(t, level, index, &l->ptr)) {
		l->state = t->levels[level + 1].state;
		l->decided = t->levels[level + 1].decided;
	} else if (kvp_ptr_null(l->ptr)) {
		l->state = PAGE_NULL;
	} else if (kvp_ptr_lost(l->ptr)) {
		fill_given_up(l->page, level);
		l->state = PAGE_GOOD;
	} else {
		l->state = read_page(t, level, index, l->ptr);
	}
}

enum page_state table_leaf(struct table *t, u64 index, u64 *next)
{
	u64 leaves = table_leaves(t->pool);
	u32 level = t->pool->g->levels, shift;

	while (level--)
		load_page(t, level, index >> (KVP_PTRS_SHIFT * level));
	*next = index + 1;
	if (t->levels[0].state != PAGE_GOOD) {
		shift = KVP_PTRS_SHIFT * t->levels[0].decided;
		*next = ((index >> shift) + 1) << shift;
	}
	if (*next > leaves)
		*next = leaves;
	return t->levels[0].state;
}

u64 table_span(const struct offline_pool *pool, u64 leaf, u64 next)
{
	u64 used = kvp_map_from(&pool->sb->map, pool->vdev, pool->sb->pool_blocks);
	u64 first = leaf * kvp_leaf_blocks(pool->g), end = next * kvp_leaf_blocks(pool->g);

	if (used < end)
		end = used;
	return end > first ? end - first : 0;
}

void table_walk(struct table *t, table_step_fn step, void *arg)
{
	u64 leaves = table_leaves(t->pool), leaf = 0, next;
	enum page_state state;

	while (leaf < leaves) {
		state = table_leaf(t, leaf, &next);
		leaf = step(arg, leaf, next, state);
	}
}

u64 table_entry(const struct table *t, u32 slot)
{
	return le64_to_cpu(t->levels[0].page->slot[slot]);
}
