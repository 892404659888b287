// SPDX-License-Identifier: GPL-2.0-only
/* The index of the SSD cache: each operation, its bounds, and all of them beside a model. */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/spinlock.h>

#include "policy/index.h"
#include "suite.h"
#include "trace.h"

#define MANY	(16 * KVP_INDEX_CHUNK)	/* places */

#define sound(ix) expect(!kvp_index_check(ix), "%s is wrong", kvp_index_check(ix))

static bool make(struct kvp_index *ix, u32 most)
{
	return expect(!kvp_index_init(ix, most, seed), "init");
}

static struct kvp_index_entry entry(u64 key, u32 place)
{
	return (struct kvp_index_entry){ .key = key, .place = place, .crc = (u32)key ^ place << 8 };
}

static bool set(struct kvp_index *ix, u64 key, u32 place, bool dirty)
{
	struct kvp_index_entry e = entry(key, place), old;

	e.dirty = dirty;
	return expect(kvp_index_set(ix, &e, &old) >= 0, "set %llu at %u", key, place);
}

/* Is block @key at @place, as entry() makes it? */
static bool is_at(struct kvp_index *ix, u64 key, u32 place)
{
	struct kvp_index_entry e;

	return expect(kvp_index_find(ix, key, &e), "%llu is not there", key) &&
	       expect(e.key == key && e.place == place, "%llu at %u, and not %llu at %u", e.key,
		      e.place, key, place);
}

static bool is_gone(struct kvp_index *ix, u64 key)
{
	struct kvp_index_entry e;

	return expect(!kvp_index_find(ix, key, &e), "%llu is still there", key);
}

static bool counts(struct kvp_index *ix, u64 live, u64 dirty, u64 meta)
{
	struct kvp_index_count n;

	kvp_index_count(ix, &n);
	return expect(n.live == live && n.dirty == dirty && n.meta == meta,
		      "%llu blocks, %llu dirty, %llu meta", n.live, n.dirty, n.meta);
}

/* The index returns what was put in, with the largest value of each field. */
static bool test_set(void)
{
	struct kvp_index_entry e = {
		.key = (1ull << KVP_INDEX_KEY_BITS) - 1, .place = KVP_INDEX_CHUNK - 1,
		.crc = 0xfedcba98, .hits = KVP_INDEX_MAX_HITS, .dirty = true, .meta = true,
	}, got = { 0 }, old = { 0 };
	struct kvp_index ix;
	bool good = make(&ix, MANY);

	good &= expect(kvp_index_set(&ix, &e, &old) == 0, "there was none");
	good &= expect(kvp_index_find(&ix, e.key, &got), "not found");
	good &= expect(got.key == e.key && got.place == e.place && got.crc == e.crc &&
		       got.hits == e.hits && got.dirty && got.meta, "something was lost");
	good &= counts(&ix, 1, 1, 1) && sound(&ix);
	e.place = 5;
	e.crc = 1;
	e.dirty = e.meta = false;
	e.hits = 0;
	good &= expect(kvp_index_set(&ix, &e, &old) == 1, "there was one");
	good &= expect(old.key == e.key && old.place == KVP_INDEX_CHUNK - 1 &&
		       old.crc == 0xfedcba98 && old.hits == KVP_INDEX_MAX_HITS && old.dirty &&
		       old.meta, "what it superseded");
	good &= expect(kvp_index_find(&ix, e.key, &got) && got.place == 5 && got.crc == 1 &&
		       !got.hits && !got.dirty && !got.meta, "the newer one");
	good &= counts(&ix, 1, 0, 0) && sound(&ix);
	/* the block's old place is free, its new one is not */
	good &= set(&ix, 7, KVP_INDEX_CHUNK - 1, false) && is_at(&ix, 7, KVP_INDEX_CHUNK - 1);
	e.key = 8;
	good &= expect(kvp_index_set(&ix, &e, &old) == -EEXIST, "a place was taken away");
	good &= is_gone(&ix, 8) && counts(&ix, 2, 0, 0) && sound(&ix);
	kvp_index_exit(&ix);
	return good;
}

