// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a parity1, row by row (docs/design/recovery.md).
 *
 * First, recovery finds each block of a row. It is the newest version in the log. If the log has
 * none, it is the version that the table names, at home. The version of an intent is at home, or it
 * is not. If a block can only be at home, and cannot be read there, it is computed from parity:
 * from the newest parity in the log, and the versions that this parity counts. If that parity does
 * not count the block, the parity at home is right, since no part of the row was written after it.
 *
 * There are two phases. In the first, the parity of all rows that will be written in part is
 * appended to the log, as a chain of its own (chain.c), unless it is there already. In the second,
 * the rows go home, and into the table. Several rows are resolved together, and their homes are
 * read together.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "core/vdev_ops.h"
#include "core/xor.h"
#include "format/stripe.h"
#include "home/row.h"
#include "io/batch.h"
#include "io/io.h"
#include "log/log.h"
#include "policy/history.h"
#include "recovery/recovery.h"
#include "super/finds.h"
#include "table/table.h"

enum piece_kind {
	PIECE_ZERO,		/* unwritten */
	PIECE_POISONED,		/* poisoned, by the table */
	PIECE_LOG,		/* the log has the block */
	PIECE_HOME,		/* the block's home has it */
	PIECE_REBUILT,		/* the block's home lacks it: it was made from the parity */
	/* no source has it: its home has what a write left that was cut short (R5) */
	PIECE_TORN,
	PIECE_LOST,		/* no source has it */
};

struct piece {
	enum piece_kind kind;
	bool logged;		/* the log names the block */
	bool loaded;		/* its home was read */
	int error;		/* of that read; 0: @home has the block */
	u32 crc;
	struct page *page;	/* contents, if LOG or REBUILT; for [0] the new parity */
	struct page *home;	/* the block at home as it is; contents, if HOME or TORN */
};

/* A row that has blocks in the log. */
struct kvp_recovery_row {
	u64 row;
	struct kvp_tpage *leaf;
	bool changes;		/* the log has data or discards that home may lack */
	struct kvp_log_at newest;	/* the newest of these records */
	bool in_flight;		/* the row was under an intent that may have been cut short */
	struct piece p[KVP_STRIPE_MAX_LEGS];	/* [0]: parity */
};

#define MAX_READS	(KVP_RECOVERY_ROWS * KVP_STRIPE_MAX_LEGS)

/* Homes that are read together. */
struct kvp_recovery_reads {
	struct kvp_io_group group;
	u32 nr_pages, nr_ios;
	struct page *pages[MAX_READS];
	struct piece *pieces[MAX_READS];
	struct kvp_io ios[MAX_READS];
};

/* --- memory ------------------------------------------------------------------------- */

void kvp_recovery_rows_free(struct kvp_recovery *rec)
{
	u32 i, p;

	for (i = 0; rec->rows && i < KVP_RECOVERY_ROWS; i++)
		for (p = 0; p < KVP_STRIPE_MAX_LEGS; p++) {
			if (rec->rows[i].p[p].page)
				__free_page(rec->rows[i].p[p].page);
			if (rec->rows[i].p[p].home)
				__free_page(rec->rows[i].p[p].home);
		}
	kvfree(rec->rows);
	kvfree(rec->reads);
	rec->rows = NULL;
	rec->reads = NULL;
}

int kvp_recovery_rows_alloc(struct kvp_recovery *rec)
{
	u32 i, p;

	rec->rows = kvcalloc(KVP_RECOVERY_ROWS, sizeof(*rec->rows), GFP_KERNEL);
	rec->reads = kvzalloc(sizeof(*rec->reads), GFP_KERNEL);
	if (!rec->rows || !rec->reads)
		return -ENOMEM;
	for (i = 0; i < KVP_RECOVERY_ROWS; i++)
		for (p = 0; p < rec->pool->vdevs.max_legs; p++) {
			rec->rows[i].p[p].page = alloc_page(GFP_KERNEL);
			rec->rows[i].p[p].home = alloc_page(GFP_KERNEL);
			if (!rec->rows[i].p[p].page || !rec->rows[i].p[p].home)
				return -ENOMEM;
		}
	return 0;
}

