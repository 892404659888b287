// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "core/core.h"
#include "core/stats.h"
#include "policy/dirty.h"
#include "ram/wbuf.h"

/*
 * Pages that are allocated at the start, so that writes make progress whatever the state of memory.
 */
#define RESERVE_PAGES	512

/*
 * The bucket of a block. Neighbouring blocks lie in neighbouring buckets under one lock. So work on
 * a stream of blocks takes a lock once for many of them. The number of the group decides which
 * bucket a block has there: otherwise blocks at a fixed distance would share few buckets.
 */
static u32 bucket_number(const struct kvp_wbuf *w, kvp_block_t block)
{
	u64 nr = kvp_block_nr(block);
	u32 hash = hash_64(nr >> KVP_WBUF_GROUP_BITS, w->bucket_bits);

	return hash ^ (nr & ((1 << KVP_WBUF_GROUP_BITS) - 1));
}

static struct hlist_head *bucket_of(struct kvp_wbuf *w, kvp_block_t block)
{
	return &w->buckets[bucket_number(w, block)];
}

static struct kvp_wbuf_lock *locked_of(struct kvp_wbuf *w, u32 bucket)
{
	u32 group = bucket >> KVP_WBUF_GROUP_BITS;

	return &w->locks[group & ((1 << KVP_WBUF_LOCK_BITS) - 1)];
}

static spinlock_t *lock_of_bucket(struct kvp_wbuf *w, u32 bucket)
{
	return &locked_of(w, bucket)->lock;
}

static spinlock_t *lock_of(struct kvp_wbuf *w, kvp_block_t block)
{
	return lock_of_bucket(w, bucket_number(w, block));
}

/*
 * Take the lock of @block, in a walk over a list. @held is the lock of the block before, or NULL.
 */
static spinlock_t *lock_next(struct kvp_wbuf *w, spinlock_t *held, kvp_block_t block)
{
	spinlock_t *lock = lock_of(w, block);

	if (lock == held)
		return lock;
	if (held)
		spin_unlock(held);
	spin_lock(lock);
	return lock;
}

/* A version enters the hash table as the newest of its block, or leaves the table. */
static void __enter(struct kvp_wbuf *w, struct kvp_version *d, struct hlist_head *bucket)
{
	hlist_add_head(&d->hash, bucket);
	atomic_inc(&w->nr_live);
}

static void __leave(struct kvp_wbuf *w, struct kvp_version *d)
{
	if (hlist_unhashed(&d->hash))
		return;
	hlist_del_init(&d->hash);
	if (!d->superseded)
		atomic_dec(&w->nr_live);
}

/* The bucket of superseded versions of @block. Blocks with one lock share a few of these. */
static struct hlist_head *older_of(struct kvp_wbuf *w, kvp_block_t block)
{
	return &w->older[bucket_number(w, block) & (KVP_WBUF_OLDER - 1)];
}

/* Make @d the version that record @r stands for, except that it is on no list. */
static void from_record(const struct kvp_wbuf *w, struct kvp_version *d,
			const struct kvp_packed_rec *r)
{
	memset(d, 0, sizeof(*d));
	INIT_HLIST_NODE(&d->hash);
	d->block = r->block;
	d->count = 1;
	d->lsn = kvp_packs_lsn(&w->packs, r);
	d->crc = r->crc;
	d->payload = r->payload;
	d->rec = r->rec;
	d->row = r->row;
	d->state = KVP_VERSION_LOGGED;
	d->superseded = r->flags & KVP_PACKED_SUPERSEDED;
	d->passed = r->flags & KVP_PACKED_PASSED;
	d->restored = r->flags & KVP_PACKED_RESTORED;
	d->reserved = r->flags & KVP_PACKED_RESERVED;
	d->over = d->restored ? KVP_OVER_UNKNOWN : 0;
}

/* True if @d only stands for a packed version. */
static bool is_seen(struct kvp_wbuf *w, const struct kvp_version *d)
{
	return d == &locked_of(w, bucket_number(w, d->block))->seen;
}

/* The newest version of @block, if it is packed. */
static struct kvp_version *__find_packed(struct kvp_wbuf *w, kvp_block_t block)
{
	struct kvp_version *seen = &locked_of(w, bucket_number(w, block))->seen;
	struct kvp_packed_rec r;

	if (!kvp_packs_nr(&w->packs) || !kvp_packs_find(&w->packs, block, &r) ||
	    (r.flags & KVP_PACKED_SUPERSEDED))
		return NULL;
	from_record(w, seen, &r);
	return seen;
}

/* The newest version of @block, if it is whole. */
static struct kvp_version *__find_whole(const struct hlist_head *bucket, kvp_block_t block)
{
	struct kvp_version *d;

	hlist_for_each_entry(d, bucket, hash)
		if (d->block == block)
			return d;
	return NULL;
}

static struct kvp_version *__find(struct kvp_wbuf *w, kvp_block_t block)
{
	lockdep_assert_held(lock_of(w, block));
	return __find_whole(bucket_of(w, block), block) ?: __find_packed(w, block);
}

/* --- pages ------------------------------------------------------------------------ */

#define ALL_FREE	((1ul << KVP_CHUNK_PAGES) - 1)

static void free_chunk(struct kvp_chunk *c)
{
	u32 i;

	if (!c->single)
		__free_pages(c->dirty[0].page, KVP_CHUNK_ORDER);
	else
		for (i = 0; i < KVP_CHUNK_PAGES && c->dirty[i].page; i++)
			__free_page(c->dirty[i].page);
	kfree(c);
}

static bool alloc_singles(struct kvp_chunk *c, gfp_t gfp)
{
	u32 i;

	c->single = true;
	for (i = 0; i < KVP_CHUNK_PAGES; i++) {
		c->dirty[i].page = alloc_page(gfp);
		if (!c->dirty[i].page)
			return false;
	}
	return true;
}

static struct kvp_chunk *new_chunk(gfp_t gfp)
{
	struct kvp_chunk *c = kzalloc(sizeof(*c), gfp);
	struct page *page;
	u32 i;

	if (!c)
		return NULL;
	/* Neighbours in memory are optional: the kernel must not compact memory for them. */
	page = alloc_pages((gfp & ~__GFP_RECLAIM) | __GFP_COMP | __GFP_NOWARN, KVP_CHUNK_ORDER);
	for (i = 0; page && i < KVP_CHUNK_PAGES; i++)
		c->dirty[i].page = virt_to_page(page_address(page) + i * KVP_BLOCK_SIZE);
	if (!page && !alloc_singles(c, gfp)) {
		free_chunk(c);
		return NULL;
	}
	for (i = 0; i < KVP_CHUNK_PAGES; i++)
		c->dirty[i].chunk = c;
	c->free = ALL_FREE;
	c->nr_free = KVP_CHUNK_PAGES;
	return c;
}

/* The list for a page chunk of which some pages are free. */
static struct list_head *list_of(struct kvp_wbuf *w, const struct kvp_chunk *c)
{
	return &w->free[c->nr_free - 1];
}

static void __add_chunk(struct kvp_wbuf *w, struct kvp_chunk *c)
{
	list_add(&c->all, &w->chunks);
	list_add(&c->list, list_of(w, c));
}

/* Remove a page chunk whose pages are all free. It goes to @excess, for free_chunks(). */
static void __remove_chunk(struct kvp_wbuf *w, struct kvp_chunk *c, struct list_head *excess)
{
	lockdep_assert_held(&w->lock);
	w->pages -= KVP_CHUNK_PAGES;
	list_del(&c->all);
	list_move(&c->list, excess);
}

/*
 * Returns the page chunk to take pages from next: one with the most free pages. NULL: there is
 * none, or none for a large write. Versions that go home one by one leave single pages free. If
 * large writes took these at once, no page chunk would ever be whole again, and the pages of
 * streams would stay scattered. So they leave a few, until the neighbours of these are free, too.
 */
static struct kvp_chunk *__next_chunk(struct kvp_wbuf *w, bool large)
{
	u32 n = KVP_CHUNK_PAGES, least = 1;

