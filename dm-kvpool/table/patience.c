// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patience with a page of the table that no leg gives, and that a leg may have (R27).
 *
 * Accepted blocks must go home below it. A leg may fail for a moment only: a path fails over, or a
 * drive is reset. So the page is asked for again, with pauses. Locks are held meanwhile, and the
 * log waits. So after some seconds the page is asked for once at a time, until a while has passed.
 * That holds for each page apart: one that is gone for good takes no patience from another.
 */
#include <linux/delay.h>

#include "core/core.h"
#include "table/table.h"
#include "table/tpage.h"

/* a silent page is asked for again for PATIENCE; after that it is not, for NO_PATIENCE */
#define PATIENCE	(3 * HZ)
#define NO_PATIENCE	(60 * HZ)
#define PAUSE_MS	200

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
		*s = (struct kvp_table_silent){ tp->v->index, tp->level, tp->index,
						(jiffies + PATIENCE) | 1 };
	again = time_before(jiffies, s->until);
	mutex_unlock(&t->lock);
	if (again)
		msleep(PAUSE_MS);
	return again;
}

/* The page was read, or no leg in use has it. */
static void forget(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_silent *s;

	mutex_lock(&t->lock);
	s = __note_of(t, tp);
	if (is_page(s, tp))
		s->until = 0;
	mutex_unlock(&t->lock);
}

int kvp_tpage_read_patiently(struct kvp_table *t, struct kvp_tpage *tp, bool keep)
{
	int ret = kvp_tpage_read(t, tp, keep);
	bool asked = ret == -EIO;

	while (ret == -EIO && may_ask_again(t, tp))
		ret = kvp_tpage_read(t, tp, keep);
	if (asked && ret != -EIO && ret != -ENOMEM)
		forget(t, tp);
	return ret;
}
