/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modelled disks. While a machine runs, every write and flush is noted in
 * a trace, in the order in which the devices saw them; cut.c derives from it
 * what a power cut could leave behind at any point.
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "image.h"
#include "io/io.h"
#include "io/share.h"
#include "sched.h"

#define MAX_DISKS	48	/* as many as a pool may have legs */

/* What engine and kernel know of a device. */
struct block_device {
	u32 index, holds;
};

enum trace_kind { TRACE_SUBMIT, TRACE_END };

/* One event. Reads leave none. */
struct trace_event {
	enum trace_kind kind;
	u32 id;			/* of the request: place in trace.requests */
};

struct trace_request {
	u32 disk;
	enum kvp_io_op op;
	u64 block;
	u32 nr;
	struct blk **data;
	int error;
	u32 submitted, ended;	/* event numbers + 1; 0: not yet */
	bool lost;		/* acknowledged, never done */
};

struct trace {
	struct trace_event *events;
	u32 nr, room;
	struct trace_request *requests;
	u32 nr_requests, request_room;
	struct image start[MAX_DISKS];	/* what the disks held at first, all of it durable */
	u32 nr_disks;
};

enum fault_kind {
	FAULT_NONE,
	FAULT_READ_EIO,		/* latent: a rewrite cures it */
	FAULT_WRITE_EIO,
	FAULT_FLUSH_EIO,
	FAULT_LOST_WRITE,	/* acknowledged, not done */
	FAULT_MISDIRECTED,	/* done one block further */
	FAULT_DEATH,		/* from here on the leg answers nothing but errors */
	FAULT_HANG,		/* from here on the leg answers nothing, until disks_wake() */
	/* a write or flush ends with @error, and is tried again: which those above are not */
	FAULT_ONCE,
	FAULT_READ_ONCE,	/* the same for reads */
	FAULT_WRITE_ONCE,	/* for writes alone: a full thin device flushes what it has */
};

struct fault {
	enum fault_kind kind;
	u32 disk;
	u64 first, last;	/* blocks; writes and flushes: which */
	u32 after;		/* that many requests of this kind pass before */
	u32 times;		/* then so many are hit; 0: all */
	int error;		/* what they end with; 0: -EIO */
	u32 seen, hit;
	bool hit_flush;		/* the last one was a flush, or may have been one as well */
	bool hit_alone;		/* it was a flush and nothing else */
};

#define MAX_FAULTS 32

/* Ways to break a rule on purpose: the tests must notice. */
enum sabotage {
	BREAK_NOTHING,
	BREAK_FUA_LOG,		/* log writes lose FUA */
	BREAK_FUA_SB,		/* superblock writes lose FUA */
	BREAK_FLUSH,		/* flushes do nothing */
	BREAK_FLUSH_HOME,	/* those before the table pages do nothing */
	BREAK_FLUSH_TABLE,	/* those after the table pages do nothing */
	BREAK_HOME,		/* home writes end before they are done, never to be done */
	BREAK_LOG_LEG,		/* only leg 0 gets log entries */
	BREAK_TABLE,		/* table writes of leg 1 are lost */
	BREAK_KINDS,
};

extern const char *sabotage_names[BREAK_KINDS];

/* Whether the disks have FUA of their own. All have a volatile cache. */
enum disk_fua {
	FUA_OWN,
	FUA_NONE,		/* as most SATA disks */
	FUA_CLAIMED,		/* a stacked device: perhaps it makes a write and a flush of it */
};

struct disks {
	u32 nr;
	struct block_device bdev[MAX_DISKS];
	struct image img[MAX_DISKS];	/* what reads see */
	bool dead[MAX_DISKS];
	bool hung[MAX_DISKS];
	struct {
		u64 first, end;
	} stalled[MAX_DISKS][2];	/* requests to these blocks do not end while set */
	bool flushes_stalled;		/* none ends while set */
	bool stalls_writes;		/* only those that write */
	struct fault faults[MAX_FAULTS];
	u32 nr_faults;
	struct trace trace;
	/* what was written: a trace that is very long, and not cut */
	bool forgets;
	u32 cut_at;			/* power cut when the trace is that long; 0: never */
	enum sabotage sabotage;
	/* for sabotage, and watch.c */
	u64 log_start, log_blocks, log_segment, table_start, data_start;
	/* of the log, on each disk; 0: it has none */
	u64 log_first[MAX_DISKS], log_end[MAX_DISKS];
	u32 flushes, reads, writes, requests;
	u32 scattered;			/* of the background's reads, too many segments */
	u32 discarded;			/* blocks */
	bool no_discards;		/* the disks do not offer them */
	enum disk_fua fua;
	bool no_memory;			/* each request takes a bio of the reserve */
	u32 reserved;			/* bios of it that are out; each disk has its share */
	struct kvp_share share[MAX_DISKS];
	u32 labels;			/* requests, until the first one beside labels */
	struct {
		/* these requests, counted from 0 over all disks, end with: */
		u32 first, nr;
		/*
		 * not 0: only reads, of so many blocks from that of the first one on, on any disk
		 */
		u32 around;
		u64 block;
		int error;		/* 0: none of them does */
	} hiccup;
	/* superblocks lie with good sums: their order means nothing */
	bool forged;
};

extern struct disks disks;

/** sim_fua - the FUA of the disks of all machines that begin */
extern enum disk_fua sim_fua;

/** disk_has_log() - true if a log entry may lie there, as the pool was when it started */
bool disk_has_log(u32 disk, u64 block);

/** disks_begin() - attach images (copied); the trace starts empty */
void disks_begin(const struct image *images, u32 nr);
/** disks_end() - forget requests in flight; trace and images stay */
void disks_end(void);
void disks_free(void);
struct fault *disks_fault(enum fault_kind kind, u32 disk, u64 first, u64 last);
void disks_kill(u32 disk);
/** disks_wake() - a disk that hangs answers all its requests, late, and later ones */
void disks_wake(u32 disk);
/**
 * disks_stall() - hold back requests to a range (two at most) of one disk, until disks_release()
 */
void disks_stall(u32 disk, u64 first, u64 last);
void disks_release(u32 disk);
void disks_release_all(void);
/** disks_hold_homes() - writes of @blocks do not come home on the first @nr disks, but hang */
void disks_hold_homes(u32 nr, u64 blocks);
bool disks_wait(void);	/* does a request wait for disks_release()? */
/** disks_settle() - every write in the images is durable: a new, empty trace */
void disks_settle(void);

void trace_free(struct trace *t);

/* watch.c: rules for every request, in all tests. */
void watch_begin(void);
/* The contents of the disk were exchanged, and no request did that. */
void watch_forget(u32 disk);
void watch_read(u32 disk, u64 block, u32 nr);
void watch_read_end(u32 disk, u64 block, u32 nr);	/* it was given */
void watch_submit(u32 disk, const struct kvp_io *io);
void watch_end(const struct trace_request *r);

#endif
