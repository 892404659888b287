// SPDX-License-Identifier: GPL-2.0-only
/*
 * A RAM cache alone, without a pool. Other parts alone: table_test.c, scache_alone_test.c, and in
 * tests/kunit/wbuf_test.c the write buffer.
 */
#include <linux/mm.h>

#include "check.h"
#include "core/core.h"
#include "ram/rcache.h"
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

/* Admit @block, full of @fill, as a read does that took @token before. */
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
