// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ask.h"
#include "config.h"
#include "dm.h"
#include "jobs.h"
#include "journal.h"
#include "place.h"
#include "pools.h"
#include "returns.h"
#include "stats.h"
#include "takes.h"
#include "tell.h"

#define LINE_MAX_LEN	512

/* What a pool has not been asked for, as it did not answer. */
enum unasked {
	NOTHING,
	LOST_LEGS,		/* which legs are out: it has told of a loss */
	LEGS,			/* the same, and all legs are new to the monitor */
	LEGS_AND_TELL,		/* and tell of legs that are out: it was started */
};

struct watched {
	char uuid[UUID_BUF], name[sizeof(((struct dm_entry *)NULL)->name)];
	enum unasked unasked;
	u64 next;		/* number of the first event that was not told */
	u64 saved;		/* the value of next in the file */
	u64 since;		/* seconds since 1970: older events are passed over */
	bool compared;		/* next was compared with the pool's newest event */
	bool seen, silent;	/* in this look: the pool runs; it does not answer */
	struct watched *link;
};

static struct watched *first;
static bool unlisted;	/* in the last look device-mapper could not be asked */

/* --- what events mean ---------------------------------------------------------------------- */

static bool is(const char *state, const char *want)
{
	return state && !strcmp(state, want);
}

/* Is leg @leg out, and not by order? A leg that was taken out by order may be missing by now. */
static bool is_lost(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return !stats_number(s, "leg.%u.by_order", leg) &&
	       (is(state, "missing") || is(state, "faulted") || is(state, "stale"));
}

static bool is_ssd(const struct stats *s, unsigned int leg)
{
	u64 vdev = stats_number(s, "cache.vdev"), from;

	from = stats_number(s, "vdev.%u.first_leg", (unsigned int)vdev);
	return stats_text(s, "cache.vdev") && leg >= from &&
	       leg < from + stats_number(s, "vdev.%u.legs", (unsigned int)vdev);
}

static struct watched *find(const char *uuid)
{
	struct watched *w;

	for (w = first; w; w = w->link)
		if (!strcmp(w->uuid, uuid))
			return w;
	return NULL;
}

/* What cannot be asked is asked later: it is not "no legs are out". */
static void ask_later(const struct dm_entry *e, enum unasked what)
{
	struct watched *w = find(e->uuid);

	if (w && w->unasked < what)
		w->unasked = what;
}

/*
 * 1: the pool runs, and is @e; 0: it does not; -1: device-mapper cannot be asked, and @e has what
 * is known of it.
 */
static int find_running(const char *uuid, struct dm_entry *e)
{
	const struct watched *w = find(uuid);
	struct err err = { 0 };

	if (!dm_find(uuid, e, &err))
		return 1;
	if (err.code == ERR_NOT_FOUND)
		return 0;
	memset(e, 0, sizeof(*e));
	snprintf(e->uuid, sizeof(e->uuid), "%s", uuid);
	snprintf(e->name, sizeof(e->name), "%s", w ? w->name : uuid);
	return -1;
}

/* Tells of an event of the monitor itself. */
static void tell_own(const char *pool, const char *uuid, const char *text)
{
	struct told t = { .pool = pool, .uuid = uuid, .seconds = (u64)time(NULL), .text = text,
			  .own = true };
	char parts[LINE_MAX_LEN];

	snprintf(parts, sizeof(parts), "%s", text);
	event_text_split(parts, &t.event);
	tell(&t);
}

/* Has leg @leg left because the leg that replaces it is in sync? */
static bool has_left(const struct stats *s, unsigned int leg)
{
	const char *uuid = stats_text(s, "leg.%u.uuid", leg), *old;
	unsigned int i;

	for (i = 0; stats_number(s, "leg.%u.by_order", leg) && i < KVP_MAX_LEGS; i++) {
		old = stats_text(s, "leg.%u.replaces", i);
		if (old && is(uuid, old))
			return is(stats_text(s, "leg.%u.state", i), "online");
	}
	return false;
}

/* Does a shadow that is in use replace leg @uuid? */
static bool is_shadowed(const struct stats *s, const char *uuid)
{
	const char *state = stats_text(s, "shadow.state");

	return state && !is(state, "missing") && !is(state, "faulted") &&
	       is(stats_text(s, "shadow.replaces"), uuid);
}

/*
 * End the replacement of a leg in use. A leg of a mirror that has left is detached. In a parity1
 * the new device takes the place: it has everything, or the leg was lost.
 */
