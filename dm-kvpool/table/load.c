// SPDX-License-Identifier: GPL-2.0-only
/* A page, and all pages above it, into memory. */
#include "core/core.h"
#include "format/format.h"
#include "table/table.h"
#include "table/tpage.h"

/*
 * Fill in the page from the pointer alone, if that is possible: nothing is written below it, and
 * its pointer may have the era of the discard; or the page was given up. Returns false if the page
 * must be read.
 */
static bool made_of_pointer(struct kvp_table *t, struct kvp_tpage *tp)
{
	u32 era = kvp_ptr_era(tp->durable), i;
	u64 word = tp->level ? kvp_ptr(0, era, 0, false) : kvp_entry(0, era, KVP_ENTRY_UNWRITTEN);

	if (kvp_ptr_lost(tp->durable)) {
		if (tp->level)
			kvp_tpage_fill_lost(tp);
		else
			kvp_leaf_poison(t, tp, true);
		return true;
	}
	if (!kvp_ptr_null(tp->durable))
		return false;
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		tpage_words(tp)[i] = cpu_to_le64(word);
	return true;
}

/*
 * Give null pointers of @tp the slots that do not count by @old, the page's contents on disk. @old
 * may be NULL.
 */
static void take_slots(struct kvp_table *t, struct kvp_tpage *tp, const __le64 *old)
{
	u32 i;

	mutex_lock(&t->lock);
	for (i = 0; old && i < KVP_PTRS_PER_PAGE; i++) {
		u64 was = le64_to_cpu(old[i]), now = le64_to_cpu(tpage_words(tp)[i]);

		now = kvp_ptr(0, kvp_ptr_era(now), kvp_ptr_slot(was) ^ !kvp_ptr_null(was), false);
		WRITE_ONCE(tpage_words(tp)[i], cpu_to_le64(now));
	}
	/* after the slots; pairs with learn_slots() */
	clear_bit_unlock(KVP_TPAGE_UNREAD, &tp->flags);
	mutex_unlock(&t->lock);
}

/*
 * Page @tp was discarded unread, and something below it is needed now. While the durable tree names
 * the old contents, read them: they say which slots new pages below must not use. If no leg has the
 * old contents, they lead to nothing, also after a power cut, and either slot will do.
 *
 * Nothing below @tp is in memory before this has ended, so no checkpoint changes its pointers
 * meanwhile. If a checkpoint ends meanwhile, it has written a null pointer to @tp; then the slots
 * do not matter.
 */
static int learn_slots(struct kvp_table *t, struct kvp_tpage *tp, enum kvp_if_lost if_lost)
{
	struct mutex *lock = tpage_load_lock(t, tp->level, tp->index);
	struct kvp_tpage *old = NULL;
	int ret = 0;
	u64 ptr;

	if (!test_bit(KVP_TPAGE_UNREAD, &tp->flags)) {
		smp_rmb();	/* the bit, then the slots; pairs with take_slots() */
		return 0;
	}
	mutex_lock_nested(lock, tp->level);
	mutex_lock(&t->lock);
	ptr = test_bit(KVP_TPAGE_UNREAD, &tp->flags) ? tp->durable : 0;
	mutex_unlock(&t->lock);
	if (!kvp_ptr_null(ptr)) {
		old = kvp_tpage_new(t, tp->v, tp->level, tp->index, NULL);
		ret = -ENOMEM;
	}
	if (old) {
		old->durable = ptr;
		ret = if_lost ? kvp_tpage_read_patiently(t, old, false) :
				kvp_tpage_read(t, old, false);
	}
	if (!ret || ret == -EBADMSG)
		take_slots(t, tp, old && !ret ? tpage_words(old) : NULL);
	if (old)
		kvp_tpage_release(t, old);
	mutex_unlock(lock);
	return ret == -EBADMSG ? 0 : ret;
}

/*
 * Make a page that is not in memory. Caller holds its load lock. Takes over the parent's reference.
 */
static struct kvp_tpage *fetch(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
			       struct kvp_tpage *parent, enum kvp_if_lost if_lost)
{
	int ret = parent ? learn_slots(t, parent, if_lost) : 0;
	struct kvp_tpage *tp;
	bool read;

	if (ret)
		return ERR_PTR(ret);
	tp = kvp_tpage_new(t, v, level, index, parent);
	if (!tp)
		return ERR_PTR(-ENOMEM);
	tp->durable = tpage_pointer(t, v, parent, index);
	read = !made_of_pointer(t, tp);
	if (read)
		ret = kvp_tpage_read_or_poison(t, tp, if_lost);
	if (ret) {
		kvp_tpage_release(t, tp);
		return ERR_PTR(ret);
	}
	kvp_tpage_enter(t, tp);
	if (read && !level)
		kvp_table_read_ahead(t, tp);
	return tp;
}

/* The recursion is at most three deep. */
struct kvp_tpage *__kvp_tpage_load(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
				   enum kvp_if_lost if_lost)
{
	struct mutex *lock = tpage_load_lock(t, level, index);
	struct kvp_tpage *tp = kvp_tpage_lookup(t, v, level, index), *parent = NULL;

	if (tp)
		return tp;
	mutex_lock_nested(lock, level);
	tp = kvp_tpage_lookup(t, v, level, index);
	if (tp)
		goto out;
	if (level + 1 < v->g->levels) {
		parent = __kvp_tpage_load(t, v, level + 1, index >> KVP_PTRS_SHIFT, if_lost);
		if (IS_ERR(parent)) {
			tp = parent;
			goto out;
		}
	}
	tp = fetch(t, v, level, index, parent, if_lost);
	if (IS_ERR(tp) && parent)
		kvp_table_put(parent);
out:
	mutex_unlock(lock);
	return tp;
}

struct kvp_tpage *kvp_tpage_load(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index)
{
	return __kvp_tpage_load(t, v, level, index, KVP_LOST_STAYS);
}

struct kvp_tpage *kvp_table_load(struct kvp_table *t, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);

	return kvp_tpage_load(t, at.v, 0, tpage_index(at.v, 0, at.block));
}

struct kvp_tpage *kvp_table_load_home(struct kvp_table *t, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);

	return __kvp_tpage_load(t, at.v, 0, tpage_index(at.v, 0, at.block), KVP_LOST_GOES);
}
