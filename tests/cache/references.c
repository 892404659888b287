// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies to compare with, each as plainly as in its paper. Arrays are as long as there are
 * blocks, so there are no look-ups.
 *
 * A block is on one list or on none; 0 is none. Each policy gives its lists their meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "policies.h"

#define LISTS	5

struct cache {
	uint32_t capacity, span;
	uint32_t *next, *prev;		/* of a block, or of list k at span + k; next is newer */
	uint8_t *list;
	bool *hit;
	uint32_t count[LISTS];
	double target;
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void *make(uint32_t capacity, uint32_t span)
{
	struct cache *c = must(calloc(1, sizeof(*c)));
	uint32_t k;

	c->capacity = capacity;
	c->span = span;
	c->next = must(calloc(span + LISTS, sizeof(*c->next)));
	c->prev = must(calloc(span + LISTS, sizeof(*c->prev)));
	c->list = must(calloc(span, sizeof(*c->list)));
	c->hit = must(calloc(span, sizeof(*c->hit)));
	for (k = 0; k < LISTS; k++)
		c->next[span + k] = c->prev[span + k] = span + k;
	return c;
}

static void drop(void *cache)
{
	struct cache *c = cache;

	free(c->next);
	free(c->prev);
	free(c->list);
	free(c->hit);
	free(c);
}

static void take(struct cache *c, uint32_t b)
{
	if (!c->list[b])
		return;
	c->next[c->prev[b]] = c->next[b];
	c->prev[c->next[b]] = c->prev[b];
	c->count[c->list[b]]--;
	c->list[b] = 0;
}

/* Puts a block on list @k as the newest. */
static void put(struct cache *c, uint32_t b, unsigned int k)
{
	uint32_t head = c->span + k;

	take(c, b);
	c->prev[b] = c->prev[head];
	c->next[b] = head;
	c->next[c->prev[b]] = b;
	c->prev[head] = b;
	c->list[b] = k;
	c->count[k]++;
}

static uint32_t oldest(const struct cache *c, unsigned int k)
{
	return c->next[c->span + k];
}

static bool fifo_ask(void *cache, uint32_t b)
{
	struct cache *c = cache;

	if (c->list[b])
		return true;
	if (c->count[1] == c->capacity)
		take(c, oldest(c, 1));
	put(c, b, 1);
	return false;
}

static bool lru_ask(void *cache, uint32_t b)
{
	struct cache *c = cache;
	bool hit = c->list[b];

	if (!hit && c->count[1] == c->capacity)
		take(c, oldest(c, 1));
	put(c, b, 1);
	return hit;
}

/* Corbato 1968. The hand stands at the oldest block; a block that was hit goes round again. */
static bool clock_ask(void *cache, uint32_t b)
{
	struct cache *c = cache;
	uint32_t old;

	if (c->list[b]) {
		c->hit[b] = true;
		return true;
	}
	while (c->count[1] == c->capacity) {
		old = oldest(c, 1);
		if (c->hit[old])
			put(c, old, 1);
		else
			take(c, old);
		c->hit[old] = false;
	}
	put(c, b, 1);
	return false;
}

/* 2Q, the full version: Johnson and Shasha, VLDB'94. Kin 25 %, Kout 50 %. */
static bool twoq_ask(void *cache, uint32_t b)
{
	enum { GONE, IN, OUT, MAIN };
	struct cache *c = cache;
	uint8_t was = c->list[b];

	if (was == MAIN)
		put(c, b, MAIN);
	if (was == IN || was == MAIN)
		return true;
	if (c->count[IN] + c->count[MAIN] == c->capacity) {
		if (c->count[IN] > c->capacity / 4 || !c->count[MAIN])
			put(c, oldest(c, IN), OUT);
		else
			take(c, oldest(c, MAIN));
		if (c->count[OUT] > c->capacity / 2)
			take(c, oldest(c, OUT));
	}
	put(c, b, was == OUT ? MAIN : IN);
	return false;
}

/* ARC: Megiddo and Modha, FAST'03, figure 4. */
enum { T1 = 1, T2, B1, B2 };

static void arc_replace(struct cache *c, bool in_b2)
{
	if (c->count[T1] && (c->count[T1] > c->target || (in_b2 && c->count[T1] == c->target)))
		put(c, oldest(c, T1), B1);
	else
		put(c, oldest(c, T2), B2);
}

static void arc_miss(struct cache *c)
{
	uint32_t n = c->capacity, one = c->count[T1] + c->count[B1];
	uint32_t all = one + c->count[T2] + c->count[B2];

	if (one == n) {
		if (c->count[T1] < n) {
			take(c, oldest(c, B1));
			arc_replace(c, false);
		} else {
			take(c, oldest(c, T1));
		}
	} else if (all >= n) {
		if (all == 2 * n)
			take(c, oldest(c, B2));
		arc_replace(c, false);
	}
}

static bool arc_ask(void *cache, uint32_t b)
{
	struct cache *c = cache;
	uint8_t was = c->list[b];
	double b1 = c->count[B1], b2 = c->count[B2], n = c->capacity;

	if (was == T1 || was == T2) {
		put(c, b, T2);
		return true;
	}
	if (was == B1) {
		c->target += b1 >= b2 ? 1 : b2 / b1;
		c->target = c->target > n ? n : c->target;
	} else if (was == B2) {
		c->target -= b2 >= b1 ? 1 : b1 / b2;
		c->target = c->target < 0 ? 0 : c->target;
	}
	if (was)
		arc_replace(c, was == B2);
	else
		arc_miss(c);
	put(c, b, was ? T2 : T1);
	return false;
}

/*
 * S3-FIFO as in the paper's algorithm 1, but with one bit: a fixed small queue of 10 %, and an
 * exact ghost.
 */
static void s3_evict(struct cache *c)
{
	enum { GONE, NEW, MAIN, GHOST };
	uint32_t old;
	bool small;

	for (;;) {
		small = c->count[NEW] > c->capacity / 10 || !c->count[MAIN];
		old = oldest(c, small ? NEW : MAIN);
		if (!c->hit[old])
			break;
		c->hit[old] = false;
		put(c, old, MAIN);
	}
	if (!small) {
		take(c, old);
		return;
	}
	put(c, old, GHOST);
	if (c->count[GHOST] > c->capacity * 9ull / 10)
		take(c, oldest(c, GHOST));
}

static bool s3_ask(void *cache, uint32_t b)
{
	enum { GONE, NEW, MAIN, GHOST };
	struct cache *c = cache;
	bool ghost = c->list[b] == GHOST;

	if (c->list[b] == NEW || c->list[b] == MAIN) {
		c->hit[b] = true;
		return true;
	}
	take(c, b);
	if (c->count[NEW] + c->count[MAIN] == c->capacity)
		s3_evict(c);
	put(c, b, ghost ? MAIN : NEW);
	return false;
}

const struct policy references[] = {
	[LRU] = { "lru", make, lru_ask, drop },
	[FIFO] = { "fifo", make, fifo_ask, drop },
	[CLOCK] = { "clock", make, clock_ask, drop },
	[TWOQ] = { "2q", make, twoq_ask, drop },
	[ARC] = { "arc", make, arc_ask, drop },
	[FIXED] = { "s3fifo-10%", make, s3_ask, drop },
	[REFERENCES] = { 0 },
};
