// SPDX-License-Identifier: GPL-2.0-only
/* Verifies a whole pool without the module. */
#include "format/logplace.h"
#include "check.h"
#include "import.h"
#include "inspect.h"
#include "verify.h"

struct check {
	const struct found_pool *found;
	struct offline_pool *pools;	/* by vdev, with the legs that are verified */
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

static const struct offline_pool *log_pool(const struct check *c)
{
	return &c->pools[c->found->sb->log_vdev];
}

/* Is leg @index of the superblock verified? */
static bool verified(const struct check *c, u32 index)
{
	unsigned int i;
	u32 v;

	for (v = 0; v < c->found->sb->vdev_count; v++)
		for (i = 0; i < c->pools[v].leg_count; i++)
			if (c->pools[v].index[i] == index)
				return true;
	return false;
}

/* The first vdev with too few legs for the pool to run; -1: none. */
static int incomplete(const struct check *c)
{
	u32 v;

	for (v = 0; v < c->found->sb->vdev_count; v++)
		if (c->pools[v].leg_count < offline_needed(c->pools[v].g))
			return (int)v;
	return -1;
}

/* Are there enough legs to read the pool's contents? */
static bool readable(const struct check *c)
{
	return incomplete(c) < 0 && !import_log_lost(c->found);
}

static unsigned int legs_verified(const struct check *c)
{
	unsigned int n = 0;
	u32 v;

	for (v = 0; v < c->found->sb->vdev_count; v++)
		n += c->pools[v].leg_count;
	return n;
}

static const char *leg_state(const struct check *c, u32 i)
{
	const struct found_leg *leg = c->found->legs[i];

	if (!leg)
		return "missing";
	if (kvp_sb_forked(leg->label.sb, c->found->sb, false))
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
	json_flag(o, "verified", verified(c, i));
	if (leg) {
		json_number(o, "labels_valid", leg->label.valid);
		json_number(o, "labels_bad", leg->label.bad);
		bad |= ring_lost(&leg->label);
	}
	if (!verified(c, i))
		return bad;
	log_bad = c->v.log.bad[i];
	json_number(o, "log_bad", log_bad);
	json_number(o, "pages_bad", result->pages_bad);
	json_number(o, "blocks_bad", result->blocks_bad);
	json_number(o, "read_errors", result->read_errors);
	json_number(o, "clean_bad", result->clean_bad);
	return bad || log_bad || result->pages_bad || result->blocks_bad || result->read_errors;
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

#define ADVICE_LEN	400

/* Advice that names the missing SSDs, for a cache whose log is needed. */
static const char *log_lost(const struct check *c, char buf[ADVICE_LEN])
{
	const struct kvp_sb *sb = c->found->sb;
	const struct kvp_geometry *g = &sb->vdevs[sb->log_vdev];
	unsigned int have = log_pool(c)->leg_count, named = 0;
	char uuid[UUID_BUF];
	size_t len;
	u32 i;

	len = (size_t)snprintf(buf, ADVICE_LEN,
			       "its log is on the cache and may have the only copy of data: "
			       "%u of %u SSDs that are in sync were given, and it needs %u; name",
			       have, g->leg_count, kvp_log_needs(g));
	for (i = g->first_leg; i < g->first_leg + g->leg_count && named < 3; i++) {
		if (sb->legs[i].state != KVP_LEG_IN_SYNC || scan_leg_in_sync(c->found, i))
			continue;
		len += (size_t)snprintf(buf + len, ADVICE_LEN - len, "%s the SSD with UUID %s",
					named++ ? ", or" : "", uuid_print(sb->legs[i].uuid, uuid));
	}
	snprintf(buf + len, ADVICE_LEN - len, "%s", named ? " too" : " another");
	return buf;
}

/* The advice that a start would give, in one line; NULL if the pool has no fault. */
static const char *advice(const struct check *c, bool legs_bad, char buf[ADVICE_LEN])
{
	enum log_state state = log_state(log_pool(c), &c->v.log);
	int vdev = incomplete(c);

	if (c->found->doubtful)
		return "slots of a label cannot be read, and may hold a newer superblock: this "
		       "report may show an older state; try again, nothing is lost";
	if (!legs_verified(c))
		return "no leg that is in sync was given: find one";
	if (vdev >= 0) {
		snprintf(buf, ADVICE_LEN,
			 "vdev %d, a %s: %u of %u legs that are in sync were given, "
			 "and it needs %u: find another", vdev, vdev_word(c->pools[vdev].g->kind),
			 c->pools[vdev].leg_count, c->pools[vdev].g->leg_count,
			 offline_needed(c->pools[vdev].g));
		return buf;
	}
	if (import_log_lost(c->found))
		return log_lost(c, buf);
	if (c->found->fork)
		return "the legs disagree about their history: see kvpoolctl import --accept-fork";
	if (state == LOG_DAMAGED && kvp_log_on_cache(c->found->sb))
		return "durable log entries are damaged on every SSD given: find another SSD of "
		       "the cache; if there is none, import --discard-log gives up the log";
	if (state == LOG_DAMAGED)
		return "durable log entries are damaged on every leg given: find another leg";
	if (state == LOG_NEWER)
		return "the log is newer than every superblock given: find another leg";
	if (c->v.pages_lost || c->v.blocks[VERIFY_UNREPAIRED])
		return "some blocks are lost on every leg given: find another leg, or restore "
		       "them from a backup";
	if (c->v.blocks[VERIFY_POISONED])
		return "some blocks are recorded as lost: restore them from a backup";
	if (legs_verified(c) < c->found->sb->leg_count)
		return "the data is whole, but not every leg holds it: bring the others back";
	if (legs_bad)
		return "the data is whole, its redundancy is not: import the pool and scrub it";
	return NULL;
}

static int exit_of(const struct check *c, const char *text)
{
	if (!readable(c) || c->found->fork ||
	    log_state(log_pool(c), &c->v.log) != LOG_SOUND)
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
	log = log_object(o, log_pool(c), &c->v.log);
	if (!readable(c))
		json_text(log, "state", "unread");
	add_faults(log, c);
	add_blocks(o, c);
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

/* The devices must be different legs of one pool. */
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
	if (s->pools[0].sb->flags & KVP_SB_JOINING)
		return err_set(err, ERR_MISSING_LEGS, s->pools[0].sb->name,
			       "name the pool's own legs",
			       "the legs given are only legs that an unfinished add was to add");
	if (s->pools[0].odd)
		return err_set(err, ERR_NO_LABEL, s->pools[0].odd->dev.path, "leave it out",
			       "it is not a leg of pool %s%s", s->pools[0].sb->name,
			       s->pools[0].odd->label.sb->flags & KVP_SB_JOINING ?
			       ", but an unfinished add was to add it" : " any more");
	return 0;
}

static int open_vdevs(struct check *c, struct err *err)
{
	u32 v;

	for (v = 0; v < c->found->sb->vdev_count; v++)
		if (offline_open(&c->pools[v], c->found, v, err))
			return -1;
	offline_link_log(c->pools);
	return 0;
}

json_object *check_object(struct ctl *ctl, struct scan *s, int *status, struct err *err)
{
	struct check *c;
	json_object *o = NULL;
	u32 v;

	if (check_scan(s, err))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c)
		c->pools = calloc(s->pools[0].sb->vdev_count, sizeof(*c->pools));
	if (!c || !c->pools) {
		free(c);
		err_set(err, ERR_FAILED, "check", "free some memory", "out of memory");
		return NULL;
	}
	c->found = &s->pools[0];
	c->v.progress = draw;
	c->v.progress_arg = ctl;
	if (!open_vdevs(c, err) && (!readable(c) || !verify_pool(c->pools, &c->v, err)))
		o = report(c, status);
	ctl_progress(ctl, "check", 0, 0);
	for (v = 0; v < c->found->sb->vdev_count; v++)
		offline_close(&c->pools[v]);
	free(c->pools);
	free(c);
	return o;
}
