// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl status: the health of pools, in detail. */
#include "advice.h"
#include "cache_lines.h"
#include "foreign_note.h"
#include "idle.h"
#include "layout_tree.h"
#include "spare_devices.h"
#include "pool_object.h"

#define MAX_PLACES	64

struct view {
	bool verbose, only_troubled;
	/* where to search for pools that do not run; none: everywhere */
	const char *places[MAX_PLACES];
	unsigned int place_count;
};

static void print_scrub(json_object *pool)
{
	const char *state = json_text_at(pool, "scrub.state");
	u64 done = json_number_at(pool, "scrub.done"), total = json_number_at(pool, "scrub.total");

	printf("    scrub: %s", state);
	if (!strcmp(state, "running") || !strcmp(state, "paused"))
		printf(", %" PRIu64 " %% of %" PRIu64 " blocks", total ? done * 100 / total : 0,
		       total);
	else if (json_at(pool, "scrub.finished"))
		printf(" %s", json_text_at(pool, "scrub.finished"));
	if (strcmp(state, "none"))
		printf(", healed %" PRIu64 ", unrepaired %" PRIu64,
		       json_number_at(pool, "scrub.healed"),
		       json_number_at(pool, "scrub.unrepaired"));
	putchar('\n');
}

/* Only while a leg resilvers, or after one did. */
static void print_resilver(const struct ctl *ctl, json_object *pool)
{
	const char *state = json_text_at(pool, "resilver.state");
	u64 done = json_number_at(pool, "resilver.done"),
	    total = json_number_at(pool, "resilver.total"),
	    copied = json_number_at(pool, "resilver.copied"),
	    unread = json_number_at(pool, "resilver.unread");
	char a[SIZE_BUF];

	if (!strcmp(state, "none") && !copied)
		return;
	printf(" resilver: %s", state);
	if (strcmp(state, "none"))
		printf(", %" PRIu64 " %% of %s", total ? done * 100 / total : 0,
		       ctl_size(ctl, total, a));
	printf(", %s copied since the start", ctl_size(ctl, copied, a));
	if (unread)
		printf(", %s that no leg in sync can give now", ctl_size(ctl, unread, a));
	putchar('\n');
}

static void print_ranges(json_object *list)
{
	json_object *range;
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		range = json_object_array_get_idx(list, i);
		printf("           lba %" PRIu64 ", %" PRIu64 " block(s)\n",
		       json_number_at(range, "lba"), json_number_at(range, "blocks"));
	}
}

/* The number of blocks at @path, in bytes like all other sizes. */
static const char *blocks_at(const struct ctl *ctl, json_object *pool, const char *path,
			     char buf[SIZE_BUF])
{
	return ctl_size(ctl, json_number_at(pool, path) * KVP_BLOCK_SIZE, buf);
}

static void print_ssd_counts(const struct ctl *ctl, json_object *pool)
{
	char a[SIZE_BUF], b[SIZE_BUF], c[SIZE_BUF], d[SIZE_BUF];
	char e[SIZE_BUF], f[SIZE_BUF], g[SIZE_BUF];

	printf("  refused: by the SSD cache: %s seen too seldom, %s of streams, %s for want of "
	       "budget, %s of memory, %s of log, %s changed\n",
	       blocks_at(ctl, pool, "cache.refused.evidence", a),
	       blocks_at(ctl, pool, "cache.refused.stream", b),
	       blocks_at(ctl, pool, "cache.refused.budget", c),
	       blocks_at(ctl, pool, "cache.refused.memory", d),
	       blocks_at(ctl, pool, "cache.refused.log", e),
	       blocks_at(ctl, pool, "cache.refused.changed", f));
	printf("  written: to each SSD %s of users, %s of headers, %s of parity, %s filled, "
	       "%s reinserted, %s renewed, %s of table; %.2f times the data of users there\n",
	       ctl_size(ctl, json_number_at(pool, "cache.written.data"), a),
	       ctl_size(ctl, json_number_at(pool, "cache.written.headers"), b),
	       ctl_size(ctl, json_number_at(pool, "cache.written.parity"), c),
	       ctl_size(ctl, json_number_at(pool, "cache.written.fills"), d),
	       ctl_size(ctl, json_number_at(pool, "cache.written.reinserted"), e),
	       ctl_size(ctl, json_number_at(pool, "cache.written.renewed"), f),
	       ctl_size(ctl, json_number_at(pool, "cache.written.table"), g),
	       (double)json_number_at(pool, "cache.amplification") / 100);
}

