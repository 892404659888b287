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

/* Two instructions a word. The states are looked at one by one only if one of them has its bit. */
static bool any_poison(const __le64 *words)
{
	u64 all = 0;
	u32 i;

	static_assert(KVP_ENTRY_POISONED == 2);
	static_assert(KVP_PTRS_PER_PAGE % 4 == 0);
	for (i = 0; i < KVP_PTRS_PER_PAGE; i += 4)
		all |= le64_to_cpu(words[i] | words[i + 1] | words[i + 2] | words[i + 3]);
	return (kvp_entry_state(all) & KVP_ENTRY_POISONED) && any_poisoned(words);
}

/*
 * A checkpoint calls this for every leaf that it writes. For speed it decodes no entry: shifted by
 * the bits of the state, the largest entry is one of the newest. No entry is newer than @most: most
 * leaves have some that are as new, and the first of them ends the search.
 */
static u32 newest_in_leaf(const __le64 *words, u32 most)
{
	const u32 state_bits = 64 - KVP_ENTRY_STATE_SHIFT;
	u64 newest = 0, enough = kvp_entry(0, most, KVP_ENTRY_UNWRITTEN) << state_bits;
	u32 i;

	for (i = 0; i < KVP_PTRS_PER_PAGE && newest < enough; i++)
		newest = max(newest, le64_to_cpu(words[i]) << state_bits);
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

/* The era of the newest entry of a leaf, or below a page; and whether any of that is poison. */
static u32 newest(const __le64 *words, u32 level, u32 most, bool *poison)
{
	if (level)
		return newest_below(words, poison);
	*poison = any_poison(words);
	return newest_in_leaf(words, most);
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
	u32 era = newest(w, tp->level, KVP_ERA_MAX, &poison);

	return era == kvp_ptr_era(tp->durable) && poison == kvp_ptr_poison(tp->durable);
}

u64 kvp_table_pointer(const struct kvp_vdev *v, u32 level, u64 index, const __le64 *w,
		      unsigned int slot, u32 most)
{
	bool poison = false;
	u32 era = newest(w, level, most, &poison);

	/* The pointer is null, but has the era of the discard. */
	if (nothing_below(w, level))
		return kvp_ptr(0, era, 0, false);
	return kvp_ptr(kvp_page_sum(v->seed, level, index, w), era, slot, poison);
}
