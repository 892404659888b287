// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsetup message: one function a message, found in one table. A worker does what waits for I/O
 * (order.h).
 */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/uuid.h>

#include "core/core.h"
#include "core/refusal.h"
#include "io/inject.h"
#include "log/log.h"
#include "pool/ahead.h"
#include "pool/cachemode.h"
#include "pool/cachewindow.h"
#include "pool/grow.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "pool/spare.h"
#include "ram/rcache.h"
#include "super/events.h"
#include "super/members.h"
#include "table/table.h"
#include "target/message.h"
#include "target/order.h"
#include "target/registry.h"
#include "target/status.h"
#include "target/target.h"
#include "target/who.h"
#include "work/changed.h"
#include "work/destage.h"
#include "work/scrub.h"
#include "work/trim.h"

/*
 * @pool stays as long as the message does. The table through which it came need not stay.
 */
struct message {
	struct kvp_pool *pool;
	unsigned int argc;
	char **argv;
	char *result;
	unsigned int maxlen;
	bool refused;			/* a reason was given, in words */
	struct kvp_event_by by;		/* the user that sent it */
};

static int refused(struct message *m, const char *why, const char *mend, int error)
{
	struct kvp_refusal r;

	snprintf(r.what, sizeof(r.what), "message %s", m->argv[0]);
	snprintf(r.why, sizeof(r.why), "%s", why);
	snprintf(r.mend, sizeof(r.mend), "%s", mend);
	kvp_registry_refused(&r, false);
	m->refused = true;
	return error;
}

/* The answer to a failure that gave no reason. */
static int failed(struct message *m, int error)
{
	if (error == -EROFS)
		return refused(m, "the pool was started read-only",
			       "start it without the option readonly", error);
	if (error == -EINTR)
		return refused(m, "the device was suspended before it was done",
			       "ask for it again", error);
	if (error == -ENOMEM)
		return refused(m, "out of memory", "free some and try again", error);
	if (error == -EINVAL || error == -ERANGE)
		return refused(m, "an argument is no number, or too large",
			       "see docs/dm-interface.md", error);
	return refused(m, "too few legs succeeded",
		       "see status and events; mend what is wrong, then 'clear'", error);
}

/* Argument @i as a number; 0 if there is no such argument. */
static int number(const struct message *m, unsigned int i, u64 *value)
{
	*value = 0;
	return i < m->argc ? kstrtou64(m->argv[i], 10, value) : 0;
}

/* Find the leg that argument 1 names: by path, by MAJOR:MINOR or by UUID. */
static struct kvp_leg *find_leg(const struct message *m)
{
	struct kvp_pool *pool = m->pool;
	const char *name = m->argv[1];
	char text[UUID_STRING_LEN + 1];
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		snprintf(text, sizeof(text), "%pUb", pool->sb->legs[i].uuid);
		if (!strcasecmp(name, text) || (leg->bdev && !strcmp(name, leg->path)))
			return leg;
		if (!leg->bdev)
			continue;
		snprintf(text, sizeof(text), "%u:%u", MAJOR(leg->bdev->bd_dev),
			 MINOR(leg->bdev->bd_dev));
		if (!strcmp(name, text))
			return leg;
	}
	return NULL;
}

static int msg_stats(struct message *m)
{
	return kvp_print_stats(m->pool, m->result, m->maxlen);
}

static int msg_latency(struct message *m)
{
	return kvp_print_latency(m->pool, m->result, m->maxlen);
}

static int msg_poisoned(struct message *m)
{
	u64 from;

	return number(m, 1, &from) ?:
	       kvp_print_poisoned(m->pool, kvp_block(from), m->result, m->maxlen);
}

static int msg_skipped(struct message *m)
{
	u64 from;

	return number(m, 1, &from) ?:
	       kvp_print_skipped(m->pool, kvp_block(from), m->result, m->maxlen);
}

