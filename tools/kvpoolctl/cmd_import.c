// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl import: find pools and start them. */
#include <unistd.h>

#include "announce.h"
#include "boot.h"
#include "foreign.h"
#include "foreign_note.h"
#include "format/logplace.h"
#include "found.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "replaced.h"
#include "reread.h"
#include "watch.h"

#define MAX_PLACES	256

enum {
	READONLY = 1000, DEGRADED, TAKEOVER, DESTROYED, DISCARD_LOG, ACCEPT_FORK, BOOT, WAIT
};

struct request {
	struct import_options o;
	const char *places[MAX_PLACES];
	unsigned int place_count;
	const char *boot;	/* the leg that appeared; NULL: a person asked */
	const char *wait;	/* seconds, NULL: the default */
	bool all;
	const char *which;	/* name or UUID; NULL: list, or all */
};

/* --- listing ------------------------------------------------------------------- */

/* Sets the signatures of all legs and spares; the texts are printed for people only. */
static void look_for_foreign(const struct ctl *ctl, json_object *pool)
{
	json_object *vdevs = json_at(pool, "vdevs"), *legs;
	size_t i;

	for (i = 0; i < json_object_array_length(vdevs); i++) {
		legs = json_at(json_object_array_get_idx(vdevs, i), "legs");
		foreign_note(legs);
		foreign_say(ctl, legs, "leg");
	}
	foreign_note(json_at(pool, "spares"));
	foreign_say(ctl, json_at(pool, "spares"), "spare");
}

static void print_legs(json_object *legs, const char *indent, const char *between)
{
	json_object *o;
	size_t i;

	for (i = 0; i < json_object_array_length(legs); i++) {
		o = json_object_array_get_idx(legs, i);
		printf("%s%s%s%s", indent, json_text_at(o, json_at(o, "path") ? "path" : "uuid"),
		       between, json_text_at(o, "state"));
		if (json_at(o, "found"))
			printf(": it is %s, but %s", json_text_at(o, "found.path"),
			       json_text_at(o, "found.why"));
		putchar('\n');
	}
}

static void print_vdev(json_object *vdev)
{
	printf("   legs: %s\n", json_text_at(vdev, "kind"));
	print_legs(json_at(vdev, "legs"), "         ", "  ");
}

static void print_spare(json_object *spare)
{
	const char *state = json_text_at(spare, "state");

	printf("  spare: %s%s\n", json_at(spare, "path") ? json_text_at(spare, "path") : "missing",
	       !strcmp(state, "resized") ? ", of another size than when it became one" :
	       !strcmp(state, "readonly") ? ", read-only" : "");
}

/* @word: what to call it in an order */
static void print_found(const struct ctl *ctl, json_object *pool, const char *word)
{
	json_object *vdevs = json_at(pool, "vdevs"), *refused = json_at(pool, "refused"), *o;
	json_object *spares = json_at(pool, "spares");
	char size[SIZE_BUF];
	size_t i;

	printf("   pool: %s\n   uuid: %s\n  state: %s\n   size: %s\n",
	       json_text_at(pool, "name"), json_text_at(pool, "uuid"), json_text_at(pool, "state"),
	       ctl_size(ctl, json_number_at(pool, "size"), size));
	for (i = 0; i < json_object_array_length(vdevs); i++)
		print_vdev(json_object_array_get_idx(vdevs, i));
	for (i = 0; i < json_object_array_length(spares); i++)
		print_spare(json_object_array_get_idx(spares, i));
	if (json_at(pool, "last_host"))
		printf("   host: %s, last\n", json_text_at(pool, "last_host"));
	if (!json_flag_at(pool, "autoimport"))
		puts("   boot: left alone, its autoimport is 0");
	for (i = 0; i < json_object_array_length(refused); i++) {
		o = json_object_array_get_idx(refused, i);
		printf("refused: %s -- %s\n", json_text_at(o, "why"), json_text_at(o, "mend"));
	}
	if (!i)
		printf(" import: kvpoolctl import %s\n", word);
	putchar('\n');
}

/* Devices with a trace of a label that does not name a pool. */
static bool is_listed_spare(struct scan *s, const struct label *l)
{
	return (label_is_spare(l) || label_is_resized_spare(l)) &&
	       scan_pool(s, l->spare.pool_uuid);
}

