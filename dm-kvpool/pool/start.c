// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting a pool: read the labels, decide which superblock and which legs count, or refuse with a
 * reason. Nothing is written here: a format only fills in pool->sb.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "core/core.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "format/sbring.h"
#include "format/spare.h"
#include "io/flight.h"
#include "io/io.h"
#include "pool/pool.h"
#include "pool/start.h"

#define RING_PAGES	(KVP_SB_RING * KVP_SB_BLOCKS)

/* --- reading labels ------------------------------------------------------------- */

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
 * R16.
 * So the start is refused if a request may have been answered by a superblock that only legs have
 * which are in doubt or missing. If not, the leg is used, and the next superblock overwrites the
 * unreadable slots. A start that is refused has written nothing, and a later start finds
 * everything.
 *
 * By order (`degraded`) such a leg is left out. If its vdev needs it, and the slots are never
 * readable
 * again, the pool would be lost. A second order (`accept_fork`) goes back to the newest superblock
 * that can be read (pass_unreadable()). Later writes may then be lost: blocks below table pages
 * that were
 * overwritten since read EIO.
 */
#define READ_PAUSES	5	/* for all slots of a leg together */
#define READ_PAUSE_MS	200

static int read_patiently(struct kvp_io *io, struct kvp_label *label)
{
	int ret = kvp_io_sync(io);

	while (ret && kvp_error_kind(ret) != KVP_ERR_MEDIUM && label->pauses < READ_PAUSES &&
	       !READ_ONCE(io->leg->silent)) {
		label->pauses++;
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
		ret = label->hangs ? -ETIMEDOUT : read_patiently(io, label);
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
	if (ret) {
		note_bad(label, ret, &why);
		if (ret == -ENOSPC)
			note_cut(label, l->tmp);
		return;
	}
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

/* --- choosing --------------------------------------------------------------------- */

static int refuse_small(const struct kvp_leg *leg, const struct kvp_why *why, struct kvp_refusal *r)
{
	return kvp_refuse(r, -ENOSPC,
		"give it back its size: a dock or a partition table may have taken the end; or start the pool with '-' in its place, which goes on without it",
		"%s is too small: %s", leg->path, why->text);
}

int kvp_label_missing(const struct kvp_leg *leg, const struct kvp_label *label,
		      struct kvp_refusal *r)
{
	if (label->error == -ENOSPC)
		return refuse_small(leg, &label->why, r);
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

static int check_found(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev && !l->legs[i].found)
			return kvp_label_missing(&pool->legs[i], &l->legs[i], r);
	return 0;
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

/*
 * True if each slot of the label was read, and none can hold a newer superblock (R27). Otherwise
 * the leg may have gone on after the newest superblock that was read.
 */
static bool all_read(const struct kvp_label *label)
{
	return !kvp_sb_rings_unreadable(&label->rings) &&
	       kvp_sb_rings_may_hold(&label->rings, label->sb->sequence) == label->sb->sequence;
}

/* The superblock that counts: the newest one, but for those that never counted (outs.h). */
static const struct kvp_sb *choose_sb(struct kvp_pool *pool, struct kvp_labels *l)
{
	u32 i, n = 0;

	for (i = 0; i < pool->nr_legs; i++)
		if (l->legs[i].found)
			l->rivals[n++] = (struct kvp_rival){ l->legs[i].sb,
								     all_read(&l->legs[i]) };
	return kvp_rivals_choose(l->rivals, n);
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
static u32 place_in(const struct kvp_sb *best, const struct kvp_label *label)
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

		at = label->found ? place_in(best->sb, label) : best->sb->leg_count;
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
	/* The pool starts without the shadow as well: set_shadow_state(). */
	if (!ret)
		ret = kvp_label_read(l, &pool->shadow, KVP_SHADOW, r);
	kvp_probes_end(pool);
	kvp_flights_wait_watch(pool);
	return ret;
}

/*
 * R16: judge whether the leg of @label has parted from @best. A leg that is passed by has not:
 * nothing was done with it alone, so its history is given up without an order. It becomes stale, as
 * a leg that forked does. Returns false if the leg has parted, and no order gives its history up.
 */
static bool judge_fork(struct kvp_pool *pool, struct kvp_label *label, const struct kvp_sb *best,
		       const struct kvp_start *s)
{
	const struct kvp_rival c = { label->sb, all_read(label) };

	label->forked = kvp_sb_forked(label->sb, best, false);
	label->passed = kvp_rival_passed(&c, best);
	if (!label->passed)
		return !label->forked || s->accept_fork;
	label->forked = true;
	pool->recovery.passed_epoch = max(pool->recovery.passed_epoch, label->sb->epoch);
	return true;
}

/* Check that all labels belong together. */
static int check_family(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best,
			const struct kvp_start *s, struct kvp_refusal *r)
{
	u32 i, j;

	pool->recovery.passed_epoch = 0;
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_sb *sb = l->legs[i].sb;
		const char *path = pool->legs[i].path;

		if (!l->legs[i].found)
			continue;
		if (memcmp(sb->pool_uuid, best->pool_uuid, 16))
			return kvp_refuse(r, -EINVAL, "name the devices of one pool only",
					  "%s belongs to another pool, '%s'", path, sb->name);
		for (j = 0; j < i; j++)
			if (l->legs[j].found && !memcmp(sb->leg_uuid, l->legs[j].sb->leg_uuid, 16))
				return kvp_refuse(r, -EEXIST,
					"disconnect the copy, or clear its label",
					"%s and %s carry the same leg UUID: one is a copy of the other",
					pool->legs[j].path, path);
		if (!judge_fork(pool, &l->legs[i], best, s))
			return kvp_refuse(r, -ESTALE,
				"accept_fork (import --accept-fork) keeps the newer history; or start the half you want alone",
				"split brain: %s was written in a history that the newest leg does not know",
				path);
	}
	return 0;
}

bool kvp_vdevs_match(const struct kvp_sb *sb, const struct kvp_start *s)
{
	bool match = sb->vdev_count == s->nr_vdevs && sb->leg_count == s->nr_legs;
	u32 i;

	for (i = 0; match && i < s->nr_vdevs; i++)
		match = sb->vdevs[i].kind == s->vdevs[i].kind &&
			sb->vdevs[i].leg_count == s->vdevs[i].nr_legs;
	return match;
}

/* What this run would write must not be refused by the decoder at the next start. */
static int check_counts(const struct kvp_pool *pool, const struct kvp_sb *sb,
			struct kvp_refusal *r)
{
	const u64 last = KVP_SB_COUNT_END - KVP_SB_COUNT_ROOM;

	if (sb->epoch >= last || sb->sequence >= last || sb->checkpoint >= last)
		return kvp_refuse(r, -EOVERFLOW, "import --readonly, and copy the data to a new pool",
			"epoch %llu, sequence %llu and checkpoint %llu of the pool have no room to grow",
			(unsigned long long)sb->epoch, (unsigned long long)sb->sequence,
			(unsigned long long)sb->checkpoint);
	/* The first superblock gets an epoch above this one: kvp_sb_roll_forward(). */
	if (pool->recovery.passed_epoch >= last)
		return kvp_refuse(r, -EOVERFLOW, "give '-' in place of the leg that is out",
			"a leg that is out has epoch %llu, and the pool would have no room to grow",
			(unsigned long long)pool->recovery.passed_epoch);
	return 0;
}

static int check_against_table(struct kvp_pool *pool, const struct kvp_sb *sb,
			       const struct kvp_start *s, struct kvp_refusal *r)
{
	if (!s->any_uuid && memcmp(s->uuid, sb->pool_uuid, 16))
		return kvp_refuse(r, -EINVAL, "give the UUID that the legs carry, or '-'",
				  "the table names another pool UUID than the legs carry");
	if (sb->flags & KVP_SB_JOINING)
		return kvp_refuse(r, -ENXIO, "name the pool's own legs, or clear the label",
				  "an unfinished add or replace was to add the legs to the pool '%s', and no leg of that pool is here",
				  sb->name);
	if (!kvp_vdevs_match(sb, s))
		return kvp_refuse(r, -EINVAL, "name every vdev and leg, '-' for a missing one",
				  "the table names %u legs in %u vdevs, the pool has %u in %u, or of other kinds",
				  s->nr_legs, s->nr_vdevs, sb->leg_count, sb->vdev_count);
	if (s->pool_blocks && s->pool_blocks != sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the refusal names",
				  "the table is %llu sectors long, the pool %llu",
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS,
				  (unsigned long long)sb->pool_blocks * KVP_BLOCK_SECTORS);
	if ((sb->flags & KVP_SB_DESTROYED) && !s->undestroy)
		return kvp_refuse(r, -ENOENT, "import --destroyed brings it back",
				  "the pool '%s' is marked destroyed", sb->name);
	if ((sb->ro_compat & ~KVP_RO_COMPAT_KNOWN) && !s->readonly)
		return kvp_refuse(r, -EOPNOTSUPP, "import --readonly, or use a newer module",
				  "the pool uses read-only compatible features %llx that this module does not know",
				  (unsigned long long)sb->ro_compat);
	return s->readonly ? 0 : check_counts(pool, sb, r);
}

/*
 * Judge a leg that @best calls in sync, by its own label; NULL: the leg is not here.
 *
 * R29: a leg is not in sync if its label is further behind than power cuts can leave it. An older
 * state was put back onto it: by dd of an image, or as a disk of a virtual machine. It is stale,
 * whatever its label says about the time when it was written. The other legs have the present
 * state. If these are too few, no leg has it.
 */
static void judge_leg(struct kvp_leg *leg, const struct kvp_label *label, const struct kvp_sb *best)
{
	u64 held;

	/* The oldest superblock that a missing leg can have and still be in sync. */
	leg->has_sequence = best->behind_known ?
		best->sequence - 1 - min_t(u64, best->behind, best->sequence - 1) : 0;
	leg->has_era = best->era;
	if (!label)
		return;
	held = kvp_sb_rings_may_hold(&label->rings, label->sb->sequence);
	leg->unreadable = label->unreadable + label->bad;
	leg->has_sequence = label->sb->sequence;
	leg->has_era = min(best->era, label->sb->era);
	leg->lag = kvp_sb_lag(best, label->sb, held);
	leg->doubtful = !leg->lag && held > best->sequence;
	if (leg->lag)
		leg->state = KVP_LEG_STALE;
}

/* Note that the leg may lack any block. */
static void forget(struct kvp_leg_info *info)
{
	info->in_sync_era = 0;
	info->cursor = 0;
	info->cursor_era = 0;
}

void kvp_leg_note_slots(struct kvp_leg *leg, const struct kvp_label *label)
{
	u32 end;

	leg->torn = kvp_sb_rings_torn(&label->rings);
	leg->front_last = kvp_sb_rings_last_two(&label->rings, KVP_RING_FRONT);
	for (end = 0; end < 2; end++) {
		leg->gaps[end] = kvp_sb_rings_gaps(&label->rings, end, label->sb->sequence);
		leg->missed[end] = kvp_sb_rings_missed(&label->rings, end, label->sb->sequence);
	}
}

/* Settle the state of @leg, number @i in the superblock, by the superblock and by its own label. */
static void set_leg_state(struct kvp_pool *pool, u32 i, const struct kvp_label *label,
			  struct kvp_sb *best)
{
	struct kvp_leg_info *info = &best->legs[i];
	struct kvp_leg *leg = &pool->legs[i];

	leg->pool = pool;
	leg->index = i;
	if (label)
		kvp_leg_note_slots(leg, label);
	/* A resilver ends with the run of the pool. */
	leg->state = info->state == KVP_LEG_RESILVERING ? KVP_LEG_STALE : info->state;
	/*
	 * Its history is given up. So it must not be a source, even if the chosen superblock calls
	 * it in sync.
	 */
	leg->adopt = label && label->forked;
	leg->passed = label && label->passed;
	if (leg->adopt)
		forget(info);
	if (leg->adopt && leg->state == KVP_LEG_IN_SYNC)
		leg->state = KVP_LEG_STALE;
	else if (leg->state == KVP_LEG_IN_SYNC)
		judge_leg(leg, label, best);
	atomic64_set(&leg->err_read, info->err_read);
	atomic64_set(&leg->err_write, info->err_write);
	atomic64_set(&leg->err_checksum, info->err_checksum);
	atomic64_set(&leg->healed, info->healed);
}

static bool calls_in_sync(const struct kvp_sb *sb, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++)
		if (!memcmp(sb->legs[i].uuid, uuid, sizeof(sb->legs[i].uuid)))
			return sb->legs[i].state == KVP_LEG_IN_SYNC;
	return false;
}

/*
 * R16: the power may have gone when only some legs had the superblock that first calls a leg in
 * sync. The labels of the others say that they can do without it. So it joins with the first
 * superblock of this start: none of the others is given up for it before.
 */
static void note_joins(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best)
{
	u32 v, i, j;

	/* A read-only pool writes no superblock that would end it, and records no loss. */
	if (kvp_pool_readonly(pool))
		return;
	for (v = 0; v < best->vdev_count; v++) {
		u32 first = best->vdevs[v].first_leg, end = first + best->vdevs[v].leg_count;

		for (i = first; i < end; i++)
			for (j = first; j < end; j++)
				if (i != j && kvp_leg_in_sync(&pool->legs[i]) &&
				    kvp_leg_in_sync(&pool->legs[j]) &&
				    !calls_in_sync(l->ordered_label[j]->sb, best->legs[i].uuid))
					pool->legs[i].joins = true;
	}
}

/* Put the legs into the order of the superblock, with places for missing ones. */
static int order_legs(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_sb *best,
		      struct kvp_refusal *r)
{
	struct kvp_leg *legs = l->ordered;
	u32 i;

	memset(legs, 0, sizeof(l->ordered));
	memset(l->ordered_label, 0, sizeof(l->ordered_label));
	for (i = 0; i < pool->nr_legs; i++) {
		u32 at;

		if (!l->legs[i].found)
			continue;
		at = place_in(best, &l->legs[i]);
		if (at == best->leg_count)
			return kvp_refuse(r, -EINVAL, "leave the device out, or clear its label",
					  "%s was once a leg of the pool '%s', but is not any more",
					  pool->legs[i].path, best->name);
		legs[at] = pool->legs[i];
		l->ordered_label[at] = &l->legs[i];
	}
	memcpy(pool->legs, legs, sizeof(pool->legs));
	for (i = 0; i < pool->nr_legs; i++)
		set_leg_state(pool, i, l->ordered_label[i], best);
	note_joins(pool, l, best);
	return 0;
}

/*
 * Refuse if a device is too small for the layout that counts. Its own label may be of before the
 * pool grew: newer ones at the front cannot be read, and at its end are those of then.
 */
static int check_sizes(struct kvp_pool *pool, const struct kvp_sb *best, struct kvp_refusal *r)
{
	struct kvp_why why;
	u32 v, i;

	for (v = 0; v < best->vdev_count; v++) {
		const struct kvp_geometry *g = &best->vdevs[v];

		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
			if (pool->legs[i].bdev && best->legs[i].state == KVP_LEG_IN_SYNC &&
			    kvp_geometry_check(g, pool->legs[i].size_blocks, &why))
				return refuse_small(&pool->legs[i], &why, r);
	}
	return 0;
}

/* True if the leg is missing, or in doubt: it may have a superblock that no other leg has. */
static bool is_away(const struct kvp_leg *leg)
{
	return !leg->bdev || leg->doubtful;
}

/* How many legs of a vdev are away, but not recorded out. */
static u32 missing_of(struct kvp_pool *pool, const struct kvp_sb *sb, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += is_away(&pool->legs[i]) && sb->legs[i].state == KVP_LEG_IN_SYNC;
	return n;
}

static u32 usable_of(struct kvp_pool *pool, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += kvp_leg_in_sync(&pool->legs[i]);
	return n;
}

#define GO_BACK	\
	"see why it cannot be read, and try again; or import --degraded --accept-fork, which " \
	"goes back to the newest superblock that can be read, and may lose later writes"

/* Refuse if a leg of @g is left out because of its label: that is the reason for too few legs. */
static int check_left_out(struct kvp_pool *pool, const struct kvp_geometry *g,
			  struct kvp_refusal *r)
{
	u32 i;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		if (leg->doubtful && !kvp_leg_in_sync(leg))
			return kvp_refuse(r, -EIO, GO_BACK,
				"%s does not answer: %u slots of its label cannot be read, and may hold the newest superblock, and its vdev cannot do without it; nothing is lost yet",
				leg->path, leg->unreadable);
		if (leg->lag)
			return kvp_refuse(r, -ESTALE,
				"connect the leg that was in use last, or one that was copied after the pool was exported",
				"%s is outdated: its label is %llu superblocks behind that of the other legs, so it was put back to an older state, and without it the legs do not suffice",
				leg->path, (unsigned long long)leg->lag);
	}
	return 0;
}

