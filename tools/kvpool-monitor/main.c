// SPDX-License-Identifier: GPL-2.0-only
/*
 * kvpool-monitor: watches running pools. One thread, which sleeps until device-mapper, udev, a
 * child or a pause that is over wakes it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "devices.h"
#include "dm_poll.h"
#include "jobs.h"
#include "journal.h"
#include "pools.h"
#include "returns.h"
#include "takes.h"

enum { DM, UDEV, SIGNALS, SOURCES };

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec + 1;	/* so that 0 can mean never */
}

/* 0 is never. */
static time_t sooner(time_t a, time_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Milliseconds until something is due; -1: for ever. */
static int patience(time_t at)
{
	time_t next = sooner(sooner(returns_next(), takes_next()), jobs_deadline());

	next = sooner(next, pools_next(at));

	if (!next)
		return -1;
	if (next <= at)
		return 0;
	return next - at > 3600 ? 3600 * 1000 : (int)(next - at) * 1000;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Were we told to end? */
static bool read_signals(int fd)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		end |= info.ssi_signo != SIGCHLD;
	return end;
}

static int fail(const char *what)
{
	journal_say(PRI_ERR, "%s: %s", what, strerror(errno));
	return 1;
}

/* kvpoolctl may be in the middle of bringing a leg online. Hooks go on without the monitor. */
static int end(struct pollfd *signals)
{
	while (!jobs_drained(now())) {
		if (poll(signals, 1, -1) < 0 && errno != EINTR)
			return fail("poll");
		read_signals(signals->fd);
	}
	return 0;
}

static int loop(struct pollfd *fds)
{
	time_t since = time(NULL);

	for (;;) {
		/* First armed, then read: an event between the two is not missed. */
		if (dm_poll_arm(fds[DM].fd))
			return fail("device-mapper cannot be watched");
		pools_look(now(), since);
		pools_return(now());
		pools_take(now());
		jobs_step(now());
		if (poll(fds, SOURCES, patience(now())) < 0 && errno != EINTR)
			return fail("poll");
		if (fds[UDEV].revents)
			devices_read(now());
		if (fds[SIGNALS].revents && read_signals(fds[SIGNALS].fd))
			return end(&fds[SIGNALS]);
	}
}

int main(int argc, char **argv)
{
	struct pollfd fds[SOURCES];
	int i;

	config_parse(argc, argv);
	journal_open(config.journal);
	for (i = 0; i < SOURCES; i++)
		fds[i].events = POLLIN;
	fds[SIGNALS].fd = open_signals();
	if (fds[SIGNALS].fd < 0)
		return fail("signals cannot be received");
	fds[DM].fd = dm_poll_open();
	if (fds[DM].fd < 0)
		return fail("/dev/mapper/control");
	fds[UDEV].fd = devices_open(now());
	if (fds[UDEV].fd < 0)
		journal_say(PRI_WARNING, "no udev: legs that come back are not seen");
	return loop(fds);
}
