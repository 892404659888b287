// SPDX-License-Identifier: GPL-2.0-only
/* The tests have no main.c, so they know no command. */
#include "ctl.h"

const char *const *command_names(void)
{
	static const char *const none[] = { NULL };

	return none;
}