static void end_replace(const struct dm_entry *e)
{
	const char *argv[] = { config.kvpoolctl, "wait", "-t", "replace", "--now", "--", e->name,
			       NULL };

	/*
	 * It ends what can be ended, and does not wait for hours: other legs may need the lane. No
	 * time limit: to kill it might leave the pool suspended.
	 */
	journal_say(PRI_NOTICE, "pool %s: another device has the place of a leg: detaching that",
		    e->name);
	jobs_add(job_new(e->uuid, argv));
}

struct life {
	const char *leg;
	bool begun, lost;	/* the newest start; the leg was lost since */
};

static void note_life(void *arg, u64 seq, u64 seconds, char *text)
{
	struct life *life = arg;
	struct event_text event;

	(void)seq;
	(void)seconds;
	event_text_split(text, &event);
	if (!strcmp(event.name, "imported") || !strcmp(event.name, "created")) {
		life->begun = true;
		life->lost = false;
	} else if (!strcmp(event.name, "leg_lost")) {
		life->lost |= is(event_text_field(&event, "uuid"), life->leg);
	}
}

/*
 * Was the leg out when the pool was started? One that was lost since, and was not unplugged, has
 * failed. Events that the ring has no more, or that cannot be asked for, do not speak for it.
 */
static bool was_out_at_start(const struct dm_entry *e, const char *leg)
{
	struct life life = { .leg = leg };
	u64 next = 0;

	return !ask_events(e->name, &next, note_life, &life, NULL) && life.begun && !life.lost;
}

/*
 * A leg with data that a start finds, and which was lost before, comes back by the module. An SSD
 * that begins anew needs another table. The tool refuses one that may have what the pool lacks.
 */
static bool comes_back(const struct dm_entry *e, const struct stats *s, unsigned int i)
{
	return is(stats_text(s, "leg.%u.state", i), "missing") ||
	       (is_ssd(s, i) && was_out_at_start(e, stats_text(s, "leg.%u.uuid", i)));
}

/* @anew: the monitor sees leg @i for the first time, or after a start. Return: is it out? */
static bool look_at_leg(const struct dm_entry *e, const struct stats *s, unsigned int i, bool anew,
			time_t now)
{
	const char *uuid = stats_text(s, "leg.%u.uuid", i);
	bool lost = is_lost(s, i);

	/* no order may change it: try_return() and try_take() */
	if (e->readonly)
		return lost;
	if (anew)
		returns_started(uuid, lost && comes_back(e, s, i), now);
	else if (lost)
		returns_lost(uuid, now);
	if (lost)
		takes_lost(e->uuid, uuid, is_ssd(s, i), config.spare_after, now);
	else
		takes_settled(uuid);
	return lost;
}

/* Ask which legs are out. A pool that does not answer is asked again at the next look. */
static void look_at_legs(const struct dm_entry *e, enum unasked what, time_t now)
{
	unsigned int i, out = 0;
	const char *uuid;
	struct stats s;
	char text[64];
	bool lost, left = false;

	if (ask_stats(e->name, &s, NULL)) {
		ask_later(e, what);
		return;
	}
	for (i = 0; i < KVP_MAX_LEGS && (uuid = stats_text(&s, "leg.%u.uuid", i)); i++) {
		lost = look_at_leg(e, &s, i, what != LOST_LEGS, now);
		out += lost;
		left |= has_left(&s, i) || (lost && is_shadowed(&s, uuid));
	}
	left |= is(stats_text(&s, "shadow.state"), "online");
	stats_free(&s);
	if (left && !e->readonly)
		end_replace(e);
	if (!out || what != LEGS_AND_TELL)
		return;
	snprintf(text, sizeof(text), "degraded legs_out=%u", out);
	tell_own(e->name, e->uuid, text);
}

/* The pool tells of the loss, and knows by now whether the leg is an SSD, or has a shadow. */
static void leg_lost(const struct dm_entry *e, const char *leg, time_t now)
{
	struct stats s;
	unsigned int i;
	const char *uuid;

	returns_lost(leg, now);
	if (ask_stats(e->name, &s, NULL)) {
		ask_later(e, LOST_LEGS);
		return;
	}
	if (is_shadowed(&s, leg))
		end_replace(e);
	for (i = 0; i < KVP_MAX_LEGS && (uuid = stats_text(&s, "leg.%u.uuid", i)); i++)
		if (!strcmp(uuid, leg))
			break;
	takes_lost(e->uuid, leg, is_ssd(&s, i), config.spare_after, now);
	stats_free(&s);
}

static void ask_again(struct watched *w, const struct dm_entry *e, time_t now)
{
	enum unasked what = w->unasked;

	w->unasked = NOTHING;
	if (what)
		look_at_legs(e, what, now);
}

