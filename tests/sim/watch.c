// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules that the requests alone can show to be broken. This file watches them in each machine of
 * each test:
 *
 *   R11  an activation appends under an epoch and a nonce that no superblock had
 *        when it began
 *   R12  an entry names no epoch that no superblock has
 *   R3   log space is written again only behind the tail of a durable superblock
 *   R10  the header of an entry names a durable position that lies less than KVP_LOG_UNWITNESSED
 *        before it, and each segment begins with an entry: recovery looks nowhere else
 *   R13  a superblock does not overwrite one of the last two, unless the other ring has the newest
 *        one
 */
#include <string.h>

#include "disk.h"
#include "format/format.h"
#include "io/io.h"
#include "suite.h"

#include <linux/mm.h>

struct slot {
	u64 epoch, sequence;
};

struct ring {
	bool known;
	struct slot last[2];		/* newest first; nothing: sequence 0 */
	u32 where[2];
};

static struct {
	bool begun;			/* the first superblock of this machine was sent */
	bool asked[MAX_DISKS];		/* its labels were read: it is one of the pool's */
	u32 given[MAX_DISKS][2];	/* a bit per slot of a ring: it was read before that */
	struct ring ring[MAX_DISKS][2];
	u32 writing[MAX_DISKS][2];	/* superblocks that are being written there */
	struct slot old, durable;	/* newest when it began; newest that a write put there */
	u64 old_nonce, nonce, tail;
	struct kvp_sb sb;		/* scratch */
	struct kvp_disk_sb disk_sb;
} w;

static bool newer(struct slot a, struct slot b)
{
	return a.epoch != b.epoch ? a.epoch > b.epoch : a.sequence > b.sequence;
}

void watch_begin(void)
{
	memset(&w, 0, offsetof(__typeof__(w), sb));
}

void watch_forget(u32 disk)
{
	memset(w.ring[disk], 0, sizeof(w.ring[disk]));
}

/* --- superblocks ------------------------------------------------------------------ */

static u64 ring_start(u32 disk, u32 end)
{
	return kvp_sb_slot_offset(disks.img[disk].blocks, end, 0) >> KVP_BLOCK_SHIFT;
}

/* The slot's numbers, without a check of its sum; zeros if it has none. */
static struct slot peek(u32 disk, u32 end, u32 slot)
{
	struct blk *b = image_blk(&disks.img[disk], ring_start(disk, end) + slot * KVP_SB_BLOCKS);
	const struct kvp_disk_sb *d;

	if (!b)
		return (struct slot){ 0, 0 };
	d = (const struct kvp_disk_sb *)b->data;
	if (memcmp(d->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN))
		return (struct slot){ 0, 0 };
	return (struct slot){ le64_to_cpu(d->epoch), le64_to_cpu(d->sequence) };
}

/* With --faults: note which slots of superblocks the start gets. */
static void note_read(u32 disk, u64 block, u32 nr, bool given)
{
	u32 end, slot;

	for (end = 0; opt.faults && !w.begun && end < 2; end++)
		for (slot = 0; slot < KVP_SB_RING; slot++) {
			u64 at = ring_start(disk, end) + slot * KVP_SB_BLOCKS;

			if (at + KVP_SB_BLOCKS <= block || at >= block + nr)
				continue;
			w.given[disk][end] &= ~(1u << slot);
			w.given[disk][end] |= (u32)given << slot;
		}
}

void watch_read(u32 disk, u64 block, u32 nr)
{
	w.asked[disk] |= block < KVP_LABEL_BLOCKS;
	note_read(disk, block, nr, false);
}

void watch_read_end(u32 disk, u64 block, u32 nr)
{
	note_read(disk, block, nr, true);
}

/*
 * True if --faults kept the slot from the start: by an error that stays, by one that passes, or by
 * a disk that hangs. The start does not know the superblock there, and may overwrite it.
 */
static bool kept_from_start(u32 disk, u32 end, u32 slot)
{
	return opt.faults && w.asked[disk] && !(w.given[disk][end] >> slot & 1);
}

static bool valid(u32 disk, u32 end, u32 slot)
{
	u64 at = ring_start(disk, end) + slot * KVP_SB_BLOCKS;
	struct kvp_why why;
	u32 i;

	if (kept_from_start(disk, end, slot))
		return false;
	for (i = 0; i < KVP_SB_BLOCKS; i++)
		image_read(&disks.img[disk], at + i, (u8 *)&w.disk_sb + i * KVP_BLOCK_SIZE);
	return !kvp_sb_decode(&w.disk_sb, at << KVP_BLOCK_SHIFT, disks.img[disk].blocks, &w.sb,
			      &why);
}

static void add(struct ring *r, struct slot s, u32 where)
{
	u32 i = newer(s, r->last[0]) ? 0 : 1;

	if (!newer(s, r->last[i]))
		return;
	if (!i) {
		r->last[1] = r->last[0];
		r->where[1] = r->where[0];
	}
	r->last[i] = s;
	r->where[i] = where;
}

/* From the newest down, so that few sums have to be computed. */
static void learn_ring(u32 disk, u32 end)
{
	struct ring *r = &w.ring[disk][end];
	struct slot s[KVP_SB_RING];
	u32 i, best, found = 0;

	r->known = true;
	for (i = 0; i < KVP_SB_RING; i++)
		s[i] = peek(disk, end, i);
	while (found < 2) {
		for (best = 0, i = 1; i < KVP_SB_RING; i++)
			if (newer(s[i], s[best]))
				best = i;
		if (!s[best].sequence)
			break;
		if (valid(disk, end, best)) {
			add(r, s[best], best);
			if (w.asked[disk] && newer(s[best], w.old)) {
				w.old = s[best];
				w.old_nonce = w.sb.log_nonce;
			}
			found++;
		}
		s[best].sequence = s[best].epoch = 0;
	}
}

