// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/stats.h"
#include "policy/s3fifo.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"

/* A page of the cache is not worth a reclaim, nor the reserves for reclaim. */
#define FILL_GFP	(GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN | __GFP_NOMEMALLOC)

#define EVICT_AT_ONCE	64u	/* blocks that are evicted with interrupts off */
#define RESIZE_KEEPS	16384u	/* blocks of a shard, copied with interrupts off: a millisecond */

static u32 count_of(kvp_block_t block)
{
	return hash_64(kvp_block_nr(block) >> KVP_RCACHE_STRETCH_SHIFT, KVP_RCACHE_COUNT_BITS);
}

static struct kvp_rshard *shard_of(struct kvp_rcache *rc, kvp_block_t block)
{
	return &rc->shards[count_of(block) % KVP_RCACHE_SHARDS];
}

static u32 used_by(const struct kvp_rshard *s)
{
	return READ_ONCE(s->s3.small.count) + READ_ONCE(s->s3.main.count);
}

/* --- pages ------------------------------------------------------------------------ */

/*
 * Use the page of a block again that has left the cache, or free it. If the cache has the only
 * reference, no reader uses the page. A reader that found it before notices that after taking its
 * reference.
 */
static void __recycle(struct kvp_rshard *s, struct page *page)
{
	lockdep_assert_held(&s->lock);
	smp_mb();	/* the block's removal before the test; pairs with kvp_rcache_get() */
	if (!s->spare && s->s3.table->capacity && page_ref_count(page) == 1)
		s->spare = page;
	else
		put_page(page);
}

static void __free_spare(struct kvp_rshard *s)
{
	lockdep_assert_held(&s->lock);
	if (s->spare)
		put_page(s->spare);
	s->spare = NULL;
}

/* Count that @block has left the queues. */
static void __dropped(struct kvp_rcache *rc, kvp_block_t block)
{
	struct kvp_rcount *c = &rc->counts[count_of(block)];

	lockdep_assert_held(&shard_of(rc, block)->lock);
	WRITE_ONCE(c->held, c->held - 1);
}

static void drop_block(void *arg, const struct kvp_s3_block *victim)
{
	__dropped(arg, kvp_block(victim->key));
	put_page(victim->value);
}

/*
 * Evict up to @nr blocks of the shard. If there are fewer, free its spare page as well. Returns how
 * many blocks.
 */
static u32 __evict(struct kvp_rcache *rc, struct kvp_rshard *s, u32 nr)
{
	struct kvp_s3_block victim;
	u32 n = 0;

	lockdep_assert_held(&s->lock);
	for (; n < nr && kvp_s3_evict(&s->s3, &victim); n++)
		drop_block(rc, &victim);
	if (n < nr)
		__free_spare(s);
	return n;
}

/* Evict until @keep blocks are left. Others may take the lock in between. */
static void evict_down_to(struct kvp_rcache *rc, struct kvp_rshard *s, u32 keep)
{
	unsigned long flags;
	u32 more;

	do {
		spin_lock_irqsave(&s->lock, flags);
		more = kvp_s3_count(&s->s3);
		more = more > keep ? min(more - keep, EVICT_AT_ONCE) : 0;
		__evict(rc, s, more);
		spin_unlock_irqrestore(&s->lock, flags);
		cond_resched();
	} while (more);
}

struct page *kvp_rcache_page(struct kvp_rcache *rc, kvp_block_t block)
{
	struct kvp_rshard *s = shard_of(rc, block);
	struct page *page;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	page = s->spare;
	s->spare = NULL;
	spin_unlock_irqrestore(&s->lock, flags);
	return page ?: alloc_page(FILL_GFP);
}

void kvp_rcache_unpage(struct kvp_rcache *rc, kvp_block_t block, struct page *page)
{
	struct kvp_rshard *s = shard_of(rc, block);
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	__recycle(s, page);
	spin_unlock_irqrestore(&s->lock, flags);
}

/* --- reading ---------------------------------------------------------------------- */

struct page *kvp_rcache_get(struct kvp_rcache *rc, kvp_block_t block)
{
	struct page *page;
	struct kvp_s3 *s3;
	u32 slot;

