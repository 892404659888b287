// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log in full stripes, read like a recovery does (dm-kvpool/recovery/stripes.c). Each block of
 * a header has two copies. A payload block counts if it has its sum, or if the rest of its row
 * gives it.
 */
#include <stdlib.h>

#include "format/logstripe.h"
#include "logrows.h"
#include "logwalk.h"

struct log_rows *log_rows_alloc(const struct offline_pool *pool)
{
	struct log_rows *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->pool = pool;
	r->lsn = ~0ull;
	r->data = blocks_alloc(KVP_SEGMENT_BLOCKS);
	r->order = blocks_alloc(KVP_SEGMENT_BLOCKS);
	r->scratch = blocks_alloc(1);
	if (r->data && r->order && r->scratch)
		return r;
	log_rows_free(r);
	return NULL;
}

void log_rows_free(struct log_rows *r)
{
	if (!r)
		return;
	free(r->data);
	free(r->order);
	free(r->scratch);
	free(r);
}

/* --- a segment ------------------------------------------------------------------------- */

static void *at_block(const struct log_rows *r, u64 lsn)
{
	return r->data + ((lsn - r->lsn) << KVP_BLOCK_SHIFT);
}

const void *log_rows_block(const struct log_rows *r, u64 lsn)
{
	return r->there[lsn - r->lsn] ? at_block(r, lsn) : NULL;
}

int log_rows_leg(const struct offline_pool *pool, u64 lsn)
{
	return offline_leg(pool, kvp_log_place(pool->g, lsn, 0).leg);
}

/* One leg's part of the segment lies side by side there; here it is spread over the rows. */
static void load_leg(struct log_rows *r, unsigned int place)
{
	const struct offline_pool *p = r->pool;
	u32 n = p->g->leg_count, leg = p->index[place] - p->g->first_leg;
	u32 first = (leg + n - (u32)(r->lsn % n)) % n, i;
	u32 count = (p->g->segment_blocks - first + n - 1) / n;
	u64 at = kvp_log_place(p->g, r->lsn + first, 0).block;
	bool whole = !device_read(p->legs[place], at, count, r->order);

	for (i = 0; i < count; i++) {
		u8 *block = r->order + ((size_t)i << KVP_BLOCK_SHIFT);

		int error = whole ? 0 : device_read(p->legs[place], at + i, 1, block);

		if (error) {
			r->unread[first + i * n] = !device_lost(error);
			r->lost[first + i * n] = device_lost(error);
			continue;
		}
		r->there[first + i * n] = true;
		memcpy(at_block(r, r->lsn + first + i * n), block, KVP_BLOCK_SIZE);
	}
}

void log_rows_load(struct log_rows *r, u64 lsn)
{
	unsigned int i;

	lsn -= lsn % r->pool->g->segment_blocks;
	if (r->lsn == lsn)
		return;
	r->lsn = lsn;
	memset(r->there, 0, sizeof(r->there));
	memset(r->unread, 0, sizeof(r->unread));
	memset(r->lost, 0, sizeof(r->lost));
	for (i = 0; i < r->pool->leg_count; i++)
		load_leg(r, i);
}

/* --- a header -------------------------------------------------------------------------- */

/*
 * One copy of block @i of the header at @lsn: @second or the first; the other copy if that one is
 * missing.
 */
static bool take_copy(const struct log_rows *r, u64 lsn, u32 i, bool second, u8 *hdr)
{
	const void *copy = log_rows_block(r, lsn + 2 * i + second) ?:
			   log_rows_block(r, lsn + 2 * i + !second);

	if (copy)
		memcpy(hdr + ((size_t)i << KVP_BLOCK_SHIFT), copy, KVP_BLOCK_SIZE);
	return copy;
}

static bool copies_differ(const struct log_rows *r, u64 lsn, u32 i)
{
	const void *a = log_rows_block(r, lsn + 2 * i), *b = log_rows_block(r, lsn + 2 * i + 1);

	return a && b && memcmp(a, b, KVP_BLOCK_SIZE);
}