	if (large && w->pages - w->taken <= kvp_wbuf_most_scattered(w->limit))
		least = KVP_CHUNK_PAGES;
	for (; n >= least; n--)
		if (!list_empty(&w->free[n - 1]))
			return list_first_entry(&w->free[n - 1], struct kvp_chunk, list);
	return NULL;
}

/* Take the next free page in order, if there is one, and a large write may have it. */
static struct kvp_version *__take_page(struct kvp_wbuf *w, bool large)
{
	struct kvp_chunk *c = w->chunk;
	u32 i;

	lockdep_assert_held(&w->lock);
	if (!c || !c->free) {
		c = __next_chunk(w, large);
		if (!c)
			return NULL;
		list_del_init(&c->list);
		w->chunk = c;
	}
	i = __ffs(c->free);
	__clear_bit(i, &c->free);
	c->nr_free--;
	w->taken++;
	return &c->dirty[i];
}

/* The page of @d is free in its page chunk. Then __settle() must follow, under the same lock. */
static void __set_free(struct kvp_wbuf *w, struct kvp_version *d)
{
	struct kvp_chunk *c = d->chunk;

	lockdep_assert_held(&w->lock);
	w->taken--;
	__set_bit(d - c->dirty, &c->free);
	c->nr_free++;
}

/*
 * Pages of @c became free: move it to the list for as many. A page chunk beyond the limit goes to
 * @excess.
 */
static void __settle(struct kvp_wbuf *w, struct kvp_chunk *c, struct list_head *excess)
{
	lockdep_assert_held(&w->lock);
	if (c == w->chunk)
		return;
	if (c->free == ALL_FREE && w->pages > w->limit)
		__remove_chunk(w, c, excess);
	else
		list_move(&c->list, list_of(w, c));
}

/* Give a page back to its page chunk. */
static void __give_back(struct kvp_wbuf *w, struct kvp_version *d, struct list_head *excess)
{
	__set_free(w, d);
	__settle(w, d->chunk, excess);
}

/* The same for a page that a version had. */
static void __give_back_used(struct kvp_wbuf *w, struct kvp_version *d, struct list_head *excess)
{
	__give_back(w, d, excess);
	atomic_dec(&w->used);
}

static void free_chunks(struct list_head *chunks)
{
	struct kvp_chunk *c, *next;

	list_for_each_entry_safe(c, next, chunks, list)
		free_chunk(c);
}

static void free_one(struct kvp_version *d)
{
	if (d->chunk)
		return;
	if (d->page)
		__free_page(d->page);
	kfree(d);
}

/* Free the versions that are part of no page chunk: discards, and spilled versions. */
static void free_lone(struct list_head *list)
{
	struct kvp_version *d, *next;

	list_for_each_entry_safe(d, next, list, list)
		free_one(d);
	INIT_LIST_HEAD(list);
}

/* Free the versions of a list. A stop may leave millions in the log. May sleep. */
static void free_all(struct list_head *list)
{
	struct kvp_version *d, *next;

	list_for_each_entry_safe(d, next, list, list) {
		free_one(d);
		cond_resched();
	}
	INIT_LIST_HEAD(list);
}

/* Tell the pool that pages became free. */
static void tell_space(struct kvp_wbuf *w)
{
	w->client.space(w->client.of);
}

/* --- the hash table ------------------------------------------------------------------- */

/* kmalloc() takes that much memory for a version: there is no size between 128 and 192. */
static_assert(sizeof(struct kvp_version) <= 128);

struct hlist_head *kvp_wbuf_buckets(u32 bits)
{
	return kvcalloc(1u << bits, sizeof(struct hlist_head), GFP_KERNEL);
}

struct hlist_head *kvp_wbuf_use_buckets(struct kvp_wbuf *w, struct hlist_head *buckets, u32 bits)
{
	swap(w->buckets, buckets);
	w->bucket_bits = bits;
	return buckets;
}

/* --- life ----------------------------------------------------------------------------- */

int kvp_wbuf_init(struct kvp_wbuf *w, const struct kvp_wbuf_client *c, u32 limit, u64 window)
{
	u32 i;

	w->client = *c;
	spin_lock_init(&w->lock);
	for (i = 0; i < ARRAY_SIZE(w->locks); i++)
		spin_lock_init(&w->locks[i].lock);
	for (i = 0; i < ARRAY_SIZE(w->shelves); i++) {
		spin_lock_init(&w->shelves[i].lock);
		w->shelves[i].at = w->shelves[i].end = 0;
	}
	init_llist_head(&w->accepted);
	INIT_LIST_HEAD(&w->chunks);
	for (i = 0; i < ARRAY_SIZE(w->free); i++)
		INIT_LIST_HEAD(&w->free[i]);
	INIT_LIST_HEAD(&w->buffered);
	INIT_LIST_HEAD(&w->logged);
	INIT_LIST_HEAD(&w->spilled);
	INIT_LIST_HEAD(&w->elevator);
	kvp_packs_init(&w->packs);
	INIT_LIST_HEAD(&w->spare);
	w->holes = RB_ROOT_CACHED;
	w->bucket_bits = kvp_wbuf_bucket_bits(window);
	w->buckets = kvp_wbuf_buckets(w->bucket_bits);
	if (!w->buckets)
		return -ENOMEM;
	w->older = kvcalloc(KVP_WBUF_OLDER, sizeof(*w->older), GFP_KERNEL);
	w->pending = kvmalloc(sizeof(*w->pending), GFP_KERNEL);
	if (w->pending)
		kvp_pending_init(w->pending, &w->lock);
	if (!w->older || !w->pending) {
		kvp_wbuf_exit(w);
		return -ENOMEM;
	}
	w->limit = limit;
	w->commit_limit = ~0u;
	w->renew_limit = ~0u;
	w->most_holes = KVP_WBUF_MAX_HOLES;
	do {
		struct kvp_chunk *chunk = new_chunk(GFP_KERNEL);

		if (!chunk) {
			kvp_wbuf_exit(w);
			return -ENOMEM;
		}
		__add_chunk(w, chunk);
		w->pages += KVP_CHUNK_PAGES;
	} while (w->pages + KVP_CHUNK_PAGES <= min_t(u32, limit, RESERVE_PAGES));
	return 0;
}

void kvp_wbuf_exit(struct kvp_wbuf *w)
{
	struct kvp_chunk *c, *next;

	if (!w->buckets)
		return;	/* a refused start: the lists were not set up either */
	free_all(&w->buffered);
	free_all(&w->logged);
	free_all(&w->spilled);
	free_all(&w->elevator);
	kvp_packs_exit(&w->packs);
	free_all(&w->spare);
	w->nr_spare = 0;
	while (w->nr_reserve)
		__free_page(w->reserve[--w->nr_reserve]);
	list_for_each_entry_safe(c, next, &w->chunks, all)
		free_chunk(c);
	w->chunk = NULL;
	w->pages = 0;
	kvfree(w->pending);
	kvfree(w->older);
	kvfree(w->buckets);
	w->pending = NULL;
	w->older = NULL;
	w->buckets = NULL;
}

void kvp_wbuf_figures(const struct kvp_wbuf *w, struct kvp_wbuf_figures *f)
{
	u32 packed = kvp_packs_nr(&w->packs), lone = READ_ONCE(w->nr_lone);

	f->limit = READ_ONCE(w->limit);
	f->used = kvp_wbuf_used(w);
	f->lone = lone;
	f->live = kvp_wbuf_live(w);
	f->page_bytes = (u64)READ_ONCE(w->pages) *
			(KVP_BLOCK_SIZE + sizeof(struct kvp_chunk) / KVP_CHUNK_PAGES);
	/* kmalloc() has no size between 96 and 128. */
	lone = lone - min(lone, packed) + READ_ONCE(w->nr_holes) + READ_ONCE(w->nr_spare);
	f->lone_bytes = (u64)lone * roundup_pow_of_two(sizeof(struct kvp_version)) +
			((u64)READ_ONCE(w->nr_reserve) << KVP_BLOCK_SHIFT) +
			kvp_packs_bytes(&w->packs);
}