/* Counters since the start. */
static void print_counts(const struct ctl *ctl, json_object *pool)
{
	char a[SIZE_BUF], b[SIZE_BUF], c[SIZE_BUF], d[SIZE_BUF];

	printf("  flushes: %" PRIu64 "; half took %.3f ms at most, 99 %% %.3f, 99.9 %% %.3f\n",
	       json_number_at(pool, "flush.count"),
	       (double)json_number_at(pool, "flush.p50_us") / 1e3,
	       (double)json_number_at(pool, "flush.p99_us") / 1e3,
	       (double)json_number_at(pool, "flush.p999_us") / 1e3);
	printf(" bypassed: the RAM cache: %s of long reads, %s of streams, %s read ahead; "
	       "the log: %s of large writes\n", blocks_at(ctl, pool, "ram.bypassed.long", a),
	       blocks_at(ctl, pool, "ram.bypassed.stream", b),
	       blocks_at(ctl, pool, "ram.bypassed.ahead", c),
	       ctl_size(ctl, json_number_at(pool, "log.bypassed"), d));
	if (json_at(pool, "cache"))
		print_ssd_counts(ctl, pool);
}

static void print_heartbeat(json_object *pool)
{
	u64 left = json_number_at(pool, "heartbeat.left_ms");

	if (!json_at(pool, "heartbeat"))
		return;
	printf("heartbeat: %.1f s ago; ", (double)json_number_at(pool, "heartbeat.age_ms") / 1e3);
	if (left)
		printf("without another one, the pool stops in %.1f s\n", (double)left / 1e3);
	else
		printf("nothing is written any more\n");
}

static void print_head(const struct ctl *ctl, json_object *pool)
{
	char a[SIZE_BUF], b[SIZE_BUF];
	uint64_t uncounted = json_number_at(pool, "uncounted");

	printf("     size: %s, written %s", ctl_size(ctl, json_number_at(pool, "size"), a),
	       ctl_size(ctl, json_number_at(pool, "written"), b));
	/* Some leaves were discarded unread, so the number of their written blocks is unknown. */
	if (uncounted)
		printf(", or up to %s more", ctl_size(ctl, uncounted, a));
	printf("\n");
	printf(" survives: loss of %" PRIu64 " leg(s)\n",
	       json_number_at(pool, "losses_survivable"));
	print_heartbeat(pool);
	printf("   memory: %s used of %s\n", ctl_size(ctl, json_number_at(pool, "ram.used"), a),
	       ctl_size(ctl, json_number_at(pool, "ram.size"), b));
	printf("RAM cache: %s, %" PRIu64 " hit(s), %" PRIu64 " miss(es)\n",
	       ctl_size(ctl, json_number_at(pool, "ram.read_cache"), a),
	       json_number_at(pool, "ram.hits"), json_number_at(pool, "ram.misses"));
	printf("      log: %s used of %s%s\n", ctl_size(ctl, json_number_at(pool, "log.used"), a),
	       ctl_size(ctl, json_number_at(pool, "log.size"), b),
	       strcmp(json_text_at(pool, "log.on"), "cache") ? "" : ", on the cache");
	if (json_at(pool, "cache"))
		cache_lines(ctl, pool, stdout);
	printf(" recovery: last %" PRIu64 " ms, at most about %" PRIu64 " ms\n",
	       json_number_at(pool, "recovery.last_ms"),
	       json_number_at(pool, "recovery.worst_case_ms"));
}

/* Details that only the pool itself knows. */
static void print_details(const struct ctl *ctl, json_object *pool, const struct view *view)
{
	u64 poisoned = json_number_at(pool, "poisoned_total");

	print_head(ctl, pool);
	print_scrub(pool);
	print_resilver(ctl, pool);
	if (view->verbose && json_number_at(pool, "resilver.unread"))
		print_ranges(json_at(pool, "resilver.skipped"));
	printf(" poisoned: %" PRIu64 " block(s)\n", poisoned);
	if (view->verbose) {
		print_ranges(json_at(pool, "poisoned"));
		printf("  commits: %" PRIu64 ", flushes %" PRIu64 ", lsn %" PRIu64
		       ", checkpoint %" PRIu64 ", epoch %" PRIu64 "\n",
		       json_number_at(pool, "log.commits"), json_number_at(pool, "log.flushes"),
		       json_number_at(pool, "log.lsn"), json_number_at(pool, "checkpoint"),
		       json_number_at(pool, "epoch"));
		print_counts(ctl, pool);
		printf("  comment: %s\n", json_text_at(pool, "comment"));
	}
	putchar('\n');
	layout_tree(ctl, pool, view->verbose, stdout);
	putchar('\n');
}

