// SPDX-License-Identifier: GPL-2.0-only
/* The last ops of all devices, in debugfs simdisk/trace; write to clear. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "simdisk.h"

#define SIM_TRACE_LEN	4096

struct sim_trace_record {
	u64 op;
	sector_t sector;
	sector_t nr;
	u8 kind;
	u8 flags;
	char name[DISK_NAME_LEN];
};

static struct sim_trace_record sim_ring[SIM_TRACE_LEN];	/* sim.lock */
static u64 sim_ring_next;				/* sim.lock */
static struct dentry *sim_debugfs;

static const char * const sim_kind_names[SIM_NR_KINDS] = {
	[SIM_READ] = "read",
	[SIM_WRITE] = "write",
	[SIM_DISCARD] = "discard",
	[SIM_WRITE_ZEROES] = "write_zeroes",
	[SIM_FLUSH] = "flush",
	[SIM_CUT] = "power_cut",
};

void sim_trace(const struct sim_dev *dev, enum sim_kind kind, u64 op,
	       sector_t sector, sector_t nr, unsigned int flags)
{
	struct sim_trace_record *r = &sim_ring[sim_ring_next++ % SIM_TRACE_LEN];

	lockdep_assert_held(&sim.lock);
	r->op = op;
	r->sector = sector;
	r->nr = nr;
	r->kind = kind;
	r->flags = flags;
	strscpy(r->name, dev ? dev->item.ci_name : "*", sizeof(r->name));
}

/* Letters in the order of the SIM_T_ bits. */
static void sim_trace_flags(char *buf, unsigned int flags)
{
	static const char letters[] = "FPLMYE";
	unsigned int i;

	for (i = 0; letters[i]; i++)
		if (flags & (1u << i))
			*buf++ = letters[i];
	*buf = '\0';
}

static int sim_trace_show(struct seq_file *m, void *unused)
{
	u64 i;

	spin_lock_bh(&sim.lock);
	i = sim_ring_next > SIM_TRACE_LEN ? sim_ring_next - SIM_TRACE_LEN : 0;
	for (; i < sim_ring_next; i++) {
		struct sim_trace_record *r = &sim_ring[i % SIM_TRACE_LEN];
		char flags[8];

		sim_trace_flags(flags, r->flags);
		seq_printf(m, "%llu %s %s %llu %llu %s\n", r->op, r->name,
			   sim_kind_names[r->kind], (u64)r->sector,
			   (u64)r->nr, flags[0] ? flags : "-");
	}
	spin_unlock_bh(&sim.lock);
	return 0;
}

static int sim_trace_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, sim_trace_show, NULL, SIM_TRACE_LEN * 64);
}

static ssize_t sim_trace_write(struct file *file, const char __user *buf,
			       size_t len, loff_t *pos)
{
	spin_lock_bh(&sim.lock);
	sim_ring_next = 0;
	spin_unlock_bh(&sim.lock);
	return len;
}

static const struct file_operations sim_trace_fops = {
	.owner = THIS_MODULE,
	.open = sim_trace_open,
	.read = seq_read,
	.write = sim_trace_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* A kernel without debugfs only loses the trace. */
void sim_trace_init(void)
{
	sim_debugfs = debugfs_create_dir("simdisk", NULL);
	debugfs_create_file("trace", 0600, sim_debugfs, NULL, &sim_trace_fops);
}

void sim_trace_exit(void)
{
	debugfs_remove_recursive(sim_debugfs);
}
