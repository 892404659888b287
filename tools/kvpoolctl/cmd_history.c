// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl history: what was ordered of a pool, and on which host. */
#include "event.h"

/* Events of orders, and of what they have changed. */
static const char *const orders[] = {
	"created", "imported", "exported", "destroyed", "unmarked", "renamed", "set", "cache_mode",
	"grown", "cache_removed", "cache_exchanged", "leg_offline", "leg_replaced",
	"resilver_started",
	"log_discarded", "table_given_up", "scrub_started", "scrub_stopped", "trim_started",
	"trim_stopped", "fault_injected",
};

struct reader {
	const struct ctl *ctl;
	const char *pool;
	char host[128];		/* that runs the pool, as of the event; "-": unknown */
};

static bool is(const char *text, const char *event)
{
	size_t n = strlen(event);

	return !strncmp(text, event, n) && (!text[n] || text[n] == ' ');
}

static bool is_order(const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (is(text, orders[i]))
			return true;
	return false;
}

/* A start names the host, and all that follows until the next start was ordered there. */
static void note_host(struct reader *r, const char *text)
{
	static const char key[] = " host=";
	const char *host;

	if (!is(text, "created") && !is(text, "imported"))
		return;
	host = strstr(text, key);
	host = host ? host + sizeof(key) - 1 : "";
	snprintf(r->host, sizeof(r->host), "%s", *host ? host : "-");
}

static void print_event(void *arg, u64 seq, u64 seconds, char *text)
{
	struct reader *r = arg;
	char when[TIME_BUF];
	json_object *root;

	note_host(r, text);
	if (!is_order(text))
		return;
	if (!r->ctl->json) {
		printf("%s %s %s\n", time_print(seconds, when), r->host, text);
		return;
	}
	root = json_root();
	json_text(root, "pool", r->pool);
	json_number(root, "seq", seq);
	json_time(root, "time", seconds);
	json_text(root, "host", strcmp(r->host, "-") ? r->host : NULL);
	event_fields(root, text);
	ctl_json(root);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct reader r = { .ctl = ctl, .host = "-" };
	struct dm_entry e;
	struct err err;
	u64 next = 0;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	r.pool = e.name;
	return event_each(e.name, &next, print_event, &r, &err) ? ctl_fail(ctl, &err) : EXIT_DONE;
}

const struct command cmd_history = {
	.name = "history",
	.purpose = "what was ordered of a pool, when, and on which host",
	.args = "POOL",
	.about = "Prints those events of a running pool that were ordered, oldest first: time, "
		"host, name, key=value. It was made, imported, exported or renamed; tunables were "
		"set; devices joined and left; a scrub or a trim was begun or stopped.",
	.more = "These events are in the pool's ring of 1024 events of all kinds, so a disk that "
		"fails often pushes older ones out. The host is the one that imported the pool; "
		"users are not recorded. A dash: the host is not known, or its import has left the "
		"ring. resilver_started also stands for a leg that came back by itself.",
	.run = run,
};
