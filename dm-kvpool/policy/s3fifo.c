// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "policy/s3fifo.h"

/* Share of the capacity, in percent. */
#define SMALL_LEAST	10
#define SMALL_MOST	40
#define GHOST_SHARE	90

/*
 * Blocks that were hit and are spared before one is evicted all the same: where
 * nearly all were hit, that would take too long under a lock, and says little.
 */
#define PATIENCE	256

/* A reader whose chain changes meanwhile begins anew this often. */
#define TRIES		8
#define STRAYED		(KVP_S3_NONE - 1)

/*
 * A tag: the block's number; whether it was hit; its queue; and the life of the
 * slot, which changes when it is freed, so that a reader can tell the same block
 * in its next life. (With 13 bits, that can only fail if the slot is freed 8192
 * times while one reader makes one step.)
 */
#define TAG_KEY		((1ull << KVP_S3_KEY_BITS) - 1)
#define TAG_HIT		(1ull << 48)
#define TAG_QUEUE_SHIFT	49
#define TAG_QUEUE	(3ull << TAG_QUEUE_SHIFT)
#define TAG_LIFE_UNIT	(1ull << 51)
#define TAG_LIFE	(~0ull << 51)

enum { FREE, SMALL, MAIN };

/* A fingerprint: 15 bits of a hash, never 0, and where the block was evicted from. */
#define GHOST_PRINT	0x7fff
#define GHOST_MAIN	0x8000

static_assert(KVP_S3_BLOCK_BYTES * 100 >= sizeof(struct kvp_s3_slot) * 100 +
	      sizeof(u32) * 100 / 2 + sizeof(u16) * GHOST_SHARE);

/* --- slots and tags --------------------------------------------------------------- */

static struct kvp_s3_slot *slot_of(const struct kvp_s3 *c, u32 slot)
{
	return &c->table->slot[slot];
}

static u64 read_tag(const struct kvp_s3_slot *s)
{
	return atomic64_read(&s->tag);
}

static u64 key_of(u64 tag)
{
	return tag & TAG_KEY;
}

static u32 queue_of(u64 tag)
{
	return (tag & TAG_QUEUE) >> TAG_QUEUE_SHIFT;
}

static u64 with_queue(u64 tag, u32 queue)
{
	return (tag & ~TAG_QUEUE) | (u64)queue << TAG_QUEUE_SHIFT;
}

static bool same_life(u64 a, u64 b)
{
	return !((a ^ b) & (TAG_KEY | TAG_LIFE));
}

/* The upper half says which bucket a block is in, the lower which set of the ghost. */
static u64 hash_of(const struct kvp_s3 *c, u64 key)
{
	u64 h = (key ^ c->seed) * GOLDEN_RATIO_64;

	h = (h ^ h >> 32) * GOLDEN_RATIO_64;
	return h ^ h >> 32;
}

static u32 bucket_of(const struct kvp_s3 *c, const struct kvp_s3_table *t, u64 key)
{
	return reciprocal_scale(hash_of(c, key) >> 32, t->buckets);
}

/* --- the hash table --------------------------------------------------------------- */

/*
 * Readers without the lock. A writer takes a slot off its chain and begins its next
 * life, and only then gives it to another block, perhaps on another chain:
 *
 *   writer                                   reader
 *   chain before the slot passes it by
 *   tag: free, next life      (end_life)     tag           (acquire)
 *   smp_wmb()                                value, chain
 *   value, chain of the new block            smp_rmb()
 *   tag: the new block        (release)      tag: still the same life?
 *   chain leads to the slot   (release)
 *
 * So the value that the reader took belongs to the block whose tag it saw. Before it goes on
 * from a slot it makes sure that the chain led there: the pointer to the slot is still the
 * same, seen after the tag. (A slot may also come back on the same chain, but further down,
 * and the reader would miss the blocks between.) If one of the two fails, the reader begins
 * anew. A block that moves to another slot keeps its place in the chain.
 */
static u32 walk(const struct kvp_s3 *c, const struct kvp_s3_table *t, u64 key, u64 *tag)
{
	const u32 *link = &t->bucket[bucket_of(c, t, key)];
	const struct kvp_s3_slot *s, *before = NULL;
	u32 slot = READ_ONCE(*link), next;
	u64 before_tag = 0;

	while (slot != KVP_S3_NONE) {
		s = &t->slot[slot];
		*tag = atomic64_read_acquire(&s->tag);
		if (key_of(*tag) == key && queue_of(*tag) != FREE)
			break;
		if (READ_ONCE(*link) != slot ||
		    (before && !same_life(before_tag, read_tag(before))))
			return STRAYED;
		next = READ_ONCE(s->chain);
		smp_rmb();	/* pairs with end_life() */
		if (!same_life(*tag, read_tag(s)))
			return STRAYED;
		link = &s->chain;
		before = s;
		before_tag = *tag;
		slot = next;
	}
	return slot;
}