/*
 * Check that each vdev has enough legs: the pool needs all of them. Not a cache: it may have to be
 * waited for, but cannot have gone on by itself (cachevdev.c).
 */
static int check_enough(struct kvp_pool *pool, const struct kvp_sb *sb, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++) {
		const struct kvp_geometry *g = &sb->vdevs[i];
		u32 usable = usable_of(pool, g);
		int ret = usable < kvp_homes_need(g) ? check_left_out(pool, g, r) : 0;

		if (ret)
			return ret;
		if (!usable && sb->vdev_count == 1)
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
					  "no leg that is in sync is present");
		if (!usable && kvp_homes_need(g) == 1)
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
					  "of vdev %u no leg that is in sync is present", i);
		if (usable < kvp_homes_need(g))
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
				"%u of %u legs are present and in sync; a parity1 needs all but one",
				usable, g->leg_count);
	}
	return 0;
}

/*
 * R16: true if the missing legs could have gone on without those that are here. They would need
 * enough legs in every vdev. (If two legs of a parity1 are missing, too few are here as well.)
 */
static bool may_have_gone_on(struct kvp_pool *pool, const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		if (missing_of(pool, sb, &sb->vdevs[i]) < kvp_homes_need(&sb->vdevs[i]))
			return false;
	return true;
}

