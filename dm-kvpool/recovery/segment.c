// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment of the log in memory, for recovery: the parts that are needed, as each leg has them.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "log/log.h"
#include "recovery/recovery.h"

bool kvp_log_on_leg(const struct kvp_leg *leg, kvp_lsn_t lsn, kvp_lblock_t *block)
{
	const struct kvp_vdev *v = leg->v;
	u32 copy;

	for (copy = 0; copy < kvp_log_copies(v->g); copy++) {
		struct kvp_place at = kvp_log_place(v->g, lsn, copy);

		*block = at.block;
		if (&v->legs[at.leg] == leg)
			return true;
	}
	return false;
}

/*
 * Read block by block, since the request for all blocks failed. A block that cannot be read becomes
 * zeros, so that it is not taken for a header or for data, and its error is noted. If a leg does
 * not answer at all, its blocks are not read one by one.
 */
static void load_slowly(struct kvp_recovery *rec, struct kvp_segment *seg, u32 leg)
{
	struct page **pages = seg->pages[leg];
	int *errors = seg->errors[leg], silent = 0;
	kvp_lblock_t block;
	u32 p;

	if (rec->deaf[seg->legs[leg]->index] && !kvp_error_may_be_place(seg->ios[leg].error))
		silent = seg->ios[leg].error;
	for (p = seg->from; p < seg->read; p++) {
		errors[p] = silent;
		if (!silent && !kvp_log_on_leg(seg->legs[leg], kvp_lsn_add(seg->lsn, p), &block))
			errors[p] = -ENXIO;
		else if (!silent)
			errors[p] = kvp_recovery_page(rec, seg->legs[leg], block, pages[p]);
		if (errors[p])
			clear_page(page_address(pages[p]));
		if (errors[p] && !kvp_error_may_be_place(errors[p]))
			silent = errors[p];
	}
}

/*
 * Begin to read @blocks from @from on, of the segment at @lsn, from every leg with room for them.
 * Any such leg may have an entry of the segment.
 */
static void begin_copies(struct kvp_segment *seg, kvp_lsn_t lsn, u32 from, u32 blocks)
{
	u32 i;

	seg->lsn = lsn;
	seg->from = from;
	seg->read = from + blocks;
	memset(seg->ios, 0, sizeof(seg->ios));
	kvp_io_group_init(&seg->group);
	for (i = 0; i < seg->nr; i++) {
		struct kvp_io *io = &seg->ios[i];

		seg->loaded[i] = kvp_leg_in_sync(seg->legs[i]) &&
				 kvp_log_on_leg(seg->legs[i], kvp_lsn_add(lsn, from), &io->block);
		if (!seg->loaded[i])
			continue;
		io->leg = seg->legs[i];
		io->op = KVP_IO_READ;
		io->nr = blocks;
		io->pages = seg->pages[i] + from;
		kvp_io_group_submit(&seg->group, io);
	}
}

static void end_copies(struct kvp_recovery *rec, struct kvp_segment *seg)
{
	u32 i;

	kvp_io_group_wait(&seg->group);
	for (i = 0; i < seg->nr; i++) {
		if (!seg->loaded[i])
			continue;
		memset(&seg->errors[i][seg->from], 0, (seg->read - seg->from) * sizeof(int));
		if (!seg->ios[i].error)
			continue;
		atomic64_inc(&seg->legs[i]->err_read);
		load_slowly(rec, seg, i);
	}
}

void kvp_recovery_no_ahead(struct kvp_recovery *rec)
{
	if (rec->ahead.lsn != KVP_NO_SEGMENT)
		kvp_io_group_wait(&rec->ahead.group);
	rec->ahead.lsn = KVP_NO_SEGMENT;
	rec->ahead_until = 0;
}

/*
 * Begin to read the segment at @lsn, so that the disks read it while the processor works on the
 * present one.
 */
static void read_ahead(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks)
{
	struct kvp_segment *a = &rec->ahead;

	if (!a->nr || !kvp_lsn_before(lsn, rec->ahead_until) || a->lsn == lsn)
		return;
	if (a->lsn != KVP_NO_SEGMENT)
		kvp_io_group_wait(&a->group);
	begin_copies(a, lsn, 0, blocks);
}

/*
 * Use the segment that was read ahead. Returns false if another segment is needed, or more of this
 * one. A leg that was lost meanwhile is no source (R17).
 */
static bool take_ahead(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks)
{
	struct kvp_segment *seg = &rec->seg, *a = &rec->ahead;
	u32 i;

	if (a->lsn != lsn || a->read < blocks)
		return false;
	end_copies(rec, a);
	for (i = 0; i < seg->nr; i++) {
		swap(seg->pages[i], a->pages[i]);
		swap(seg->errors[i], a->errors[i]);
		seg->loaded[i] = a->loaded[i] && kvp_leg_in_sync(seg->legs[i]);
	}
	seg->lsn = lsn;
	seg->from = 0;
	seg->read = a->read;
	a->lsn = KVP_NO_SEGMENT;
	return true;
}

void kvp_segment_load_copies(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks)
{
	if (!take_ahead(rec, lsn, blocks)) {
		begin_copies(&rec->seg, lsn, 0, blocks);
		end_copies(rec, &rec->seg);
	}
	read_ahead(rec, kvp_lsn_add(lsn, rec->pool->vdevs.log_vdev->g->segment_blocks), blocks);
}

void kvp_segment_load_begin(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;

	lsn = kvp_lsn_down(lsn, g->segment_blocks);
	if (rec->seg.lsn == lsn && !rec->seg.from && rec->seg.read >= blocks)
		return;
	rec->pool->vdevs.log_vdev->ops->load_segment(rec, lsn, blocks);
}

void kvp_segment_load(struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	kvp_segment_load_begin(rec, lsn, rec->pool->vdevs.log_vdev->g->segment_blocks);
}

u32 kvp_segment_claims(struct kvp_recovery *rec, kvp_lsn_t lsn)
{
	u32 i, claims = 0;

	for (i = 0; i < rec->seg.nr; i++)
		if (rec->seg.loaded[i])
			claims = max(claims,
				     kvp_log_hdr_claims(
					     page_address(kvp_segment_page(rec, i, lsn))));
	return claims;
}

static void load_part(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks)
{
	struct kvp_segment *seg = &rec->seg;
	u32 from = (u32)(kvp_lsn_nr(lsn) % rec->pool->vdevs.log_vdev->g->segment_blocks);

	if (seg->lsn == kvp_lsn_back(lsn, from) && from >= seg->from && from + blocks <= seg->read)
		return;
	begin_copies(seg, kvp_lsn_back(lsn, from), from, blocks);
	end_copies(rec, seg);
}

void kvp_segment_load_header(struct kvp_recovery *rec, kvp_lsn_t lsn, bool rest)
{
	const struct kvp_geometry *g = rec->pool->vdevs.log_vdev->g;
	u32 left = (u32)(kvp_lsn_since(kvp_log_segment_end(g, lsn), lsn));

	load_part(rec, lsn, rest ? left : 1);
	load_part(rec, lsn,
		  clamp(kvp_segment_claims(rec, lsn), 1u, min_t(u32, left, KVP_MAX_HDR_BLOCKS)));
}
