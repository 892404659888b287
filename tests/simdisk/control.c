// SPDX-License-Identifier: GPL-2.0-only
/* configfs: one directory per device, and the attributes all share. */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "simdisk.h"

#define SIM_MAX_DELAY_US	(60u * USEC_PER_SEC)

static struct sim_dev *to_dev(struct config_item *item)
{
	return container_of(item, struct sim_dev, item);
}

/* Geometry: fixed while there is a disk. */
#define SIM_GEOMETRY(NAME, TYPE, PARSE)					\
static ssize_t sim_##NAME##_show(struct config_item *item, char *page)	\
{									\
	return sysfs_emit(page, "%llu\n", (u64)to_dev(item)->NAME);	\
}									\
static ssize_t sim_##NAME##_store(struct config_item *item,		\
				  const char *page, size_t len)		\
{									\
	struct sim_dev *dev = to_dev(item);				\
	TYPE value;							\
	int r = PARSE;							\
									\
	if (r)								\
		return r;						\
	mutex_lock(&sim.admin);						\
	if (dev->disk)							\
		r = -EBUSY;						\
	else								\
		dev->NAME = value;					\
	mutex_unlock(&sim.admin);					\
	return r ?: len;						\
}									\
CONFIGFS_ATTR(sim_, NAME)

SIM_GEOMETRY(size_mib, u64, kstrtou64(page, 0, &value));
SIM_GEOMETRY(logical_block_size, u32, kstrtou32(page, 0, &value));
SIM_GEOMETRY(physical_block_size, u32, kstrtou32(page, 0, &value));
SIM_GEOMETRY(tear_bytes, u32, kstrtou32(page, 0, &value));
SIM_GEOMETRY(cache_mib, u32, kstrtou32(page, 0, &value));
SIM_GEOMETRY(cache, bool, kstrtobool(page, &value));
SIM_GEOMETRY(rotational, bool, kstrtobool(page, &value));
SIM_GEOMETRY(discard, bool, kstrtobool(page, &value));
SIM_GEOMETRY(write_zeroes, bool, kstrtobool(page, &value));
SIM_GEOMETRY(read_only, bool, kstrtobool(page, &value));
SIM_GEOMETRY(medium_status, bool, kstrtobool(page, &value));

static ssize_t sim_model_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", sim_model_names[to_dev(item)->model]);
}

static ssize_t sim_model_store(struct config_item *item, const char *page, size_t len)
{
	struct sim_dev *dev = to_dev(item);
	int model = sysfs_match_string(sim_model_names, page), r = 0;

	if (model < 0)
		return model;
	mutex_lock(&sim.admin);
	if (dev->disk)
		r = -EBUSY;
	else
		dev->model = model;
	mutex_unlock(&sim.admin);
	return r ?: len;
}
CONFIGFS_ATTR(sim_, model);

static ssize_t sim_delay_us_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_dev(item)->delay_us));
}

static ssize_t sim_delay_us_store(struct config_item *item, const char *page,
				  size_t len)
{
	u32 us;
	int r = kstrtou32(page, 0, &us);

	if (r)
		return r;
	if (us > SIM_MAX_DELAY_US)
		return -EINVAL;
	WRITE_ONCE(to_dev(item)->delay_us, us);
	return len;
}
CONFIGFS_ATTR(sim_, delay_us);

static ssize_t sim_power_show(struct config_item *item, char *page)
{
	bool on;

	mutex_lock(&sim.admin);
	on = to_dev(item)->disk;
	mutex_unlock(&sim.admin);
	return sysfs_emit(page, "%d\n", on);
}

static ssize_t sim_power_store(struct config_item *item, const char *page,
			       size_t len)
{
	struct sim_dev *dev = to_dev(item);
	bool on;
	int r = kstrtobool(page, &on);

	if (r)
		return r;
	mutex_lock(&sim.admin);
	r = on ? sim_dev_power_on(dev) : sim_dev_power_off(dev);
	mutex_unlock(&sim.admin);
	return r ?: len;
}
CONFIGFS_ATTR(sim_, power);

