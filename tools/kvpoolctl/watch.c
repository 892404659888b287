// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "format/heartbeat.h"
#include "watch.h"

/* The slots of a leg, as they were when the watch began, or as this host wrote them. */
struct watched_leg {
	struct found_leg *leg;		/* NULL: not watched */
	struct device dev;
	u8 *was;			/* KVP_BEAT_SLOTS blocks */
};

struct watch {
	const struct found_pool *p;
	const struct import_options *o;
	struct watched_leg legs[KVP_MAX_LEGS];
	u8 *now;			/* what is read, for a comparison */
	struct kvp_beat own;
	u8 *claim;			/* a block */
};

static void wait_a_second(void)
{
	sleep(1);
}

void (*watch_wait)(void) = wait_a_second;

/* A third more than the limit, for requests that are on their way as it passes. */
static unsigned int with_margin(u32 limit)
{
	return limit + (limit / 3 > 5 ? limit / 3 : 5);
}

unsigned int watch_seconds(const struct found_pool *p, const struct import_options *o)
{
	u64 interval = kvp_sb_heartbeat(p->sb);
	bool others = o->self.id && p->sb->host && p->sb->host != o->self.id;

	if (!interval || p->sb->flags & KVP_SB_EXPORTED || (!others && !o->takeover))
		return 0;
	return with_margin(kvp_beat_limit(interval));
}

static int no_memory(const struct found_pool *p, struct err *err)
{
	return err_set(err, ERR_FAILED, p->sb->name, "free some memory", "out of memory");
}

/* --- reading ------------------------------------------------------------------------- */

static int unread(const struct watched_leg *l, int error, struct err *err)
{
	return err_set(err, ERR_IO, l->dev.path, "see why; the import works when it can be read",
		       "its heartbeat cannot be read, so another host may be alive: %s",
		       strerror(error < 0 ? -error : error));
}

static int look(const struct watched_leg *l, void *buf, struct err *err)
{
	int ret = device_read(&l->dev, KVP_BEAT_BLOCK, KVP_BEAT_SLOTS, buf);

	return ret ? unread(l, ret, err) : 0;
}

/* No host writes to a leg that is out. If it cannot be read, that is no reason to refuse. */
static int begin_leg(struct watch *w, u32 i, struct err *err)
{
	struct watched_leg *l = &w->legs[i];
	int ret;

	if (!w->p->legs[i] || !scan_leg_in_sync(w->p, i))
		return 0;
	l->was = blocks_alloc(KVP_BEAT_SLOTS);
	if (!l->was)
		return no_memory(w->p, err);
	ret = device_open(w->p->legs[i]->dev.path, true, &l->dev, err);
	if (ret)
		return ret;
	l->leg = w->p->legs[i];
	return look(l, l->was, err);
}

static void end(struct watch *w)
{
	u32 i;

	for (i = 0; i < KVP_MAX_LEGS; i++) {
		if (w->legs[i].leg)
			device_close(&w->legs[i].dev);
		free(w->legs[i].was);
	}
	free(w->now);
	free(w->claim);
}

static bool decode(const struct watch *w, const u8 *slots, u32 s, struct kvp_beat *b)
{
	return !kvp_beat_decode(slots + s * KVP_BLOCK_SIZE, s, w->p->sb->pool_uuid, b);
}

/* --- what moved ----------------------------------------------------------------------- */

static int moved(const struct watch *w, const struct watched_leg *l, u32 slot, bool claimed,
		 struct err *err)
{
	struct kvp_beat b;
	char host[32 + KVP_NAME_LEN] = "another host";

	if (decode(w, w->now, slot, &b) && *b.host_name)
		snprintf(host, sizeof(host), "host %s", b.host_name);
	return err_set(err, ERR_OTHER_HOST, w->p->sb->name, "export it there; if that host must "
		       "not have it, stop the pool there, or switch the host off",
		       claimed ? "%s claims it, too: its heartbeat on %s moved" :
				 "%s is alive: its heartbeat on %s moved", host, l->dev.path);
}

static int compare_leg(const struct watch *w, const struct watched_leg *l, bool claimed,
		       struct err *err)
{
	u32 s;

	if (look(l, w->now, err))
		return -1;
	for (s = 0; s < KVP_BEAT_SLOTS; s++)
		if (memcmp(l->was + s * KVP_BLOCK_SIZE, w->now + s * KVP_BLOCK_SIZE,
			   KVP_BLOCK_SIZE))
			return moved(w, l, s, claimed, err);
	return 0;
}

static int compare(const struct watch *w, bool claimed, struct err *err)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < KVP_MAX_LEGS; i++)
		if (w->legs[i].leg)
			ret = compare_leg(w, &w->legs[i], claimed, err);
	return ret;
}

static int watch(struct ctl *ctl, struct watch *w, unsigned int seconds, bool claimed,
		 struct err *err)
{
	unsigned int s;
	int ret = 0;

	for (s = 0; !ret && s < seconds; s++) {
		ctl_progress(ctl, claimed ? "watching for another import" :
			     "watching for another host", s, seconds);
		watch_wait();
		ret = compare(w, claimed, err);
	}
	ctl_progress(ctl, "", 0, 0);
	return ret;
}

/* --- the claim ------------------------------------------------------------------------ */

