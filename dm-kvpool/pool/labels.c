// SPDX-License-Identifier: GPL-2.0-only
/*
 * Step 1 of a start: read the labels of legs. What cannot be read is not absent (R27).
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/sbring.h"
#include "io/flight.h"
#include "io/io.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/start_steps.h"

#define RING_PAGES	(KVP_SB_RING * KVP_SB_BLOCKS)

void kvp_labels_free(struct kvp_labels *l)
{
	u32 i;

	if (!l)
		return;
	for (i = 0; i < RING_PAGES; i++)
		if (l->pages && l->pages[i])
			__free_page(l->pages[i]);
	kvfree(l->pages);
	kvfree(l->slot);
	kvfree(l->tmp);
	for (i = 0; i < KVP_LEGS_BESIDE; i++)
		kvfree(l->legs[i].sb);
	kvfree(l);
}

struct kvp_labels *kvp_labels_alloc(void)
{
	struct kvp_labels *l = kvzalloc(sizeof(*l), GFP_KERNEL);
	u32 i;

	if (!l)
		return NULL;
	l->pages = kvcalloc(RING_PAGES, sizeof(*l->pages), GFP_KERNEL);
	l->slot = kvzalloc(sizeof(*l->slot), GFP_KERNEL);
	l->tmp = kvzalloc(sizeof(*l->tmp), GFP_KERNEL);
	for (i = 0; l->pages && i < RING_PAGES; i++) {
		l->pages[i] = alloc_page(GFP_KERNEL);
		if (!l->pages[i])
			goto fail;
	}
	if (l->pages && l->slot && l->tmp)
		return l;
fail:
	kvp_labels_free(l);
	return NULL;
}

static void copy_slot(struct kvp_labels *l, u32 slot)
{
	u32 i;

	for (i = 0; i < KVP_SB_BLOCKS; i++)
		memcpy((u8 *)l->slot + i * KVP_BLOCK_SIZE,
		       page_address(l->pages[slot * KVP_SB_BLOCKS + i]), KVP_BLOCK_SIZE);
}

/*
 * Reading a label: what cannot be read is not absent (R27).
 *
 *   one slot, or a whole ring      its twin in the other ring answers, if that was written with it
 *   both twins                     the place of the slot tells whether it may hold a superblock
 *       that is newer than all readable ones: format/sbring.h. If so the leg is in doubt, unless
 *       another leg's superblock is as new
 *   all of a label                 refused: the leg is there, and its label is unknown
 *   no memory, or no answer        tried again a few times; then as any other error
 *
 * A leg in doubt may have data that no other leg has. It counts as a missing one: kvp_choose(),
 * R16. Suppose that only legs in doubt or missing have a superblock, and that the pool may have
 * answered a request under it. Then the start is refused. Otherwise the leg is used, and the next
 * superblock overwrites the unreadable slots. A start that is refused has written nothing, and a
 * later start finds everything.
 *
 * By order (`degraded`) such a leg is left out. If its vdev needs it, and the slots are never
 * readable again, the pool would be lost. A second order (`accept_fork`) goes back to the newest
 * superblock that can be read (pass_unreadable()). Later writes may then be lost: blocks below
 * table pages that were overwritten since read EIO.
 */
#define READ_PAUSES	5	/* for all slots of a leg together */
#define READ_PAUSE_MS	200

int kvp_start_read(struct kvp_io *io, u32 *pauses)
{
	int ret = kvp_io_sync(io);

	while (ret && kvp_error_kind(ret) != KVP_ERR_MEDIUM && *pauses < READ_PAUSES &&
	       !READ_ONCE(io->leg->silent)) {
		++*pauses;
		msleep(READ_PAUSE_MS);
		ret = kvp_io_sync(io);
	}
	return ret;
}

/*
 * Read the whole ring whose first slot is @io->block into l->pages, and note slots that cannot be
 * read.
 */