static void leg_settled(const char *leg)
{
	returns_settled(leg);
	takes_settled(leg);
}

static void act(const struct dm_entry *e, const struct event_text *event, time_t now)
{
	const char *leg = event_text_field(event, "uuid");

	if (!strcmp(event->name, "imported"))
		look_at_legs(e, LEGS_AND_TELL, now);
	else if (!strcmp(event->name, "leg_left") || !strcmp(event->name, "shadow_complete"))
		end_replace(e);
	else if (leg && !strcmp(event->name, "leg_lost"))
		leg_lost(e, leg, now);
	else if (leg && (!strcmp(event->name, "leg_offline") ||
			 !strcmp(event->name, "resilver_started")))
		leg_settled(leg);
}

/* --- new events ---------------------------------------------------------------------------- */

struct looked {
	const struct dm_entry *e;
	u64 since;	/* seconds: older events are passed over */
	time_t now;
};

static void one_event(void *arg, u64 seq, u64 seconds, char *text)
{
	const struct looked *l = arg;
	struct told t = { .pool = l->e->name, .uuid = l->e->uuid, .seq = seq, .seconds = seconds,
			  .text = text };
	char parts[LINE_MAX_LEN];

	if (seconds < l->since)
		return;
	snprintf(parts, sizeof(parts), "%s", text);
	event_text_split(parts, &t.event);
	tell(&t);
	act(l->e, &t.event, l->now);
}

/* A table that was loaded and not resumed does not answer: its legs or vdevs are being changed. */
static int no_answer(struct watched *w, const struct dm_entry *e, const struct err *err)
{
	if (e->suspended)
		return -1;
	if (!w->silent)
		journal_say(PRI_WARNING, "pool %s does not tell its events: %s", e->name, err->why);
	w->silent = true;
	return -1;
}

/*
 * The legs may have been put back to an older state, with fewer events. A pool that does not answer
 * is asked again later: it must not be taken for one without events, whose ring is told anew.
 */
static int compare(struct watched *w, const struct dm_entry *e)
{
	struct err err;
	u64 end = 0;

	if (w->compared)
		return 0;
	if (ask_events(e->name, &end, NULL, NULL, &err))
		return no_answer(w, e, &err);
	if (w->next > end)
		w->next = end;
	w->compared = true;
	return 0;
}

static void look_at(struct watched *w, const struct dm_entry *e, time_t now)
{
	struct looked l = { e, w->since, now };
	struct err err;

	snprintf(w->name, sizeof(w->name), "%s", e->name);
	ask_again(w, e, now);
	if (compare(w, e))
		return;
	if (ask_events(e->name, &w->next, one_event, &l, &err)) {
		no_answer(w, e, &err);
		return;
	}
	w->silent = false;
	w->since = 0;
}

/* Programs that wait would be lost with the monitor: the next one tells their events again. */
static void save(struct watched *w)
{
	u64 first = tell_waits(w->uuid), place = first < w->next ? first : w->next;

	if (place == w->saved)
		return;
	w->saved = place;
	place_save(w->uuid, place);
}

/* --- which pools run ----------------------------------------------------------------------- */

void pools_told(const char *uuid)
{
	struct watched *w = find(uuid);

	if (w)
		save(w);
}

static void begin(const struct dm_entry *e, u64 since, time_t now)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	snprintf(w->uuid, sizeof(w->uuid), "%s", e->uuid);
	w->seen = true;
	w->link = first;
	first = w;
	journal_say(PRI_INFO, "watching pool %s", e->name);
	w->unasked = LEGS;
	w->compared = !place_load(w->uuid, &w->next);
	if (w->compared)
		w->since = since;
	w->saved = w->next;
	look_at(w, e, now);
}

/* One that was stopped is kept until its programs have begun. */
static void end_unseen(void)
{
	struct watched **at = &first, *w;

	while ((w = *at)) {
		save(w);
		if (w->seen || w->saved != w->next) {
			w->compared &= w->seen;
			w->seen = false;
			at = &w->link;
			continue;
		}
		*at = w->link;
		free(w);
	}
}

time_t pools_next(time_t now)
{
	const struct watched *w;

	for (w = first; w; w = w->link)
		if (w->silent || w->unasked)
			return now + ASK_AGAIN;
	return unlisted ? now + ASK_AGAIN : 0;
}