	smp_rmb();	/* the buffer was asked first; pairs with kvp_rcache_forget() */
	if (!READ_ONCE(rc->counts[count_of(block)].held))
		return NULL;
	s3 = &shard_of(rc, block)->s3;
	rcu_read_lock();
	page = kvp_s3_find(s3, kvp_block_nr(block), &slot);
	/* Without a reference the page may have been used again: so find it once more. */
	if (page && !get_page_unless_zero(page))	/* full barrier; pairs with __recycle() */
		page = NULL;
	if (page && kvp_s3_find(s3, kvp_block_nr(block), &slot) != page) {
		put_page(page);
		page = NULL;
	}
	if (page)
		kvp_s3_hit(s3, slot);
	rcu_read_unlock();
	return page;
}

void kvp_rcache_put(struct page *page)
{
	put_page(page);
}

/* --- filling and forgetting --------------------------------------------------------- */

/* Counts only grow: the sum is unchanged if and only if both are. */
static u32 changes(const struct kvp_rcache *rc, kvp_block_t block, u32 count)
{
	return (u32)atomic_read(&rc->counts[count_of(block)].changes) +
	       (u32)atomic_read(&rc->counts[count_of(kvp_block_add(block, count - 1))].changes);
}

u32 kvp_rcache_token(const struct kvp_rcache *rc, kvp_block_t block, u32 count)
{
	u32 token = changes(rc, block, count);

	smp_rmb();	/* the counts before the entries; pairs with kvp_rcache_forget() */
	return token;
}

/*
 * Put the block, which is counted as held already, into the queues. True if it is in the cache now.
 * @fill: the read that it comes from; NULL: it was written, and counts as asked for once more if it
 *	was there
 */
static bool __insert(struct kvp_rcache *rc, struct kvp_rshard *s, kvp_block_t block,
		     struct page *page, const struct kvp_rfill *fill)
{
	struct kvp_s3_block victim;
	u32 slot;

	lockdep_assert_held(&s->lock);
	if (fill && changes(rc, fill->first, fill->count) != fill->token)
		return false;
	slot = kvp_s3_insert(&s->s3, kvp_block_nr(block), page, &victim);
	if (slot == KVP_S3_NONE)
		return false;
	if (fill ? fill->favoured : victim.value && victim.key == kvp_block_nr(block))
		kvp_s3_hit(&s->s3, slot);
	if (victim.value) {
		__dropped(rc, kvp_block(victim.key));
		__recycle(s, victim.value);
	}
	return true;
}

/*
 * Put a block into the cache, while kvp_rcache_forget() may run. That function looks without the
 * lock whether there is anything to forget:
 *
 *   forget                            insert
 *   change the entry                  count the block as held
 *   count the change                  smp_mb()
 *   full barrier                      no change counted since the token?
 *   is a block held? then lock        then it is in the cache
 *
 * Either this read sees the change. Or the change sees the block, waits for the lock, and takes the
 * block out.
 */
