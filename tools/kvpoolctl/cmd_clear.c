// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl clear: zero the error counters, try failed parts again, resume. */
#include "pool_lock.h"
#include "pool_object.h"

/* Makes the message, with the leg's word if @dev is given. */
static int make_message(const char *pool, const char *dev, char *buf, size_t size, struct err *err)
{
	char uuid[UUID_BUF];
	unsigned int leg;
	struct stats s;
	int ret;

	snprintf(buf, size, "clear");
	if (!dev)
		return 0;
	ret = stats_load(pool, &s, err) || leg_find(pool, &s, dev, uuid, &leg, err);
	stats_free(&s);
	if (!ret)
		snprintf(buf, size, "clear %s", uuid);
	return ret;
}

/* The module clears all that it can, but does not report whether that was enough. */
static int check_state(const char *pool, struct err *err)
{
	struct stats s;
	const char *state;
	char mend[256];
	bool faulted;

	if (stats_load(pool, &s, err))
		return -1;
	state = stats_text(&s, "state");
	faulted = state && !strcmp(state, "faulted");
	stats_free(&s);
	if (!faulted)
		return 0;
	snprintf(mend, sizeof(mend), "check disks and cables and try again; if that does not help, "
		 "dmsetup remove %.64s and kvpoolctl import %.64s", pool, pool);
	return err_set(err, ERR_FAILED, pool, mend,
		       "its counters are zeroed, but it is still faulted");
}

/* A command that changes the table suspends the pool for a moment, and resumes it by itself. */
static int resume(struct ctl *ctl, const char *uuid, struct err *err)
{
	struct dm_entry e;
	int ret;

	if (pool_lock(ctl, uuid, err))
		return -1;
	ret = dm_find(uuid, &e, err) || (e.suspended && dm_resume(e.name, err)) ? -1 : 0;
	pool_unlock();
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	char message[64];
	struct dm_entry e;
	struct err err;
	int n, ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	n = ctl_args(ctl, argc, 1, 2);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (make_message(e.name, n == 2 ? argv[optind + 1] : NULL, message, sizeof(message),
			 &err) ||
	    (e.suspended && resume(ctl, e.uuid, &err)) || dm_message(e.name, message, NULL, &err) ||
	    check_state(e.name, &err))
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

const struct command cmd_clear = {
	.name = "clear",
	.purpose = "reset error counters, try failed parts again, resume a pool",
	.args = "POOL [DEV]",
	.about = "Resets the error counters of all legs, or of one, tries failed parts of the pool "
		"again, and resumes a suspended pool. Lost blocks stay lost: only writing them "
		"anew helps.",
	.more = "The command fails if the pool is still faulted after that. Legs that are out stay "
		"out: 'kvpoolctl online' brings them back.",
	.example = "kvpoolctl clear tank /dev/sdc",
	.run = run,
};
