// SPDX-License-Identifier: GPL-2.0-only
/*
 * A RAM cache alone, without a pool, and the pages of a write buffer alone. Other parts alone:
 * table_test.c, scache_alone_test.c, and in tests/kunit/wbuf_test.c all else of the write buffer.
 */
#include <stdlib.h>

#include <linux/mm.h>

#include "check.h"
#include "core/core.h"
#include "core/stats.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "suite.h"

#define CAPACITY	64u

static bool has(struct kvp_rcache *rc, u64 block, u8 fill)
{
	struct page *page = kvp_rcache_get(rc, kvp_block(block));
	bool good = page && *(u8 *)page_address(page) == fill;

	if (page)
		kvp_rcache_put(page);
	return good;
}

/* Admit @block, full of @fill, like a read that took @token before. */
static bool admit(struct kvp_rcache *rc, u64 block, u8 fill, u32 token)
{
	struct kvp_rfill from = { .first = kvp_block(block), .count = 1, .token = token };
	struct page *page = kvp_rcache_page(rc, kvp_block(block));

	if (!page)
		return expect(false, "there is no page for block %llu", block);
	memset(page_address(page), fill, PAGE_SIZE);
	kvp_rcache_insert(rc, kvp_block(block), page, &from);
	return true;
}

static bool use(struct kvp_rcache *rc, const struct kvp_stats *stats)
{
	u32 token = kvp_rcache_token(rc, kvp_block(7), 1);
	bool good = admit(rc, 7, 0xab, token);

	good &= expect(has(rc, 7, 0xab), "what entered is not there");
	good &= expect(stats->ram_fills == 1, "%llu fills are counted", (u64)stats->ram_fills);
	good &= expect(!has(rc, 8, 0xab), "its neighbour is there");
	kvp_rcache_forget(rc, kvp_block(7));
	good &= expect(!has(rc, 7, 0xab), "a block that changed is there");
	good &= admit(rc, 7, 0xab, token);
	good &= expect(!has(rc, 7, 0xab), "an old token lets it in again");
	good &= admit(rc, 9, 0xcd, kvp_rcache_token(rc, kvp_block(9), 1));
	good &= expect(kvp_rcache_used(rc) == 1, "%llu pages are in use", kvp_rcache_used(rc));
	kvp_rcache_drop(rc);
	return good & expect(!kvp_rcache_used(rc) && !kvp_rcache_check(rc), "it is not empty");
}

static void rcache_alone_main(void *arg)
{
	struct kvp_stats __percpu *stats = alloc_percpu(struct kvp_stats);
	struct kvp_rcache *rc = kzalloc(sizeof(*rc), GFP_KERNEL);
	bool *good = arg;

	*good = expect(!kvp_rcache_init(rc, stats) && !kvp_rcache_resize(rc, CAPACITY),
		       "there is no cache") && use(rc, stats);
	kvp_rcache_exit(rc);
	kfree(rc);
	free_percpu(stats);
}

/* A machine without disks. */
bool rcache_alone_test(void)
{
	bool good = false;

	return run_machine(NULL, 0, 1, rcache_alone_main, &good) && good;
}

/* --- pages of the write buffer ---------------------------------------------------------- */

#define PAGES		2048u
#define ENTRY		240u	/* blocks that are written home together */
#define HOME_BY_ONE	32u	/* old versions that are written home meanwhile, here and there */

/**
 * struct pages - a buffer, and what it holds
 * @old: versions of single writes
 * @stream: the stream's versions, oldest first, as a ring
 * @begin, @end: how many of the stream's were written home, and were written
 */
struct pages {
	struct kvp_wbuf w;
	struct kvp_version *old[PAGES], *stream[2 * PAGES];
	u32 begin, end;
	bool good;
};

static void no_space_waits(void *of)
{
}

static struct kvp_version *write_one(struct kvp_wbuf *w, u64 block, bool large)
{
	struct kvp_version *d = kvp_wbuf_begin_write(w, kvp_block(block), large);

	if (d)
		kvp_wbuf_end_write(w, d);
	return d;
}

static void home_written(struct kvp_wbuf *w, struct kvp_version *d)
{
	kvp_wbuf_seq(w);	/* it is on a list then */
	list_del(&d->list);
	kvp_wbuf_drop(w, d);
}

