// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl top: pools at work, on a terminal. */
#include <ctype.h>
#include <locale.h>
#include <ncurses.h>
#include <time.h>
#include <unistd.h>

#include "sample.h"
#include "top_view.h"

#define INTERVAL	1.0	/* seconds between two views */
#define EVENTS		10	/* shown in a pipe */
#define LINES_MAX	1024

enum { PLAIN, TROUBLE };	/* pairs of colours */

/* A view, cut into lines. */
struct page {
	char *text;
	char *line[LINES_MAX];
	int count;
};

/* The words of the module may be anything: no byte of them may steer the terminal. */
static void cut(struct page *p)
{
	char *c;

	p->count = 0;
	for (c = p->text; *c && p->count < LINES_MAX; c++) {
		p->line[p->count++] = c;
		for (; *c && *c != '\n'; c++)
			if (iscntrl((unsigned char)*c))
				*c = '?';
		if (!*c)
			break;
		*c = 0;
	}
}

static void draw(const struct ctl *ctl, const struct top *t, unsigned int events, struct page *p)
{
	size_t size;
	FILE *f;

	free(p->text);
	p->text = NULL;
	f = open_memstream(&p->text, &size);
	if (!f)
		abort();
	top_draw(ctl, t, events, f);
	if (fclose(f) || !p->text)
		abort();
	cut(p);
}

/* --- in a pipe ------------------------------------------------------------------------- */

/* Rates of one second, as text. */
static int print_once(struct ctl *ctl, struct top *t)
{
	const struct timespec second = { (time_t)INTERVAL, 0 };
	struct page p = { .text = NULL };
	struct err err;
	int i;

	nanosleep(&second, NULL);
	if (top_take(t, &err))
		return ctl_fail(ctl, &err);
	draw(ctl, t, EVENTS, &p);
	for (i = 0; i < p.count; i++)
		puts(p.line[i]);
	free(p.text);
	return EXIT_DONE;
}

/* --- on a terminal ----------------------------------------------------------------------- */

static bool is_trouble(const char *line)
{
	static const char *const words[] = {
		" degraded", " faulted", " suspended", " missing", " stale", " offline", " poisoned"
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* The first line says when this was, and which keys there are. */
static void paint_title(bool stale)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	attron(A_REVERSE);
	mvprintw(0, 0, "kvpoolctl top  %s  %sq quits, arrows scroll", when,
		 stale ? "device-mapper does not answer  " : "");
	attroff(A_REVERSE);
}

static void paint(const struct page *p, int *first, bool stale)
{
	int rows = LINES - 1, i;
	bool events = false;
	chtype how;

	if (*first > p->count - rows)
		*first = p->count - rows;
	if (*first < 0)
		*first = 0;
	erase();
	paint_title(stale);
	for (i = 0; i < p->count; i++) {
		events |= !strcmp(p->line[i], "EVENTS");
		if (i < *first || i >= *first + rows)
			continue;
		how = *p->line[i] && *p->line[i] != ' ' ? A_BOLD : A_NORMAL;
		if (!events && is_trouble(p->line[i]))
			how |= (chtype)COLOR_PAIR(TROUBLE) | A_BOLD;
		attron(how);
		mvaddnstr(i - *first + 1, 0, p->line[i], COLS);
		attroff(how);
	}
	refresh();
}

/* Waits for a key, at most until @end; false: the user has had enough, or the terminal is gone. */
static bool handle_key(double end, int *first)
{
	double left = end - sample_now();
	int page = LINES > 2 ? LINES - 2 : 1;

	timeout(left > 0 ? (int)(left * 1000) + 1 : 0);
	switch (getch()) {
	case ERR:		/* no key until then, or none ever: then without a wait */
		return isatty(STDIN_FILENO);
	case 'q':
	case 'Q':
	case 3:			/* Ctrl-C, if it is no signal */
		return false;
	case KEY_DOWN:
	case 'j':
		++*first;
		break;
	case KEY_UP:
	case 'k':
		--*first;
		break;
	case KEY_NPAGE:
	case ' ':
		*first += page;
		break;
	case KEY_PPAGE:
		*first -= page;
		break;
	case KEY_HOME:
		*first = 0;
		break;
	case KEY_END:
		*first = LINES_MAX;
		break;
	}
	return true;
}

static void prepare(void)
{
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (has_colors() && start_color() == OK) {
		use_default_colors();
		init_pair(TROUBLE, COLOR_RED, -1);
	}
}

static int watch(struct ctl *ctl, struct top *t)
{
	struct page p = { .text = NULL };
	double end;
	int first = 0;
	bool go_on = true, stale = false;
	SCREEN *screen;
	struct err err;

	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		err_set(&err, ERR_FAILED, "top", "set TERM, or: kvpoolctl top | cat",
			"the terminal %.64s is not known", getenv("TERM") ?: "");
		return ctl_fail(ctl, &err);
	}
	prepare();
	while (go_on) {
		end = sample_now() + INTERVAL;
		draw(ctl, t, LINES > 3 ? (unsigned int)LINES : 1, &p);
		do {
			paint(&p, &first, stale);
			go_on = handle_key(end, &first);
		} while (go_on && sample_now() < end);
		stale = go_on && top_take(t, &err) && err.code != ERR_NOT_FOUND;
	}
	endwin();
	delscreen(screen);
	free(p.text);
	return EXIT_DONE;
}

/* --- the command ----------------------------------------------------------------------- */

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct top *t;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ret = ctl_args(ctl, argc, 0, 1);
	if (ctl->json)
		return ctl_usage(ctl, "top is for people; iostat, status and events have its "
				      "figures with -j");
	t = top_new(ret ? argv[optind] : NULL);
	if (top_take(t, &err))
		ret = ctl_fail(ctl, &err);
	else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		ret = watch(ctl, t);
	else
		ret = print_once(ctl, t);
	top_free(t);
	return ret;
}

const struct command cmd_top = {
	.name = "top",
	.purpose = "pools at work, on a terminal that one leaves open",
	.args = "[POOL]",
	.about = "Shows one or all running pools, their vdevs and legs, again each second: "
		"requests, bytes and mean times of the last second, hits of the caches, and data "
		"that is not home yet. It also shows how far a scrub, a resilver, a trim or a "
		"drain is and how long it will take, and the last events. q quits; the arrow keys "
		"scroll. In a pipe it prints the rates of one second, once.",
	.more = "BUSY is the share of the time in which a leg had a request; ERRORS adds up those "
		"of reads, writes and checksums. The time that is left is an estimate, by the pace "
		"since top was started. The first view has the mean rates since the pool was "
		"started. It takes no -j: iostat, status and events do.",
	.example = "kvpoolctl top tank",
	.run = run,
};
