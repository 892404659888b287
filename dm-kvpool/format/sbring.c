// SPDX-License-Identifier: GPL-2.0-only
#include "format/sbring.h"

/*
 * True if the ring was written with the newest superblock, or the one before, and gets the next one
 * as well. The ring at a former end of the device does not get it. It may have the newest
 * superblock that can be read, and the next one may be the first in the ring at the present end.
 */
static bool answers(const struct kvp_sb_rings *r, u32 ring, u64 newest)
{
	u64 s;

	if (ring >= KVP_RING_OLD_BACK)
		return false;
	for (s = newest; s && s + 1 >= newest; s--)
		if (r->state[ring][s % KVP_SB_RING] == KVP_SLOT_VALID &&
		    r->sequence[ring][s % KVP_SB_RING] == s)
			return true;
	return false;
}

u64 kvp_sb_rings_may_hold(const struct kvp_sb_rings *r, u64 newest)
{
	u64 may = newest, s;
	bool asked[KVP_RINGS];
	u32 ring;

	for (ring = 0; ring < KVP_RINGS; ring++)
		asked[ring] = answers(r, ring, newest);
	for (s = newest + 1; s < newest + KVP_SB_RING; s++) {
		bool unreadable = false;
		u32 older = 0;

		for (ring = 0; ring < KVP_RINGS; ring++) {
			u8 state = r->state[ring][s % KVP_SB_RING];
			bool shows_older = state == KVP_SLOT_NONE || state == KVP_SLOT_VALID;

			if (asked[ring] && shows_older)
				return may;
			older += shows_older;
			unreadable |= state == KVP_SLOT_UNREADABLE;
		}
		if (older == KVP_RINGS)
			return may;
		if (unreadable || s > newest + 1)
			may = s;
	}
	return may;
}

bool kvp_sb_rings_unread(const struct kvp_sb_rings *r, u64 sequence)
{
	u32 ring;

	for (ring = 0; ring < KVP_RINGS; ring++)
		if (r->state[ring][sequence % KVP_SB_RING] == KVP_SLOT_UNREADABLE)
			return true;
	return false;
}

u32 kvp_sb_rings_unreadable(const struct kvp_sb_rings *r)
{
	u32 ring, slot, n = 0;

	for (ring = 0; ring < KVP_RINGS; ring++)
		for (slot = 0; slot < KVP_SB_RING; slot++)
			n += r->state[ring][slot] == KVP_SLOT_UNREADABLE;
	return n;
}

/* True if slot @slot of @ring has one of the newest two of that ring. */
static bool has_newest(const struct kvp_sb_rings *r, u32 ring, u32 slot)
{
	u32 i, newer = 0;

	if (r->state[ring][slot] != KVP_SLOT_VALID)
		return false;
	for (i = 0; i < KVP_SB_RING; i++)
		newer += r->state[ring][i] == KVP_SLOT_VALID &&
			 r->sequence[ring][i] > r->sequence[ring][slot];
	return newer < 2;
}

u64 kvp_sb_rings_next(const struct kvp_sb_rings *r, u64 sequence)
{
	u32 ring = 0;

	/* This ends: the newest two of each ring do not take up all slots. */
	while (ring < KVP_RINGS) {
		if (has_newest(r, ring++, sequence % KVP_SB_RING)) {
			sequence++;
			ring = 0;
		}
	}
	return sequence;
}

u32 kvp_sb_rings_torn(const struct kvp_sb_rings *r)
{
	u32 ring, slot, torn = 0;

	for (ring = 0; ring < KVP_RINGS; ring++)
		for (slot = 0; slot < KVP_SB_RING; slot++)
			if (r->state[ring][slot] == KVP_SLOT_BAD)
				torn |= 1u << slot;
	return torn;
}

/* True if slot @sequence of @ring has that superblock. */
static bool has(const struct kvp_sb_rings *r, u32 ring, u64 sequence)
{
	u32 slot = sequence % KVP_SB_RING;

	return r->state[ring][slot] == KVP_SLOT_VALID && r->sequence[ring][slot] == sequence;
}