/* Admission never replaces a version. */
static bool test_fill(void)
{
	struct kvp_index_entry a = entry(1, 10), b = entry(1, 11), c = entry(2, 10);
	const atomic_t changes = ATOMIC_INIT(7);
	struct kvp_index ix;
	bool good = make(&ix, MANY);

	good &= expect(!kvp_index_fill(&ix, &a), "fill") && is_at(&ix, 1, 10);
	good &= expect(kvp_index_fill(&ix, &b) == -EEXIST, "the block is there");
	good &= expect(kvp_index_fill(&ix, &c) == -EEXIST, "the place is not free");
	good &= is_at(&ix, 1, 10) && is_gone(&ix, 2);
	good &= set(&ix, 1, 20, true);
	good &= expect(kvp_index_fill(&ix, &a) == -EEXIST, "a newer one was written");
	good &= is_at(&ix, 1, 20) && counts(&ix, 1, 1, 0) && sound(&ix);
	/* a change was counted; the block may be the changed one */
	c.place = 30;
	good &= expect(kvp_index_fill_unless(&ix, &c, &changes, 6) == -ESTALE, "it has changed");
	good &= is_gone(&ix, 2) && expect(!kvp_index_fill_unless(&ix, &c, &changes, 7), "it has not");
	good &= is_at(&ix, 2, 30) && counts(&ix, 2, 1, 0) && sound(&ix);
	kvp_index_exit(&ix);
	return good;
}

/* A call with a place that the block has left changes nothing. */
static bool test_at_place(void)
{
	struct kvp_index_entry e = { 0 };
	struct kvp_index ix;
	bool good = make(&ix, MANY);

	good &= set(&ix, 1, 10, true) && set(&ix, 1, 20, true);
	good &= expect(!kvp_index_clean(&ix, 1, 10), "the older version was cleaned");
	good &= expect(!kvp_index_remove_at(&ix, 1, 10), "the older version was removed");
	good &= expect(kvp_index_move(&ix, 1, 10, 30) == -ENOENT, "the older version was moved");
	kvp_index_hit(&ix, 1, 10);
	good &= expect(kvp_index_find(&ix, 1, &e) && e.place == 20 && e.dirty && !e.hits, "changed");
	good &= expect(kvp_index_clean(&ix, 1, 20), "clean") && counts(&ix, 1, 0, 0);
	good &= expect(kvp_index_clean(&ix, 1, 20), "clean once more") && counts(&ix, 1, 0, 0);
	kvp_index_hit(&ix, 1, 20);
	good &= expect(kvp_index_move(&ix, 1, 20, 20) == -EEXIST, "moved to where it is");
	good &= expect(kvp_index_move(&ix, 1, 20, ix.places) == -EINVAL, "moved to nowhere");
	good &= expect(kvp_index_find(&ix, 1, &e) && e.hits == 1 && !e.dirty, "a move failed");
	good &= expect(!kvp_index_move(&ix, 1, 20, 30), "move");
	good &= expect(kvp_index_find(&ix, 1, &e) && e.place == 30 && !e.hits, "hits have to begin anew");
	good &= expect(e.crc == entry(1, 20).crc, "another crc") && set(&ix, 2, 20, false);
	good &= sound(&ix) && expect(kvp_index_remove_at(&ix, 1, 30), "remove_at");
	good &= expect(!kvp_index_remove_at(&ix, 1, 30) && !kvp_index_clean(&ix, 1, 30), "gone");
	good &= expect(kvp_index_remove(&ix, 2, &e) && e.place == 20, "remove");
	good &= expect(!kvp_index_remove(&ix, 2, &e), "twice") && counts(&ix, 0, 0, 0) && sound(&ix);
	kvp_index_exit(&ix);
	return good;
}

