// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O path. A bio takes effect when it is submitted (that is its place in
 * the global order) and completes after the device's delay, or when the model of
 * its service time says so, from a timer in softirq. In between it is in flight: a power cut may
 * keep it or not.
 *
 * A write with PREFLUSH runs as two steps, and the second starts only when the
 * first has completed: no cut can then keep the data and lose what the flush
 * was to make durable.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "simdisk.h"

static bool sim_io_is_write(const struct sim_io *io)
{
	return io->step == SIM_WRITE || io->step == SIM_DISCARD ||
	       io->step == SIM_WRITE_ZEROES;
}

/* The step that moves data. */
static enum sim_kind sim_io_data_step(const struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return SIM_READ;
	case REQ_OP_WRITE:
		return SIM_WRITE;
	case REQ_OP_DISCARD:
		return SIM_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		return SIM_WRITE_ZEROES;
	default:
		return SIM_NR_KINDS;
	}
}

static void __sim_injected(struct sim_io *io)
{
	lockdep_assert_held(&sim.lock);
	io->dev->stats.injected++;
}

static void sim_injected(struct sim_io *io)
{
	spin_lock_bh(&sim.lock);
	__sim_injected(io);
	spin_unlock_bh(&sim.lock);
}

/* Count down fail_after; true once the device is dead. */
static bool __sim_dev_dead(struct sim_dev *dev)
{
	lockdep_assert_held(&sim.lock);
	if (!dev->dead && dev->fail_after >= 0 && dev->fail_after-- == 0)
		dev->dead = true;
	return dev->dead;
}

/* May this step run at all? sim.sem held, so that power cannot go after. */
static blk_status_t sim_io_gate(struct sim_io *io)
{
	struct sim_dev *dev = io->dev;
	blk_status_t status = BLK_STS_OK;

	spin_lock_bh(&sim.lock);
	if (dev->gone || sim.off || io->epoch != dev->epoch) {
		status = BLK_STS_IOERR;
	} else if (__sim_dev_dead(dev)) {
		__sim_injected(io);
		status = BLK_STS_IOERR;
	}
	spin_unlock_bh(&sim.lock);
	return status;
}

static void sim_io_account(struct sim_io *io, unsigned int flags)
{
	struct sim_stats *s = &io->dev->stats;
	struct bio *bio = io->bio;
	sector_t nr = io->step == SIM_FLUSH ? 0 : bio_sectors(bio);
	sector_t sector = nr ? bio->bi_iter.bi_sector : 0;

	if (io->step != SIM_FLUSH && (bio->bi_opf & REQ_FUA))
		flags |= SIM_T_FUA;
	if (bio->bi_opf & REQ_PREFLUSH)
		flags |= SIM_T_PREFLUSH;
	spin_lock_bh(&sim.lock);
	s->ops[io->step]++;
	s->sectors[io->step] += nr;
	s->fua += !!(flags & SIM_T_FUA);
	s->preflush += io->step != SIM_FLUSH && (flags & SIM_T_PREFLUSH);
	if (nr && (io->step == SIM_READ || io->step == SIM_WRITE))
		s->hist[io->step][min(ilog2(nr), SIM_HIST - 1)]++;
	sim_trace(io->dev, io->step, sim.op, sector, nr, flags);
	spin_unlock_bh(&sim.lock);
}

/* SCSI and NVMe disks report MEDIUM, which users see as ENODATA. */
static blk_status_t sim_medium_error(const struct sim_dev *dev)
{
	return dev->medium_status ? BLK_STS_MEDIUM : BLK_STS_IOERR;
}

static blk_status_t sim_read_locked(struct sim_io *io)
{
	struct sim_dev *dev = io->dev;
	struct bio *bio = io->bio;
	sector_t sector = bio->bi_iter.bi_sector;
	sector_t nr = bio_sectors(bio);

	if (sim_fault_find(dev, SIM_FAULT_LATENT, sector, nr) ||
	    sim_fault_find(dev, SIM_FAULT_READ, sector, nr)) {
		sim_injected(io);
		sim_io_account(io, SIM_T_ERROR);
		return sim_medium_error(dev);
	}
	sim_io_account(io, 0);
	sim_store_read(dev, bio);
	return BLK_STS_OK;
}