/*
 * The number of pages that a shelf gets at once. It is smaller while few pages are left, or if the
 * limit is low.
 */
static u32 __share(const struct kvp_wbuf *w)
{
	u32 left = w->limit - min(w->limit, w->taken);

	lockdep_assert_held(&w->lock);
	return clamp(left / 16, 1u, KVP_WBUF_SHELF_PAGES);
}

/* Put free pages on the shelf, which is empty. */
static void __stock(struct kvp_wbuf *w, struct kvp_wbuf_shelf *s, bool large)
{
	u32 most = __share(w), n = 0;

	lockdep_assert_held(&s->lock);
	while (n < most && (s->pages[n] = __take_page(w, large)))
		n++;
	WRITE_ONCE(s->at, 0);
	WRITE_ONCE(s->end, n);
}

/*
 * Returns the number of page chunks to allocate, as no page is free. Their pages count as existing
 * from now on.
 */
static u32 __to_grow(struct kvp_wbuf *w)
{
	u32 room = (w->limit - min(w->limit, w->pages)) / KVP_CHUNK_PAGES;
	u32 n = min(room, max(1u, __share(w) / KVP_CHUNK_PAGES));

	w->pages += n * KVP_CHUNK_PAGES;
	return n;
}

/*
 * Allocate @n page chunks, which __to_grow() has counted, and stock the shelf. Without memory a
 * large write takes any page, as the buffer may be far from full.
 */
static void grow(struct kvp_wbuf *w, struct kvp_wbuf_shelf *s, bool large, u32 n)
{
	struct kvp_chunk *c, *next;
	LIST_HEAD(chunks);

	while (n && (c = new_chunk(GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN))) {
		list_add(&c->list, &chunks);
		n--;
	}
	spin_lock(&w->lock);
	list_for_each_entry_safe(c, next, &chunks, list)
		__add_chunk(w, c);
	w->pages -= n * KVP_CHUNK_PAGES;
	WRITE_ONCE(w->scarce, n);
	__stock(w, s, large && !n);
	spin_unlock(&w->lock);
}

/* Not inlined: take_free() needs no frame then, which each write would pay for. */
static noinline void refill(struct kvp_wbuf *w, struct kvp_wbuf_shelf *s, bool large)
{
	u32 n;

	spin_lock(&w->lock);
	__stock(w, s, large);
	n = s->end ? 0 : __to_grow(w);
	spin_unlock(&w->lock);
	if (n)
		grow(w, s, large, n);
}

static struct kvp_version *__from_shelf(struct kvp_wbuf_shelf *s)
{
	lockdep_assert_held(&s->lock);
	if (s->at == s->end)
		return NULL;
	WRITE_ONCE(s->at, s->at + 1);
	return s->pages[s->at - 1];
}

/*
 * No page is free except those on shelves of other processors. This caller has taken wbuf->lock in
 * refill(). So it sees every page that was put on a shelf under that lock before.
 */
static struct kvp_version *from_any_shelf(struct kvp_wbuf *w)
{
	struct kvp_version *d = NULL;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(w->shelves) && !d; i++) {
		struct kvp_wbuf_shelf *s = &w->shelves[i];

		if (READ_ONCE(s->at) == READ_ONCE(s->end))
			continue;
		spin_lock(&s->lock);
		d = __from_shelf(s);
		spin_unlock(&s->lock);
	}
	return d;
}

/*
 * Take a free version with its page. The caller holds a bucket's lock, so this must not sleep, and
 * stays on its processor.
 */
static struct kvp_version *take_free(struct kvp_wbuf *w, bool large)
{
	struct kvp_wbuf_shelf *s = &w->shelves[raw_smp_processor_id() % ARRAY_SIZE(w->shelves)];
	struct kvp_version *d;

	spin_lock(&s->lock);
	if (s->at == s->end)
		refill(w, s, large);
	d = __from_shelf(s);
	spin_unlock(&s->lock);
	d = d ?: from_any_shelf(w);
	if (d)
		atomic_inc(&w->used);
	return d;
}

/* Move the free pages of shelves back into their page chunks. */
static void clear_shelves(struct kvp_wbuf *w)
{
	struct kvp_version *d;
	LIST_HEAD(excess);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(w->shelves); i++) {
		struct kvp_wbuf_shelf *s = &w->shelves[i];

		spin_lock(&s->lock);
		spin_lock(&w->lock);
		while ((d = __from_shelf(s)))
			__give_back(w, d, &excess);
		spin_unlock(&w->lock);
		spin_unlock(&s->lock);
	}
	free_chunks(&excess);
}

/*
 * Free some of the page chunks beyond the limit that have no page in use. Returns false if those
 * were all.
 */
static bool free_some_beyond(struct kvp_wbuf *w)
{
	struct list_head *whole = &w->free[KVP_CHUNK_PAGES - 1];
	struct kvp_chunk *c;
	LIST_HEAD(excess);
	u32 n = 0;

	spin_lock(&w->lock);
	while (n < KVP_WBUF_AT_ONCE && w->pages > w->limit && !list_empty(whole)) {
		c = list_first_entry(whole, struct kvp_chunk, list);
		__remove_chunk(w, c, &excess);
		n++;
	}
	spin_unlock(&w->lock);
	free_chunks(&excess);
	cond_resched();
	return n == KVP_WBUF_AT_ONCE;
}

void kvp_wbuf_set_limit(struct kvp_wbuf *w, u32 limit)
{
	spin_lock(&w->lock);
	w->limit = limit;
	spin_unlock(&w->lock);
	clear_shelves(w);
	/* Otherwise writers would take these pages, and hold more than the limit. */
	while (free_some_beyond(w))
		;
	tell_space(w);
}

/*
 * @old leaves the hash table. Its record keeps its meaning until its entry retires. An intent that
 * may pass @old finds it among wbuf->older.
 */
static void __supersede(struct kvp_wbuf *w, struct kvp_version *old)
{
	if (is_seen(w, old)) {
		kvp_packs_mark(&w->packs, old->block, KVP_PACKED_SUPERSEDED);
		atomic_dec(&w->nr_live);
		return;
	}
	__leave(w, old);
	old->superseded = true;
	if (old->over < KVP_OVER_MOST)
		hlist_add_head(&old->hash, older_of(w, old->block));
}

/* The same for a packed version. One that was restored can never be passed (over). */
static void __pass_packed(struct kvp_wbuf *w, kvp_block_t block)
{
	struct kvp_packed_rec r;

	if (!kvp_packs_nr(&w->packs) || !kvp_packs_find(&w->packs, block, &r) ||
	    !(r.flags & KVP_PACKED_SUPERSEDED) ||
	    (r.flags & (KVP_PACKED_PASSED | KVP_PACKED_RESTORED)))
		return;
	kvp_packs_mark(&w->packs, block, KVP_PACKED_PASSED);
	atomic_inc(&w->nr_passed);
}

/*
 * @d was an intent and is home, or it is outlived. Mark the older versions of its block as passed:
 * none of them may go home after that, whatever is accepted or discarded meanwhile. Destage looks
 * at the mark under the range lock, which the caller holds.
 */
static void __pass_older(struct kvp_wbuf *w, const struct kvp_version *d)
{
	struct kvp_version *old;

	lockdep_assert_held(lock_of(w, d->block));
	__pass_packed(w, d->block);
	hlist_for_each_entry(old, older_of(w, d->block), hash) {
		if (old->block != d->block || old->seq >= d->seq || old->passed)
			continue;
		WRITE_ONCE(old->passed, true);
		atomic_inc(&w->nr_passed);
	}
}

/*
 * The value of over for a version that supersedes @old. If @old is data on its way to the log, its
 * entry comes first: the new version is durable only when @old is.
 */
static u8 __over(const struct kvp_version *old)
{
	if (!old)
		return 0;
	if (READ_ONCE(old->state) == KVP_VERSION_BUFFERED || old->intent ||
	    old->over >= KVP_OVER_MOST)
		return KVP_OVER_UNKNOWN;
	return old->over + 1;
}

