// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a disk: the contents live as long as the configfs directory, the
 * gendisk from power-on to power-off or removal.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "simdisk.h"
#include "simdisk_compat.h"

struct sim_dev *sim_dev_alloc(void)
{
	struct sim_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->size_mib = 1024;
	dev->logical_block_size = SECTOR_SIZE;
	dev->physical_block_size = SIM_BLOCK_SIZE;
	dev->tear_bytes = SECTOR_SIZE;
	dev->cache_mib = 64;
	dev->cache = true;
	dev->discard = true;
	dev->write_zeroes = true;
	dev->gone = true;
	dev->fail_after = -1;
	dev->epoch = 1;
	xa_init(&dev->stable);
	xa_init(&dev->overlay);
	INIT_LIST_HEAD(&dev->journal);
	INIT_LIST_HEAD(&dev->faults);
	INIT_LIST_HEAD(&dev->inflight);
	INIT_LIST_HEAD(&dev->held);
	init_waitqueue_head(&dev->idle);
	return dev;
}

void sim_dev_free(struct sim_dev *dev)
{
	sim_store_free(dev);
	sim_fault_free_list(&dev->faults);
	kfree(dev);
}

static bool sim_size_valid(u32 bytes)
{
	return is_power_of_2(bytes) && bytes >= SECTOR_SIZE &&
	       bytes <= SIM_BLOCK_SIZE;
}

static bool sim_dev_valid(const struct sim_dev *dev)
{
	/* 8 EiB is the end of a loff_t. */
	return dev->size_mib && dev->size_mib < 1ull << 43 &&
	       (dev->logical_block_size == 512 ||
		dev->logical_block_size == 4096) &&
	       sim_size_valid(dev->physical_block_size) &&
	       dev->physical_block_size >= dev->logical_block_size &&
	       sim_size_valid(dev->tear_bytes);
}

static struct gendisk *sim_disk_alloc(struct sim_dev *dev)
{
	/* A length that fits an unsigned count of bytes, block aligned. */
	unsigned int range = (UINT_MAX >> SECTOR_SHIFT) & ~(SIM_BLOCK_SECTORS - 1);
	struct sim_limits lim = {
		.logical_block_size = dev->logical_block_size,
		.physical_block_size = dev->physical_block_size,
		.max_sectors = SIM_MAX_SECTORS,
		.max_discard_sectors = dev->discard ? range : 0,
		.max_write_zeroes_sectors = dev->write_zeroes ? range : 0,
		.cache = dev->cache,
		.rotational = dev->rotational,
	};
	struct gendisk *disk = sim_compat_alloc_disk(&lim);

	if (IS_ERR(disk))
		return disk;
	strscpy(disk->disk_name, config_item_name(&dev->item), DISK_NAME_LEN);
	disk->fops = &sim_fops;
	disk->private_data = dev;
	set_capacity(disk, dev->size_mib << (20 - SECTOR_SHIFT));
	if (dev->read_only)
		set_disk_ro(disk, true);
	return disk;
}

static void sim_dev_set_gone(struct sim_dev *dev, bool gone)
{
	spin_lock_bh(&sim.lock);
	dev->gone = gone;
	spin_unlock_bh(&sim.lock);
}

/* The caller holds sim.admin. Return: 0, -EINVAL, or what add_disk said. */
int sim_dev_power_on(struct sim_dev *dev)
{
	struct gendisk *disk;
	int r;

	if (dev->disk)
		return 0;
	if (!sim_dev_valid(dev))
		return -EINVAL;
	disk = sim_disk_alloc(dev);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	sim_timing_init(dev);
	sim_dev_set_gone(dev, false);
	r = add_disk(disk);
	if (r) {
		sim_dev_set_gone(dev, true);
		put_disk(disk);
		return r;
	}
	dev->disk = disk;
	return 0;
}

/* Wait for I/O in flight; nothing new can arrive after del_gendisk(). */
static void sim_dev_del_disk(struct sim_dev *dev)
{
	del_gendisk(dev->disk);
	wait_event(dev->idle, list_empty_careful(&dev->inflight));
	/* The last completion may still hold the lock it woke us under. */
	spin_lock_bh(&sim.lock);
	dev->gone = true;
	spin_unlock_bh(&sim.lock);
	put_disk(dev->disk);
	dev->disk = NULL;
}

/*
 * Orderly: dirty pages are written, I/O completes, the cache is stored. Would
 * never end on a stalled or dark device, hence the refusal.
 */
int sim_dev_power_off(struct sim_dev *dev)
{
	bool busy;

	if (!dev->disk)
		return 0;
	spin_lock_bh(&sim.lock);
	busy = dev->stall || sim.off;
	spin_unlock_bh(&sim.lock);
	if (busy)
		return -EBUSY;
	sim_dev_del_disk(dev);
	down_write(&sim.sem);
	sim_destage(dev, true);
	up_write(&sim.sem);
	return 0;
}

/*
 * Hot unplug: the disk loses its power, so its unflushed writes meet the fate
 * that a power cut would give them, and I/O in flight ends with an error.
 */
void sim_dev_pull(struct sim_dev *dev)
{
	struct sim_cut_count count = {};

	if (!dev->disk)
		return;
	down_write(&sim.sem);
	sim_dev_set_gone(dev, true);
	sim_cut_dev(dev, &count);
	up_write(&sim.sem);
	sim_io_release_held();
	blk_mark_disk_dead(dev->disk);
	sim_dev_del_disk(dev);
}