static int msg_give_up(struct message *m)
{
	bool force = m->argc > 2;
	u64 block;
	int ret = number(m, 1, &block);

	if (ret)
		return ret;
	if (force && strcmp(m->argv[2], "force"))
		return refused(m, "unknown word", "use force, or leave it out", -EINVAL);
	if (block >= READ_ONCE(m->pool->sb->pool_blocks))
		return refused(m, "the pool has no such block",
			       "see the events table_lost and table_silent", -ERANGE);
	ret = kvp_table_give_up(m->pool->table, kvp_block(block), force);
	if (ret == -ENOENT)
		return refused(m, "no page of the checksum table above that block is lost",
			       "see the events table_lost and table_silent", ret);
	if (ret == -EBUSY)
		return refused(m, "a leg of that vdev is out, and may have the page",
			       "try to save it from there; to lose what lies below the page, say force", ret);
	if (ret == -EIO && force)
		return refused(m, "a leg does not answer, and may have the page",
			       "wait until it answers, or take it offline", ret);
	if (ret == -EIO)
		return refused(m, "a leg fails to read the page, and may have it",
			       "try again later; to lose what lies below the page, say force", ret);
	return ret;
}

static int msg_events(struct message *m)
{
	u64 from;

	return number(m, 1, &from) ?: kvp_print_events(m->pool, from, m->result, m->maxlen);
}

static int msg_orders(struct message *m)
{
	u64 from;

	return number(m, 1, &from) ?: kvp_print_orders(m->pool, from, m->result, m->maxlen);
}

/* Why the pool cannot tell the changes since a point. */
static int point_refused(struct message *m, int error)
{
	switch (error) {
	case -EINVAL:
		return refused(m, "that is no checkpoint", "name it as NUMBER or NUMBER@TAG",
			       error);
	case -ERANGE:
		return refused(m, "that checkpoint is still to come",
			       "name one that was taken; if this one was, an older state of the disks was put back: copy all of the pool",
			       error);
	case -ESTALE:
		return refused(m, "that checkpoint is of another pool, or of a history that was given up",
			       "copy all of the pool (--since 0), and go on from there", error);
	case -ENOTUNIQ:
		return refused(m, "this pool has gone back once, so the number may be from before that",
			       "name the checkpoint with its tag, NUMBER@TAG; or copy all of the pool (--since 0)",
			       error);
	case -EPERM:
		return refused(m, "the pool was started read-only, without legs that may hold newer data",
			       "start it with them, or copy all of it", error);
	}
	return error;
}

/* Read the point that argument @i names. */
static int point(struct message *m, unsigned int i, struct kvp_point *p)
{
	int ret = kvp_point_parse(m->argv[i], p) ?: kvp_changed_check(m->pool, p);

	return ret ? point_refused(m, ret) : 0;
}

static int msg_point(struct message *m)
{
	struct kvp_point p;
	int ret = kvp_changed_point(m->pool, &p);

	if (ret)
		return ret == -EPERM ? point_refused(m, ret) : ret;
	return kvp_print_point(&p, m->result, m->maxlen);
}

static int msg_changed(struct message *m)
{
	struct kvp_point p;
	u64 from;

	return point(m, 1, &p) ?: number(m, 2, &from) ?:
	       kvp_print_changed(m->pool, p.era, kvp_block(from), m->result, m->maxlen);
}

/*
 * A number without a tag is enough: it decides how much is verified, and nothing depends on that.
 */
static int scrub_start(struct message *m)
{
	struct kvp_point p = { 0 };
	int ret = m->argc > 2 ? kvp_point_parse(m->argv[2], &p) : 0;

	if (!ret && p.tagged)
		ret = kvp_changed_check(m->pool, &p);
	ret = ret ?: kvp_scrub_start(m->pool, p.era);
	return m->argc > 2 && ret != -EBUSY && ret != -EROFS ? point_refused(m, ret) : ret;
}

static int msg_scrub(struct message *m)
{
	static const struct {
		const char *word;
		int (*act)(struct kvp_pool *pool);
	} acts[] = {
		{ "stop", kvp_scrub_stop },
		{ "pause", kvp_scrub_pause },
		{ "resume", kvp_scrub_resume },
	};
	int ret = -EINVAL;
	u32 i;

	if (!strcmp(m->argv[1], "start")) {
		ret = scrub_start(m);
		if (m->refused)
			return ret;
	}
	for (i = 0; m->argc == 2 && i < ARRAY_SIZE(acts); i++)
		if (!strcmp(m->argv[1], acts[i].word))
			ret = acts[i].act(m->pool);
	if (ret == -EBUSY)
		return refused(m, "a scrub is running", "stop it or let it end", ret);
	if (ret == -ENOENT)
		return refused(m, "there is no such scrub", "start one first", ret);
	if (ret == -EINVAL)
		return refused(m, "unknown word", "use start [CHECKPOINT], stop, pause or resume",
			       ret);
	return ret;
}