void pools_look(time_t now, time_t since)
{
	struct dm_entry *list;
	unsigned int i, count;
	struct watched *w;
	struct err err;

	if (dm_list(&list, &count, &err)) {
		if (!unlisted)
			journal_say(PRI_ERR, "pools cannot be listed: %s", err.why);
		unlisted = true;
		return;
	}
	unlisted = false;
	for (i = 0; i < count; i++) {
		if (!list[i].live)
			continue;
		w = find(list[i].uuid);
		if (w) {
			w->seen = true;
			look_at(w, &list[i], now);
		} else {
			begin(&list[i], (u64)since, now);
		}
	}
	free(list);
	end_unseen();
}

/* --- bringing legs back -------------------------------------------------------------------- */

/* Brings it back? 1: yes; 0: perhaps later; -1: no. */
static int judge(const struct stats *s, const char *leg)
{
	const char *uuid;
	unsigned int i;

	if (is(stats_text(s, "tunable.online_auto"), "0"))
		return -1;
	for (i = 0; i < KVP_MAX_LEGS && (uuid = stats_text(s, "leg.%u.uuid", i)); i++) {
		if (strcmp(uuid, leg))
			continue;
		if (is_lost(s, i))
			return 1;
		/* no request has failed since the device went: the pool has not noticed */
		return is(stats_text(s, "leg.%u.state", i), "online") ? 0 : -1;
	}
	return -1;
}

/*
 * The lane of an order for a leg. For an SSD, data that only the cache has is written home first,
 * for hours. A leg with data must not wait for that: the tool plans again after the drain, or the
 * change of the SSD is repeated.
 */
static const char *lane_of(const char *pool, bool ssd, char lane[JOB_LANE])
{
	snprintf(lane, JOB_LANE, "%s%s", pool, ssd ? " ssd" : "");
	return lane;
}

static void pool_of(const struct job *job, char uuid[UUID_BUF])
{
	snprintf(uuid, UUID_BUF, "%.*s", UUID_LEN, job->lane);
}

/* An SSD is back, as a new one in its old place: it has another UUID. */
static void ssd_is_back(const struct dm_entry *e, const char *was, unsigned int ssd,
			const char *node)
{
	char text[LINE_MAX_LEN];
	unsigned int vdev, first;
	const char *uuid;
	struct stats s;

	takes_settled(was);
	if (ask_stats(e->name, &s, NULL))
		return;
	vdev = (unsigned int)stats_number(&s, "cache.vdev");
	first = (unsigned int)stats_number(&s, "vdev.%u.first_leg", vdev);
	uuid = stats_text(&s, "leg.%u.uuid", first + ssd - 1);
	if (uuid && stats_text(&s, "cache.vdev")) {
		returns_follow(was, uuid);
		snprintf(text, sizeof(text), "ssd_returned uuid=%s path=%s", uuid, node);
		tell_own(e->name, e->uuid, text);
	}
	stats_free(&s);
}

static void ended(const struct job *job, int status)
{
	bool ok = WIFEXITED(status) && !WEXITSTATUS(status);
	unsigned int ssd = returns_ssd(job->subject);
	char text[LINE_MAX_LEN], uuid[UUID_BUF];
	bool told = returns_ended(job->subject, ok);
	struct dm_entry e;

	pool_of(job, uuid);
	if ((told && !(ok && ssd)) || !find_running(uuid, &e))
		return;
	if (ok) {
		ssd_is_back(&e, job->subject, ssd, job->argv[4]);
		return;
	}
	snprintf(text, sizeof(text), "return_failed uuid=%s path=%s", job->subject, job->argv[4]);
	tell_own(e.name, e.uuid, text);
}

static void bring_back(struct leg_device *d, const struct dm_entry *e, const char *lane, time_t now)
{
	const char *argv[] = { config.kvpoolctl, "online", "--", e->name, d->node, NULL };
	struct job *job = job_new(lane, argv);

	/* No time limit: to kill it might leave the pool suspended. */
	job->ended = ended;
	job->subject = strdup(d->leg);
	if (!job->subject)
		abort();
	journal_say(PRI_NOTICE, "pool %s: %s is back, leg %s: bringing it online (try %u)", e->name,
		    d->node, d->leg, d->tries + 1);
	returns_begin(d, now);
	jobs_add(job);
}

/* The number of an SSD in the cache, + 1; 0: the leg is none. */
static unsigned int ssd_number(const struct stats *s, const char *leg)
{
	const char *uuid;
	unsigned int i, n = 0;

	for (i = 0; i < KVP_MAX_LEGS && (uuid = stats_text(s, "leg.%u.uuid", i)); i++) {
		n += is_ssd(s, i);
		if (!strcmp(uuid, leg))
			return is_ssd(s, i) ? n : 0;
	}
	return 0;
}