static void list_unusable(struct ctl *ctl, struct scan *s, json_object *root)
{
	json_object *list = json_list(root, "unusable"), *o;
	unsigned int i;

	for (i = 0; i < s->leg_count; i++) {
		const char *why = label_fault(&s->legs[i]->label);
		char part[FOUND_WHY];

		if (!why && *s->legs[i]->part && found_fault(s->legs[i], part, NULL))
			why = part;
		if (!why || is_listed_spare(s, &s->legs[i]->label))
			continue;
		o = json_item(list);
		json_text(o, "path", s->legs[i]->dev.path);
		json_text(o, "why", why);
		if (!ctl->json)
			printf("unusable: %s: %s\n", s->legs[i]->dev.path, why);
	}
}

static int list_pools(struct ctl *ctl, struct scan *s, const struct request *q)
{
	json_object *root = json_root(), *pools = json_list(root, "pools"), *o;
	struct import_without without;
	char uuid[UUID_BUF];
	struct refusals r;
	unsigned int i;

	for (i = 0; i < s->pool_count; i++) {
		const struct found_pool *p = &s->pools[i];

		if (import_leave_out(p, &q->o, &without))
			p = &without.pool;
		import_check(p, &q->o, &r);
		import_check_devices(p, &q->o, &r);
		o = import_object(p, &r);
		json_object_array_add(pools, o);
		if (!ctl->json)
			print_found(ctl, o, import_word(s, p, uuid));
		look_for_foreign(ctl, o);
	}
	list_unusable(ctl, s, root);
	if (ctl->json) {
		ctl_json(root);
		return EXIT_DONE;
	}
	if (!s->leg_count)
		ctl_say(ctl, "no pool was found");
	json_object_put(root);
	return EXIT_DONE;
}

/* --- importing ----------------------------------------------------------------- */

#define UNREAD_TEXT	320

/*
 * What to add to "not found": a pool on a device that cannot be read, or that a newer kvpool wrote,
 * is not absent.
 */
static const char *unread_text(const struct scan *s, char buf[UNREAD_TEXT])
{
	const struct found_leg *leg = scan_unread(s) ?: scan_newer(s);

	*buf = 0;
	if (leg)
		snprintf(buf, UNREAD_TEXT, "; %.150s may be a leg of it: %.80s", leg->dev.path,
			 label_fault(&leg->label));
	return buf;
}

/* An import goes on without them. */
static void note_unread(const struct ctl *ctl, const struct scan *s)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (label_unread(&s->legs[i]->label))
			ctl_say(ctl, "note: %s may be a leg: %s", s->legs[i]->dev.path,
				label_fault(&s->legs[i]->label));
}

/* The pool with the name or UUID @which; a name must be unique. */
static const struct found_pool *choose(const struct scan *s, const struct request *q,
				       struct err *err)
{
	const struct found_pool *found = NULL;
	char uuid[UUID_BUF], text[UNREAD_TEXT];
	unsigned int i;

	for (i = 0; i < s->pool_count; i++) {
		const struct kvp_sb *sb = s->pools[i].sb;
		bool gone = sb->flags & KVP_SB_DESTROYED && !q->o.destroyed;

		if (!strcasecmp(uuid_print(sb->pool_uuid, uuid), q->which))
			return &s->pools[i];
		/* a destroyed pool does not make a name ambiguous */
		if (strcmp(sb->name, q->which) ||
		    (gone && found))
			continue;
		if (found && !(found->sb->flags & KVP_SB_DESTROYED && !q->o.destroyed)) {
			err_set(err, ERR_AMBIGUOUS, q->which, "import it by UUID; 'kvpoolctl "
				"import' lists them", "several pools have this name");
			return NULL;
		}
		found = &s->pools[i];
	}
	if (!found)
		err_set(err, ERR_NOT_FOUND, q->which, "'kvpoolctl import' lists all pools; "
			"-d names where to look", "no such pool was found%s", unread_text(s, text));
	return found;
}

/* Both watches together; a read-only import has one. */
static unsigned int watches_for(const struct found_pool *p, const struct request *q)
{
	unsigned int seconds = watch_seconds(p, &q->o);

	return q->o.readonly ? seconds : 2 * seconds;
}