static bool test_hits(void)
{
	struct kvp_index_entry e = { 0 };
	struct kvp_index ix;
	bool good = make(&ix, MANY);
	u32 i;

	good &= set(&ix, 5, 9, true);
	for (i = 1; i < 10; i++) {
		kvp_index_hit(&ix, 5, 9);
		good &= expect(kvp_index_find(&ix, 5, &e) && e.hits == min(i, 3u) && e.dirty &&
			       !e.meta && e.key == 5, "%u hits after %u", e.hits, i);
	}
	kvp_index_exit(&ix);
	return good;
}

/* The whole block number counts: blocks that differ in one end of it are not found. */
static bool test_whole_key(void)
{
	u64 key, high = 1ull << 32;
	struct kvp_index_entry e;
	struct kvp_index ix;
	bool good = make(&ix, MANY);
	u32 found = 0, i;

	for (i = 0; i < KVP_INDEX_CHUNK; i++)
		good &= set(&ix, i, i, false);
	for (key = high; key < 60 * high; key += high)
		for (i = 0; i < KVP_INDEX_CHUNK; i++)
			found += kvp_index_find(&ix, key + i, &e);
	for (key = KVP_INDEX_CHUNK; key < 60 * KVP_INDEX_CHUNK; key++)
		found += kvp_index_find(&ix, key, &e);
	good &= expect(!found, "%u blocks were found that are not there", found);
	kvp_index_exit(&ix);
	return good;
}

/* All blocks are found in their places while the table grows, and afterwards in short chains. */
static bool grow(u64 step)
{
	struct kvp_index ix;
	bool good = make(&ix, MANY);
	u32 i, n = 0, bucket, place, length, longest = 0;

	do {
		for (; n < ix.places; n++)
			good &= set(&ix, n * step % (1ull << KVP_INDEX_KEY_BITS), n, n % 3 == 0);
		good &= sound(&ix);
	} while (good && !kvp_index_grow(&ix));
	good &= expect(ix.places == MANY && kvp_index_grow(&ix) == -ENOSPC, "%u places", ix.places);
	for (i = 0; i < n; i++)
		good &= is_at(&ix, i * step % (1ull << KVP_INDEX_KEY_BITS), i);
	for (bucket = 0; bucket < ix.buckets; bucket++) {
		length = 0;
		place = ix.chunk[bucket / KVP_INDEX_BUCKETS]->bucket[bucket % KVP_INDEX_BUCKETS];
		for (; place < n; length++)
			place = ix.chunk[place / KVP_INDEX_CHUNK]->next[place % KVP_INDEX_CHUNK];
		longest = max(longest, length);
	}
	/* with a mean of 4, more than 20 is one chance in some hundred million, of 16384 */
	good &= expect(longest <= 20, "%u in a chain", longest);
	good &= counts(&ix, MANY, DIV_ROUND_UP(MANY, 3), 0);
	kvp_index_exit(&ix);
	return good;
}

static bool test_grow(void)
{
	return grow(1) & grow(1ull << 20) & grow(0x12345678abull);
}

/* While a bucket is split, all blocks are found at every moment when a reader could come. */
static struct kvp_index *growing;
static u32 missing;

static void look_for_all(void)
{
	struct kvp_index_entry e;
	u64 key;

	after_unlock = NULL;
	for (key = 0; key < 300; key++)
		missing += !kvp_index_find(growing, key, &e) || e.place != key;
	after_unlock = look_for_all;
}

static bool test_visited_grower(void)
{
	struct kvp_index ix;
	bool good = make(&ix, MANY);
	u32 i;

	for (i = 0; i < 300; i++)
		good &= set(&ix, i, i, false);
	growing = &ix;
	missing = 0;
	look_for_all();
	good &= expect(!kvp_index_grow(&ix) && !kvp_index_grow(&ix), "grow");
	after_unlock = NULL;
	good &= expect(!missing, "%u times a block was not found", missing);
	kvp_index_exit(&ix);
	return good;
}