u32 kvp_s3_lookup(const struct kvp_s3 *c, u64 key)
{
	u64 tag;

	return c->table->capacity ? walk(c, c->table, key, &tag) : KVP_S3_NONE;
}

void *kvp_s3_find(const struct kvp_s3 *c, u64 key, u32 *slot)
{
	const struct kvp_s3_table *t = READ_ONCE(c->table);	/* pairs with kvp_s3_resize() */
	const struct kvp_s3_slot *s;
	void *value;
	u32 tries;
	u64 tag;

	for (tries = 0; t->capacity && tries < TRIES; tries++) {
		*slot = walk(c, t, key, &tag);
		if (*slot == KVP_S3_NONE)
			break;
		if (*slot == STRAYED)
			continue;
		s = &t->slot[*slot];
		value = READ_ONCE(s->value);
		smp_rmb();	/* pairs with end_life() */
		if (same_life(tag, read_tag(s)))
			return value;
	}
	*slot = KVP_S3_NONE;
	return NULL;
}

/* The word that leads to @slot, which is on the chain of @key: a bucket or another's chain. */
static u32 *link_to(struct kvp_s3 *c, u64 key, u32 slot)
{
	u32 *link = &c->table->bucket[bucket_of(c, c->table, key)];

	while (*link != slot)
		link = &slot_of(c, *link)->chain;
	return link;
}

/* Make free slot @slot that of a block. @link is to lead to it, and it to @chain. */
static void fill_slot(struct kvp_s3 *c, u32 slot, u64 block, void *value, u32 chain, u32 *link)
{
	struct kvp_s3_slot *s = slot_of(c, slot);

	WRITE_ONCE(s->value, value);
	WRITE_ONCE(s->chain, chain);
	/* Both releases pair with the reads in walk(). */
	atomic64_set_release(&s->tag, (read_tag(s) & TAG_LIFE) | (block & ~TAG_LIFE));
	smp_store_release(link, slot);
}

/* The slot is on no chain any more. */
static void end_life(struct kvp_s3_slot *s)
{
	/* After the chain has changed. */
	atomic64_set_release(&s->tag, (read_tag(s) & TAG_LIFE) + TAG_LIFE_UNIT);
	smp_wmb();	/* before the next block's; pairs with walk() and kvp_s3_find() */
}

static void free_slot(struct kvp_s3 *c, u32 slot)
{
	struct kvp_s3_slot *s = slot_of(c, slot);

	end_life(s);
	s->next = c->free;
	c->free = slot;
}

static void unchain(struct kvp_s3 *c, u32 slot)
{
	const struct kvp_s3_slot *s = slot_of(c, slot);

	WRITE_ONCE(*link_to(c, key_of(read_tag(s)), slot), s->chain);
}

/* The block in @from goes to @to, which is free, on the same chain. */
static void move_block(struct kvp_s3 *c, u32 from, u32 to)
{
	const struct kvp_s3_slot *s = slot_of(c, from);
	u64 tag = read_tag(s);

	fill_slot(c, to, tag, s->value, s->chain, link_to(c, key_of(tag), from));
}

/* --- queues ----------------------------------------------------------------------- */

static struct kvp_s3_queue *queue(struct kvp_s3 *c, u32 which)
{
	return which == SMALL ? &c->small : &c->main;
}

/* The end of a queue leads nowhere, so that kvp_s3_check() would find a circle. */
static void push(struct kvp_s3 *c, struct kvp_s3_queue *q, u32 slot)
{
	slot_of(c, slot)->next = KVP_S3_NONE;
	if (q->count++)
		slot_of(c, q->newest)->next = slot;
	else
		q->oldest = slot;
	q->newest = slot;
}

static u32 pop(struct kvp_s3 *c, struct kvp_s3_queue *q)
{
	u32 slot = q->oldest;

	q->oldest = slot_of(c, slot)->next;
	q->count--;
	return slot;
}

static u32 take_free(struct kvp_s3 *c)
{
	u32 slot = c->free;

	c->free = slot_of(c, slot)->next;
	return slot;
}

/* --- the ghost -------------------------------------------------------------------- */

/*
 * Sets of sixteen, each a queue of its own, so that no links are needed. A wrong
 * match, one in two thousand lookups, costs a place in the main queue.
 */