static void sim_step_read(struct sim_io *io)
{
	down_read(&sim.sem);
	io->status = sim_io_gate(io);
	if (!io->status)
		io->status = sim_read_locked(io);
	up_read(&sim.sem);
}

/*
 * Apply one-shot faults: false if the write is to be stored nowhere. A write
 * misdirected past the end of the disk is lost.
 */
static bool sim_write_redirect(struct sim_io *io, struct sim_entry *e,
			       unsigned int *flags)
{
	struct sim_dev *dev = io->dev;
	sector_t end = (sector_t)dev->size_mib << (20 - SECTOR_SHIFT);
	struct sim_fault *f;
	s64 to;

	f = sim_fault_find(dev, SIM_FAULT_LOST, e->sector, e->nr);
	if (f) {
		sim_fault_remove(f);
		*flags |= SIM_T_LOST;
		return false;
	}
	f = sim_fault_find(dev, SIM_FAULT_MISDIRECT, e->sector, e->nr);
	if (!f)
		return true;
	to = (s64)e->sector + f->distance;
	sim_fault_remove(f);
	*flags |= SIM_T_MISDIRECT;
	if (to < 0 || to + e->nr > end)
		return false;
	e->sector = to;
	return true;
}

/* Put a change in the journal, faults permitting. Consumes @e. */
static blk_status_t sim_write_locked(struct sim_io *io, struct sim_entry *e)
{
	struct sim_dev *dev = io->dev;
	unsigned int flags = 0;
	bool store = true;

	e->seq = ++sim.op;
	e->fua = !dev->cache || (io->bio->bi_opf & REQ_FUA);
	if (sim_fault_find(dev, SIM_FAULT_WRITE, e->sector, e->nr)) {
		sim_injected(io);
		sim_io_account(io, SIM_T_ERROR);
		sim_entry_free(e);
		return sim_medium_error(dev);
	}
	if (io->step == SIM_WRITE)
		store = sim_write_redirect(io, e, &flags);
	if (flags)
		sim_injected(io);
	sim_io_account(io, flags);
	if (!store) {
		sim_entry_free(e);
		return BLK_STS_OK;
	}
	if (sim_journal_add(dev, e))
		return BLK_STS_RESOURCE;
	io->entry = e;
	return BLK_STS_OK;
}

/* The op that just got its number is in flight when the power goes. */
static bool sim_cut_due(void)
{
	if (!sim.cut_at || sim.op < sim.cut_at)
		return false;
	sim_cut_all();
	return true;
}

static bool sim_step_write(struct sim_io *io)
{
	struct bio *bio = io->bio;
	struct sim_entry *e;
	bool cut = false;

	/* Copy before locking: the order of overlapping bios is free. */
	if (io->step == SIM_WRITE)
		e = sim_entry_from_bio(bio);
	else
		e = sim_entry_alloc(bio->bi_iter.bi_sector, bio_sectors(bio),
				    true);
	if (!e) {
		io->status = BLK_STS_RESOURCE;
		return false;
	}
	down_write(&sim.sem);
	io->status = sim_io_gate(io);
	if (!io->status) {
		sim_destage(io->dev, false);
		io->status = sim_write_locked(io, e);
		cut = sim_cut_due();
	} else {
		sim_entry_free(e);
	}
	up_write(&sim.sem);
	return cut;
}

/* Take one shot of the flush fault, if there is one. */
static enum sim_flush_fault __sim_flush_fault(struct sim_dev *dev)
{
	enum sim_flush_fault fault = dev->flush_fault;

	lockdep_assert_held(&sim.lock);
	if (fault != SIM_FLUSH_OK) {
		dev->stats.injected++;
		if (dev->flush_fault_left > 0 && !--dev->flush_fault_left)
			dev->flush_fault = SIM_FLUSH_OK;
	}
	return fault;
}