/* The newest blocks of a segment, in order. */
static bool test_next(void)
{
	u32 place, expected, segment = 512, end = 2 * segment;
	struct kvp_index_entry e;
	struct kvp_index ix;
	bool good = make(&ix, KVP_INDEX_CHUNK);

	for (place = 0; place < 3 * segment; place++)
		good &= set(&ix, 1000 + place, place, false);
	/* in the second segment every third was overwritten, one removed, one moved */
	for (place = segment; place < end; place += 3)
		good &= set(&ix, 1000 + place, 3 * segment + place, true);
	good &= expect(kvp_index_remove(&ix, 1000 + end - 3, &e), "remove");
	good &= expect(!kvp_index_move(&ix, 1000 + end - 4, end - 4, 4000), "move");
	for (expected = segment, place = segment; kvp_index_next(&ix, &place, end, &e); place++) {
		while ((expected - segment) % 3 == 0 || expected == end - 3 || expected == end - 4)
			expected++;
		good &= expect(place == expected++ && e.place == place && e.key == 1000 + place,
			       "%llu at %u", e.key, e.place);
	}
	good &= expect(expected == end && place == end, "up to %u", expected);
	place = KVP_INDEX_CHUNK - 1;
	good &= expect(!kvp_index_next(&ix, &place, 2 * KVP_INDEX_CHUNK, &e), "beyond the end");
	kvp_index_exit(&ix);
	return good;
}

/* --- memory ------------------------------------------------------------------------- */

static bool test_bytes(void)
{
	struct kvp_index ix;
	size_t stripes;
	bool good;
	u64 bytes;
	u32 n;

	/* a stripe is larger here than in a kernel, where it takes 16 bytes */
	good = make(&ix, MANY);
	while (!kvp_index_grow(&ix))
		;
	stripes = (ix.stripe_mask + 1) * sizeof(*ix.stripe);
	/* each chunk is counted with vmalloc()'s overhead of 280 bytes */
	good &= expect(memory_bytes() + MANY / KVP_INDEX_CHUNK * 280 == kvp_index_bytes(MANY, MANY),
		       "%zu bytes, and not %llu", memory_bytes(), kvp_index_bytes(MANY, MANY));
	good &= expect(memory_bytes() - stripes <= MANY * 151ull / 10, "%zu bytes", memory_bytes());
	kvp_index_exit(&ix);
	for (n = 4 * KVP_INDEX_CHUNK; n && n <= KVP_INDEX_MAX_PLACES; n *= 2) {
		bytes = kvp_index_bytes(n, n);
		good &= expect(bytes <= (u64)n * KVP_INDEX_PLACE_BYTES, "%llu bytes for %u places",
			       bytes, n);
		good &= expect(bytes <= n * 152ull / 10, "%llu bytes for %u places", bytes, n);
		/* with space to grow sixteenfold */
		bytes = kvp_index_bytes(n, min(n, KVP_INDEX_MAX_PLACES / 16) * 16);
		good &= expect(bytes <= (u64)n * KVP_INDEX_PLACE_BYTES, "%llu bytes with room", bytes);
	}
	return good;
}

/* If an allocation fails, no entry is lost; changes need no memory at all. */
static bool test_no_memory(void)
{
	struct kvp_index_entry e;
	struct kvp_index ix;
	bool good = true;
	u32 at, i;

	for (at = 1; at <= 3; at++) {
		memory_fail_at = at;
		good &= expect(kvp_index_init(&ix, MANY, 1) == -ENOMEM, "allocation %u", at);
		good &= expect(!memory_bytes(), "%zu bytes are left", memory_bytes());
		kvp_index_exit(&ix);
	}
	memory_fail_at = 0;
	good &= make(&ix, MANY);
	memory_fail_at = 1;
	for (i = 0; i < KVP_INDEX_CHUNK; i++)
		good &= set(&ix, i * 77ull, i, true);
	for (i = 0; i < KVP_INDEX_CHUNK; i += 2)
		good &= expect(kvp_index_remove(&ix, i * 77ull, &e), "remove") &&
			set(&ix, i * 79ull << 20, i, true);
	good &= expect(memory_fail_at == 1, "something was allocated");
	good &= expect(kvp_index_grow(&ix) == -ENOMEM && ix.places == KVP_INDEX_CHUNK, "grow");
	good &= sound(&ix) && is_at(&ix, 77, 1);
	good &= expect(!kvp_index_grow(&ix) && ix.places == 2 * KVP_INDEX_CHUNK, "grow again");
	good &= sound(&ix) && is_at(&ix, 77, 1);
	memory_fail_at = 0;
	kvp_index_exit(&ix);
	return good;
}

