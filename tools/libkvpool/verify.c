// SPDX-License-Identifier: GPL-2.0-only
/* Verifies a whole pool. */
#include <stdlib.h>

#include "format/regions.h"
#include "verify_clean.h"
#include "verify_rows.h"

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

void verify_note(struct checker *c, u64 block, enum verify_state state)
{
	c->v->blocks[state]++;
	if (c->states)
		c->states[block - c->first] = (u8)state;
	if (state == VERIFY_POISONED || state == VERIFY_UNREPAIRED || state == VERIFY_UNREAD)
		note_range(c->v, block, state);
}

void verify_keep(struct checker *c, u64 block, const u8 *data)
{
	if (c->data && data)
		memcpy(c->data + ((block - c->first) << KVP_BLOCK_SHIFT), data, KVP_BLOCK_SIZE);
}

static struct verify_leg *leg_result(struct checker *c, int leg)
{
	return &c->v->legs[c->pool->index[leg]];
}

void verify_blame(struct checker *c, int leg)
{
	if (leg >= 0)
		leg_result(c, leg)->blocks_bad++;
}

u64 verify_entry(const struct checker *c, u64 index)
{
	if (c->state == PAGE_NULL)
		return 0;
	return c->state == PAGE_GOOD ? table_entry(c->table, (u32)(index % KVP_PTRS_PER_PAGE)) :
	       ~0ull;
}

/* --- home ---------------------------------------------------------------- */

static void read_view(struct checker *c, unsigned int leg, u32 from, u32 count)
{
	const struct offline_pool *p = c->pool;
	struct leg_view *view = &c->views[leg];
	u64 at = p->g->data_start + c->base + from;
	u8 *buf = view->data + ((size_t)from << KVP_BLOCK_SHIFT);
	int error;
	u32 i;

	memset(view->said + from, LEG_GAVE, count);
	if (!device_read(p->legs[leg], at, count, buf))
		return;
	for (i = 0; i < count; i++) {
		error = device_read(p->legs[leg], at + i, 1, buf + ((size_t)i << KVP_BLOCK_SHIFT));
		if (!error)
			continue;
		view->said[from + i] = device_lost(error) ? LEG_LOST : LEG_SILENT;
		leg_result(c, (int)leg)->read_errors++;
	}
}

void verify_read(struct checker *c, u32 from, u32 to)
{
	unsigned int i;

	for (i = 0; i < c->pool->leg_count; i++)
		read_view(c, i, from, to - from);
}

const u8 *verify_home(struct checker *c, unsigned int leg, u64 slot)
{
	const struct leg_view *view = &c->views[leg];

	c->silent |= view->said[slot] == LEG_SILENT;
	return view->said[slot] == LEG_GAVE ? view->data + (slot << KVP_BLOCK_SHIFT) : NULL;
}

/* The home of @block, a block of the pool, on a leg; NULL: it cannot be read. */
static const u8 *home(struct checker *c, unsigned int leg, u64 block)
{
	return verify_home(c, leg, block - c->first);
}

/* Bit per leg whose home of @block has the sum @crc. */
static u32 legs_with(struct checker *c, u64 block, u32 crc)
{
	const u8 *data;
	unsigned int i;
	u32 match = 0;

	for (i = 0; i < c->pool->leg_count; i++) {
		data = home(c, i, block);
		if (!data || kvp_block_sum(c->pool->data_seed, block, data) != crc)
			continue;
		match |= 1u << i;
		c->found = data;
	}
	return match;
}

static void blame(struct checker *c, u32 match)
{
	unsigned int i;

	for (i = 0; i < c->pool->leg_count; i++)
		if (!(match >> i & 1))
			verify_blame(c, (int)i);
}

/* --- one block -------------------------------------------------------------- */

bool verify_open(const struct checker *c, u64 lsn)
{
	const struct kvp_log_hdr *last = &c->v->log.last;
	u32 i;

	if (lsn >= last->lsn)
		return true;
	for (i = 0; i < last->open_count; i++)
		if (last->open[i] == lsn)
			return true;
	return false;
}

/* The verdict by the table, when the log has no newer version that holds. */
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
		/* under an open intent a leg may be ahead of the others */
		if (!intents)
			blame(c, match);
		return match ? VERIFY_OK : VERIFY_UNREPAIRED;
	default:
		return VERIFY_UNREPAIRED;
	}
}

