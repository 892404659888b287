// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "interrupts.h"

void interrupts_hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, before);
}

void interrupts_release(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
