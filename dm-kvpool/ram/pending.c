// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "ram/pending.h"

void kvp_pending_init(struct kvp_pending *p, spinlock_t *lock)
{
	seqcount_spinlock_init(&p->seq, lock);
	p->nr = 0;
}

/* The number of ranges, of the first @nr, that begin at @block or before. */
static u32 begun(const struct kvp_pending *p, u32 nr, kvp_block_t block)
{
	u32 low = 0;

	while (low < nr) {
		u32 mid = low + (nr - low) / 2;

		if (!kvp_block_before(block, READ_ONCE(p->at[mid].first)))
			low = mid + 1;
		else
			nr = mid;
	}
	return low;
}

static void set_reach(struct kvp_pending *p, u32 from)
{
	kvp_block_t reach = from ? p->at[from - 1].reach : kvp_block(0);
	u32 i;

	for (i = from; i < p->nr; i++) {
		reach = kvp_block_last(reach, p->at[i].last);
		p->at[i].reach = reach;
	}
}

static void insert(struct kvp_pending *p, kvp_block_t first, kvp_block_t last)
{
	u32 i = begun(p, p->nr, first);

	if (WARN_ON_ONCE(p->nr == KVP_PENDING_MAX))
		return;
	memmove(&p->at[i + 1], &p->at[i], (p->nr - i) * sizeof(p->at[0]));
	p->at[i].first = first;
	p->at[i].last = last;
	p->nr++;
	set_reach(p, i);
}

static void cut_out(struct kvp_pending *p, kvp_block_t first, kvp_block_t last)
{
	u32 i = begun(p, p->nr, first);

	while (i && p->at[i - 1].first == first && p->at[i - 1].last != last)
		i--;
	if (WARN_ON_ONCE(!i || p->at[i - 1].first != first))
		return;
	memmove(&p->at[i - 1], &p->at[i], (p->nr - i) * sizeof(p->at[0]));
	p->nr--;
	set_reach(p, i - 1);
}

void __kvp_pending_add(struct kvp_pending *p, kvp_block_t first, kvp_block_t last)
{
	write_seqcount_begin(&p->seq);
	insert(p, first, last);
	write_seqcount_end(&p->seq);
}

void __kvp_pending_del(struct kvp_pending *p, kvp_block_t first, kvp_block_t last)
{
	write_seqcount_begin(&p->seq);
	cut_out(p, first, last);
	write_seqcount_end(&p->seq);
}

void __kvp_pending_grow(struct kvp_pending *p, kvp_block_t first, kvp_block_t last,
			kvp_block_t to_first, kvp_block_t to_last)
{
	write_seqcount_begin(&p->seq);
	cut_out(p, first, last);
	insert(p, to_first, to_last);
	write_seqcount_end(&p->seq);
}

bool kvp_pending_any(const struct kvp_pending *p, kvp_block_t first, kvp_block_t last)
{
	unsigned int seq;
	bool found;
	u32 n;

	do {
		seq = read_seqcount_begin(&p->seq);
		n = begun(p, min(READ_ONCE(p->nr), KVP_PENDING_MAX), last);
		found = n && !kvp_block_before(READ_ONCE(p->at[n - 1].reach), first);
	} while (read_seqcount_retry(&p->seq, seq));
	return found;
}
