/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * simdisk: RAM-backed block devices for crash and fault tests.
 *
 * Glossary
 *   block    4096 bytes, the unit of storage; sector: 512 bytes
 *   op       one write, flush, discard or write-zeroes on any device; op
 *            numbers are global, so "cut at op N" means the same everywhere
 *   stable   what the medium holds: survives a power cut
 *   view     what a read returns: stable plus everything accepted since
 *   journal  the accepted changes that are not in stable yet, oldest first
 *   epoch    counts the power cuts of a device; I/O of an old epoch is lost
 *
 * Locks, in the order they are taken
 *   sim.admin  mutex: creation, power-on and removal of disks
 *   sim.sem    rwsem: read side for reads; write side for everything that
 *              changes contents, faults or power. May be held over a
 *              GFP_NOIO allocation, never over I/O completion.
 *   sim.lock   spinlock, bh: the small state that completions touch from
 *              softirq: lists of I/O in flight, epochs, events, counters
 */
#ifndef SIMDISK_H
#define SIMDISK_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/configfs.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "model.h"

#define SIM_BLOCK_SHIFT		12
#define SIM_BLOCK_SIZE		(1u << SIM_BLOCK_SHIFT)
#define SIM_BLOCK_SECTORS	(SIM_BLOCK_SIZE >> SECTOR_SHIFT)
#define SIM_FULL_MASK		((1u << SIM_BLOCK_SECTORS) - 1)
#define SIM_MAX_SECTORS		2048	/* largest read or write, 1 MiB */
/*
 * Of what a request needs. A device has memory of its own, and does not look for some
 * among that of others: reclaim that may not do I/O can take minutes to find none, and
 * what it would free waits for this request. What is left for emergencies serves.
 */
#define SIM_GFP			(GFP_NOIO | __GFP_MEMALLOC | __GFP_NOWARN)
#define SIM_HIST		12	/* 512 B, 1 KiB, ... 1 MiB */

enum sim_kind {
	SIM_READ, SIM_WRITE, SIM_DISCARD, SIM_WRITE_ZEROES, SIM_FLUSH, SIM_CUT,
	SIM_NR_KINDS
};

enum sim_cut_mode { SIM_CUT_RANDOM, SIM_CUT_DROP, SIM_CUT_KEEP, SIM_CUT_TORN };

enum sim_model { SIM_MODEL_NONE, SIM_MODEL_DISK, SIM_MODEL_FLASH, SIM_NR_MODELS };

enum sim_flush_fault { SIM_FLUSH_OK, SIM_FLUSH_FAIL, SIM_FLUSH_LIE };

enum sim_fault_kind {
	SIM_FAULT_LATENT,	/* reads fail until the sector is rewritten */
	SIM_FAULT_READ,		/* reads always fail */
	SIM_FAULT_WRITE,	/* writes always fail */
	SIM_FAULT_LOST,		/* the next write is acknowledged, not stored */
	SIM_FAULT_MISDIRECT,	/* the next write lands elsewhere */
	SIM_NR_FAULTS
};

/* Bits of sim_dev.stall. */
#define SIM_STALL_READ	1u
#define SIM_STALL_WRITE	2u
#define SIM_STALL_FLUSH	4u
#define SIM_STALL_ALL	7u

/* Flags of a trace record. */
#define SIM_T_FUA	1u
#define SIM_T_PREFLUSH	2u
#define SIM_T_LOST	4u
#define SIM_T_MISDIRECT	8u
#define SIM_T_LIE	16u
#define SIM_T_ERROR	32u

/* A range of sectors with a fault; @nr 0 means "any sector" (one-shots). */
struct sim_fault {
	struct list_head list;
	enum sim_fault_kind kind;
	sector_t sector;
	sector_t nr;
	s64 distance;		/* sectors; misdirected writes only */
};

/*
 * One accepted change. Pages never change once the entry is in the journal:
 * they are shared with the view and, later, with the stable contents. A page
 * of a partly written block already holds the whole block as it looked after
 * this write, so storing entries in order needs no merging; only a power cut,
 * which may drop an earlier entry, looks at which sectors were written.
 */
