// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "interrupts.h"

void interrupts_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

void interrupts_hold(sigset_t *before)
{
	sigset_t set;

	interrupts_set(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, before);
}

void interrupts_release(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
