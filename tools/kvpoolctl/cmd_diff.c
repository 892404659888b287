// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl diff: which parts of a pool changed since a checkpoint. */
#include <errno.h>

#include "since.h"
#include "stats.h"

#define SINCE	1

struct range {
	u64 first, count;
};

struct diff {
	struct dm_entry e;
	const char *since;
	char next[KVP_POINT_LEN];
	char *uuid;
	u64 blocks;		/* of the pool */
	struct range *list;
	size_t count, room;
};

/* --- the module's answers ---------------------------------------------------------------- */

static int odd(const struct diff *d, struct err *err)
{
	return err_set(err, ERR_KERNEL, d->e.name, "see kvpoolctl version: module and tool belong "
		       "together",
		       "the module's answer makes no sense");
}

static int add(struct diff *d, u64 first, u64 count, struct err *err)
{
	struct range *last = d->count ? &d->list[d->count - 1] : NULL;
	struct range *more;
	size_t room;

	if (!count || first > d->blocks || count > d->blocks - first ||
	    (last && first < last->first + last->count))
		return odd(d, err);
	if (last && last->first + last->count == first) {
		last->count += count;
		return 0;
	}
	if (d->count == d->room) {
		room = d->room ? 2 * d->room : 1024;
		more = reallocarray(d->list, room, sizeof(*more));
		if (!more)
			return err_set(err, ERR_FAILED, d->e.name, "free some memory",
				       "out of memory");
		d->list = more;
		d->room = room;
	}
	d->list[d->count++] = (struct range){ first, count };
	return 0;
}

/* The lines of one answer. 0: there are more from *@from on; 1: these were all; -1: failed. */
static int take(struct diff *d, const char *text, u64 *from, struct err *err)
{
	u64 first, count;
	int end;

	for (; sscanf(text, "%" SCNu64 " %" SCNu64 "%n", &first, &count, &end) == 2; text += end)
		if (add(d, first, count, err))
			return -1;
	text += strspn(text, "\n");
	if (!strcmp(text, "end\n"))
		return 1;
	end = 0;
	if (sscanf(text, "next %" SCNu64 "%n", &first, &end) != 1 || strcmp(text + end, "\n") ||
	    first <= *from)
		return odd(d, err);
	*from = first;
	return 0;
}

static int ask(struct diff *d, u64 from, char **text, struct err *err)
{
	char message[64];

	snprintf(message, sizeof(message), "changed %s %" PRIu64, d->since, from);
	return dm_message(d->e.name, message, text, err);
}

/* Is the checkpoint one that the module can tell from? That is asked before anything goes home. */
static int check(struct diff *d, struct err *err)
{
	struct stats s;
	char *text;

	if (stats_load(d->e.name, &s, err))
		return -1;
	d->blocks = stats_number(&s, "size") >> KVP_BLOCK_SHIFT;
	d->uuid = strdup(stats_text(&s, "uuid") ?: "");
	stats_free(&s);
	if (!d->uuid || ask(d, d->blocks, &text, err))
		return -1;
	free(text);
	return 0;
}

/* Write home what waits, and take the point from which the next one is to go on. */
static int point(struct ctl *ctl, struct diff *d, struct err *err)
{
	struct kvp_point p;
	char *text;
	int ret;

	ctl_busy(ctl, "writing home what waits in the log");
	ret = dm_message(d->e.name, "point", &text, err);
	ctl_busy_end();
	if (ret)
		return -1;
	text[strcspn(text, "\n")] = 0;
	ret = kvp_point_parse(text, &p);
	free(text);
	if (ret || !p.tagged)
		return odd(d, err);
	kvp_point_print(p.era, p.tag, d->next);
	return 0;
}

static int walk(struct ctl *ctl, struct diff *d, struct err *err)
{
	u64 from = 0;
	char *text;
	int ret;

	do {
		if (ask(d, from, &text, err))
			return -1;
		ret = take(d, text, &from, err);
		free(text);
		ctl_progress(ctl, "diff", from, d->blocks);
	} while (!ret);
	ctl_progress(ctl, "diff", 0, 0);
	return ret < 0 ? -1 : 0;
}

