// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl help: all commands, or one. */
#include <ctype.h>

#include "commands.h"

static void add_options(json_object *o, const char *key, const struct ctl_option *option)
{
	json_object *list = json_list(o, key), *item;
	char letter[2] = "";

	for (; option && option->text; option++) {
		*letter = isalpha(option->val) ? (char)option->val : 0;
		item = json_item(list);
		json_text(item, "letter", *letter ? letter : NULL);
		json_text(item, "name", option->name);
		json_text(item, "argument", option->arg);
		json_text(item, "text", option->text);
	}
}

static void print_json(const struct command *only)
{
	json_object *root = json_root(), *list = json_list(root, "commands"), *o;
	const char *group = NULL;
	const struct command_row *r;

	for (r = command_rows; r->group || r->cmd; r++) {
		if (r->group)
			group = r->group;
		if (!r->cmd || (only && r->cmd != only))
			continue;
		o = json_item(list);
		json_text(o, "name", r->cmd->name);
		json_text(o, "group", group);
		json_text(o, "purpose", r->cmd->purpose);
		json_text(o, "arguments", r->cmd->args);
		json_flag(o, "dry_run", r->cmd->dry_run);
		json_text(o, "about", r->cmd->about);
		json_text(o, "more", r->cmd->more);
		json_text(o, "example", r->cmd->example);
		add_options(o, "options", r->cmd->options);
	}
	add_options(root, "common", common_options);
	ctl_json(root);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	const struct command *cmd = NULL;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	if (ctl_args(ctl, argc, 0, 1)) {
		cmd = command_find(argv[optind]);
		if (!cmd)
			return command_unknown(ctl, argv[optind]);
	}
	if (ctl->json)
		print_json(cmd);
	else if (cmd)
		ctl_help(cmd);
	else
		commands_print();
	return EXIT_DONE;
}

const struct command cmd_help = {
	.name = "help",
	.purpose = "list the commands, or explain one",
	.args = "[COMMAND]",
	.about = "Lists all commands with their purpose. With COMMAND it prints the same as "
		"'kvpoolctl COMMAND --help'.",
	.more = "With -j: all data from which the help, this page and the completions are made.",
	.example = "kvpoolctl help replace",
	.run = run,
};
