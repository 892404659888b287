/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that may hang on a device, done in a process that can be abandoned. */
#ifndef KVPOOLCTL_WATCHED_H
#define KVPOOLCTL_WATCHED_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "err.h"

#define WATCHED_PATIENCE	30	/* seconds, if the caller has no reason for others */

/* A piece of work, and what became of it. */
struct watched {
	/* returns 0, or another number if it failed */
	int (*work)(void *arg, FILE *out);
	void *arg;

	/* what it wrote, to be freed, with a zero behind it; NULL: nothing, or an error */
	char *text;
	size_t size;
	/* 0, ETIMEDOUT: it hangs, ECANCELED: the work failed, or another error number */
	int error;

	/* while it runs */
	pid_t pid;
	int fd;
	long long used;		/* nanoseconds of a processor */
	int quiet;		/* seconds */
};

/**
 * watched_private() - children do not keep @fd, which holds a lock; -1: it is closed
 *
 * One at a time. A child that hangs would hold the lock until its device answers.
 */
void watched_private(int fd);

/** watched_begin() - in a child: it ends with its parent, and keeps neither output nor lock */
void watched_begin(void);

/**
 * watched_wait() - wait until @fd can be read, which @pid writes
 *
 * Return: false if the process has used no processor for @patience seconds.
 */
bool watched_wait(pid_t pid, int fd, int patience);

/**
 * watched_all() - call each @jobs's work in a process of its own, many at once
 * @jobs: with @work and @arg, the rest zeroed
 * @patience: in seconds; 0: the work is done here, however long it takes
 *
 * Gives up a process that has used no processor for @patience seconds: then it waits for a device.
 * The process ends as soon as the device answers. Until then it keeps the caller's files open, but
 * not its standard output and error.
 */
void watched_all(struct watched *jobs, unsigned int count, int patience);

/**
 * watched_run() - watched_all() for one piece of work
 * @what: the subject of @err
 * @text: what was written, to be freed; with a zero behind it
 *
 * Return: 0, or -1 with @err.
 */
int watched_run(int (*work)(void *arg, FILE *out), void *arg, int patience, const char *what,
		char **text, size_t *size, struct err *err);

#endif
