// SPDX-License-Identifier: GPL-2.0-only
/* The pointer to a page: made of its contents, and compared with them. */
#include "core/core.h"
#include "format/format.h"
#include "table/table.h"
#include "table/tpage.h"

static bool any_poisoned(const __le64 *words)
{
	u32 i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		if (kvp_entry_state(le64_to_cpu(words[i])) == KVP_ENTRY_POISONED)
			return true;
	return false;
}

/*
 * A checkpoint calls this for every leaf that it writes. For speed it decodes no entry: the states
 * are looked at one by one only if one of them may be poisoned, as it has the upper bit. Shifted
 * by the bits of the state, the largest entry is one of the newest.
 */
static u32 newest_in_leaf(const __le64 *words, bool *poison)
{
	const u32 state_bits = 64 - KVP_ENTRY_STATE_SHIFT;
	u64 newest = 0, all = 0;
	u32 i;

	static_assert(KVP_ENTRY_POISONED == 2);
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		u64 word = le64_to_cpu(words[i]);

		newest = max(newest, word << state_bits);
		all |= word;
	}
	if (kvp_entry_state(all) & KVP_ENTRY_POISONED)
		*poison |= any_poisoned(words);
	return kvp_entry_era(newest >> state_bits);
}

static u32 newest_below(const __le64 *words, bool *poison)
{
	u32 era = 0, i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		u64 word = le64_to_cpu(words[i]);

		/*
		 * No checkpoint ever has KVP_ERA_MAX, the era of a page that was given up. The
		 * pointer to this page must not look like one to such a page.
		 */
		era = max(era, kvp_ptr_lost(word) ? KVP_ERA_MAX - 1 : kvp_ptr_era(word));
		*poison |= kvp_ptr_poison(word);
	}
	return era;
}

/* True if nothing is written below: the page has only null pointers, or unwritten entries. */
static bool nothing_below(const __le64 *words, u32 level)
{
	u32 i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		u64 word = le64_to_cpu(words[i]);

		if (level ? !kvp_ptr_null(word) : kvp_entry_state(word) != KVP_ENTRY_UNWRITTEN)
			return false;
	}
	return true;
}

bool kvp_tpage_fits_pointer(const struct kvp_tpage *tp)
{
	const __le64 *w = tpage_words(tp);
	bool poison = false;
	u32 era = tp->level ? newest_below(w, &poison) : newest_in_leaf(w, &poison);

	return era == kvp_ptr_era(tp->durable) && poison == kvp_ptr_poison(tp->durable);
}

u64 kvp_table_pointer(const struct kvp_vdev *v, u32 level, u64 index, const __le64 *w,
		      unsigned int slot)
{
	bool poison = false;
	u32 era = level ? newest_below(w, &poison) : newest_in_leaf(w, &poison);

	/* The pointer is null, but has the era of the discard. */
	if (nothing_below(w, level))
		return kvp_ptr(0, era, 0, false);
	return kvp_ptr(kvp_page_sum(v->seed, level, index, w), era, slot, poison);
}
