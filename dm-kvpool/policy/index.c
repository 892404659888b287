// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "policy/index.h"

#define NONE		(~0u)	/* the end of a chain */

/* struct kvp_index_chunk, @rest */
#define REST_KEY	((1u << (KVP_INDEX_KEY_BITS - 32)) - 1)
#define REST_OLD	(1u << 10)
#define REST_HIT	(1u << 11)		/* to be added up to three times */
#define REST_HITS	(KVP_INDEX_MAX_HITS * REST_HIT)
#define REST_META	(1u << 13)
#define REST_DIRTY	(1u << 14)
#define REST_LIVE	(1u << 15)

static_assert(KVP_INDEX_KEY_BITS - 32 == 10);

/* Memory beside the slot chunk itself: vmalloc()'s areas and page pointers, about. */
#define VMALLOC_BYTES	(160 + sizeof(struct kvp_index_chunk) / 4096 * sizeof(void *))

/* One stripe for this many places. */
#define STRIPE_PLACES	1024u

/* --- slots ------------------------------------------------------------------------ */

static struct kvp_index_chunk *chunk_of(const struct kvp_index *ix, u32 place)
{
	return ix->chunk[place / KVP_INDEX_CHUNK];
}

static u16 *rest_of(const struct kvp_index *ix, u32 place)
{
	return &chunk_of(ix, place)->rest[place % KVP_INDEX_CHUNK];
}

static u32 *next_of(const struct kvp_index *ix, u32 place)
{
	return &chunk_of(ix, place)->next[place % KVP_INDEX_CHUNK];
}

static u64 whole_key(u32 low, u16 rest)
{
	return (u64)(rest & REST_KEY) << 32 | low;
}

static u64 key_at(const struct kvp_index *ix, u32 place)
{
	return whole_key(chunk_of(ix, place)->key[place % KVP_INDEX_CHUNK], *rest_of(ix, place));
}

static u32 hits_of(u16 rest)
{
	return (rest & REST_HITS) / REST_HIT;
}

static void read_slot(const struct kvp_index *ix, u32 place, struct kvp_index_entry *e)
{
	u16 rest = *rest_of(ix, place);

	e->key = key_at(ix, place);
	e->place = place;
	e->crc = chunk_of(ix, place)->crc[place % KVP_INDEX_CHUNK];
	e->hits = hits_of(rest);
	e->dirty = rest & REST_DIRTY;
	e->meta = rest & REST_META;
	e->old = rest & REST_OLD;
}

/* The slot is not in use yet, but kvp_index_next() may look at it. */
static __always_inline void write_slot(struct kvp_index_chunk *c, u32 i,
				       const struct kvp_index_entry *e)
{
	c->crc[i] = e->crc;
	WRITE_ONCE(c->key[i], (u32)e->key);
	WRITE_ONCE(c->rest[i], REST_LIVE | e->key >> 32 | e->hits * REST_HIT |
			       (e->dirty ? REST_DIRTY : 0) | (e->meta ? REST_META : 0) |
			       (e->old ? REST_OLD : 0));
}

/* True if the caller may write to this slot. A block that is there may be under another lock. */
static bool is_free(const struct kvp_index *ix, u32 place)
{
	return !(READ_ONCE(*rest_of(ix, place)) & REST_LIVE);
}

/* --- chains ----------------------------------------------------------------------- */

static u32 hash_of(const struct kvp_index *ix, u64 key)
{
	u64 h = (key ^ ix->seed) * GOLDEN_RATIO_64;

	h = (h ^ h >> 32) * GOLDEN_RATIO_64;
	return (h ^ h >> 32) >> 32;
}

static struct kvp_index_stripe *stripe_of(const struct kvp_index *ix, u32 hash)
{
	return &ix->stripe[hash & ix->stripe_mask];
}

static struct kvp_index_stripe *lock_key(struct kvp_index *ix, u64 key, u32 *hash)
{
	struct kvp_index_stripe *s;