static bool sim_step_flush(struct sim_io *io)
{
	struct sim_dev *dev = io->dev;
	enum sim_flush_fault fault;
	bool cut = false;

	down_write(&sim.sem);
	io->status = sim_io_gate(io);
	if (!io->status) {
		sim_destage(dev, false);
		sim.op++;
		spin_lock_bh(&sim.lock);
		fault = __sim_flush_fault(dev);
		io->flush_start = dev->event;
		spin_unlock_bh(&sim.lock);
		io->lie = fault == SIM_FLUSH_LIE;
		if (fault == SIM_FLUSH_FAIL)
			io->status = BLK_STS_IOERR;
		sim_io_account(io, fault == SIM_FLUSH_FAIL ? SIM_T_ERROR :
			       io->lie ? SIM_T_LIE : 0);
		cut = sim_cut_due();
	}
	up_write(&sim.sem);
	return cut;
}

static bool __sim_io_must_hold(const struct sim_io *io)
{
	const struct sim_dev *dev = io->dev;

	lockdep_assert_held(&sim.lock);
	if (dev->gone)
		return false;
	if (sim.off)
		return sim.cut_hang;
	if (io->step == SIM_READ)
		return dev->stall & SIM_STALL_READ;
	if (io->step == SIM_FLUSH)
		return dev->stall & SIM_STALL_FLUSH;
	return dev->stall & SIM_STALL_WRITE;
}

/*
 * The moment of completion. After a cut the entry is gone: do not look at it.
 * A write that failed still counts as done: its contents are unspecified, so
 * it may become durable, and it must not block the journal.
 */
static void __sim_io_settle(struct sim_io *io)
{
	struct sim_dev *dev = io->dev;

	lockdep_assert_held(&sim.lock);
	if (io->epoch != dev->epoch) {
		io->status = BLK_STS_IOERR;
		return;
	}
	if (io->entry) {
		io->entry->done = ++dev->event;
		io->entry = NULL;
	}
	if (dev->dead)
		io->status = BLK_STS_IOERR;
	if (io->step == SIM_FLUSH && !io->status && !io->lie)
		dev->flushed = max(dev->flushed, io->flush_start);
}

static void sim_io_end(struct sim_io *io)
{
	struct bio *bio = io->bio;

	bio->bi_status = io->status;
	bio_end_io_acct(bio, io->acct_start);
	kmem_cache_free(sim.io_cache, io);
	bio_endio(bio);
}

/*
 * Complete the current step. Return: true if the caller must run the next one
 * (in process context). Once the io has left the list of its device the device
 * may go away.
 */
static bool sim_io_finish(struct sim_io *io)
{
	struct sim_dev *dev = io->dev;

	spin_lock_bh(&sim.lock);
	if (__sim_io_must_hold(io)) {
		list_add_tail(&io->hold, &dev->held);
		spin_unlock_bh(&sim.lock);
		return false;
	}
	__sim_io_settle(io);
	if (io->step == SIM_FLUSH && !io->status && bio_sectors(io->bio)) {
		io->step = sim_io_data_step(io->bio);
		spin_unlock_bh(&sim.lock);
		return true;
	}
	list_del(&io->list);
	if (list_empty(&dev->inflight))
		wake_up(&dev->idle);
	spin_unlock_bh(&sim.lock);
	sim_io_end(io);
	return false;
}

static enum hrtimer_restart sim_io_timer(struct hrtimer *timer)
{
	struct sim_io *io = container_of(timer, struct sim_io, timer);

	sim_timing_done(io);
	if (sim_io_finish(io))
		queue_work(sim.wq, &io->work);
	return HRTIMER_NORESTART;
}