static int msg_trim(struct message *m)
{
	bool stop = !strcmp(m->argv[1], "stop");
	int ret;

	if (!stop && strcmp(m->argv[1], "start"))
		return refused(m, "unknown word", "use start or stop", -EINVAL);
	ret = stop ? kvp_trim_stop(m->pool) : kvp_trim_start(m->pool);
	if (ret == -EBUSY)
		return refused(m, "a trim is running", "stop it or let it end", ret);
	if (ret == -ENOENT)
		return refused(m, "no trim is running", "start one first", ret);
	if (ret == -EOPNOTSUPP)
		return refused(m, "no leg with data offers discards", "nothing needs to be done",
			       ret);
	return ret;
}

/* A leg without a device counts with its old size. */
static void leg_sizes(const struct kvp_pool *pool, struct kvp_grow *w)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		w->leg_blocks[i] = leg->bdev ? bdev_nr_sectors(leg->bdev) >> KVP_SECTORS_SHIFT :
					       leg->size_blocks;
	}
}

static int grow_ahead(struct message *m)
{
	struct kvp_refusal r = { .what = "message grow" };
	struct kvp_grow *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int ret;

	if (!w)
		return -ENOMEM;
	leg_sizes(m->pool, w);
	ret = kvp_pool_grow_ahead(m->pool, w, &r);
	kfree(w);
	if (ret) {
		kvp_registry_refused(&r, false);
		m->refused = true;
	}
	return ret;
}

static int msg_grow(struct message *m)
{
	int ret;

	if (!strcmp(m->argv[1], "start"))
		return grow_ahead(m);
	if (strcmp(m->argv[1], "stop"))
		return refused(m, "unknown word", "use start or stop", -EINVAL);
	ret = kvp_ahead_stop(m->pool);
	if (ret == -ENOENT)
		return refused(m, "no checksum table is being copied", "start that first", ret);
	return ret;
}

static int msg_offline(struct message *m)
{
	struct kvp_leg *leg = find_leg(m);
	int ret;

	if (!leg)
		return refused(m, "the pool has no such leg", "see the legs in status", -ENODEV);
	kvp_return_wanted(leg, false);
	ret = kvp_leg_offline(m->pool, leg);
	if (ret == -EBUSY)
		return refused(m, "its vdev cannot be without it: no leg in sync is to spare there",
			       "bring another leg of it back first; or remove the device to stop the pool",
			       ret);
	if (ret == -ENODEV)
		return refused(m, "the leg is not in use", "nothing needs to be done", ret);
	return ret;
}

static int msg_online(struct message *m)
{
	struct kvp_refusal r = { .what = "message online" };
	struct kvp_leg *leg = find_leg(m);
	int ret;

	if (!leg)
		return refused(m, "the pool has no such leg", "see the legs in status", -ENODEV);
	if (leg->bdev)
		kvp_leg_resized(leg, bdev_nr_sectors(leg->bdev) >> KVP_SECTORS_SHIFT);
	ret = kvp_leg_online(m->pool, leg, &r);
	if (ret) {
		kvp_registry_refused(&r, false);
		m->refused = true;
	}
	return ret;
}

/* Set the pool's comment. Without a text, remove it. */
static int set_comment(struct message *m)
{
	int ret = kvp_pool_set_comment(m->pool, m->argc > 2 ? m->argv[2] : "");

	if (ret == -ERANGE)
		return refused(m, "a comment has at most 128 characters", "shorten it", ret);
	if (ret == -EINVAL)
		return refused(m, "a comment cannot have control characters", "leave them out",
			       ret);
	return ret;
}

/* set cache_mode: kvp_cache_set_mode() fills in its own reason for a refusal. */
static int set_cache_mode(struct message *m, u64 mode)
{
	struct kvp_refusal r = { .what = "message set" };
	int ret;

	if (m->argc > 3 && strcmp(m->argv[3], "force"))
		return refused(m, "unknown word", "use force, or nothing", -EINVAL);
	ret = kvp_cache_set_mode(m->pool, mode, m->argc > 3, &r);
	if (ret) {
		kvp_registry_refused(&r, false);
		m->refused = true;
	}
	return ret;
}