/* --- homes ------------------------------------------------------------------------------ */

static const struct kvp_vdev *vdev_of(const struct kvp_recovery_row *r)
{
	return r->leaf->v;
}

static struct kvp_history *history_of(struct kvp_recovery *rec, const struct kvp_recovery_row *r)
{
	return &rec->history[vdev_of(r)->index];
}

/* The last version in the log before @limit of data piece @piece, or NULL. */
static const struct kvp_past_version *version_before(struct kvp_recovery *rec,
						const struct kvp_recovery_row *r, u32 piece,
						struct kvp_log_at limit)
{
	return kvp_history_find(history_of(rec, r), kvp_row_block(vdev_of(r)->g, r->row, piece),
				limit);
}

/*
 * True if the home of this piece will probably be needed. For the parity: true if data may be
 * missing.
 */
static bool home_wanted(struct kvp_recovery *rec, const struct kvp_recovery_row *r, u32 piece)
{
	const struct kvp_past_version *v;

	v = version_before(rec, r, piece ?: 1, rec->log_end);
	if (!piece)
		return kvp_vdev_usable(vdev_of(r)) < vdev_of(r)->nr_legs ||
		       (v && v->kind == KVP_REC_INTENT);
	if (v)
		return v->kind == KVP_REC_INTENT;
	return kvp_entry_state(kvp_row_entry(r->leaf, r->row, piece)) == KVP_ENTRY_VALID;
}

/* Plan the read of a piece's home. Neighbouring blocks of a leg are read in one request. */
static void add_read(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece)
{
	struct kvp_place at = kvp_row_place(vdev_of(r)->g, r->row, piece);
	struct kvp_leg *leg = &vdev_of(r)->legs[at.leg];
	struct kvp_recovery_reads *q = rec->reads;
	struct kvp_io *io = q->nr_ios ? &q->ios[q->nr_ios - 1] : NULL;

	if (!kvp_leg_in_sync(leg))
		return;
	if (!io || io->leg != leg || kvp_lblock_add(io->block, io->nr) != at.block) {
		io = &q->ios[q->nr_ios++];
		memset(io, 0, sizeof(*io));
		io->leg = leg;
		io->op = KVP_IO_READ;
		io->block = at.block;
		io->pages = &q->pages[q->nr_pages];
	}
	io->nr++;
	q->pieces[q->nr_pages] = &r->p[piece];
	q->pages[q->nr_pages++] = r->p[piece].home;
}

/*
 * Read the homes of all gathered rows. If a request fails, load_home() reads each of its blocks
 * that is needed.
 */
static void read_homes(struct kvp_recovery *rec)
{
	struct kvp_recovery_reads *q = rec->reads;
	u32 i, k, n = 0;

	q->nr_pages = 0;
	q->nr_ios = 0;
	for (k = 0; k < rec->pool->vdevs.max_legs; k++)
		for (i = 0; i < rec->nr_rows; i++)
			if (k < vdev_of(&rec->rows[i])->nr_legs &&
			    home_wanted(rec, &rec->rows[i], k))
				add_read(rec, &rec->rows[i], k);
	kvp_io_group_init(&q->group);
	for (i = 0; i < q->nr_ios; i++)
		kvp_io_group_submit(&q->group, &q->ios[i]);
	kvp_io_group_wait(&q->group);
	for (i = 0; i < q->nr_ios; i++)
		for (k = 0; k < q->ios[i].nr; k++)
			q->pieces[n++]->loaded = !q->ios[i].error;
}

/*
 * Read a piece's home into p->home. Returns 0 or -errno; rec->silent notes a leg that does not
 * answer.
 */
static int load_home(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece)
{
	struct kvp_place at = kvp_row_place(vdev_of(r)->g, r->row, piece);
	struct kvp_leg *leg = &vdev_of(r)->legs[at.leg];
	struct piece *p = &r->p[piece];

	if (!p->loaded) {
		p->error = kvp_leg_in_sync(leg) ? kvp_recovery_page(rec, leg, at.block, p->home) :
			   -ENXIO;
		p->loaded = true;
	}
	if (p->error != -ENXIO)
		kvp_unread_note(&rec->silent, leg, at.block, p->error);
	return p->error;
}

