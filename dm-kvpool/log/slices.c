// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slices of direct writes. Intents whose entry is durable go home in slices (work/direct.c). This
 * file keeps count of the slices that workers have, and of whether all are home.
 */
#include "core/core.h"
#include "log/log.h"

void kvp_direct_collect(struct kvp_direct *b)
{
	u32 i;

	for (i = 0; i < KVP_DIRECT_SLICES; i++)
		list_splice_tail_init(&b->slices[i], &b->versions);
	b->nr_slices = 0;
	b->taken = 0;
	b->failed = false;
}

/*
 * The oldest intents that need work: they must be cut into slices, or have a slice that no worker
 * has taken.
 */
static struct kvp_direct *__oldest(struct kvp_log *log)
{
	struct kvp_direct *b;

	list_for_each_entry(b, &log->open, list)
		if (b->phase == KVP_DIRECT_READY ||
		    (b->phase == KVP_DIRECT_HOMING && b->taken < b->nr_slices))
			return b;
	return NULL;
}

struct kvp_direct *kvp_direct_next(struct kvp_log *log, struct list_head **slice)
{
	struct kvp_direct *b;

	*slice = NULL;
	spin_lock_irq(&log->lock);
	b = __oldest(log);
	if (b && b->phase == KVP_DIRECT_READY) {
		b->phase = KVP_DIRECT_HOMING;
	} else if (b) {
		*slice = &b->slices[b->taken++];
		b->in_hand++;
	}
	spin_unlock_irq(&log->lock);
	return b;
}

void kvp_direct_cut(struct kvp_log *log, struct kvp_direct *b, u32 n)
{
	spin_lock_irq(&log->lock);
	b->nr_slices = n;
	spin_unlock_irq(&log->lock);
}

bool kvp_direct_end_slice(struct kvp_log *log, struct kvp_direct *b, bool failed)
{
	bool home = false;

	spin_lock_irq(&log->lock);
	b->failed |= failed;
	if (!--b->in_hand && b->taken == b->nr_slices) {
		bool again = b->failed;

		kvp_direct_collect(b);
		home = !again && list_empty(&b->versions);
		b->phase = again ? KVP_DIRECT_READY : home ? KVP_DIRECT_HOME : KVP_DIRECT_WITHDRAWN;
		b->seq = 0;
		if (b->phase == KVP_DIRECT_WITHDRAWN)
			WRITE_ONCE(log->withdrawn, log->withdrawn + 1);
	}
	spin_unlock_irq(&log->lock);
	return home;
}