/* --- output ------------------------------------------------------------------------------- */

static void print_json(const struct diff *d)
{
	json_object *root = json_root(), *o = json_child(root, "diff"), *list, *range;
	u64 changed = 0;
	size_t i;

	json_text(o, "pool", d->e.name);
	json_text(o, "uuid", d->uuid);
	json_text(o, "since", d->since);
	json_text(o, "next", d->next);
	json_number(o, "size", d->blocks << KVP_BLOCK_SHIFT);
	for (i = 0; i < d->count; i++)
		changed += d->list[i].count << KVP_BLOCK_SHIFT;
	json_number(o, "changed", changed);
	list = json_list(o, "ranges");
	for (i = 0; i < d->count; i++) {
		range = json_item(list);
		json_number(range, "lba", d->list[i].first);
		json_number(range, "blocks", d->list[i].count);
	}
	ctl_json(root);
}

/* Nothing is printed before all is known: a list that was cut short would look like a whole one. */
static void print(struct ctl *ctl, const struct diff *d)
{
	unsigned int shift = ctl->plain ? KVP_BLOCK_SHIFT : 0;
	size_t i;

	if (ctl->json) {
		print_json(d);
		return;
	}
	for (i = 0; i < d->count; i++)
		printf("%" PRIu64 " %" PRIu64 "\n", d->list[i].first << shift,
		       d->list[i].count << shift);
	printf("next %s\n", d->next);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct diff d = { .since = NULL };
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) == SINCE)
		d.since = optarg;
	if (!d.since)
		return ctl_usage(ctl, "--since is missing; --since 0 lists all that was ever "
				 "written");
	ret = since_usage(ctl, d.since);
	if (ret)
		return ret;
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &d.e);
	if (ret)
		return ret;
	if (check(&d, &err) || point(ctl, &d, &err) || walk(ctl, &d, &err))
		ret = ctl_fail(ctl, &err);
	else
		print(ctl, &d);
	free(d.list);
	free(d.uuid);
	return ret;
}

static const struct ctl_option options[] = {
	{ SINCE, "since", "CHECKPOINT",
	  "what changed since then: as the last diff printed it, behind 'next'; 0: all that was "
	  "ever written" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_diff = {
	.name = "diff",
	.purpose = "the parts of a pool that changed, for a backup of only those",
	.args = "--since CHECKPOINT POOL",
	.about = "Prints a line for each range of blocks that was written or discarded since a "
		"checkpoint: its first block and the number of blocks, in blocks of 4 KiB, or with "
		"-p both in bytes. The last line is 'next' and the checkpoint up to which the list "
		"is complete: give that to the next diff. Nothing is printed unless the list is "
		"complete.",
	.more = "The command first writes home what waits in the log, since everything counts that "
		"was accepted before it began. With a large cache that may take minutes. I/O goes "
		"on meanwhile, and a signal ends the command. After that, the time depends on how "
		"much has changed, not on the size of the pool.\n"
		"The list may have a little more than what changed: blocks that changed in the "
		"last second before the checkpoint, that a recovery looked at, or that lie beside "
		"a discard.\n"
		"CHECKPOINT is NUMBER@TAG. The tag tells pools apart, and says how often the pool "
		"went back to older contents: by a start with --degraded that may lack newer data, "
		"or with --discard-log. A checkpoint from before such a start is refused. A number "
		"alone, as list -o checkpoint shows it, is enough as long as the pool never went "
		"back, but it cannot tell one pool from another.\n"
		"Copy while nothing writes: freeze the file system, or stop the service, before "
		"diff, and until the copy has ended. The admin guide has the steps.",
	.example = "kvpoolctl diff --since 0 tank\nkvpoolctl diff -p --since 57@1f2e3d4c tank",
	.options = options,
	.run = run,
};
