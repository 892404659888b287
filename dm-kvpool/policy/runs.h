/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequential streams: which requests go on where others ended.
 *
 * What is read or written once from end to end does not belong in a cache. So for the
 * last 128 runs it is known where they ended. A request that begins there makes its run
 * longer; one that begins a little further on does, too, since what lies between may have
 * been in a cache above, or comes later from another processor. One that begins a little
 * before belongs to the run and adds nothing. A region that is asked for at random does
 * not become a run in this way: its end only moves forward.
 *
 * Where a run lies follows from the 2 MiB in which it ends. A hash of them names one of 16
 * sets, so a request looks into one set, or two near a border, and finds a run from whatever
 * processor it comes. If there is none, a new run takes the place of the one that has not
 * grown for the longest time, in whatever set that is. Each set has its runs in the order in
 * which they grew; so the last ones of the sets are compared, without their locks.
 *
 * Locks: each set has a spinlock (irqsave), and no two are held at once. So a run is in no
 * set for a moment, while it moves. A request that comes then may begin another run, which
 * loses a length, no more.
 *
 * Pure but for these locks: no I/O, no clock, no memory. May be called from any context, at
 * once.
 */
#ifndef KVP_RUNS_H
#define KVP_RUNS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define KVP_RUNS		128
#define KVP_RUN_SLACK	32	/* blocks before and after the end of a run */
#define KVP_RUN_SET_BITS	4

/**
 * struct kvp_run - a run of requests; by the lock of its set
 * @list: of its set
 * @end: block after the last one
 * @blocks: that were asked for in it; 0: none
 * @used: when it last grew, by @clock of struct kvp_runs
 * @write: of writes; a run is of one kind
 */
struct kvp_run {
	struct list_head list;
	u64 end;
	u32 blocks, used;
	bool write;
};

/**
 * struct kvp_run_set - runs that end in places with one hash
 * @lock: for the others; irqsave
 * @runs: the one that grew last is the first
 * @nr: number of @runs
 * @oldest: @used of the last one. It and @nr are also read without @lock
 */
struct kvp_run_set {
	spinlock_t lock;
	u32 nr, oldest;
	struct list_head runs;
} ____cacheline_aligned_in_smp;

/** struct kvp_runs - the runs of a pool. @clock counts requests. */
struct kvp_runs {
	atomic_t clock;
	struct kvp_run_set set[1 << KVP_RUN_SET_BITS];
	struct kvp_run run[KVP_RUNS];
};

/** kvp_runs_init() - there is none yet */
void kvp_runs_init(struct kvp_runs *s);

/**
 * kvp_run_note() - there is a request
 * @first: its first block
 * @blocks: how many it has, at least 1
 *
 * Return: blocks of the run that it belongs to, itself included. Context: any, at once; takes
 * spinlocks of sets, one after the other.
 */
u32 kvp_run_note(struct kvp_runs *s, u64 first, u32 blocks, bool write);

#endif /* KVP_RUNS_H */