/* Single writes fill the buffer. */
static bool fill_by_one(struct pages *p)
{
	u32 i;

	for (i = 0; i < PAGES; i++) {
		p->old[i] = write_one(&p->w, 100000 + i, false);
		if (!p->old[i])
			return false;
	}
	return !write_one(&p->w, 1, false);
}

/* A stream takes all pages that it may have. Then one of its entries goes home. */
static void stream_on(struct pages *p)
{
	struct kvp_version *d;
	u32 n;

	while ((d = write_one(&p->w, 200000 + p->end, true)))
		p->stream[p->end++ % ARRAY_SIZE(p->stream)] = d;
	for (n = min(ENTRY, p->end - p->begin); n; n--)
		home_written(&p->w, p->stream[p->begin++ % ARRAY_SIZE(p->stream)]);
}

/* The segments of a request of 256 blocks: the next ones of the stream, @skip behind its head. */
static u32 segments(const struct pages *p, u32 skip)
{
	const char *last = NULL;
	u32 i, n = 0;

	for (i = p->begin + skip; i < p->begin + skip + 256; i++) {
		const char *at = page_address(p->stream[i % ARRAY_SIZE(p->stream)]->page);

		n += at != last + PAGE_SIZE;
		last = at;
	}
	return n;
}

/*
 * What single writes left goes home in any order, while a stream uses the pages that come free. Two
 * turns of the buffer later the stream's requests have few segments: a disk may take no more than
 * 128.
 */
static bool streams_get_neighbours(struct pages *p)
{
	u32 i, k, most = 0;

	for (i = 0; i < PAGES / HOME_BY_ONE; i++) {
		for (k = 0; k < HOME_BY_ONE; k++)	/* 1237: odd, so each comes once */
			home_written(&p->w, p->old[(i * HOME_BY_ONE + k) * 1237 % PAGES]);
		stream_on(p);
	}
	for (i = 0; i < 2 * PAGES / ENTRY; i++)
		stream_on(p);
	for (i = 0; i + 256 <= p->end - p->begin; i += 256)
		most = max(most, segments(p, i));
	return expect(most && most <= 128, "a request of a stream has %u segments", most);
}

/* The pages that large writes leave are there for others. */
static bool what_is_left_is_used(struct pages *p)
{
	u32 left, n = 0;
	bool good;

	stream_on(p);
	while (write_one(&p->w, 200000 + p->end, true))
		p->end++;
	left = PAGES - kvp_wbuf_used(&p->w);
	good = expect(left <= kvp_wbuf_most_scattered(PAGES), "%u pages are kept back", left);
	while (write_one(&p->w, 300000 + n, false))
		n++;
	return good & expect(n == left, "single writes get %u pages of %u", n, left);
}

/* Without memory for more than the reserve, a large write takes any page, so it gets on (R24). */
static bool without_memory_any_page_will_do(struct pages *p)
{
	bool good;
	u32 n = 0;

	sim_memory_short = 1000;	/* always */
	while ((p->old[n] = write_one(&p->w, 100000 + n, false)))
		n++;
	good = expect(n && n < PAGES, "%u pages are there", n);
	home_written(&p->w, p->old[n / 2]);
	good &= expect(write_one(&p->w, 1, true),
		       "a large write waits for the neighbours of a page");
	sim_memory_short = 0;
	return good;
}

static bool with_buffer(struct pages *p, bool (*test)(struct pages *p))
{
	struct kvp_wbuf_client client = {
		.space = no_space_waits, .stats = alloc_percpu(struct kvp_stats),
	};
	bool good = expect(!kvp_wbuf_init(&p->w, &client, PAGES, 0), "there is no buffer") &&
		    test(p);

	kvp_wbuf_exit(&p->w);
	free_percpu(client.stats);
	memset(p, 0, sizeof(*p));
	return good;
}

static bool beside_single_writes(struct pages *p)
{
	return expect(fill_by_one(p), "single writes do not fill it") &&
	       streams_get_neighbours(p) && what_is_left_is_used(p);
}

static void wbuf_alone_main(void *arg)
{
	struct pages *p = arg;
	bool good = with_buffer(p, beside_single_writes) &
		    with_buffer(p, without_memory_any_page_will_do);

	p->good = good;
}

bool wbuf_alone_test(void)
{
	struct pages *p = calloc(1, sizeof(*p));
	bool good = run_machine(NULL, 0, 1, wbuf_alone_main, p) && p->good;

	free(p);
	return good;
}
