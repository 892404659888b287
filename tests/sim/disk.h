/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modelled disks. While a machine runs, every write and flush is noted in a trace, in the order
 * in which the devices saw them. From the trace, cut.c derives what a power cut could leave behind
 * at any point.
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
	u32 id;			/* number of the request, in trace.requests */
};

struct trace_request {
	u32 disk;
	enum kvp_io_op op;
	u64 block;
	u32 nr;
	struct blk **data;
	int error;
	u32 submitted, ended;	/* number of the event, + 1; 0: not yet */
	bool lost;		/* it was acknowledged, and is never carried out */
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
	FAULT_READ_EIO,		/* a latent sector error: a rewrite cures it */
	FAULT_WRITE_EIO,	/* the pool does not try the request again */
	FAULT_FLUSH_EIO,	/* the same */
	FAULT_LOST_WRITE,	/* the write is acknowledged, and not carried out */
	FAULT_MISDIRECTED,	/* the write goes one block too far */
	FAULT_DEATH,		/* the disk answers this and each later request with an error */
	FAULT_HANG,		/* the disk answers no request until disks_wake() */
	FAULT_ONCE,		/* a write or flush ends with @error, and may be tried again */
	FAULT_READ_ONCE,	/* the same for reads */
	/* the same for writes, not for flushes: a full thin device flushes what it has */
	FAULT_WRITE_ONCE,
};

/** struct fault - the requests of @kind for blocks from @first to @last of a disk are hit */
struct fault {
	enum fault_kind kind;
	u32 disk;
	u64 first, last;	/* of no meaning for a flush */
	u32 after;		/* so many of these requests pass first */
	u32 times;		/* so many are hit then; 0: all */
	int error;		/* the error of those that are hit; 0: -EIO */
	u32 seen, hit;		/* how many came, and how many were hit */
	bool hit_flush;		/* the last one that was hit was a flush, or may contain one */
	bool hit_alone;		/* it was a flush and nothing else */
};

#define MAX_FAULTS 32

/* Ways in which the disks break a rule on purpose. The tests must notice each. */
enum sabotage {
	BREAK_NOTHING,
	BREAK_FUA_LOG,		/* log writes lose FUA */
	BREAK_FUA_SB,		/* superblock writes lose FUA */
	BREAK_FLUSH,		/* flushes do nothing */
	BREAK_FLUSH_HOME,	/* flushes before the table pages do nothing */
	BREAK_FLUSH_TABLE,	/* flushes after the table pages do nothing */
	BREAK_HOME,		/* home writes are acknowledged, and never carried out */
	BREAK_LOG_LEG,		/* only leg 0 gets log entries */
	BREAK_TABLE,		/* table writes of leg 1 are lost */
	BREAK_KINDS,
};

extern const char *sabotage_names[BREAK_KINDS];

/* What the disks make of a write with FUA. All of them have a volatile cache. */
enum disk_fua {
	FUA_OWN,		/* one command */
	FUA_NONE,		/* they have no FUA, as most SATA disks */
	FUA_CLAIMED,		/* a stacked device offers FUA: perhaps it writes and flushes */
};

struct disks {
	u32 nr;
	struct block_device bdev[MAX_DISKS];
	struct image img[MAX_DISKS];	/* the contents that reads see */
	bool dead[MAX_DISKS];
	bool hung[MAX_DISKS];
	struct {
		u64 first, end;
	} stalled[MAX_DISKS][2];	/* requests to these blocks are held back */
	bool flushes_stalled;		/* so are flushes */
	bool stalls_writes;		/* of requests to those blocks, hold back only writes */
	bool stalls_reads;		/* the same for reads */
	/* reads, writes, flushes take so many us more; @one_in not 0: only one in so many does */
	struct {
		u32 read, write, flush, one_in;
	} delay[MAX_DISKS];
	u32 reads_of[MAX_DISKS];	/* how many reads each was asked for */
	struct fault faults[MAX_FAULTS];
	u32 nr_faults;
	struct trace trace;
	/* the trace keeps no data of writes: it is very long, and is not cut */
	bool forgets;
	u32 cut_at;			/* cut the power when the trace is so long; 0: never */
	enum sabotage sabotage;
	/* places of the pool, for sabotage and for watch.c */
	u64 log_start, log_blocks, log_segment, table_start, data_start;
	/* the part of the log on each disk; log_end 0: it has none */
	u64 log_first[MAX_DISKS], log_end[MAX_DISKS];
	u32 flushes, reads, writes, requests;	/* counts */
	u32 scattered;			/* background reads with too many segments */
	u32 discarded;			/* blocks */
	bool no_discards;		/* the disks offer no discards */
	enum disk_fua fua;
	bool no_memory;			/* each request takes a bio of the reserve */
	u32 reserved;			/* bios of the reserve that are out */
	struct kvp_share share[MAX_DISKS];
	u32 labels;			/* requests to labels before the first other one */
	struct {
		/* requests, counted from 0 over all disks, that end with @error */
		u32 first, nr;
		/*
		 * Not 0: of these requests only reads that meet so many blocks from @block on, on
		 * any disk. @block is that of the first request.
		 */
		u32 around;
		u64 block;
		u32 disks;	/* not 0: of these only requests to these disks, as bits */
		bool alone;	/* the same for the disk of the first request */
		int error;		/* 0: no request fails */
	} hiccup;
	/* superblocks with good sums lie, so their order means nothing */
	bool forged;
};

extern struct disks disks;

/** sim_fua - the FUA of disks; disks_begin() takes it */
extern enum disk_fua sim_fua;

/** disk_has_log() - true if a log entry may lie there, by the shape of the pool at its start */
bool disk_has_log(u32 disk, u64 block);

/** disks_begin() - make disks with copies of @images, and an empty trace */
void disks_begin(const struct image *images, u32 nr);
/** disks_end() - forget requests in flight; trace and images stay */
void disks_end(void);
void disks_free(void);
struct fault *disks_fault(enum fault_kind kind, u32 disk, u64 first, u64 last);
void disks_kill(u32 disk);
/** disks_wake() - end a hang: the disk answers the requests that it has kept, and later ones */
void disks_wake(u32 disk);
/**
 * disks_stall() - hold back requests to a range of one disk, until disks_release(); each disk may
 * have two such ranges
 */
void disks_stall(u32 disk, u64 first, u64 last);
void disks_release(u32 disk);
void disks_release_all(void);
/** disks_hold_homes() - hold back home writes to the first @blocks blocks of the first @nr disks */
void disks_hold_homes(u32 nr, u64 blocks);
/** disks_wait() - true if a request waits for disks_release() */
bool disks_wait(void);
/** disks_hold_reads() - true if reads of some blocks wait for disks_release() */
bool disks_hold_reads(void);
/** disks_settle() - begin an empty trace: all that the images have counts as durable */
void disks_settle(void);

void trace_free(struct trace *t);

/* watch.c: rules for every request, in all tests. */
void watch_begin(void);
/* The test has changed the contents of the disk, without a request. */
void watch_forget(u32 disk);
void watch_read(u32 disk, u64 block, u32 nr);
void watch_read_end(u32 disk, u64 block, u32 nr);	/* the read has got its data */
void watch_submit(u32 disk, const struct kvp_io *io);
void watch_end(const struct trace_request *r);

#endif