/* set cache_dirty_max, and 'drain start cache_dirty_max': the window of the cache's log. */
static int set_dirty_max(struct message *m, const char *value,
			 int (*change)(struct kvp_pool *pool, u64 bytes, struct kvp_refusal *r),
			 struct kvp_refusal *r)
{
	u64 bytes;
	int ret;

	if (kvp_bytes_parse(value, &bytes) || bytes < KVP_BLOCK_SIZE)
		return refused(m, "cache_dirty_max is no number of bytes from 4096 on",
			       "give 64M to 64G", -EINVAL);
	ret = change(m->pool, bytes, r);
	if (ret) {
		kvp_registry_refused(r, false);
		m->refused = true;
	}
	return ret;
}

static int set(struct message *m)
{
	struct kvp_refusal r = { .what = "message set" };
	struct kvp_why why;
	u64 value;
	int id = kvp_tunable_find(m->argv[1]), ret;

	if (m->argc > 3 && id != KVP_T_CACHE_MODE)
		return refused(m, "wrong number of words", "see docs/dm-interface.md", -EINVAL);
	if (!strcmp(m->argv[1], "comment"))
		return set_comment(m);
	if (!strcmp(m->argv[1], KVP_CACHE_DIRTY_MAX) && m->argc == 3)
		return set_dirty_max(m, m->argv[2], kvp_cache_set_window, &r);
	if (id < 0) {
		snprintf(why.text, sizeof(why.text), "'%s' is not a tunable", m->argv[1]);
		return refused(m, why.text, "see docs/admin-guide.md", -EINVAL);
	}
	if (m->argc < 3)
		return refused(m, "wrong number of words", "see docs/dm-interface.md", -EINVAL);
	ret = kvp_tunable_parse(id, m->argv[2], &value, &why);
	if (ret)
		return refused(m, why.text, "give a value in that range", ret);
	if (id == KVP_T_CACHE_MODE)
		return set_cache_mode(m, value);
	ret = kvp_pool_set(m->pool, id, value);
	if (ret == -ENOMEM)
		return refused(m, "out of memory", "give a smaller value", ret);
	return ret;
}

static int msg_set(struct message *m)
{
	int ret = set(m);

	if (!ret)
		kvp_event(m->pool, "set key=%s value=%s", m->argv[1],
			  m->argc > 2 ? m->argv[2] : "");
	return ret;
}

/* The messages 'drain start [MODE [force]]' and 'drain start cache_dirty_max BYTES'. */
static int drain_start(struct message *m, struct kvp_refusal *r)
{
	struct kvp_why why;
	u64 mode;

	if (m->argc == 2)
		return kvp_drain_start(m->pool, r);
	if (m->argc > 3 && !strcmp(m->argv[2], KVP_CACHE_DIRTY_MAX))
		return set_dirty_max(m, m->argv[3], kvp_cache_start_window, r);
	if (m->argc > 3 && strcmp(m->argv[3], "force"))
		return refused(m, "unknown word", "use force, or nothing", -EINVAL);
	if (kvp_tunable_parse(KVP_T_CACHE_MODE, m->argv[2], &mode, &why))
		return refused(m, why.text, "give a value in that range", -EINVAL);
	return kvp_drain_start_to(m->pool, mode, m->argc > 3, r);
}

static int msg_drain(struct message *m)
{
	struct kvp_refusal r = { .what = "message drain" };
	int ret;

	if (!strcmp(m->argv[1], "cancel") && m->argc == 2) {
		ret = kvp_drain_cancel(m->pool);
		if (ret == -EBUSY)
			return refused(m, "it is too late: the log is empty, and moves now",
				       "wait for that, then set cache_mode as it was", ret);
		return ret ? refused(m, "no drain is running", "start that first", ret) : 0;
	}
	if (strcmp(m->argv[1], "start"))
		return refused(m, "unknown word", "use start or cancel", -EINVAL);
	ret = drain_start(m, &r);
	if (ret && !m->refused) {
		kvp_registry_refused(&r, false);
		m->refused = true;
	}
	return ret;
}

static int msg_checkpoint(struct message *m)
{
	return kvp_pool_readonly(m->pool) ? -EROFS : kvp_destage_order(m->pool);
}

static int msg_flush(struct message *m)
{
	return kvp_pool_readonly(m->pool) ? 0 : kvp_commit_sync(m->pool->log);
}