static void print_plan(struct ctl *ctl, const struct found_pool *p, const struct request *q,
		       const char *name, const char *params)
{
	json_object *root = import_plan(p, name, params), *plan = json_at(root, "plan"), *vdevs;
	char size[SIZE_BUF];
	size_t i;

	json_number(plan, "watch_seconds", watches_for(p, q));
	look_for_foreign(ctl, plan);
	if (ctl->json) {
		ctl_json(root);
		return;
	}
	printf("would import pool %s (%s), %u of %u legs\n", name, json_text_at(plan, "uuid"),
	       p->sb->leg_count - scan_missing(p), p->sb->leg_count);
	vdevs = json_at(plan, "vdevs");
	for (i = 0; i < json_object_array_length(vdevs); i++)
		print_legs(json_at(json_object_array_get_idx(vdevs, i), "legs"), "  ", ", ");
	printf("usable    %s\n", ctl_size(ctl, json_number_at(plan, "size"), size));
	printf("memory    %s\n", ctl_size(ctl, json_number_at(plan, "ram_bytes"), size));
	printf("survives  loss of %" PRIu64 " leg(s)\n", json_number_at(plan, "redundancy.after"));
	printf("table     %s\n", json_text_at(plan, "table"));
	json_object_put(root);
}

static void note_foreign(struct ctl *ctl, const struct found_pool *p, const char *name,
			 const char *params)
{
	json_object *root = import_plan(p, name, params);

	look_for_foreign(ctl, json_at(root, "plan"));
	json_object_put(root);
}

/*
 * At boot each leg starts an import, and that of another leg may have started the pool, also before
 * import -a has come to it.
 */
static int fail(struct ctl *ctl, const struct found_pool *p, const struct request *q,
		const struct err *err)
{
	char uuid[UUID_BUF];
	struct dm_entry e;

	if ((q->boot || q->all) && !dm_find(uuid_print(p->sb->pool_uuid, uuid), &e, NULL) && e.live)
		return ctl_done(ctl);
	return ctl_fail(ctl, err);
}

/* Names the data that --discard-log loses, before and after. */
static void note_discard(struct ctl *ctl, const struct found_pool *p, bool discarded)
{
	const struct kvp_sb *sb = p->sb;
	char when[TIME_BUF], last[TIME_BUF];

	if (!discarded)
		return;
	ctl_say(ctl, "%s the log of pool %s, from lsn %" PRIu64 " on. Lost are the %" PRIu64
		" MiB that its last checkpoint counted, %" PRIu64 " of %s, and all later writes; "
		"some of the lost data may be older than that checkpoint. The labels were last "
		"written at %s. Blocks that were on their way home read as errors; kvpoolctl scrub "
		"--wait %s finds them",
		ctl->dry_run ? "would discard" : "discarded", sb->name, sb->log_tail,
		kvp_log_counted_mib(sb), sb->checkpoint,
		sb->checkpoint_time ? time_print(sb->checkpoint_time, when) : "an unknown time",
		time_print(sb->write_time, last), sb->name);
}

/* Some lost blocks are known from headers of the log; all others have the data of their homes. */
static void note_lost(struct ctl *ctl, const char *name, bool discarded)
{
	struct stats s;

	if (!discarded || stats_load(name, &s, NULL))
		return;
	ctl_say(ctl, "%" PRIu64 " blocks are known to be lost, and read as errors until they are "
		"written again; kvpoolctl status -v %s lists them",
		stats_number(&s, "poisoned_blocks"), name);
	stats_free(&s);
}

/* Legs are missing or out. The user must know before the next leg fails. */
static void note_degraded(struct ctl *ctl, const struct found_pool *p, const char *name)
{
	unsigned int out = p->sb->leg_count - scan_in_sync(p);

	if (out)
		ctl_say(ctl, "note: the pool is degraded: %u of its %u legs are not in use, %u of "
			"them missing; it survives the loss of %d more. kvpoolctl status %s tells "
			"what to do", out, p->sb->leg_count, scan_missing(p), import_losses(p),
			name);
}

