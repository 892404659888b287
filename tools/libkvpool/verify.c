// SPDX-License-Identifier: GPL-2.0-only
/* Verifying a whole pool. */
#include <stdlib.h>

#include "replay.h"
#include "verify.h"

#define LEAF_BLOCKS	KVP_PTRS_PER_PAGE

/* What one leg holds at home of the blocks of one leaf. */
struct leg_view {
	u8 *data;			/* LEAF_BLOCKS blocks */
	bool failed[LEAF_BLOCKS];	/* cannot be read */
};

struct checker {
	const struct offline_pool *pool;
	struct verify *v;
	struct table table;
	struct replay replay;
	struct leg_view *views;		/* one a leg */
};

static bool newest_first(const struct replay_rec *discard, const struct replay_rec *rec)
{
	return discard && (!rec || replay_newer(discard, rec));
}

static void note_range(struct verify *v, u64 block, enum verify_state state)
{
	struct verify_range *last = v->range_count ? &v->ranges[v->range_count - 1] : NULL;

	if (last && last->state == state && last->block + last->count == block) {
		last->count++;
		return;
	}
	if (v->range_count < VERIFY_MAX_RANGES)
		v->ranges[v->range_count++] = (struct verify_range) {
			.block = block, .count = 1, .state = state,
		};
}

static void note(struct verify *v, u64 block, enum verify_state state)
{
	v->blocks[state]++;
	if (state == VERIFY_POISONED || state == VERIFY_UNREPAIRED)
		note_range(v, block, state);
}

/* --- home ---------------------------------------------------------------- */

static void read_view(struct checker *c, unsigned int leg, u64 first, u32 from, u32 count)
{
	const struct offline_pool *p = c->pool;
	struct leg_view *view = &c->views[leg];
	u64 at = p->g->data_start + first + from;
	u8 *buf = view->data + ((size_t)from << KVP_BLOCK_SHIFT);
	u32 i;

	memset(view->failed + from, 0, count);
	if (!device_read(p->legs[leg], at, count, buf))
		return;
	for (i = 0; i < count; i++) {
		if (!device_read(p->legs[leg], at + i, 1, buf + ((size_t)i << KVP_BLOCK_SHIFT)))
			continue;
		view->failed[from + i] = true;
		c->v->legs[leg].read_errors++;
	}
}

/* Bit per leg whose home of @block has the sum @crc. */
static u32 legs_with(struct checker *c, u64 block, u32 crc)
{
	u32 slot = (u32)(block % LEAF_BLOCKS), match = 0;
	unsigned int i;

	for (i = 0; i < c->pool->leg_count; i++) {
		const struct leg_view *view = &c->views[i];

		if (!view->failed[slot] &&
		    kvp_block_sum(c->pool->seed, block,
				  view->data + ((size_t)slot << KVP_BLOCK_SHIFT)) == crc)
			match |= 1u << i;
	}
	return match;
}

static void blame(struct checker *c, u32 match)
{
	unsigned int i;

	for (i = 0; i < c->pool->leg_count; i++)
		c->v->legs[i].blocks_bad += !(match >> i & 1);
}

/* --- one block -------------------------------------------------------------- */

/* May a mixture of old and new be there, and be accepted, because of @intent? */
static bool may_be_torn(const struct checker *c, const struct replay_rec *intent)
{
	const struct kvp_log_hdr *last = &c->v->log.last;
	u32 i;

	if (intent->lsn >= last->lsn)
		return true;
	for (i = 0; i < last->open_count; i++)
		if (last->open[i] == intent->lsn)
			return true;
	return false;
}

/* What the table says, when the log has nothing newer that holds. */
static enum verify_state by_table(struct checker *c, u64 block, u64 entry, bool intents)
{
	u32 match;

	switch (kvp_entry_state(entry)) {
	case KVP_ENTRY_UNWRITTEN:
		return VERIFY_UNWRITTEN;
	case KVP_ENTRY_POISONED:
		return VERIFY_POISONED;
	case KVP_ENTRY_VALID:
		match = legs_with(c, block, kvp_entry_crc(entry));
		/* with an intent pending a leg may well be ahead of the others */
		if (!intents)
			blame(c, match);
		return match ? VERIFY_OK : VERIFY_UNREPAIRED;
	default:
		return VERIFY_UNREPAIRED;
	}
}

/* The newest version that holds, in the order that a recovery takes. */
static enum verify_state resolve(struct checker *c, u64 block, u64 entry)
{
	const struct replay_rec *recs, *discard;
	size_t n = replay_get(&c->replay, block, &recs, &discard), i;
	enum verify_state state;