/* True if the piece's block at home has the sum @crc. */
static bool home_is(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece, u32 crc)
{
	return !load_home(rec, r, piece) &&
	       kvp_row_sum(r->leaf, r->row, piece, r->p[piece].home) == crc;
}

/* True if the piece's block at home has the sum that the table has for it. */
static bool home_is_entry(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece)
{
	return home_is(rec, r, piece,
		       kvp_entry_crc(kvp_row_entry(r->leaf, r->row, piece)));
}

/* --- contents ------------------------------------------------------------------------- */

/* Place and sum of a piece in the log. @row is the row of the log that it can be made from. */
struct logged {
	kvp_lsn_t entry, lsn;
	u32 crc;
	u8 row;
};

static struct logged logged_version(const struct kvp_past_version *v)
{
	return (struct logged){ v->at.lsn, v->payload, v->crc, v->row };
}

/* Read @piece of the row from the log. */
static int read_log(struct kvp_recovery *rec, const struct kvp_recovery_row *r, u32 piece,
		    struct logged l,
		    struct page *page)
{
	const struct kvp_vdev *v = kvp_log_vdev(&rec->pool->vdevs, l.entry);
	u32 i;

	for (i = 0; i < kvp_log_copies(v->g); i++) {
		struct kvp_place at = kvp_log_place(v->g, l.lsn, i);

		if (kvp_leg_in_sync(&v->legs[at.leg]) &&
		    !kvp_recovery_page(rec, &v->legs[at.leg], at.block, page) &&
		    kvp_row_sum(r->leaf, r->row, piece, page) == l.crc)
			return 0;
	}
	if (rec->stripes && !kvp_stripes_make(rec, l.lsn, l.row, page) &&
	    kvp_row_sum(r->leaf, r->row, piece, page) == l.crc)
		return 0;
	return kvp_refuse(rec->refusal, -EIO, "check the legs and try again",
			  "log block %llu can no longer be read",
			  (unsigned long long)kvp_lsn_nr(l.lsn));
}

static const struct kvp_logged_parity *logged_parity(struct kvp_recovery *rec,
						      const struct kvp_recovery_row *r)
{
	return kvp_history_parity(history_of(rec, r), r->row, rec->pool->sb->log_tail);
}

/*
 * True if the write of @v, an intent, was cut short, and the newest data below it has the same sum:
 * as has_twin() of intents.c.
 */
static bool has_twin(struct kvp_recovery *rec, const struct kvp_recovery_row *r, u32 piece,
		     const struct kvp_past_version *v)
{
	struct kvp_log_at limit;
	u32 crc = v->crc;

	do {
		if (!kvp_recovery_open(rec, v->at.lsn))
			return false;
		limit = v->at;
	} while ((v = version_before(rec, r, piece, limit)) && v->kind == KVP_REC_INTENT);
	return v && v->kind == KVP_REC_DATA && v->crc == crc;
}

/*
 * As version_before(), but skip intents that were cut short, if home does not have their versions.
 */
static const struct kvp_past_version *found_before(struct kvp_recovery *rec,
						   struct kvp_recovery_row *r, u32 piece,
						   struct kvp_log_at limit)
{
	const struct kvp_past_version *v;

	while ((v = version_before(rec, r, piece, limit)) && v->kind == KVP_REC_INTENT &&
	       kvp_recovery_open(rec, v->at.lsn) &&
	       (has_twin(rec, r, piece, v) || !home_is(rec, r, piece, v->crc)))
		limit = v->at;
	return v;
}

/*
 * Add to @sum the version of @piece that the parity counts. Returns -ENODATA if that version is
 * unknown. @found: an earlier recovery logged the parity, and counted the versions that it had
 * found.
 */
static int add_counted(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece,
		       struct kvp_log_at limit, bool found, struct page *sum)
{
	const struct kvp_past_version *v = found ? found_before(rec, r, piece, limit) :
					   version_before(rec, r, piece, limit);
	u64 entry = kvp_row_entry(r->leaf, r->row, piece);
	int ret;

