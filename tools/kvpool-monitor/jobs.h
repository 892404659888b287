/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that the monitor runs: hooks, mail, kvpoolctl. Jobs of one lane run one after another,
 * in the order in which they came. The monitor never waits for them: it calls jobs_step() when a
 * child has ended, and when jobs_deadline() has come.
 *
 * A program with a time limit that hangs in the kernel cannot be killed. After JOB_KILLED its lane
 * goes on without it. As long as it hangs, it is not run again: of each program one process hangs
 * at most.
 */
#ifndef KVPOOL_MONITOR_JOBS_H
#define KVPOOL_MONITOR_JOBS_H

#include <stdbool.h>
#include <time.h>

#include "text.h"

#define JOB_LANE	48
#define JOB_MAX		256	/* of a lane, that wait or run */
#define JOB_KILLED	10	/* seconds that a program may take to end once it was killed */

struct job {
	char lane[JOB_LANE];
	char **argv, **env;	/* each ended by NULL; env is added to the monitor's environment */
	char *input;		/* of the program, or NULL */
	unsigned int limit;	/* seconds, then the program is killed; 0: none */
	/* just before the program runs; NULL: not asked for */
	void (*begins)(const struct job *job);
	/* @status: as of wait(2); NULL: not asked for */
	void (*ended)(const struct job *job, int status);
	char *subject;		/* for begins() and ended() */
	u64 seq;		/* of the event of @subject that it tells of */
	/* the rest belongs to jobs.c */
	int pid;
	bool begun;		/* this job, or another of the same event */
	bool killed;
	/* It does not end though killed: it waits for a disk. Its lane goes on without it. */
	bool left;
	time_t deadline;
	struct job *next;
};

/**
 * job_new() - a job to run @argv, which is copied; ends the monitor if there is no memory
 * @lane: jobs with the same lane run one after another
 */
struct job *job_new(const char *lane, const char *const *argv);

/** job_env() - add a variable KVPOOL_@key, in capitals */
void job_env(struct job *job, const char *key, const char *value);

/**
 * jobs_add() - let jobs_step() run a job when its lane is free; from now on it belongs to jobs.c
 *
 * Return: false if too many wait in its lane. The job is dropped then. So alarms that pile up
 * behind a hook that hangs are in the way of no order for a pool.
 */
bool jobs_add(struct job *job);

/** jobs_step() - reap what has ended, kill what has taken too long, start what can start */
void jobs_step(time_t now);

/** jobs_deadline() - when jobs_step() must be called even if no child has ended; 0: never */
time_t jobs_deadline(void);

/** jobs_busy() - does a job of this lane wait or run? */
bool jobs_busy(const char *lane);

/** jobs_waits() - the lowest seq of a job of @subject that has not begun; UINT64_MAX: none */
u64 jobs_waits(const char *lane, const char *subject);

/**
 * jobs_drained() - the monitor ends: reap what has ended, and start nothing more
 *
 * Return: false while a program runs that has no time limit. It must not be left behind: another
 * monitor would not know of it, and would try the same.
 */
bool jobs_drained(time_t now);

#endif
