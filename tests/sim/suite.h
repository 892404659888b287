/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests, and the options of the command line. */
#ifndef SIM_SUITE_H
#define SIM_SUITE_H

#include "check.h"

struct options {
	u64 seed;
	/* run the case of this name; if there is none, those whose names contain this; NULL: all */
	const char *only;
	s64 crash;		/* cut at this position only; -1: at all */
	bool verbose, thorough, keep_going;
	u32 images;		/* the most images at one position */
	u32 rounds;		/* rounds of a random test; 0: the suite's default */
	s64 turn;		/* run this turn of a case only (script.h); -1: all */
	u32 share, shares;	/* run part @share of @shares of the cases; shares 0: all */
	bool list;		/* print the names of the cases, and run none */
	bool first;		/* end at the first failure */
	u32 levels;		/* the least number of table levels in the pools of all suites */
	enum sabotage sabotage;
	const char *dump;	/* folder for images of crashes, and the recovered contents */
	/* how often an image is started with faults before it is checked */
	u32 faults;
	u32 dump_most;		/* the most crashes to dump; 0: the default */
};

extern struct options opt;

/** sim_turn - the turn of a case that runs now, for print_replay(); -1: none does */
extern s64 sim_turn;

struct totals {
	u32 passed, failed;
};

extern struct totals totals;

/** wanted() - true if this case must run. Called once for each case, with its whole name. */
bool wanted(const char *name);
/**
 * print_replay() - print the command that runs this case again, with this program and these options
 * @crash: position of the cut; -1: all positions
 */
void print_replay(FILE *to, const char *name, s64 crash);
/** result() - count a result. Print it if it is bad, or --verbose; print_replay() a failure */
void result(const char *name, bool good);
/**
 * expect() - in a unit test: print the text if the condition is false
 *
 * Return: the condition. A test that ignores it could not fail, so the compiler refuses it.
 */
#define expect(c, ...) as_expected((c) || unexpected(__FILE__, __LINE__, __VA_ARGS__))
static inline bool __attribute__((warn_unused_result)) as_expected(bool good)
{
	return good;
}
/** unexpected() - print the text for expect(). Return: false */
bool __attribute__((format(printf, 3, 4))) unexpected(const char *file, int line, const char *why,
						      ...);

/* A pool to begin with, made once: disks with some blocks written and home. */
#define POOL_LEG_BLOCKS	2304u	/* 9 MiB: 512 blocks of data */
/**
 * sim_least_levels - the least number of table levels in new pools
 *
 * It is opt.levels. It is higher only in the suites deep and resilver, also in those parts of deep
 * that are in files of other suites.
 */
extern u32 sim_least_levels;
/**
 * deep_name() - a test's name with the depth of its tables before it, if that is more than one
 *
 * Valid until the next call.
 */
const char *deep_name(const char *name);

/** sim_old_sums - new pools are as those of older modules: sums of blocks contain no fold */
extern bool sim_old_sums;
/** choose_sums() - let one run of @suite in four, by the seed, make pools with old sums */
void choose_sums(const char *suite);
/**
 * same_sum() - fill @b with contents that differ from @a, and have the same sum
 * @at: a byte that differs, below 2000
 *
 * As sums are linear, that holds for any seed. It holds with the fold and without it.
 */
void same_sum(const u8 *a, u8 *b, u32 at);

#define POOL_BLOCKS	512u
#define LARGE_BLOCKS	4096u	/* the least; legs of such a pool are three times as large */

struct base {
	struct image img[MAX_DISKS];
	struct oracle o;
	u32 legs, levels;
	bool old_sums, parity, second_parity;
	u32 second, cache;
	u64 log_start, log_blocks, data_start;
};

/** base_pool() - a single, or a mirror of 2 or 3 legs; with @strict large writes are logged, too */
const struct base *base_pool(u32 legs, bool strict);
/** base_parity() - a parity1 of 3 or 5 legs, with chunks of 4 blocks */
const struct base *base_parity(u32 legs, bool strict);
/**
 * base_two() - a pool of two vdevs, with a cache of one SSD or without
 * @shape: legs and kinds of both vdevs
 */
const struct base *base_two(const struct host_start *shape);
/**
 * base_cache() - a mirror of 2 legs or a parity1 of 3, with a cache: of 1 or 2 SSDs, or more if it
 * is of kind parity1
 */