	if (v && v->kind == KVP_REC_DISCARD)
		return 0;
	if (v && v->kind == KVP_REC_DATA) {
		ret = read_log(rec, r, piece, logged_version(v), rec->scratch);
		if (!ret)
			kvp_xor(sum, rec->scratch);
		return ret;
	}
	if (!v && kvp_entry_state(entry) != KVP_ENTRY_VALID)
		return 0;
	if (!(v ? home_is(rec, r, piece, v->crc) : home_is_entry(rec, r, piece)))
		return -ENODATA;
	kvp_xor(sum, r->p[piece].home);
	return 0;
}

/*
 * Get parity that counts version @v of a piece, or the table's version if @v is NULL. @limit
 * receives its limit, which tells which versions of the other pieces it counts. The parity comes
 * from the log, or from home, if the row was written as a whole with @v. Then the sum of the parity
 * is unknown, but the sum of the rebuilt block is known. Returns -ENODATA if there is no such
 * parity.
 */
static int parity_with(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece,
		       const struct kvp_past_version *v, struct kvp_log_at *limit, struct page *sum)
{
	const struct kvp_logged_parity *lp = logged_parity(rec, r);
	const struct kvp_past_version *counted;
	u64 entry;

	if (lp) {
		counted = version_before(rec, r, piece, lp->limit);
		if (v ? counted && kvp_log_same(counted->at, v->at) : !counted) {
			*limit = lp->limit;
			return read_log(rec, r, 0,
					(struct logged){ lp->entry, lp->payload, lp->crc,
							 lp->log_row }, sum);
		}
	}
	*limit = v ? (struct kvp_log_at){ kvp_lsn_add(v->at.lsn, 1), 0 } :
		 (struct kvp_log_at){ 0, 0 };
	entry = kvp_table_parity(r->leaf, r->row);
	if (!v && kvp_entry_state(entry) != KVP_ENTRY_VALID)
		return -ENODATA;
	if (v ? load_home(rec, r, 0) : !home_is_entry(rec, r, 0))
		return -ENODATA;
	memcpy(page_address(sum), page_address(r->p[0].home), KVP_BLOCK_SIZE);
	return 0;
}

/*
 * Get parity in the log that an earlier recovery may have made with version @v of the piece. That
 * recovery took @v if all newer versions before the limit are intents that were cut short, and were
 * not home. Returns -ENODATA if there is no such parity.
 */
static int parity_that_found(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece,
			     const struct kvp_past_version *v, struct kvp_log_at *limit,
			     struct page *sum)
{
	const struct kvp_logged_parity *lp = logged_parity(rec, r);
	struct kvp_log_at at = v ? v->at : (struct kvp_log_at){ 0, 0 };
	const struct kvp_past_version *newer;

	if (!lp)
		return -ENODATA;
	*limit = lp->limit;
	while ((newer = version_before(rec, r, piece, *limit)) && kvp_log_before(at, newer->at)) {
		if (newer->kind != KVP_REC_INTENT || !kvp_recovery_open(rec, newer->at.lsn))
			return -ENODATA;
		*limit = newer->at;
	}
	*limit = lp->limit;
	return read_log(rec, r, 0,
			(struct logged){ lp->entry, lp->payload, lp->crc, lp->log_row }, sum);
}

static int rebuild_from(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece,
			const struct kvp_past_version *v, bool found)
{
	struct page *sum = r->p[piece].page;
	struct kvp_log_at limit;
	int ret = found ? parity_that_found(rec, r, piece, v, &limit, sum) :
			  parity_with(rec, r, piece, v, &limit, sum);
	u32 i;

	for (i = 1; !ret && i < vdev_of(r)->nr_legs; i++)
		if (i != piece)
			ret = add_counted(rec, r, i, limit, found, sum);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	if (kvp_row_sum(r->leaf, r->row, piece, sum) == r->p[piece].crc)
		r->p[piece].kind = PIECE_REBUILT;
	return 0;
}

/*
 * The parity at home is newer than the one in the log: it was made anew since a block was lost that
 * the one in the log counts (kvp_row_scrub_parity()). If it is what the table names, it counts what
 * the table names. Such a row has no newer version at home: its parity would be in the log.
 */
