// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a recovery reads the log of a cache of kind parity1 (format/logstripe.h).
 *
 * A segment is in memory twice, in order of lsn. The first copy has the blocks as the legs have
 * them, with the error of each block that could not be read. The second copy has the blocks as they
 * should be, made from the first one entry by entry. kvp_stripes_equalise() writes those that
 * differ. If one leg is missing or outdated, the blocks of the same entry on the other legs are
 * enough.
 */
#include <linux/bits.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/xor.h"
#include "format/logstripe.h"
#include "format/stripe.h"
#include "home/row.h"
#include "io/io.h"
#include "log/log.h"
#include "policy/replay.h"
#include "recovery/recovery.h"
#include "super/members.h"

#define READ	0		/* set of pages of rec->seg: blocks as the legs have them */
#define MADE	KVP_STRIPES_MADE

/**
 * struct kvp_recovery_stripes - memory of such a recovery
 * @errors: for each block of the segment: 0: it was read; -ENXIO: its leg was not asked; else the
 *	error of the read
 * @order: the segment's pages leg by leg, for its I/O
 * @rec: for each block of the entry that is payload: the number of its record
 */
struct kvp_recovery_stripes {
	int errors[KVP_SEGMENT_BLOCKS];
	struct page *order[KVP_SEGMENT_BLOCKS];
	u16 rec[KVP_MAX_ENTRY_BLOCKS];
};

int kvp_stripes_alloc(struct kvp_recovery *rec)
{
	rec->stripes = kvzalloc(sizeof(*rec->stripes), GFP_KERNEL);
	return rec->stripes ? 0 : -ENOMEM;
}

void kvp_stripes_free(struct kvp_recovery *rec)
{
	kvfree(rec->stripes);
}

static const struct kvp_vdev *log_vdev(const struct kvp_recovery *rec)
{
	return rec->pool->vdevs.log_vdev;
}

static struct page *page_at(struct kvp_recovery *rec, u32 which, kvp_lsn_t lsn)
{
	return rec->seg.pages[which][kvp_lsn_since(lsn, rec->seg.lsn)];
}

int kvp_stripes_error(const struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	return rec->stripes->errors[kvp_lsn_since(lsn, rec->seg.lsn)];
}

static bool there(const struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	return !kvp_stripes_error(rec, lsn);
}

/* Note in @u the block at @lsn, if a leg has it and it could not be read. */
static void note_unread(const struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_unread *u)
{
	struct kvp_place at = kvp_log_place(log_vdev(rec)->g, lsn, 0);
	int error = kvp_stripes_error(rec, lsn);

	if (error != -ENXIO)
		kvp_unread_note(u, &log_vdev(rec)->legs[at.leg], at.block, error);
}

static bool same(struct page *a, struct page *b)
{
	return !memcmp(page_address(a), page_address(b), KVP_BLOCK_SIZE);
}

/* --- a segment ------------------------------------------------------------------------- */

/* The first block of the segment that lies on @leg, counted from the segment's start. */
static u32 first_of(const struct kvp_recovery *rec, u32 leg)
{
	u32 legs = log_vdev(rec)->g->leg_count;

	return (leg + legs - (u32)(kvp_lsn_nr(rec->seg.lsn) % legs)) % legs;
}

/*
 * Plan a read of those blocks that lie on @leg among the segment's first @blocks. They lie side by
 * side there. Their pages go into @order.
 */
static void plan_leg(struct kvp_recovery *rec, u32 leg, u32 blocks, struct page **order,
		     struct kvp_io *io)
{
	const struct kvp_geometry *g = log_vdev(rec)->g;
	u32 first = first_of(rec, leg), at;

	io->block = kvp_log_place(g, kvp_lsn_add(rec->seg.lsn, first), 0).block;
	io->pages = order;
	for (at = first; at < blocks; at += g->leg_count)
		order[io->nr++] = rec->seg.pages[READ][at];
}

