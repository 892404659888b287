/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of commands from commands.def, and the overview of all commands. */
#ifndef KVPOOLCTL_COMMANDS_H
#define KVPOOLCTL_COMMANDS_H

#include "ctl.h"

/* A command, or the title of the group that follows; the other pointer is NULL. */
struct command_row {
	const char *group;
	const struct command *cmd;
};

extern const struct command_row command_rows[];	/* both NULL at the end */

/** command_find() - the command called @name, or NULL */
const struct command *command_find(const char *name);

/** command_nearest() - the command whose name differs from @name in one or two letters, or NULL */
const char *command_nearest(const char *name);

/** command_unknown() - print that @name is not a command. Return: the exit status */
int command_unknown(struct ctl *ctl, const char *name);

/** commands_print() - usage of the tool, its commands by group, and the common options */
void commands_print(void);

#endif