static void rebuild_by_table(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece)
{
	struct page *sum = r->p[piece].page;
	u32 i;

	if (kvp_entry_crc(kvp_row_entry(r->leaf, r->row, piece)) != r->p[piece].crc ||
	    kvp_entry_state(kvp_table_parity(r->leaf, r->row)) != KVP_ENTRY_VALID ||
	    !home_is_entry(rec, r, 0))
		return;
	memcpy(page_address(sum), page_address(r->p[0].home), KVP_BLOCK_SIZE);
	for (i = 1; i < vdev_of(r)->nr_legs; i++) {
		if (i == piece || kvp_entry_state(kvp_row_entry(r->leaf, r->row, i)) !=
				  KVP_ENTRY_VALID)
			continue;
		if (!home_is_entry(rec, r, i))
			return;
		kvp_xor(sum, r->p[i].home);
	}
	if (kvp_row_sum(r->leaf, r->row, piece, sum) == r->p[piece].crc)
		r->p[piece].kind = PIECE_REBUILT;
}

/* Compute version @v of a piece from parity: it can only be at home, and cannot be read there. */
static int rebuild(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece,
		   const struct kvp_past_version *v)
{
	struct kvp_past_version own;
	int ret;

	/* kvp_history_find() may use that memory again. */
	if (v)
		own = *v;
	ret = rebuild_from(rec, r, piece, v ? &own : NULL, false);
	if (!ret && r->p[piece].kind != PIECE_REBUILT)
		ret = rebuild_from(rec, r, piece, v ? &own : NULL, true);
	if (!ret && r->p[piece].kind != PIECE_REBUILT)
		rebuild_by_table(rec, r, piece);
	return ret;
}

/*
 * Find version @v of a piece at home, or the table's version if @v is NULL. The piece becomes
 * PIECE_LOST if no source has it.
 */
static int resolve_home(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 i,
			const struct kvp_past_version *v)
{
	u64 entry = kvp_row_entry(r->leaf, r->row, i);
	struct piece *p = &r->p[i];

	p->kind = PIECE_LOST;
	p->crc = v ? v->crc : kvp_entry_crc(entry);
	if (!v && kvp_entry_state(entry) != KVP_ENTRY_VALID)
		p->kind = kvp_entry_state(entry) == KVP_ENTRY_POISONED ? PIECE_POISONED :
			  PIECE_ZERO;
	else if (home_is(rec, r, i, p->crc))
		p->kind = PIECE_HOME;
	else
		return rebuild(rec, r, i, v);
	return 0;
}

/* The newest version of the piece is data or a discard in the log, so no older version counts. */
static int resolve_logged(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 i,
			  const struct kvp_past_version *v)
{
	struct piece *p = &r->p[i];

	if (!r->changes || kvp_log_before(r->newest, v->at))
		r->newest = v->at;
	r->changes = true;
	p->kind = PIECE_ZERO;
	if (v->kind == KVP_REC_DISCARD)
		return 0;
	p->kind = PIECE_LOG;
	p->crc = v->crc;
	return read_log(rec, r, i, logged_version(v), p->page);
}

/*
 * Refuse: a leg that did not answer may have the newest version, or a block from which to make it
 * (R27).
 */
static int refuse_silent(struct kvp_recovery *rec, const struct kvp_recovery_row *r, u32 i)
{
	char what[96];

	snprintf(what, sizeof(what), "without which the last write to block %llu is lost",
		 kvp_block_nr(kvp_row_block_at(r->leaf, r->row, i)));
	return kvp_recovery_unread(rec, &rec->silent, what);
}

/*
 * No source has the newest version, nor an older one that counts. If a write was cut short, take
 * what is at home (R5).
 */
static int resolve_torn(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 i, bool open)
{
	struct piece *p = &r->p[i];

	if (kvp_unread_is_silent(&rec->silent))
		return refuse_silent(rec, r, i);
	if (open && !load_home(rec, r, i)) {
		p->kind = PIECE_TORN;
		p->crc = kvp_row_sum(r->leaf, r->row, i, p->home);
		return 0;
	}
	if (!rec->chain_lost)
		return 0;
	return kvp_refuse(rec->refusal, -EUCLEAN, "connect every leg, and start again",
		"the parity that an earlier recovery logged is damaged, and without it block %llu would be lost",
		kvp_block_nr(kvp_row_block_at(r->leaf, r->row, i)));
}

