// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patience with a page of the table that no leg gives, and that a leg may have (R27).
 *
 * Accepted blocks must go home below it. A leg may fail for a moment only: a path fails over, or a
 * drive is reset. So the page is asked for again, with pauses. Locks are held meanwhile, and the
 * log waits. So after some seconds the page is asked for once at a time, with a rest after each
 * time, until a while has passed. What has to go home below it waits meanwhile (work/destage.c).
 * That holds for each page apart: one that is gone for good takes no patience from another.
 */
#include <linux/delay.h>

#include "core/core.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "table/tpage.h"

/* a silent page is asked for again for PATIENCE; after that it is not, for NO_PATIENCE */
#define PATIENCE	(3 * HZ)
#define NO_PATIENCE	(60 * HZ)
#define PAUSE_MS	200
/* then it is not even asked for once */
#define REST		(KVP_TABLE_REST_MS * HZ / 1000)

static bool is_page(const struct kvp_table_silent *s, const struct kvp_tpage *tp)
{
	return s->until && s->vdev == tp->v->index && s->level == tp->level &&
	       s->index == tp->index;
}

/* What is noted of the page; else a free note, or the oldest one. Caller holds @t->lock. */
static struct kvp_table_silent *__note_of(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_silent *s, *oldest = t->silent;

	for (s = t->silent; s < t->silent + KVP_TABLE_SILENT; s++) {
		if (is_page(s, tp))
			return s;
		if (oldest->until && (!s->until || time_before(s->until, oldest->until)))
			oldest = s;
	}
	return oldest;
}

/* The page is silent. Returns true if it may be asked for again, after a pause. */
static bool may_ask_again(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_silent *s;
	bool again;

	mutex_lock(&t->lock);
	s = __note_of(t, tp);
	if (!is_page(s, tp) || time_after(jiffies, s->until + NO_PATIENCE))
		*s = (struct kvp_table_silent){
			.vdev = tp->v->index,
			.level = tp->level,
			.index = tp->index,
			.until = (jiffies + PATIENCE) | 1,
			.told = is_page(s, tp) && s->told,
		};
	again = time_before(jiffies, s->until);
	mutex_unlock(&t->lock);
	if (again)
		msleep(PAUSE_MS);
	return again;
}

void kvp_tpage_not_silent(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_silent *s;

	mutex_lock(&t->lock);
	s = __note_of(t, tp);
	if (is_page(s, tp))
		s->until = 0;
	mutex_unlock(&t->lock);
}

/* True if the page was asked for in vain, and rests. Caller holds @t->lock. */
static bool __rests(const struct kvp_table_silent *s)
{
	return s->until && s->place && !time_before(jiffies, s->until) &&
	       time_before(jiffies, s->asked + REST);
}

static bool rests(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_silent *s;
	bool ret;

	mutex_lock(&t->lock);
	s = __note_of(t, tp);
	ret = is_page(s, tp) && __rests(s);
	mutex_unlock(&t->lock);
	return ret;
}

/* True if @block lies below one of the @nr pages. */
static bool is_below(const struct kvp_table *t, const struct kvp_table_silent *pages, u32 nr,
		     kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);
	u32 i;

	for (i = 0; i < nr; i++)
		if (pages[i].vdev == at.v->index &&
		    pages[i].index == tpage_index(at.v, pages[i].level, at.block))
			return true;
	return false;
}

bool kvp_table_keep_silent(struct kvp_table *t, struct list_head *versions, struct list_head *kept)
{
	struct kvp_table_silent pages[KVP_TABLE_SILENT];
	struct kvp_version *d, *next;
	u32 nr = 0, i;
	bool any = false;

	/* One look for all: another task may end the rest of a page meanwhile. */
	mutex_lock(&t->lock);
	for (i = 0; i < KVP_TABLE_SILENT; i++)
		if (__rests(&t->silent[i]))
			pages[nr++] = t->silent[i];
	mutex_unlock(&t->lock);
	if (!nr || !versions)
		return nr;
	list_for_each_entry_safe(d, next, versions, list) {
		if (!is_below(t, pages, nr, d->block))
			continue;
		list_move_tail(&d->list, kept);
		any = true;
	}
	return any;
}

/*
 * The page was asked for in vain. If a leg answers nowhere, the page does not rest: the pool fails
 * as it does without any leg. Otherwise the client is told, once until a leg gives the page.
 */
static void begin_rest(struct kvp_table *t, struct kvp_tpage *tp)
{
	struct kvp_table_part part = kvp_tpage_part(t, tp);
	bool place = kvp_tpage_is_gone(t, tp), tell = false;
	struct kvp_table_silent *s;

	mutex_lock(&t->lock);
	s = __note_of(t, tp);
	if (is_page(s, tp)) {
		tell = place && !s->told;
		s->told |= tell;
		s->place = place;
		s->asked = jiffies;
	}
	mutex_unlock(&t->lock);
	if (tell)
		t->client.silent(t->client.of, &part);
}

int kvp_tpage_read_patiently(struct kvp_table *t, struct kvp_tpage *tp, bool keep)
{
	bool asked;
	int ret;

	if (rests(t, tp))
		return -EIO;
	ret = kvp_tpage_read(t, tp, keep);
	asked = ret == -EIO;
	while (ret == -EIO && may_ask_again(t, tp))
		ret = kvp_tpage_read(t, tp, keep);
	if (ret == -EIO)
		begin_rest(t, tp);
	if (asked && ret != -EIO && ret != -ENOMEM)
		kvp_tpage_not_silent(t, tp);
	return ret;
}
