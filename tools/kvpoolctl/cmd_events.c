// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl events: the event ring of pools. */
#include <signal.h>
#include <unistd.h>

#include "event.h"

#define POLL_US		500000
#define MAX_FOLLOWED	64

/* The place to continue in each pool that is followed. */
struct cursor {
	char uuid[UUID_BUF];
	u64 next;
};

static struct cursor cursors[MAX_FOLLOWED];
static unsigned int cursor_count;

static struct cursor *cursor_of(const struct dm_entry *e)
{
	unsigned int i;

	for (i = 0; i < cursor_count; i++)
		if (!strcmp(cursors[i].uuid, e->uuid))
			return &cursors[i];
	if (cursor_count == MAX_FOLLOWED)
		return NULL;
	snprintf(cursors[cursor_count].uuid, UUID_BUF, "%s", e->uuid);
	return &cursors[cursor_count++];
}

struct printer {
	const struct ctl *ctl;
	const char *pool;
};

static void print_event(void *arg, u64 seq, u64 seconds, char *text)
{
	const struct printer *p = arg;
	char when[TIME_BUF];
	json_object *root;

	if (!p->ctl->json) {
		printf("%s %s %s\n", time_print(seconds, when), p->pool, text);
		return;
	}
	root = json_root();
	json_text(root, "pool", p->pool);
	json_number(root, "seq", seq);
	json_time(root, "time", seconds);
	event_fields(root, text);
	ctl_json(root);
}

static int print_new(struct ctl *ctl, const struct dm_entry *e, struct err *err)
{
	struct cursor *at = cursor_of(e);
	struct printer p = { ctl, e->name };

	return at ? event_each(e->name, &at->next, print_event, &p, err) : 0;
}

/*
 * A pool that is followed may stop and start again: it is asked again. One that cannot be asked
 * hides no events of others.
 */
static int print_all(struct ctl *ctl, const char *name, bool again)
{
	struct dm_entry *list, one;
	unsigned int i, count;
	struct err err;
	int ret = 0;

	if (name) {
		if ((dm_find(name, &one, &err) || print_new(ctl, &one, &err)) && !again)
			ret = ctl_fail(ctl, &err);
		return ret;
	}
	if (dm_list(&list, &count, &err))
		return ctl_fail(ctl, &err);
	for (i = 0; i < count; i++)
		if (print_new(ctl, &list[i], &err) && !again)
			ret = ctl_fail(ctl, &err);
	free(list);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool follow = false;
	const char *name;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		follow = true;
	name = ctl_args(ctl, argc, 0, 1) ? argv[optind] : NULL;
	ret = print_all(ctl, name, follow && !name);
	while (follow && !ret && !fflush(stdout) && !ferror(stdout)) {
		usleep(POLL_US);
		ret = print_all(ctl, name, true);
	}
	return ret;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "print new events as they come, also after the pool was stopped and started" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_events = {
	.name = "events",
	.purpose = "events of pools, oldest first; -f follows",
	.args = "[-f] [POOL]",
	.about = "Prints the events that running pools keep, oldest first: time, pool, name, "
		"key=value.",
	.example = "kvpoolctl events -f tank",
	.options = options,
	.run = run,
};