/*
 * The newest version of a piece was not found. True if @older, the next older one, may count; NULL
 * means the table's version. As long as a leg does not answer, an older version counts only if it
 * is found whole at home, on its own leg or made from the others. Data of the log counts then only
 * if its own leg has it at home.
 */
static bool older_may_count(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 i,
			    const struct kvp_past_version *older)
{
	if (!kvp_unread_is_silent(&rec->silent))
		return true;
	if (!older)
		return kvp_entry_state(kvp_row_entry(r->leaf, r->row, i)) == KVP_ENTRY_VALID;
	return older->kind == KVP_REC_INTENT ||
	       (older->kind == KVP_REC_DATA && home_is(rec, r, i, older->crc));
}

/*
 * R4: find the newest version of a piece. If that is an intent that was cut short and is not home,
 * find the next older one.
 */
static int resolve_piece(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 i)
{
	const struct kvp_past_version *found = version_before(rec, r, i, rec->log_end);
	struct piece *p = &r->p[i];
	struct kvp_past_version v;
	bool open = false;
	int ret;

	p->logged = found;
	do {
		/* kvp_history_find() may use that memory again. */
		if (found)
			v = *found;
		if (open && !older_may_count(rec, r, i, found ? &v : NULL))
			return refuse_silent(rec, r, i);
		if (found && v.kind != KVP_REC_INTENT)
			return resolve_logged(rec, r, i, &v);
		ret = resolve_home(rec, r, i, found ? &v : NULL);
		open = found && kvp_recovery_open(rec, v.at.lsn);
		r->in_flight |= open;
		/* Its sum says nothing, so the data below it counts. */
		if (!ret && open && has_twin(rec, r, i, &v))
			p->kind = PIECE_LOST;
		if (ret || p->kind != PIECE_LOST || !open)
			break;
		found = version_before(rec, r, i, v.at);
	} while (true);
	return ret || p->kind != PIECE_LOST ? ret : resolve_torn(rec, r, i, r->in_flight);
}

static int resolve_row(struct kvp_recovery *rec, struct kvp_recovery_row *r)
{
	int ret = 0;
	u32 i;

	r->changes = false;
	r->in_flight = false;
	memset(&rec->silent, 0, sizeof(rec->silent));
	for (i = 1; !ret && i < vdev_of(r)->nr_legs; i++)
		ret = resolve_piece(rec, r, i);
	return ret;
}

/* The contents of the piece, or NULL: zeros. */
static struct page *contents(const struct piece *p)
{
	if (p->kind == PIECE_LOG || p->kind == PIECE_REBUILT)
		return p->page;
	return p->kind == PIECE_HOME || p->kind == PIECE_TORN ? p->home : NULL;
}

/*
 * Compute the parity of a row into the page of piece 0. Returns its sum. Sets @zero if no block of
 * the row is written.
 */
static u32 compute_parity(struct kvp_recovery_row *r, bool *zero)
{
	struct page *sum = r->p[0].page;
	u32 i;

	*zero = true;
	clear_page(page_address(sum));
	for (i = 1; i < vdev_of(r)->nr_legs; i++)
		if (contents(&r->p[i])) {
			kvp_xor(sum, contents(&r->p[i]));
			*zero = false;
		}
	return kvp_row_sum(r->leaf, r->row, 0, sum);
}

/* --- rows that the log knows of --------------------------------------------------------- */

static void put_rows(struct kvp_recovery *rec)
{
	while (rec->nr_rows)
		kvp_table_put(rec->rows[--rec->nr_rows].leaf);
}

/* A function that works on the gathered rows. */
typedef int (*rows_fn)(struct kvp_recovery *rec);

/* Resolve the gathered rows, and call @fn for them. */
static int end_rows(struct kvp_recovery *rec, rows_fn fn)
{
	int ret = 0;
	u32 i;

	read_homes(rec);
	for (i = 0; !ret && i < rec->nr_rows; i++)
		ret = resolve_row(rec, &rec->rows[i]);
	if (!ret)
		ret = fn(rec);
	put_rows(rec);
	return ret ?: kvp_recovery_relieve(rec);
}