struct sim_entry {
	struct list_head list;
	u64 seq;		/* op number: names the entry to the PRNG */
	sector_t sector;
	sector_t nr;
	bool fua;		/* durable as soon as it completes */
	bool no_cure;		/* silent corruption leaves latent errors be */
	u64 done;		/* device event of completion, 0 in flight; sim.lock */
	struct list_head cured;	/* latent errors that return if this is lost */
	unsigned int nr_pages;	/* 0: the range reads as zeroes */
	struct page *pages[];
};

struct sim_stats {
	u64 ops[SIM_NR_KINDS];
	u64 sectors[SIM_NR_KINDS];
	u64 fua;
	u64 preflush;
	u64 injected;		/* errors, lies, lost and misdirected writes */
	u64 rejected;		/* misaligned, read-only or unsupported */
	u64 hist[2][SIM_HIST];	/* sizes of reads and of writes */
};

/* Outcome of a power cut, in journal entries. */
struct sim_cut_count {
	u64 durable, kept, dropped, torn;
};

/* The queue of a device with a model; sim.lock. */
struct sim_timing {
	union {
		struct sim_disk disk;
		struct sim_flash flash;
	};
	struct list_head waiting;	/* sim_io.hold: for a tag */
	struct sim_io *tag[SIM_DISK_TAGS];
	u32 nr_tags;
	struct sim_io *serving;		/* its timer runs; it has no tag any more */
};

struct sim_dev {
	struct config_item item;
	struct list_head list;		/* sim.devs; sim.sem */

	/* Geometry; changes only while there is no disk (sim.admin). */
	u64 size_mib;
	u32 logical_block_size;
	u32 physical_block_size;
	u32 tear_bytes;
	u32 cache_mib;
	bool cache;
	bool rotational;
	bool discard;
	bool write_zeroes;
	bool read_only;
	bool medium_status;		/* faults of sectors end with ENODATA */
	enum sim_model model;		/* of its service time */
	struct gendisk *disk;		/* sim.admin */

	/* Contents; sim.sem. */
	struct xarray stable;
	struct xarray overlay;		/* the view where it may differ */
	struct list_head journal;
	unsigned long nr_entries;
	unsigned long nr_cached;	/* blocks held by the journal */
	struct list_head faults;

	/* Knobs read without a lock; a race only delays their effect. */
	u32 delay_us;

	/* Everything below: sim.lock. */
	bool gone;
	bool dead;
	u32 stall;
	s64 fail_after;			/* ops left before dead; -1: none */
	enum sim_flush_fault flush_fault;
	s64 flush_fault_left;		/* -1: for ever */
	u64 epoch;
	u64 event;			/* counts completions of writes */
	u64 flushed;			/* writes done by this event are durable */
	struct list_head inflight;
	struct list_head held;
	wait_queue_head_t idle;
	struct sim_stats stats;
	struct sim_timing timing;
};

/* One bio on its way through a device: a flush step, a data step, or both. */
struct sim_io {
	struct list_head list;		/* dev->inflight */
	struct list_head hold;		/* dev->held, or dev->timing.waiting before */
	struct sim_dev *dev;
	struct bio *bio;
	struct sim_entry *entry;	/* set while in flight, owned by journal */
	enum sim_kind step;
	blk_status_t status;
	bool lie;
	u64 epoch;
	u64 flush_start;		/* dev->event when the flush was issued */
	unsigned long acct_start;
	struct sim_disk_cmd cmd;	/* sim.lock */
	struct hrtimer timer;
	struct work_struct work;
};

struct sim_state {
	struct mutex admin;
	struct rw_semaphore sem;
	spinlock_t lock;

	struct list_head devs;		/* sem */
	u64 op;				/* sem */
	u64 cut_at;			/* sem; 0: none */
	u64 seed;			/* sem */
	enum sim_cut_mode cut_mode;	/* sem */
	struct sim_cut_count last_cut;	/* sem */
	u64 last_cut_op;		/* sem */
	bool off;			/* sem for writing, with lock */
	bool cut_hang;			/* lock */

