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
 * Pure: no lock, no clock. Calls must be made one at a time.
 */
#ifndef KVP_RUNS_H
#define KVP_RUNS_H

#include <linux/types.h>

#define KVP_RUNS		128
#define KVP_RUN_SLACK	32	/* blocks before and after the end of a run */

/**
 * struct kvp_run - a run of requests
 * @end: block after the last one
 * @blocks: that were asked for in it; 0: none
 * @used: when it last grew, by @clock of struct kvp_runs
 * @write: of writes; a run is of one kind
 */
struct kvp_run {
	u64 end;
	u32 blocks, used;
	bool write;
};

/** struct kvp_runs - the runs of a pool; zeros to begin with. @clock counts requests. */
struct kvp_runs {
	u32 clock;
	struct kvp_run run[KVP_RUNS];
};

/**
 * kvp_run_note() - there is a request
 * @first: its first block
 * @blocks: how many it has, at least 1
 *
 * Return: blocks of the run that it belongs to, itself included. Takes time for each run.
 */
u32 kvp_run_note(struct kvp_runs *s, u64 first, u32 blocks, bool write);

#endif /* KVP_RUNS_H */
