/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequential streams: requests that begin where others ended.
 *
 * Blocks that are read or written once from end to end do not belong in a cache. So the ends of
 * the last 128 runs are known. A request that begins at such an end makes its run longer. So does
 * one that begins a little further on: the blocks between may have been in a cache above, or come
 * later from another processor. One that begins a little before the end belongs to the run and
 * adds nothing. Random requests to one place do not become a run in this way, since an end only
 * moves forward.
 *
 * A hash of the 2 MiB in which a run ends names one of 16 sets. So a request looks into one set,
 * or two near a border, and finds its run from any processor. If there is no run, a new one takes
 * the place of the run that has not grown for the longest time, in any set. Each set has its runs
 * in the order in which they grew. So the last ones of the sets are compared, without their locks.
 *
 * Locks: each set has a spinlock (irqsave), and no two are held at once. So a run that moves is in
 * no set for a moment. A request that comes then may begin another run. That loses a length, no
 * more.
 *
 * Pure but for these locks: no I/O, no clock, no memory. Any context may call it.
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
 * @list: on the list of its set
 * @end: block after the last one
 * @blocks: number of blocks that its requests asked for; 0: none
 * @used: when it last grew, by @clock of struct kvp_runs
 * @write: its requests are writes; a run has one kind
 */
struct kvp_run {
	struct list_head list;
	u64 end;
	u32 blocks, used;
	bool write;
};

/**
 * struct kvp_run_set - runs that end in places with one hash
 * @lock: for the other fields; irqsave
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

/** kvp_runs_init() - begin without runs */
void kvp_runs_init(struct kvp_runs *s);

/**
 * kvp_run_note() - note a request
 * @first: its first block
 * @blocks: how many it has, at least 1
 *
 * Return: blocks of the run that it belongs to, itself included. Context: any; takes spinlocks of
 * sets, one after the other.
 */
u32 kvp_run_note(struct kvp_runs *s, u64 first, u32 blocks, bool write);

#endif /* KVP_RUNS_H */