static void read_ring(struct kvp_labels *l, struct kvp_io *io, struct kvp_label *label, u8 *state)
{
	int ret;
	u32 i;

	io->nr = RING_PAGES;
	io->pages = l->pages;
	ret = label->hangs ? -ETIMEDOUT : kvp_io_sync(io);
	if (!ret)
		return;
	/* A running pool must not wait for each slot of a leg that was out. */
	label->hangs = READ_ONCE(io->leg->silent) ||
		       (ret == -ETIMEDOUT && test_bit(KVP_POOL_RUNNING, &io->leg->pool->flags));
	/* Then read slot by slot: one bad sector must not hide other slots. */
	io->nr = KVP_SB_BLOCKS;
	for (i = 0; i < KVP_SB_RING; i++, io->block = kvp_lblock_add(io->block, KVP_SB_BLOCKS)) {
		io->pages = &l->pages[i * KVP_SB_BLOCKS];
		ret = label->hangs ? -ETIMEDOUT : kvp_start_read(io, &label->pauses);
		if (!ret)
			continue;
		state[i] = KVP_SLOT_UNREADABLE;
		label->read_error = ret;
		label->unreadable++;
	}
}

static void note_bad(struct kvp_label *label, int error, const struct kvp_why *why)
{
	label->bad++;
	/*
	 * If a device has shrunk, the slots at its end are in the wrong place. That it has shrunk
	 * is the better reason.
	 */
	if (label->error == -ENOSPC)
		return;
	label->error = error;
	label->why = *why;
}

/* Note a whole superblock from when the device was larger. */
static void note_cut(struct kvp_label *label, const struct kvp_sb *sb)
{
	if (sb->epoch < label->cut_epoch ||
	    (sb->epoch == label->cut_epoch && sb->sequence < label->cut_sequence))
		return;
	label->cut_epoch = sb->epoch;
	label->cut_sequence = sb->sequence;
}

/*
 * True if the pool has grown since the newest superblock that fits: a newer one is for a larger
 * device, and this one has the state before the growth.
 */
static bool outgrown(const struct kvp_label *label)
{
	return label->cut_epoch > label->sb->epoch ||
	       (label->cut_epoch == label->sb->epoch && label->cut_sequence > label->sb->sequence);
}

/*
 * True if a newer module wrote the slot that kvp_sb_decode() refused with @error. The label of a
 * spare is refused in the same way, and every module that takes a spare writes over it.
 */
static bool newer_wrote(const struct kvp_disk_sb *d, int error)
{
	return error == -EOPNOTSUPP && (le32_to_cpu(d->version) != KVP_FORMAT_VERSION ||
					le64_to_cpu(d->incompat) != KVP_SPARE_INCOMPAT);
}

/* Judge one slot of a ring, which is in l->slot. */
static void take_slot(struct kvp_labels *l, struct kvp_label *label, u64 offset, u64 leg_blocks,
		      u32 ring, u32 slot)
{
	struct kvp_why why;
	int ret = kvp_sb_decode(l->slot, offset, leg_blocks, l->tmp, &why);

	/* Where the end was once there may be data by now. */
	if (ret == -ENODATA || (ring >= KVP_RING_OLD_BACK && !ret &&
				memcmp(l->tmp->leg_uuid, label->sb->leg_uuid, 16)))
		return;
	/*
	 * A slot written by a newer module is whole, and may be the newest of all: its write was
	 * not cut.
	 */
	label->rings.state[ring][slot] = !ret ? KVP_SLOT_VALID :
					 ret == -EOPNOTSUPP ? KVP_SLOT_UNREADABLE : KVP_SLOT_BAD;
	if (newer_wrote(l->slot, ret)) {
		label->newer++;
		label->why_newer = why;
	}
	if (ret) {
		note_bad(label, ret, &why);
		if (ret == -ENOSPC)
			note_cut(label, l->tmp);
		return;
	}
	label->rings.epoch[ring][slot] = l->tmp->epoch;
	label->rings.sequence[ring][slot] = l->tmp->sequence;
	label->valid++;
	if (!label->found || kvp_sb_newer(l->tmp, label->sb)) {
		*label->sb = *l->tmp;
		label->found = true;
	}
}