/* The newest block on any leg, and the longest limit. */
static void survey(struct watch *w, u64 *claim, u32 *limit)
{
	struct kvp_beat b;
	u32 i, s;

	for (i = 0; i < KVP_MAX_LEGS; i++)
		for (s = 0; w->legs[i].leg && s < KVP_BEAT_SLOTS; s++) {
			if (!decode(w, w->legs[i].was, s, &b))
				continue;
			*claim = b.claim > *claim ? b.claim : *claim;
			*limit = b.limit > *limit ? b.limit : *limit;
		}
}

static void make_claim(struct watch *w, u64 claim)
{
	const struct host *self = &w->o->self;

	memcpy(w->own.pool_uuid, w->p->sb->pool_uuid, sizeof(w->own.pool_uuid));
	w->own.claim = claim;
	if (getrandom(&w->own.nonce, sizeof(w->own.nonce), 0) != sizeof(w->own.nonce))
		w->own.nonce = (u64)getpid();
	w->own.host = self->id;
	snprintf(w->own.host_name, sizeof(w->own.host_name), "%s", self->name);
	w->own.interval = (u32)kvp_sb_heartbeat(w->p->sb);
	w->own.limit = kvp_beat_limit(w->own.interval);
	w->own.time = (u64)time(NULL);
	kvp_beat_encode(&w->own, w->claim);
}

struct claiming {
	const struct watch *w;
	const struct watched_leg *leg;
};

/*
 * The tool read the label a minute or more ago, and has not held the device since. Now it holds it:
 * it must still be that leg, and its slots must be as they were.
 */
static int check_leg(const struct watch *w, const struct watched_leg *leg, struct err *err)
{
	const struct kvp_sb *sb = leg->leg->label.sb;
	struct watched_leg now = { .was = leg->was };
	struct label l;
	int ret;

	if (device_open_now(leg->dev.path, true, &now.dev, err))
		return -1;
	ret = label_read(&now.dev, &l, err) || compare_leg(w, &now, false, err) ? -1 : 0;
	if (!ret && (label_fault(&l) || memcmp(l.sb->pool_uuid, sb->pool_uuid, 16) ||
		     memcmp(l.sb->leg_uuid, sb->leg_uuid, 16)))
		ret = err_set(err, ERR_MEMBER, leg->dev.path, "see what it holds, then import the "
			      "pool again", "it is not the leg any more that it was when the watch "
			      "began");
	label_free(&l);
	device_close(&now.dev);
	return ret;
}

static int write_claim(void *arg, struct err *err)
{
	const struct claiming *c = arg;
	u64 block = KVP_BEAT_BLOCK + kvp_beat_slot(c->w->own.claim);
	int fd = device_claim(&c->leg->dev, err), ret;

	if (fd < 0)
		return -1;
	ret = check_leg(c->w, c->leg, err);
	if (!ret && (pwrite(fd, c->w->claim, KVP_BLOCK_SIZE, (off_t)(block << KVP_BLOCK_SHIFT)) !=
	    KVP_BLOCK_SIZE || fsync(fd)))
		ret = err_set(err, ERR_IO, c->leg->dev.path, "check the device",
			      "the claim of this host cannot be written: %s", strerror(errno));
	close(fd);
	return ret;
}

static int claim_all(struct watch *w, struct err *err)
{
	u32 i, slot = kvp_beat_slot(w->own.claim);
	int ret = 0;

	for (i = 0; !ret && i < KVP_MAX_LEGS; i++) {
		struct watched_leg *l = &w->legs[i];
		struct claiming c = { w, l };

		if (!l->leg)
			continue;
		ret = device_apart(l->dev.path, write_claim, &c, NULL, 0, err);
		memcpy(l->was + slot * KVP_BLOCK_SIZE, w->claim, KVP_BLOCK_SIZE);
	}
	return ret;
}

/* --- all of it -------------------------------------------------------------------------- */

static int watch_all(struct ctl *ctl, struct watch *w, struct err *err)
{
	u32 i, limit = kvp_beat_limit(kvp_sb_heartbeat(w->p->sb));
	unsigned int seconds;
	u64 claim = 0;
	int ret = 0;

	w->now = blocks_alloc(KVP_BEAT_SLOTS);
	w->claim = blocks_alloc(1);
	if (!w->now || !w->claim)
		return no_memory(w->p, err);
	for (i = 0; !ret && i < w->p->sb->leg_count; i++)
		ret = begin_leg(w, i, err);
	if (ret)
		return ret;
	survey(w, &claim, &limit);
	seconds = with_margin(limit);
	ctl_say(ctl, "watching the legs of pool %s for %u s: its heartbeat shows whether "
		"another host is alive", w->p->sb->name, w->o->readonly ? seconds : 2 * seconds);
	ret = watch(ctl, w, seconds, false, err);
	if (ret || w->o->readonly)
		return ret;
	make_claim(w, claim + 1);
	return claim_all(w, err) ?: watch(ctl, w, seconds, true, err);
}

int watch_run(struct ctl *ctl, const struct found_pool *p, const struct import_options *o,
	      struct err *err)
{
	struct watch *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return no_memory(p, err);
	w->p = p;
	w->o = o;
	ret = watch_all(ctl, w, err);
	end(w);
	free(w);
	return ret;
}