static void begin_version(struct kvp_version *d, kvp_block_t block)
{
	d->block = block;
	d->count = 1;
	d->crc = 0;
	d->seq = 0;
	d->lsn = 0;
	d->state = KVP_VERSION_BUFFERED;
	d->superseded = false;
	d->hole = false;
	d->intent = false;
	d->follows = false;
	d->zero = false;
	d->restored = false;
	d->reserved = false;
	d->stream = false;
	d->renewed = false;
	d->passed = false;
	d->outdone = false;
	d->over = KVP_OVER_UNKNOWN;
}

/*
 * @d is written, and no whole version of its block is the newest. A packed one is superseded. It is
 * data in the log, so an intent may pass it, unless a recovery has found it (from_record()).
 */
static void __follow_packed(struct kvp_wbuf *w, struct kvp_version *d)
{
	u8 flags;

	d->follows = kvp_packs_nr(&w->packs) && kvp_packs_supersede(&w->packs, d->block, &flags);
	if (!d->follows)
		d->over = 0;
	else
		d->over = flags & KVP_PACKED_RESTORED ? KVP_OVER_UNKNOWN : 1;
	if (d->follows)
		atomic_dec(&w->nr_live);
}

/* Let @d, which is written, be the newest version of its block, after @old. */
static void __follow(struct kvp_wbuf *w, struct kvp_version *d, struct kvp_version *old)
{
	d->follows = true;
	d->over = __over(old);
	__supersede(w, old);
}

struct kvp_version *kvp_wbuf_begin_write(struct kvp_wbuf *w, kvp_block_t block, bool large)
{
	u32 nr = bucket_number(w, block);
	struct hlist_head *bucket = &w->buckets[nr];
	spinlock_t *lock = lock_of_bucket(w, nr);
	struct kvp_version *d = NULL, *old;

	spin_lock(lock);
	old = __find_whole(bucket, block);
	if (old && old->state == KVP_VERSION_BUFFERED) {
		this_cpu_inc(w->client.stats->coalesced_blocks);
		WRITE_ONCE(old->stream, false);
		old->renewed = false;
		return old;
	}
	if (!kvp_wbuf_to_be_committed(w))
		d = take_free(w, large);
	if (!d) {
		spin_unlock(lock);
		return NULL;
	}
	begin_version(d, block);
	/* The new one comes first: see kvp_wbuf_any(). */
	__enter(w, d, bucket);
	if (old)
		__follow(w, d, old);
	else
		__follow_packed(w, d);
	return d;
}

void __kvp_wbuf_order(struct kvp_wbuf *w)
{
	struct llist_node *at = llist_reverse_order(llist_del_all(&w->accepted));

	lockdep_assert_held(&w->lock);
	while (at) {
		struct kvp_version *d = llist_entry(at, struct kvp_version, accepted);

		at = at->next;	/* read it first: the list overwrites it */
		WRITE_ONCE(d->seq, ++w->seq);
		list_add_tail(&d->list, &w->buffered);
	}
}

void kvp_wbuf_end_write(struct kvp_wbuf *w, struct kvp_version *d)
{
	/*
	 * The version is accepted before the bucket is unlocked. A rewrite that finds this version,
	 * and the FLUSH behind that rewrite, must be able to wait for it.
	 */
	if (!d->seq) {
		WRITE_ONCE(d->seq, KVP_SEQ_LATER);
		atomic_inc(&w->nr_buffered);
		llist_add(&d->accepted, &w->accepted);
	}
	spin_unlock(lock_of(w, d->block));
}

/* The first hole in the buffer that has a block of those from @first to @last; NULL: none. */
static struct interval_tree_node *first_hole(struct kvp_wbuf *w, kvp_block_t first,
					     kvp_block_t last)
{
	return interval_tree_iter_first(&w->holes, kvp_block_nr(first), kvp_block_nr(last));
}

/*
 * Give the renewed version its place in the order, unless a discard of its block has one already.
 * This happens under one lock. So a discard that comes later finds the version in the hash table,
 * and supersedes it.
 */
static bool __accept_renewed(struct kvp_wbuf *w, struct kvp_version *d)
{
	lockdep_assert_held(&w->lock);
	if (kvp_wbuf_buffered(w) >= w->renew_limit || first_hole(w, d->block, d->block))
		return false;
	__kvp_wbuf_order(w);
	d->seq = ++w->seq;
	atomic_inc(&w->nr_buffered);
	list_add_tail(&d->list, &w->buffered);
	return true;
}

/* Replace @old by @d, which has the contents. The bucket of @old is locked. */
static bool __renew(struct kvp_wbuf *w, struct kvp_version *old, struct kvp_version *d)
{
	LIST_HEAD(excess);
	bool accepted;

	spin_lock(&w->lock);
	accepted = __accept_renewed(w, d);
	if (!accepted)
		__give_back_used(w, d, &excess);
	spin_unlock(&w->lock);
	free_chunks(&excess);
	if (!accepted)
		return false;
	/* In this order: see kvp_wbuf_any(). */
	__enter(w, d, bucket_of(w, d->block));
	__supersede(w, old);
	return true;
}

bool kvp_wbuf_renew(struct kvp_wbuf *w, struct kvp_version *old, struct page *page)
{
	struct kvp_version *d = NULL;
	bool renewed = false;

	spin_lock(lock_of(w, old->block));
	if (!old->superseded)
		d = take_free(w, false);
	if (d) {
		begin_version(d, old->block);
		d->follows = true;
		d->renewed = true;
		d->over = __over(old);
		copy_page(page_address(d->page), page_address(page));
		renewed = __renew(w, old, d);
	}
	spin_unlock(lock_of(w, old->block));
	/* A writer that found the buffer full meanwhile must learn that it is not full. */
	if (d && !renewed)
		tell_space(w);
	return renewed;
}

u64 kvp_wbuf_seq(struct kvp_wbuf *w)
{
	u64 seq;

	spin_lock(&w->lock);
	__kvp_wbuf_order(w);
	seq = w->seq;
	spin_unlock(&w->lock);
	return seq;
}

u64 kvp_wbuf_take_seq(struct kvp_wbuf *w)
{
	u64 seq;

	spin_lock(&w->lock);
	__kvp_wbuf_order(w);
	seq = ++w->seq;
	spin_unlock(&w->lock);
	return seq;
}

/* --- buffered, and logged versions ---------------------------------------------------------- */

void __kvp_wbuf_take(struct kvp_wbuf *w, struct kvp_version *last, u32 n, struct list_head *to)
{
	lockdep_assert_held(&w->lock);
	atomic_sub(n, &w->nr_buffered);
	/* Move them all at once: a stream has thousands of versions. */
	list_bulk_move_tail(to, w->buffered.next, &last->list);
}

static u32 length_of(const struct list_head *versions)
{
	struct kvp_version *d;
	u32 n = 0;

	list_for_each_entry(d, versions, list)
		n++;
	return n;
}

void kvp_wbuf_put_back(struct kvp_wbuf *w, struct list_head *versions)
{
	atomic_add(length_of(versions), &w->nr_buffered);
	spin_lock(&w->lock);
	list_splice_init(versions, &w->buffered);
	spin_unlock(&w->lock);
}

void __kvp_wbuf_add_logged(struct kvp_wbuf *w, struct list_head *versions, u32 n)
{
	lockdep_assert_held(&w->lock);
	list_splice_tail_init(versions, &w->logged);
	w->nr_logged += n;
}

void kvp_wbuf_abandon(struct kvp_wbuf *w, struct list_head *versions)
{
	list_splice_init(versions, &w->logged);
}

static void supersede_one(struct kvp_wbuf *w, kvp_block_t block, u64 seq)
{
	struct kvp_version *d;

	spin_lock(lock_of(w, block));
	d = __find(w, block);
	if (d && READ_ONCE(d->seq) < seq)
		__supersede(w, d);
	spin_unlock(lock_of(w, block));
}

