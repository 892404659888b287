// SPDX-License-Identifier: GPL-2.0-only
#include "foreign.h"

static bool inside(u64 offset, u64 bytes, u64 first_block, u64 end_block)
{
	return offset >= first_block << KVP_BLOCK_SHIFT && bytes <= end_block << KVP_BLOCK_SHIFT &&
	       offset <= (end_block << KVP_BLOCK_SHIFT) - bytes;
}

/*
 * A slot that holds no label belongs to the tool that wrote over it. A slot that cannot be read may
 * hold a label.
 */
static bool in_dead_slot(const struct label *l, u64 offset, u64 bytes)
{
	unsigned int i;

	for (i = 0; i < LABEL_SLOTS; i++) {
		u64 slot = l->slots[i].offset >> KVP_BLOCK_SHIFT;

		if (inside(offset, bytes, slot, slot + KVP_SB_BLOCKS))
			return l->slots[i].state && l->slots[i].state != -EIO &&
			       l->slots[i].state != -EOPNOTSUPP;
	}
	return false;
}

/* The size that the label tells; 0: none. */
static u64 size_of_leg(const struct label *l)
{
	if (l->sb)
		return l->sb->legs[l->sb->leg_index].size_blocks;
	return label_is_spare(l) ? l->spare.size_blocks : 0;
}

bool foreign_free(const struct device *d, const struct label *l, u64 offset, u64 bytes, bool in_use)
{
	u64 ring = kvp_sb_slot_offset(d->blocks, 0, 0) >> KVP_BLOCK_SHIFT;
	u64 ring_end = ring + KVP_SB_RING * KVP_SB_BLOCKS;
	u64 back = d->blocks - KVP_LABEL_BLOCKS;

	if (d->blocks < 2 * KVP_LABEL_BLOCKS || !bytes || offset > d->bytes ||
	    bytes > d->bytes - offset)
		return false;
	/* From there on the rings of events and orders fill the front label area. */
	if (inside(offset, bytes, 0, ring) || inside(offset, bytes, ring_end, KVP_EVENTS_BLOCK))
		return true;
	/* On a device that is larger than the leg was, the leg ends before the device does. */
	if (size_of_leg(l) != d->blocks)
		return false;
	if (inside(offset, bytes, back, back + ring) ||
	    offset >= (back + ring_end) << KVP_BLOCK_SHIFT)
		return true;
	return !in_use && in_dead_slot(l, offset, bytes);
}

struct wiping {
	const struct device *d;
	const struct label *l;
	bool in_use;
	struct signature_list *done, *left;
};

static bool may_go(void *arg, const struct signature *s)
{
	struct wiping *w = arg;
	bool ours = !foreign_free(w->d, w->l, s->offset, s->bytes, w->in_use);
	struct signature_list *list = ours ? w->left : w->done;

	if (list->count < SIGNATURES_MAX)
		list->list[list->count++] = *s;
	else
		list->more++;
	return !ours;
}

int foreign_wipe(const struct device *d, const struct label *l, int fd, bool in_use,
		 struct signature_list *done, struct signature_list *left, struct err *err)
{
	struct wiping w = { d, l, in_use, done, left };

	done->count = left->count = done->more = left->more = 0;
	return signature_each(d->path, fd, may_go, &w, err);
}