static ssize_t sim_remove_store(struct config_item *item, const char *page,
				size_t len)
{
	struct sim_dev *dev = to_dev(item);
	int r = 0;

	mutex_lock(&sim.admin);
	if (dev->disk)
		sim_dev_pull(dev);
	else
		r = -ENODEV;
	mutex_unlock(&sim.admin);
	return r ?: len;
}
CONFIGFS_ATTR_WO(sim_, remove);

static ssize_t sim_dead_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", to_dev(item)->dead);
}

static ssize_t sim_dead_store(struct config_item *item, const char *page,
			      size_t len)
{
	struct sim_dev *dev = to_dev(item);
	bool dead;
	int r = kstrtobool(page, &dead);

	if (r)
		return r;
	spin_lock_bh(&sim.lock);
	dev->dead = dead;
	dev->fail_after = -1;
	spin_unlock_bh(&sim.lock);
	return len;
}
CONFIGFS_ATTR(sim_, dead);

static ssize_t sim_fail_after_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%lld\n", to_dev(item)->fail_after);
}

static ssize_t sim_fail_after_store(struct config_item *item, const char *page,
				    size_t len)
{
	struct sim_dev *dev = to_dev(item);
	s64 n;
	int r = kstrtos64(page, 0, &n);

	if (r)
		return r;
	spin_lock_bh(&sim.lock);
	dev->fail_after = max(n, -1LL);
	spin_unlock_bh(&sim.lock);
	return len;
}
CONFIGFS_ATTR(sim_, fail_after);

static const char * const sim_stall_names[] = {
	"0", "1", "read", "write", "flush"
};

static const u32 sim_stall_bits[] = {
	0, SIM_STALL_ALL, SIM_STALL_READ, SIM_STALL_WRITE, SIM_STALL_FLUSH
};

static ssize_t sim_stall_show(struct config_item *item, char *page)
{
	u32 stall = READ_ONCE(to_dev(item)->stall);
	unsigned int i;

	for (i = 0; sim_stall_bits[i] != stall; i++)
		;
	return sysfs_emit(page, "%s\n", sim_stall_names[i]);
}

static ssize_t sim_stall_store(struct config_item *item, const char *page,
			       size_t len)
{
	struct sim_dev *dev = to_dev(item);
	int i = sysfs_match_string(sim_stall_names, page);

	if (i < 0)
		return i;
	spin_lock_bh(&sim.lock);
	dev->stall = sim_stall_bits[i];
	spin_unlock_bh(&sim.lock);
	sim_io_release_held();
	return len;
}
CONFIGFS_ATTR(sim_, stall);

static const char * const sim_flush_names[] = { "none", "fail", "lie" };

static ssize_t sim_flush_fault_show(struct config_item *item, char *page)
{
	struct sim_dev *dev = to_dev(item);
	enum sim_flush_fault fault;
	s64 left;

	spin_lock_bh(&sim.lock);
	fault = dev->flush_fault;
	left = dev->flush_fault_left;
	spin_unlock_bh(&sim.lock);
	if (fault == SIM_FLUSH_OK || left < 0)
		return sysfs_emit(page, "%s\n", sim_flush_names[fault]);
	return sysfs_emit(page, "%s %lld\n", sim_flush_names[fault], left);
}

/* none | fail [N] | lie [N]; without N for ever. */
static ssize_t sim_flush_fault_store(struct config_item *item,
				     const char *page, size_t len)
{
	struct sim_dev *dev = to_dev(item);
	char name[8];
	s64 left;
	int fault, n = sscanf(page, "%7s %lld", name, &left);

	if (n < 1 || (n == 2 && left < 1))
		return -EINVAL;
	fault = match_string(sim_flush_names, ARRAY_SIZE(sim_flush_names), name);
	if (fault < 0)
		return fault;
	spin_lock_bh(&sim.lock);
	dev->flush_fault = fault;
	dev->flush_fault_left = n == 2 ? left : -1;
	spin_unlock_bh(&sim.lock);
	return len;
}
CONFIGFS_ATTR(sim_, flush_fault);