	struct page *zero_page;
	struct kmem_cache *io_cache;
	struct workqueue_struct *wq;
};

extern struct sim_state sim;

static inline u64 sim_block(sector_t sector)
{
	return sector / SIM_BLOCK_SECTORS;
}

static inline bool sim_overlap(sector_t a, sector_t na, sector_t b, sector_t nb)
{
	return a < b + nb && b < a + na;
}

/* splitmix64 finaliser over three words: a decision that depends on nothing
 * but its name, so no device or timing can shift another one's luck.
 */
static inline u64 sim_hash(u64 a, u64 b, u64 c)
{
	u64 x = a * 0x9e3779b97f4a7c15ULL;

	x = (x ^ b) * 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 29;
	x = (x ^ c) * 0x94d049bb133111ebULL;
	x ^= x >> 32;
	x *= 0xbf58476d1ce4e5b9ULL;
	return x ^ (x >> 31);
}

/* io.c */
extern const struct block_device_operations sim_fops;
void sim_io_release_held(void);
void sim_io_work(struct work_struct *work);

/* store.c: contents. Callers hold sim.sem, for writing unless it says so. */
struct sim_entry *sim_entry_alloc(sector_t sector, sector_t nr, bool zero);
struct sim_entry *sim_entry_from_bio(struct bio *bio);	/* no lock needed */
void sim_entry_free(struct sim_entry *e);
unsigned int sim_entry_mask(const struct sim_entry *e, u64 block);
void sim_entry_unlink(struct sim_dev *dev, struct sim_entry *e);
int sim_stable_merge(struct sim_dev *dev, u64 block, struct page *src,
		     unsigned int mask);
int sim_journal_add(struct sim_dev *dev, struct sim_entry *e);
bool sim_entry_durable(struct sim_dev *dev, const struct sim_entry *e);
void sim_destage(struct sim_dev *dev, bool all);
void sim_overlay_drop(struct sim_dev *dev);
void sim_store_read(struct sim_dev *dev, struct bio *bio);	/* read side */
int sim_store_corrupt(struct sim_dev *dev, sector_t sector, sector_t nr,
		      u64 seed, unsigned int bits);
void sim_store_free(struct sim_dev *dev);

/* cut.c: power. Callers hold sim.sem for writing. */
void sim_cut_dev(struct sim_dev *dev, struct sim_cut_count *count);
void sim_cut_all(void);

/* fault.c. Callers hold sim.sem, for writing unless it says so. */
extern const char * const sim_fault_names[SIM_NR_FAULTS];
struct sim_fault *sim_fault_find(struct sim_dev *dev, enum sim_fault_kind kind,
				 sector_t sector, sector_t nr);	/* read side */
int sim_fault_add(struct sim_dev *dev, enum sim_fault_kind kind,
		  sector_t sector, sector_t nr, s64 distance);
int sim_fault_cure(struct sim_dev *dev, sector_t sector, sector_t nr,
		   struct list_head *saved);
void sim_fault_remove(struct sim_fault *f);
void sim_fault_free_list(struct list_head *list);
int sim_fault_command(struct sim_dev *dev, char *line);

/* device.c: life of a disk. Callers hold sim.admin. */
struct sim_dev *sim_dev_alloc(void);
void sim_dev_free(struct sim_dev *dev);
int sim_dev_power_on(struct sim_dev *dev);
int sim_dev_power_off(struct sim_dev *dev);
void sim_dev_pull(struct sim_dev *dev);

/* timing.c: devices with a model. */
extern const char * const sim_model_names[SIM_NR_MODELS];
void sim_timing_init(struct sim_dev *dev);	/* no I/O yet */
bool sim_timing_start(struct sim_io *io);	/* false: no model; else its timer will run */
void sim_timing_done(struct sim_io *io);	/* from its timer, before anything else */

/* control.c: configfs. */
extern struct configfs_subsystem sim_subsys;

/* trace.c */
void sim_trace(const struct sim_dev *dev, enum sim_kind kind, u64 op,
	       sector_t sector, sector_t nr, unsigned int flags); /* sim.lock */
void sim_trace_init(void);
void sim_trace_exit(void);

#endif
