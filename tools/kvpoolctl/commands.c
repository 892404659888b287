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

#define LONGEST_NAME 16

/* Letters to add, take away or change so that @a becomes @b (Levenshtein). */
static unsigned int name_distance(const char *a, const char *b)
{
	size_t i, j, n = strlen(b);
	unsigned int row[LONGEST_NAME + 1], diagonal, above;

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			above = row[j];
			row[j] = diagonal + (a[i - 1] != b[j - 1]);
			if (row[j] > above + 1)
				row[j] = above + 1;
			if (row[j] > row[j - 1] + 1)
				row[j] = row[j - 1] + 1;
			diagonal = above;
		}
	}
	return row[n];
}

const char *command_nearest(const char *name)
{
	unsigned int distance, least = 3;	/* a short name allows less */
	const char *nearest = NULL, *const *known;

	if (strlen(name) > LONGEST_NAME)
		return NULL;
	if (strlen(name) < 5)
		least = strlen(name) < 3 ? 1 : 2;
	for (known = command_names(); *known; known++) {
		if (strlen(*known) > LONGEST_NAME)
			continue;
		distance = name_distance(name, *known);
		if (distance < least) {
			least = distance;
			nearest = *known;
		}
	}
	return nearest;
}

int command_unknown(struct ctl *ctl, const char *name)
{
	const char *nearest = command_nearest(name);
	char what[65], why[64] = "not a command";
	struct err err;

	snprintf(what, sizeof(what), "%s", name);
	if (nearest)
		snprintf(why, sizeof(why), "not a command; did you mean '%s'?", nearest);
	err_set(&err, ERR_USAGE, what, "'kvpoolctl --help' lists all commands", "%s", why);
	return ctl_fail(ctl, &err);
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
