// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "interrupts.h"
#include "pool_lock.h"
#include "watched.h"

#define POLL_NS		100000000
#define WHO_LEN		64

const char *pool_lock_dir = "/run";

static int held = -1;

/* --- who has it ------------------------------------------------------------------------- */

/* For people alone: the lock is that of the kernel. */
static void leave_name(const struct ctl *ctl, int fd)
{
	char who[WHO_LEN];
	int n = snprintf(who, sizeof(who), "kvpoolctl %s, process %d",
			 ctl->cmd ? ctl->cmd->name : "", getpid());

	if (ftruncate(fd, 0) || pwrite(fd, who, (size_t)n, 0) != n)
		errno = 0;
}

static void read_name(int fd, char who[WHO_LEN])
{
	ssize_t n = pread(fd, who, WHO_LEN - 1, 0);

	who[n < 0 ? 0 : n] = 0;
	text_clean(who, "");
	if (!*who)
		snprintf(who, WHO_LEN, "another command");
}

/* --- waiting ------------------------------------------------------------------------------ */

static bool has_interrupt(const sigset_t *set)
{
	sigset_t all, both;

	interrupts_set(&all);
	sigandset(&both, set, &all);
	return !sigisemptyset(&both);
}

static bool are_held_back(void)
{
	sigset_t blocked;

	return !sigprocmask(SIG_BLOCK, NULL, &blocked) && has_interrupt(&blocked);
}

static bool has_come(void)
{
	sigset_t pending;

	return !sigpending(&pending) && has_interrupt(&pending);
}

/* Return: 0; -1 with errno, EINTR if a signal came that is held back. */
static int wait_for(int fd)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	bool held_back = are_held_back();
	int ret;

	while ((ret = flock(fd, held_back ? LOCK_EX | LOCK_NB : LOCK_EX))) {
		if (errno != EINTR && errno != EWOULDBLOCK)
			return -1;
		if (held_back && has_come()) {
			errno = EINTR;
			return -1;
		}
		if (held_back)
			nanosleep(&pause, NULL);
	}
	return ret;
}

static int wait_and_tell(const struct ctl *ctl, int fd, const char *uuid, struct err *err)
{
	char who[WHO_LEN], what[WHO_LEN + 32];
	int ret;

	read_name(fd, who);
	if (!ctl->quiet)
		fprintf(stderr, "kvpoolctl: note: waiting for %s: it changes the pool\n", who);
	snprintf(what, sizeof(what), "waiting for %s", who);
	ctl_busy(ctl, what);
	ret = wait_for(fd) ? errno : 0;
	ctl_busy_end();
	if (ret != EINTR)
		return 0;
	return err_set(err, ERR_FAILED, uuid, "ask for it again",
		       "the command was interrupted while it waited for %s", who);
}

/* --- the lock ----------------------------------------------------------------------------- */

/*
 * The lock file stays. If it were removed, two processes could hold a lock: one on the old file and
 * one on the new.
 */
int pool_lock(const struct ctl *ctl, const char *uuid, struct err *err)
{
	char path[256];
	int fd;

	if (held >= 0)
		return 0;
	snprintf(path, sizeof(path), "%.160s/kvpoolctl-%.36s.lock", pool_lock_dir, uuid);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	watched_private(fd);
	if (flock(fd, LOCK_EX | LOCK_NB) && wait_and_tell(ctl, fd, uuid, err)) {
		watched_private(-1);
		close(fd);
		return -1;
	}
	held = fd;
	leave_name(ctl, fd);
	return 0;
}

/* A child that has the descriptor, too, must not keep the lock. */
void pool_unlock(void)
{
	if (held < 0)
		return;
	watched_private(-1);
	flock(held, LOCK_UN);
	close(held);
	held = -1;
}

int pool_lock_named(struct ctl *ctl, const char *name)
{
	struct dm_entry e;
	struct err err;
	int ret;

	if (ctl->dry_run)
		return EXIT_DONE;
	ret = ctl_find(ctl, name, &e);
	if (!ret && pool_lock(ctl, e.uuid, &err))
		ret = ctl_fail(ctl, &err);
	return ret;
}
