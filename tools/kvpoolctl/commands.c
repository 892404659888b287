// SPDX-License-Identifier: GPL-2.0-only
/* The table of commands from commands.def, and the overview of all commands. */
#include "commands.h"

#define GROUP(title)
#define COMMAND(name) extern const struct command cmd_##name;
#include "commands.def"
#undef GROUP
#undef COMMAND

#define GROUP(title) { title, NULL },
#define COMMAND(name) { NULL, &cmd_##name },
const struct command_row command_rows[] = {
#include "commands.def"
	{ NULL, NULL }
};

#define ROWS (sizeof(command_rows) / sizeof(*command_rows))

const char *const *command_names(void)
{
	static const char *names[ROWS];
	size_t i, n = 0;

	for (i = 0; i < ROWS; i++)
		if (command_rows[i].cmd)
			names[n++] = command_rows[i].cmd->name;
	names[n] = NULL;
	return names;
}

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (command_rows[i].cmd && !strcmp(command_rows[i].cmd->name, name))
			return command_rows[i].cmd;
	return NULL;
}

void commands_print(void)
{
	const struct command_row *r;

	puts("Usage: kvpoolctl COMMAND [OPTION]... [ARGUMENT]...");
	for (r = command_rows; r->group || r->cmd; r++)
		if (r->group)
			printf("\n%s:\n", r->group);
		else
			printf("  %-11s%s\n", r->cmd->name, r->cmd->purpose);
	puts("\nCommon options, before or behind the command:");
	ctl_print_options(common_options, true);
	puts("\n'kvpoolctl help COMMAND' explains a command; so does kvpoolctl(8).");
}