static bool test_limits(void)
{
	struct kvp_index_entry e = entry(0, KVP_INDEX_CHUNK), old;
	struct kvp_index ix;
	bool good;

	good = expect(kvp_index_init(&ix, 0, 1) == -EINVAL, "none");
	good &= expect(kvp_index_init(&ix, KVP_INDEX_MAX_PLACES + 1, 1) == -EINVAL, "too many");
	good &= make(&ix, 1);
	good &= expect(kvp_index_set(&ix, &e, &old) == -EINVAL, "beyond the places there are");
	good &= expect(kvp_index_fill(&ix, &e) == -EINVAL, "beyond the places there are");
	e = entry(1ull << KVP_INDEX_KEY_BITS, 0);
	good &= expect(kvp_index_set(&ix, &e, &old) == -EINVAL, "too large a block number");
	e = entry(0, 0);
	e.hits = KVP_INDEX_MAX_HITS + 1;
	good &= expect(kvp_index_set(&ix, &e, &old) == -EINVAL, "too many hits");
	good &= expect(kvp_index_grow(&ix) == -ENOSPC, "more than there may ever be");
	kvp_index_exit(&ix);
	return good & expect(sizeof(struct kvp_index_chunk) == 15 * 4096, "a chunk");
}

/* --- at random, beside a model ------------------------------------------------------- */

#define KEYS	300

struct model {
	struct kvp_index ix;
	struct rng rng;
	struct kvp_index_entry e[KEYS];		/* key ~0: not there */
	bool *taken;				/* places */
	bool good;
};

static u64 key_of(u32 k)
{
	/* few different low halves, few different high ones */
	return (u64)(k % 17) << 32 | (k / 17) * 0x2000003u;
}

static u32 any_place(struct model *m, bool free)
{
	u32 place;

	do
		place = rng_below(&m->rng, m->ix.places);
	while (free && m->taken[place]);
	return place;
}

static void forget(struct model *m, u32 k)
{
	m->taken[m->e[k].place] = false;
	m->e[k].key = ~0ull;
}

static void note(struct model *m, u32 k, const struct kvp_index_entry *e)
{
	m->e[k] = *e;
	m->taken[e->place] = true;
}

static bool same(const struct kvp_index_entry *a, const struct kvp_index_entry *b)
{
	return a->key == b->key && a->place == b->place && a->crc == b->crc && a->hits == b->hits &&
	       a->dirty == b->dirty && a->meta == b->meta;
}

static void random_set(struct model *m, u32 k, bool there, bool fill)
{
	struct kvp_index_entry e = entry(key_of(k), any_place(m, rng_below(&m->rng, 4))), old;
	bool own = there && !fill && m->e[k].place == e.place, free = own || !m->taken[e.place];
	int ret;

	e.crc = rng_next(&m->rng);
	e.dirty = !fill && rng_below(&m->rng, 2);
	e.meta = !rng_below(&m->rng, 4);
	if (fill) {
		ret = kvp_index_fill(&m->ix, &e);
		m->good &= expect(ret == (there || !free ? -EEXIST : 0), "fill: %d", ret);
		if (!ret)
			note(m, k, &e);
		return;
	}
	ret = kvp_index_set(&m->ix, &e, &old);
	m->good &= expect(ret == (free ? there : -EEXIST), "set: %d", ret);
	if (ret < 0)
		return;
	if (ret) {
		m->good &= expect(same(&old, &m->e[k]), "superseded something else");
		forget(m, k);
	}
	note(m, k, &e);
}

