// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl history: what was ordered of a pool, on which host, and by whom. */
#include <pwd.h>
#include <stdlib.h>

#include "event.h"
#include "host.h"

/* Events of orders, and of what they have changed. */
static const char *const orders[] = {
	"created", "imported", "exported", "destroyed", "unmarked", "renamed", "set", "cache_mode",
	"cache_dirty_max", "grown", "legs_grown", "cache_removed", "cache_exchanged",
	"leg_offline", "leg_replaced",
	"leg_attached", "leg_detached", "shadow_added", "shadow_removed", "resilver_started",
	"log_discarded", "table_given_up", "scrub_started", "scrub_stopped", "scrub_paused",
	"scrub_resumed", "trim_started", "trim_stopped", "cleared", "fault_injected",
};

/* An event: of the ring of events, of that of orders, or of both. */
struct line {
	u64 seq, seconds;
	char *text;
};

struct reader {
	const struct ctl *ctl;
	const char *pool;
	struct line *lines;
	size_t count;
	bool no_memory;
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

static void note_line(void *arg, u64 seq, u64 seconds, char *text)
{
	struct reader *r = arg;
	struct line *lines = realloc(r->lines, (r->count + 1) * sizeof(*lines));

	r->lines = lines ?: r->lines;
	text = lines ? strdup(text) : NULL;
	if (text)
		r->lines[r->count++] = (struct line){ seq, seconds, text };
	else
		r->no_memory = true;
}

/* 0: both are the same event. Numbers alone do not tell: two events may have the same one. */
static int by_seq(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void print_event(struct reader *r, u64 seq, u64 seconds, char *text)
{
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

/* An older module has no ring of orders. */
static int read_orders(struct reader *r, struct err *err)
{
	if (!event_each_order(r->pool, note_line, r, err))
		return 0;
	return strstr(err->why, "unknown message") ? 0 : -1;
}

static int read_lines(struct reader *r, struct err *err)
{
	u64 next = 0;

	if (read_orders(r, err) || event_each(r->pool, &next, note_line, r, err))
		return -1;
	return r->no_memory ? err_set(err, ERR_FAILED, r->pool, "free some memory",
				      "out of memory") : 0;
}

static void print_lines(struct reader *r)
{
	size_t i;

	if (r->count)
		qsort(r->lines, r->count, sizeof(*r->lines), by_seq);
	for (i = 0; i < r->count; i++)
		if (!i || by_seq(&r->lines[i], &r->lines[i - 1]))
			print_event(r, r->lines[i].seq, r->lines[i].seconds, r->lines[i].text);
}

static void free_lines(struct reader *r)
{
	while (r->count)
		free(r->lines[--r->count].text);
	free(r->lines);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct reader r = { .ctl = ctl, .host = "-" };
	struct dm_entry e;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	r.pool = e.name;
	host_self(&r.self);
	ret = read_lines(&r, &err);
	if (!ret)
		print_lines(&r);
	free_lines(&r);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

const struct command cmd_history = {
	.name = "history",
	.purpose = "what was ordered of a pool, when, on which host, and by whom",
	.args = "POOL",
	.about = "Prints the events of a running pool that somebody ordered, oldest first: time, "
		"host, user, name, key=value. Examples: the pool was made, imported, exported or "
		"renamed; a tunable was set; a device joined or left; a scrub or a trim was begun "
		"or stopped.",
	.more = "The pool keeps the last 1024 orders that have a user, and the last 1024 "
		"events of all kinds. So such orders outlast a disk that fails often, unless no "
		"leg can read their ring, or they are from the time of an older module. The host "
		"is the one that imported the pool. The user is the one who logged in (login), or "
		"else the one who gave the order (uid, mostly root): by name on the host of the "
		"order, elsewhere by number. A dash means that it is not known. The host is not "
		"known if its import is no longer kept. What the pool did by itself, or later for "
		"an order, has no user.",
	.example = "kvpoolctl history tank",
	.run = run,
};
