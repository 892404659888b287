// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl: finds the command and runs it. */
#include "commands.h"

/*
 * Is JSON asked for, anywhere on the line? Then every failure is printed as JSON, also one of an
 * earlier word.
 */
static bool asks_for_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *arg = argv[i];

		if (!strcmp(arg, "--json") ||
		    (*arg == '-' && strchr(arg, 'j') && strspn(arg + 1, "jnpq") == strlen(arg + 1)))
			return true;
	}
	return false;
}

/* Parses options before the command: the common ones only. Returns the index of the command. */
static int leading_options(struct ctl *ctl, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && *argv[i] == '-'; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			commands_print();
			exit(EXIT_DONE);
		} else if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-V")) {
			printf("kvpoolctl %s\n", KVPOOL_VERSION);
			exit(EXIT_DONE);
		} else if (!strcmp(argv[i], "-n") || !strcmp(argv[i], "--dry-run")) {
			ctl->dry_run = true;
		} else if (!strcmp(argv[i], "-p") || !strcmp(argv[i], "--plain")) {
			ctl->plain = true;
		} else if (!strcmp(argv[i], "-q") || !strcmp(argv[i], "--quiet")) {
			ctl->quiet = true;
		} else if (strcmp(argv[i], "-j") && strcmp(argv[i], "--json")) {
			exit(ctl_usage(ctl, "'%.64s' is not an option that can stand before the "
					    "command",
				       argv[i]));
		}
	}
	return i;
}

static bool quiet;

static void note_late(const char *name)
{
	if (!quiet)
		fprintf(stderr, "kvpoolctl: note: %s: that is done, but udev has not answered for "
			"two minutes, so links in /dev may be missing or old: systemctl status "
			"systemd-udevd\n", name);
}

int main(int argc, char **argv)
{
	static const struct command none = { .name = "COMMAND", .args = "..." };
	struct ctl ctl = { .cmd = &none, .json = asks_for_json(argc, argv) };
	int at = leading_options(&ctl, argc, argv), ret;

	if (at >= argc)
		return ctl_usage(&ctl, "a command is missing; 'kvpoolctl --help' lists them");
	ctl.cmd = command_find(argv[at]);
	if (!ctl.cmd)
		return command_unknown(&ctl, argv[at]);
	if (ctl.dry_run && !ctl.cmd->dry_run)
		return ctl_usage(&ctl, "unknown option '-n'");
	quiet = ctl.quiet;
	dm_udev_late = note_late;
	ret = ctl.cmd->run(&ctl, argc - at, argv + at);
	if (fflush(stdout) || ferror(stdout)) {
		perror("kvpoolctl: standard output");
		return ret ?: EXIT_FAILED;
	}
	return ret;
}