/* True if the vdev has too few legs, not counting those in doubt. */
static bool needs_doubtful(struct kvp_pool *pool, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += kvp_leg_in_sync(&pool->legs[i]) && !pool->legs[i].doubtful;
	return n < kvp_homes_need(g);
}

/* R16, R27: refuse, since legs that are away and not recorded out may have newer data. */
static int refuse_away(struct kvp_pool *pool, const struct kvp_sb *sb, u32 missing,
		       struct kvp_refusal *r)
{
	bool needed = false;
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		needed |= needs_doubtful(pool, &sb->vdevs[i]);
	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].doubtful)
			return kvp_refuse(r, -EIO, needed ? GO_BACK :
				"see why, and try again; or import --degraded, without it, if it will not come back",
				"%s does not answer: %u slots of its label cannot be read, and may hold a newer superblock than any that can; nothing is lost",
				pool->legs[i].path, pool->legs[i].unreadable);
	return kvp_refuse(r, -ENOTCONN,
		"connect it, or import --degraded if it will not come back",
		"%u leg%s in sync when last seen, but missing now: newer data may be there",
		missing, missing > 1 ? "s were" : " was");
}

/*
 * Let the pool go on without legs that are away: the next superblock records them out. With @fork
 * these legs may have gone on as well. Without @fork, no request was answered by a superblock that
 * only a leg in doubt has, so that leg stays in use. By order (@back), a leg that the pool needs
 * stays in use, too.
 */