	*hash = hash_of(ix, key);
	s = stripe_of(ix, *hash);

	spin_lock(&s->lock);
	return s;
}

/*
 * The largest power of two that is not above @n: the number of buckets when the present round
 * began.
 */
static u32 round_of(u32 n)
{
	return 1u << (fls(n) - 1);
}

/*
 * Some buckets below round_of(@buckets) have been split: each gave half of its blocks to the
 * bucket that is round_of(@buckets) further on. There one more bit of the hash decides.
 *
 * The caller holds the lock of the hash's stripe. It may see an old number of buckets. Then only
 * buckets of other stripes were added since, which make no difference to this hash.
 */
static u32 bucket_of(u32 buckets, u32 hash)
{
	u32 round = round_of(buckets), bucket = hash & (2 * round - 1);

	return bucket < buckets ? bucket : bucket - round;
}

static u32 *bucket_at(const struct kvp_index *ix, u32 bucket)
{
	return &ix->chunk[bucket / KVP_INDEX_BUCKETS]->bucket[bucket % KVP_INDEX_BUCKETS];
}

/*
 * The word that leads to block @key of @hash, or that ends its chain. Caller holds the stripe's
 * lock.
 */
static __always_inline u32 *link_to(const struct kvp_index *ix, u64 key, u32 hash)
{
	u32 *link = bucket_at(ix, bucket_of(READ_ONCE(ix->buckets), hash));

	while (*link != NONE) {
		struct kvp_index_chunk *c = chunk_of(ix, *link);
		u32 i = *link % KVP_INDEX_CHUNK;

		/* In most cases the lower part tells two blocks apart. */
		if (c->key[i] == (u32)key && whole_key(c->key[i], c->rest[i]) == key)
			break;
		link = &c->next[i];
	}
	return link;
}

static void count(struct kvp_index_stripe *s, const struct kvp_index_entry *e, int by)
{
	s->live += by;
	s->dirty += e->dirty ? by : 0;
	s->meta += e->meta ? by : 0;
}

/* The block leaves the index, and its place is free. Caller holds the lock of @s. */
static void take_out(struct kvp_index *ix, struct kvp_index_stripe *s, u32 *link,
		     struct kvp_index_entry *e)
{
	u32 place = *link;

	read_slot(ix, place, e);
	*link = *next_of(ix, place);
	WRITE_ONCE(*rest_of(ix, place), 0);
	count(s, e, -1);
}

/* Put the slot at @link: from now on its block is in the index. Caller holds the lock of @s. */
static __always_inline void put_in(struct kvp_index *ix, struct kvp_index_stripe *s, u32 *link,
				   const struct kvp_index_entry *e)
{
	struct kvp_index_chunk *c = chunk_of(ix, e->place);
	u32 i = e->place % KVP_INDEX_CHUNK;

	write_slot(c, i, e);
	c->next[i] = *link;
	*link = e->place;
	count(s, e, 1);
}

/* --- operations ------------------------------------------------------------------- */

bool kvp_index_find(struct kvp_index *ix, u64 key, struct kvp_index_entry *e)
{
	u32 hash;
	struct kvp_index_stripe *s = lock_key(ix, key, &hash);
	u32 place = *link_to(ix, key, hash);

	if (place != NONE)
		read_slot(ix, place, e);
	spin_unlock(&s->lock);
	return place != NONE;
}

static bool is_place(const struct kvp_index *ix, u32 place)
{
	return place < smp_load_acquire(&ix->places);	/* pairs with kvp_index_grow() */
}

static bool may_be(const struct kvp_index *ix, const struct kvp_index_entry *e)
{
	return is_place(ix, e->place) && !(e->key >> KVP_INDEX_KEY_BITS) &&
	       e->hits <= KVP_INDEX_MAX_HITS;
}