/*
 * The length that a copy of the first block claims, at most @most. 0: it is no header, or equals
 * the first copy.
 */
static u32 claimed(const struct log_rows *r, u64 lsn, bool second, u32 most)
{
	const struct kvp_disk_log_hdr *d = log_rows_block(r, lsn + second);
	u32 blocks = d ? le32_to_cpu(d->hdr_blocks) : 0;

	if (!blocks || blocks > most || le32_to_cpu(d->magic) != KVP_LOG_MAGIC)
		return 0;
	return second && log_rows_block(r, lsn) && !copies_differ(r, lsn, 0) ? 0 : blocks;
}

/* The largest header that fits at @lsn with its copies, in blocks. */
static u32 most_header(const struct log_rows *r, u64 lsn)
{
	u64 room = (kvp_log_segment_end(r->pool->g, lsn) - lsn) / 2;

	return room < KVP_MAX_HDR_BLOCKS ? (u32)room : KVP_MAX_HDR_BLOCKS;
}

/* The possible header at @lsn, put together in way @try, in @hdr. Returns its blocks, or 0. */
static u32 take_header(const struct log_rows *r, u64 lsn, u32 try, u8 *hdr)
{
	const struct kvp_geometry *g = r->pool->g;
	u32 most = most_header(r, lsn);
	u32 blocks = most ? claimed(r, lsn, try & 1, most) : 0, differ = 0, second, i;

	for (i = 1; i < blocks; i++)
		differ |= (u32)copies_differ(r, lsn, i) << i;
	if (!blocks || !kvp_log_stripe_mix(g->leg_count, lsn, differ, try >> 1, &second))
		return 0;
	second |= try & 1;
	for (i = 0; i < blocks; i++)
		if (!take_copy(r, lsn, i, second >> i & 1, hdr))
			return 0;
	return blocks;
}

/* --- an entry ---------------------------------------------------------------------------- */

/* The entry that is checked. */
struct entry {
	struct walker *k;
	struct log_rows *r;
	const struct kvp_log_hdr *h;
	u32 bad_legs;		/* bit per leg of the walker */
	bool unread;		/* some of the row that is lost could not be read */
	struct kvp_why why;
};

static void blame(struct entry *e, u32 at, const char *what)
{
	int leg = log_rows_leg(e->r->pool, e->h->lsn + at);
	struct kvp_why why;

	if (leg < 0)
		return;
	e->bad_legs |= 1u << leg;
	snprintf(why.text, sizeof(why.text), "log entry %llu: %s", (unsigned long long)e->h->lsn,
		 what);
	walker_fault(e->k, (unsigned int)leg, e->h->lsn, &why);
}

static void record_at(const struct entry *e, u32 at, struct kvp_rec *rec)
{
	log_rec(e->k->buf[0], e->r->rec[at], rec);
}

static bool is_right(const struct entry *e, u32 at, const void *data)
{
	struct kvp_rec rec;

	record_at(e, at, &rec);
	return walker_sum(e->k, &rec, data) == rec.crc;
}

/* Clean blocks are not needed: a rotten one must not end the log. */
static bool is_needed(const struct entry *e, u32 at)
{
	struct kvp_rec rec;

	record_at(e, at, &rec);
	return kvp_rec_counts(&rec);
}

/*
 * Xors the row's blocks from @first to @end, without @but, into the scratch block; false: one is
 * missing.
 */
static bool add_up(const struct entry *e, u32 first, u32 end, u32 but)
{
	u32 at;

	memset(e->r->scratch, 0, KVP_BLOCK_SIZE);
	for (at = first; at < end; at++) {
		const void *block = log_rows_block(e->r, e->h->lsn + at);

		if (at == but)
			continue;
		if (!block)
			return false;
		block_xor(e->r->scratch, block);
	}
	return true;
}

