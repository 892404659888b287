// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl clear: zero the error counters, try failed parts again, resume. */
#include "order_plan.h"
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
		 "unmount it, dmsetup remove %.64s and kvpoolctl import %.64s", pool, pool);
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

/* The errors that were counted, of leg @only, or of all if there is no such leg. */
static u64 count_errors(const struct stats *s, unsigned int only)
{
	static const char *const kinds[] = { "err_read", "err_write", "err_checksum", "healed" };
	u64 errors = 0;
	unsigned int i, k;

	for (i = 0; stats_text(s, "leg.%u.uuid", i); i++)
		for (k = 0; k < 4 && (i == only || only == KVP_MAX_LEGS); k++)
			errors += stats_number(s, "leg.%u.%s", i, kinds[k]);
	return errors;
}

static int print_plan(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		      unsigned int leg, const char *dev)
{
	u64 errors = count_errors(s, leg);
	bool retries = !strcmp(stats_text(s, "state") ?: "-", "faulted");
	json_object *root, *plan = order_plan(e, "clear", &root);

	json_text(plan, "leg", leg < KVP_MAX_LEGS ? stats_text(s, "leg.%u.uuid", leg) : NULL);
	json_number(plan, "errors", errors);
	json_flag(plan, "retries", retries);
	json_flag(plan, "resumes", e->suspended);
	return order_plan_print(ctl, root, "would zero the counters of %s of pool %s: %" PRIu64
				" error(s)\n%s%s", dev ?: "all legs", e->name, errors,
				retries ? "tries     the failed parts of the pool again\n" : "",
				e->suspended ? "resumes   the pool\n" : "");
}

static int dry_run(struct ctl *ctl, const struct dm_entry *e, const char *dev)
{
	unsigned int leg = KVP_MAX_LEGS;
	char uuid[UUID_BUF];
	struct stats s;
	struct err err;
	int ret;

	if (stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	ret = dev && leg_find(e->name, &s, dev, uuid, &leg, &err) ? ctl_fail(ctl, &err) :
	      print_plan(ctl, e, &s, leg, dev);
	stats_free(&s);
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
	if (ctl->dry_run)
		return dry_run(ctl, &e, n == 2 ? argv[optind + 1] : NULL);
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
	.args = "[-n] POOL [DEV]",
	.about = "Resets the error counters of all legs, or of one, tries failed parts of the pool "
		"again, and resumes a suspended pool. Lost blocks stay lost: only writing them "
		"anew helps.",
	.more = "The command fails if the pool is still faulted after that. Legs that are out stay "
		"out: 'kvpoolctl online' brings them back.",
	.example = "kvpoolctl clear tank /dev/sdc",
	.dry_run = true,
	.run = run,
};
