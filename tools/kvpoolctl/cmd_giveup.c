// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl giveup: give up a page of the checksum table that no leg has. */
#include <inttypes.h>
#include <stdlib.h>

#include "event_text.h"
#include "order_plan.h"
#include "pool_object.h"

static int parse_block(const char *text, uint64_t *block, struct err *err)
{
	char *end;

	*block = strtoull(text, &end, 10);
	if (*end || end == text || *text == '-')
		return err_set(err, ERR_USAGE, "giveup",
			       "see block= of the events table_lost and table_silent",
			       "'%s' is not a block number", text);
	return 0;
}

/* --- the plan --------------------------------------------------------------------------- */

/* The newest event that names a page above a block. */
struct named {
	u64 block;
	char event[16];		/* empty: there is none */
	u64 level, blocks;
};

static void note_event(void *arg, u64 seq, u64 seconds, char *text)
{
	struct named *n = arg;
	const char *block, *level, *blocks;
	struct event_text e;

	(void)seq;
	(void)seconds;
	event_text_split(text, &e);
	if (strcmp(e.name, "table_lost") && strcmp(e.name, "table_silent"))
		return;
	block = event_text_field(&e, "block");
	level = event_text_field(&e, "level");
	blocks = event_text_field(&e, "blocks");
	if (!block || !level || !blocks || strtoull(block, NULL, 10) != n->block)
		return;
	snprintf(n->event, sizeof(n->event), "%s", e.name);
	n->level = strtoull(level, NULL, 10);
	n->blocks = strtoull(blocks, NULL, 10);
}

static int check(const struct dm_entry *e, u64 block, struct named *n, struct err *err)
{
	struct stats s;
	u64 size, next = 0;

	n->block = block;
	if (order_writable(e, err) || stats_load(e->name, &s, err))
		return -1;
	size = stats_number(&s, "size") >> KVP_BLOCK_SHIFT;
	stats_free(&s);
	if (block >= size)
		return err_set(err, ERR_REFUSED, e->name,
			       "see the events table_lost and table_silent",
			       "the pool has no such block");
	return event_each(e->name, &next, note_event, n, err);
}

static int dry_run(struct ctl *ctl, const struct dm_entry *e, u64 block, bool force)
{
	json_object *root, *plan;
	struct named n = { 0 };
	char size[SIZE_BUF];
	struct err err;

	if (check(e, block, &n, &err))
		return ctl_fail(ctl, &err);
	plan = order_plan(e, "giveup", &root);
	json_number(plan, "block", block);
	json_flag(plan, "force", force);
	json_text(plan, "event", *n.event ? n.event : NULL);
	if (*n.event) {
		json_number(plan, "level", n.level);
		json_number(plan, "bytes", n.blocks << KVP_BLOCK_SHIFT);
	} else {
		json_text(plan, "level", NULL);
		json_text(plan, "bytes", NULL);
	}
	if (!*n.event)
		return order_plan_print(ctl, root, "would give up the page above block %" PRIu64
					" of pool %s, if no leg has it; no event names such a page "
					"there\n", block, e->name);
	return order_plan_print(ctl, root, "would give up the page of level %" PRIu64
				" above block %" PRIu64 " of pool %s, if no leg has it\n"
				"loses     all that was written below it: %s, at most\n", n.level,
				block, e->name, order_bytes(ctl, n.blocks, size));
}

/* --- the run ------------------------------------------------------------------------------ */

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false;
	char message[64];
	struct dm_entry e;
	uint64_t block;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;
	ctl_args(ctl, argc, 2, 2);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (parse_block(argv[optind + 1], &block, &err))
		return ctl_fail(ctl, &err);
	if (ctl->dry_run)
		return dry_run(ctl, &e, block, force);
	snprintf(message, sizeof(message), "give_up %" PRIu64 "%s", block, force ? " force" : "");
	if (dm_message(e.name, message, NULL, &err))
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "even if a leg that is out may have the page, or one that fails to read it" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_giveup = {
	.name = "giveup",
	.purpose = "give up a page of checksums that is bad in every copy",
	.args = "[-n] [-f] POOL BLOCK",
	.about = "Gives up the page of the checksum table above BLOCK if no leg has a good copy of "
		"it. The event table_lost or table_silent names BLOCK. All blocks below the page "
		"are lost, 1 GiB or 512 GiB of them: they read as errors until each is overwritten "
		"or discarded.",
	.more = "BLOCK counts blocks of 4 KiB. Data that was written there after the loss stays. "
		"Refused while a leg fails to read the page, since that may pass. -f gives it up "
		"all the same if the leg reads other blocks; then also the page of 2 MiB. -n tells "
		"what the last event about BLOCK says. Whether a leg has the page is looked for "
		"only in the run.",
	.example = "kvpoolctl giveup tank 1280000",
	.options = options,
	.dry_run = true,
	.run = run,
};