static void supersede_packed(struct kvp_wbuf *w, kvp_block_t block, kvp_block_t end, u64 seq)
{
	struct kvp_packed_rec r;

	while (kvp_packs_next(&w->packs, block, &r) && kvp_block_before(r.block, end)) {
		supersede_one(w, r.block, seq);
		block = kvp_block_add(r.block, 1);
	}
}

/*
 * Mark the versions in the range as superseded by the hole with @seq. Those still BUFFERED could be
 * forgotten, but stay: only their order before the hole matters. A version that has no place in the
 * order yet was accepted after the hole, which was put behind all that were there.
 */
static void supersede_range(struct kvp_wbuf *w, kvp_block_t block, u32 count, u64 seq)
{
	struct kvp_version *d;
	kvp_block_t b, end = kvp_block_add(block, count);
	struct hlist_node *next;
	u32 i;

	if (count <= 1u << w->bucket_bits) {
		for (b = block; kvp_block_before(b, end); b = kvp_block_add(b, 1))
			supersede_one(w, b, seq);
		return;
	}
	/* Versions may leave the records for the table meanwhile, but not the other way. */
	supersede_packed(w, block, end, seq);
	for (i = 0; i < 1u << w->bucket_bits; i++) {
		spinlock_t *lock = lock_of_bucket(w, i);

		spin_lock(lock);
		hlist_for_each_entry_safe(d, next, &w->buckets[i], hash)
			if (!kvp_block_before(d->block, block) && kvp_block_before(d->block, end) &&
			    READ_ONCE(d->seq) < seq)
				__supersede(w, d);
		spin_unlock(lock);
	}
}

/* --- holes ------------------------------------------------------------------------------ */

#define HOLE_MOST	(1u << 18)	/* blocks; 1 GiB, the most that a request has */

static struct kvp_hole *hole_of(struct kvp_version *d)
{
	return container_of(d, struct kvp_hole, d);
}

/* The last block of a hole. */
static kvp_block_t last_of(const struct kvp_version *hole)
{
	return kvp_block_add(hole->block, hole->count - 1);
}

/* Put the hole into the tree, with the range of @h->d. */
static void __plant_hole(struct kvp_wbuf *w, struct kvp_hole *h)
{
	lockdep_assert_held(&w->lock);
	h->node.start = kvp_block_nr(h->d.block);
	h->node.last = h->node.start + h->d.count - 1;
	interval_tree_insert(&h->node, &w->holes);
}

/*
 * Add a hole, and count it.
 *
 * A reader asks for versions first, then for holes, then the table. It looks at nr_holes, and at
 * the ranges of holes (pending.h), and takes no lock. These change at the right times:
 *
 *   - A hole is counted before any version that it covers leaves the hash table. A reader that
 *     misses the version there came to its bucket after that: by the bucket's lock
 *     (kvp_wbuf_find()), or, if it only saw that the bucket is empty, by the barriers in
 *     kvp_wbuf_discard() and kvp_wbuf_any(). So it finds the hole counted. It gets zeros, and not
 *     the block that home had before the version.
 *   - The hole is uncounted after its blocks are unwritten in the table. A reader that finds the
 *     hole gone reads the table after that, by the barrier in any_hole().
 *   - The hole that was accepted last grows at once: no reader misses it meanwhile.
 *   - A reader that came before all that reads at the same time as the discard: it may get the old
 *     block or zeros.
 */
static void __add_hole(struct kvp_wbuf *w, struct kvp_hole *h, u64 *seq)
{
	__plant_hole(w, h);
	__kvp_pending_add(w->pending, h->d.block, last_of(&h->d));
	WRITE_ONCE(w->nr_holes, w->nr_holes + 1);
	h->d.seq = *seq = ++w->seq;
	atomic_inc(&w->nr_buffered);
	list_add_tail(&h->d.list, &w->buffered);
}

/*
 * Let the hole that was accepted last grow, if the new one touches it, and nothing was accepted in
 * between. No version is newer than that hole. So its place in the order is right for both.
 */
static bool __grow_hole(struct kvp_wbuf *w, kvp_block_t block, u32 count, u64 *seq)
{
	struct kvp_version *d = list_empty(&w->buffered) ? NULL :
			      list_last_entry(&w->buffered, struct kvp_version, list);
	kvp_block_t first, end;

	lockdep_assert_held(&w->lock);
	if (!d || !d->hole)
		return false;
	first = kvp_block_first(d->block, block);
	end = kvp_block_last(kvp_block_add(d->block, d->count), kvp_block_add(block, count));
	if (kvp_block_before(kvp_block_add(d->block, d->count), block) ||
	    kvp_block_before(kvp_block_add(block, count), d->block) ||
	    kvp_block_since(end, first) > HOLE_MOST)
		return false;
	__kvp_pending_grow(w->pending, d->block, last_of(d), first, kvp_block_back(end, 1));
	interval_tree_remove(&hole_of(d)->node, &w->holes);
	d->block = first;
	d->count = kvp_block_since(end, first);
	__plant_hole(w, hole_of(d));
	*seq = d->seq;
	return true;
}

int kvp_wbuf_discard(struct kvp_wbuf *w, kvp_block_t block, u32 count, u64 *seq)
{
	struct kvp_hole *h = kzalloc(sizeof(*h), GFP_NOIO);
	bool grown, full;

	if (!h)
		return -ENOMEM;
	h->d.block = block;
	h->d.count = count;
	h->d.hole = true;
	INIT_HLIST_NODE(&h->d.hash);

	/*
	 * Readers ask the hash table first. So the hole must be there before versions leave that
	 * table. And it must have its place in the order, so that versions accepted after it stay.
	 */
	spin_lock(&w->lock);
	w->nr_discarding++;
	__kvp_wbuf_order(w);
	grown = __grow_hole(w, block, count, seq);
	/* One hole fits where data does not, since it is only a record. */
	full = !grown && (w->nr_holes >= w->most_holes ||
			  (kvp_wbuf_buffered(w) && kvp_wbuf_to_be_committed(w)));
	if (!grown && !full)
		__add_hole(w, h, seq);
	if (full)
		w->nr_discarding--;
	spin_unlock(&w->lock);
	if (grown || full)
		kfree(h);
	if (full)
		return -EAGAIN;
	smp_wmb();	/* the hole before versions leave; pairs with kvp_wbuf_any() */
	supersede_range(w, block, count, *seq);
	spin_lock(&w->lock);
	w->nr_discarding--;
	spin_unlock(&w->lock);
	return 0;
}

u32 __kvp_wbuf_up_to_hole(struct kvp_wbuf *w, kvp_block_t block, u32 count)
{
	struct interval_tree_node *n;
	kvp_block_t end = kvp_block_add(block, count);

	lockdep_assert_held(&w->lock);
	/*
	 * Each look cuts off a hole that it has found, so the next look goes no further than that.
	 */
	while (kvp_block_before(block, end) && (n = first_hole(w, block, kvp_block_back(end, 1))))
		end = kvp_block_last(kvp_block(n->start), block);
	return kvp_block_since(end, block);
}

/* The caller has asked for versions, and what it reads of the table comes after this. */
static bool any_hole(struct kvp_wbuf *w, kvp_block_t block, u32 count)
{
	bool found = READ_ONCE(w->nr_holes) &&
		     kvp_pending_any(w->pending, block, kvp_block_add(block, count - 1));

	/*
	 * Holes before the table. Pairs with the locks of code that sets an entry of the table, and
	 * then drops versions or holes (__retire()).
	 */
	smp_rmb();
	return found;
}

struct kvp_version *kvp_wbuf_find(struct kvp_wbuf *w, kvp_block_t block)
{
	struct kvp_version *d;

	spin_lock(lock_of(w, block));
	d = __find(w, block);
	if (!d)
		spin_unlock(lock_of(w, block));
	return d;
}

void kvp_wbuf_unlock(struct kvp_wbuf *w, kvp_block_t block)
{
	spin_unlock(lock_of(w, block));
}

