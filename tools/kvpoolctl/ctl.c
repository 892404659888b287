// SPDX-License-Identifier: GPL-2.0-only
/* Options, errors and the progress bar. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define MAX_LONGS	24
#define PROGRESS_AFTER	2.0	/* seconds */
#define PROGRESS_EVERY	0.2
#define PROGRESS_WIDTH	40
#define HELP_WIDTH	79
#define LABEL_WIDTH	16	/* of an option; a longer one has a line of its own */

const struct ctl_option common_options[] = {
	{ 'n', "dry-run", NULL, "print what would be done" },
	{ 'j', "json", NULL, "machine-readable output" },
	{ 'p', "plain", NULL, "sizes in plain bytes" },
	{ 'q', "quiet", NULL, "no messages but errors" },
	{ 'h', "help", NULL, "help of kvpoolctl, or of the command" },
	{ 'V', "version", NULL, "version of the tool" },
	{ 0, NULL, NULL, NULL }
};

/* Words of @text from column @at on; further lines begin at @indent. */
static void print_words(const char *text, int at, int indent)
{
	while (*text) {
		int n = (int)strcspn(text, " \n");

		if (at > indent && at + 1 + n > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		printf("%.*s", n, text);
		at += n;
		text += n;
		if (*text == '\n') {
			printf("\n\n%*s", indent, "");
			at = indent;
		}
		text += !!*text;
	}
	putchar('\n');
}

/*
 * An option as it is written: "-n, --dry-run", "-o KEY=VALUE", "--since CHECKPOINT". Returns its
 * length.
 */
static int option_label(const struct ctl_option *o, char *buf, size_t size)
{
	char letter[8] = "";

	if (isalpha(o->val))
		snprintf(letter, sizeof(letter), "-%c%s", o->val, o->name ? ", " : "");
	return snprintf(buf, size, "%s%s%s%s%s", letter, o->name ? "--" : "", o->name ?: "",
			o->arg ? " " : "", o->arg ?: "");
}

void ctl_print_options(const struct ctl_option *options, bool dry_run)
{
	const struct ctl_option *o;
	int width = 0, n;
	char label[64];

	for (o = options; o->text; o++) {
		n = option_label(o, label, sizeof(label));
		if (n > width && n <= LABEL_WIDTH)
			width = n;
	}
	for (o = options; o->text; o++) {
		if (o->val == 'n' && !dry_run)
			continue;
		n = option_label(o, label, sizeof(label));
		if (n > width)
			printf("  %s\n%*s", label, width + 4, "");
		else
			printf("  %-*s  ", width, label);
		print_words(o->text, width + 4, width + 4);
	}
}

static void print_example(const char *line)
{
	int n = (int)strcspn(line, "\n");

	puts(line[n] ? "\nExamples:" : "\nExample:");
	for (; *line; line += n + (line[n] == '\n'), n = (int)strcspn(line, "\n"))
		printf("  %.*s\n", n, line);
}

void ctl_help(const struct command *cmd)
{
	printf("Usage: kvpoolctl %s%s%s\n\n", cmd->name, *cmd->args ? " " : "", cmd->args);
	print_words(cmd->about, 0, 0);
	if (cmd->options) {
		putchar('\n');
		ctl_print_options(cmd->options, cmd->dry_run);
	}
	puts("\nCommon options:");
	ctl_print_options(common_options, cmd->dry_run);
	print_example(cmd->example);
	if (cmd->more)
		puts("\nkvpoolctl(8) tells more.");
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

/* For getopt_long(): the options of the command and the common ones, in one list. */
struct getopt_lists {
	char shorts[64];
	struct option longs[MAX_LONGS];
	size_t letters;
	unsigned int names;
};

static void add_option(struct getopt_lists *l, const struct ctl_option *o)
{
	if (isalpha(o->val) && l->letters + 3 < sizeof(l->shorts)) {
		l->shorts[l->letters++] = (char)o->val;
		if (o->arg)
			l->shorts[l->letters++] = ':';
	}
	if (o->name && l->names < MAX_LONGS - 1)
		l->longs[l->names++] = (struct option){
			o->name, o->arg ? required_argument : no_argument, NULL, o->val
		};
}

static void all_options(const struct command *cmd, struct getopt_lists *l)
{
	const struct ctl_option *o;

	memset(l, 0, sizeof(*l));
	/* ':' lets getopt report a missing argument and an unknown option differently */
	l->shorts[l->letters++] = ':';
	for (o = cmd->options; o && o->text; o++)
		add_option(l, o);
	for (o = common_options; o->text; o++)
		if (o->val != 'n' || cmd->dry_run)
			add_option(l, o);
}

int ctl_getopt(struct ctl *ctl, int argc, char **argv)
{
	struct getopt_lists lists;
	int c, at;

	all_options(ctl->cmd, &lists);
	opterr = 0;
	for (;;) {
		at = optind;
		c = getopt_long(argc, argv, lists.shorts, lists.longs, NULL);
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

/* Prints one line: @text must not break it. */
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

int ctl_fail_on(struct ctl *ctl, const struct err *err, bool *failed)
{
	struct ctl now = *ctl;

	now.json &= !*failed;
	*failed = true;
	return ctl_fail(&now, err);
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
	char *text;

	if (ctl->quiet || ctl->json)
		return;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		abort();
	va_end(ap);
	puts(text_clean(text, "\n\t"));
	free(text);
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
