// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verifies the rows of a parity1, like a recovery (dm-kvpool/recovery/rows.c).
 *
 * First it finds the contents of a row's blocks: the newest version of each in the log, or else the
 * version that the table names, at home. A block that only home should have, and that cannot be
 * read there, is rebuilt from the row's parity. That is the newest parity in the log, with the
 * versions that it counts; or the parity at home. The result counts only if it has its sum.
 */
#include <stdlib.h>

#include "verify_rows.h"

enum piece_kind {
	PIECE_ZERO,		/* unwritten */
	PIECE_POISONED,
	PIECE_LOG,		/* the log has it */
	PIECE_HOME,
	PIECE_REBUILT,		/* home should have it and does not: made from parity */
	PIECE_TORN,		/* the torn rest of a write at home */
	PIECE_LOST,
	PIECE_UNREAD,		/* a leg that is silent may have it */
};

struct piece {
	enum piece_kind kind;
	bool logged;		/* the log names its version */
	u32 crc;
};

struct row {
	u64 row;
	bool known;		/* the log has a record of the row */
	bool in_flight;		/* an intent of the row may have been cut short */
	struct piece p[KVP_MAX_MIRROR_LEGS];	/* [0]: parity */
};

/* One version of a block, by a record of the log. */
struct version {
	struct log_at at;
	u32 kind, crc;
	struct log_payload payload;
};

struct row_buffers {
	u8 *sum, *scratch;
};

struct row_buffers *verify_rows_alloc(void)
{
	struct row_buffers *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->sum = blocks_alloc(1);
	b->scratch = blocks_alloc(1);
	if (b->sum && b->scratch)
		return b;
	verify_rows_free(b);
	return NULL;
}

void verify_rows_free(struct row_buffers *b)
{
	if (!b)
		return;
	free(b->sum);
	free(b->scratch);
	free(b);
}

/* --- places ------------------------------------------------------------------------- */

/* The block of the pool that a piece of data holds. */
static u64 block_of(const struct checker *c, const struct row *r, u32 piece)
{
	return c->first + (kvp_row_block(c->pool->g, r->row, piece) - c->own);
}

static u64 entry_of(const struct checker *c, const struct row *r, u32 piece)
{
	const struct kvp_geometry *g = c->pool->g;

	return verify_entry(c, piece ? kvp_entry_index(g, kvp_row_block(g, r->row, piece)) :
				       kvp_parity_index(g, r->row));
}

/* Index in legs[] of the leg that has the piece; -1: it may not be read. */
static int leg_of(const struct checker *c, const struct row *r, u32 piece)
{
	const struct kvp_geometry *g = c->pool->g;
	struct kvp_place at = piece ? kvp_data_place(g, kvp_row_block(g, r->row, piece)) :
				      kvp_parity_place(g, r->row);

	return offline_leg(c->pool, at.leg);
}

/* The piece's block at home, unverified; NULL: it cannot be read. */
static const u8 *home(struct checker *c, const struct row *r, u32 piece)
{
	int leg = leg_of(c, r, piece);

	return leg < 0 ? NULL : verify_home(c, (unsigned int)leg, r->row - c->base);
}

struct piece_at {
	const struct checker *c;
	const struct row *r;
	u32 piece;
};

static u32 sum_of(void *arg, const void *data)
{
	const struct piece_at *at = arg;

	return at->piece ? kvp_block_sum(at->c->pool->data_seed,
					 block_of(at->c, at->r, at->piece), data) :
			   kvp_block_sum(at->c->pool->seed, kvp_parity_addr(at->r->row), data);
}

static bool home_is(struct checker *c, const struct row *r, u32 piece, u32 crc)
{
	struct piece_at at = { c, r, piece };
	const u8 *data = home(c, r, piece);

	return data && sum_of(&at, data) == crc;
}

static bool home_is_entry(struct checker *c, const struct row *r, u32 piece)
{
	return home_is(c, r, piece, kvp_entry_crc(entry_of(c, r, piece)));
}

static bool read_log(const struct checker *c, const struct row *r, u32 piece,
		     const struct log_payload *from, u32 crc, u8 *buf)
{
	struct piece_at at = { c, r, piece };

	return !log_read(c->log, from, crc, sum_of, &at, buf);
}

/* --- the log -------------------------------------------------------------------------- */

static struct version version_of(const struct replay_rec *rec)
{
	return (struct version){ { rec->lsn, rec->index }, rec->kind, rec->crc,
				 { rec->lsn, rec->payload, rec->row } };
}

/* The last version of a piece of data that the log has before @limit. */
static bool version_before(const struct checker *c, const struct row *r, u32 piece,
			   struct log_at limit, struct version *v)
{
	u64 block = block_of(c, r, piece);
	const struct replay *all = &c->replay;
	const struct replay_rec *recs, *newest = NULL;
	size_t n = replay_find(all, block, &recs), i;