static int msg_drop_caches(struct message *m)
{
	kvp_table_shrink(m->pool->table, true);
	kvp_rcache_drop(m->pool->rcache);
	return 0;
}

static int msg_clear(struct message *m)
{
	struct kvp_leg *leg = m->argc > 1 ? find_leg(m) : NULL;
	char words[KVP_LEG_WORDS];

	if (m->argc > 1 && !leg)
		return refused(m, "the pool has no such leg", "see the legs in status", -ENODEV);
	if (leg)
		kvp_event(m->pool, "cleared leg=%u%s", leg->index, kvp_leg_words(leg, words));
	else
		kvp_event(m->pool, "cleared");
	kvp_pool_clear(m->pool, leg ? (int)leg->index : -1);
	return 0;
}

static int msg_mark(struct message *m)
{
	static const struct {
		const char *word, *event;
		u32 flag;
	} marks[] = {
		{ "exported", "exported", KVP_SB_EXPORTED },
		{ "destroyed", "destroyed", KVP_SB_DESTROYED },
		{ "none", "unmarked", 0 },
	};
	u32 i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(marks); i++) {
		if (strcmp(m->argv[1], marks[i].word))
			continue;
		ret = kvp_pool_mark(m->pool, marks[i].flag, KVP_SB_EXPORTED | KVP_SB_DESTROYED);
		if (!ret)
			kvp_event(m->pool, "%s", marks[i].event);
		return ret;
	}
	return refused(m, "unknown mark", "use exported, destroyed or none", -EINVAL);
}

static int msg_rename(struct message *m)
{
	int ret = kvp_pool_rename(m->pool, m->argv[1]);

	if (ret == -EINVAL)
		return refused(m, "a name is a letter and up to 63 letters, digits, '_', '.', '-'",
			       "give such a name", ret);
	return ret;
}

static int msg_spare(struct message *m)
{
	bool add = !strcmp(m->argv[1], "add");
	uuid_t uuid;
	int ret;

	if (!add && strcmp(m->argv[1], "remove"))
		return refused(m, "unknown word", "use add or remove", -EINVAL);
	if (uuid_parse(m->argv[2], &uuid))
		return refused(m, "that is no UUID", "give that of the spare", -EINVAL);
	ret = kvp_spare_note(m->pool, uuid.b, add);
	if (ret == -ENOSPC)
		return refused(m, "the pool lists as many spares as it can",
			       "remove one that is not needed, or missing", ret);
	return ret;
}

static int msg_inject(struct message *m)
{
	struct kvp_leg *leg = find_leg(m);
	char name[KVP_LEG_WORDS];
	u64 count;
	int ret;

	if (!kvp_inject_allowed())
		return refused(m, "the module was not loaded with fault_injection=1",
			       "not on a machine that is needed; else load it so", -EPERM);
	if (!leg)
		return refused(m, "the pool has no such leg", "see the legs in status", -ENODEV);
	ret = number(m, 3, &count);
	if (!ret && count > INT_MAX)
		ret = -ERANGE;
	if (ret)
		return ret;
	if (kvp_inject(leg, m->argv[2], count))
		return refused(m, "unknown kind of request", "use read, write or flush", -EINVAL);
	kvp_event(m->pool, "fault_injected leg=%u kind=%s count=%llu%s", leg->index, m->argv[2],
		  count, kvp_leg_words(leg, name));
	return 0;
}

static const struct kind {
	const char *word;
	unsigned int min, max;		/* words, this one included */
	int (*act)(struct message *m);
	bool waits;			/* it waits for I/O, or for another waiter */
	bool helps;			/* it may end something that a suspend waits for */
} messages[] = {
	{ "stats", 1, 1, msg_stats },
	{ "latency", 1, 1, msg_latency },
	{ "poisoned", 1, 2, msg_poisoned, true },
	{ "skipped", 1, 2, msg_skipped },
	{ "events", 1, 2, msg_events },
	{ "orders", 1, 2, msg_orders },
	{ "point", 1, 1, msg_point, true },
	{ "changed", 2, 3, msg_changed, true },
	{ "give_up", 2, 3, msg_give_up, true },
	{ "scrub", 2, 3, msg_scrub, true },
	{ "trim", 2, 2, msg_trim, true },
	{ "grow", 2, 2, msg_grow, true },
	{ "offline", 2, 2, msg_offline, true, true },
	{ "online", 2, 2, msg_online, true },
	{ "set", 2, 4, msg_set, true, true },
	{ "drain", 2, 4, msg_drain, true },
	{ "checkpoint", 1, 1, msg_checkpoint, true },
	{ "flush", 1, 1, msg_flush, true },
	{ "drop_caches", 1, 1, msg_drop_caches, true },
	{ "clear", 1, 2, msg_clear, true, true },
	{ "mark", 2, 2, msg_mark, true },
	{ "rename", 2, 2, msg_rename, true },
	{ "spare", 3, 3, msg_spare, true },
	{ "inject", 4, 4, msg_inject },
};