/* Note the errors of the leg's blocks. If the request failed, its blocks are read one by one. */
static void note_leg(struct kvp_recovery *rec, u32 leg, struct kvp_io *io)
{
	const struct kvp_geometry *g = log_vdev(rec)->g;
	u32 first = first_of(rec, leg), i;
	int error = io->leg ? io->error : -ENXIO;
	bool ask = error && io->leg;

	if (ask)
		atomic64_inc(&io->leg->err_read);
	/* Not if the leg does not answer at all, as in load_slowly() of segment.c. */
	ask &= kvp_error_may_be_place(error) || !rec->deaf[log_vdev(rec)->legs[leg].index];
	for (i = 0; i < io->nr; i++) {
		if (ask)
			error = kvp_recovery_page(rec, io->leg, kvp_lblock_add(io->block, i),
						  io->pages[i]);
		ask &= !error || kvp_error_may_be_place(error);
		rec->stripes->errors[first + i * g->leg_count] = error;
	}
}

void kvp_stripes_load(struct kvp_recovery *rec, u32 blocks, bool outdated)
{
	const struct kvp_vdev *v = log_vdev(rec);
	struct kvp_segment *seg = &rec->seg;
	struct kvp_io_group group;
	u32 i, at = 0;

	memset(seg->ios, 0, sizeof(seg->ios));
	kvp_io_group_init(&group);
	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_leg *leg = &v->legs[i];
		struct kvp_io *io = &seg->ios[i];

		plan_leg(rec, i, blocks, &rec->stripes->order[at], io);
		at += io->nr;
		if (!io->nr || !leg->bdev || (!outdated && !kvp_leg_in_sync(leg)))
			continue;
		io->leg = leg;
		io->op = KVP_IO_READ;
		kvp_io_group_submit(&group, io);
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < v->nr_legs; i++)
		note_leg(rec, i, &seg->ios[i]);
}

/* --- a header -------------------------------------------------------------------------- */

/*
 * Take one copy of block @i of the header at @lsn: the second copy if @second, else the first. If
 * that one was not read, take the other one.
 */
static bool take_copy(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 i, bool second)
{
	kvp_lsn_t at = kvp_lsn_add(lsn, 2 * i + second);

	if (!there(rec, at))
		at = kvp_lsn_add(lsn, 2 * i + !second);
	if (!there(rec, at))
		return false;
	memcpy(rec->hdr + i * KVP_BLOCK_SIZE, page_address(page_at(rec, READ, at)), KVP_BLOCK_SIZE);
	return true;
}

static bool copies_differ(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 i)
{
	return there(rec, kvp_lsn_add(lsn, 2 * i)) && there(rec, kvp_lsn_add(lsn, 2 * i + 1)) &&
	       !same(page_at(rec, READ, kvp_lsn_add(lsn, 2 * i)),
		     page_at(rec, READ, kvp_lsn_add(lsn, 2 * i + 1)));
}

/*
 * Take the header's first block. Returns the number of blocks that it names; 0: there is no header,
 * or it names more than @most.
 */
static u32 take_first(struct kvp_recovery *rec, kvp_lsn_t lsn, bool second, u32 most)
{
	const struct kvp_disk_log_hdr *d =
		page_address(page_at(rec, READ, kvp_lsn_add(lsn, second)));
	u32 blocks = le32_to_cpu(d->hdr_blocks);

	if (!there(rec, kvp_lsn_add(lsn, second)) || le32_to_cpu(d->magic) != KVP_LOG_MAGIC ||
	    !blocks || blocks > most)
		return 0;
	/* If the second copy equals the first, it was tried already. */
	if (second && there(rec, lsn) && !copies_differ(rec, lsn, 0))
		return 0;
	return take_copy(rec, lsn, 0, second) ? blocks : 0;
}

u32 kvp_stripes_header(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 try)
{
	const struct kvp_geometry *g = log_vdev(rec)->g;
	u32 most = min_t(u64, kvp_lsn_since(kvp_log_segment_end(g, lsn), lsn) / 2,
			 KVP_MAX_HDR_BLOCKS);
	u32 blocks = most ? take_first(rec, lsn, try & 1, most) : 0, differ = 0, second, i;

	for (i = 1; i < blocks; i++)
		differ |= copies_differ(rec, lsn, i) ? BIT(i) : 0;
	if (!kvp_log_stripe_mix(g->leg_count, lsn, differ, try >> 1, &second))
		return 0;
	for (i = 1; i < blocks; i++)
		if (!take_copy(rec, lsn, i, second & BIT(i)))
			return 0;
	return blocks;
}

