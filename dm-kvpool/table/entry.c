// SPDX-License-Identifier: GPL-2.0-only
/* Entries of blocks and of parity: what they are, and how they change, by table->lock. */
#include "core/cache_client.h"
#include "core/core.h"
#include "format/format.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "table/tpage.h"

void __kvp_tpage_dirty(struct kvp_table *t, struct kvp_tpage *tp)
{
	lockdep_assert_held(&t->lock);
	if (test_and_set_bit(KVP_TPAGE_DIRTY, &tp->flags))
		return;
	refcount_inc(&tp->ref);
	list_add_tail(&tp->list, &t->dirty);
	WRITE_ONCE(t->nr_dirty, t->nr_dirty + 1);
}

/*
 * Mark the page and its ancestors: poison is below. Pointers show the poison from the next
 * checkpoint on. Until then a search for poison looks at the pages with this mark.
 */
void __kvp_tpage_poison(struct kvp_tpage *tp)
{
	for (; tp && !test_bit(KVP_TPAGE_POISON, &tp->flags); tp = tp->parent)
		set_bit(KVP_TPAGE_POISON, &tp->flags);
}

static void __count(struct kvp_table *t, u64 entry, int change)
{
	switch (kvp_entry_state(entry)) {
	case KVP_ENTRY_VALID:
		/*
		 * @t->written was lowered for leaves that were dropped unread, as if they had been
		 * full. So more blocks may leave the state than are counted.
		 */
		if (change > 0 || t->written)
			t->written += change;
		break;
	case KVP_ENTRY_POISONED:
		t->poisoned += change;
		break;
	}
}

/* Change word @word of the leaf. No other function changes an entry that readers can find. */
static void __set(struct kvp_table *t, struct kvp_tpage *leaf, u32 word, u64 entry)
{
	lockdep_assert_held(&t->lock);
	if (kvp_entry_state(entry) == KVP_ENTRY_POISONED)
		__kvp_tpage_poison(leaf);
	WRITE_ONCE(tpage_words(leaf)[word], cpu_to_le64(entry));
	smp_wmb();	/* entry, then counter; pairs with those in stripe_read.c */
	WRITE_ONCE(leaf->changes, leaf->changes + 1);
	__kvp_tpage_dirty(t, leaf);
}

void kvp_table_tell_cache(const struct kvp_table *t, kvp_block_t block, u32 count)
{
	const struct kvp_cache_client *cache = t->client.vdevs->cache_client;

	if (cache)
		cache->forget(t->client.of, block, count);
}

/* Change the entry of a data block. The caller tells the caches, before it unlocks the table. */
static void __set_data(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u64 entry)
{
	u32 word = kvp_leaf_word(leaf, block);
	u64 old = le64_to_cpu(tpage_words(leaf)[word]);

	if (kvp_entry_state(old) != kvp_entry_state(entry)) {
		__count(t, old, -1);
		__count(t, entry, 1);
	}
	__set(t, leaf, word, entry);
}

void __kvp_table_set_data(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u64 entry,
			  const struct kvp_version *home)
{
	__set_data(t, leaf, block, entry);
	if (home)
		kvp_rcache_home_written(t->client.rcache, home);
	else
		kvp_rcache_forget(t->client.rcache, block);
	kvp_table_tell_cache(t, block, 1);
}

u64 kvp_table_parity(const struct kvp_tpage *leaf, u64 row)
{
	return kvp_leaf_entry(leaf, tpage_parity_word(leaf, row));
}

/* True if @tp is not being written, or only a copy of it is. By t->lock. */
static bool may_change(const struct kvp_tpage *tp)
{
	return !test_bit(KVP_TPAGE_WRITING, &tp->flags) || tp->fixed;
}

/* Take t->lock when @tp may change; wait while a checkpoint writes it. */
static void lock_for_change(struct kvp_table *t, struct kvp_tpage *tp)
{
	for (;;) {
		mutex_lock(&t->lock);
		if (may_change(tp))
			return;
		mutex_unlock(&t->lock);
		wait_event(t->wait, !test_bit(KVP_TPAGE_WRITING, &tp->flags));
	}
}

void kvp_table_lock(struct kvp_table *t, struct kvp_tpage *leaf)
{
	lock_for_change(t, leaf);
}

void kvp_table_lock_next(struct kvp_table *t, struct kvp_tpage *leaf)
{
	lockdep_assert_held(&t->lock);
	if (may_change(leaf))
		return;
	mutex_unlock(&t->lock);
	lock_for_change(t, leaf);
}

void kvp_table_unlock(struct kvp_table *t)
{
	mutex_unlock(&t->lock);
}

void __kvp_table_set(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		     enum kvp_entry_state state)
{
	if (state == KVP_ENTRY_POISONED)
		WRITE_ONCE(t->poisonings, t->poisonings + 1);
	__kvp_table_set_data(t, leaf, block,
			     kvp_entry(state == KVP_ENTRY_VALID ? crc : 0, t->era, state), NULL);
}

void __kvp_table_set_home(struct kvp_table *t, struct kvp_tpage *leaf, const struct kvp_version *d)
{
	enum kvp_entry_state state = d->zero ? KVP_ENTRY_UNWRITTEN : KVP_ENTRY_VALID;
	const struct kvp_cache_client *cache = t->client.vdevs->cache_client;

	__kvp_table_set_data(t, leaf, d->block, kvp_entry(d->zero ? 0 : d->crc, t->era, state), d);
	if (cache)
		cache->home_written(t->client.of, d);
}

/* Entries of @count blocks from @block on name what went home by intent: caches keep none of it. */
static void __forget(struct kvp_table *t, kvp_block_t block, u32 count)
{
	if (!count)
		return;
	kvp_rcache_forget_range(t->client.rcache, block, count);
	kvp_table_tell_cache(t, block, count);
}

u32 __kvp_table_set_homes(struct kvp_table *t, struct kvp_tpage *leaf,
			  const struct list_head *versions)
{
	kvp_block_t first = kvp_block(0);
	const struct kvp_version *d;
	u32 n = 0, run = 0;

	lockdep_assert_held(&t->lock);
	list_for_each_entry(d, versions, list) {
		n++;
		if (!d->intent) {
			__kvp_table_set_home(t, leaf, d);
			continue;
		}
		__set_data(t, leaf, d->block, kvp_entry(d->crc, t->era, KVP_ENTRY_VALID));
		if (d->block != kvp_block_add(first, run)) {
			__forget(t, first, run);
			first = d->block;
			run = 0;
		}
		run++;
	}
	__forget(t, first, run);
	return n;
}

void __kvp_table_set_parity(struct kvp_table *t, struct kvp_tpage *leaf, u64 row, u32 crc,
			    enum kvp_entry_state state)
{
	__set(t, leaf, tpage_parity_word(leaf, row),
	      kvp_entry(state == KVP_ENTRY_VALID ? crc : 0, t->era, state));
}

void kvp_table_set(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		   enum kvp_entry_state state)
{
	kvp_table_lock(t, leaf);
	__kvp_table_set(t, leaf, block, crc, state);
	kvp_table_unlock(t);
}

void __kvp_table_row_unwritten(struct kvp_table *t, struct kvp_tpage *leaf, kvp_vblock_t own)
{
	u64 row = kvp_row_of(leaf->v->g, own);

	if (kvp_entry_state(kvp_table_parity(leaf, row)) != KVP_ENTRY_UNWRITTEN)
		__kvp_table_set_parity(t, leaf, row, 0, KVP_ENTRY_UNWRITTEN);
}