static void leave_out(struct kvp_pool *pool, const struct kvp_sb *sb, bool fork, bool back,
		      bool readonly)
{
	u32 i, v;

	for (v = 0; v < sb->vdev_count; v++) {
		const struct kvp_geometry *g = &sb->vdevs[v];
		bool keep = !fork || (back && needs_doubtful(pool, g));

		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
			struct kvp_leg *leg = &pool->legs[i];

			if (sb->legs[i].state == KVP_LEG_IN_SYNC &&
			    (leg->bdev ? leg->doubtful && !keep : !readonly))
				leg->state = KVP_LEG_STALE;
		}
	}
}

/*
 * A leg in use may have newer superblocks that cannot be read, and may become readable later. So
 * the next superblock must be newer than all of these: each may have raised the epoch twice, by a
 * loss and by an activation. Its sequence has the slot of the first of them, so that readable
 * superblocks are overwritten last (R13). This is done whether or not a request was answered by
 * them: a superblock that the last leg of another vdev did not take is written again under the next
 * sequence, so one leg alone may have several.
 *
 * Returns true if there is such a leg.
 */
static bool pass_unreadable(struct kvp_pool *pool, struct kvp_sb *sb)
{
	bool used = false;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		used |= pool->legs[i].doubtful && kvp_leg_in_sync(&pool->legs[i]);
		pool->legs[i].doubtful = false;
	}
	if (!used)
		return false;
	sb->epoch += 2 * KVP_SB_RING;
	sb->sequence += KVP_SB_RING;
	return true;
}