/* Lists the pending faults in the form that sets them; may be cut short. */
static ssize_t sim_faults_show(struct config_item *item, char *page)
{
	struct sim_fault *f;
	int len = 0;

	down_read(&sim.sem);
	list_for_each_entry(f, &to_dev(item)->faults, list) {
		len += sysfs_emit_at(page, len, "add %s", sim_fault_names[f->kind]);
		if (f->kind == SIM_FAULT_MISDIRECT)
			len += sysfs_emit_at(page, len, " %lld", f->distance);
		if (f->nr)
			len += sysfs_emit_at(page, len, " %llu %llu",
					     (u64)f->sector, (u64)f->nr);
		len += sysfs_emit_at(page, len, "\n");
	}
	up_read(&sim.sem);
	return len;
}

static ssize_t sim_faults_store(struct config_item *item, const char *page,
				size_t len)
{
	char *text = kmemdup_nul(page, len, GFP_KERNEL);
	char *rest = text, *line;
	int r = 0;

	if (!text)
		return -ENOMEM;
	down_write(&sim.sem);
	while (!r && (line = strsep(&rest, "\n")))
		r = sim_fault_command(to_dev(item), line);
	up_write(&sim.sem);
	kfree(text);
	return r ?: len;
}
CONFIGFS_ATTR(sim_, faults);

/* SECTOR COUNT [SEED [BITS]] */
static ssize_t sim_corrupt_store(struct config_item *item, const char *page,
				 size_t len)
{
	struct sim_dev *dev = to_dev(item);
	u64 end = dev->size_mib << (20 - SECTOR_SHIFT);
	unsigned long long sector, nr, seed = 0;
	unsigned int bits = 0;
	int r;

	if (sscanf(page, "%llu %llu %llu %u", &sector, &nr, &seed, &bits) < 2)
		return -EINVAL;
	if (!nr || sector >= end || nr > end - sector || bits > SECTOR_SIZE * 8)
		return -EINVAL;
	down_write(&sim.sem);
	r = sim_store_corrupt(dev, sector, nr, seed, bits);
	up_write(&sim.sem);
	return r ?: len;
}
CONFIGFS_ATTR_WO(sim_, corrupt);

static int sim_stats_hist(char *page, int len, const char *name, const u64 *hist)
{
	int start = len;
	unsigned int i;

	len += sysfs_emit_at(page, len, "%s", name);
	for (i = 0; i < SIM_HIST; i++)
		len += sysfs_emit_at(page, len, " %llu", hist[i]);
	len += sysfs_emit_at(page, len, "\n");
	return len - start;
}

static ssize_t sim_stats_show(struct config_item *item, char *page)
{
	struct sim_dev *dev = to_dev(item);
	struct sim_stats s;
	int len;

	down_read(&sim.sem);
	spin_lock_bh(&sim.lock);
	s = dev->stats;
	spin_unlock_bh(&sim.lock);
	len = sysfs_emit(page, "cached_writes %lu\ncached_blocks %lu\n",
			 dev->nr_entries, dev->nr_cached);
	up_read(&sim.sem);
	len += sysfs_emit_at(page, len, "reads %llu\nread_sectors %llu\nwrites %llu\nwrite_sectors %llu\n",
			     s.ops[SIM_READ], s.sectors[SIM_READ],
			     s.ops[SIM_WRITE], s.sectors[SIM_WRITE]);
	len += sysfs_emit_at(page, len, "discards %llu\ndiscard_sectors %llu\nwrite_zeroes %llu\nwrite_zeroes_sectors %llu\n",
			     s.ops[SIM_DISCARD], s.sectors[SIM_DISCARD],
			     s.ops[SIM_WRITE_ZEROES], s.sectors[SIM_WRITE_ZEROES]);
	len += sysfs_emit_at(page, len, "flushes %llu\nfua %llu\npreflush %llu\ninjected %llu\nrejected %llu\n",
			     s.ops[SIM_FLUSH], s.fua, s.preflush, s.injected,
			     s.rejected);
	len += sim_stats_hist(page, len, "read_sizes", s.hist[SIM_READ]);
	len += sim_stats_hist(page, len, "write_sizes", s.hist[SIM_WRITE]);
	return len;
}