static int gather_row(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row, rows_fn fn)
{
	struct kvp_recovery_row *r = &rec->rows[rec->nr_rows];
	u32 i;

	r->row = row;
	r->leaf = kvp_table_load_home(rec->pool->table,
				      kvp_pool_block(v, kvp_row_block(v->g, row, 1)));
	if (IS_ERR(r->leaf))
		return PTR_ERR(r->leaf);
	for (i = 0; i < v->nr_legs; i++) {
		r->p[i].loaded = false;
		r->p[i].error = 0;
	}
	return ++rec->nr_rows == KVP_RECOVERY_ROWS ? end_rows(rec, fn) : 0;
}

/*
 * Gather the rows of one stripe that have a block in the log. @block is the first of these blocks.
 */
static int gather_stripe(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 block,
			 rows_fn fn)
{
	const struct kvp_geometry *g = v->g;
	u64 first = block - block % kvp_stripe_blocks(g);
	u32 k, i;
	int ret = 0;

	for (k = 0; !ret && k < g->chunk_blocks; k++) {
		u64 row = kvp_row_of(g, kvp_vblock(first)) + k;

		for (i = 1; i < g->leg_count; i++)
			if (kvp_history_knows(&rec->history[v->index], kvp_row_block(g, row, i)))
				break;
		if (i < g->leg_count)
			ret = gather_row(rec, v, row, fn);
	}
	return ret;
}

int kvp_recovery_each_row(struct kvp_recovery *rec, const struct kvp_vdev *v, rows_fn fn)
{
	u32 stripe = kvp_stripe_blocks(v->g);
	u64 block = 0;
	int ret = 0;

	while (!ret && kvp_history_next(&rec->history[v->index], &block)) {
		ret = gather_stripe(rec, v, block, fn);
		block = block - block % stripe + stripe;
	}
	return ret;
}

/*
 * Resolve all rows that the log knows of, and call @fn for up to KVP_RECOVERY_ROWS of them at a
 * time.
 */
static int each_rows(struct kvp_recovery *rec, rows_fn fn)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < pool->vdevs.nr; i++)
		ret = pool->vdevs.v[i].ops->each_row(rec, &pool->vdevs.v[i], fn);
	if (!ret)
		ret = end_rows(rec, fn);
	put_rows(rec);
	return ret;
}

/* --- phase 1: parity into the log ---------------------------------------------------------- */

/*
 * True if some blocks of the row are only at home, and the log lacks parity that counts all
 * versions of the row. False if home lacks no version of the log, since then no data of the row is
 * written.
 *
 * The whole row may have been under an intent that was cut short, with newer or older data in the
 * log. For that data the log has room for parity. The versions that this recovery found of the
 * other blocks may be older than the intent: see parity_that_found().
 */
static bool needs_parity(struct kvp_recovery *rec, const struct kvp_recovery_row *r)
{
	const struct kvp_logged_parity *lp = logged_parity(rec, r);
	bool stays = false;
	u32 i;

	if (!r->changes)
		return false;
	for (i = 1; i < vdev_of(r)->nr_legs; i++)
		stays |= r->p[i].kind == PIECE_HOME || r->p[i].kind == PIECE_REBUILT;
	return stays && !(lp && kvp_log_before(r->newest, lp->limit));
}

static int log_rows(struct kvp_recovery *rec)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < rec->nr_rows; i++) {
		struct kvp_recovery_row *r = &rec->rows[i];
		bool zero;
		u32 crc;

		if (!needs_parity(rec, r))
			continue;
		crc = compute_parity(r, &zero);
		ret = kvp_recovery_chain_add(rec, vdev_of(r), r->row, crc, r->p[0].page);
	}
	return ret;
}

static int look_only(struct kvp_recovery *rec)
{
	return 0;
}

int kvp_recovery_rows_try(struct kvp_recovery *rec)
{
	return each_rows(rec, look_only);
}