/*
 * True if the next superblock may be in one ring of a leg, where it cannot be read, and not in the
 * other ring: the power went between the two. It does not count, but may become readable later. Any
 * leg is asked: it may be the superblock by which the leg returned.
 */
static bool next_is_unread(const struct kvp_pool *pool, const struct kvp_labels *l,
			   const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (l->ordered_label[i] && !pool->legs[i].doubtful &&
		    kvp_sb_rings_unread(&l->ordered_label[i]->rings, sb->sequence + 1))
			return true;
	return false;
}

/*
 * This start gives up a history, or goes on beside one. A leg that is out or away now may have
 * blocks of that history. Its eras do not tell which, as they were counted in that history, too. A
 * leg that resilvered got writes of it, too.
 */
static void forget_eras(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg_info *info = &pool->sb->legs[i];

		if (kvp_leg_in_sync(&pool->legs[i]))
			continue;
		pool->legs[i].has_era = 0;
		forget(info);
	}
	pool->sb->shadow.cursor = 0;
	pool->sb->shadow.cursor_era = 0;
}

static int check_missing(struct kvp_pool *pool, struct kvp_sb *sb, const struct kvp_start *s,
			 bool auto_start, struct kvp_refusal *r)
{
	bool fork = may_have_gone_on(pool, sb), passed;
	int ret = check_enough(pool, sb, r);
	u32 i, missing = 0;

	if (ret)
		return ret;
	for (i = 0; i < sb->vdev_count; i++)
		missing += missing_of(pool, sb, &sb->vdevs[i]);
	if (!missing)
		return 0;
	if (fork && !s->degraded && !auto_start)
		return refuse_away(pool, sb, missing, r);
	leave_out(pool, sb, fork, s->degraded && s->accept_fork, s->readonly);
	ret = check_enough(pool, sb, r);
	if (ret)
		return ret;
	passed = pass_unreadable(pool, sb);
	if (!fork)
		return 0;
	pool->recovery.went_back = passed;
	forget_eras(pool);
	pool->recovery.parted = s->readonly;
	if (s->readonly)
		return 0;
	if (sb->fork_count == KVP_MAX_FORKS)
		memmove(sb->forks, sb->forks + 1, (--sb->fork_count) * sizeof(sb->forks[0]));
	get_random_bytes(&sb->forks[sb->fork_count++], sizeof(sb->forks[0]));
	return 0;
}