/* The slot of the newest superblock that is older than a round; KVP_SB_RING: there is none. */
static u32 newest_old(const struct kvp_sb_rings *r, u32 ring, u64 newest)
{
	u32 slot, old = KVP_SB_RING;

	for (slot = 0; slot < KVP_SB_RING; slot++)
		if (r->state[ring][slot] == KVP_SLOT_VALID &&
		    r->sequence[ring][slot] + KVP_SB_RING <= newest &&
		    (old == KVP_SB_RING || r->sequence[ring][slot] > r->sequence[ring][old]))
			old = slot;
	return old;
}

u32 kvp_sb_rings_gaps(const struct kvp_sb_rings *r, u32 ring, u64 newest)
{
	u64 s = newest < KVP_SB_RING ? 1 : newest - KVP_SB_RING + 1;
	u32 old = newest_old(r, ring, newest), gaps = 0;
	bool older = false;	/* a slot before this one has an older superblock */

	for (; s <= newest; s++) {
		u32 slot = s % KVP_SB_RING;
		u8 state = r->state[ring][slot];

		if (older && !has(r, ring, s) &&
		    (state == KVP_SLOT_NONE || state == KVP_SLOT_VALID))
			gaps |= 1u << slot;
		older |= has(r, ring, s) || slot == old;
	}
	return gaps;
}

/* True if the superblock in slot @a of @ring is newer than the one in slot @b: kvp_sb_newer(). */
static bool is_newer(const struct kvp_sb_rings *r, u32 ring, u32 a, u32 b)
{
	if (r->epoch[ring][a] != r->epoch[ring][b])
		return r->epoch[ring][a] > r->epoch[ring][b];
	return r->sequence[ring][a] > r->sequence[ring][b];
}

/* The slot of the newest superblock of @ring, slot @but left out; KVP_SB_RING: there is none. */
static u32 newest_but(const struct kvp_sb_rings *r, u32 ring, u32 but)
{
	u32 slot, newest = KVP_SB_RING;

	for (slot = 0; slot < KVP_SB_RING; slot++)
		if (slot != but && r->state[ring][slot] == KVP_SLOT_VALID &&
		    (newest == KVP_SB_RING || is_newer(r, ring, slot, newest)))
			newest = slot;
	return newest;
}

u8 kvp_sb_rings_missed(const struct kvp_sb_rings *r, u32 ring, const struct kvp_sb *newest)
{
	u32 slot = newest_but(r, ring, KVP_SB_RING);
	u64 s;

	if (slot == KVP_SB_RING)
		return 255;
	s = r->sequence[ring][slot];
	if (s >= newest->sequence)
		return r->epoch[ring][slot] < newest->epoch ? 255 : 0;
	return newest->sequence - s < 255 ? (u8)(newest->sequence - s) : 255;
}

u32 kvp_sb_rings_last_two(const struct kvp_sb_rings *r, u32 ring)
{
	u32 newest = newest_but(r, ring, KVP_SB_RING), slots = 0, second;

	if (newest == KVP_SB_RING)
		return 0;
	slots |= 1u << newest;
	second = newest_but(r, ring, newest);
	if (second < KVP_SB_RING)
		slots |= 1u << second;
	return slots;
}

u32 kvp_sb_gaps_between(u64 had, u64 sequence)
{
	u32 first = (u32)(had % KVP_SB_RING), slot = (u32)(sequence % KVP_SB_RING), gaps = 0;
	u32 before = (first + KVP_SB_RING - 1) % KVP_SB_RING;

	for (;;) {
		slot = (slot + KVP_SB_RING - 1) % KVP_SB_RING;
		if (slot == first || slot == before)
			return gaps;
		gaps |= 1u << slot;
	}
}

bool kvp_sb_beside_torn(u32 torn, u64 sequence)
{
	return torn & (1u << (sequence + 1) % KVP_SB_RING | 1u << (sequence - 1) % KVP_SB_RING);
}

u64 kvp_sb_lag(const struct kvp_sb *best, const struct kvp_sb *sb, u64 held)
{
	if (held > best->sequence)
		held = best->sequence;
	if (sb->sequence > best->sequence)
		return 1;
	return best->behind_known && best->sequence - held > 1 + (u64)best->behind ?
	       best->sequence - held : 0;
}