struct logged {
	struct kvp_seed seed;
	u64 block;
};

static u32 sum_of(void *arg, const void *data)
{
	const struct logged *at = arg;

	return kvp_block_sum(at->seed, at->block, data);
}

/*
 * The verdict for a version in the log. An entry that counts by its header may have lost it; then
 * only home can have it.
 */
static enum verify_state in_log(struct checker *c, u64 block, const struct replay_rec *rec)
{
	const struct log_payload from = { rec->lsn, rec->payload, rec->row };
	struct logged at = { c->pool->data_seed, block };

	c->found = c->block;
	if (!verify_reads_log(c) || !log_read(c->log, &from, rec->crc, sum_of, &at, c->block))
		return VERIFY_IN_LOG;
	return legs_with(c, block, rec->crc) ? VERIFY_OK : VERIFY_UNREPAIRED;
}

/*
 * The same below intents that were not found. If a leg was silent about its home, it may have what
 * they wrote. Only this version at home shows that it was not written.
 */
static enum verify_state older_in_log(struct checker *c, u64 block, const struct replay_rec *rec)
{
	if (!c->silent)
		return in_log(c, block, rec);
	return legs_with(c, block, rec->crc) ? VERIFY_OK : VERIFY_UNREAD;
}

/*
 * No version was found below intents: home has the torn rest of a write, or the block is lost. A
 * recovery takes the rest from the first leg that can be read, unless a leg is silent.
 */
static enum verify_state torn_or_lost(struct checker *c, u64 block,
				      const struct replay_rec *newest)
{
	unsigned int i;

	for (i = 0; !c->silent && verify_open(c, newest->lsn) && i < c->pool->leg_count; i++) {
		c->found = home(c, i, block);
		if (c->found)
			return VERIFY_TORN;
	}
	return c->silent ? VERIFY_UNREAD : VERIFY_UNREPAIRED;
}

/*
 * True if the write of record @i, an intent, was cut short, and the newest data below it has the
 * same sum. Then the sum does not show what home has, and that data counts.
 */
static bool has_twin(const struct checker *c, const struct replay_rec *recs, size_t i, size_t n,
		     const struct replay_rec *discard)
{
	u32 crc = recs[i].crc;
	size_t first = i;

	while (i < n && recs[i].kind == KVP_REC_INTENT && verify_open(c, recs[i].lsn))
		i++;
	return i > first && i < n && recs[i].kind == KVP_REC_DATA && recs[i].crc == crc &&
	       !newest_first(discard, &recs[i]);
}

/*
 * Finds the newest version that holds, in a recovery's order. A closed intent was durable at home:
 * if its version is not there now, no older version counts.
 */
static enum verify_state resolve(struct checker *c, u64 block, u64 entry)
{
	const struct replay_rec *recs, *discard;
	size_t n = replay_get(&c->replay, block, &recs, &discard), i;
	enum verify_state state;

	c->silent = false;
	for (i = 0; i < n; i++) {
		if (newest_first(discard, &recs[i]) || replay_settled(&c->replay, &recs[i]))
			break;
		if (recs[i].kind == KVP_REC_DATA)
			return older_in_log(c, block, &recs[i]);
		if (has_twin(c, recs, i, n, discard))
			continue;
		if (legs_with(c, block, recs[i].crc))
			return VERIFY_OK;
		if (!verify_open(c, recs[i].lsn))
			return torn_or_lost(c, block, &recs[0]);
	}
	/* The first @i records are intents whose result is unknown. */
	if (newest_first(discard, i < n ? &recs[i] : NULL) && !replay_settled(&c->replay, discard))
		state = VERIFY_UNWRITTEN;
	else
		state = by_table(c, block, entry, i);
	if (!i || state == VERIFY_OK)
		return state;
	/* No home shows that what they wrote is not there. */
	if (c->silent)
		return VERIFY_UNREAD;
	return state == VERIFY_UNREPAIRED ? torn_or_lost(c, block, &recs[0]) : state;
}

/* --- blocks of a single or a mirror, below one leaf ------------------------------------------- */