/* Anything written resets the counters. */
static ssize_t sim_stats_store(struct config_item *item, const char *page,
			       size_t len)
{
	struct sim_dev *dev = to_dev(item);

	spin_lock_bh(&sim.lock);
	memset(&dev->stats, 0, sizeof(dev->stats));
	spin_unlock_bh(&sim.lock);
	return len;
}
CONFIGFS_ATTR(sim_, stats);

static struct configfs_attribute *sim_dev_attrs[] = {
	&sim_attr_size_mib,
	&sim_attr_logical_block_size,
	&sim_attr_physical_block_size,
	&sim_attr_tear_bytes,
	&sim_attr_cache_mib,
	&sim_attr_cache,
	&sim_attr_rotational,
	&sim_attr_discard,
	&sim_attr_write_zeroes,
	&sim_attr_read_only,
	&sim_attr_medium_status,
	&sim_attr_model,
	&sim_attr_delay_us,
	&sim_attr_power,
	&sim_attr_remove,
	&sim_attr_dead,
	&sim_attr_fail_after,
	&sim_attr_stall,
	&sim_attr_flush_fault,
	&sim_attr_faults,
	&sim_attr_corrupt,
	&sim_attr_stats,
	NULL,
};

static void sim_dev_release(struct config_item *item)
{
	sim_dev_free(to_dev(item));
}

static struct configfs_item_operations sim_dev_item_ops = {
	.release = sim_dev_release,
};

static const struct config_item_type sim_dev_type = {
	.ct_item_ops = &sim_dev_item_ops,
	.ct_attrs = sim_dev_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *sim_make_item(struct config_group *group,
					 const char *name)
{
	struct sim_dev *dev;

	if (strlen(name) >= DISK_NAME_LEN)
		return ERR_PTR(-ENAMETOOLONG);
	dev = sim_dev_alloc();
	if (!dev)
		return ERR_PTR(-ENOMEM);
	config_item_init_type_name(&dev->item, name, &sim_dev_type);
	down_write(&sim.sem);
	list_add_tail(&dev->list, &sim.devs);
	up_write(&sim.sem);
	return &dev->item;
}

static void sim_drop_item(struct config_group *group, struct config_item *item)
{
	struct sim_dev *dev = to_dev(item);

	mutex_lock(&sim.admin);
	sim_dev_pull(dev);
	down_write(&sim.sem);
	list_del(&dev->list);
	up_write(&sim.sem);
	mutex_unlock(&sim.admin);
	config_item_put(item);
}

static struct configfs_group_operations sim_group_ops = {
	.make_item = sim_make_item,
	.drop_item = sim_drop_item,
};

/* Attributes of all devices together. */

#define SIM_GLOBAL_U64(NAME)						\
static ssize_t sim_##NAME##_show(struct config_item *item, char *page)	\
{									\
	u64 value;							\
									\
	down_read(&sim.sem);						\
	value = sim.NAME;						\
	up_read(&sim.sem);						\
	return sysfs_emit(page, "%llu\n", value);			\
}									\
static ssize_t sim_##NAME##_store(struct config_item *item,		\
				  const char *page, size_t len)		\
{									\
	u64 value;							\
	int r = kstrtou64(page, 0, &value);				\
									\
	if (r)								\
		return r;						\
	down_write(&sim.sem);						\
	sim.NAME = value;						\
	up_write(&sim.sem);						\
	return len;							\
}									\
CONFIGFS_ATTR(sim_, NAME)

SIM_GLOBAL_U64(op);
SIM_GLOBAL_U64(seed);

static const char * const sim_mode_names[] = {
	[SIM_CUT_RANDOM] = "random",
	[SIM_CUT_DROP] = "drop_all",
	[SIM_CUT_KEEP] = "keep_all",
	[SIM_CUT_TORN] = "torn",
};

static ssize_t sim_cut_mode_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", sim_mode_names[READ_ONCE(sim.cut_mode)]);
}

static ssize_t sim_cut_mode_store(struct config_item *item, const char *page,
				  size_t len)
{
	int mode = sysfs_match_string(sim_mode_names, page);

	if (mode < 0)
		return mode;
	down_write(&sim.sem);
	sim.cut_mode = mode;
	up_write(&sim.sem);
	return len;
}
CONFIGFS_ATTR(sim_, cut_mode);

