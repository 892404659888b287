// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a leg's superblock rings, and the conclusions from them. Input: the newest sequence,
 * the state and sequence of each slot, then the numbers of two superblocks.
 */
#include <stdlib.h>
#include <string.h>

#include "format/sbring.h"
#include "fuzz.h"

static void read_rings(struct input *in, struct kvp_sb_rings *r, u64 newest)
{
	u32 ring, slot;

	for (ring = 0; ring < KVP_RINGS; ring++)
		for (slot = 0; slot < KVP_SB_RING; slot++) {
			u32 how = (u32)take(in, 1);
			u64 s = newest - newest % KVP_SB_RING + slot;

			r->state[ring][slot] = how % 4;
			/* a possible sequence, or any */
			r->sequence[ring][slot] = how & 8 ? take(in, 8) : s > newest ?
				s - KVP_SB_RING : s;
		}
}

/* Has a ring the newest one in its slot? Then the ring shows what else it holds. */
static bool answers(const struct kvp_sb_rings *r, u32 ring, u64 newest)
{
	return r->state[ring][newest % KVP_SB_RING] == KVP_SLOT_VALID &&
	       r->sequence[ring][newest % KVP_SB_RING] == newest;
}

/* Bit per slot: has one of the last round, or cannot be read, or not any more. */
static u32 shown(const struct kvp_sb_rings *r, u32 ring, u64 newest)
{
	u32 slot, shown = 0;

	for (slot = 0; slot < KVP_SB_RING; slot++) {
		u64 s = r->sequence[ring][slot];

		if (r->state[ring][slot] == KVP_SLOT_UNREADABLE ||
		    r->state[ring][slot] == KVP_SLOT_BAD ||
		    (r->state[ring][slot] == KVP_SLOT_VALID && s % KVP_SB_RING == slot &&
		     s <= newest && newest - s < KVP_SB_RING))
			shown |= 1u << slot;
	}
	return shown;
}

/* May a slot hold a newer one? */
static bool in_doubt(const struct kvp_sb_rings *r)
{
	u32 ring, slot;

	for (ring = 0; ring < KVP_RINGS; ring++)
		for (slot = 0; slot < KVP_SB_RING; slot++)
			if (r->state[ring][slot] == KVP_SLOT_UNREADABLE ||
			    r->state[ring][slot] == KVP_SLOT_BAD)
				return true;
	return false;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	static struct kvp_sb best, sb;
	struct kvp_sb_rings r = { 0 };
	u64 newest = take(&in, 8) % KVP_SB_COUNT_END, may, lag, lag_of_newer;

	read_rings(&in, &r, newest);
	may = kvp_sb_rings_may_hold(&r, newest);
	reached(may > newest);
	sure(may >= newest && may < newest + KVP_SB_RING, "%llu may be there, and %llu is",
	     (unsigned long long)may,
	     (unsigned long long)newest);
	sure(kvp_sb_rings_unreadable(&r) <= KVP_RINGS * KVP_SB_RING, "slots that cannot be read");
	sure(!kvp_sb_rings_unread(&r, newest + 1) || kvp_sb_rings_unreadable(&r),
	     "the next one cannot be read, and all slots can");
	if (may > newest && newest && (answers(&r, KVP_RING_FRONT, newest) ||
				       answers(&r, KVP_RING_BACK, newest)))
		sure(in_doubt(&r), "all can be read, and yet there may be more");
	for (u32 ring = 0; ring < KVP_RING_OLD_BACK; ring++)
		sure(!(kvp_sb_rings_gaps(&r, ring, newest) & shown(&r, ring, newest)),
		     "a slot has a superblock, or cannot be read, and counts as left out");
	best.epoch = take(&in, 8) % KVP_SB_COUNT_END;
	best.sequence = take(&in, 8) % KVP_SB_COUNT_END;
	best.behind_known = take(&in, 1) & 1;
	best.behind = (u32)take(&in, 4);
	sb.epoch = take(&in, 8) % KVP_SB_COUNT_END;
	sb.sequence = newest;
	lag = kvp_sb_lag(&best, &sb, newest);
	lag_of_newer = kvp_sb_lag(&best, &sb, may);
	sure(lag_of_newer <= lag, "a leg that may have more is further behind");
	sure(lag <= best.sequence || lag == 1, "behind by more than there were");
	return 0;
}

void fuzz_seeds(void)
{
	u8 text[100] = { 21 };
	u32 slot;

	for (slot = 0; slot < KVP_SB_RING; slot++)
		text[8 + slot] = text[8 + KVP_SB_RING + slot] = KVP_SLOT_VALID;
	text[65] = 30;
	seed(text, sizeof(text));
	text[8 + 6] = text[8 + KVP_SB_RING + 6] = KVP_SLOT_UNREADABLE;
	text[8 + 7] = text[8 + KVP_SB_RING + 7] = KVP_SLOT_BAD;
	seed(text, sizeof(text));
}
