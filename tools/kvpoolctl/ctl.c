// SPDX-License-Identifier: GPL-2.0-only
/* Options, errors and the progress bar. */
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define MAX_LONGS	24
#define PROGRESS_AFTER	2.0	/* seconds */
#define PROGRESS_EVERY	0.2
#define PROGRESS_WIDTH	40

static const struct option common[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "plain", no_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ NULL, 0, NULL, 0 }
};

void ctl_help(const struct command *cmd)
{
	printf("Usage: kvpoolctl %s%s%s\n\n%s\n", cmd->name, *cmd->args ? " " : "", cmd->args,
	       cmd->help);
	printf("\nCommon options:\n%s"
	       "  -j, --json     machine-readable output\n"
	       "  -p, --plain    sizes in plain bytes\n"
	       "  -q, --quiet    no messages but errors\n"
	       "  -h, --help     this text\n"
	       "  -V, --version  version of the tool\n",
	       cmd->dry_run ? "  -n, --dry-run  print what would be done\n" : "");
}

static void common_option(struct ctl *ctl, int c)
{
	switch (c) {
	case 'j':
		ctl->json = true;
		break;
	case 'p':
		ctl->plain = true;
		break;
	case 'q':
		ctl->quiet = true;
		break;
	case 'n':
		ctl->dry_run = true;
		break;
	case 'h':
		ctl_help(ctl->cmd);
		exit(EXIT_DONE);
	case 'V':
		printf("kvpoolctl %s\n", KVPOOL_VERSION);
		exit(EXIT_DONE);
	}
}

/* The options of the command and the common ones, in one list. */
static void all_options(const struct command *cmd, char *shorts, size_t size,
			struct option longs[MAX_LONGS])
{
	const struct option *lists[] = { cmd->longs, common };
	unsigned int i, n = 0;

	/* ':' first: a missing argument is told apart from an unknown option */
	snprintf(shorts, size, ":%sjpqhV%s", cmd->shorts, cmd->dry_run ? "n" : "");
	for (i = 0; i < 2; i++)
		for (const struct option *o = lists[i]; o && o->name && n < MAX_LONGS - 1; o++)
			if (o->val != 'n' || cmd->dry_run)
				longs[n++] = *o;
	memset(&longs[n], 0, sizeof(longs[n]));
}

int ctl_getopt(struct ctl *ctl, int argc, char **argv)
{
	struct option longs[MAX_LONGS];
	char shorts[64];
	int c, at;

	all_options(ctl->cmd, shorts, sizeof(shorts), longs);
	opterr = 0;
	for (;;) {
		at = optind;
		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == ':')
			exit(ctl_usage(ctl, "option '%s' needs a value", argv[at]));
		if (c == '?')
			exit(ctl_usage(ctl, "unknown option '%s'",
				       optopt > ' ' && optopt < 127 ?
				       (char[]){ '-', (char)optopt, 0 } : argv[at]));
		if (c == 'j' || c == 'p' || c == 'q' || c == 'h' || c == 'V' ||
		    (c == 'n' && ctl->cmd->dry_run))
			common_option(ctl, c);
		else
			return c;
	}
}

int ctl_args(struct ctl *ctl, int argc, int min, int max)
{
	int n = argc - optind;

	if (n < min)
		exit(ctl_usage(ctl, "an argument is missing"));
	if (max >= 0 && n > max)
		exit(ctl_usage(ctl, "too many arguments"));
	return n;
}

/* One line: nothing in it may break it. */
static void print_line(FILE *f, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, f);
}

int ctl_fail(struct ctl *ctl, const struct err *err)
{
	json_object *root;

	ctl_progress(ctl, "", 0, 0);
	fflush(stdout);
	fputs("kvpoolctl: ", stderr);
	print_line(stderr, err->what);
	fputs(": ", stderr);
	print_line(stderr, err->why);
	fputs(" -- ", stderr);
	print_line(stderr, err->mend);
	fputc('\n', stderr);
	if (ctl->json) {
		root = json_root();
		json_error(json_child(root, "error"), err);
		ctl_json(root);
	}
	return err_exit(err->code);
}

int ctl_usage(struct ctl *ctl, const char *why, ...)
{
	char text[256], mend[256];
	struct err err;
	va_list ap;

	va_start(ap, why);
	vsnprintf(text, sizeof(text), why, ap);
	va_end(ap);
	snprintf(mend, sizeof(mend), "usage: kvpoolctl %s %s", ctl->cmd->name, ctl->cmd->args);
	err_set(&err, ERR_USAGE, ctl->cmd->name, mend, "%s", text);
	return ctl_fail(ctl, &err);
}

void ctl_say(const struct ctl *ctl, const char *format, ...)
{
	va_list ap;

	if (ctl->quiet || ctl->json)
		return;
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

int ctl_done(const struct ctl *ctl)
{
	if (ctl->json)
		ctl_json(json_root());
	return EXIT_DONE;
}

const char *ctl_size(const struct ctl *ctl, u64 bytes, char buf[SIZE_BUF])
{
	if (!ctl->plain)
		return size_print(bytes, buf);
	snprintf(buf, SIZE_BUF, "%" PRIu64, bytes);
	return buf;
}

int ctl_find(struct ctl *ctl, const char *name, struct dm_entry *e)
{
	struct err err;

	return dm_find(name, e, &err) ? ctl_fail(ctl, &err) : 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void ctl_progress(const struct ctl *ctl, const char *what, u64 done, u64 total)
{
	static double began, drawn;
	static const char bar[] = "########################################";
	double t = now();
	int full;

	if (ctl->quiet || ctl->json || !isatty(STDERR_FILENO))
		return;
	if (!total) {
		if (drawn > 0)
			fputs("\r\033[K", stderr);
		began = drawn = 0;
		return;
	}
	if (began <= 0)
		began = t;
	if (t - began < PROGRESS_AFTER || t - drawn < PROGRESS_EVERY)
		return;
	drawn = t;
	if (done > total)
		done = total;
	full = (int)((double)done / (double)total * PROGRESS_WIDTH);
	fprintf(stderr, "\r%s [%-*.*s] %3d %%", what, PROGRESS_WIDTH, full, bar,
		(int)((double)done / (double)total * 100));
	fflush(stderr);
}