/* What is to take the place of a leg is not there: the leg stays, and the order waits. */
static void note_shadow(struct ctl *ctl, const struct found_pool *p, const struct request *q,
			const char *name)
{
	const struct found_leg *leg = p->shadow ?: p->unusable_shadow;
	char uuid[UUID_BUF], why[FOUND_WHY] = "";
	const char *mend = "connect it";

	if (!p->sb->shadow.of || q->o.readonly || import_has_shadow(p))
		return;
	if (leg && !found_fault(leg, why, &mend))
		*why = 0;
	ctl_say(ctl, "note: %s, which is to replace another leg, %s%s%s. The other one stays in "
		"use. To go on: %s; then kvpoolctl export %s and import it. Or kvpoolctl cancel %s "
		"replace undoes the order",
		leg ? leg->dev.path : uuid_print(p->sb->shadow.uuid, uuid),
		leg ? "cannot be used" : "is missing", *why ? ": " : "", why, mend, name, name);
}

/* What an import needs of a pool, as of one look at its labels. */
struct start {
	const struct found_pool *all, *p;	/* with and without legs that are left out */
	struct import_without without;
	const char *name;
	char params[PARAMS_MAX];
};

static void note_reused(struct ctl *ctl, const char *path, const char *type)
{
	if (!strcmp(type, FOREIGN_UNKNOWN)) {
		ctl_say(ctl, "note: %s is left out: it was out of use, and " FOREIGN_UNSEEN ". "
			"kvpoolctl online takes it when it can be read; -f does so if it has had "
			"no other use", path);
		return;
	}
	ctl_say(ctl, "note: %s is left out: it was out of use, and carries a signature of %.60s "
		"by now. If nothing on it is needed: kvpoolctl labelclear --foreign %s, then "
		"kvpoolctl online", path, type, path);
}

static void note_left_out(struct ctl *ctl, const struct start *start)
{
	const struct found_pool *p = start->all;
	char why[FOUND_WHY];
	u32 i;

	for (i = 0; i < p->sb->leg_count; i++)
		if (p->legs[i] && !start->p->legs[i] && p->legs[i]->dev.readonly)
			ctl_say(ctl, "note: %s is read-only and left out", p->legs[i]->dev.path);
		else if (p->legs[i] && !start->p->legs[i])
			note_reused(ctl, p->legs[i]->dev.path, start->without.reused[i]);
		else if (!p->legs[i] && p->unusable[i] && found_fault(p->unusable[i], why, NULL))
			ctl_say(ctl, "note: %s is left out: %s", p->unusable[i]->dev.path, why);
}

static void note_watch(const struct ctl *ctl, const struct found_pool *p, const struct request *q)
{
	unsigned int seconds = watches_for(p, q);

	if (seconds)
		ctl_say(ctl, "would first watch its legs for %u s: its heartbeat shows whether "
			"another host is alive", seconds);
}

/* destroy took their protective MBR. */
static void take_legs_back(const struct found_pool *p)
{
	u32 i;

	for (i = 0; i < p->sb->leg_count; i++)
		if (p->legs[i] && p->legs[i]->dev.rdev)
			announce_joined(p->legs[i]->dev.rdev);
}

/* 0: it can start; else the exit status, with @err: it is refused, as these labels say. */
static int decide(const struct found_pool *p, const struct request *q, struct start *start,
		  struct err *err)
{
	struct refusals r;

	start->all = start->p = p;
	if (import_leave_out(p, &q->o, &start->without))
		start->p = &start->without.pool;
	start->name = q->o.new_name ?: p->sb->name;
	import_check(start->p, &q->o, &r);
	import_check_devices(start->p, &q->o, &r);
	if (r.count)
		*err = r.list[0];
	else if (!import_params(start->p, &q->o, start->params, sizeof(start->params)))
		err_set(err, ERR_USAGE, p->sb->name, "use shorter paths",
			"the table line is too long");
	else
		return EXIT_DONE;
	return err_exit(err->code);
}

static void say_started(struct ctl *ctl, const struct start *start, const struct request *q)
{
	if (ctl->json)
		print_plan(ctl, start->p, q, start->name, start->params);
	else
		note_foreign(ctl, start->p, start->name, start->params);
	/* Only if import_check() found a log to give up; otherwise it refused. */
	note_discard(ctl, start->p, q->o.discard_log);
	note_lost(ctl, start->name, q->o.discard_log);
	ctl_say(ctl, "imported pool %s at /dev/mapper/%s", start->name, start->name);
	note_degraded(ctl, start->p, start->name);
	note_shadow(ctl, start->p, q, start->name);
}