int kvp_index_set(struct kvp_index *ix, const struct kvp_index_entry *e,
		  struct kvp_index_entry *old)
{
	struct kvp_index_stripe *s;
	int ret = -EEXIST;
	u32 *link, hash;

	if (!may_be(ix, e))
		return -EINVAL;
	s = lock_key(ix, e->key, &hash);
	link = link_to(ix, e->key, hash);
	if (*link == e->place || is_free(ix, e->place)) {
		ret = *link != NONE;
		if (ret)
			take_out(ix, s, link, old);
		put_in(ix, s, link, e);
	}
	spin_unlock(&s->lock);
	return ret;
}

static __always_inline int fill_unless(struct kvp_index *ix, const struct kvp_index_entry *e,
				       const atomic_t *changes, u32 seen)
{
	struct kvp_index_stripe *s;
	int ret = -EEXIST;
	u32 *link, hash;

	if (!may_be(ix, e))
		return -EINVAL;
	s = lock_key(ix, e->key, &hash);
	if (changes && (u32)atomic_read(changes) != seen) {
		spin_unlock(&s->lock);
		return -ESTALE;
	}
	link = link_to(ix, e->key, hash);
	if (*link == NONE && is_free(ix, e->place)) {
		put_in(ix, s, link, e);
		ret = 0;
	}
	spin_unlock(&s->lock);
	return ret;
}

/* A start counts all clean blocks like this, in one piece. */
int kvp_index_fill(struct kvp_index *ix, const struct kvp_index_entry *e)
{
	return fill_unless(ix, e, NULL, 0);
}

int kvp_index_fill_unless(struct kvp_index *ix, const struct kvp_index_entry *e,
			  const atomic_t *changes, u32 seen)
{
	return fill_unless(ix, e, changes, seen);
}

int kvp_index_move(struct kvp_index *ix, u64 key, u32 from, u32 to)
{
	return kvp_index_move_unless(ix, key, from, to, NULL, 0);
}

int kvp_index_move_unless(struct kvp_index *ix, u64 key, u32 from, u32 to, const atomic_t *changes,
			  u32 seen)
{
	struct kvp_index_stripe *s;
	struct kvp_index_entry e;
	int ret = -ENOENT;
	u32 *link, hash;

	if (!is_place(ix, to))
		return -EINVAL;
	s = lock_key(ix, key, &hash);
	if (changes && (u32)atomic_read(changes) != seen) {
		spin_unlock(&s->lock);
		return -ESTALE;
	}
	link = link_to(ix, key, hash);
	if (*link != NONE && *link == from) {
		ret = -EEXIST;
		if (is_free(ix, to)) {
			take_out(ix, s, link, &e);
			e.place = to;
			e.hits = 0;
			e.old = false;
			put_in(ix, s, link, &e);
			ret = 0;
		}
	}
	spin_unlock(&s->lock);
	return ret;
}

bool kvp_index_remove(struct kvp_index *ix, u64 key, struct kvp_index_entry *old)
{
	u32 hash;
	struct kvp_index_stripe *s = lock_key(ix, key, &hash);
	u32 *link = link_to(ix, key, hash);
	bool there = *link != NONE;

	if (there)
		take_out(ix, s, link, old);
	spin_unlock(&s->lock);
	return there;
}

bool kvp_index_remove_at(struct kvp_index *ix, u64 key, u32 place)
{
	u32 hash;
	struct kvp_index_stripe *s = lock_key(ix, key, &hash);
	u32 *link = link_to(ix, key, hash);
	struct kvp_index_entry old;
	bool there = *link != NONE && *link == place;

	if (there)
		take_out(ix, s, link, &old);
	spin_unlock(&s->lock);
	return there;
}

bool kvp_index_clean(struct kvp_index *ix, u64 key, u32 place)
{
	u32 hash;
	struct kvp_index_stripe *s = lock_key(ix, key, &hash);
	u32 at = *link_to(ix, key, hash);
	bool there = at != NONE && at == place;
	u16 *rest;

	if (there) {
		rest = rest_of(ix, place);
		s->dirty -= !!(*rest & REST_DIRTY);
		WRITE_ONCE(*rest, *rest & ~REST_DIRTY);
	}
	spin_unlock(&s->lock);
	return there;
}