static u16 *ghost_set(const struct kvp_s3_table *t, u64 hash)
{
	return t->ghost[reciprocal_scale((u32)hash, t->sets)];
}

/* The bits that chose the set take part, but do not decide. */
static u16 print_of(u64 hash)
{
	return (hash * GOLDEN_RATIO_64 >> 49) ?: 1;
}

static void ghost_add(struct kvp_s3 *c, u64 key, u32 from)
{
	struct kvp_s3_table *t = c->table;
	u64 hash = hash_of(c, key);
	u16 *set;
	u32 way;

	if (!t->sets)
		return;
	set = ghost_set(t, hash);
	/* Older ones move up to where one was taken out, or the oldest goes. */
	for (way = 0; way < KVP_S3_WAYS - 1 && set[way]; way++)
		;
	if (set[way])
		t->ghosts[!!(set[way] & GHOST_MAIN)]--;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = print_of(hash) | (from == MAIN ? GHOST_MAIN : 0);
	t->ghosts[from == MAIN]++;
}

/*
 * Forget the fingerprint of a block in the ghost. Returns the queue that the block was evicted
 * from, or FREE if the ghost has no fingerprint of it.
 */
static u32 ghost_take(struct kvp_s3 *c, u64 key)
{
	struct kvp_s3_table *t = c->table;
	u64 hash = hash_of(c, key);
	u32 way, from;
	u16 *set;

	if (!t->sets)
		return FREE;
	set = ghost_set(t, hash);
	for (way = 0; way < KVP_S3_WAYS; way++)
		if ((set[way] & GHOST_PRINT) == print_of(hash)) {
			from = set[way] & GHOST_MAIN ? MAIN : SMALL;
			set[way] = 0;
			t->ghosts[from == MAIN]--;
			return from;
		}
	return FREE;
}

static u32 share(u32 capacity, u32 percent)
{
	return div_u64((u64)capacity * percent, 100);
}

/*
 * A block that was evicted too early makes its queue larger. As in ARC, a hit counts more if
 * there are few fingerprints of its queue. So the two queues are compared by the hits that one
 * more block would bring, not by all their hits.
 */
static void adapt(struct kvp_s3 *c, u32 from)
{
	u32 least = share(c->table->capacity, SMALL_LEAST);
	u32 most = share(c->table->capacity, SMALL_MOST);
	u32 own = c->table->ghosts[from == MAIN] + 1;	/* with the one that was hit */
	u32 other = c->table->ghosts[from != MAIN];
	u32 step = max((other + own / 2) / own, 1u);

	if (from == SMALL)
		c->target += min(step, most - c->target);
	else
		c->target -= min(step, c->target - least);
}

/* --- blocks come and go ----------------------------------------------------------- */

void kvp_s3_hit(struct kvp_s3 *c, u32 slot)
{
	struct kvp_s3_table *t = READ_ONCE(c->table);

	/* The table may have been replaced by a smaller one. */
	if (slot < t->capacity && !(read_tag(&t->slot[slot]) & TAG_HIT))
		atomic64_or(TAG_HIT, &t->slot[slot].tag);
}

/* Evict one block: from small if that has more than @keep. There is one. */
static void evict(struct kvp_s3 *c, u32 keep, struct kvp_s3_block *victim)
{
	u32 patience = PATIENCE, slot, from;
	struct kvp_s3_slot *s;
	u64 tag;

	for (;; patience--) {
		from = c->small.count > keep || !c->main.count ? SMALL : MAIN;
		slot = pop(c, queue(c, from));
		s = slot_of(c, slot);
		tag = read_tag(s);
		if (!(tag & TAG_HIT) || !patience)
			break;
		/* A hit that comes between is lost, which is as if it had come before. */
		atomic64_set(&s->tag, with_queue(tag & ~TAG_HIT, MAIN));
		push(c, &c->main, slot);
	}
	victim->key = key_of(tag);
	victim->value = s->value;
	ghost_add(c, victim->key, from);
	unchain(c, slot);
	free_slot(c, slot);
}

u32 kvp_s3_insert(struct kvp_s3 *c, u64 key, void *value, struct kvp_s3_block *victim)
{
	u32 slot = kvp_s3_lookup(c, key), to = SMALL, from;
	struct kvp_s3_table *t = c->table;
	u32 *bucket;

	victim->value = NULL;
	if (!t->capacity)
		return KVP_S3_NONE;
	if (slot != KVP_S3_NONE) {
		victim->key = key;
		victim->value = kvp_s3_value(c, slot);
		WRITE_ONCE(slot_of(c, slot)->value, value);
		return slot;
	}
	/* Before the eviction, which may push it out. */
	from = ghost_take(c, key);
	if (from != FREE) {
		adapt(c, from);
		to = MAIN;
	}
	if (c->free == KVP_S3_NONE)
		evict(c, c->target, victim);
	slot = take_free(c);
	bucket = &t->bucket[bucket_of(c, t, key)];
	fill_slot(c, slot, with_queue(key, to), value, *bucket, bucket);
	push(c, queue(c, to), slot);
	return slot;
}

