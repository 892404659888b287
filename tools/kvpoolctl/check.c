// SPDX-License-Identifier: GPL-2.0-only
/* A whole pool, verified without the module. */
#include "check.h"
#include "inspect.h"
#include "verify.h"

struct check {
	const struct found_pool *found;
	struct offline_pool pool;	/* the legs that are verified */
	struct verify v;
};

static const char *const state_words[VERIFY_STATES] = {
	[VERIFY_OK] = "valid",
	[VERIFY_UNWRITTEN] = "unwritten",
	[VERIFY_IN_LOG] = "in_log",
	[VERIFY_TORN] = "torn",
	[VERIFY_POISONED] = "poisoned",
	[VERIFY_UNREPAIRED] = "unrepaired",
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

/* Place of superblock leg @index among the verified ones, or -1. */
static int place_of(const struct check *c, u32 index)
{
	unsigned int i;

	for (i = 0; i < c->pool.leg_count; i++)
		if (c->pool.index[i] == index)
			return (int)i;
	return -1;
}

static const char *leg_state(const struct check *c, u32 i)
{
	const struct found_leg *leg = c->found->legs[i];

	if (!leg)
		return "missing";
	if (scan_is_fork(leg->label.sb, c->found->sb))
		return "fork";
	return leg_word(c->found->sb->legs[i].state);
}

/* Adds leg @i of the superblock; returns whether anything is wrong with it. */
static bool add_leg(json_object *list, const struct check *c, u32 i)
{
	const struct found_leg *leg = c->found->legs[i];
	const char *state = leg_state(c, i);
	json_object *o = json_item(list);
	int n = place_of(c, i);
	char uuid[UUID_BUF];
	bool bad = strcmp(state, "online");

	json_text(o, "path", leg ? leg->dev.path : NULL);
	json_text(o, "uuid", uuid_print(c->found->sb->legs[i].uuid, uuid));
	json_text(o, "state", state);
	json_flag(o, "verified", n >= 0);
	if (leg) {
		json_number(o, "labels_valid", leg->label.valid);
		json_number(o, "labels_bad", leg->label.bad);
		bad |= ring_lost(&leg->label);
	}
	if (n < 0)
		return bad;
	json_number(o, "log_bad", c->v.log.bad[n]);
	json_number(o, "pages_bad", c->v.pages_bad[n]);
	json_number(o, "blocks_bad", c->v.legs[n].blocks_bad);
	json_number(o, "read_errors", c->v.legs[n].read_errors);
	return bad || c->v.log.bad[n] || c->v.pages_bad[n] || c->v.legs[n].blocks_bad ||
	       c->v.legs[n].read_errors;
}

static void add_blocks(json_object *parent, const struct check *c)
{
	json_object *o = json_child(parent, "table"), *list, *range;
	unsigned int i;

	json_number(o, "pages_good", c->v.pages_good);
	json_number(o, "pages_lost", c->v.pages_lost);
	o = json_child(parent, "blocks");
	for (i = 0; i < VERIFY_STATES; i++)
		json_number(o, state_words[i], c->v.blocks[i]);
	list = json_list(parent, "damage");
	for (i = 0; i < c->v.range_count; i++) {
		range = json_item(list);
		json_number(range, "lba", c->v.ranges[i].block);
		json_number(range, "blocks", c->v.ranges[i].count);
		json_text(range, "state", state_words[c->v.ranges[i].state]);
	}
}

/* What a start would say, in one line; NULL when nothing is wrong. */
static const char *advice(const struct check *c, bool legs_bad)
{
	enum log_state state = log_state(&c->pool, &c->v.log);

	if (!c->pool.leg_count)
		return "no leg that is in sync was given: find one";
	if (c->found->fork)
		return "the legs disagree about their history: see kvpoolctl import --accept-fork";
	if (state == LOG_DAMAGED)
		return "durable log entries are damaged on every leg given: find another leg";
	if (state == LOG_NEWER)
		return "the log is newer than every superblock given: find another leg";
	if (c->v.pages_lost || c->v.blocks[VERIFY_UNREPAIRED])
		return "some blocks are lost on every leg given: find another leg, or restore "
		       "them from a backup";
	if (c->v.blocks[VERIFY_POISONED])
		return "some blocks are recorded as lost: restore them from a backup";
	if (c->pool.leg_count < c->found->sb->leg_count)
		return "the data is whole, but not every leg holds it: bring the others back";
	if (legs_bad)
		return "the data is whole, its redundancy is not: import the pool and scrub it";
	return NULL;
}

static int exit_of(const struct check *c, const char *text)
{
	if (!c->pool.leg_count || c->found->fork || log_state(&c->pool, &c->v.log) != LOG_SOUND)
		return EXIT_FAULTED;
	return text ? EXIT_DEGRADED : EXIT_DONE;
}

static json_object *report(const struct check *c, int *status)
{
	const struct kvp_sb *sb = c->found->sb;
	json_object *o = json_object_new_object(), *legs;
	bool legs_bad = false;
	char uuid[UUID_BUF];
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
	log_object(o, &c->pool, &c->v.log);
	add_blocks(o, c);
	text = advice(c, legs_bad);
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

/* The devices must be legs of one pool, each of them once. */
static int check_scan(const struct scan *s, struct err *err)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (label_fault(&s->legs[i]->label))
			return err_set(err, ERR_NO_LABEL, s->legs[i]->dev.path,
				       "leave it out, or see kvpoolctl inspect", "%s",
				       label_fault(&s->legs[i]->label));
	if (!s->pool_count)
		return err_set(err, ERR_NO_LABEL, "check", "name legs of a pool",
			       "none of the devices has a kvpool label");
	if (s->pool_count > 1)
		return err_set(err, ERR_AMBIGUOUS, "check", "name legs of one pool",
			       "the devices belong to several pools: %s and %s",
			       s->pools[0].sb->name, s->pools[1].sb->name);
	if (s->pools[0].duplicate)
		return err_set(err, ERR_DUPLICATE_LEG, s->pools[0].duplicate->dev.path,
			       "leave out the copy", "it carries the same leg UUID as another");
	if (s->pools[0].odd)
		return err_set(err, ERR_NO_LABEL, s->pools[0].odd->dev.path, "leave it out",
			       "it is no leg of pool %s any more", s->pools[0].sb->name);
	if (kvp_is_parity1(&s->pools[0].sb->vdevs[0]))
		return err_set(err, ERR_UNSUPPORTED, s->pools[0].sb->name,
			       "import it and run kvpoolctl scrub",
			       "this version checks no parity1 offline");
	if (s->pools[0].sb->vdev_count > 1)
		return err_set(err, ERR_UNSUPPORTED, s->pools[0].sb->name,
			       "import it and run kvpoolctl scrub",
			       "this version checks no pool of several vdevs offline");
	return 0;
}

json_object *check_object(struct ctl *ctl, struct scan *s, int *status, struct err *err)
{
	struct check *c;
	json_object *o = NULL;

	if (check_scan(s, err))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c) {
		err_set(err, ERR_FAILED, "check", "free some memory", "out of memory");
		return NULL;
	}
	c->found = &s->pools[0];
	c->v.progress = draw;
	c->v.progress_arg = ctl;
	if (!offline_open(&c->pool, c->found, err) &&
	    (!c->pool.leg_count || !verify_pool(&c->pool, &c->v, err)))
		o = report(c, status);
	ctl_progress(ctl, "check", 0, 0);
	offline_close(&c->pool);
	free(c);
	return o;
}
