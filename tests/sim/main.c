// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	/* A machine that loses power frees nothing; its memory is counted in memory.c. */
	return "detect_leaks=0:detect_stack_use_after_return=0";
}

struct options opt = { .seed = 1, .crash = -1, .images = 6, .levels = 1, .turn = -1 };
s64 sim_turn = -1;
struct totals totals;

/* By name, so that a case stays in its share when others come and go. */
static bool in_share(const char *name)
{
	u32 hash = 2166136261u;		/* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (u8)*name) * 16777619u;
	return !opt.shares || (hash >> 8) % opt.shares == opt.share;
}

/* While it is looked for a case whose whole name is opt.only, no case is wanted. */
static bool looking, only_is_whole;

static bool named(const char *name)
{
	if (!opt.only)
		return true;
	return only_is_whole ? !strcmp(name, opt.only) : strstr(name, opt.only) != NULL;
}

bool wanted(const char *name)
{
	if (looking) {
		only_is_whole |= !strcmp(name, opt.only);
		return false;
	}
	if (!named(name) || !in_share(name))
		return false;
	if (opt.list)
		puts(name);
	return !opt.list;
}

bool unexpected(const char *file, int line, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	fprintf(stderr, "# %s:%d: ", file, line);
	vfprintf(stderr, why, args);
	fputc('\n', stderr);
	va_end(args);
	return false;
}

void print_replay(FILE *to, const char *name, s64 crash)
{
	char program[512];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program));

	fprintf(to, "     replay: %.*s", n > 0 ? (int)n : 3, n > 0 ? program : "sim");
	fprintf(to, " --seed %llu%s", opt.seed, opt.thorough ? " --long" : "");
	fprintf(to, " --levels %u --images %u", opt.levels, opt.images);
	if (opt.faults)
		fprintf(to, " --faults %u", opt.faults);
	if (opt.rounds)
		fprintf(to, " --rounds %u", opt.rounds);
	if (opt.sabotage)
		fprintf(to, " --break %s", sabotage_names[opt.sabotage]);
	fprintf(to, " --only %s", name);
	if (sim_turn >= 0)
		fprintf(to, " --turn %lld", sim_turn);
	if (crash >= 0)
		fprintf(to, " --crash %lld", crash);
	fputc('\n', to);
}

void result(const char *name, bool good)
{
	if (good) {
		totals.passed++;
		if (opt.only)
			printf("ok   %s\n", name);
	} else {
		totals.failed++;
		printf("FAIL %s\n", name);
		if (sim_failure[0])
			printf("     %s\n", sim_failure);
		print_replay(stdout, name, -1);
	}
	fflush(stdout);
	/* With a break, one failure is enough. */
	if (!good && (opt.first || opt.sabotage) && !opt.keep_going) {
		printf("%u passed, %u failed\n", totals.passed, totals.failed);
		exit(1);
	}
}

static const struct suite {
	const char *name;
	void (*run)(void);
} suites[] = {
	{ "golden", run_golden },
	{ "scenarios", run_scenarios },
	{ "discards", run_discards },
	{ "resolved", run_resolved },
	{ "lives", run_lives },
	{ "sequences", run_sequences },
	{ "parity", run_parity },
	{ "vdevs", run_vdevs },
	{ "cache", run_cache },
	{ "scache", run_scache },
	{ "spilled", run_spilled },
	{ "renew", run_renew },
	{ "cachep1", run_cachep1 },
	{ "restart", run_restart },
	{ "stripelog", run_stripelog },
	{ "random", run_random },
	{ "hostile", run_hostile },
	{ "trouble", run_trouble },
	{ "sums", run_sums },
	{ "unread", run_unread },
	{ "grow", run_grow },
	{ "matrix", run_matrix },
	{ "modes", run_modes },
	{ "deep", run_deep },
	{ "legs", run_legs },
	{ "resilver", run_resilver },
	{ "attach", run_attach },
	{ "heartbeat", run_heartbeat },
	{ "orders", run_orders },
	{ "readonly", run_readonly },
	{ "slow", run_slow },
	{ "changed", run_changed },
	{ "shadow", run_shadow },
	{ "chaos", run_chaos },
	{ "stories", run_stories },
	{ "suspends", run_suspends },
	{ "haste", run_haste },
	{ "years", run_years },
	{ "trip", run_trip },
	{ "locks", run_takings },
};

/* @status: 2 for a fault in the command line */
static void usage(int status)
{
	u32 i;

	printf("usage: sim [--seed N] [--only NAME] [--crash K] [--verbose] [--long]\n"
	       "           [--images N] [--rounds N] [--suite NAME] [--break RULE]\n"
	       "           [--share K/N] [--list] [--first] [--keep-going] [--dump FOLDER] "
	       "[--most N]\n           [--levels N] [--faults N] [--turn N] [--help]\n"
	       "  --list          print the names of the cases\n"
	       "  --suite NAME    only this suite\n"
	       "  --only NAME     only this case; if none has this name, those that have it in theirs\n"
	       "  --turn N        of a case only this turn, from 0\n"
	       "  --crash K       cut the power at this position of the trace only\n"
	       "  --seed N        other orders of events and random cases\n"
	       "  --images N      the most images at one position of a cut\n"
	       "  --rounds N      turns of each case\n"
	       "  --levels N      the least number of table levels\n"
	       "  --faults N      starts with faults before an image is looked at\n"
	       "  --share K/N     part K, from 0, of N of the cases\n"
	       "  --break RULE    break a rule; a broken engine is another program\n"
	       "  --first, --keep-going\n"
	       "                  end at the first failure, or do not\n"
	       "  --dump FOLDER   write images and their recovered contents; at most --most N\n"
	       "  --verbose       show requests and messages\n"
	       "  --long          do more of all\n"
	       "suites:");
	for (i = 0; i < ARRAY_SIZE(suites); i++)
		printf(" %s", suites[i].name);
	printf("\nrules:");
	for (i = 1; i < BREAK_KINDS; i++)
		printf(" %s", sabotage_names[i]);
	putchar('\n');
	exit(status);
}