/* Read one ring of a leg that has, or had, @leg_blocks. @end: 0: front, 1: back. */
static void take_ring(struct kvp_labels *l, struct kvp_leg *leg, struct kvp_label *label, u32 ring,
		      u64 leg_blocks, u32 end)
{
	struct kvp_io io = {
		.leg = leg,
		.op = KVP_IO_READ,
		.on_purpose = true,
		.block = kvp_lblock(kvp_sb_slot_offset(leg_blocks, end, 0) >> KVP_BLOCK_SHIFT),
	};
	u32 slot;

	if (end)
		label->ends[label->nr_ends++] = leg_blocks;
	read_ring(l, &io, label, label->rings.state[ring]);
	for (slot = 0; slot < KVP_SB_RING; slot++) {
		if (label->rings.state[ring][slot] == KVP_SLOT_UNREADABLE)
			continue;
		copy_slot(l, slot);
		take_slot(l, label, kvp_sb_slot_offset(leg_blocks, end, slot), leg_blocks, ring,
			  slot);
	}
}

/*
 * Read the back ring at the end that the leg had with @blocks, if it is not known. Returns true if
 * that was read.
 */
static bool take_end(struct kvp_labels *l, struct kvp_leg *leg, struct kvp_label *label, u64 blocks)
{
	u32 ring = KVP_RING_BACK + label->nr_ends, i;

	if (blocks <= 2 * KVP_LABEL_BLOCKS || blocks >= leg->size_blocks || ring == KVP_RINGS)
		return false;
	for (i = 0; i < label->nr_ends; i++)
		if (label->ends[i] == blocks)
			return false;
	take_ring(l, leg, label, ring, blocks, 1);
	return true;
}

/*
 * If the device has grown, its label gives the place of the old end. A newer superblock there may
 * give another one.
 */
static void take_old_ends(struct kvp_labels *l, struct kvp_leg *leg, struct kvp_label *label)
{
	while (take_end(l, leg, label, label->sb->legs[label->sb->leg_index].size_blocks))
		;
	label->found = !outgrown(label);
}

/* Find the newest valid superblock of one leg; @label receives the result. */
static void read_label(struct kvp_labels *l, struct kvp_leg *leg, struct kvp_label *label)
{
	take_ring(l, leg, label, KVP_RING_FRONT, leg->size_blocks, 0);
	take_ring(l, leg, label, KVP_RING_BACK, leg->size_blocks, 1);
	if (label->found)
		take_old_ends(l, leg, label);
}

int kvp_label_read(struct kvp_labels *l, struct kvp_leg *leg, u32 at, struct kvp_refusal *r)
{
	struct kvp_label *label = &l->legs[at];

	kvfree(label->sb);
	memset(label, 0, sizeof(*label));
	if (!leg->bdev)
		return 0;
	label->sb = kvzalloc(sizeof(*label->sb), GFP_KERNEL);
	if (!label->sb)
		return kvp_refuse(r, -ENOMEM, "free some memory and try again",
				  "out of memory while reading labels");
	if (leg->size_blocks > 2 * KVP_LABEL_BLOCKS)
		read_label(l, leg, label);
	return 0;
}

bool kvp_label_may_be_newer(const struct kvp_label *label)
{
	return label->newer &&
	       kvp_sb_rings_may_hold(&label->rings, label->sb->sequence) > label->sb->sequence;
}

int kvp_refuse_small(const struct kvp_leg *leg, const struct kvp_why *why, struct kvp_refusal *r)
{
	return kvp_refuse(r, -ENOSPC,
		"give it back its size: a dock or a partition table may have taken the end; or start the pool with '-' in its place, which goes on without it",
		"%s is too small: %s", leg->path, why->text);
}