/* No barrier comes before the look: the lock of the bucket that kvp_wbuf_find() took is one. */
bool kvp_wbuf_in_hole(struct kvp_wbuf *w, kvp_block_t block)
{
	return any_hole(w, block, 1);
}

/*
 * True if one of the blocks has a version. An empty bucket needs no lock: one that arrives now
 * is concurrent with this caller. A new version is added before the old one leaves. So no bucket
 * ever looks empty in between. But a packed version is in no bucket, and one that is just being
 * packed is found only under the lock. @lone: there may be packed ones.
 */
static bool any_version(struct kvp_wbuf *w, kvp_block_t block, u32 count, bool lone)
{
	kvp_block_t end = kvp_block_add(block, count);

	for (; kvp_block_before(block, end); block = kvp_block_add(block, 1))
		if ((lone || !hlist_empty(bucket_of(w, block))) && kvp_wbuf_find(w, block)) {
			kvp_wbuf_unlock(w, block);
			return true;
		}
	return false;
}

bool kvp_wbuf_any(struct kvp_wbuf *w, kvp_block_t block, u32 count)
{
	bool lone;

	do {
		lone = READ_ONCE(w->nr_lone);
		if ((lone || kvp_wbuf_used(w)) && any_version(w, block, count, lone))
			return true;
		/*
		 * A version may have been spilled, and packed, since @lone was read. It is counted
		 * before it leaves its bucket, and before its page is free. Pairs with
		 * replace_first().
		 */
		smp_rmb();
	} while (!lone && READ_ONCE(w->nr_lone));
	smp_rmb();	/* versions before holes; pairs with kvp_wbuf_discard() */
	return any_hole(w, block, count);
}

static void set_states(struct kvp_wbuf *w, struct list_head *versions, enum kvp_version_state state)
{
	spinlock_t *lock = NULL;
	struct kvp_version *d;

	list_for_each_entry(d, versions, list) {
		/* A hole is never rewritten, so it needs no lock. */
		if (!d->hole)
			lock = lock_next(w, lock, d->block);
		WRITE_ONCE(d->state, state);
	}
	if (lock)
		spin_unlock(lock);
}

bool kvp_wbuf_is_outdone(struct kvp_wbuf *w, const struct kvp_version *d)
{
	bool superseded;

	spin_lock(lock_of(w, d->block));
	superseded = d->superseded;
	spin_unlock(lock_of(w, d->block));
	/* A discard may be in the log before it has come to all versions (supersede_range()). */
	return superseded || kvp_wbuf_in_hole(w, d->block);
}

void kvp_wbuf_fix(struct kvp_wbuf *w, struct list_head *versions)
{
	set_states(w, versions, KVP_VERSION_COMMITTING);
}

void kvp_wbuf_unfix(struct kvp_wbuf *w, struct list_head *versions)
{
	set_states(w, versions, KVP_VERSION_BUFFERED);
}

/*
 * No newer version of the block of @d is in the hash table. True if the discard that superseded @d
 * is durable. Older discards of the block may be pending, too: they do not count.
 */
static bool hole_outlives(struct kvp_wbuf *w, const struct kvp_version *d)
{
	unsigned long block = kvp_block_nr(d->block);
	struct interval_tree_node *n;
	bool pending = false, durable = false;

	spin_lock(&w->lock);
	n = first_hole(w, d->block, d->block);
	for (; n; n = interval_tree_iter_next(n, block, block)) {
		const struct kvp_version *hole = &container_of(n, struct kvp_hole, node)->d;
		u64 seq = READ_ONCE(hole->seq);

		/* What has no seq yet is newer than all that have one. */
		if (seq && seq < d->seq)
			continue;
		pending = true;
		durable |= READ_ONCE(hole->state) >= KVP_VERSION_LOGGED;
	}
	spin_unlock(&w->lock);
	/*
	 * If no such hole is pending, the one that superseded the version is in the table already.
	 */
	return durable || !pending;
}

bool __kvp_wbuf_outlived(struct kvp_wbuf *w, struct kvp_version *d)
{
	struct kvp_version *newest;
	bool durable;

	newest = kvp_wbuf_find(w, d->block);
	if (!newest)
		return hole_outlives(w, d);
	durable = READ_ONCE(newest->state) >= KVP_VERSION_LOGGED && !newest->intent;
	kvp_wbuf_unlock(w, d->block);
	return durable;
}

/* Take the versions on the list out of the hash table. */
static void unhash(struct kvp_wbuf *w, struct list_head *versions)
{
	spinlock_t *lock = NULL;
	struct kvp_version *d;

	list_for_each_entry(d, versions, list) {
		if (d->hole)
			continue;
		lock = lock_next(w, lock, d->block);
		__leave(w, d);
		if (d->passed)
			atomic_dec(&w->nr_passed);
		if (d->intent && d->follows)
			__pass_older(w, d);
	}
	if (lock)
		spin_unlock(lock);
}

/* Keep @d, which is on a list, if fewer than @most are kept. */
static bool __keep_spare(struct kvp_wbuf *w, struct kvp_version *d, u32 most)
{
	lockdep_assert_held(&w->lock);
	if (w->nr_spare >= most)
		return false;
	list_move(&d->list, &w->spare);
	w->nr_spare++;
	return true;
}

/* Take one of those that are kept, if more than @least are. */
static struct kvp_version *__take_spare(struct kvp_wbuf *w, u32 least)
{
	struct kvp_version *d;

	lockdep_assert_held(&w->lock);
	if (w->nr_spare <= least)
		return NULL;
	d = list_first_entry(&w->spare, struct kvp_version, list);
	list_del(&d->list);
	w->nr_spare--;
	return d;
}

/* @d, which is part of no page chunk, is gone: it goes to @lone, or is kept. */
static void __retire(struct kvp_wbuf *w, struct kvp_version *d, struct list_head *lone)
{
	lockdep_assert_held(&w->lock);
	if (d->hole) {
		interval_tree_remove(&hole_of(d)->node, &w->holes);
		__kvp_pending_del(w->pending, d->block, last_of(d));
		WRITE_ONCE(w->nr_holes, w->nr_holes - 1);
	} else {
		WRITE_ONCE(w->nr_lone, w->nr_lone - 1);
		if (d->page && w->nr_reserve < KVP_WBUF_RESERVE) {
			w->reserve[w->nr_reserve++] = d->page;
			d->page = NULL;
		}
		if (!d->page && __keep_spare(w, d, KVP_WBUF_SPARE))
			return;
	}
	list_move(&d->list, lone);
}

void kvp_wbuf_drop_list(struct kvp_wbuf *w, struct list_head *list)
{
	struct kvp_version *d, *next;
	LIST_HEAD(lone);
	LIST_HEAD(excess);
	u32 n = 0;

	unhash(w, list);
	spin_lock(&w->lock);
	list_for_each_entry_safe(d, next, list, list) {
		if (!d->chunk) {
			__retire(w, d, &lone);
			continue;
		}
		__set_free(w, d);
		n++;
		/* The blocks of a stream come together: their page chunk moves once. */
		if (list_entry_is_head(next, list, list) || next->chunk != d->chunk)
			__settle(w, d->chunk, &excess);
	}
	atomic_sub(n, &w->used);
	spin_unlock(&w->lock);
	/* A version whose page is free in its page chunk is on no list. */
	INIT_LIST_HEAD(list);
	free_lone(&lone);
	free_chunks(&excess);
	tell_space(w);
}

void kvp_wbuf_drop(struct kvp_wbuf *w, struct kvp_version *d)
{
	LIST_HEAD(one);

	list_add(&d->list, &one);
	kvp_wbuf_drop_list(w, &one);
}

/* --- versions without pages (spill.h) ---------------------------------------------------- */

bool __kvp_wbuf_oldest(struct kvp_wbuf *w, kvp_lsn_t *lsn)
{
	struct kvp_version *d;
	bool packed = kvp_packs_nr(&w->packs);

	lockdep_assert_held(&w->lock);
	d = list_first_entry_or_null(&w->elevator, struct kvp_version, list) ?:
	    list_first_entry_or_null(&w->spilled, struct kvp_version, list) ?:
	    list_first_entry_or_null(&w->logged, struct kvp_version, list);
	*lsn = d ? d->lsn : KVP_LSN_MAX;
	if (packed)
		*lsn = kvp_lsn_first(*lsn, kvp_packed_places_oldest(&w->packs.places));
	return d || packed;
}