/* For breaks of the disks, run another binary: a broken copy of the engine. */
static void run_broken_engine(char **argv, const char *name)
{
	const char *slash = strrchr(argv[0], '/');
	char path[512], **in, **out;

	snprintf(path, sizeof(path), "%.*sbreak-%s", slash ? (int)(slash + 1 - argv[0]) : 0,
		 argv[0],
		 name);
	for (in = out = argv; *in; in++) {
		if (!strcmp(*in, "--break"))
			in++;
		else if (strncmp(*in, "--break=", 8))
			*out++ = *in;
	}
	*out = NULL;
	execv(path, argv);
	fprintf(stderr, "%s: %m; make %s builds it\n", path, path);
}

static enum sabotage find_sabotage(char **argv, const char *name)
{
	u32 i;

	for (i = 0; i < BREAK_KINDS; i++)
		if (!strcmp(name, sabotage_names[i]))
			return i;
	run_broken_engine(argv, name);
	usage(2);
	return 0;
}

/* "K/N": the cases of share K, from 0, of N. */
static void parse_share(const char *s)
{
	char rest;

	if (sscanf(s, "%u/%u%c", &opt.share, &opt.shares, &rest) != 2 || opt.share >= opt.shares)
		usage(2);
}

static void parse_levels(const char *s)
{
	opt.levels = atoi(s);
	if (!opt.levels || opt.levels > KVP_MAX_LEVELS)
		usage(2);
	sim_least_levels = opt.levels;
}

static const char *parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", 1, 0, 's' }, { "only", 1, 0, 'o' }, { "crash", 1, 0, 'c' },
		{ "verbose", 0, 0, 'v' }, { "long", 0, 0, 'l' }, { "images", 1, 0, 'i' },
		{ "rounds", 1, 0, 'r' }, { "suite", 1, 0, 'u' }, { "break", 1, 0, 'b' },
		{ "keep-going", 0, 0, 'k' }, { "dump", 1, 0, 'd' }, { "most", 1, 0, 'm' },
		{ "share", 1, 0, 'S' }, { "list", 0, 0, 'L' }, { "first", 0, 0, 'f' },
		{ "levels", 1, 0, 'D' }, { "faults", 1, 0, 'F' },
		{ "turn", 1, 0, 't' }, { "help", 0, 0, 'h' }, { 0 }
	};
	const char *suite = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's': opt.seed = strtoull(optarg, NULL, 0); break;
		case 'o': opt.only = optarg; break;
		case 'c': opt.crash = atoll(optarg); break;
		case 'v': opt.verbose = sim_verbose = true; break;
		case 'l': opt.thorough = true; opt.images = 4096; break;
		case 'i': opt.images = atoi(optarg); break;
		case 'r': opt.rounds = atoi(optarg); break;
		case 'u': suite = optarg; break;
		case 'b': opt.sabotage = find_sabotage(argv, optarg); break;
		case 'k': opt.keep_going = true; break;
		case 'd': opt.dump = optarg; break;
		case 'm': opt.dump_most = atoi(optarg); break;
		case 'S': parse_share(optarg); break;
		case 'L': opt.list = true; break;
		case 'f': opt.first = true; break;
		case 't': opt.turn = atoll(optarg); break;
		case 'F': opt.faults = atoi(optarg); break;
		case 'D': parse_levels(optarg); break;
		case 'h': usage(0); break;
		default: usage(2);
		}
	}
	disks.sabotage = opt.sabotage;
	return suite;
}

static bool is_in(const struct suite *s, const char *suite)
{
	return !suite || !strcmp(suite, s->name);
}

/* A whole name stands for that case alone, also if other names begin with it. */
static void look_for_only(const char *suite)
{
	u32 i;

	looking = opt.only != NULL;
	for (i = 0; looking && i < ARRAY_SIZE(suites); i++)
		if (is_in(&suites[i], suite))
			suites[i].run();
	looking = false;
}

int main(int argc, char **argv)
{
	const char *suite = parse(argc, argv);
	u32 i;

	look_for_only(suite);
	for (i = 0; i < ARRAY_SIZE(suites); i++) {
		struct totals before = totals;
		clock_t start = clock();

		if (!is_in(&suites[i], suite))
			continue;
		choose_sums(suites[i].name);
		suites[i].run();
		if (totals.passed + totals.failed != before.passed + before.failed)
			printf("# %s: %u passed, %u failed, %.1f s\n", suites[i].name,
			       totals.passed - before.passed, totals.failed - before.failed,
			       (double)(clock() - start) / CLOCKS_PER_SEC);
	}
	if (opt.list)
		return 0;
	printf("# %llu machines, %llu crash images (%llu more were duplicates), %llu second "
	       "crashes, %llu task switches\n",
	       check_stats.machines, check_stats.images, check_stats.duplicates,
	       check_stats.recrashes, sim_switches);
	if (opt.faults)
		printf("# %llu starts with faults, %llu of them succeeded\n", check_stats.ill,
		       check_stats.ill_served);
	printf("%u passed, %u failed\n", totals.passed, totals.failed);
	return totals.failed || !totals.passed;
}