static int start_pool(struct ctl *ctl, const struct start *start, const struct request *q)
{
	const struct kvp_sb *sb = start->p->sb;
	char uuid[UUID_BUF];
	struct err err;
	int ret;

	ctl_busy(ctl, "starting the pool and recovering its log");
	ret = dm_start(start->name, uuid_print(sb->pool_uuid, uuid),
		       sb->pool_blocks << KVP_SECTORS_SHIFT, start->params, q->o.readonly, &err);
	ctl_busy_end();
	if (ret)
		return fail(ctl, start->p, q, &err);
	if (sb->flags & KVP_SB_DESTROYED && !q->o.readonly)
		take_legs_back(start->p);
	say_started(ctl, start, q);
	return EXIT_DONE;
}

static int only_plan(struct ctl *ctl, const struct found_pool *p, const struct request *q)
{
	struct start start;
	struct err err;

	if (decide(p, q, &start, &err))
		return fail(ctl, start.p, q, &err);
	note_left_out(ctl, &start);
	print_plan(ctl, start.p, q, start.name, start.params);
	note_watch(ctl, start.p, q);
	note_discard(ctl, start.p, q->o.discard_log);
	return EXIT_DONE;
}

#define LOOKS_AGAIN	(-1)	/* no exit status: the labels have changed */

/*
 * Decides, watches, and starts the pool if its labels are still what the decision was made on. Any
 * of that may take minutes, and so may the pools before this one, and the wait for the lock.
 * Another host may start the pool meanwhile, and the kernel does not look at hosts.
 */
static int try_start(struct ctl *ctl, const struct scan *s, const struct found_pool *p,
		     const struct request *q)
{
	struct start start;
	struct err err;
	int ret = decide(p, q, &start, &err);

	if (ret && err.code == ERR_ACTIVE)
		return fail(ctl, start.p, q, &err);
	if (!ret) {
		note_left_out(ctl, &start);
		if (module_load(&err) ||
		    (watch_seconds(start.p, &q->o) && watch_run(ctl, start.p, &q->o, &err)))
			return fail(ctl, start.p, q, &err);
	}
	if (!reread_same(s, p->sb->pool_uuid))
		return LOOKS_AGAIN;
	return ret ? fail(ctl, start.p, q, &err) : start_pool(ctl, &start, q);
}

#define LOOKS		3

/* The labels change: another host, or an administrator, is at work there. */
static int keeps_changing(struct ctl *ctl, const struct request *q, const struct found_pool *p)
{
	struct err err;

	err_set(&err, ERR_OTHER_HOST, p->sb->name,
		"see what uses the legs, here and on other hosts; then import it again",
		"its labels change again and again: another host may be starting it");
	return fail(ctl, p, q, &err);
}

/* Begins anew with all devices: those that have appeared count, too. */
static int look_again(struct ctl *ctl, const u8 uuid[16], const struct request *q)
{
	const struct found_pool *p;
	struct scan s;
	struct err err;
	char text[UUID_BUF];
	int i, ret;

	for (i = 1, ret = LOOKS_AGAIN; ret == LOOKS_AGAIN; i++) {
		if (scan_run(q->places, q->place_count, &s, &err))
			return ctl_fail(ctl, &err);
		p = scan_pool(&s, uuid);
		if (!p) {
			err_set(&err, ERR_NOT_FOUND, uuid_print(uuid, text),
				"see kvpoolctl import", "its legs are not there any more");
			ret = ctl_fail(ctl, &err);
		} else {
			ctl_say(ctl, "the labels of pool %s have changed since they were read: "
				"looking at them again", p->sb->name);
			ret = i < LOOKS ? try_start(ctl, &s, p, q) : keeps_changing(ctl, q, p);
		}
		scan_free(&s);
	}
	return ret;
}

static int import_one(struct ctl *ctl, const struct scan *s, const struct found_pool *p,
		      const struct request *q)
{
	char uuid[UUID_BUF];
	struct err err;
	int ret;

	if (ctl->dry_run)
		return only_plan(ctl, p, q);
	if (pool_lock(ctl, uuid_print(p->sb->pool_uuid, uuid), &err))
		return ctl_fail(ctl, &err);
	ret = try_start(ctl, s, p, q);
	if (ret == LOOKS_AGAIN)
		ret = look_again(ctl, p->sb->pool_uuid, q);
	pool_unlock();
	if (!ret)
		replaced_settle(ctl, uuid);
	return ret;
}

