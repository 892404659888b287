// SPDX-License-Identifier: GPL-2.0-only
/* Copies of a page on legs and SSDs: reading, verifying, repairing. */
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev.h"
#include "format/format.h"
#include "io/io.h"
#include "table/ssdcopy.h"
#include "table/table.h"
#include "table/tpage.h"

/* A mask has a bit for each copy of a page, those of all legs together. */
static_assert(KVP_MAX_TABLE_COPIES * KVP_MAX_MIRROR_LEGS <= 32);

/* blocks of a leg's label that show whether it answers at all */
#define PROBES		4u
#define PROBE_STEP	16u

bool kvp_tpage_verifies(const struct kvp_tpage *tp, u64 ptr, struct page *page)
{
	return kvp_page_sum(tp->v->seed, tp->level, tp->index, page_address(page)) ==
	       kvp_ptr_sum(ptr);
}

int kvp_tpage_repair(struct kvp_table *t, const struct kvp_tpage *tp, unsigned long bad,
		     struct page *page)
{
	int repaired = 0;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		struct kvp_place at = tpage_durable_copy(tp, copy);
		struct kvp_leg *leg = &tp->v->legs[at.leg];

		if (!(bad & BIT(copy)) || !kvp_leg_in_sync(leg) || table_readonly(t))
			continue;
		if (kvp_io_page(leg, KVP_IO_WRITE_FUA, at.block, page)) {
			kvp_leg_failed_write(leg);
			kvp_leg_give_up(leg, "a table page cannot be repaired");
			continue;
		}
		repaired++;
		atomic64_inc(&leg->healed);
		atomic64_inc(&t->client.stats->table_healed);
		t->client.healed(t->client.of, leg, tp->level, tp->index);
	}
	return repaired;
}

void kvp_tpage_copy_failed(struct kvp_leg *leg, int error)
{
	atomic64_inc(error == -EBADMSG ? &leg->err_checksum : &leg->err_read);
}

/* As kvp_tpage_read_copy(); but -EBUSY: the leg refused the read (kvp_io_ask()). */
static int read_copy(struct kvp_table *t, struct kvp_leg *leg, kvp_lblock_t at,
		     const struct kvp_tpage *tp, struct page *page, struct kvp_patience *p)
{
	int error = kvp_io_ask(leg, at, page, p);

	atomic64_inc(&t->client.stats->page_reads);
	if (error == -EBUSY)
		return error;
	if (!error && kvp_tpage_verifies(tp, tp->durable, page))
		return 0;
	kvp_tpage_copy_failed(leg, error ?: -EBADMSG);
	/* A sector that is gone for good counts as one with wrong contents. */
	return !error || kvp_error_is_loss(error) ? -EBADMSG : error;
}

int kvp_tpage_try_copy(struct kvp_table *t, const struct kvp_tpage *tp, u64 ptr, u32 copy,
		       struct page *page)
{
	struct kvp_place at = tpage_copy(tp, ptr, copy);
	int error = kvp_io_read_patiently(&tp->v->legs[at.leg], at.block, page);

	atomic64_inc(&t->client.stats->page_reads);
	return error ?: kvp_tpage_verifies(tp, ptr, page) ? 0 : -EBADMSG;
}

int kvp_tpage_read_copy(struct kvp_table *t, struct kvp_leg *leg, kvp_lblock_t at,
			const struct kvp_tpage *tp, struct page *page)
{
	struct kvp_patience p = { 0 };
	int error;

	while ((error = read_copy(t, leg, at, tp, page, &p)) == -EBUSY)
		kvp_patience_pause();
	return error;
}

/*
 * True if an SSD has the page that the pointer names. If it does not, that is common, and no error
 * of the SSD: other pages, and older versions of this page, share the place. The sum alone is not
 * enough for so many candidates.
 */
static bool read_from_ssd(struct kvp_table *t, struct kvp_tpage *tp)
{
	if (kvp_ssdcopy_read(t->client.copies, tp) ||
	    !kvp_tpage_verifies(tp, tp->durable, tp->page) || !kvp_tpage_fits_pointer(tp))
		return false;
	atomic64_inc(&t->client.stats->ssd_page_reads);
	return true;
}

/*
 * The copy to ask first. That depends on the page, so that all legs are asked; but a slow leg comes
 * later, if there is another.
 */
