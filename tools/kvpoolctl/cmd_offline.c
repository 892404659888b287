// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl offline: take a leg out of a running pool. */
#include "device.h"
#include "legs.h"
#include "pool_object.h"
#include "resilver.h"
#include "spares.h"

/* What the module would refuse, so that a dry run refuses it, too. */
static int check(const struct dm_entry *e, const struct stats *s, unsigned int leg, const char *dev,
		 struct err *err)
{
	if (e->readonly)
		return err_set(err, ERR_READ_ONLY, e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (leg_is_needed(s, leg))
		return err_set(err, ERR_LAST_LEG, dev,
			       legs_copies(s, leg) ?
			       "it must stay; bring another leg of its vdev back first, or attach "
			       "one; or export the pool to stop it" :
			       "it must stay; bring the other leg of its vdev back first; or "
			       "export the pool to stop it",
			       "its vdev cannot be without it: no leg in sync is to spare there");
	return 0;
}

/* The result of taking leg @leg out, as JSON. */
static json_object *plan_object(const struct dm_entry *e, const struct stats *s, unsigned int leg,
				const char *uuid)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char buf[PATH_MAX];
	const char *path;

	path = stats_text(s, "leg.%u.path", leg);
	json_text(plan, "action", "offline");
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_text(plan, "leg", uuid);
	json_text(plan, "path",
		  path && strcmp(path, "-") ? leg_path(path, buf, sizeof(buf)) : NULL);
	json_flag(plan, "cache", resilver_is_ssd(s, leg));
	json_text(plan, "log_on", !resilver_is_ssd(s, leg) ? NULL :
		  log_stays_without(s, leg) ? "cache" : "legs");
	json_redundancy(plan, stats_losses(s), losses_without_leg(s, leg));
	return root;
}

static const char *undone_by(json_object *plan)
{
	return json_flag_at(plan, "cache") ?
	       "kvpoolctl online, which starts the SSD empty" :
	       "kvpoolctl online, which copies what the leg missed";
}

/* @moves: the log moves off the cache */
static void report(struct ctl *ctl, json_object *root, const char *dev, bool moves)
{
	json_object *plan = json_at(root, "plan");
	u64 before = json_number_at(plan, "redundancy.before");
	u64 after = json_number_at(plan, "redundancy.after");
	char instead[40] = "";

	if (after != before)
		snprintf(instead, sizeof(instead), ", not of %" PRIu64, before);
	if (ctl->json) {
		ctl_json(json_object_get(root));
	} else if (ctl->dry_run) {
		printf("would take %s out of pool %s\nsurvives  loss of %" PRIu64
		       " leg(s), now %" PRIu64 "\n%sundone by %s\n", dev,
		       json_text_at(plan, "pool"), after, before,
		       moves ? "log       moves to the legs\n" : "", undone_by(plan));
	} else {
		ctl_say(ctl, "%s is offline; the pool %s survives the loss of %" PRIu64
			" leg(s)%s%s; undone by %s", dev, after == before ? "still" : "now", after,
			instead, moves ? "; the log moves to the legs" : "", undone_by(plan));
	}
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	char uuid[UUID_BUF], message[64];
	json_object *plan = NULL;
	struct dm_entry e;
	struct stats s;
	struct err err;
	unsigned int leg;
	const char *dev;
	bool moves = false;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	dev = argv[optind + 1];
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	ret = stats_load(e.name, &s, &err) || leg_find(e.name, &s, dev, uuid, &leg, &err) ||
	      check(&e, &s, leg, dev, &err);
	if (!ret) {
		plan = plan_object(&e, &s, leg, uuid);
		moves = leg_has_log(&s, leg) && !log_stays_without(&s, leg);
		snprintf(message, sizeof(message), "offline %s", uuid);
	}
	stats_free(&s);
	if (!ret && !ctl->dry_run)
		ret = dm_message(e.name, message, NULL, &err);
	if (!ret)
		report(ctl, plan, dev, moves);
	json_object_put(plan);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

const struct command cmd_offline = {
	.name = "offline",
	.purpose = "take a leg out of use, until online brings it back",
	.args = "[-n] POOL DEV",
	.about = "Takes a leg out of use in a running pool, and says how many more losses the pool "
		"survives. DEV is a path, or the leg's UUID. 'kvpoolctl online' undoes it, even "
		"after a restart: it copies what the leg missed, and nothing else. An SSD of a "
		"cache comes back empty.",
	.more = "Refused for a leg that its vdev cannot be without: the last leg of a mirror that "
		"is in sync, or any leg of a parity1 while another one is out. If the leg is "
		"resilvering, its resilver stops, and the progress is kept.",
	.example = "kvpoolctl offline tank /dev/sdc",
	.dry_run = true,
	.run = run,
};