/* Run steps until the io has completed, or waits for its timer or release. */
static void sim_io_run(struct sim_io *io)
{
	bool cut;
	u32 delay;

	do {
		delay = READ_ONCE(io->dev->delay_us);
		cut = false;
		if (sim_io_is_write(io))
			cut = sim_step_write(io);
		else if (io->step == SIM_FLUSH)
			cut = sim_step_flush(io);
		else
			sim_step_read(io);
		if (!cut && sim_timing_start(io))
			return;
		if (delay && !cut) {
			hrtimer_start(&io->timer, ns_to_ktime((u64)delay * NSEC_PER_USEC),
				      HRTIMER_MODE_REL_SOFT);
			return;
		}
	} while (sim_io_finish(io));
	if (cut)
		sim_io_release_held();
}

void sim_io_work(struct work_struct *work)
{
	sim_io_run(container_of(work, struct sim_io, work));
}

/**
 * sim_io_release_held() - complete held I/O that need not be held any more
 *
 * After a stall ended, a power cut, a restore or a removal. What must still
 * be held goes back on its list.
 *
 * Context: process; no lock held.
 */
void sim_io_release_held(void)
{
	struct sim_io *io, *next;
	struct sim_dev *dev;
	LIST_HEAD(list);

	down_read(&sim.sem);
	spin_lock_bh(&sim.lock);
	list_for_each_entry(dev, &sim.devs, list)
		list_splice_tail_init(&dev->held, &list);
	spin_unlock_bh(&sim.lock);
	up_read(&sim.sem);

	list_for_each_entry_safe(io, next, &list, hold) {
		list_del(&io->hold);
		if (sim_io_finish(io))
			queue_work(sim.wq, &io->work);
	}
}

static struct sim_io *sim_io_alloc(struct sim_dev *dev, struct bio *bio)
{
	struct sim_io *io;

	io = kmem_cache_zalloc(sim.io_cache, SIM_GFP);
	if (!io)
		return NULL;
	io->dev = dev;
	io->bio = bio;
	io->step = bio->bi_opf & REQ_PREFLUSH ? SIM_FLUSH :
						sim_io_data_step(bio);
	INIT_WORK(&io->work, sim_io_work);
	hrtimer_init(&io->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	io->timer.function = sim_io_timer;
	return io;
}

/* What a real disk would refuse; catches wrong submitters above us. */
static bool sim_bio_valid(const struct sim_dev *dev, const struct bio *bio)
{
	unsigned int mask = (dev->logical_block_size >> SECTOR_SHIFT) - 1;

	if ((bio->bi_iter.bi_sector | bio_sectors(bio)) & mask)
		return false;
	if (!bio_sectors(bio))
		return bio->bi_opf & REQ_PREFLUSH;
	if (dev->read_only && op_is_write(bio_op(bio)))
		return false;
	return sim_io_data_step(bio) != SIM_NR_KINDS;
}

static void sim_bio_reject(struct sim_dev *dev, struct bio *bio)
{
	spin_lock_bh(&sim.lock);
	dev->stats.rejected++;
	spin_unlock_bh(&sim.lock);
	bio->bi_status = BLK_STS_IOERR;
	bio_endio(bio);
}

static void sim_submit_bio(struct bio *bio)
{
	struct sim_dev *dev = bio->bi_bdev->bd_disk->private_data;
	struct sim_io *io;

	if (bio_sectors(bio)) {
		bio = bio_split_to_limits(bio);
		if (!bio)
			return;
	}
	if (!sim_bio_valid(dev, bio)) {
		sim_bio_reject(dev, bio);
		return;
	}
	io = sim_io_alloc(dev, bio);
	if (!io) {
		bio->bi_status = BLK_STS_RESOURCE;
		bio_endio(bio);
		return;
	}
	io->acct_start = bio_start_io_acct(bio);
	spin_lock_bh(&sim.lock);
	io->epoch = dev->epoch;
	list_add_tail(&io->list, &dev->inflight);
	spin_unlock_bh(&sim.lock);
	sim_io_run(io);
}

const struct block_device_operations sim_fops = {
	.owner = THIS_MODULE,
	.submit_bio = sim_submit_bio,
};