/* --- payload --------------------------------------------------------------------------- */

static void note_records(struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	struct kvp_rec r;
	u32 i, n = 0;

	for (i = 0; i < h->rec_count; i++) {
		kvp_recovery_record(rec, i, &r);
		if (kvp_rec_has_payload(&r))
			rec->stripes->rec[kvp_log_payload_at(log_vdev(rec)->g, h, n++)] = i;
	}
}

/* True if @page matches the sum of the payload @at blocks behind the header. */
static bool is_right(struct kvp_recovery *rec, u32 at, struct page *page)
{
	struct kvp_rec r;

	kvp_recovery_record(rec, rec->stripes->rec[at], &r);
	return kvp_recovery_sum(rec->pool, &r, page_address(page)) == r.crc;
}

/* False for a clean block: if it is damaged or torn, that must not end the log (R10). */
static bool is_needed(struct kvp_recovery *rec, u32 at)
{
	struct kvp_rec r;

	kvp_recovery_record(rec, rec->stripes->rec[at], &r);
	return kvp_rec_counts(&r);
}

/*
 * Make the block @at of the row from @first to @end from all others, parity included. True if it
 * has its sum.
 */
static bool make_block(struct kvp_recovery *rec, const struct kvp_log_hdr *h, u32 first, u32 end,
		       u32 at)
{
	struct page *sources[KVP_STRIPE_MAX_LEGS];
	u32 i, n = 0;

	for (i = first; i < end; i++) {
		if (i != at && !there(rec, kvp_lsn_add(h->lsn, i)))
			return false;
		if (i != at)
			sources[n++] = page_at(rec, READ, kvp_lsn_add(h->lsn, i));
	}
	kvp_xor_sum(rec->scratch, sources, n);
	if (!is_right(rec, at, rec->scratch))
		return false;
	copy_page(page_address(page_at(rec, MADE, kvp_lsn_add(h->lsn, at))),
		  page_address(rec->scratch));
	return true;
}

/*
 * Take the block as the leg has it, or zeros if it was not read. It stays like that if it cannot be
 * made.
 */
static void take_as_it_is(struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	if (there(rec, lsn))
		copy_page(page_address(page_at(rec, MADE, lsn)),
			  page_address(page_at(rec, READ, lsn)));
	else
		clear_page(page_address(page_at(rec, MADE, lsn)));
}

/*
 * Judge a row that could not be made. It is torn or damaged if a block has a wrong sum, or if the
 * others make a block with a wrong sum. Otherwise too many blocks could not be read.
 */
static enum kvp_says judge_row(struct kvp_recovery *rec, const struct kvp_log_hdr *h, u32 first,
			       u32 end,
			       struct kvp_unread *u)
{
	u32 at, missing = 0;
	bool wrong = false;

	for (at = first; at < end; at++) {
		note_unread(rec, kvp_lsn_add(h->lsn, at), u);
		if (!there(rec, kvp_lsn_add(h->lsn, at)))
			missing++;
		else if (at != first)
			wrong |= !is_right(rec, at, page_at(rec, READ, kvp_lsn_add(h->lsn, at)));
	}
	return wrong || missing < 2 ? KVP_SAYS_PART : KVP_SAYS_NOTHING;
}

/*
 * Make one row as it should be, its parity last. Returns another value than KVP_SAYS_ENTRY if a
 * needed block can be neither read nor made.
 */
static enum kvp_says make_row(struct kvp_recovery *rec, const struct kvp_log_hdr *h, u32 first,
			      u32 end,
			      struct kvp_unread *u)
{
	bool needed = false;
	u32 at, bad = 0, which = 0;

