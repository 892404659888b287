// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device with a model of its service time: model.c computes, and here is the
 * queue. A disk has SIM_DISK_TAGS commands and serves one at a time; what comes
 * beyond waits in order. An SSD needs no queue, its model knows all finish times.
 */
#include <linux/module.h>

#include "simdisk.h"

const char * const sim_model_names[SIM_NR_MODELS] = {
	[SIM_MODEL_NONE] = "none",
	[SIM_MODEL_DISK] = "disk",
	[SIM_MODEL_FLASH] = "flash",
};

void sim_timing_init(struct sim_dev *dev)
{
	struct sim_timing *t = &dev->timing;

	INIT_LIST_HEAD(&t->waiting);
	t->nr_tags = 0;
	t->serving = NULL;
	if (dev->model == SIM_MODEL_DISK)
		sim_disk_init(&t->disk, dev->size_mib << (20 - SECTOR_SHIFT));
	else if (dev->model == SIM_MODEL_FLASH)
		sim_flash_init(&t->flash);
}

static void sim_timing_at(struct sim_io *io, u64 ns)
{
	hrtimer_start(&io->timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
}

/*
 * Let the arm begin, unless it is busy. Its time is the model's: an interrupt
 * that is late costs it nothing.
 */
static void __sim_timing_next(struct sim_timing *t)
{
	struct sim_disk_cmd *cmd[SIM_DISK_TAGS];
	struct sim_io *io;
	u32 i, best;

	lockdep_assert_held(&sim.lock);
	if (t->serving)
		return;
	while (t->nr_tags < SIM_DISK_TAGS && !list_empty(&t->waiting)) {
		io = list_first_entry(&t->waiting, struct sim_io, hold);
		list_del(&io->hold);
		t->tag[t->nr_tags++] = io;
	}
	if (!t->nr_tags)
		return;
	for (i = 0; i < t->nr_tags; i++)
		cmd[i] = &t->tag[i]->cmd;
	best = sim_disk_pick(&t->disk, cmd, t->nr_tags);
	io = t->tag[best];
	t->tag[best] = t->tag[--t->nr_tags];
	t->serving = io;
	sim_timing_at(io, sim_disk_serve(&t->disk, &io->cmd));
}

/* Data goes through the model. A flush, and what has no data, takes a command's time. */
bool sim_timing_start(struct sim_io *io)
{
	struct sim_timing *t = &io->dev->timing;
	u64 now = ktime_get_ns();
	bool write = io->step == SIM_WRITE;

	if (io->dev->model == SIM_MODEL_NONE)
		return false;
	spin_lock_bh(&sim.lock);
	if (!write && io->step != SIM_READ) {
		sim_timing_at(io, now + SIM_DISK_OVERHEAD_NS);
	} else if (io->dev->model == SIM_MODEL_FLASH) {
		sim_timing_at(io, sim_flash_serve(&t->flash, now, io->bio->bi_iter.bi_size, write));
	} else {
		io->cmd = (struct sim_disk_cmd) {
			.sector = io->bio->bi_iter.bi_sector,
			.nr = bio_sectors(io->bio),
			.arrived = now,
			.write = write,
		};
		list_add_tail(&io->hold, &t->waiting);
		__sim_timing_next(t);
	}
	spin_unlock_bh(&sim.lock);
	return true;
}

void sim_timing_done(struct sim_io *io)
{
	struct sim_timing *t = &io->dev->timing;

	spin_lock_bh(&sim.lock);
	if (t->serving == io) {
		t->serving = NULL;
		__sim_timing_next(t);
	}
	spin_unlock_bh(&sim.lock);
}