static bool put_in(struct kvp_rcache *rc, kvp_block_t block, struct page *page,
		   const struct kvp_rfill *fill)
{
	struct kvp_rcount *c = &rc->counts[count_of(block)];
	struct kvp_rshard *s = shard_of(rc, block);
	unsigned long flags;
	bool in;

	spin_lock_irqsave(&s->lock, flags);
	WRITE_ONCE(c->held, c->held + 1);
	smp_mb();	/* pairs with the barrier in kvp_rcache_forget() */
	in = __insert(rc, s, block, page, fill);
	if (!in) {
		__dropped(rc, block);
		__recycle(s, page);
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return in;
}

void kvp_rcache_insert(struct kvp_rcache *rc, kvp_block_t block, struct page *page,
		       const struct kvp_rfill *fill)
{
	if (put_in(rc, block, page, fill))
		this_cpu_inc(rc->stats->ram_fills);
}

static void take_out(struct kvp_rcache *rc, kvp_block_t block)
{
	struct kvp_rshard *s = shard_of(rc, block);
	unsigned long flags;
	struct page *page;
	u32 slot;

	spin_lock_irqsave(&s->lock, flags);
	slot = kvp_s3_lookup(&s->s3, kvp_block_nr(block));
	if (slot != KVP_S3_NONE) {
		page = kvp_s3_remove(&s->s3, slot);
		__dropped(rc, block);
		__recycle(s, page);
	}
	spin_unlock_irqrestore(&s->lock, flags);
}

/* Entries of blocks from @block to before @end, all of one stretch, have changed. */
static void forget_stretch(struct kvp_rcache *rc, kvp_block_t block, kvp_block_t end)
{
	struct kvp_rcount *c = &rc->counts[count_of(block)];

	/*
	 * A full barrier on both sides. Before it: the changes of the entries. After it: the look
	 * at held, and the buffer.
	 */
	atomic_inc_return(&c->changes);
	for (; kvp_block_before(block, end) && READ_ONCE(c->held); block = kvp_block_add(block, 1))
		take_out(rc, block);
}

void kvp_rcache_forget_range(struct kvp_rcache *rc, kvp_block_t block, u32 count)
{
	kvp_block_t end = kvp_block_add(block, count), next;

	smp_mb();	/* the entries before the look; pairs with switch_on() */
	for (; kvp_rcache_enabled(rc) && kvp_block_before(block, end); block = next) {
		next = kvp_block((kvp_block_nr(block) | (KVP_RCACHE_STRETCH - 1)) + 1);
		next = kvp_block_first(next, end);
		forget_stretch(rc, block, next);
	}
}

void kvp_rcache_forget(struct kvp_rcache *rc, kvp_block_t block)
{
	kvp_rcache_forget_range(rc, block, 1);
}

/*
 * A written block needs no token, unlike a read one. Entries change under the table's lock only, so
 * the next change of this entry sees that the block is held. But this is a change itself, counted
 * before the block enters: a read with an older token must not put an older page in its place.
 */
void kvp_rcache_home_written(struct kvp_rcache *rc, const struct kvp_version *d)
{
	bool data = !d->zero && !d->intent && d->page;
	struct page *page = NULL;

	smp_mb();	/* as in kvp_rcache_forget() */
	if (data && kvp_rcache_enabled(rc))
		page = kvp_rcache_page(rc, d->block);
	if (!page) {
		kvp_rcache_forget(rc, d->block);
		return;
	}
	memcpy(page_address(page), page_address(d->page), KVP_BLOCK_SIZE);
	atomic_inc_return(&rc->counts[count_of(d->block)].changes);
	if (put_in(rc, d->block, page, NULL))
		this_cpu_inc(rc->stats->ram_written);
	/* The cache changes before the version leaves the buffer; pairs with kvp_rcache_get(). */
	smp_wmb();
}

/* --- size --------------------------------------------------------------------------- */

static void free_tables(struct kvp_s3_table **tables)
{
	u32 i;

	for (i = 0; i < KVP_RCACHE_SHARDS; i++)
		kvp_s3_free(tables[i]);
}

static int alloc_tables(struct kvp_s3_table **tables, u32 capacity)
{
	u32 i;

	for (i = 0; i < KVP_RCACHE_SHARDS; i++) {
		tables[i] = kvp_s3_alloc(capacity, GFP_NOIO);
		if (!tables[i]) {
			free_tables(tables);
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Count changes from here on, and make tokens from before void. Called before the tables have room:
 * nothing enters the cache until then.
 */
static void switch_on(struct kvp_rcache *rc, u64 blocks)
{
	bool was_on = kvp_rcache_enabled(rc);
	u32 i;

	WRITE_ONCE(rc->blocks, blocks);
	if (was_on)
		return;
	smp_mb();	/* pairs with kvp_rcache_forget() */
	for (i = 0; i < ARRAY_SIZE(rc->counts); i++)
		atomic_inc(&rc->counts[i].changes);
}

int kvp_rcache_resize(struct kvp_rcache *rc, u64 blocks)
{
	u32 capacity = min_t(u64, blocks / KVP_RCACHE_SHARDS, KVP_S3_MAX_CAPACITY), i;
	struct kvp_s3_table *tables[KVP_RCACHE_SHARDS] = { NULL };
	unsigned long flags;
	int ret;

	mutex_lock(&rc->resize_lock);
	/* More than all memory is useless, and trying to allocate it could hurt others. */
	ret = blocks > totalram_pages() ? -ENOMEM : alloc_tables(tables, capacity);
	if (ret)
		goto out;
	if (capacity)
		switch_on(rc, (u64)capacity * KVP_RCACHE_SHARDS);
	for (i = 0; i < KVP_RCACHE_SHARDS; i++) {
		struct kvp_rshard *s = &rc->shards[i];

		evict_down_to(rc, s, min(capacity, RESIZE_KEEPS));
		spin_lock_irqsave(&s->lock, flags);
		tables[i] = kvp_s3_resize(&s->s3, tables[i], drop_block, rc);
		if (!capacity)
			__free_spare(s);
		spin_unlock_irqrestore(&s->lock, flags);
	}
	if (!capacity)
		WRITE_ONCE(rc->blocks, 0);
	synchronize_rcu();	/* wait for readers of the old tables */
	free_tables(tables);
out:
	mutex_unlock(&rc->resize_lock);
	return ret;
}

void kvp_rcache_drop(struct kvp_rcache *rc)
{
	u32 i;

	for (i = 0; i < KVP_RCACHE_SHARDS; i++) {
		struct kvp_rshard *s = &rc->shards[i];
		unsigned long flags;

		evict_down_to(rc, s, 0);
		spin_lock_irqsave(&s->lock, flags);
		__free_spare(s);
		spin_unlock_irqrestore(&s->lock, flags);
	}
}

u32 kvp_rcache_shrink(struct kvp_rcache *rc, u32 nr)
{
	u32 next = READ_ONCE(rc->next), freed = 0, i;

	for (i = 0; i < KVP_RCACHE_SHARDS && freed < nr; i++) {
		struct kvp_rshard *s = &rc->shards[(next + i) % KVP_RCACHE_SHARDS];
		unsigned long flags;

		if (!spin_trylock_irqsave(&s->lock, flags))
			continue;
		freed += __evict(rc, s, min(nr - freed, EVICT_AT_ONCE));
		spin_unlock_irqrestore(&s->lock, flags);
	}
	WRITE_ONCE(rc->next, next + i);
	return freed;
}

u64 kvp_rcache_used(const struct kvp_rcache *rc)
{
	u64 used = 0;
	u32 i;

	for (i = 0; i < KVP_RCACHE_SHARDS; i++)
		used += used_by(&rc->shards[i]);
	return used;
}

u64 kvp_rcache_bytes(const struct kvp_rcache *rc)
{
	u32 each = (u32)(READ_ONCE(rc->blocks) / KVP_RCACHE_SHARDS);

	return (kvp_rcache_used(rc) << KVP_BLOCK_SHIFT) + KVP_RCACHE_SHARDS * kvp_s3_bytes(each);
}

/* --- life --------------------------------------------------------------------------- */

int kvp_rcache_init(struct kvp_rcache *rc, struct kvp_stats __percpu *stats)
{
	u64 seed = get_random_u64();
	u32 i;

	rc->stats = stats;
	mutex_init(&rc->resize_lock);
	for (i = 0; i < KVP_RCACHE_SHARDS; i++)
		spin_lock_init(&rc->shards[i].lock);
	for (i = 0; i < KVP_RCACHE_SHARDS; i++)
		if (kvp_s3_init(&rc->shards[i].s3, 0, seed, GFP_KERNEL))
			return -ENOMEM;
	return 0;
}

void kvp_rcache_exit(struct kvp_rcache *rc)
{
	u32 i;

	for (i = 0; i < KVP_RCACHE_SHARDS; i++)
		if (!rc->shards[i].s3.table)
			break;
	if (i == KVP_RCACHE_SHARDS)
		kvp_rcache_drop(rc);
	for (i = 0; i < KVP_RCACHE_SHARDS; i++)
		kvp_s3_exit(&rc->shards[i].s3);
	WRITE_ONCE(rc->blocks, 0);
}

/* --- for tests ------------------------------------------------------------------------ */

const char *kvp_rcache_check(struct kvp_rcache *rc)
{
	u64 held = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rc->counts); i++)
		held += rc->counts[i].held;
	if (held != kvp_rcache_used(rc))
		return "the number of blocks held";
	for (i = 0; i < KVP_RCACHE_SHARDS; i++) {
		const char *wrong = kvp_s3_check(&rc->shards[i].s3);

		if (wrong)
			return wrong;
	}
	return NULL;
}