	for (at = first + 1; at < end; at++) {
		take_as_it_is(rec, kvp_lsn_add(h->lsn, at));
		if (there(rec, kvp_lsn_add(h->lsn, at)) &&
		    is_right(rec, at, page_at(rec, READ, kvp_lsn_add(h->lsn, at))))
			continue;
		needed |= is_needed(rec, at);
		which = at;
		bad++;
	}
	if (bad && !(bad == 1 && make_block(rec, h, first, end, which)) && needed)
		return judge_row(rec, h, first, end, u);
	kvp_xor_sum(page_at(rec, MADE, kvp_lsn_add(h->lsn, first)),
		    &rec->seg.pages[MADE][kvp_lsn_since(kvp_lsn_add(h->lsn, first + 1),
							rec->seg.lsn)], end - first - 1);
	return KVP_SAYS_ENTRY;
}

/*
 * Make all blocks of the entry in rec->hdr as they should be. Returns another value than
 * KVP_SAYS_ENTRY if a block that counts can be neither read nor made.
 */
static enum kvp_says make_entry(struct kvp_recovery *rec, const struct kvp_log_hdr *h,
				struct kvp_unread *u)
{
	const struct kvp_log_stripe s = { log_vdev(rec)->g->leg_count, h->hdr_blocks, h->payload };
	enum kvp_says says = KVP_SAYS_ENTRY;
	struct kvp_unread missed = { };
	u32 at, end;

	note_records(rec, h);
	for (at = 0; at < 2 * h->hdr_blocks; at++)
		memcpy(page_address(page_at(rec, MADE, kvp_lsn_add(h->lsn, at))),
		       rec->hdr + at / 2 * KVP_BLOCK_SIZE, KVP_BLOCK_SIZE);
	for (; at < h->blocks; at = end) {
		u32 first = kvp_log_stripe_row(&s, at, &end);
		struct kvp_unread of_row = { };
		enum kvp_says row = make_row(rec, h, first, end, &of_row);

		/* A torn row decides if all of it was read. */
		if (row == KVP_SAYS_PART && !of_row.error)
			return row;
		if (row != KVP_SAYS_ENTRY && says != KVP_SAYS_PART)
			says = row;
		kvp_unread_note(&missed, of_row.leg, of_row.block, of_row.error);
	}
	kvp_unread_note(u, missed.leg, missed.block, missed.error);
	return says;
}

/* --- an entry -------------------------------------------------------------------------- */

bool kvp_stripes_unread(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_unread *u)
{
	struct kvp_unread missed = { };
	kvp_lsn_t at, end = kvp_lsn_first(kvp_lsn_add(lsn, 2),
				    kvp_log_segment_end(log_vdev(rec)->g, lsn));

	for (at = lsn; kvp_lsn_before(at, end); at = kvp_lsn_add(at, 1)) {
		if (there(rec, at))
			return false;
		note_unread(rec, at, &missed);
	}
	kvp_unread_note(u, missed.leg, missed.block, missed.error);
	return missed.error;
}

/*
 * True if a copy of the first block of a header at @lsn is there. @u receives a block of that
 * header that could not be read.
 */
static bool is_part(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_unread *u)
{
	kvp_lsn_t end = kvp_lsn_first(kvp_lsn_add(lsn, 2),
				      kvp_log_segment_end(log_vdev(rec)->g, lsn)), at, behind;
	bool part = false;

	for (at = lsn; kvp_lsn_before(at, end); at = kvp_lsn_add(at, 1)) {
		const struct kvp_disk_log_hdr *d = page_address(page_at(rec, READ, at));

		if (!there(rec, at) || le32_to_cpu(d->magic) != KVP_LOG_MAGIC ||
		    kvp_lsn(le64_to_cpu(d->lsn)) != lsn ||
		    le64_to_cpu(d->nonce) != rec->nonce)
			continue;
		part = true;
		behind = kvp_lsn_add(lsn,
				     2ull * min(le32_to_cpu(d->hdr_blocks), KVP_MAX_HDR_BLOCKS));
		behind = kvp_lsn_first(behind, kvp_log_segment_end(log_vdev(rec)->g, lsn));
		end = kvp_lsn_last(end, behind);
	}
	for (at = lsn; part && kvp_lsn_before(at, end); at = kvp_lsn_add(at, 1))
		note_unread(rec, at, u);
	return part;
}