static int import_all(struct ctl *ctl, const struct scan *s, const struct request *q)
{
	int ret = EXIT_DONE, one;
	struct dm_entry e;
	char uuid[UUID_BUF];
	unsigned int i, left = 0, tried = 0;

	for (i = 0; i < s->pool_count; i++) {
		const struct found_pool *p = &s->pools[i];

		if ((!dm_find(uuid_print(p->sb->pool_uuid, uuid), &e, NULL) && e.live) ||
		    (p->sb->flags & KVP_SB_DESTROYED && !q->o.destroyed))
			continue;
		if (!import_automatic(p->sb)) {
			ctl_say(ctl, "left pool %s alone: its autoimport is 0; kvpoolctl import %s",
				p->sb->name, import_word(s, p, uuid));
			left++;
			continue;
		}
		tried++;
		one = import_one(ctl, s, p, q);
		if (one && (!ret || one < ret))
			ret = one;
	}
	if (tried)
		return ret;
	if (!left)
		ctl_say(ctl, "no pool can be imported");
	return ctl_done(ctl);
}

static int import_boot(struct ctl *ctl, const struct request *q)
{
	struct boot_request b = {
		.leg = q->boot, .places = q->places, .place_count = q->place_count,
		.patience = q->wait ? (unsigned int)atoi(q->wait) : BOOT_PATIENCE,
	};
	const struct found_pool *p;
	const char *why;
	struct scan s;
	struct err err;
	int ret = boot_find(&b, &s, &p, &why, &err);

	if (ret < 0)
		return ctl_fail(ctl, &err);
	if (!ret) {
		ctl_say(ctl, "left the pool of %s alone: %s", q->boot, why);
		return ctl_done(ctl);
	}
	note_unread(ctl, &s);
	ret = import_one(ctl, &s, p, q);
	scan_free(&s);
	return ret;
}

static void parse_option(struct ctl *ctl, struct request *q, int c)
{
	switch (c) {
	case 'd':
		if (q->place_count == MAX_PLACES)
			exit(ctl_usage(ctl, "too many -d"));
		q->places[q->place_count++] = optarg;
		break;
	case 'a':
		q->all = true;
		break;
	case BOOT:
		q->boot = optarg;
		break;
	case WAIT:
		if (strspn(optarg, "0123456789") != strlen(optarg) || strlen(optarg) > 5 ||
		    !*optarg)
			exit(ctl_usage(ctl, "'%.64s' is not a number of seconds", optarg));
		q->wait = optarg;
		break;
	case READONLY:
		q->o.readonly = true;
		break;
	case DEGRADED:
		q->o.degraded = true;
		break;
	case TAKEOVER:
		q->o.takeover = true;
		break;
	case DESTROYED:
		q->o.destroyed = true;
		break;
	case DISCARD_LOG:
		q->o.discard_log = true;
		break;
	case ACCEPT_FORK:
		q->o.accept_fork = true;
		break;
	}
}

