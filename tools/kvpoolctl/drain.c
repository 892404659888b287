// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "drain.h"
#include "pool_object.h"

#define POLL_US		200000

/* What is left, and how long that takes at the rate so far. */
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
			       "it was cancelled, or the pool was suspended; the cache is in use as before");
	if (state && !strcmp(state, "failed"))
		return err_set(err, ERR_FAILED, pool, "see kvpoolctl status and kvpoolctl events",
			       "not all that is on the cache could be brought home");
	return 0;
}

int drain_wait(struct ctl *ctl, const char *pool, struct err *err)
{
	const char *state;
	struct stats s;
	int ret;

	for (;;) {
		if (stats_load(pool, &s, err))
			return -1;
		state = stats_text(&s, "drain.state");
		if (!state || strcmp(state, "running"))
			break;
		progress(ctl, &s);
		stats_free(&s);
		usleep(POLL_US);
	}
	ctl_progress(ctl, "drain", 0, 0);
	ret = judge(&s, pool, err);
	stats_free(&s);
	return ret;
}