static void say_payload(const struct entry *e, u32 at, char *text, size_t size)
{
	struct kvp_rec rec;

	record_at(e, at, &rec);
	snprintf(text, size, "bad payload of %s %llu", rec.kind == KVP_REC_PARITY ? "row" : "block",
		 (unsigned long long)rec.block);
}

/* Could a block of the @count from @lsn on not be read? @lost: also one that the medium lost. */
static bool any_unread(const struct log_rows *r, u64 lsn, u64 count, bool lost)
{
	u64 end = kvp_log_segment_end(r->pool->g, lsn), at;

	if (end > lsn + count)
		end = lsn + count;
	for (at = lsn - r->lsn; at < end - r->lsn; at++)
		if (r->unread[at] || (lost && r->lost[at]))
			return true;
	return false;
}

/* Checks one row; false if a block that counts is lost. */
static bool check_row(struct entry *e, u32 first, u32 end)
{
	const void *parity = log_rows_block(e->r, e->h->lsn + first);
	bool needed = false;
	u32 at, bad = 0, which = 0, lost = 0;
	char text[64];

	for (at = first + 1; at < end; at++) {
		const void *block = log_rows_block(e->r, e->h->lsn + at);

		if (block && is_right(e, at, block))
			continue;
		which = at;
		bad++;
		if (is_needed(e, at)) {
			needed = true;
			lost = at;
		}
	}
	if (!bad) {
		if (!parity || !add_up(e, first, end, first) ||
		    memcmp(e->r->scratch, parity, KVP_BLOCK_SIZE))
			blame(e, first, "parity that does not fit its row");
		return true;
	}
	if (!needed)
		return true;
	say_payload(e, lost, text, sizeof(text));
	if (bad == 1 && add_up(e, first, end, which) && is_right(e, which, e->r->scratch)) {
		blame(e, which, text);
		return true;
	}
	e->unread = any_unread(e->r, e->h->lsn + first, end - first, true);
	snprintf(e->why.text, sizeof(e->why.text), "log entry %llu: %s%s",
		 (unsigned long long)e->h->lsn, text, e->unread ? ": cannot be read" : "");
	return false;
}

static bool check_rows(struct entry *e)
{
	const struct kvp_geometry *g = e->r->pool->g;
	const struct kvp_log_stripe s = { g->leg_count, e->h->hdr_blocks, e->h->payload };
	u32 i, n = 0, at, end;

	for (i = 0; i < e->h->rec_count; i++) {
		struct kvp_rec rec;

		log_rec(e->k->buf[0], i, &rec);
		if (kvp_rec_has_payload(&rec))
			e->r->rec[kvp_log_payload_at(g, e->h, n++)] = (u16)i;
	}
	for (at = 2 * s.hdr_blocks; at < e->h->blocks; at = end) {
		u32 first = kvp_log_stripe_row(&s, at, &end);

		if (!check_row(e, first, end))
			return false;
	}
	return true;
}

static void check_copies(struct entry *e)
{
	const u8 *hdr = e->k->buf[0];
	u32 at;

	for (at = 0; at < 2 * e->h->hdr_blocks; at++) {
		const void *copy = log_rows_block(e->r, e->h->lsn + at);

		if (!copy || memcmp(copy, hdr + ((size_t)(at / 2) << KVP_BLOCK_SHIFT),
				    KVP_BLOCK_SIZE))
			blame(e, at, "a bad copy of its header");
	}
}

/*
 * May there be an entry at @lsn, of which no header was put together that follows? Not if a copy of
 * its first block is there, and is no part of it.
 */