int kvp_identify(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r)
{
	const struct kvp_sb *best;
	int ret;

	ret = check_found(pool, l, r);
	if (ret)
		return ret;
	best = choose_sb(pool, l);
	if (!best)
		return kvp_refuse(r, -ENXIO, "connect at least one leg", "every leg is missing");
	*pool->sb = *best;
	return 0;
}

/* The shadow has only what both its label and the superblock say. */
static void take_cursor(struct kvp_shadow_info *order, const struct kvp_leg_info *own)
{
	order->cursor = kvp_vblock_first(order->cursor, own->cursor);
	order->cursor_era = order->cursor ? min(order->cursor_era, own->cursor_era) : 0;
}

/*
 * True if the labels of the shadow fit the superblock. A superblock names the number of each label
 * before the label is written. So the newest label on the device has that number, or the one before
 * it if the power went between the two. With a later number, the shadow belongs to a history that
 * the legs do not know: all legs were put back to an older state. With an earlier number, the
 * shadow was put back.
 *
 * @newest: number of the newest label that can be read
 * @held: number of the newest label that may be there
 */
static bool knows_label(const struct kvp_shadow_info *order, u64 newest, u64 held)
{
	return held <= order->label && newest + 1 >= order->label;
}

/*
 * Settle whether the device that the table names is the shadow. Its newest label must be that of a
 * shadow. If it is that of a leg, a superblock that no other leg has may have made it one. A device
 * that is not the shadow is not touched, and the order waits.
 */