void kvp_index_hit(struct kvp_index *ix, u64 key, u32 place)
{
	u32 hash;
	struct kvp_index_stripe *s = lock_key(ix, key, &hash);
	u32 at = *link_to(ix, key, hash);
	u16 *rest;

	if (at != NONE && at == place) {
		rest = rest_of(ix, place);
		if (hits_of(*rest) < KVP_INDEX_MAX_HITS)
			WRITE_ONCE(*rest, *rest + REST_HIT);
	}
	spin_unlock(&s->lock);
}

/*
 * The key in a slot says which lock protects the slot. So the key is read without a lock, and may
 * be half of one block and half of the next. But if the chain of that key leads to this very place,
 * the block is there.
 */
static bool read_place(struct kvp_index *ix, u32 place, struct kvp_index_entry *e)
{
	const struct kvp_index_chunk *c = chunk_of(ix, place);
	u32 i = place % KVP_INDEX_CHUNK;
	u16 rest = READ_ONCE(c->rest[i]);

	if (!(rest & REST_LIVE))
		return false;
	return kvp_index_find(ix, whole_key(READ_ONCE(c->key[i]), rest), e) && e->place == place;
}

bool kvp_index_next(struct kvp_index *ix, u32 *place, u32 end, struct kvp_index_entry *e)
{
	for (; *place < end && is_place(ix, *place); ++*place)
		if (read_place(ix, *place, e))
			return true;
	return false;
}

void kvp_index_count(struct kvp_index *ix, struct kvp_index_count *sum)
{
	struct kvp_index_stripe *s;
	u32 i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i <= ix->stripe_mask; i++) {
		s = &ix->stripe[i];
		spin_lock(&s->lock);
		sum->live += s->live;
		sum->dirty += s->dirty;
		sum->meta += s->meta;
		spin_unlock(&s->lock);
	}
}

/* --- life ------------------------------------------------------------------------- */

static u32 chunks_of(u32 places)
{
	return DIV_ROUND_UP(places, KVP_INDEX_CHUNK);
}

static u32 stripes_of(u32 most)
{
	return clamp(round_of(most) / STRIPE_PLACES, 1u, KVP_INDEX_BUCKETS);
}

u64 kvp_index_bytes(u32 places, u32 most)
{
	return (u64)chunks_of(places) * (sizeof(struct kvp_index_chunk) + VMALLOC_BYTES) +
	       (u64)chunks_of(most) * sizeof(struct kvp_index_chunk *) +
	       stripes_of(most) * sizeof(struct kvp_index_stripe);
}

static struct kvp_index_chunk *alloc_chunk(void)
{
	/* The caller can do without a slot chunk: the allocator must kill no process for it. */
	struct kvp_index_chunk *c = __vmalloc(sizeof(*c),
					      GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);

	if (!c)
		return NULL;
	memset(c->bucket, 0xff, sizeof(c->bucket));	/* NONE */
	memset(c->rest, 0, sizeof(c->rest));
	return c;
}

/*
 * Add a bucket. Hashes of some blocks of an older bucket lead to it from now on: it gets these
 * blocks.
 */
static void split_bucket(struct kvp_index *ix)
{
	u32 new = ix->buckets, place;
	u32 *link = bucket_at(ix, new - round_of(new)), *to = bucket_at(ix, new);
	struct kvp_index_stripe *s = stripe_of(ix, new);

	spin_lock(&s->lock);
	WRITE_ONCE(ix->buckets, new + 1);
	while (*link != NONE) {
		place = *link;
		if (bucket_of(new + 1, hash_of(ix, key_at(ix, place))) != new) {
			link = next_of(ix, place);
			continue;
		}
		*link = *next_of(ix, place);
		*next_of(ix, place) = *to;
		*to = place;
	}
	spin_unlock(&s->lock);
}

