// SPDX-License-Identifier: GPL-2.0-only
/* Reads of neighbours of a parity1 from all legs at once: what long_read.c does for bios. */
#include <stdlib.h>
#include <string.h>

#include <linux/mm.h>

#include "users.h"
#include "core/xor.h"
#include "home/missing.h"
#include "home/row.h"
#include "home/stripe_read.h"
#include "io/io.h"
#include "io/mirror.h"
#include "ram/wbuf.h"
#include "table/table.h"

#define MOST_IOS 512

struct wide {
	struct host *h;
	struct kvp_stripe_read read;
	u32 count, leg;
	struct page **slots;
	struct kvp_io *ios;
	u32 nr_ios;
};

static bool add_stretch(void *to, u64 at, u32 slot, u32 nr)
{
	struct wide *w = to;
	struct kvp_io *io = &w->ios[w->nr_ios];
	u32 i;

	if (slot == KVP_SLOT_JUNK)
		return true;
	if (w->nr_ios == MOST_IOS)
		sim_fail("more than %u requests for %u blocks", MOST_IOS, w->count);
	for (i = slot; i < slot + nr; i++) {
		if (w->slots[i])
			sim_fail("slot %u is read twice", i);
		w->slots[i] = alloc_page(GFP_NOWAIT);
		if (!w->slots[i])
			return false;
	}
	*io = (struct kvp_io){
		.leg = &w->read.leaf->v->legs[w->leg],
		.op = KVP_IO_READ,
		.block = at,
		.nr = nr,
		.pages = &w->slots[slot],
	};
	w->nr_ios++;
	return true;
}

/* Leg by leg, so that something may happen when the first has answered. */
static bool read_legs(struct wide *w)
{
	struct kvp_io_group group;
	bool good = true;
	u32 i;

	kvp_io_group_init(&group);
	for (i = 0; i < w->nr_ios; i++) {
		if (i && w->h->amid_wide && w->ios[i].leg != w->ios[i - 1].leg) {
			void (*now)(struct host *h) = w->h->amid_wide;

			kvp_io_group_wait(&group);
			kvp_io_group_init(&group);
			w->h->amid_wide = NULL;
			now(w->h);
		}
		kvp_leg_choose_this(w->ios[i].leg);
		kvp_io_group_submit(&group, &w->ios[i]);
		sim_maybe_preempt();
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < w->nr_ios; i++)
		kvp_leg_unchoose(w->ios[i].leg);
	for (i = 0; i < w->nr_ios; i++)
		good = good && !w->ios[i].error;
	return good;
}

static void xor_slots(void *to, u32 slot, u32 from, u32 nr)
{
	struct wide *w = to;

	for (; nr--; slot++, from++) {
		if (!w->slots[slot] || !w->slots[from])
			sim_fail("slot %u or %u was not read", slot, from);
		kvp_xor(w->slots[slot], w->slots[from]);
	}
}

/*
 * True if the table now names the version of block @i. If its leg is missing, only if it was @made.
 */
static bool came(struct wide *w, u32 i, bool made)
{
	const struct kvp_tpage *leaf = w->read.leaf;
	struct kvp_pool *pool = w->h->pool;
	u64 own = w->read.first + i, block = kvp_leaf_block(leaf, own);
	u64 entry = kvp_table_entry(leaf, block);

	if (kvp_data_place(leaf->v->g, own).leg == w->read.out && !made)
		return false;
	return w->slots[i] && kvp_entry_state(entry) == KVP_ENTRY_VALID &&
	       kvp_block_sum(pool->seed, block, page_address(w->slots[i])) == kvp_entry_crc(entry);
}

