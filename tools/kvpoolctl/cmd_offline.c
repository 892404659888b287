// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl offline: take a leg out of a running pool. */
#include "device.h"
#include "pool_object.h"
#include "resilver.h"
#include "spares.h"

static int refuse_last(const struct stats *s, unsigned int leg, const char *dev, struct err *err)
{
	const char *state;
	unsigned int i;

	for (i = 0; (state = stats_text(s, "leg.%u.state", i)); i++)
		if (i != leg && !strcmp(state, "online"))
			return 0;
	return err_set(err, ERR_LAST_LEG, dev, "it must stay; export the pool to stop it",
		       "it is the last leg that is in sync");
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
	json_redundancy(plan, stats_losses(s), losses_without_leg(s, leg));
	return root;
}

static const char *undone_by(json_object *plan)
{
	return json_flag_at(plan, "cache") ?
	       "kvpoolctl online, which starts the SSD empty" :
	       "kvpoolctl online, which copies what the leg missed";
}

static void report(struct ctl *ctl, json_object *root, const char *dev)
{
	json_object *plan = json_at(root, "plan");

	if (ctl->json) {
		ctl_json(json_object_get(root));
	} else if (ctl->dry_run) {
		printf("would take %s out of pool %s\nsurvives  loss of %" PRIu64
		       " leg(s), now %" PRIu64 "\nundone by %s\n", dev, json_text_at(plan, "pool"),
		       json_number_at(plan, "redundancy.after"),
		       json_number_at(plan, "redundancy.before"), undone_by(plan));
	} else {
		ctl_say(ctl, "%s is offline; the pool survives the loss of %" PRIu64 " leg(s) now, before %" PRIu64
			"; undone by %s", dev, json_number_at(plan, "redundancy.after"),
			json_number_at(plan, "redundancy.before"), undone_by(plan));
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
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	dev = argv[optind + 1];
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	ret = stats_load(e.name, &s, &err) || leg_find(e.name, &s, dev, uuid, &leg, &err) ||
	      refuse_last(&s, leg, dev, &err);
	if (!ret) {
		plan = plan_object(&e, &s, leg, uuid);
		snprintf(message, sizeof(message), "offline %s", uuid);
	}
	stats_free(&s);
	if (!ret && !ctl->dry_run)
		ret = dm_message(e.name, message, NULL, &err);
	if (!ret)
		report(ctl, plan, dev);
	json_object_put(plan);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

const struct command cmd_offline = {
	.name = "offline",
	.purpose = "take a leg out of use, until online brings it back",
	.args = "[-n] POOL DEV",
	.about = "Takes a leg out of a running pool, and says how many more losses the pool "
		"survives. DEV is a path, or the leg's UUID. 'kvpoolctl online' undoes it, also "
		"after restarts: it copies what the leg missed, and nothing else. An SSD of a "
		"cache starts again empty.",
	.more = "The last leg in sync cannot be taken out. Of a leg that is resilvering it stops "
		"the resilver, and the progress is kept.",
	.example = "kvpoolctl offline tank /dev/sdc",
	.dry_run = true,
	.run = run,
};