static void random_move(struct model *m, u32 k, bool right, u32 place)
{
	u32 to = any_place(m, rng_below(&m->rng, 4));
	int ret = kvp_index_move(&m->ix, key_of(k), place, to);
	struct kvp_index_entry e = m->e[k];

	m->good &= expect(ret == (!right ? -ENOENT : m->taken[to] ? -EEXIST : 0), "move: %d", ret);
	if (ret)
		return;
	forget(m, k);
	e.place = to;
	e.hits = 0;
	note(m, k, &e);
}

/* The place for a call: the right one, most of the time. */
static void random_at(struct model *m, u32 k, bool there, u32 what)
{
	u32 place = there && rng_below(&m->rng, 4) ? m->e[k].place : any_place(m, false);
	bool right = there && m->e[k].place == place;

	if (what < 2) {
		m->good &= expect(kvp_index_clean(&m->ix, key_of(k), place) == right, "clean");
		m->e[k].dirty &= !right;
	} else if (what < 5) {
		kvp_index_hit(&m->ix, key_of(k), place);
		m->e[k].hits += right && m->e[k].hits < KVP_INDEX_MAX_HITS;
	} else if (what < 7) {
		m->good &= expect(kvp_index_remove_at(&m->ix, key_of(k), place) == right, "remove_at");
		if (right)
			forget(m, k);
	} else {
		random_move(m, k, right, place);
	}
}

static void do_something(struct model *m)
{
	u32 k = rng_below(&m->rng, KEYS), what = rng_below(&m->rng, 20);
	struct kvp_index_entry e;
	bool there = m->e[k].key != ~0ull, found = kvp_index_find(&m->ix, key_of(k), &e);

	m->good &= expect(found == there && (!there || same(&e, &m->e[k])), "block %u", k);
	if (what < 6) {
		random_set(m, k, there, false);
	} else if (what < 9) {
		random_set(m, k, there, true);
	} else if (what < 10) {
		m->good &= expect(kvp_index_remove(&m->ix, key_of(k), &e) == there, "remove");
		if (there)
			forget(m, k);
	} else {
		random_at(m, k, there, what - 10);
	}
}

/* The slots agree with the model. */
static bool same_places(struct model *m)
{
	u32 place, k, there = 0, n = 0;
	struct kvp_index_entry e;
	bool good = true;

	for (k = 0; k < KEYS; k++)
		there += m->e[k].key != ~0ull;
	for (place = 0; kvp_index_next(&m->ix, &place, m->ix.places, &e); place++, n++) {
		for (k = 0; k < KEYS && !same(&e, &m->e[k]); k++)
			;
		good &= expect(k < KEYS && e.place == place, "%llu at %u", e.key, place);
	}
	return expect(n == there, "%u blocks, and not %u", n, there) && good;
}

static bool random_round(u32 round)
{
	struct model m = { .rng.state = seed * 100 + round };
	bool good = make(&m.ix, MANY);
	u32 i, k;

	m.good = true;
	m.taken = calloc(MANY, sizeof(*m.taken));
	for (k = 0; k < KEYS; k++)
		m.e[k].key = ~0ull;
	for (i = 0; good && m.good && i < 4000; i++) {
		do_something(&m);
		if (i % 400 == 0) {
			memory_fail_at = rng_below(&m.rng, 2);
			kvp_index_grow(&m.ix);
			memory_fail_at = 0;
		}
		if (i % 200 == 0)
			good &= sound(&m.ix) && same_places(&m);
	}
	kvp_index_exit(&m.ix);
	free(m.taken);
	return expect(good && m.good, "round %u, step %u", round, i);
}

static bool test_random(void)
{
	u32 round;

	for (round = 0; round < 20; round++)
		if (!random_round(round))
			return false;
	return true;
}

const struct test tests[] = {
	{ "set", test_set },
	{ "fill", test_fill },
	{ "at-place", test_at_place },
	{ "hits", test_hits },
	{ "whole-key", test_whole_key },
	{ "grow", test_grow },
	{ "visited-grower", test_visited_grower },
	{ "next", test_next },
	{ "bytes", test_bytes },
	{ "no-memory", test_no_memory },
	{ "limits", test_limits },
	{ "random", test_random },
	{ 0 }
};