	for (i = 0; !newest && i < n; i++)
		if (log_before((struct log_at){ recs[i].lsn, recs[i].index }, limit))
			newest = &recs[i];
	for (i = 0; i < all->discard_count && all->discards[i].block <= block; i++) {
		const struct replay_rec *d = &all->discards[i];

		if (block - d->block < d->count &&
		    log_before((struct log_at){ d->lsn, d->index }, limit) &&
		    (!newest || replay_newer(d, newest)))
			newest = d;
	}
	if (newest)
		*v = version_of(newest);
	return newest;
}

/* The newest parity in the log that covers the blocks at home. */
static const struct replay_parity *logged_parity(const struct checker *c, const struct row *r)
{
	const struct replay_parity *p = r->known ?
		replay_row(&c->replay, c->pool->vdev, r->row) : NULL;

	return p && log_before((struct log_at){ c->log->sb->log_tail, 0 }, p->limit) ? p : NULL;
}

/* --- contents --------------------------------------------------------------------------- */

/* True if the write of @v, an intent, was cut short, and the newest data below it has its sum. */
static bool has_twin(const struct checker *c, const struct row *r, u32 piece,
		     const struct version *v)
{
	struct version older = *v;

	do {
		if (!verify_open(c, older.at.lsn))
			return false;
		if (!version_before(c, r, piece, older.at, &older))
			return false;
	} while (older.kind == KVP_REC_INTENT);
	return older.kind == KVP_REC_DATA && older.crc == v->crc;
}

/* The same, but pass over intents that were cut short, if home does not have their versions. */
static bool found_before(struct checker *c, const struct row *r, u32 piece,
			 struct log_at limit, struct version *v)
{
	while (version_before(c, r, piece, limit, v)) {
		if (v->kind != KVP_REC_INTENT || !verify_open(c, v->at.lsn) ||
		    (!has_twin(c, r, piece, v) && home_is(c, r, piece, v->crc)))
			return true;
		limit = v->at;
	}
	return false;
}

/*
 * Xors the version of @piece that the parity counts into the sum; false: it is unknown. @by_found:
 * an earlier recovery logged the parity, and it counts the versions that that recovery found.
 */
static bool add_counted(struct checker *c, const struct row *r, u32 piece, struct log_at limit,
			bool by_found)
{
	u64 entry = entry_of(c, r, piece);
	struct version v;
	bool found = r->known && (by_found ? found_before(c, r, piece, limit, &v) :
				  version_before(c, r, piece, limit, &v));

	if (found && v.kind == KVP_REC_DISCARD)
		return true;
	if (found && v.kind == KVP_REC_DATA) {
		if (!read_log(c, r, piece, &v.payload, v.crc, c->rows->scratch))
			return false;
		block_xor(c->rows->sum, c->rows->scratch);
		return true;
	}
	if (!found && (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN ||
		       kvp_entry_state(entry) == KVP_ENTRY_POISONED))
		return true;
	if (!(found ? home_is(c, r, piece, v.crc) : home_is_entry(c, r, piece)))
		return false;
	block_xor(c->rows->sum, home(c, r, piece));
	return true;
}

/*
 * Gets parity that counts version @v of a piece, or with NULL the version that the table names.
 * Sets its limit, which tells the versions of the other pieces.
 */
static bool parity_with(struct checker *c, const struct row *r, u32 piece,
			const struct version *v, struct log_at *limit)
{
	const struct replay_parity *lp = logged_parity(c, r);
	struct version counted;
	bool has;

	if (lp) {
		has = version_before(c, r, piece, lp->limit, &counted);
		if (v ? has && counted.at.lsn == v->at.lsn && counted.at.rec == v->at.rec : !has) {
			*limit = lp->limit;
			return read_log(c, r, 0,
					&(struct log_payload){ lp->lsn, lp->payload,
							       lp->payload_row },
					lp->crc, c->rows->sum);
		}
	}
	*limit = v ? (struct log_at){ v->at.lsn + 1, 0 } : (struct log_at){ 0, 0 };
	if (!v && (kvp_entry_state(entry_of(c, r, 0)) != KVP_ENTRY_VALID ||
		   !home_is_entry(c, r, 0)))
		return false;
	if (!home(c, r, 0))
		return false;
	memcpy(c->rows->sum, home(c, r, 0), KVP_BLOCK_SIZE);
	return true;
}

/*
 * The same with parity that an earlier recovery may have made with version @v. That recovery took
 * @v if all newer versions are intents that were cut short, and were not home.
 */
