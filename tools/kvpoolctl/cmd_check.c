// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl check: verify a whole pool without the module. */
#include "check.h"
#include "columns.h"
#include "foreign_note.h"
#include "opened.h"

static void print_legs(json_object *legs)
{
	static const struct column list[] = {
		{ .title = "LEG" }, { .title = "STATE" }, { "LOG", true, 0 }, { "TABLE", true, 0 },
		{ "BLOCKS", true, 0 }, { "UNREAD", true, 0 }
	};
	struct columns *table = columns_new(list, 6);
	json_object *l;
	size_t i;

	for (i = 0; i < json_object_array_length(legs); i++) {
		l = json_object_array_get_idx(legs, i);
		columns_row(table);
		columns_text(table, json_text_at(l, json_at(l, "path") ? "path" : "uuid"));
		columns_text(table, json_text_at(l, "state"));
		columns_text(table, json_text_at(l, "log_bad"));
		columns_text(table, json_text_at(l, "pages_bad"));
		columns_text(table, json_text_at(l, "blocks_bad"));
		columns_text(table, json_text_at(l, "read_errors"));
	}
	columns_print(table, "  ", stdout);
}

static void print_faults(json_object *list)
{
	json_object *f;
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		f = json_object_array_get_idx(list, i);
		printf("         %s: %s\n", json_text_at(f, "path"), json_text_at(f, "why"));
	}
}

/* The log, the table, the blocks and the cache. */
static void print_contents(json_object *o)
{
	printf("    log: %s, %" PRIu64 " entries: data %" PRIu64 ", intents %" PRIu64
	       ", discards %" PRIu64 "\n", json_text_at(o, "log.state"),
	       json_number_at(o, "log.entries"), json_number_at(o, "log.data"),
	       json_number_at(o, "log.intents"), json_number_at(o, "log.discards"));
	if (json_at(o, "log.why"))
		printf("         %s\n", json_text_at(o, "log.why"));
	print_faults(json_at(o, "log.bad"));
	printf("  table: %" PRIu64 " pages good, %" PRIu64 " lost\n",
	       json_number_at(o, "table.pages_good"), json_number_at(o, "table.pages_lost"));
	printf(" blocks: %" PRIu64 " valid, %" PRIu64 " in the log, %" PRIu64 " unwritten, %"
	       PRIu64 " torn, %" PRIu64 " poisoned, %" PRIu64 " unrepaired, %" PRIu64
	       " unread\n",
	       json_number_at(o, "blocks.valid"), json_number_at(o, "blocks.in_log"),
	       json_number_at(o, "blocks.unwritten"), json_number_at(o, "blocks.torn"),
	       json_number_at(o, "blocks.poisoned"), json_number_at(o, "blocks.unrepaired"),
	       json_number_at(o, "blocks.unread"));
	check_print_damage(o);
	if (json_at(o, "cache"))
		printf("  cache: %" PRIu64 " clean copies verified, %" PRIu64 " rotten%s\n",
		       json_number_at(o, "cache.clean"), json_number_at(o, "cache.clean_bad"),
		       json_number_at(o, "cache.clean_bad") ?
		       ": no loss, home is read instead" : "");
}

static void print_result(json_object *o)
{
	printf("   pool: %s\n   uuid: %s\n", json_text_at(o, "pool"), json_text_at(o, "uuid"));
	if (strcmp(json_text_at(o, "log.state"), "unread"))
		print_contents(o);
	else
		printf("    log: not read, nor the table and blocks: too few legs were given\n");
	printf("   faults on each leg:\n");
	print_legs(json_at(o, "legs"));
	printf(" result: %s\n", json_text_at(o, "result"));
	if (json_at(o, "advice"))
		printf(" advice: %s\n", json_text_at(o, "advice"));
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	json_object *root, *o;
	struct scan s;
	struct err err;
	int n, status;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	n = ctl_args(ctl, argc, 1, KVP_MAX_LEGS);
	if (opened_scan(argv + optind, n, &s, &err))
		return ctl_fail(ctl, &err);
	o = check_object(ctl, &s, &status, &err);
	scan_free(&s);
	if (!o)
		return ctl_fail(ctl, &err);
	foreign_note(json_at(o, "legs"));
	foreign_say(ctl, json_at(o, "legs"), "leg");
	if (ctl->json) {
		root = json_root();
		json_object_object_add(root, "check", o);
		ctl_json(root);
		return status;
	}
	if (!ctl->quiet)
		print_result(o);
	json_object_put(o);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.purpose = "verify a whole pool, offline and read-only",
	.args = "DEV...",
	.about = "Verifies a pool that does not run, from its legs or images of them. It replays "
		"the log in memory, then compares every block on every leg with its current "
		"version. Name the SSDs of a cache, too: they may have the only copy of data. It "
		"only reads, and needs no module. Exit status: 4 data is damaged or missing, or "
		"newer data may be on legs that were not named; 5 the pool would not start.",
	.more = "The parity of a parity1 is compared with its data. A block that is damaged or "
		"missing on one leg counts as valid if the other legs give it, and the leg is "
		"reported. If the log is on the cache and too few of its SSDs are named, check "
		"names the SSDs that it needs, and verifies nothing. A clean block of a cache is "
		"at home as well, so check counts a rotten copy in the cache, but does not call it "
		"a fault.",
	.example = "kvpoolctl check /dev/sdb /dev/sdc",
	.run = run,
};