static void set_shadow_state(struct kvp_pool *pool, const struct kvp_label *label, bool readonly)
{
	struct kvp_shadow_info *order = &pool->sb->shadow;
	struct kvp_leg *shadow = &pool->shadow;
	const struct kvp_sb *own = label->sb;

	shadow->v = NULL;
	if (!order->of || !shadow->bdev || readonly || shadow->silent || !label->found ||
	    !(own->flags & KVP_SB_JOINING) || memcmp(own->pool_uuid, pool->sb->pool_uuid, 16) ||
	    memcmp(own->leg_uuid, order->uuid, 16)) {
		/* It may be a leg of another pool: a cancel must not wipe its label. */
		WRITE_ONCE(shadow->bdev, NULL);
		return;
	}
	take_cursor(order, &own->legs[own->leg_index]);
	shadow->has_sequence = kvp_sb_rings_may_hold(&label->rings, own->sequence);
	if (!knows_label(order, own->sequence, shadow->has_sequence) ||
	    !kvp_sb_knows_forks(own, pool->sb)) {
		order->cursor = 0;
		order->cursor_era = 0;
		/* In the other history, the number of its next label is unknown. */
		shadow->has_sequence++;
	}
	/*
	 * The last labels before an exchange have the pool's sequences, so the newest two may be
	 * far apart.
	 */
	shadow->has_sequence = kvp_sb_rings_next(&label->rings, shadow->has_sequence + 1) - 1;
	shadow->state = KVP_LEG_STALE;
	shadow->v = &pool->vdevs.v[order->vdev];
	pool->shadow_of = order->of - 1;
	pool->shadow_ready = false;
}

int kvp_choose(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
	       bool auto_start, struct kvp_refusal *r)
{
	int ret;

	ret = kvp_identify(pool, l, r);
	if (!ret)
		ret = check_family(pool, l, pool->sb, s, r);
	if (!ret)
		ret = check_against_table(pool, pool->sb, s, r);
	if (!ret)
		ret = order_legs(pool, l, pool->sb, r) ?: check_sizes(pool, pool->sb, r);
	if (ret)
		return ret;
	if (pool->sb->tunable_mask & BIT_ULL(KVP_T_DEGRADED_START))
		auto_start |= pool->sb->tunables[KVP_T_DEGRADED_START];
	if (s->discard_log)
		forget_eras(pool);
	pool->recovery.next_unread = next_is_unread(pool, l, pool->sb);
	set_shadow_state(pool, &l->legs[KVP_SHADOW], s->readonly);
	return check_missing(pool, pool->sb, s, auto_start, r);
}

/* --- format -------------------------------------------------------------------------- */

/* True for the blocks of a spare's label at end @end. */
static bool in_label_of_spare(const struct kvp_leg *leg, u32 end, u64 block)
{
	return block - (kvp_spare_offset(leg->size_blocks, end) >> KVP_BLOCK_SHIFT) < KVP_SB_BLOCKS;
}

int kvp_check_unused(struct kvp_leg *leg, struct page *page, bool spare, struct kvp_refusal *r)
{
	u64 starts[2] = { 0, leg->size_blocks - KVP_LABEL_BLOCKS }, block;
	u32 end;

	for (end = 0; end < 2; end++)
		for (block = starts[end]; block < starts[end] + KVP_LABEL_BLOCKS; block++) {
			if (spare && in_label_of_spare(leg, end, block))
				continue;
			if (kvp_io_page(leg, KVP_IO_READ, kvp_lblock(block), page))
				return kvp_refuse(r, -EIO, "use a device that can be read",
						  "%s: block %llu cannot be read", leg->path,
						  (unsigned long long)block);
			if (memchr_inv(page_address(page), 0, KVP_BLOCK_SIZE))
				return kvp_refuse(r, -EEXIST,
					"zero the first and last MiB, or let kvpoolctl create -f do it",
					"%s is not blank: block %llu holds data", leg->path,
					(unsigned long long)block);
		}
	return 0;
}

int kvp_check_blank(struct kvp_leg *leg, struct page *page, struct kvp_refusal *r)
{
	return kvp_check_unused(leg, page, false, r);
}