bool kvp_wbuf_waits_below(struct kvp_wbuf *w, kvp_lsn_t lsn)
{
	kvp_lsn_t oldest;
	bool waits;

	spin_lock(&w->lock);
	waits = __kvp_wbuf_oldest(w, &oldest) && kvp_lsn_before(oldest, lsn);
	spin_unlock(&w->lock);
	return waits;
}

/* Put @p, which is @d or replaces it, at the end of @spilled. */
static void __spill(struct kvp_wbuf *w, struct kvp_version *d, struct kvp_version *p)
{
	lockdep_assert_held(&w->lock);
	list_del(&d->list);
	list_add_tail(&p->list, &w->spilled);
	w->nr_logged--;
	WRITE_ONCE(w->nr_spilled, w->nr_spilled + 1);
}

/*
 * If @first is still the oldest version with a page, let @p take its place, and free its page.
 * Returns whether it was.
 */
static bool replace_first(struct kvp_wbuf *w, struct kvp_version *first, kvp_block_t block,
			  struct kvp_version *p)
{
	spinlock_t *lock = lock_of(w, block);
	struct kvp_version *d;
	LIST_HEAD(excess);
	bool same;

	spin_lock(lock);
	spin_lock(&w->lock);
	d = list_first_entry_or_null(&w->logged, struct kvp_version, list);
	same = d && d == first && !d->hole && d->block == block;
	if (same) {
		*p = *d;
		p->page = NULL;
		p->chunk = NULL;
		INIT_HLIST_NODE(&p->hash);
		/* In this order: see kvp_wbuf_any(). */
		if (!hlist_unhashed(&d->hash)) {
			hlist_add_behind(&p->hash, &d->hash);
			hlist_del_init(&d->hash);
		}
		__spill(w, d, p);
		WRITE_ONCE(w->nr_lone, w->nr_lone + 1);
		smp_wmb();	/* counted before its page is free; pairs with kvp_wbuf_any() */
		__give_back_used(w, d, &excess);
	}
	spin_unlock(&w->lock);
	spin_unlock(lock);
	free_chunks(&excess);
	return same;
}

bool kvp_wbuf_spill_oldest(struct kvp_wbuf *w)
{
	struct kvp_version *p = NULL, *d;
	kvp_block_t block = 0;
	bool as_is;

	spin_lock(&w->lock);
	d = list_first_entry_or_null(&w->logged, struct kvp_version, list);
	as_is = d && (d->hole || !d->chunk);
	if (as_is)
		__spill(w, d, d);
	else if (d)
		block = d->block;
	if (d && !as_is)
		p = __take_spare(w, KVP_WBUF_SPARE);
	spin_unlock(&w->lock);
	if (!d || as_is)
		return d;
	p = p ?: kmalloc(sizeof(*p), GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN);
	WRITE_ONCE(w->spill_failed, !p);
	if (!p)
		return false;
	/* Destage may have taken it meanwhile. Then another version is the oldest. */
	if (!replace_first(w, d, block, p))
		kfree(p);
	return true;
}

/* --- packed versions (packs.h) ------------------------------------------------------------ */

/*
 * True if @d is plain data, and its record has room for all of it. If intents of its block may be
 * older, but not home, @over is unknown; also after a recovery, which is written down instead.
 */
static bool may_be_packed(const struct kvp_version *d)
{
	return !d->page && !d->chunk && !d->hole && !d->zero && !d->intent && !d->outdone &&
	       d->count == 1 && d->state == KVP_VERSION_LOGGED &&
	       d->restored == (d->over == KVP_OVER_UNKNOWN) &&
	       d->payload <= KVP_PACKED_MAX_PAYLOAD && d->rec <= KVP_PACKED_MAX_REC;
}

/* The packed version that had record @r is gone. */
static void __forget_packed(struct kvp_wbuf *w, const struct kvp_packed_rec *r)
{
	lockdep_assert_held(&w->lock);
	if (!(r->flags & KVP_PACKED_SUPERSEDED))
		atomic_dec(&w->nr_live);
	if (r->flags & KVP_PACKED_PASSED)
		atomic_dec(&w->nr_passed);
	w->nr_spilled--;
	WRITE_ONCE(w->nr_lone, w->nr_lone - 1);
}

/* Add record @r of a version at @lsn. If it @replaces that of an older one, that one is gone. */
static bool __add_record(struct kvp_wbuf *w, const struct kvp_packed_rec *r, kvp_lsn_t lsn,
			 bool replaces)
{
	struct kvp_packed_rec old;

	if (!replaces || !__kvp_packs_replace(&w->packs, r, lsn, &old))
		return __kvp_packs_add(&w->packs, r, lsn);
	__forget_packed(w, &old);
	return true;
}

/*
 * Replace @d by a record, if it is the newest version. A discard that is still looking for older
 * versions may be older than @d: without a seq, it could not tell.
 */
static bool __pack(struct kvp_wbuf *w, struct kvp_version *d, bool replaces)
{
	struct kvp_packed_rec r = {
		.block = d->block, .lsn = (u32)kvp_lsn_nr(d->lsn), .crc = d->crc,
		.payload = d->payload, .rec = (u16)d->rec, .row = d->row,
		.flags = (d->restored ? KVP_PACKED_RESTORED : 0) |
			 (d->reserved ? KVP_PACKED_RESERVED : 0),
	};

	lockdep_assert_held(lock_of(w, d->block));
	if (d->superseded || d->passed || hlist_unhashed(&d->hash) || w->nr_discarding ||
	    !__add_record(w, &r, d->lsn, replaces))
		return false;
	hlist_del_init(&d->hash);
	/* What is spilled next needs one. */
	if (__keep_spare(w, d, KVP_WBUF_SPARE + KVP_WBUF_AT_HAND))
		return true;
	list_del(&d->list);
	kfree(d);
	return true;
}

bool kvp_wbuf_pack(struct kvp_wbuf *w, struct kvp_version *d, bool replaces)
{
	spinlock_t *lock = lock_of(w, d->block);
	bool packed;

	if (!may_be_packed(d))
		return false;
	kvp_packs_prepare(&w->packs);
	spin_lock(lock);
	spin_lock(&w->lock);
	packed = __pack(w, d, replaces);
	spin_unlock(&w->lock);
	spin_unlock(lock);
	return packed;
}

/* Memory for a version: new, or else from the reserve. Destage alone takes from that. */
static struct kvp_version *lone_version(struct kvp_wbuf *w)
{
	struct kvp_version *d = kmalloc(sizeof(*d), GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN);

	if (d)
		return d;
	spin_lock(&w->lock);
	d = __take_spare(w, 0);
	spin_unlock(&w->lock);
	return d;
}

/* The whole version enters the table, or the superseded ones, before its record leaves. */
static void __unpack(struct kvp_wbuf *w, struct kvp_version *d, const struct kvp_packed_rec *r,
		     struct list_head *to)
{
	from_record(w, d, r);
	if (!d->superseded)
		hlist_add_head(&d->hash, bucket_of(w, d->block));
	else if (d->over < KVP_OVER_MOST)
		hlist_add_head(&d->hash, older_of(w, d->block));
	spin_lock(&w->lock);
	__kvp_packs_del(&w->packs, r);
	w->nr_spilled--;
	list_add_tail(&d->list, to);
	spin_unlock(&w->lock);
}

bool kvp_wbuf_unpack(struct kvp_wbuf *w, kvp_block_t block, struct list_head *to)
{
	struct kvp_version *d = lone_version(w);
	struct kvp_packed_rec r;
	bool found;

	if (!d)
		return false;
	spin_lock(lock_of(w, block));
	found = !WARN_ON_ONCE(!kvp_packs_find(&w->packs, block, &r));
	if (found)
		__unpack(w, d, &r, to);
	spin_unlock(lock_of(w, block));
	if (!found)
		kfree(d);
	return found;
}