static bool may_hide(const struct walker *k, u64 lsn)
{
	const struct log_rows *r = k->rows;
	const struct kvp_disk_log_hdr *d;
	u32 most = most_header(r, lsn), blocks = 0, i;
	bool there = false;

	for (i = 0; most && i < 2; i++) {
		d = log_rows_block(r, lsn + i);
		there |= !!d;
		if (d && walker_may_be_entry(k, d, lsn))
			blocks = le32_to_cpu(d->hdr_blocks);
	}
	if (!there)
		return most && any_unread(r, lsn, 2, true);
	return blocks && any_unread(r, lsn, 2ull * (blocks < most ? blocks : most), false);
}

bool log_rows_find(struct walker *k, u64 lsn, struct kvp_log_hdr *h, struct kvp_why *why)
{
	struct entry e = { .k = k, .r = k->rows, .h = h };
	unsigned int faults = k->w->fault_count, i;
	bool follows = false, other = false;
	u32 try, blocks;
	int ret;

	k->near = k->unread = false;
	log_rows_load(k->rows, lsn);
	snprintf(why->text, sizeof(why->text), "log entry %llu: none here",
		 (unsigned long long)lsn);
	for (try = 0; try < KVP_LOG_STRIPE_TRIES; try++) {
		k->w->fault_count = faults;
		e.bad_legs = 0;
		blocks = take_header(k->rows, lsn, try, k->buf[0]);
		if (!blocks)
			continue;
		ret = walker_decode(k, k->buf[0], blocks, lsn, h, &e.why);
		if (!ret && walker_follows(k, h, &e.why)) {
			follows = true;
			if (check_rows(&e))
				break;
			k->unread |= e.unread;
		} else {
			other |= !ret;
		}
		k->near |= ret != -ENODATA;
		*why = e.why;
	}
	if (try == KVP_LOG_STRIPE_TRIES) {
		k->w->fault_count = faults;
		if (!follows && !other && may_hide(k, lsn)) {
			k->unread = true;
			snprintf(why->text, sizeof(why->text), "log entry %llu: cannot be read",
				 (unsigned long long)lsn);
		}
		return false;
	}
	k->unread = false;
	check_copies(&e);
	for (i = 0; i < k->leg_count; i++)
		if (e.bad_legs >> i & 1)
			walker_note_bad(k, i, lsn);
	return true;
}

int log_rows_missed(const struct log_rows *r, u64 lsn)
{
	u64 end = kvp_log_segment_end(r->pool->g, lsn), at;
	int error = 0;

	for (at = lsn; at < lsn + 2 && at < end; at++) {
		if (log_rows_block(r, at))
			return 0;
		if (r->unread[at - r->lsn])
			error = -EIO;
		else if (r->lost[at - r->lsn] && !error)
			error = -ENODATA;
	}
	return error;
}

void log_rows_look(struct walker *k, u64 lsn)
{
	u32 try, blocks, most = most_header(k->rows, lsn);

	log_rows_load(k->rows, lsn);
	/* Most blocks are no header in either copy. */
	if (!most || (!claimed(k->rows, lsn, false, most) && !claimed(k->rows, lsn, true, most)))
		return;
	for (try = 0; try < KVP_LOG_STRIPE_TRIES; try++) {
		blocks = take_header(k->rows, lsn, try, k->buf[0]);
		if (blocks)
			walker_saw(k, k->buf[0], blocks, lsn);
	}
}

int log_rows_make(const struct offline_pool *pool, u64 lsn, u8 row, void *buf)
{
	u64 at = kvp_log_row_first(lsn, row), end = at + kvp_log_row_blocks(row);
	u8 *block = blocks_alloc(1);
	int ret = block && row ? 0 : -EIO;

	memset(buf, 0, KVP_BLOCK_SIZE);
	for (; !ret && at < end; at++) {
		int leg = log_rows_leg(pool, at);

		if (at == lsn)
			continue;
		if (leg < 0 || device_read(pool->legs[leg], kvp_log_place(pool->g, at, 0).block, 1,
					   block))
			ret = -EIO;
		else
			block_xor(buf, block);
	}
	free(block);
	return ret;
}