int kvp_label_missing(const struct kvp_leg *leg, const struct kvp_label *label,
		      struct kvp_refusal *r)
{
	if (label->error == -ENOSPC)
		return kvp_refuse_small(leg, &label->why, r);
	/* Before unreadable and bad slots: a newer module may understand what all of them lack. */
	if (label->newer)
		return kvp_refuse(r, -EOPNOTSUPP, "use a newer module",
				  "%s: a newer module wrote its label: %s", leg->path,
				  label->why_newer.text);
	/* Before bad slots: the good slots may be among the unreadable ones. */
	if (label->unreadable)
		return kvp_refuse(r, -EIO,
			"see why, and try again; nothing is lost by that; a start with '-' in place of the device goes on without it",
			"%s does not answer: its label cannot be read (error %d)", leg->path,
			label->read_error);
	if (label->bad)
		return kvp_refuse(r, label->error,
				  "a start with '-' in place of the device goes on without it",
				  "%s: no valid label: %s", leg->path, label->why.text);
	return kvp_refuse(r, -ENODATA, "name the pool's own devices, or create a pool first",
			  "%s has no kvpool label", leg->path);
}

static struct kvp_label *newest_label(struct kvp_pool *pool, struct kvp_labels *l)
{
	struct kvp_label *best = NULL;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (l->legs[i].found && (!best || kvp_sb_newer(l->legs[i].sb, best->sb)))
			best = &l->legs[i];
	return best;
}

/* Take from the newest label so far how long the other legs are waited for. */
static void take_timeout(struct kvp_pool *pool, struct kvp_labels *l)
{
	const struct kvp_label *best = newest_label(pool, l);
	const unsigned int id = KVP_T_LEG_TIMEOUT;

	if (best && best->sb->tunable_mask & BIT_ULL(id) &&
	    kvp_tunable_allows(id, best->sb->tunables[id]))
		WRITE_ONCE(pool->tunables[id], best->sb->tunables[id]);
}

/* The number that superblock @best gives to the leg of @label; leg_count: it does not list it. */
u32 kvp_label_place(const struct kvp_sb *best, const struct kvp_label *label)
{
	u32 at = 0;

	while (at < best->leg_count && memcmp(best->legs[at].uuid, label->sb->leg_uuid, 16))
		at++;
	return at;
}

/*
 * R27: the newest superblocks of a leg that has grown may be at an end that only another leg's
 * label names: those at the front cannot be read, and older ones name an older size. Returns true
 * if such an end was read.
 */
static bool look_elsewhere(struct kvp_labels *l, struct kvp_pool *pool)
{
	const struct kvp_label *best = newest_label(pool, l);
	bool looked = false;
	u32 i, at;

	for (i = 0; best && i < pool->nr_legs; i++) {
		struct kvp_label *label = &l->legs[i];

		at = label->found ? kvp_label_place(best->sb, label) : best->sb->leg_count;
		if (at == best->sb->leg_count ||
		    !take_end(l, &pool->legs[i], label, best->sb->legs[at].size_blocks))
			continue;
		take_old_ends(l, &pool->legs[i], label);
		looked = true;
	}
	return looked;
}

int kvp_labels_read(struct kvp_labels *l, struct kvp_pool *pool, bool format, struct kvp_refusal *r)
{
	int ret = 0;
	u32 i;

	kvp_probes_begin(pool);
	for (i = 0; !ret && i < pool->nr_legs; i++) {
		ret = kvp_label_read(l, &pool->legs[i], i, r);
		if (!ret && !format)
			take_timeout(pool, l);
		/* Refuse at once: each further leg that hangs would take as long. */
		if (!ret && pool->legs[i].silent && (format || !l->legs[i].found))
			ret = kvp_label_missing(&pool->legs[i], &l->legs[i], r);
	}
	while (!ret && look_elsewhere(l, pool))
		;
	/* The pool starts without the shadow as well: kvp_set_shadow_state(). */
	if (!ret)
		ret = kvp_label_read(l, &pool->shadow, KVP_SHADOW, r);
	kvp_probes_end(pool);
	kvp_flights_wait_watch(pool);
	return ret;
}
