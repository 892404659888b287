// SPDX-License-Identifier: GPL-2.0-only
/* Verifies a whole pool without the module. */
#include "format/logplace.h"
#include "check.h"
#include "import.h"
#include "inspect.h"
#include "opened.h"
#include "verify.h"

struct check {
	struct opened legs;		/* those that are verified */
	const struct found_pool *found;
	struct verify v;
};

static const char *const state_words[VERIFY_STATES] = {
	[VERIFY_OK] = "valid",
	[VERIFY_UNWRITTEN] = "unwritten",
	[VERIFY_IN_LOG] = "in_log",
	[VERIFY_TORN] = "torn",
	[VERIFY_POISONED] = "poisoned",
	[VERIFY_UNREPAIRED] = "unrepaired",
	[VERIFY_UNREAD] = "unread",
};

static bool ring_lost(const struct label *l)
{
	unsigned int end, i, valid;

	for (end = 0; end < 2; end++) {
		for (i = valid = 0; i < KVP_SB_RING; i++)
			valid += !l->slots[end * KVP_SB_RING + i].state;
		if (!valid)
			return true;
	}
	return false;
}

static const char *leg_state(const struct check *c, u32 i)
{
	const struct found_leg *leg = c->found->legs[i];

	if (!leg)
		return "missing";
	if (scan_forked(c->found, leg))
		return "fork";
	return leg_word(c->found->sb->legs[i].state);
}

/* Adds leg @i of the superblock; returns true if the leg has a fault. */
static bool add_leg(json_object *list, const struct check *c, u32 i)
{
	const struct found_leg *leg = c->found->legs[i];
	const char *state = leg_state(c, i);
	json_object *o = json_item(list);
	const struct verify_leg *result = &c->v.legs[i];
	u64 log_bad;
	char uuid[UUID_BUF];
	bool bad = strcmp(state, "online");

	json_text(o, "path", leg ? leg->dev.path : NULL);
	json_text(o, "uuid", uuid_print(c->found->sb->legs[i].uuid, uuid));
	json_text(o, "state", state);
	json_flag(o, "verified", opened_has(&c->legs, i));
	json_text(o, "foreign", NULL);	/* until foreign_note() has probed it */
	if (leg) {
		json_number(o, "labels_valid", leg->label.valid);
		json_number(o, "labels_bad", leg->label.bad);
		bad |= ring_lost(&leg->label);
	}
	if (!opened_has(&c->legs, i))
		return bad;
	log_bad = c->v.log.bad[i];
	json_number(o, "log_bad", log_bad);
	json_number(o, "pages_bad", result->pages_bad);
	json_number(o, "blocks_bad", result->blocks_bad);
	json_number(o, "read_errors", result->read_errors);
	json_number(o, "clean_bad", result->clean_bad);
	return bad || log_bad || result->pages_bad || result->blocks_bad || result->read_errors;
}

static void add_table(json_object *parent, const struct verify *v)
{
	json_object *o = json_child(parent, "table");

	json_number(o, "pages_good", v->pages_good);
	json_number(o, "pages_lost", v->pages_lost);
}

void check_blocks(json_object *parent, const struct verify *v)
{
	json_object *o = json_child(parent, "blocks"), *list, *range;
	unsigned int i;

	for (i = 0; i < VERIFY_STATES; i++)
		json_number(o, state_words[i], v->blocks[i]);
	list = json_list(parent, "damage");
	for (i = 0; i < v->range_count; i++) {
		range = json_item(list);
		json_number(range, "lba", v->ranges[i].block);
		json_number(range, "blocks", v->ranges[i].count);
		json_text(range, "state", state_words[v->ranges[i].state]);
	}
}

void check_print_damage(json_object *o)
{
	json_object *list = json_at(o, "damage"), *r;
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		r = json_object_array_get_idx(list, i);
		printf("         lba %" PRIu64 ", %" PRIu64 " block(s): %s\n",
		       json_number_at(r, "lba"), json_number_at(r, "blocks"),
		       json_text_at(r, "state"));
	}
	if (json_object_array_length(list) == VERIFY_MAX_RANGES)
		puts("         perhaps more: no more are listed");
}

static void add_cache(json_object *parent, const struct check *c)
{
	const struct kvp_sb *sb = c->found->sb;
	int cache = kvp_cache_find(sb);
	json_object *o;

	if (cache < 0) {
		json_text(parent, "cache", NULL);
		return;
	}
	o = json_child(parent, "cache");
	json_text(o, "kind", vdev_word(sb->vdevs[cache].kind));
	json_text(o, "log_on", kvp_log_on_cache(sb) ? "cache" : "legs");
	json_number(o, "clean", c->v.clean);
	json_number(o, "clean_bad", c->v.clean_bad);
}