static bool parity_that_found(struct checker *c, const struct row *r, u32 piece,
			      const struct version *v, struct log_at *limit)
{
	const struct replay_parity *lp = logged_parity(c, r);
	struct log_at at = v ? v->at : (struct log_at){ 0, 0 };
	struct version newer;

	if (!lp)
		return false;
	*limit = lp->limit;
	while (version_before(c, r, piece, *limit, &newer) && log_before(at, newer.at)) {
		if (newer.kind != KVP_REC_INTENT || !verify_open(c, newer.at.lsn))
			return false;
		*limit = newer.at;
	}
	*limit = lp->limit;
	return read_log(c, r, 0, &(struct log_payload){ lp->lsn, lp->payload, lp->payload_row },
			lp->crc, c->rows->sum);
}

static bool rebuilt_from(struct checker *c, struct row *r, u32 piece, const struct version *v,
			 bool by_found)
{
	struct piece_at at = { c, r, piece };
	struct log_at limit;
	u32 i;

	if (!(by_found ? parity_that_found(c, r, piece, v, &limit) :
	      parity_with(c, r, piece, v, &limit)))
		return false;
	for (i = 1; i < c->pool->g->leg_count; i++)
		if (i != piece && !add_counted(c, r, i, limit, by_found))
			return false;
	return sum_of(&at, c->rows->sum) == r->p[piece].crc;
}

/*
 * A scrub may have made the parity at home anew, since a block was lost that the parity in the log
 * counts. If it is what the table names, it counts what the table names.
 */
static bool rebuilt_by_table(struct checker *c, struct row *r, u32 piece)
{
	struct piece_at at = { c, r, piece };
	u32 i;

	if (kvp_entry_crc(entry_of(c, r, piece)) != r->p[piece].crc ||
	    kvp_entry_state(entry_of(c, r, 0)) != KVP_ENTRY_VALID || !home_is_entry(c, r, 0))
		return false;
	memcpy(c->rows->sum, home(c, r, 0), KVP_BLOCK_SIZE);
	for (i = 1; i < c->pool->g->leg_count; i++) {
		if (i == piece || kvp_entry_state(entry_of(c, r, i)) != KVP_ENTRY_VALID)
			continue;
		if (!home_is_entry(c, r, i))
			return false;
		block_xor(c->rows->sum, home(c, r, i));
	}
	return sum_of(&at, c->rows->sum) == r->p[piece].crc;
}

static bool rebuilt(struct checker *c, struct row *r, u32 piece, const struct version *v)
{
	return rebuilt_from(c, r, piece, v, false) || rebuilt_from(c, r, piece, v, true) ||
	       rebuilt_by_table(c, r, piece);
}