const struct base *base_cache(const struct host_start *shape);
/**
 * base_for() - the base pool of any of these shapes, also if it has neither parity nor a cache
 *
 * With log_mib it is a strict parity1 of 3 legs, twice as large, with a log of 8 MiB.
 */
const struct base *base_for(const struct host_start *shape);
/** blank_disks() - images of unused devices */
void blank_disks(struct image *img, u32 legs, u32 blocks);

/**
 * cut_everywhere() - cut the trace of the machine that has just ended, and check all images
 * @from: the first position of a cut
 *
 * At each position there is an image for every choice of what survives, up to opt.images.
 */
u32 cut_everywhere(const char *name, struct crash *proto, u32 from, enum check_depth depth);

/** cut_sampled() - the same at about @positions positions, for long traces; ~0u: at each */
u32 cut_sampled(const char *name, struct crash *proto, u32 from, enum check_depth depth,
		u32 positions);

void run_golden(void);
/** run_larger() - a part of run_grow() that is in larger_test.c */
void run_larger(void);
void run_sequences(void);
void run_deep(void);
/** run_deep_sequences() - its part that is in sequences.c */
void run_deep_sequences(void);
/** run_deep_scenarios() - the one in scenarios.c */
void run_deep_scenarios(void);
/** run_lost_pages() - the one in lostpage.c */
void run_lost_pages(void);
void run_parity(void);
/** run_amid() - its part that is in amid.c */
void run_amid(void);
void run_vdevs(void);
/** run_beside() - a part of run_scenarios() that is in beside.c */
void run_beside(void);
/** run_over() - a part of run_scenarios() that is in over.c */
void run_over(void);
/** run_widths() - a part of run_scenarios() that is in widths.c */
void run_widths(void);
/** run_mixed() - its part that is in mixed.c */
void run_mixed(void);
/** run_turns() - and the one in rotation.c */
void run_turns(void);
void run_cache(void);
/** run_lost_ssds() - its part, and one of cachep1, that is in lostssds.c */
void run_lost_ssds(const struct host_start *shape);
void run_scache(void);
void run_spilled(void);
void run_renew(void);
void run_cachep1(void);
void run_chaos(void);
void run_restart(void);
/** run_cacheparity() - a part of run_cachep1() that is in cacheparity.c */
void run_cacheparity(void);
/** run_fills() - its part that is in admission_test.c */
void run_fills(const struct host_start *shape);

/** run_reinserts() - its part that is in reinsert_test.c */
void run_reinserts(const struct host_start *shape);
/** run_cache_sequences() - its part that is in sequences.c */
void run_cache_sequences(void);
void run_stripelog(void);
void run_random(void);
void run_scenarios(void);
void run_discards(void);
void run_resolved(void);
void run_lives(void);
void run_hostile(void);
/** run_tableline() - its part that is in tableline_test.c */
void run_tableline(void);
void run_trouble(void);
void run_sums(void);
/** run_refused() - its part that is in refused_test.c */
void run_refused(void);
void run_unread(void);
void run_grow(void);
void run_matrix(void);
void run_modes(void);
void run_legs(void);
void run_resilver(void);
void run_attach(void);
void run_haste(void);
void run_heartbeat(void);
void run_orders(void);
void run_readonly(void);
void run_slow(void);
void run_changed(void);
void run_shadow(void);
void run_trip(void);
void run_takings(void);
void run_replace(void);
void run_window_changes(void);
void run_stories(void);
void run_suspends(void);
void run_years(void);

/* Parts of the golden suite that live in files of their own. */
bool stripe_example_test(void);
bool stripe_requests_test(void);
bool stripe_home_test(void);
bool stripe_rows_test(void);
bool stripe_wide_rows_test(void);
bool rcache_alone_test(void);
void table_alone_tests(void);
void log_alone_tests(void);
bool scache_alone_test(void);
bool wbuf_alone_test(void);
bool admission_alone_test(void);
bool history_test(void);
bool regions_example_test(void);
bool regions_extents_test(void);
bool regions_property_test(void);
bool regions_hostile_test(void);
bool turns_choice_test(void);
bool turns_share_test(void);
bool log_stripes_test(void);
bool log_stripes_room_test(void);
bool log_reserve_test(void);
bool streams_length_test(void);
bool streams_crowd_test(void);

#endif