/* The first and last block that must be read from home; false: none. */
static bool home_needed(struct checker *c, u32 *from, u32 *to)
{
	u64 next = replay_next(&c->replay, c->first);
	u32 slot;

	*from = c->count;
	*to = 0;
	for (slot = 0; slot < c->count; slot++) {
		bool valid = kvp_entry_state(verify_entry(c, c->own + slot)) == KVP_ENTRY_VALID;

		if (!valid && next != c->first + slot)
			continue;
		if (*from == c->count)
			*from = slot;
		*to = slot + 1;
		if (next == c->first + slot)
			next = replay_next(&c->replay, next + 1);
	}
	/* the cursor went ahead; replay_get() starts again at the first block */
	while (c->replay.at && c->replay.recs[c->replay.at - 1].block >= c->first)
		c->replay.at--;
	return *to > *from;
}

static void check_copies(struct checker *c)
{
	enum verify_state state;
	u32 from, to, slot;

	c->base = c->own;
	if (home_needed(c, &from, &to))
		verify_read(c, from, to);
	for (slot = 0; slot < c->count; slot++) {
		state = resolve(c, c->first + slot, verify_entry(c, c->own + slot));
		verify_note(c, c->first + slot, state);
		if (verify_has(state))
			verify_keep(c, c->first + slot, c->found);
	}
}

/* --- the whole pool ----------------------------------------------------------- */

/* Does one vdev have all blocks of the pool, in order? */
static bool alone(const struct kvp_sb *sb)
{
	return sb->map.nr == 1 && sb->map.region[0].nr == 1;
}

static int hand_on(struct checker *c, const struct verify_span *span, struct err *err)
{
	return c->data ? c->v->contents(c->v->contents_arg, span, err) : 0;
}

/* Checks the blocks from @block to the end of the vdev's turn, below one leaf; @after: the next. */
static int check_turn(struct checker *c, u64 block, u64 *after, struct err *err)
{
	const struct kvp_sb *sb = c->pools->sb;
	struct kvp_map_place at = kvp_map_find(&sb->map, block);
	u64 left = at.left < sb->pool_blocks - block ? at.left : sb->pool_blocks - block, next;

	c->pool = &c->pools[at.vdev];
	c->table = &c->tables[at.vdev];
	c->first = block;
	c->own = at.block;
	c->count = (u32)left;
	c->state = table_leaf(c->table, at.block / kvp_leaf_blocks(c->pool->g), &next);
	/* with one vdev with data, all unwritten blocks lie together */
	if (c->state == PAGE_NULL && alone(sb) && at.block == block) {
		next *= kvp_leaf_blocks(c->pool->g);
		if (next > sb->pool_blocks)
			next = sb->pool_blocks;
		left = next - block;
	}
	if (c->state == PAGE_NULL && !replay_touches(&c->replay, block, block + left)) {
		c->v->blocks[VERIFY_UNWRITTEN] += left;
		*after = block + left;
		return hand_on(c, &(struct verify_span){ block, left, NULL, NULL }, err);
	}
	if (kvp_is_parity1(c->pool->g))
		verify_rows(c);
	else
		check_copies(c);
	*after = block + c->count;
	return hand_on(c, &(struct verify_span){ block, c->count, c->states, c->data }, err);
}

/* 0, or -ECANCELED with @err: contents has failed */
static int check_blocks(struct checker *c, struct err *err)
{
	u64 block = 0, end = c->pools->sb->pool_blocks;

	while (block < end) {
		if (check_turn(c, block, &block, err))
			return -ECANCELED;
		if (c->v->progress)
			c->v->progress(c->v->progress_arg, block, end);
	}
	return 0;
}

static int checker_open(struct checker *c)
{
	const struct kvp_sb *sb = c->pools->sb;
	unsigned int legs = 0, i;

	for (i = 0; i < sb->vdev_count; i++)
		if (c->pools[i].leg_count > legs)
			legs = c->pools[i].leg_count;
	c->views = calloc(KVP_MAX_MIRROR_LEGS, sizeof(*c->views));
	c->tables = calloc(sb->vdev_count, sizeof(*c->tables));
	c->rows = verify_rows_alloc();
	c->block = blocks_alloc(1);
	if (!c->views || !c->tables || !c->rows || !c->block)
		return -ENOMEM;
	if (c->v->contents) {
		c->data = blocks_alloc(LEAF_BLOCKS);
		c->states = calloc(LEAF_BLOCKS, 1);
		if (!c->data || !c->states)
			return -ENOMEM;
	}
	for (i = 0; i < sb->vdev_count; i++)
		if (kvp_has_data(&sb->vdevs[i]) && table_open(&c->tables[i], &c->pools[i]))
			return -ENOMEM;
	for (i = 0; i < legs; i++) {
		c->views[i].data = blocks_alloc(LEAF_BLOCKS);
		if (!c->views[i].data)
			return -ENOMEM;
	}
	return 0;
}