int kvp_recovery_rows_log(struct kvp_recovery *rec)
{
	int ret = each_rows(rec, log_rows);

	return ret ?: kvp_recovery_chain_end(rec);
}

/* --- phase 2: home, and the table ------------------------------------------------------------ */

static void set_entries(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 crc, bool zero)
{
	struct kvp_pool *pool = rec->pool;
	u32 n = vdev_of(r)->nr_legs, i;

	kvp_table_lock(pool->table, r->leaf);
	for (i = 1; i < n; i++) {
		kvp_block_t block = kvp_row_block_at(r->leaf, r->row, i);
		struct piece *p = &r->p[i];

		if (p->kind == PIECE_LOST)
			__kvp_table_set(pool->table, r->leaf, block, 0, KVP_ENTRY_POISONED);
		else if (p->logged && contents(p))
			__kvp_table_set(pool->table, r->leaf, block, p->crc, KVP_ENTRY_VALID);
		else if (p->logged && p->kind == PIECE_ZERO)
			__kvp_table_set(pool->table, r->leaf, block, 0, KVP_ENTRY_UNWRITTEN);
		rec->torn += p->kind == PIECE_TORN;
	}
	__kvp_table_set_parity(pool->table, r->leaf, r->row, crc,
			       zero ? KVP_ENTRY_UNWRITTEN : KVP_ENTRY_VALID);
	kvp_table_unlock(pool->table);
	for (i = 1; i < n; i++)
		if (r->p[i].kind == PIECE_LOST)
			kvp_found_block(pool, KVP_FIND_LOST, NULL,
					kvp_row_block_at(r->leaf, r->row, i));
}

/* True if the parity at home is right already, as for most rows that were written by intent. */
static bool parity_is_home(const struct kvp_recovery_row *r)
{
	return r->p[0].loaded && !r->p[0].error &&
	       !memcmp(page_address(r->p[0].home), page_address(r->p[0].page), KVP_BLOCK_SIZE);
}

/* Add the row's blocks to the batch, which has room for all pieces of KVP_RECOVERY_ROWS rows. */
static int add_row(struct kvp_recovery *rec, struct kvp_recovery_row *r, bool zero)
{
	const struct kvp_vdev *v = vdev_of(r);
	bool room = true;
	u32 i;

	for (i = 1; i < v->nr_legs; i++)
		if (r->p[i].kind == PIECE_LOG || r->p[i].kind == PIECE_REBUILT)
			room &= kvp_batch_add_at(rec->batch, v, kvp_row_place(v->g, r->row, i),
						 r->p[i].page);
	if (!zero && !parity_is_home(r))
		room &= kvp_batch_add_at(rec->batch, v, kvp_row_place(v->g, r->row, 0),
					 r->p[0].page);
	return WARN_ON_ONCE(!room) ? -EIO : 0;
}

static int write_rows(struct kvp_recovery *rec)
{
	u32 crc[KVP_RECOVERY_ROWS], i;
	bool zero[KVP_RECOVERY_ROWS];
	int ret = 0;

	for (i = 0; !ret && i < rec->nr_rows; i++) {
		crc[i] = compute_parity(&rec->rows[i], &zero[i]);
		ret = add_row(rec, &rec->rows[i], zero[i]);
	}
	ret = ret ?: kvp_batch_write(rec->batch);
	kvp_batch_reset(rec->batch);
	for (i = 0; !ret && i < rec->nr_rows; i++)
		set_entries(rec, &rec->rows[i], crc[i], zero[i]);
	return ret;
}

static int discard_stripes(struct kvp_recovery *rec, struct kvp_vdev *v)
{
	struct kvp_wide_discard *d;
	int ret = 0;

	list_for_each_entry(d, &rec->history[v->index].wide, list) {
		if (kvp_log_before(d->at, rec->log_end))
			ret = kvp_recovery_discard(rec, v, kvp_vblock(d->block),
						   kvp_vblock(d->block + d->count));
		if (ret)
			break;
	}
	return ret;
}

int kvp_recovery_rows_home(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < pool->vdevs.nr; i++)
		ret = discard_stripes(rec, &pool->vdevs.v[i]);
	return ret ?: each_rows(rec, write_rows);
}