	for (i = 0; i < n; i++) {
		if (newest_first(discard, &recs[i]))
			break;
		if (recs[i].kind == KVP_REC_DATA)
			return VERIFY_IN_LOG;
		if (legs_with(c, block, recs[i].crc))
			return VERIFY_OK;
	}
	if (discard)
		return VERIFY_UNWRITTEN;
	state = by_table(c, block, entry, n);
	if (state == VERIFY_UNREPAIRED && n && may_be_torn(c, &recs[0]))
		return VERIFY_TORN;
	return state;
}

/* --- the whole pool ----------------------------------------------------------- */

/* First and last block of the leaf that must be read from home; false: none. */
static bool home_needed(struct checker *c, u64 first, u32 count, bool good, u32 *from, u32 *to)
{
	u64 next = replay_next(&c->replay, first);
	u32 slot;

	*from = count;
	*to = 0;
	for (slot = 0; slot < count; slot++) {
		bool valid = good && kvp_entry_state(table_entry(&c->table, slot)) ==
			KVP_ENTRY_VALID;
		if (!valid && next != first + slot)
			continue;
		if (*from == count)
			*from = slot;
		*to = slot + 1;
		if (next == first + slot)
			next = replay_next(&c->replay, next + 1);
	}
	/* the cursor went ahead; replay_get() asks again from the first block */
	while (c->replay.at && c->replay.recs[c->replay.at - 1].block >= first)
		c->replay.at--;
	return *to > *from;
}

static void check_leaf(struct checker *c, u64 leaf, enum page_state state)
{
	u32 count = (u32)table_span(c->pool, leaf, leaf + 1), from, to, slot;
	u64 first = leaf * LEAF_BLOCKS;
	unsigned int i;

	if (home_needed(c, first, count, state == PAGE_GOOD, &from, &to))
		for (i = 0; i < c->pool->leg_count; i++)
			read_view(c, i, first, from, to - from);
	for (slot = 0; slot < count; slot++) {
		/* an entry of a lost page is in no valid state */
		u64 entry = state == PAGE_NULL ? 0 : state == PAGE_GOOD ?
			table_entry(&c->table, slot) : ~0ull;

		note(c->v, first + slot, resolve(c, first + slot, entry));
	}
}

/* A null subtree needs a look only where the log has records. */
static u64 skip_null(struct checker *c, u64 leaf, u64 next)
{
	u64 block = replay_next(&c->replay, leaf * LEAF_BLOCKS);

	if (block / LEAF_BLOCKS < next)
		next = block / LEAF_BLOCKS;
	if (next > leaf)
		c->v->blocks[VERIFY_UNWRITTEN] += table_span(c->pool, leaf, next);
	return next;
}

/* A table_step_fn. */
static u64 check_leaves(void *arg, u64 leaf, u64 next, enum page_state state)
{
	struct checker *c = arg;

	next = state == PAGE_NULL ? skip_null(c, leaf, next) : leaf;
	if (next == leaf)
		check_leaf(c, next++, state);
	if (c->v->progress)
		c->v->progress(c->v->progress_arg, next, table_leaves(c->pool));
	return next;
}

static int checker_open(struct checker *c)
{
	unsigned int i;

	c->views = calloc(c->pool->leg_count + 1, sizeof(*c->views));
	if (!c->views || table_open(&c->table, c->pool))
		return -ENOMEM;
	for (i = 0; i < c->pool->leg_count; i++) {
		c->views[i].data = blocks_alloc(LEAF_BLOCKS);
		if (!c->views[i].data)
			return -ENOMEM;
	}
	return 0;
}

static void checker_close(struct checker *c)
{
	unsigned int i;

	for (i = 0; c->views && i < c->pool->leg_count; i++)
		free(c->views[i].data);
	free(c->views);
	table_close(&c->table);
	replay_free(&c->replay);
}

int verify_pool(const struct offline_pool *pool, struct verify *v, struct err *err)
{
	struct checker c = { .pool = pool, .v = v };
	int ret = checker_open(&c);

	if (!ret)
		ret = log_walk(pool, &v->log, replay_add, &c.replay);
	if (!ret)
		ret = replay_sort(&c.replay);
	if (!ret) {
		table_walk(&c.table, check_leaves, &c);
		v->pages_good = c.table.good;
		v->pages_lost = c.table.lost;
		memcpy(v->pages_bad, c.table.bad, sizeof(v->pages_bad));
	}
	checker_close(&c);
	if (ret == -E2BIG)
		return err_set(err, ERR_FAILED, pool->sb->name, "start the pool, which recovers it",
			       "its log holds over %u million records",
			       REPLAY_MAX_RECORDS >> 20);
	if (ret)
		return err_set(err, ERR_FAILED, pool->sb->name, "free some memory",
			       "out of memory");
	return 0;
}