static void print_foreign_of(json_object *pool, json_object *legs, const char *word)
{
	size_t i, n = legs ? json_object_array_length(legs) : 0;
	char buf[FOREIGN_TEXT];
	const char *text;

	for (i = 0; i < n; i++) {
		text = foreign_text(json_object_array_get_idx(legs, i), word, buf);
		if (text && strcmp(text, json_text_at(pool, "advice")))
			printf("     note: %s\n", text);
	}
}

/* Signatures of other tools that the advice does not name. */
static void print_foreign(json_object *pool)
{
	json_object *legs = pool_legs(pool);

	print_foreign_of(pool, legs, "leg");
	print_foreign_of(pool, json_at(pool, "spares"), "spare");
	json_object_put(legs);
}

static void print_pool(const struct ctl *ctl, json_object *pool, const struct view *view)
{
	printf("     pool: %s\n", json_text_at(pool, "name"));
	printf("     uuid: %s\n", json_text_at(pool, "uuid"));
	printf("    state: %s%s\n", json_text_at(pool, "state"),
	       json_flag_at(pool, "readonly") ? ", read-only" : "");
	if (json_at(pool, "vdevs"))
		print_details(ctl, pool, view);
	print_foreign(pool);
	if (json_at(pool, "advice"))
		printf("   advice: %s\n", json_text_at(pool, "advice"));
}

static int collect(struct ctl *ctl, const char *name, struct dm_entry **list, unsigned int *count)
{
	struct err err;

	if (!name)
		return dm_list(list, count, &err) ? ctl_fail(ctl, &err) : 0;
	*list = calloc(1, sizeof(**list));
	*count = 1;
	if (*list && !dm_find(name, *list, &err))
		return 0;
	free(*list);
	return ctl_fail(ctl, &err);
}

/* The worst pool comes last, so its advice ends the output. */
static int by_health(const void *a, const void *b)
{
	json_object *x = *(json_object *const *)a, *y = *(json_object *const *)b;
	int ret = (int)advice_exit(x) - (int)advice_exit(y);

	if (!ret)
		ret = !!json_at(x, "advice") - !!json_at(y, "advice");
	return ret ?: strcmp(json_text_at(x, "name"), json_text_at(y, "name"));
}

/* A pool that does not run comes last: that is the worst. @more: other pools stand above. */
static void print_idle(json_object *idle, bool more)
{
	json_object *o;
	size_t i;

	for (i = 0; idle && i < json_object_array_length(idle); i++) {
		o = json_object_array_get_idx(idle, i);
		printf("%s     pool: %s\n     uuid: %s\n    state: not running\n"
		       "   advice: %s: %s\n",
		       i || more ? "\n" : "", json_text_at(o, "name"), json_text_at(o, "uuid"),
		       json_text_at(o, "why"), json_text_at(o, "mend"));
	}
}

static const char *all_is_well(size_t idle, unsigned int running, bool only_troubled)
{
	if (idle)
		return running ? "the running pools have no faults" : "no pool is active";
	return only_troubled && running ? "all pools are healthy" : "no pool is active";
}

static void print_all(const struct ctl *ctl, json_object *pools, json_object *idle,
		      unsigned int running,
		      const struct view *view)
{
	size_t i, n = json_object_array_length(pools);
	size_t stopped = idle ? json_object_array_length(idle) : 0;

	if (!n)
		ctl_say(ctl, "%s", all_is_well(stopped, running, view->only_troubled));
	json_object_array_sort(pools, by_health);
	for (i = 0; i < n; i++) {
		if (i)
			putchar('\n');
		print_pool(ctl, json_object_array_get_idx(pools, i), view);
	}
	print_idle(idle, n);
}

/* The worse of two statuses: 5 and 4 are about a pool's health, the others about this command. */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

static void parse(struct ctl *ctl, int argc, char **argv, struct view *view)
{
	int c;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		view->verbose |= c == 'v';
		view->only_troubled |= c == 'x';
		if (c != 'd')
			continue;
		if (view->place_count == MAX_PLACES)
			exit(ctl_usage(ctl, "too many -d"));
		view->places[view->place_count++] = optarg;
	}
	if (ctl_args(ctl, argc, 0, 1) && view->place_count)
		exit(ctl_usage(ctl, "-d is for pools that do not run, and goes with no name"));
}

/* The first of them is the advice, if the pool has no worse fault. */
static void advise_foreign(json_object *pool, json_object *legs, const char *word)
{
	size_t i, n = legs ? json_object_array_length(legs) : 0;
	char buf[FOREIGN_TEXT];
	const char *text;

	for (i = 0; i < n && !json_at(pool, "advice"); i++) {
		text = foreign_text(json_object_array_get_idx(legs, i), word, buf);
		if (text)
			json_text(pool, "advice", text);
	}
}