static ssize_t sim_cut_hang_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(sim.cut_hang));
}

static ssize_t sim_cut_hang_store(struct config_item *item, const char *page,
				  size_t len)
{
	bool hang;
	int r = kstrtobool(page, &hang);

	if (r)
		return r;
	spin_lock_bh(&sim.lock);
	sim.cut_hang = hang;
	spin_unlock_bh(&sim.lock);
	sim_io_release_held();
	return len;
}
CONFIGFS_ATTR(sim_, cut_hang);

static ssize_t sim_power_cut_show(struct config_item *item, char *page)
{
	bool off;
	u64 at;

	down_read(&sim.sem);
	off = sim.off;
	at = sim.cut_at;
	up_read(&sim.sem);
	if (off)
		return sysfs_emit(page, "off\n");
	if (at)
		return sysfs_emit(page, "at %llu\n", at);
	return sysfs_emit(page, "none\n");
}

/* now | at N | in N | none. The caller holds sim.sem for writing. */
static int sim_power_cut_command(const char *text)
{
	unsigned long long n;

	if (sysfs_streq(text, "now")) {
		sim_cut_all();
		return 0;
	}
	if (sysfs_streq(text, "none")) {
		sim.cut_at = 0;
		return 0;
	}
	if (sscanf(text, "in %llu", &n) == 1 && n)
		n += sim.op;
	else if (sscanf(text, "at %llu", &n) != 1)
		return -EINVAL;
	if (sim.off || n <= sim.op)
		return -EINVAL;
	sim.cut_at = n;
	return 0;
}

static ssize_t sim_power_cut_store(struct config_item *item, const char *page,
				   size_t len)
{
	int r;

	down_write(&sim.sem);
	r = sim_power_cut_command(page);
	up_write(&sim.sem);
	sim_io_release_held();
	return r ?: len;
}
CONFIGFS_ATTR(sim_, power_cut);

/*
 * Held I/O still ends with an error: it was lost with the power. Clean pages
 * of the block devices' page caches are dropped, as after a real restart.
 */
static ssize_t sim_power_restore_store(struct config_item *item,
				       const char *page, size_t len)
{
	struct sim_dev *dev;

	/* Not under admin: a power-off may hold it, waiting for held I/O. */
	down_write(&sim.sem);
	spin_lock_bh(&sim.lock);
	sim.off = false;
	spin_unlock_bh(&sim.lock);
	up_write(&sim.sem);
	sim_io_release_held();
	mutex_lock(&sim.admin);
	/* Creation and removal need admin as well: the list is safe. */
	list_for_each_entry(dev, &sim.devs, list)
		if (dev->disk)
			invalidate_bdev(dev->disk->part0);
	mutex_unlock(&sim.admin);
	return len;
}
CONFIGFS_ATTR_WO(sim_, power_restore);

static ssize_t sim_last_cut_show(struct config_item *item, char *page)
{
	struct sim_cut_count c;
	u64 op;

	down_read(&sim.sem);
	c = sim.last_cut;
	op = sim.last_cut_op;
	up_read(&sim.sem);
	return sysfs_emit(page, "op %llu durable %llu kept %llu dropped %llu torn %llu\n",
			  op, c.durable, c.kept, c.dropped, c.torn);
}
CONFIGFS_ATTR_RO(sim_, last_cut);

static struct configfs_attribute *sim_root_attrs[] = {
	&sim_attr_op,
	&sim_attr_seed,
	&sim_attr_cut_mode,
	&sim_attr_cut_hang,
	&sim_attr_power_cut,
	&sim_attr_power_restore,
	&sim_attr_last_cut,
	NULL,
};

static const struct config_item_type sim_root_type = {
	.ct_group_ops = &sim_group_ops,
	.ct_attrs = sim_root_attrs,
	.ct_owner = THIS_MODULE,
};

struct configfs_subsystem sim_subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "simdisk",
			.ci_type = &sim_root_type,
		},
	},
	.su_mutex = __MUTEX_INITIALIZER(sim_subsys.su_mutex),
};