static int parse(struct ctl *ctl, struct request *q, int argc, char **argv)
{
	const char *fault;
	int c, n;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		parse_option(ctl, q, c);
	if (q->boot && q->all)
		return ctl_usage(ctl, "only one of -a and --boot");
	if (q->wait && !q->boot)
		return ctl_usage(ctl, "--wait goes with --boot");
	n = ctl_args(ctl, argc, 0, q->all || q->boot ? 0 : 2);
	q->which = n > 0 ? argv[optind] : NULL;
	q->o.new_name = n > 1 ? argv[optind + 1] : NULL;
	fault = q->o.new_name ? name_fault(q->o.new_name, command_names()) : NULL;
	return fault ? ctl_usage(ctl, "'%.64s': %s", q->o.new_name, fault) : 0;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct request q = { .place_count = 0 };
	const struct found_pool *p;
	struct scan s;
	struct err err;
	int ret = parse(ctl, &q, argc, argv);

	if (ret)
		return ret;
	host_self(&q.o.self);
	if (q.boot)
		return import_boot(ctl, &q);
	if (scan_run(q.places, q.place_count, &s, &err))
		return ctl_fail(ctl, &err);
	if (q.all || q.which)
		note_unread(ctl, &s);
	if (q.all) {
		ret = import_all(ctl, &s, &q);
	} else if (!q.which) {
		ret = list_pools(ctl, &s, &q);
	} else {
		p = choose(&s, &q, &err);
		ret = p ? import_one(ctl, &s, p, &q) : ctl_fail(ctl, &err);
	}
	scan_free(&s);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'a', NULL, NULL, "all pools except those whose autoimport is 0" },
	{ 'd', NULL, "DIR|DEV", "search here, not on all block devices" },
	{ READONLY, "readonly", NULL, "write nothing to any leg" },
	{ DEGRADED, "degraded", NULL,
	  "start although some legs are read-only, or are missing and may hold newer data" },
	{ TAKEOVER, "takeover", NULL,
	  "start although another host runs it, or ran it last and did not stop it; refused if "
	  "that host's heartbeat moves" },
	{ DESTROYED, "destroyed", NULL, "import a destroyed pool" },
	{ DISCARD_LOG, "discard-log", NULL,
	  "discard the log of a cache that is lost or damaged, with all data that is not home; "
	  "refused if the log is sound or not needed" },
	{ ACCEPT_FORK, "accept-fork", NULL,
	  "legs disagree about their history: take the side with the newest epoch; with "
	  "--degraded also go back to the newest superblock that can be read" },
	{ BOOT, "boot", "LEG",
	  "for udev, when LEG has appeared: import its pool, unless its autoimport is 0 or it was "
	  "exported or destroyed; waits for missing legs" },
	{ WAIT, "wait", "SECONDS", "how long --boot waits, 30 by default" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_import = {
	.name = "import",
	.purpose = "find pools and start them; without a name, list them",
	.args = "[-n] [-d DIR|DEV]... [--readonly] [--degraded] [--takeover] "
		"[--destroyed] [--discard-log] [--accept-fork] "
		"[-a | POOL|UUID [NEWNAME] | --boot LEG [--wait SECONDS]]",
	.about = "Finds pools on all block devices, and starts one from its legs. Without POOL it "
		"lists the pools that it finds, and why it would refuse to import them. NEWNAME "
		"renames the pool.",
	.more = "--readonly is refused if the log holds writes that are not yet home, as after a "
		"power cut, or after a stop with the log on a cache. Then import the pool once "
		"without it, and export it with --drain.\n"
		"A --degraded start is recorded on the legs that are there. If the other legs are "
		"also started alone, the two sides can be joined again only by giving up one of "
		"them, with --accept-fork.\n"
		"--discard-log loses the newest writes that are not yet home. Without it, the "
		"error of an import names the time of the last checkpoint. Headers of the log may "
		"still be readable, on an SSD that was out of use earlier, or around the damage. "
		"They name blocks. Those that are not home are known to be lost: they read as "
		"errors until they are written again, and status -v lists them. A log on the vdevs "
		"with data is needed, so it is never given up.\n"
		"--destroyed is refused if a device that was a leg carries a signature of another "
		"tool, unless --readonly is given: it may have another use by now. Then name only "
		"the other legs, by -d.\n"
		"Two hosts that write to the same legs destroy the pool. Give --takeover only when "
		"the other host cannot write to them any more. A host is known by its "
		"/etc/machine-id.\n"
		"If the pool has the tunable heartbeat set, an import may watch the legs first: "
		"with --takeover, and if another host ran the pool last and did not export it. The "
		"import is refused if the other host gives a sign of life. That takes some minutes "
		"at most; -n says how long.\n"
		"Just before a pool starts, its labels are read again: another host may have "
		"started it since they were first read. If they have changed, the import "
		"looks at the pool anew.\n"
		"If legs are missing that may hold newer data, --boot waits for them. After that "
		"it does the same as an import.\n"
		"A device that does not answer for 30 seconds, or whose label cannot be read, may "
		"be a leg of any pool. The command names it, and imports pools that do not need "
		"it.",
	.example = "kvpoolctl import\n"
		"kvpoolctl import tank\n"
		"kvpoolctl import -d /dev/disk/by-id --degraded tank",
	.options = options,
	.dry_run = true,
	.run = run,
};