/* Copies all verified blocks; returns how many of them were rebuilt. */
static u32 take(struct wide *w, u8 *data, int *errors)
{
	int made = w->read.rebuild ? kvp_stripe_read_make(&w->read, xor_slots, w) : -EAGAIN;
	u32 i, n = 0;

	for (i = 0; i < w->count; i++) {
		sim_maybe_preempt();
		if (!came(w, i, made >= 0))
			continue;
		memcpy(data + i * KVP_BLOCK_SIZE, page_address(w->slots[i]), KVP_BLOCK_SIZE);
		errors[i] = 0;
		n += kvp_data_place(w->read.leaf->v->g, w->read.first + i).leg == w->read.out;
	}
	return n;
}

static bool cut(struct wide *w)
{
	bool more = true;

	for (w->leg = 0; more && w->leg < w->read.leaf->v->nr_legs; w->leg++)
		more = kvp_stripe_read_cut(&w->read, w->leg, add_stretch, w);
	return more;
}

/* *@passed: a leg was passed over. */
static u32 read_below(struct host *h, const struct kvp_tpage *leaf, u64 block, u32 count, u8 *data,
		      int *errors, bool *passed)
{
	struct wide w = { .h = h, .count = count };
	u32 slots, i, n = 0;

	if (!kvp_stripe_read_begin(&w.read, leaf, block, count, true))
		return 0;
	*passed |= w.read.passes;
	slots = count + kvp_stripe_read_own(&w.read);
	w.slots = calloc(slots, sizeof(w.slots[0]));
	w.ios = calloc(MOST_IOS, sizeof(w.ios[0]));
	sim_maybe_preempt();
	if (cut(&w) && read_legs(&w))
		n = take(&w, data, errors);
	for (i = 0; i < slots; i++)
		if (w.slots[i])
			__free_page(w.slots[i]);
	free(w.slots);
	free(w.ios);
	return n;
}

static void give(void *to, struct page *page)
{
	memcpy(to, page_address(page), KVP_BLOCK_SIZE);
}

int host_read_passing(struct host *h, const struct kvp_tpage *leaf, u64 block, u8 *data)
{
	bool passed = false;
	int error = 1;

	h->passed += read_below(h, leaf, block, 1, data, &error, &passed) && passed;
	if (error && passed)
		error = kvp_missing_read(h->pool, block, 1, give, data);
	return error ? -EIO : 0;
}

u32 host_read_wide(struct host *h, u64 block, u32 count, u8 *data, int *errors)
{
	struct kvp_pool *pool = h->pool;
	u32 n, i, made = 0;
	bool passed = false;

	for (; count; block += n, count -= n, data += n * KVP_BLOCK_SIZE, errors += n) {
		struct kvp_tpage *leaf;

		n = min(count, kvp_locate(pool, block).left);
		for (i = 0; i < n; i++)
			errors[i] = 1;
		if (!kvp_wbuf_any(pool->wbuf, block, n)) {
			leaf = kvp_table_load(pool->table, block);
			if (!IS_ERR(leaf)) {
				made += read_below(h, leaf, block, n, data, errors, &passed);
				kvp_table_put(leaf);
			}
		}
		/* the blocks that did not come, from scratch */
		for (i = 0; i < n; i++)
			if (errors[i])
				errors[i] = host_read_slowly(h, block + i,
							     data + i * KVP_BLOCK_SIZE);
	}
	return made;
}

u32 host_read_wide_check(struct host *h, u64 block, u32 count)
{
	u8 *data = malloc(count * KVP_BLOCK_SIZE);
	int *errors = calloc(count, sizeof(*errors));
	u32 *from = calloc(count, sizeof(*from)), made, i;
	char why[160];

	for (i = 0; i < count; i++)
		from[i] = oracle_accepted(h->o, block + i);
	made = host_read_wide(h, block, count, data, errors);
	for (i = 0; i < count; i++) {
		if (errors[i] && !h->may_fail)
			sim_fail("read of block %llu: %d", block + i, errors[i]);
		if (!errors[i] &&
		    !oracle_current(h->o, block + i, data + i * KVP_BLOCK_SIZE, from[i], why))
			sim_fail("read while running: %s", why);
	}
	free(data);
	free(errors);
	free(from);
	return made;
}