void kvp_random_uuid(u8 *uuid)
{
	get_random_bytes(uuid, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static void fill_new_sb(struct kvp_pool *pool, const struct kvp_start *s)
{
	struct kvp_sb *sb = pool->sb;
	u32 i;

	if (s->any_uuid)
		kvp_random_uuid(sb->pool_uuid);
	else
		memcpy(sb->pool_uuid, s->uuid, 16);
	snprintf(sb->name, sizeof(sb->name), "%s", s->name[0] ? s->name : "pool");
	snprintf(sb->comment, sizeof(sb->comment), "%s", s->comment);
	sb->create_time = ktime_get_real_seconds();
	get_random_bytes(&sb->nonce, sizeof(sb->nonce));
	sb->log_tail = kvp_lsn(kvp_log_blocks(&sb->vdevs[sb->log_vdev]));
	sb->log_commit = sb->log_tail;
	sb->leg_count = s->nr_legs;
	sb->root_count = (u32)kvp_sb_roots(sb);
	sb->pool_blocks = s->pool_blocks ?: kvp_map_blocks(&sb->map);
	sb->flags = KVP_SB_CLEAN;
	for (i = 0; i < s->nr_legs; i++) {
		kvp_random_uuid(sb->legs[i].uuid);
		sb->legs[i].state = KVP_LEG_IN_SYNC;
		sb->legs[i].size_blocks = pool->legs[i].size_blocks;
		pool->legs[i].state = KVP_LEG_IN_SYNC;
	}
}

/* Lay out one vdev, whose legs begin with @first. */
static int lay_out_vdev(struct kvp_pool *pool, const struct kvp_start *s, u32 index, u32 first,
			struct kvp_refusal *r)
{
	struct kvp_geometry *g = &pool->sb->vdevs[index];
	u32 n = s->vdevs[index].nr_legs, i;
	u64 smallest = ~0ull;
	struct kvp_why why;
	int ret;

	for (i = first; i < first + n; i++) {
		if (!pool->legs[i].bdev)
			return kvp_refuse(r, -EINVAL, "give every leg",
					  "a new pool cannot miss a leg");
		smallest = min(smallest, pool->legs[i].size_blocks);
	}
	g->first_leg = first;
	g->chunk_blocks = kvp_chunk_asked(s->chunk_bytes);
	g->log_window = kvp_log_window_asked(s->dirty_bytes);
	ret = kvp_layout_one(s->vdevs[index].kind, n, kvp_leg_room(smallest),
			     s->leg_bytes >> KVP_BLOCK_SHIFT,
			     s->log_bytes, KVP_MAX_ROOTS / s->nr_vdevs, g, &why);
	return ret ? kvp_refuse(r, ret, kvp_layout_mend(ret), "%s", why.text) : 0;
}

/* Lay out all vdevs, and the part of the pool that each has. */
static int lay_out(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	struct kvp_sb *sb = pool->sb;
	u32 i, first = 0;
	int ret = 0;

	/* The cache must be last: so new vdevs can go before it, and it can be removed. */
	if (kvp_caches_asked(s->vdevs, s->nr_vdevs - 1))
		return kvp_refuse(r, -EINVAL, "name the cache last",
				  "a vdev with data cannot follow the cache");
	if (s->dirty_bytes && !kvp_caches_asked(s->vdevs, s->nr_vdevs))
		return kvp_refuse(r, -EINVAL, "leave out cache_dirty_max, or name a cache",
				  "the pool has no cache");
	for (i = 0; !ret && i < s->nr_vdevs; i++) {
		ret = lay_out_vdev(pool, s, i, first, r);
		first += s->vdevs[i].nr_legs;
	}
	if (ret)
		return ret;
	sb->vdev_count = s->nr_vdevs;
	sb->tunable_mask = s->tunable_mask;
	memcpy(sb->tunables, s->tunables, sizeof(s->tunables));
	if (kvp_regions_lay_out(sb))
		return kvp_refuse(r, -EINVAL, "use fewer vdevs, or less of each leg with size=",
			"the vdevs are too large together, or their sizes too different, for one pool");
	for (i = 0; i < sb->vdev_count; i++)
		if (!kvp_logs_hold_discard(sb, sb->vdevs[i].chunk_blocks))
			return kvp_refuse(r, -EINVAL, "give a larger log_size=, or smaller chunks",
					  "the log is too small for chunks of %u KiB",
					  sb->vdevs[i].chunk_blocks * 4);
	if (s->pool_blocks > kvp_map_blocks(&sb->map))
		return kvp_refuse(r, -ENOSPC, "make the table shorter",
				  "the legs hold %llu sectors of data, the table is %llu long",
				  (unsigned long long)kvp_map_blocks(&sb->map) * KVP_BLOCK_SECTORS,
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS);
	return 0;
}

int kvp_format(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
	       struct kvp_refusal *r)
{
	int ret = lay_out(pool, s, r);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < pool->nr_legs; i++) {
		if (l->legs[i].valid || l->legs[i].bad)
			return kvp_refuse(r, -EEXIST,
					  "kvpoolctl labelclear it first, if that pool is not needed any more",
					  "%s carries a kvpool label already", pool->legs[i].path);
		ret = kvp_check_blank(&pool->legs[i], l->pages[0], r);
		if (ret)
			return ret;
	}
	fill_new_sb(pool, s);
	return 0;
}
