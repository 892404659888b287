/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests, and the options of the command line. */
#ifndef SIM_SUITE_H
#define SIM_SUITE_H

#include "check.h"

struct options {
	u64 seed;
	const char *only;	/* names that contain this; all with NULL */
	s64 crash;		/* only this position; -1: all */
	bool verbose, thorough, keep_going;
	u32 images;		/* images at one position, at most */
	u32 rounds;		/* of random tests; 0: the suite's default */
	u32 share, shares;	/* share @share of @shares of the cases, by name; 0: all */
	bool list;		/* print the names of the cases, and run none */
	bool first;		/* end at the first failure */
	u32 levels;		/* least number of table levels, of the pools of all suites */
	enum sabotage sabotage;
	const char *dump;	/* folder for images of crashes, and the recovered contents */
	/* so many times: a start with faults first, then all that is looked at */
	u32 faults;
	u32 dump_most;		/* number of crashes; 0: the default */
};

extern struct options opt;

struct totals {
	u32 passed, failed;
};

extern struct totals totals;

/** wanted() - true if this case must run. Called once for each case, with its whole name. */
bool wanted(const char *name);
/**
 * print_replay() - the command line that runs this case again, with this program and these options
 * @crash: only this position of the cut, or -1
 */
void print_replay(FILE *to, const char *name, s64 crash);
/** result() - count and, if bad or verbose, print; of a failure also print_replay() */
void result(const char *name, bool good);
/**
 * expect() - in a unit test: print the text if the condition is false
 *
 * Return: whether it is. A test that drops that passes whatever was expected, and is not compiled.
 */
#define expect(c, ...) as_expected((c) || unexpected(__FILE__, __LINE__, __VA_ARGS__))
static inline bool __attribute__((warn_unused_result)) as_expected(bool good)
{
	return good;
}
/** unexpected() - of expect(); false */
bool __attribute__((format(printf, 3, 4))) unexpected(const char *file, int line, const char *why,
						      ...);

/* A pool to begin with, made once: disks with some blocks written and home. */
#define POOL_LEG_BLOCKS	2304u	/* 9 MiB: 512 blocks of data */
/**
 * sim_least_levels - the least number of table levels in new pools
 *
 * opt.levels, and more only in the suite deep, in its parts in files of other suites, and in
 * resilver.
 */
extern u32 sim_least_levels;
/**
 * deep_name() - of a test, and how deep its tables are, if more than one level; until the next call
 */
const char *deep_name(const char *name);

/**
 * same_sum() - fill @b with contents that differ from @a and have the same sum, for any seed:
 * crc32c is linear
 */
void same_sum(const u8 *a, u8 *b);

#define POOL_BLOCKS	512u
#define LARGE_BLOCKS	4096u	/* at least; on legs three times as large */

struct base {
	struct image img[MAX_DISKS];
	struct oracle o;
	u32 legs, levels;
	bool parity, second_parity;
	u32 second, cache;
	u64 log_start, log_blocks, data_start;
};

/** base_pool() - for 1 to 3 legs; strict: large writes are logged too */
const struct base *base_pool(u32 legs, bool strict);
/** base_parity() - a parity1 of 3 or 5 legs with chunks of 4 blocks */
const struct base *base_parity(u32 legs, bool strict);
/**
 * base_two() - of two vdevs: shaped as @shape says, which tells legs and kinds of both; and a cache
 * of 1, or none
 */
const struct base *base_two(const struct host_start *shape);
/**
 * base_cache() - of a mirror of 2 legs, or a parity1 of 3, and a cache of 1 or 2, or one of kind
 * parity1 of more
 */
const struct base *base_cache(const struct host_start *shape);
/** base_parity_long_log() - of 3 legs, strict, twice as large, with a log of 8 MiB */
const struct base *base_parity_long_log(void);
/** blank_disks() - images of unused devices */
void blank_disks(struct image *img, u32 legs, u32 blocks);

/**
 * cut_everywhere() - the trace of a machine that has just ended: cut it at
 * every position from @from on, every choice of what survives (as far as
 * opt.images allows), and check
 */
u32 cut_everywhere(const char *name, struct crash *proto, u32 from, enum check_depth depth);

/** cut_sampled() - the same at about that many positions, for long traces; ~0u: at each */
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
void run_lives(void);
void run_hostile(void);
/** run_tableline() - its part that is in tableline_test.c */
void run_tableline(void);
void run_trouble(void);
void run_unread(void);
void run_grow(void);
void run_modes(void);
void run_legs(void);
void run_resilver(void);
void run_attach(void);
void run_heartbeat(void);
void run_changed(void);
void run_shadow(void);
void run_trip(void);
void run_takings(void);
void run_replace(void);

/* Parts of the golden suite that live in files of their own. */
bool stripe_example_test(void);
bool stripe_requests_test(void);
bool stripe_home_test(void);
bool stripe_rows_test(void);
bool stripe_wide_rows_test(void);
bool rcache_alone_test(void);
void table_alone_tests(void);
bool scache_alone_test(void);
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