/*
 * Nothing leads from a slot to the one before it in its queue. So the next one's
 * block moves here and its slot is freed. If there is no next one, the oldest
 * block of the queue moves here, and so gets another round.
 */
void *kvp_s3_remove(struct kvp_s3 *c, u32 slot)
{
	struct kvp_s3_slot *s = slot_of(c, slot);
	struct kvp_s3_queue *q = queue(c, queue_of(read_tag(s)));
	u32 next = s->next;
	void *value = s->value;

	unchain(c, slot);
	if (slot == q->oldest) {
		free_slot(c, pop(c, q));
		return value;
	}
	if (slot == q->newest) {
		next = pop(c, q);
	} else {
		if (next == q->newest)
			q->newest = slot;
		q->count--;
	}
	end_life(s);
	move_block(c, next, slot);
	s->next = slot == q->newest ? KVP_S3_NONE : slot_of(c, next)->next;
	free_slot(c, next);
	return value;
}

bool kvp_s3_evict(struct kvp_s3 *c, struct kvp_s3_block *victim)
{
	victim->value = NULL;
	if (!kvp_s3_count(c))
		return false;
	evict(c, 0, victim);
	return true;
}

/* --- life ------------------------------------------------------------------------- */

static void set_sizes(struct kvp_s3_table *t, u32 capacity)
{
	t->capacity = capacity;
	t->buckets = DIV_ROUND_UP(capacity, 2);
	t->sets = share(capacity, GHOST_SHARE) / KVP_S3_WAYS;
}

u64 kvp_s3_bytes(u32 capacity)
{
	struct kvp_s3_table t;

	set_sizes(&t, capacity);
	return sizeof(t) + (u64)t.capacity * sizeof(*t.slot) + (u64)t.buckets * sizeof(*t.bucket) +
	       (u64)t.sets * sizeof(*t.ghost);
}

struct kvp_s3_table *kvp_s3_alloc(u32 capacity, gfp_t gfp)
{
	struct kvp_s3_table *t;
	u32 i;

	if (capacity > KVP_S3_MAX_CAPACITY)
		return NULL;
	t = kzalloc(sizeof(*t), gfp);
	if (!t)
		return NULL;
	set_sizes(t, capacity);
	t->slot = kvcalloc(t->capacity, sizeof(*t->slot), gfp);
	t->bucket = kvcalloc(t->buckets, sizeof(*t->bucket), gfp);
	t->ghost = kvcalloc(t->sets, sizeof(*t->ghost), gfp);
	if (!t->slot || !t->bucket || !t->ghost) {
		kvp_s3_free(t);
		return NULL;
	}
	for (i = 0; i < t->buckets; i++)
		t->bucket[i] = KVP_S3_NONE;
	for (i = 0; i < t->capacity; i++)
		t->slot[i].next = i + 1 < t->capacity ? i + 1 : KVP_S3_NONE;
	return t;
}

void kvp_s3_free(struct kvp_s3_table *t)
{
	if (!t)
		return;
	kvfree(t->slot);
	kvfree(t->bucket);
	kvfree(t->ghost);
	kfree(t);
}

/* Begin with an empty table. */
static void use_table(struct kvp_s3 *c, struct kvp_s3_table *t)
{
	c->table = t;
	c->free = t->capacity ? 0 : KVP_S3_NONE;
	c->target = share(t->capacity, SMALL_LEAST);
	memset(&c->small, 0, sizeof(c->small));
	memset(&c->main, 0, sizeof(c->main));
}

int kvp_s3_init(struct kvp_s3 *c, u32 capacity, u64 seed, gfp_t gfp)
{
	struct kvp_s3_table *t;

	memset(c, 0, sizeof(*c));
	if (capacity > KVP_S3_MAX_CAPACITY)
		return -EINVAL;
	t = kvp_s3_alloc(capacity, gfp);
	if (!t)
		return -ENOMEM;
	c->seed = seed;
	use_table(c, t);
	return 0;
}

void kvp_s3_exit(struct kvp_s3 *c)
{
	kvp_s3_free(c->table);
	c->table = NULL;
}