static u32 first_copy(const struct kvp_tpage *tp, u32 legs)
{
	u32 n;

	for (n = 0; n < legs; n++) {
		u32 copy = (n + (u32)tp->index) % legs;
		const struct kvp_leg *leg = &tp->v->legs[tpage_durable_copy(tp, copy).leg];

		if (kvp_leg_in_sync(leg) && !READ_ONCE(leg->slow))
			return copy;
	}
	return (u32)tp->index % legs;
}

/*
 * What the legs have answered.
 * @bad, @refused: copies that are bad, and copies whose leg refused the read, as bits
 * @silent: a leg did not answer
 */
struct answers {
	unsigned long bad, refused;
	bool silent;
};

/* Ask for those of @wanted, copies as bits, until one is good: then true. */
static bool ask_copies(struct kvp_table *t, struct kvp_tpage *tp, unsigned long wanted,
		       struct kvp_patience *p, struct answers *a)
{
	/* A second copy on the same leg comes after the first copies on all legs. */
	u32 copies = kvp_page_copies(tp->v->g), legs = min(copies, tp->v->nr_legs), n;
	u32 first = first_copy(tp, legs);

	for (n = 0; n < copies; n++) {
		u32 copy = n / legs * legs + (n + first) % legs;
		struct kvp_place at = tpage_durable_copy(tp, copy);
		int error;

		if (!(wanted & BIT(copy)) || !kvp_leg_in_sync(&tp->v->legs[at.leg]))
			continue;
		error = read_copy(t, &tp->v->legs[at.leg], at.block, tp, tp->page, p);
		if (!error)
			return true;
		if (error == -EBUSY) {
			a->refused |= BIT(copy);
			continue;
		}
		a->silent |= error != -EBADMSG;
		a->bad |= BIT(copy);
	}
	return false;
}

/* Ask those again that refused the read, all in turns, until one has the page: then true. */
static bool ask_again(struct kvp_table *t, struct kvp_tpage *tp, struct answers *a)
{
	struct kvp_patience p = { 0 };

	for (;;) {
		unsigned long copies = a->refused;

		a->refused = 0;
		if (ask_copies(t, tp, copies, &p, a))
			return true;
		if (!a->refused)
			return false;
		kvp_patience_pause();
	}
}

/*
 * Read a copy that the pointer names, from any leg (R9). A leg that refuses the read is waited for
 * only if no other has the page. Returns 0; -EBADMSG: every leg in use answers and none has the
 * page; -EIO: some legs do not answer.
 * @keep: the page stays in memory, so repair bad copies, and write a copy to an SSD
 */
static int read_page(struct kvp_table *t, struct kvp_tpage *tp, bool keep)
{
	struct answers a = { 0 };

	if (!ask_copies(t, tp, ~0ul, NULL, &a) && !(a.refused && ask_again(t, tp, &a)))
		return a.silent || !a.bad ? -EIO : -EBADMSG;
	if (keep) {
		kvp_tpage_repair(t, tp, a.bad, tp->page);
		kvp_ssdcopy_write(t->client.copies, tp, tp->page, false);
	}
	return 0;
}

/* True if the leg gives one of a few blocks of its label. */
static bool answers_elsewhere(struct kvp_leg *leg, struct page *page)
{
	u32 n;

	for (n = 0; n < PROBES; n++)
		if (!kvp_io_page(leg, KVP_IO_READ, kvp_lblock(n * PROBE_STEP), page))
			return true;
	return false;
}

bool kvp_tpage_is_gone(struct kvp_table *t, struct kvp_tpage *tp)
{
	u32 copy, asked = 0;

	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		struct kvp_place at = tpage_durable_copy(tp, copy);
		struct kvp_leg *leg = &tp->v->legs[at.leg];
		int error;

		if (!kvp_leg_in_sync(leg))
			continue;
		error = kvp_tpage_read_copy(t, leg, at.block, tp, tp->page);
		if (error != -EBADMSG && (!kvp_error_may_be_place(error) ||
					  !answers_elsewhere(leg, tp->page)))
			return false;
		asked++;
	}
	return asked;
}

int kvp_tpage_read(struct kvp_table *t, struct kvp_tpage *tp, bool keep)
{
	int ret = read_from_ssd(t, tp) ? 0 : read_page(t, tp, keep);

	return ret == -EBADMSG ? read_page(t, tp, keep) : ret;
}