/*
 * May another tool take a leg or a spare for its own? By now it is known what stands beside the
 * pools, which the advice may name.
 */
static void advise(json_object *pools)
{
	json_object *pool, *legs;
	size_t i;

	for (i = 0; i < json_object_array_length(pools); i++) {
		pool = json_object_array_get_idx(pools, i);
		legs = pool_legs(pool);
		foreign_note(legs);
		foreign_note(json_at(pool, "spares"));
		advice_set(pool);
		advise_foreign(pool, legs, "leg");
		advise_foreign(pool, json_at(pool, "spares"), "spare");
		json_object_put(legs);
	}
}

/* Has a spare gone? */
static void look_for_spares(json_object *pools)
{
	size_t i;

	for (i = 0; i < json_object_array_length(pools); i++)
		spares_advise(json_object_array_get_idx(pools, i));
}

/* With -x only pools with an advice are shown. */
static void leave_out_healthy(json_object *pools)
{
	size_t i = json_object_array_length(pools);

	while (i--)
		if (!json_at(json_object_array_get_idx(pools, i), "advice"))
			json_object_array_del_idx(pools, i, 1);
}

/* Describes each pool of @list in @pools; *@failed: some of them could not be asked. */
static int describe(struct ctl *ctl, const struct dm_entry *list, unsigned int count,
		    json_object *pools, bool *failed)
{
	json_object *pool;
	unsigned int i;
	struct err err;
	int health = 0;

	for (i = 0; i < count; i++) {
		pool = pool_describe(&list[i], &err);
		if (!pool) {
			health = worse(health, ctl_fail_on(ctl, &err, failed));
			continue;
		}
		health = worse(health, advice_exit(pool));
		json_object_array_add(pools, pool);
	}
	return health;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	json_object *root = json_root(), *pools = json_list(root, "pools"), *idle = NULL;
	struct view view = { 0 };
	struct dm_entry *list = NULL;
	unsigned int count = 0;
	const char *name;
	struct err err;
	int ret, health;
	bool failed = false;

	parse(ctl, argc, argv, &view);
	name = optind < argc ? argv[optind] : NULL;
	ret = collect(ctl, name, &list, &count);
	if (ret)
		return ret;
	health = describe(ctl, list, count, pools, &failed);
	spares_note(pools, view.places, view.place_count);
	advise(pools);
	look_for_spares(pools);
	if (view.only_troubled)
		leave_out_healthy(pools);
	free(list);
	if (!name) {
		idle = json_list(root, "not_running");
		if (idle_find(view.places, view.place_count, idle, &err)) {
			health = worse(health, ctl_fail_on(ctl, &err, &failed));
		} else if (json_object_array_length(idle)) {
			health = worse(health, EXIT_FAULTED);
		}
	}
	if (ctl->json && !failed) {
		ctl_json(root);
		return health;
	}
	if (!ctl->json && !(failed && !json_object_array_length(pools)))
		print_all(ctl, pools, idle, count, &view);
	json_object_put(root);
	return health;
}

static const struct ctl_option options[] = {
	{ 'v', NULL, NULL,
	  "more: sizes, which vdev has the log, UUIDs, lost blocks, and counters: flush times, "
	  "data that bypassed the caches, with the reason, and data written to the SSDs, with the "
	  "cause" },
	{ 'x', NULL, NULL, "only pools for which there is advice" },
	{ 'd', NULL, "DIR|DEV",
	  "search there for pools that do not run, not on all block devices" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_status = {
	.name = "status",
	.purpose = "health of pools, and what to do about faults",
	.args = "[-v] [-x] [-d DIR|DEV]... [POOL]",
	.about = "Shows the health of one or all running pools in detail, with the legs drawn "
		"below their vdevs. The worst pool comes last. If it has a fault, the last line is "
		"advice. Without POOL it also shows pools that do not run although they were "
		"neither exported nor destroyed. Exit status: 4 degraded, poisoned or unrepaired; "
		"5 faulted, suspended or not running.",
	.more = "With -v it also lists the blocks that are lost, and those that a resilver has "
		"skipped because no leg could give them, as ranges. "
		"With -x the output also has advice about things that are no fault, such as "
		"repaired errors, a leg in use that is being replaced, or a leg that is much "
		"slower than the others. The exit status stays 0 then.",
	.example = "kvpoolctl status -v tank\n"
		"kvpoolctl status -x > /run/pools || mail -s storage root < /run/pools",
	.options = options,
	.run = run,
};