#define MAX_WORDS	4

static int act(struct message *m, const struct kind *kind)
{
	int ret;

	kvp_events_by(m->pool, &m->by);
	ret = kind->act(m);
	kvp_events_by_end(m->pool, &m->by);
	return ret < 0 && !m->refused ? failed(m, ret) : ret;
}

/* --- by a worker --------------------------------------------------------------------------- */

/* A message that waits. Its sender may be gone before it ends, so it owns a copy of all words. */
struct ordered {
	struct kvp_order order;
	struct message m;
	const struct kind *kind;
	char *argv[MAX_WORDS];
	char text[];			/* of @argv */
};

static int act_ordered(struct kvp_order *order)
{
	struct ordered *o = container_of(order, struct ordered, order);

	return act(&o->m, o->kind);
}

static void release_ordered(struct kvp_order *order)
{
	struct ordered *o = container_of(order, struct ordered, order);

	kvfree(o->m.result);
	kfree(o);
}

static struct ordered *copy_message(const struct message *m, const struct kind *kind)
{
	size_t size = 0, len;
	struct ordered *o;
	unsigned int i;
	char *at;

	for (i = 0; i < m->argc; i++)
		size += strlen(m->argv[i]) + 1;
	o = kzalloc(struct_size(o, text, size), GFP_KERNEL);
	if (!o)
		return NULL;
	o->order.act = act_ordered;
	o->order.release = release_ordered;
	o->kind = kind;
	o->m = *m;
	o->m.argv = o->argv;
	o->m.result = kvzalloc(m->maxlen, GFP_KERNEL);
	for (i = 0, at = o->text; i < m->argc; i++, at += len) {
		len = strlen(m->argv[i]) + 1;
		o->argv[i] = memcpy(at, m->argv[i], len);
	}
	if (o->m.result)
		return o;
	kfree(o);
	return NULL;
}

static int carry_out(struct message *m, const struct kind *kind, struct kvp_orders *orders)
{
	unsigned int noio;
	struct ordered *o;
	int ret;

	/*
	 * A suspend may wait for held writes in a file system that it freezes. 'clear' lets them
	 * go on.
	 */
	if (READ_ONCE(orders->ending) && !kind->helps)
		return refused(m, "the device is being suspended", "ask again when that is done",
			       -EBUSY);
	/*
	 * A suspend waits for this message. So it must not wait for memory that a write to the
	 * device would free.
	 */
	noio = memalloc_noio_save();
	o = copy_message(m, kind);
	memalloc_noio_restore(noio);
	if (!o)
		return failed(m, -ENOMEM);
	kvp_order_start(orders, &o->order);
	if (kvp_order_wait(&o->order)) {
		ret = o->order.result;
		strscpy(m->result, o->m.result, m->maxlen);
	} else {
		ret = fatal_signal_pending(current) ? -EINTR : failed(m, -EINTR);
	}
	kvp_order_put(&o->order);
	return ret;
}

int kvp_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		unsigned int maxlen)
{
	struct kvp_target *t = ti->private;
	struct message m = { .argc = argc, .argv = argv, .result = result, .maxlen = maxlen };
	u32 i;

	if (!t->inst)
		return refused(&m, "the device was never resumed", "resume it first", -ENODEV);
	m.pool = t->inst->pool;
	kvp_who(m.by.words);
	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (strcasecmp(argv[0], messages[i].word))
			continue;
		if (argc < messages[i].min || argc > messages[i].max)
			return refused(&m, "wrong number of words", "see docs/dm-interface.md",
				       -EINVAL);
		return messages[i].waits ? carry_out(&m, &messages[i], &t->inst->orders) :
					   act(&m, &messages[i]);
	}
	return refused(&m, "unknown message", "see docs/dm-interface.md", -EINVAL);
}