/* Resolves version @v of a piece; NULL: the version that the table names. Only home can have it. */
static void resolve_home(struct checker *c, struct row *r, u32 i, const struct version *v)
{
	u64 entry = entry_of(c, r, i);
	struct piece *p = &r->p[i];

	p->kind = PIECE_LOST;
	p->crc = v ? v->crc : kvp_entry_crc(entry);
	if (!v && kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
		p->kind = PIECE_ZERO;
	else if (!v && kvp_entry_state(entry) == KVP_ENTRY_POISONED)
		p->kind = PIECE_POISONED;
	else if (!v && kvp_entry_state(entry) != KVP_ENTRY_VALID)
		return;
	else if (home_is(c, r, i, p->crc))
		p->kind = PIECE_HOME;
	else if (rebuilt(c, r, i, v))
		p->kind = PIECE_REBUILT;
}

/* An entry that counts by its header may have lost the version; then only home can have it. */
static void resolve_logged(struct checker *c, struct row *r, u32 i, const struct version *v)
{
	r->p[i].kind = PIECE_LOG;
	if (verify_reads_log(c) && !read_log(c, r, i, &v->payload, v->crc, c->rows->scratch))
		resolve_home(c, r, i, v);
}

/*
 * An intent was cut short and is not home. May @older count, the next older version; NULL: that of
 * the table? If a leg is silent, only if it is found whole at home.
 */
static bool older_may_count(struct checker *c, const struct row *r, u32 i,
			    const struct version *older)
{
	if (!c->silent)
		return true;
	if (!older)
		return kvp_entry_state(entry_of(c, r, i)) == KVP_ENTRY_VALID;
	return older->kind == KVP_REC_INTENT ||
	       (older->kind == KVP_REC_DATA && home_is(c, r, i, older->crc));
}

/*
 * Resolves the newest version. If an intent was cut short and home lacks its version, the next
 * older one counts.
 */
static void resolve_piece(struct checker *c, struct row *r, u32 i)
{
	struct piece *p = &r->p[i];
	struct version v;
	bool found = r->known && version_before(c, r, i, c->log_end, &v), open = false;

	p->logged = found;
	for (;;) {
		if (open && !older_may_count(c, r, i, found ? &v : NULL)) {
			p->kind = PIECE_UNREAD;
			return;
		}
		if (found && v.kind == KVP_REC_DATA)
			return resolve_logged(c, r, i, &v);
		if (found && v.kind != KVP_REC_INTENT) {
			p->kind = PIECE_ZERO;
			return;
		}
		resolve_home(c, r, i, found ? &v : NULL);
		open = found && verify_open(c, v.at.lsn);
		r->in_flight |= open;
		/* Its sum says nothing, so the data below it counts. */
		if (open && has_twin(c, r, i, &v))
			p->kind = PIECE_LOST;
		if (p->kind != PIECE_LOST || !open)
			break;
		found = version_before(c, r, i, v.at, &v);
	}
	if (p->kind != PIECE_LOST)
		return;
	if (r->known && c->silent)
		p->kind = PIECE_UNREAD;
	else if (r->in_flight && home(c, r, i))
		p->kind = PIECE_TORN;
}

/* --- a leaf ------------------------------------------------------------------------------- */

static const enum verify_state states[] = {
	[PIECE_ZERO] = VERIFY_UNWRITTEN,
	[PIECE_POISONED] = VERIFY_POISONED,
	[PIECE_LOG] = VERIFY_IN_LOG,
	[PIECE_HOME] = VERIFY_OK,
	[PIECE_REBUILT] = VERIFY_OK,
	[PIECE_TORN] = VERIFY_TORN,
	[PIECE_LOST] = VERIFY_UNREPAIRED,
	[PIECE_UNREAD] = VERIFY_UNREAD,
};

/* Blames a leg that differs from the table although the log does not explain it. */
static void blame_row(struct checker *c, const struct row *r)
{
	u32 i;

	for (i = 0; i < c->pool->g->leg_count; i++) {
		bool bad = i ? !r->p[i].logged &&
			       (r->p[i].kind == PIECE_REBUILT || r->p[i].kind == PIECE_LOST) &&
			       kvp_entry_state(entry_of(c, r, i)) == KVP_ENTRY_VALID :
			       kvp_entry_state(entry_of(c, r, 0)) == KVP_ENTRY_VALID;

		/* a recovery rewrites rows that the log knows, with their parity */
		if (bad && !r->known && !home_is_entry(c, r, i))
			verify_blame(c, leg_of(c, r, i));
	}
}

/* The contents of the piece that was resolved last; NULL: it has none. */
static const u8 *contents(struct checker *c, const struct row *r, u32 piece)
{
	switch (r->p[piece].kind) {
	case PIECE_LOG:
		return c->rows->scratch;
	case PIECE_REBUILT:
		return c->rows->sum;
	case PIECE_HOME:
	case PIECE_TORN:
		return home(c, r, piece);
	default:
		return NULL;
	}
}

static void check_row(struct checker *c, u64 row, bool logged, enum verify_state *found)
{
	struct row r = { .row = row };
	struct version v;
	u32 i;

	c->silent = false;
	for (i = 1; logged && !r.known && i < c->pool->g->leg_count; i++)
		r.known = version_before(c, &r, i, c->log_end, &v);
	for (i = 1; i < c->pool->g->leg_count; i++) {
		resolve_piece(c, &r, i);
		found[block_of(c, &r, i) - c->first] = states[r.p[i].kind];
		verify_keep(c, block_of(c, &r, i), contents(c, &r, i));
	}
	blame_row(c, &r);
}

/* Has the row any valid block at home? */
static bool row_used(const struct checker *c, u64 row)
{
	struct row r = { .row = row };
	u32 i;

	for (i = 0; i < c->pool->g->leg_count; i++)
		if (kvp_entry_state(entry_of(c, &r, i)) == KVP_ENTRY_VALID)
			return true;
	return false;
}

void verify_rows(struct checker *c)
{
	const struct kvp_geometry *g = c->pool->g;
	enum verify_state found[LEAF_BLOCKS];
	bool logged = replay_touches(&c->replay, c->first, c->first + c->count);
	u32 stripes = (c->count + kvp_stripe_blocks(g) - 1) / kvp_stripe_blocks(g);
	u32 rows = stripes * g->chunk_blocks, from = rows, to = 0, i;

	c->base = kvp_row_of(g, c->own);
	for (i = 0; i < rows; i++)
		if (logged || row_used(c, c->base + i)) {
			from = i < from ? i : from;
			to = i + 1;
		}
	if (from < to)
		verify_read(c, from, to);
	for (i = 0; i < LEAF_BLOCKS; i++)
		found[i] = VERIFY_UNWRITTEN;
	for (i = 0; i < rows; i++)
		check_row(c, c->base + i, logged, found);
	for (i = 0; i < c->count; i++)
		verify_note(c, c->first + i, found[i]);
}