/* The blocks of a queue of @old, in their order. */
static void copy_queue(struct kvp_s3 *c, const struct kvp_s3 *old, const struct kvp_s3_queue *q)
{
	u32 slot = q->oldest, n, to, *bucket;
	const struct kvp_s3_slot *s;
	u64 tag;

	for (n = 0; n < q->count; n++, slot = s->next) {
		s = slot_of(old, slot);
		tag = read_tag(s);
		to = take_free(c);
		bucket = &c->table->bucket[bucket_of(c, c->table, key_of(tag))];
		fill_slot(c, to, tag, s->value, *bucket, bucket);
		push(c, queue(c, queue_of(tag)), to);
	}
}

struct kvp_s3_table *kvp_s3_resize(struct kvp_s3 *c, struct kvp_s3_table *t,
				   kvp_s3_drop_fn drop, void *arg)
{
	u32 least = share(t->capacity, SMALL_LEAST), most = share(t->capacity, SMALL_MOST);
	u32 before = c->table->capacity, target = least;
	struct kvp_s3 new = { .seed = c->seed };
	struct kvp_s3_block victim;
	struct kvp_s3_table *old = c->table;

	if (before)
		target = clamp((u32)div_u64((u64)c->target * t->capacity, before), least, most);
	while (kvp_s3_count(c) > t->capacity) {
		evict(c, target, &victim);
		drop(arg, &victim);
	}
	use_table(&new, t);
	copy_queue(&new, c, &c->small);
	copy_queue(&new, c, &c->main);
	c->small = new.small;
	c->main = new.main;
	c->free = new.free;
	c->target = target;
	smp_store_release(&c->table, t);	/* pairs with kvp_s3_find(), kvp_s3_hit() */
	return old;
}

/* --- for tests -------------------------------------------------------------------- */

static bool queue_is_good(const struct kvp_s3 *c, const struct kvp_s3_queue *q, u32 which)
{
	u32 slot = q->oldest, last = KVP_S3_NONE, n;

	for (n = 0; n < q->count; n++, slot = slot_of(c, slot)->next) {
		if (slot >= c->table->capacity || queue_of(read_tag(slot_of(c, slot))) != which)
			return false;
		last = slot;
	}
	return !n || (slot == KVP_S3_NONE && last == q->newest);
}

/* Together with the queues, whose lengths are known, these are all slots. */
static bool free_list_is_good(const struct kvp_s3 *c)
{
	u32 slot, n = 0;

	for (slot = c->free; slot != KVP_S3_NONE; slot = slot_of(c, slot)->next)
		if (slot >= c->table->capacity || n++ == c->table->capacity ||
		    queue_of(read_tag(slot_of(c, slot))) != FREE)
			return false;
	return n + kvp_s3_count(c) == c->table->capacity;
}

/* Each block is where its key leads to, and no chain has anything else. */
static bool hash_is_good(const struct kvp_s3 *c)
{
	const struct kvp_s3_table *t = c->table;
	u32 bucket, slot, n = 0;
	u64 tag;

	for (bucket = 0; bucket < t->buckets; bucket++)
		for (slot = t->bucket[bucket]; slot != KVP_S3_NONE; slot = t->slot[slot].chain) {
			if (slot >= t->capacity || n++ == t->capacity)
				return false;
			tag = read_tag(&t->slot[slot]);
			if (queue_of(tag) == FREE || bucket_of(c, t, key_of(tag)) != bucket ||
			    kvp_s3_lookup(c, key_of(tag)) != slot)
				return false;
		}
	return n == kvp_s3_count(c);
}

static bool ghost_is_good(const struct kvp_s3_table *t)
{
	u32 set, way, n[2] = { 0 };

	for (set = 0; set < t->sets; set++)
		for (way = 0; way < KVP_S3_WAYS; way++)
			if (t->ghost[set][way])
				n[!!(t->ghost[set][way] & GHOST_MAIN)]++;
	return n[0] == t->ghosts[0] && n[1] == t->ghosts[1] &&
	       n[0] + n[1] <= share(t->capacity, GHOST_SHARE);
}

const char *kvp_s3_check(const struct kvp_s3 *c)
{
	u32 capacity = c->table->capacity;

	if (!queue_is_good(c, &c->small, SMALL))
		return "the small queue";
	if (!queue_is_good(c, &c->main, MAIN))
		return "the main queue";
	if (kvp_s3_count(c) > capacity)
		return "more blocks than slots";
	if (!free_list_is_good(c))
		return "the free list";
	if (!hash_is_good(c))
		return "the hash table";
	if (!ghost_is_good(c->table))
		return "the ghost";
	if (c->target < share(capacity, SMALL_LEAST) || c->target > share(capacity, SMALL_MOST))
		return "the target";
	return NULL;
}
