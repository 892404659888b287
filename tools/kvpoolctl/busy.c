// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows the elapsed time of an operation that cannot report its progress: one call of
 * device-mapper, in which a pool recovers, or writes its memory home. The call must not be
 * interrupted, so a process of its own watches the clock.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"

#define SHOWN_AFTER	2	/* seconds */

static pid_t watcher;

static void __attribute__((noreturn)) watch(pid_t parent, const char *what)
{
	unsigned int s;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the parent may end before the two seconds are over */
	for (s = 0; getppid() == parent; s++) {
		if (s >= SHOWN_AFTER)
			dprintf(STDERR_FILENO, "\r%s, %u s", what, s);
		sleep(1);
	}
	_exit(0);
}

void ctl_busy(const struct ctl *ctl, const char *what)
{
	pid_t self = getpid();

	if (ctl->quiet || ctl->json || !isatty(STDERR_FILENO))
		return;
	watcher = fork();
	if (!watcher)
		watch(self, what);
}

void ctl_busy_end(void)
{
	if (watcher <= 0)
		return;
	kill(watcher, SIGKILL);
	waitpid(watcher, NULL, 0);
	watcher = 0;
	dprintf(STDERR_FILENO, "\r\033[K");
}