static void try_return(struct leg_device *d, time_t now)
{
	char lane[JOB_LANE];
	struct dm_entry e;
	struct stats s;
	int verdict, runs = find_running(d->pool, &e);

	if (config.no_return || !runs || e.readonly) {
		/* A start of the pool takes the leg; of one that is read-only, the next start. */
		returns_settled(d->leg);
		return;
	}
	/* One try after another: it writes what is dirty home, which may take minutes. */
	if (runs < 0 || jobs_busy(d->pool) || ask_stats(e.name, &s, NULL)) {
		returns_later(d, now);
		return;
	}
	verdict = judge(&s, d->leg);
	d->ssd = ssd_number(&s, d->leg);
	stats_free(&s);
	if (verdict < 0)
		returns_settled(d->leg);
	else if (!verdict)
		returns_wait(d);
	else if (jobs_busy(lane_of(d->pool, d->ssd, lane)))
		returns_later(d, now);
	else
		bring_back(d, &e, lane, now);
}

void pools_return(time_t now)
{
	struct leg_device *d;

	while ((d = returns_due(now)))
		try_return(d, now);
}

/* --- taking spares ------------------------------------------------------------------------- */

/* Is it a leg that is still out, and not by order? */
static bool wants_spare(const struct stats *s, const char *leg)
{
	const char *uuid;
	unsigned int i;

	for (i = 0; i < KVP_MAX_LEGS && (uuid = stats_text(s, "leg.%u.uuid", i)); i++)
		if (!strcmp(uuid, leg))
			return is_lost(s, i);
	return false;
}

/* Somebody replaced it, or brought it back, while the command waited for its turn. */
static bool was_settled(const char *pool, const char *leg)
{
	struct dm_entry e;
	struct stats s;
	bool wanted;

	if (find_running(pool, &e) <= 0 || ask_stats(e.name, &s, NULL))
		return false;
	wanted = wants_spare(&s, leg);
	stats_free(&s);
	return !wanted;
}

static void take_ended(const struct job *job, int status)
{
	bool ok = WIFEXITED(status) && !WEXITSTATUS(status);
	char text[LINE_MAX_LEN], uuid[UUID_BUF];
	struct dm_entry e;

	pool_of(job, uuid);
	if (!ok && was_settled(uuid, job->subject)) {
		takes_settled(job->subject);
		return;
	}
	if (!takes_ended(job->subject, ok) || !find_running(uuid, &e))
		return;
	snprintf(text, sizeof(text), "%s uuid=%s", ok ? "spare_taken" : "spare_failed",
		 job->subject);
	tell_own(e.name, e.uuid, text);
}

static void order_spare(struct lost_leg *l, const struct dm_entry *e, time_t now)
{
	const char *argv[] = { config.kvpoolctl, "replace", "--", e->name, l->leg, NULL };
	char lane[JOB_LANE];
	struct job *job = job_new(lane_of(l->pool, l->ssd, lane), argv);

	/* No time limit: to kill it might leave the pool suspended. */
	job->ended = take_ended;
	job->subject = strdup(l->leg);
	if (!job->subject)
		abort();
	journal_say(PRI_NOTICE, "pool %s: leg %s stays away: a spare takes its place (try %u)",
		    e->name, l->leg, l->tries + 1);
	takes_begin(l, now);
	jobs_add(job);
}

static void try_take(struct lost_leg *l, time_t now)
{
	struct dm_entry e;
	struct stats s;
	bool wanted;
	char lane[JOB_LANE];
	int runs = find_running(l->pool, &e);

	if (!runs || e.readonly) {
		/* The next start looks again. */
		takes_settled(l->leg);
		return;
	}
	/* Perhaps it is being brought back just now. */
	if (runs < 0 || jobs_busy(lane_of(l->pool, l->ssd, lane)) || ask_stats(e.name, &s, NULL)) {
		takes_later(l, now);
		return;
	}
	wanted = wants_spare(&s, l->leg);
	stats_free(&s);
	if (wanted)
		order_spare(l, &e, now);
	else
		takes_settled(l->leg);
}

void pools_spare_missing(const char *uuid, const char *node)
{
	char text[LINE_MAX_LEN];
	struct dm_entry e;

	if (!find_running(uuid, &e))
		return;
	snprintf(text, sizeof(text), "spare_missing path=%s", node);
	tell_own(e.name, e.uuid, text);
}

void pools_take(time_t now)
{
	struct lost_leg *l;

	while ((l = takes_due(now)))
		try_take(l, now);
}
