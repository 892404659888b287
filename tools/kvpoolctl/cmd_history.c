// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl history: what was ordered of a pool, on which host, and by whom. */
#include <pwd.h>
#include <stdlib.h>

#include "event.h"
#include "host.h"

/* Events of orders, and of what they have changed. */
static const char *const orders[] = {
	"created", "imported", "exported", "destroyed", "unmarked", "renamed", "set", "cache_mode",
	"grown", "legs_grown", "cache_removed", "cache_exchanged", "leg_offline", "leg_replaced",
	"leg_attached", "leg_detached", "shadow_added", "shadow_removed", "resilver_started",
	"log_discarded", "table_given_up", "scrub_started", "scrub_stopped", "scrub_paused",
	"scrub_resumed", "trim_started", "trim_stopped", "cleared", "fault_injected",
};

struct reader {
	const struct ctl *ctl;
	const char *pool;
	char host[128];		/* that runs the pool, as of the event; "-": unknown */
	struct host self;
};

#define USER	64

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

static bool is_number(const char *text)
{
	return *text && strlen(text) < 11 && !text[strspn(text, "0123456789")];
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

/* The user that logged in, or else the one that gave the order. Numbers have names on one host. */
static const char *user_of(const struct reader *r, const char *text, char buf[USER])
{
	const struct passwd *user;
	struct event_text e;
	char parts[512];
	const char *uid;

	snprintf(parts, sizeof(parts), "%s", text);
	event_text_split(parts, &e);
	uid = event_text_field(&e, "login") ?: event_text_field(&e, "uid");
	if (!uid)
		return NULL;
	user = strcmp(r->host, r->self.name) || !is_number(uid) ? NULL :
	       getpwuid((uid_t)strtoul(uid, NULL, 10));
	snprintf(buf, USER, "%s", user ? user->pw_name : uid);
	return buf;
}

static void print_event(void *arg, u64 seq, u64 seconds, char *text)
{
	struct reader *r = arg;
	char when[TIME_BUF], buf[USER];
	json_object *root;
	const char *user;

	note_host(r, text);
	if (!is_order(text))
		return;
	user = user_of(r, text, buf);
	if (!r->ctl->json) {
		printf("%s %s %s %s\n", time_print(seconds, when), r->host, user ?: "-", text);
		return;
	}
	root = json_root();
	json_text(root, "pool", r->pool);
	json_number(root, "seq", seq);
	json_time(root, "time", seconds);
	json_text(root, "host", strcmp(r->host, "-") ? r->host : NULL);
	json_text(root, "user", user);
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
	host_self(&r.self);
	return event_each(e.name, &next, print_event, &r, &err) ? ctl_fail(ctl, &err) : EXIT_DONE;
}

const struct command cmd_history = {
	.name = "history",
	.purpose = "what was ordered of a pool, when, on which host, and by whom",
	.args = "POOL",
	.about = "Prints the events of a running pool that somebody ordered, oldest first: time, "
		"host, user, name, key=value. Examples: the pool was made, imported, exported or "
		"renamed; a tunable was set; a device joined or left; a scrub or a trim was begun "
		"or stopped.",
	.more = "These events share a ring of 1024 events of all kinds, so a disk that fails often "
		"pushes older ones out. The host is the one that imported the pool. The user is "
		"the one who logged in (login), or else the one who gave the order (uid, mostly "
		"root): by name on the host of the order, elsewhere by number. A dash means that "
		"it is not known. The host is not known once its import has left the ring. What "
		"the pool did by itself, or later for an order, has no user.",
	.example = "kvpoolctl history tank",
	.run = run,
};
