// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <string.h>
#include <time.h>

#include "drain.h"
#include "interrupts.h"
#include "pool_lock.h"
#include "pool_object.h"

#define POLL_NS		200000000

/* The data left, and the time it takes at the present rate. */
static void progress(const struct ctl *ctl, const struct stats *s)
{
	u64 left = stats_number(s, "drain.left"), total = stats_number(s, "drain.total");
	u64 rate = stats_number(s, "drain.rate");
	char what[64];

	snprintf(what, sizeof(what), rate ? "drain, some %" PRIu64 " s left" : "drain",
		 rate ? left / rate + 1 : 0);
	ctl_progress(ctl, what, left < total ? total - left : 0, total);
}

static int judge(const struct stats *s, const char *pool, struct err *err)
{
	const char *state = stats_text(s, "drain.state");

	if (state && !strcmp(state, "cancelled"))
		return err_set(err, ERR_FAILED, pool, "ask for it again",
			       "the drain was cancelled, or the pool was suspended; the cache is "
			       "in use as before");
	if (state && !strcmp(state, "failed"))
		return err_set(err, ERR_FAILED, pool, "see kvpoolctl status and kvpoolctl events",
			       "not all data of the log could be written home");
	return 0;
}

/* The signals that interrupt a wait, without those that the caller had ignored, as nohup does. */
static void interrupts(sigset_t *set)
{
	struct sigaction now;
	int i;

	interrupts_set(set);
	for (i = 1; i < SIGRTMIN; i++)
		if (sigismember(set, i) == 1 && !sigaction(i, NULL, &now) &&
		    now.sa_handler == SIG_IGN)
			sigdelset(set, i);
}

/* One that is ignored is not held back: it would wait, and look like one that was sent. */
void drain_shield(void)
{
	sigset_t set;

	interrupts(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Sleeps for a moment; true: one of the signals in @set came, which are blocked. */
static bool pause_unless(const sigset_t *set)
{
	const struct timespec t = { .tv_nsec = POLL_NS };

	if (set)
		return sigtimedwait(set, NULL, &t) > 0;
	nanosleep(&t, NULL);
	return false;
}

/* Waits for the drain's end. With @set a signal cancels the drain, and sets @interrupted. */
static int wait_for_end(struct ctl *ctl, const char *pool, const sigset_t *set, bool *interrupted,
			struct err *err)
{
	const char *state;
	struct stats s;
	int ret;

	pool_unlock();
	for (;;) {
		if (stats_load(pool, &s, err))
			return -1;
		state = stats_text(&s, "drain.state");
		if (!state || strcmp(state, "running"))
			break;
		progress(ctl, &s);
		stats_free(&s);
		if (!pause_unless(set))
			continue;
		*interrupted = true;
		/* refused once the log moves: then the drain ends as planned */
		dm_message(pool, "drain cancel", NULL, NULL);
	}
	ctl_progress(ctl, "drain", 0, 0);
	ret = judge(&s, pool, err);
	stats_free(&s);
	return ret;
}

int drain_wait(struct ctl *ctl, const char *pool, struct err *err)
{
	return wait_for_end(ctl, pool, NULL, NULL, err);
}

/* Begins a drain by @message, and waits for its end. A signal cancels it. */
static int drain_by(struct ctl *ctl, const char *pool, const char *message, const char *unchanged,
		    struct err *err)
{
	bool interrupted = false;
	sigset_t set;
	int ret;

	drain_shield();
	interrupts(&set);
	if (dm_message(pool, message, NULL, err))
		return -1;
	ret = wait_for_end(ctl, pool, &set, &interrupted, err);
	/* if the cancel came too late, the new value is set, and that is no failure */
	if (ret && interrupted)
		return err_set(err, ERR_FAILED, pool, "ask for it again",
			       "the command was interrupted; %s is unchanged", unchanged);
	return ret;
}

int drain_set_mode(struct ctl *ctl, const char *pool, const char *mode, bool force, struct err *err)
{
	char message[64];

	snprintf(message, sizeof(message), "drain start %.32s%s", mode, force ? " force" : "");
	return drain_by(ctl, pool, message, "the mode", err);
}

int drain_set_dirty_max(struct ctl *ctl, const char *pool, const char *bytes, struct err *err)
{
	char message[64];

	snprintf(message, sizeof(message), "drain start cache_dirty_max %.24s", bytes);
	return drain_by(ctl, pool, message, "cache_dirty_max", err);
}

int drain_undo(const char *pool, struct err *err)
{
	return dm_message(pool, "set cache_mode writeback force", NULL, err);
}

void drain_undo_failed(const char *pool, struct err *err)
{
	char why[sizeof(err->why)];
	struct err undo;

	if (!drain_undo(pool, &undo))
		return;
	memcpy(why, err->why, sizeof(why));
	snprintf(err->why, sizeof(err->why), "%.280s; and the cache is write-through now: %.160s",
		 why, undo.why);
	snprintf(err->mend, sizeof(err->mend), "kvpoolctl set -f %.64s cache_mode=writeback, once "
		 "that is mended; then ask for it again", pool);
	err->code = ERR_FAILED;
}

/* A drain that an interrupted `remove` has left running is as good as a new one. */
static int begin(const char *pool, struct err *err)
{
	if (!dm_message(pool, "drain start", NULL, err) || strstr(err->why, "is being drained"))
		return 0;
	return -1;
}

int drain_for_a_while(struct ctl *ctl, const char *pool, struct err *err)
{
	bool interrupted = false;
	struct err why;
	sigset_t set;
	int ret;

	drain_shield();
	interrupts(&set);
	if (begin(pool, err))
		return -1;
	ret = wait_for_end(ctl, pool, &set, &interrupted, err);
	if (!interrupted)
		return ret;
	if (!ret && drain_undo(pool, &why))
		return err_set(err, ERR_FAILED, pool,
			       "kvpoolctl set -f POOL cache_mode=writeback, once that is mended",
			       "the command was interrupted, and the cache is write-through: "
			       "%.300s",
			       why.why);
	return err_set(err, ERR_FAILED, pool, "ask for it again",
		       "the command was interrupted; nothing has changed, and the cache is in use "
		       "as before");
}

int drain_stays_off(const char *pool, const char *done, struct err *err)
{
	bool force = strstr(err->mend, "set -f");
	char why[sizeof(err->why)], mend[sizeof(err->mend)];

	memcpy(why, err->why, sizeof(why));
	snprintf(mend, sizeof(mend),
		 "see kvpoolctl status; then kvpoolctl set %s%.80s cache_mode=writeback",
		 force ? "-f " : "", pool);
	/* a refusal would say that the pool is unchanged */
	return err_set(err, ERR_FAILED, pool, mend, "%s, but the cache is write-through: %.300s",
		       done, why);
}