int kvp_index_grow(struct kvp_index *ix)
{
	u32 n = ix->places / KVP_INDEX_CHUNK, i;
	struct kvp_index_chunk *c;

	if (ix->places >= ix->most)
		return -ENOSPC;
	c = alloc_chunk();
	if (!c)
		return -ENOMEM;
	ix->chunk[n] = c;	/* readers see this with @buckets, by a lock, or with @places */
	for (i = 0; i < KVP_INDEX_BUCKETS; i++) {
		split_bucket(ix);
		cond_resched();
	}
	smp_store_release(&ix->places, ix->places + KVP_INDEX_CHUNK);	/* pairs with is_place() */
	return 0;
}

int kvp_index_init(struct kvp_index *ix, u32 most, u64 seed)
{
	u32 i;

	memset(ix, 0, sizeof(*ix));
	if (!most || most > KVP_INDEX_MAX_PLACES)
		return -EINVAL;
	ix->most = most;
	ix->seed = seed;
	ix->stripe_mask = stripes_of(most) - 1;
	ix->chunk = kvcalloc(chunks_of(most), sizeof(*ix->chunk), GFP_KERNEL);
	ix->stripe = kvcalloc(ix->stripe_mask + 1, sizeof(*ix->stripe), GFP_KERNEL);
	if (!ix->chunk || !ix->stripe)
		goto no_memory;
	for (i = 0; i <= ix->stripe_mask; i++)
		spin_lock_init(&ix->stripe[i].lock);
	/* The first buckets have no older bucket to take blocks from. */
	ix->chunk[0] = alloc_chunk();
	if (!ix->chunk[0])
		goto no_memory;
	ix->places = KVP_INDEX_CHUNK;
	ix->buckets = KVP_INDEX_BUCKETS;
	return 0;

no_memory:
	kvp_index_exit(ix);
	return -ENOMEM;
}

void kvp_index_exit(struct kvp_index *ix)
{
	u32 i;

	for (i = 0; ix->chunk && i < chunks_of(ix->most); i++)
		vfree(ix->chunk[i]);
	kvfree(ix->chunk);
	kvfree(ix->stripe);
	memset(ix, 0, sizeof(*ix));
}

/* --- for tests -------------------------------------------------------------------- */

/* Check that each block in a chain belongs there, and is live. Counts them. */
static bool chain_is_good(const struct kvp_index *ix, u32 bucket, struct kvp_index_count *sum)
{
	struct kvp_index_entry e;
	u32 place;

	for (place = *bucket_at(ix, bucket); place != NONE; place = *next_of(ix, place)) {
		if (place >= ix->places || is_free(ix, place) || sum->live == ix->places)
			return false;
		read_slot(ix, place, &e);
		if (bucket_of(ix->buckets, hash_of(ix, e.key)) != bucket ||
		    *link_to(ix, e.key, hash_of(ix, e.key)) != place)
			return false;
		sum->live++;
		sum->dirty += e.dirty;
		sum->meta += e.meta;
	}
	return true;
}

const char *kvp_index_check(struct kvp_index *ix)
{
	struct kvp_index_count found = { 0 }, counted;
	u32 bucket, place, live = 0;

	if (ix->buckets != ix->places / KVP_INDEX_CHUNK * KVP_INDEX_BUCKETS)
		return "the number of buckets";
	for (bucket = 0; bucket < ix->buckets; bucket++)
		if (!chain_is_good(ix, bucket, &found))
			return "a chain";
	for (place = 0; place < ix->places; place++)
		live += !is_free(ix, place);
	if (live != found.live)
		return "a place that no chain leads to";
	kvp_index_count(ix, &counted);
	if (memcmp(&found, &counted, sizeof(found)))
		return "a count";
	return NULL;
}