void kvp_wbuf_drop_packed(struct kvp_wbuf *w, kvp_block_t block)
{
	struct kvp_packed_rec r;

	spin_lock(lock_of(w, block));
	if (!WARN_ON_ONCE(!kvp_packs_find(&w->packs, block, &r))) {
		spin_lock(&w->lock);
		__kvp_packs_del(&w->packs, &r);
		__forget_packed(w, &r);
		spin_unlock(&w->lock);
	}
	spin_unlock(lock_of(w, block));
	tell_space(w);
}

/* --- for destage ------------------------------------------------------------------------- */

u32 kvp_wbuf_take_spilled_holes(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *to)
{
	struct kvp_version *d, *next;
	u32 n = 0;

	spin_lock(&w->lock);
	list_for_each_entry_safe(d, next, &w->spilled, list) {
		if (!d->hole || !kvp_lsn_before(d->lsn, limit) || n == max)
			break;
		list_move_tail(&d->list, to);
		n++;
	}
	w->nr_spilled -= n;
	spin_unlock(&w->lock);
	return n;
}

/* Take versions from @logged. A discard that comes after a version stays. */
static u32 __take_logged(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *data,
			 struct list_head *holes, struct kvp_log_at *next)
{
	struct kvp_version *d, *follows;
	u32 n = 0;

	list_for_each_entry_safe(d, follows, &w->logged, list) {
		if (kvp_lsn_before(d->lsn, limit))
			*next = (struct kvp_log_at){ d->lsn, d->rec };
		if (!kvp_lsn_before(d->lsn, limit) || n == max || (d->hole && !list_empty(data)))
			break;
		list_move_tail(&d->list, d->hole ? holes : data);
		*next = (struct kvp_log_at){ limit, 0 };
		n++;
	}
	return n;
}

u32 kvp_wbuf_take_logged(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct list_head *data,
			 struct list_head *holes, struct kvp_log_at *next)
{
	u32 n = 0;

	spin_lock(&w->lock);
	if (list_empty(&w->spilled))
		n = __take_logged(w, limit, max, data, holes, next);
	w->nr_logged -= n;
	spin_unlock(&w->lock);
	return n;
}

void kvp_wbuf_put_spilled(struct kvp_wbuf *w, struct list_head *versions)
{
	u32 n = length_of(versions);

	spin_lock(&w->lock);
	list_splice_init(versions, &w->spilled);
	w->nr_spilled += n;
	spin_unlock(&w->lock);
}

u32 kvp_wbuf_elevator_add(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, struct kvp_version **first)
{
	struct kvp_version *d, *next;
	u32 n = 0;

	*first = NULL;
	spin_lock(&w->lock);
	list_for_each_entry_safe(d, next, &w->spilled, list) {
		if (n == max || d->hole || !kvp_lsn_before(d->lsn, limit))
			break;
		list_move_tail(&d->list, &w->elevator);
		if (!n++)
			*first = d;
	}
	spin_unlock(&w->lock);
	return n;
}

void kvp_wbuf_pass_on(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, bool holes)
{
	struct kvp_version *d, *next;
	u32 n = 0;

	spin_lock(&w->lock);
	list_for_each_entry_safe(d, next, &w->logged, list) {
		if (n == max || (d->hole && !holes) || !kvp_lsn_before(d->lsn, limit))
			break;
		list_move_tail(&d->list, &w->spilled);
		n++;
	}
	w->nr_logged -= n;
	w->nr_spilled += n;
	spin_unlock(&w->lock);
}

u32 kvp_wbuf_take_passed(struct kvp_wbuf *w, struct list_head *to)
{
	struct kvp_version *d, *next;
	u32 seen = 0, n = 0;

	spin_lock(&w->lock);
	list_for_each_entry_safe(d, next, &w->logged, list) {
		if (kvp_wbuf_passed(d)) {
			list_move_tail(&d->list, to);
			w->nr_logged--;
			n++;
		}
		if (++seen % KVP_WBUF_AT_ONCE)
			continue;
		/* Only this caller takes versions from @logged: the next one stays. */
		spin_unlock(&w->lock);
		cond_resched();
		spin_lock(&w->lock);
	}
	spin_unlock(&w->lock);
	return n;
}

/*
 * Put some of @versions into their places on @elevator, from *@at on. Returns false when all are
 * there.
 */
static bool put_some(struct kvp_wbuf *w, struct list_head *versions, struct list_head **at)
{
	struct kvp_version *d, *there;
	u32 n = 0;

	spin_lock(&w->lock);
	while (!list_empty(versions) && n++ < KVP_WBUF_AT_ONCE) {
		d = list_first_entry(versions, struct kvp_version, list);
		there = list_entry(*at, struct kvp_version, list);
		if (*at != &w->elevator && kvp_version_after(d, there)) {
			*at = (*at)->next;
			continue;
		}
		list_move_tail(&d->list, *at);
		w->nr_spilled++;
	}
	spin_unlock(&w->lock);
	cond_resched();
	return !list_empty(versions);
}

void kvp_wbuf_elevator_put(struct kvp_wbuf *w, struct list_head *versions)
{
	struct list_head *at = w->elevator.next;

	while (!list_empty(versions) && put_some(w, versions, &at))
		;
}

/* Pack the first of @versions, up to one that must stay. */
static void pack_restored(struct kvp_wbuf *w, struct list_head *versions)
{
	struct kvp_version *d, *next;

	list_for_each_entry_safe(d, next, versions, list) {
		if (!kvp_wbuf_pack(w, d, false))
			break;
		cond_resched();
	}
}

u32 kvp_wbuf_restore(struct kvp_wbuf *w, struct list_head *versions)
{
	struct kvp_version *d;
	u32 n = 0;

	list_for_each_entry(d, versions, list) {
		spin_lock(lock_of(w, d->block));
		d->seq = w->seq + ++n;
		__enter(w, d, bucket_of(w, d->block));
		spin_unlock(lock_of(w, d->block));
		cond_resched();
	}
	spin_lock(&w->lock);
	w->seq += n;
	w->nr_spilled += n;
	w->nr_lone += n;
	spin_unlock(&w->lock);
	pack_restored(w, versions);
	/* If memory was short, the rest come after those that are packed. */
	spin_lock(&w->lock);
	list_splice_tail_init(versions, &w->spilled);
	spin_unlock(&w->lock);
	return n;
}

/* Fill the reserve of kvp_wbuf_unpack(). */
static bool reserve_versions(struct kvp_wbuf *w)
{
	bool full = false;

	while (!full) {
		struct kvp_version *d = kzalloc(sizeof(*d), GFP_KERNEL);

		if (!d)
			return false;
		INIT_LIST_HEAD(&d->list);
		spin_lock(&w->lock);
		full = !__keep_spare(w, d, KVP_WBUF_SPARE);
		spin_unlock(&w->lock);
		if (full)
			kfree(d);
	}
	return true;
}

bool kvp_wbuf_reserve(struct kvp_wbuf *w)
{
	while (w->nr_reserve < KVP_WBUF_RESERVE) {
		struct page *page = alloc_page(GFP_KERNEL);

		if (!page)
			return false;
		w->reserve[w->nr_reserve++] = page;
	}
	return reserve_versions(w);
}

struct page *kvp_wbuf_lone_page(struct kvp_wbuf *w)
{
	struct page *page = alloc_page(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);

	if (page)
		return page;
	spin_lock(&w->lock);
	if (w->nr_reserve)
		page = w->reserve[--w->nr_reserve];
	spin_unlock(&w->lock);
	return page;
}

void kvp_wbuf_lone_page_free(struct kvp_wbuf *w, struct page *page)
{
	bool kept;

	spin_lock(&w->lock);
	kept = w->nr_reserve < KVP_WBUF_RESERVE;
	if (kept)
		w->reserve[w->nr_reserve++] = page;
	spin_unlock(&w->lock);
	if (!kept)
		__free_page(page);
}