/* Adds the log's faults: damaged copies on a leg, though another leg has a sound one. */
static void add_faults(json_object *log, const struct check *c)
{
	json_object *list = json_list(log, "bad"), *o;
	unsigned int i;

	for (i = 0; i < c->v.log.fault_count; i++) {
		const struct log_fault *f = &c->v.log.faults[i];

		o = json_item(list);
		json_text(o, "path", c->found->legs[f->leg]->dev.path);
		json_number(o, "lsn", f->lsn);
		json_text(o, "why", f->why.text);
	}
}

#define ADVICE_LEN	1100	/* a refusal fits */

/* The advice that a start would give, in one line; NULL if the pool has no fault. */
static const char *advice(const struct check *c, bool legs_bad, char buf[ADVICE_LEN])
{
	enum log_state state = log_state(opened_log(&c->legs), &c->v.log);
	struct err why;

	if (c->found->doubtful)
		return "slots of a label cannot be read, and may hold a newer superblock: this "
		       "report may show an older state; try again, nothing is lost";
	if (opened_fault(&c->legs, &why)) {
		snprintf(buf, ADVICE_LEN, "%s: %s", why.why, why.mend);
		return buf;
	}
	if (state == LOG_UNKNOWN)
		return "the log may go on where no leg given can be read, so this report may lack "
		       "the newest writes: try again, or find another leg; nothing is lost";
	if (state == LOG_DAMAGED && kvp_log_on_cache(c->found->sb))
		return "durable log entries are damaged on every SSD given: find another SSD of "
		       "the cache; if there is none, import --discard-log starts without it";
	if (state == LOG_DAMAGED)
		return "durable log entries are damaged on every leg given: find another leg";
	if (state == LOG_NEWER)
		return "the log is newer than every superblock given: find another leg";
	if (c->v.blocks[VERIFY_UNREAD])
		return "a leg does not give blocks of which it may have the only newest version, "
		       "so the pool would not start: try again, or repair that leg; nothing is "
		       "lost";
	if (c->v.pages_lost || c->v.blocks[VERIFY_UNREPAIRED])
		return "some blocks are lost on every leg given: find another leg, or restore "
		       "them from a backup";
	if (import_may_lack(c->found))
		return "legs that were not given may hold newer data, so this report may lack the "
		       "newest writes: name them too";
	if (c->v.blocks[VERIFY_POISONED])
		return "some blocks are recorded as lost: restore them from a backup";
	if (opened_count(&c->legs) < c->found->sb->leg_count)
		return "the data is whole, but not every leg holds it: bring the others back";
	if (legs_bad)
		return "the data is whole, its redundancy is not: import the pool and scrub it";
	return NULL;
}

static int exit_of(const struct check *c, const char *text)
{
	if (!opened_readable(&c->legs) || c->found->fork || c->v.blocks[VERIFY_UNREAD] ||
	    log_state(opened_log(&c->legs), &c->v.log) != LOG_SOUND)
		return EXIT_FAULTED;
	return text ? EXIT_DEGRADED : EXIT_DONE;
}

static json_object *report(const struct check *c, int *status)
{
	const struct kvp_sb *sb = c->found->sb;
	json_object *o = json_object_new_object(), *legs, *log;
	char uuid[UUID_BUF], words[ADVICE_LEN];
	bool legs_bad = false;
	const char *text;
	u32 i;

	json_text(o, "pool", sb->name);
	json_text(o, "uuid", uuid_print(sb->pool_uuid, uuid));
	json_object_object_add(o, "result", NULL);
	json_number(o, "epoch", sb->epoch);
	json_number(o, "checkpoint", sb->era);
	json_number(o, "size", sb->pool_blocks << KVP_BLOCK_SHIFT);
	legs = json_list(o, "legs");
	for (i = 0; i < sb->leg_count; i++)
		legs_bad |= add_leg(legs, c, i);
	log = log_object(o, opened_log(&c->legs), &c->v.log);
	if (!opened_readable(&c->legs))
		json_text(log, "state", "unread");
	add_faults(log, c);
	add_table(o, &c->v);
	check_blocks(o, &c->v);
	add_cache(o, c);
	text = advice(c, legs_bad, words);
	*status = exit_of(c, text);
	json_text(o, "result", *status == EXIT_DONE ? "sound" :
		  *status == EXIT_DEGRADED ? "degraded" : "faulted");
	json_text(o, "advice", text);
	return o;
}

static void draw(void *ctl, u64 done, u64 total)
{
	ctl_progress(ctl, "check", done, total);
}

json_object *check_object(struct ctl *ctl, struct scan *s, int *status, struct err *err)
{
	struct check *c = calloc(1, sizeof(*c));
	json_object *o = NULL;

	if (!c) {
		err_set(err, ERR_FAILED, "check", "free some memory", "out of memory");
		return NULL;
	}
	c->v.progress = draw;
	c->v.progress_arg = ctl;
	if (!opened_begin(s, &c->legs, err)) {
		c->found = c->legs.found;
		if (!opened_readable(&c->legs) || !opened_verify(&c->legs, &c->v, err))
			o = report(c, status);
		opened_end(&c->legs);
	}
	ctl_progress(ctl, "check", 0, 0);
	free(c);
	return o;
}
