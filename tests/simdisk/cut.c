// SPDX-License-Identifier: GPL-2.0-only
/*
 * The power cut: what becomes of changes that were not durable.
 *
 * Every decision is a hash of the seed, the op number and, for torn writes,
 * the sector. The same ops with the same seed leave the same bytes, however
 * many devices there are and whatever the timing of the rest.
 */
#include "simdisk.h"

static enum sim_cut_mode sim_cut_fate(const struct sim_entry *e)
{
	static const enum sim_cut_mode fate[3] = {
		SIM_CUT_KEEP, SIM_CUT_DROP, SIM_CUT_TORN
	};

	if (sim.cut_mode != SIM_CUT_RANDOM)
		return sim.cut_mode;
	return fate[sim_hash(sim.seed, e->seq, U64_MAX) % 3];
}

/* Which sectors of @block reach the medium when the entry is torn. */
static unsigned int sim_torn_mask(const struct sim_dev *dev,
				  const struct sim_entry *e, u64 block)
{
	unsigned int unit = dev->tear_bytes >> SECTOR_SHIFT;
	unsigned int mask = sim_entry_mask(e, block);
	unsigned int i;

	for (i = 0; i < SIM_BLOCK_SECTORS; i++) {
		u64 sector = block * SIM_BLOCK_SECTORS + i;

		if (!(sim_hash(sim.seed, e->seq, sector / unit) & 1))
			mask &= ~(1u << i);
	}
	return mask;
}

/* A sector that was really rewritten has lost its latent error for good. */
static int sim_cut_cure(struct sim_dev *dev, u64 block, unsigned int mask)
{
	unsigned int i;
	int r = 0;

	if (list_empty(&dev->faults))
		return 0;
	for (i = 0; i < SIM_BLOCK_SECTORS; i++)
		if (mask & (1u << i))
			r = sim_fault_cure(dev, block * SIM_BLOCK_SECTORS + i,
					   1, NULL) ?: r;
	return r;
}

static int sim_cut_store_block(struct sim_dev *dev, const struct sim_entry *e,
			       u64 block, struct page *src, bool torn)
{
	unsigned int mask = torn ? sim_torn_mask(dev, e, block) :
				   sim_entry_mask(e, block);
	int r = 0;

	if (!mask)
		return 0;
	if (!e->no_cure)
		r = sim_cut_cure(dev, block, mask);
	return sim_stable_merge(dev, block, src, mask) ?: r;
}

/*
 * A zeroed range is walked by the blocks that exist. Latent errors on blocks
 * that do not exist are cured by the range when it is kept whole.
 */
static int sim_cut_store(struct sim_dev *dev, const struct sim_entry *e,
			 bool torn)
{
	u64 first = sim_block(e->sector);
	u64 last = sim_block(e->sector + e->nr - 1);
	unsigned long block;
	struct page *page;
	unsigned int i;
	int r = 0;

	for (i = 0; i < e->nr_pages; i++)
		r = sim_cut_store_block(dev, e, first + i, e->pages[i],
					torn) ?: r;
	if (e->nr_pages)
		return r;
	xa_for_each_range(&dev->stable, block, page, first, last)
		r = sim_cut_store_block(dev, e, block, NULL, torn) ?: r;
	if (!torn)
		r = sim_fault_cure(dev, e->sector, e->nr, NULL) ?: r;
	return r;
}

static int sim_cut_entry(struct sim_dev *dev, const struct sim_entry *e,
			 struct sim_cut_count *count)
{
	if (sim_entry_durable(dev, e)) {
		count->durable++;
		return sim_cut_store(dev, e, false);
	}
	switch (sim_cut_fate(e)) {
	case SIM_CUT_DROP:
		count->dropped++;
		return 0;
	case SIM_CUT_TORN:
		count->torn++;
		return sim_cut_store(dev, e, true);
	default:
		count->kept++;
		return sim_cut_store(dev, e, false);
	}
}

/**
 * sim_cut_dev() - decide what of the journal survives, and forget the rest
 * @dev: device
 * @count: outcome, added up
 *
 * I/O in flight belongs to the old epoch from here on and ends with an error.
 * Entries are replayed in order, so that of two surviving writes to a sector
 * the later wins. Latent errors all return first: only stored sectors cure.
 *
 * Context: sim.sem held for writing.
 */
void sim_cut_dev(struct sim_dev *dev, struct sim_cut_count *count)
{
	struct sim_entry *e, *next;
	int r = 0;

	spin_lock_bh(&sim.lock);
	dev->epoch++;
	spin_unlock_bh(&sim.lock);

	list_for_each_entry(e, &dev->journal, list)
		list_splice_tail_init(&e->cured, &dev->faults);
	list_for_each_entry_safe(e, next, &dev->journal, list) {
		r = sim_cut_entry(dev, e, count) ?: r;
		sim_entry_unlink(dev, e);
		sim_entry_free(e);
	}
	sim_overlay_drop(dev);
	if (r)
		pr_err("simdisk: %s: out of memory in a power cut: contents are not what the seed says\n",
		       config_item_name(&dev->item));
}

/* Power goes on every device at once. The caller releases held I/O later. */
void sim_cut_all(void)
{
	struct sim_cut_count count = {};
	struct sim_dev *dev;

	if (sim.off)
		return;
	list_for_each_entry(dev, &sim.devs, list)
		sim_cut_dev(dev, &count);
	sim.last_cut = count;
	sim.last_cut_op = sim.op;
	sim.cut_at = 0;
	spin_lock_bh(&sim.lock);
	sim.off = true;
	sim_trace(NULL, SIM_CUT, sim.op, 0, 0, 0);
	spin_unlock_bh(&sim.lock);
}