static void checker_close(struct checker *c)
{
	unsigned int i;

	for (i = 0; c->views && i < KVP_MAX_MIRROR_LEGS; i++)
		free(c->views[i].data);
	for (i = 0; c->tables && i < c->pools->sb->vdev_count; i++)
		table_close(&c->tables[i]);
	free(c->views);
	free(c->tables);
	free(c->block);
	free(c->data);
	free(c->states);
	verify_rows_free(c->rows);
	replay_free(&c->replay);
}

static void count_pages(struct checker *c)
{
	u32 v, i;

	for (v = 0; v < c->pools->sb->vdev_count; v++) {
		const struct table *t = &c->tables[v];

		c->v->pages_good += t->good;
		c->v->pages_lost += t->lost + t->elsewhere;
		for (i = 0; i < c->pools[v].leg_count; i++)
			c->v->legs[c->pools[v].index[i]].pages_bad = t->bad[i];
	}
}

/* Reads all of the log, with the parity of an unfinished recovery. */
static int read_all_of_log(struct checker *c)
{
	const struct kvp_sb *sb = c->log->sb;
	bool complete;
	int ret;

	c->replay.g = c->log->g;
	/* Too few legs to read the log: the caller has checked that it holds nothing. */
	if (c->log->leg_count < kvp_log_needs(c->log->g)) {
		c->v->log.head = c->v->log.watermark = sb->log_tail;
		return 0;
	}
	if (sb->generation_count)
		c->replay.settled = sb->generations[sb->generation_count - 1].next_lsn;
	c->replay.resolved = sb->log_resolved;
	ret = log_walk(c->log, &c->v->log, replay_add, &c->replay);
	c->log_end = (struct log_at){ c->v->log.head, 0 };
	return ret ?: log_chain(c->log, &c->v->log, &complete, &c->log_end, replay_add, &c->replay);
}

/*
 * A copy of the contents must not lack writes without a word. If only the end of the log is
 * unknown, the caller says so.
 */
static int require_sound(const struct checker *c, struct err *err)
{
	enum log_state state = log_state(c->log, &c->v->log);

	if (!c->v->contents || state == LOG_SOUND || (state == LOG_UNKNOWN && !c->v->log.damaged))
		return 0;
	err_set(err, ERR_NOT_CLEAN, c->pools->sb->name, "name another leg; kvpoolctl check says "
		"more", "%s", state == LOG_NEWER ? "the log is newer than every superblock given" :
		state == LOG_UNKNOWN ? c->v->log.end.text :
		"durable log entries are damaged on every leg given");
	return -ECANCELED;
}

int verify_pool(const struct offline_pool *pools, struct verify *v, struct err *err)
{
	struct checker c = { .pools = pools, .log = &pools[pools->sb->log_vdev], .v = v };
	const struct offline_pool *pool = pools;
	int ret = checker_open(&c);

	if (!ret)
		ret = read_all_of_log(&c);
	if (!ret)
		ret = require_sound(&c, err);
	if (!ret)
		ret = replay_sort(&c.replay);
	if (!ret)
		ret = check_blocks(&c, err);
	if (!ret) {
		count_pages(&c);
		ret = v->contents ? 0 : verify_clean(pools, c.tables, v);
	}
	checker_close(&c);
	if (ret == -ECANCELED)
		return -1;
	if (ret == -E2BIG)
		return err_set(err, ERR_FAILED, pool->sb->name, "start the pool, which recovers it",
			       "its log holds over %u million records",
			       REPLAY_MAX_RECORDS >> 20);
	if (ret)
		return err_set(err, ERR_FAILED, pool->sb->name, "free some memory",
			       "out of memory");
	return 0;
}