static void learn_all(void)
{
	u32 i;

	w.begun = true;
	for (i = 0; i < disks.nr; i++) {
		learn_ring(i, 0);
		learn_ring(i, 1);
	}
}

/* True if it is a superblock. Then @end and @slot say where. */
static bool is_sb(u32 disk, u64 block, u32 nr, u32 *end, u32 *slot)
{
	for (*end = 0; *end < 2; ++*end) {
		u64 at = ring_start(disk, *end);

		if (nr != KVP_SB_BLOCKS || block < at || block >= at + KVP_SB_RING * KVP_SB_BLOCKS)
			continue;
		*slot = (block - at) / KVP_SB_BLOCKS;
		return true;
	}
	return false;
}

static void check_sb(u32 disk, u32 end, u32 slot)
{
	struct ring *r, *other;
	u32 i;

	if (!w.begun)
		learn_all();
	r = &w.ring[disk][end];
	other = &w.ring[disk][!end];
	for (i = 0; i < 2; i++)
		if (r->last[i].sequence && r->where[i] == slot &&
		    (w.writing[disk][!end] || newer(r->last[0], other->last[0])))
			sim_fail("R13: a superblock of disk %u goes where one of the last two is, "
				 "slot %u",
				 disk, slot);
}

/* --- log entries --------------------------------------------------------------------- */

/*
 * Recovery copies what another leg has; on a cache of kind parity1 it may lie a row further, or
 * before.
 */
static bool is_copy(u32 disk, u64 block, const void *data)
{
	u32 i;
	u64 at;

	for (i = 0; i < disks.nr; i++)
		for (at = block - 1; i != disk && at <= block + 1; at++) {
			struct blk *b = disk_has_log(i, at) ? image_blk(&disks.img[i], at) : NULL;

			if (b && !memcmp(b->data, data, KVP_BLOCK_SIZE))
				return true;
		}
	return false;
}

static void check_witness(const struct kvp_disk_log_hdr *d)
{
	u64 lsn = le64_to_cpu(d->lsn), prev = le64_to_cpu(d->prev_lsn),
		durable = le64_to_cpu(d->durable);
	u64 segment = disks.log_segment;

	if (durable + KVP_LOG_UNWITNESSED <= lsn)
		sim_fail("R10: an entry at %llu names no more than %llu as durable", lsn, durable);
	if (lsn % segment && prev / segment != lsn / segment)
		sim_fail("R10: the first entry of a segment is at %llu", lsn);
}

static void check_entry(const struct kvp_disk_log_hdr *d)
{
	u64 nonce = le64_to_cpu(d->nonce), epoch = le64_to_cpu(d->epoch);
	u64 end = le64_to_cpu(d->lsn) + le32_to_cpu(d->blocks);

	if (nonce == w.old_nonce || epoch <= w.old.epoch)
		sim_fail("R11: an entry of epoch %llu, nonce %llx: both are of an older activation",
			 epoch, nonce);
	if (!w.durable.sequence || nonce != w.nonce)
		sim_fail("R11: an entry before the superblock that names its nonce");
	if (epoch > w.durable.epoch)
		sim_fail("R12: an entry of epoch %llu, and no superblock of it", epoch);
	check_witness(d);
	if (end > w.tail + disks.log_blocks)
		sim_fail("R3: an entry up to %llu, and the tail is at %llu", end, w.tail);
}

/* --- requests ---------------------------------------------------------------------------- */

/*
 * Where the disks have no FUA the flush comes behind. A superblock is taken for durable before
 * that: cuts know better.
 */
static bool is_durable_write(enum kvp_io_op op)
{
	return op == KVP_IO_WRITE_FUA || (disks.fua == FUA_NONE && op == KVP_IO_WRITE);
}

void watch_submit(u32 disk, const struct kvp_io *io)
{
	const struct kvp_disk_log_hdr *d;
	u32 end, slot;

	if (!is_durable_write(io->op) || disks.forged)
		return;
	if (is_sb(disk, io->block, io->nr, &end, &slot)) {
		check_sb(disk, end, slot);
		w.writing[disk][end]++;
	}
	d = page_address(io->pages[0]);
	if (disk_has_log(disk, io->block) &&
	    le32_to_cpu(d->magic) == KVP_LOG_MAGIC && !is_copy(disk, io->block, d))
		check_entry(d);
}

void watch_end(const struct trace_request *r)
{
	const struct kvp_disk_sb *d;
	u32 end, slot;
	struct slot s;

	if (!is_durable_write(r->op) || disks.forged || !is_sb(r->disk, r->block, r->nr, &end,
							       &slot))
		return;
	w.writing[r->disk][end]--;
	if (r->error)
		return;
	d = (const struct kvp_disk_sb *)r->data[0]->data;
	s = (struct slot){ le64_to_cpu(d->epoch), le64_to_cpu(d->sequence) };
	add(&w.ring[r->disk][end], s, slot);
	if (!newer(s, w.durable))
		return;
	w.durable = s;
	w.nonce = le64_to_cpu(d->log_nonce);
	w.tail = le64_to_cpu(d->log_tail);
}