enum kvp_says kvp_stripes_entry(struct kvp_recovery *rec, kvp_lsn_t lsn, struct kvp_log_hdr *h,
				struct kvp_unread *u)
{
	enum kvp_says says = KVP_SAYS_NONE, made;
	struct kvp_why why;
	bool other = false;
	u32 try, blocks;

	for (try = 0; try < KVP_LOG_STRIPE_TRIES; try++) {
		blocks = kvp_stripes_header(rec, lsn, try);
		if (!blocks || kvp_recovery_decode(rec, blocks, lsn, h, &why))
			continue;
		other |= !kvp_recovery_follows(rec, h);
		if (!kvp_recovery_follows(rec, h))
			continue;
		made = make_entry(rec, h, u);
		if (made == KVP_SAYS_ENTRY)
			return made;
		says = made;
	}
	if (says != KVP_SAYS_NONE)
		return says;
	if (kvp_stripes_unread(rec, lsn, u))
		return KVP_SAYS_NOTHING;
	return !other && is_part(rec, lsn, u) ? KVP_SAYS_PART : KVP_SAYS_NONE;
}

/*
 * Write block by block, and only those that differ. None of these blocks is needed to make the
 * others.
 */
int kvp_stripes_equalise(struct kvp_recovery *rec, const struct kvp_log_hdr *h)
{
	const struct kvp_vdev *v = log_vdev(rec);
	kvp_lsn_t lsn;

	for (lsn = h->lsn; kvp_lsn_before(lsn, kvp_lsn_add(h->lsn, h->blocks));
	     lsn = kvp_lsn_add(lsn, 1)) {
		struct kvp_place at = kvp_log_place(v->g, lsn, 0);
		struct page *read = page_at(rec, READ, lsn), *made = page_at(rec, MADE, lsn);
		struct kvp_leg *leg = &v->legs[at.leg];

		if (!kvp_leg_in_sync(leg) || (there(rec, lsn) && same(read, made)))
			continue;
		if (!kvp_io_page(leg, KVP_IO_WRITE_FUA, at.block, made)) {
			copy_page(page_address(read), page_address(made));
			rec->stripes->errors[kvp_lsn_since(lsn, rec->seg.lsn)] = 0;
			continue;
		}
		kvp_leg_failed_write(leg);
		if (!kvp_leg_fail(leg, "the log cannot be repaired"))
			return kvp_recovery_cannot_write(rec, leg, at.block);
	}
	return 0;
}

int kvp_stripes_make(struct kvp_recovery *rec, kvp_lsn_t lsn, u8 row, struct page *page)
{
	kvp_lsn_t first = kvp_log_row_first(lsn, row), i;
	kvp_lsn_t end = kvp_lsn_add(first, kvp_log_row_blocks(row));

	clear_page(page_address(rec->home));
	for (i = first; kvp_lsn_before(i, end); i = kvp_lsn_add(i, 1)) {
		struct kvp_place at = kvp_log_place(log_vdev(rec)->g, i, 0);
		struct kvp_leg *leg = &log_vdev(rec)->legs[at.leg];

		if (i == lsn)
			continue;
		if (!kvp_leg_in_sync(leg) || kvp_recovery_page(rec, leg, at.block, rec->scratch))
			return -EIO;
		kvp_xor(rec->home, rec->scratch);
	}
	if (page != rec->home)
		copy_page(page_address(page), page_address(rec->home));
	return 0;
}

int kvp_stripes_read(struct kvp_recovery *rec, kvp_block_t block, const struct kvp_replay_rec *r)
{
	struct kvp_place at = kvp_log_place(log_vdev(rec)->g, r->payload, 0);
	struct kvp_leg *leg = &log_vdev(rec)->legs[at.leg];
	struct kvp_seed seed = rec->pool->seed;

	if (kvp_leg_in_sync(leg) && !kvp_recovery_page(rec, leg, at.block, rec->home) &&
	    kvp_block_sum(seed, block, page_address(rec->home)) == r->crc)
		return 0;
	if (kvp_stripes_make(rec, r->payload, r->row, rec->home) ||
	    kvp_block_sum(seed, block, page_address(rec->home)) != r->crc)
		return -EIO;
	return 0;
}
