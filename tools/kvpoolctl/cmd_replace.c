// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl replace: put another device in the place of a leg. */
#include <string.h>

#include "legs.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "resilver.h"
#include "shadow.h"
#include "spare_devices.h"
#include "ssds.h"
#include "replace.h"

enum { WAIT, SPARE };

static bool is_in_use(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return state && !strcmp(state, "online");
}

/* It stays in use until NEW has everything beside it. Of a parity1, NEW is no leg until then. */
static int replace_in_use(struct ctl *ctl, const struct replace_order *o)
{
	struct legs_order legs = { .e = o->e, .s = o->s, .leg = o->leg, .name = o->old,
				   .new = o->new, .force = o->force, .wait = o->wait,
				   .replaces = true };

	return legs_copies(o->s, o->leg) ? legs_change(ctl, &legs) : shadow_replace(ctl, o);
}

static int replace_leg(struct ctl *ctl, const struct replace_order *o)
{
	return is_in_use(o->s, o->leg) ? replace_in_use(ctl, o) : replace_out(ctl, o);
}

/* What another device would be refused for. */
static int check_leg(const struct replace_order *o, struct err *err)
{
	if (resilver_is_ssd(o->s, o->leg))
		return 0;
	if (!is_in_use(o->s, o->leg))
		return replace_check(o, err);
	return legs_copies(o->s, o->leg) ? 0 : shadow_none(o->e, o->s, err);
}

/* A leg in use is replaced only by a device that the user names, or by a spare with --spare. */
static int refuse_in_use(const struct replace_order *o, char *path, struct err *err)
{
	char mend[288];
	struct err none;

	if (spares_choose(o->e, o->s, o->leg, path, &none))
		snprintf(mend, sizeof(mend), "name NEW, the device that takes its place");
	else
		snprintf(mend, sizeof(mend), "name NEW; or kvpoolctl replace --spare %.64s %.160s",
			 o->e->name, path_whole(o->old, 160));
	return err_set(err, ERR_REFUSED, o->old, mend,
		       "it is in use, and a spare takes its place only with --spare");
}

/* Without NEW, a spare takes the place: of a leg that is in use only if told so. */
static int choose_spare(const struct replace_order *o, bool told, char *path, struct err *err)
{
	if (check_leg(o, err))
		return -1;
	if (is_in_use(o->s, o->leg) && !told)
		return refuse_in_use(o, path, err);
	return spares_choose(o->e, o->s, o->leg, path, err);
}

/* What else would be said first is of no use then. */
static int check_writable(const struct dm_entry *e, struct err *err)
{
	return !e->readonly ? 0 :
	       err_set(err, ERR_READ_ONLY, e->name, "export it and import it without --readonly",
		       "it was imported read-only");
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "replace", .leaves = true };
	struct replace_order leg = { .wait = false };
	char path[PATH_MAX];
	bool spare = false;
	struct dm_entry e;
	struct stats s;
	struct err err;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		*(c == 'f' ? &leg.force : c == SPARE ? &spare : &leg.wait) = true;
	c = ctl_args(ctl, argc, 2, 3);
	if (spare && c > 2)
		return ctl_usage(ctl, "give NEW or --spare, not both");
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	o.new = c > 2 ? argv[optind + 2] : NULL;
	o.force = leg.force;
	ret = pool_lock_named(ctl, o.pool) ?: leg_open(ctl, o.pool, o.leg, &e, &s, &leg.leg);
	if (ret)
		return ret;
	leg.e = &e;
	leg.s = &s;
	leg.old = o.leg;
	leg.new = o.new;
	if (check_writable(&e, &err) || (!o.new && choose_spare(&leg, spare, path, &err)))
		ret = ctl_fail(ctl, &err);
	else if (!o.new)
		leg.new = o.new = path;
	if (!ret && resilver_is_ssd(&s, leg.leg))
		ret = ssds_change(ctl, &o);	/* this always waits */
	else if (!ret)
		ret = replace_leg(ctl, &leg);
	stats_free(&s);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL, "even if NEW carries a foreign signature, which is wiped" },
	{ WAIT, "wait", NULL,
	  "return when NEW is in sync, and OLD has left; for an SSD of a cache the command "
	  "always does" },
	{ SPARE, "spare", NULL,
	  "put a spare of the pool in the place of OLD, also if that is in use" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_replace = {
	.name = "replace",
	.purpose = "put another device in the place of a leg",
	.args = "[-n] [-f] [--wait] [--spare] POOL OLD [NEW]",
	.about = "Puts NEW in the place of OLD: a leg with data, or an SSD of the cache, that is "
		"out or in use. OLD is a path, or the UUID of the leg, which status -v shows. "
		"Without NEW, a spare of the pool takes the place: the smallest one that is large "
		"enough. If OLD is in use, give --spare for that. In the place of an SSD of the "
		"cache only a spare is taken that does not rotate, as the kernel says "
		"(queue/rotational). If the pool has a cache, and a leg in use of a vdev with "
		"data rotates, that vdev gets only a spare that rotates.\n"
		"OLD is a leg that is out (missing, faulted, stale or offline): NEW gets all data "
		"that OLD should have, while the pool is in use. Until then NEW is resilvering, "
		"and nothing is read from it. Writes wait for a moment at the beginning. If OLD "
		"is connected, its label is wiped.\n"
		"OLD is a leg in use: NEW gets all data that OLD has. Until then OLD stays a full "
		"leg, so the pool survives as many losses as before. After that OLD leaves: 'wait "
		"-t replace', --wait, kvpool-monitor, or of a mirror the next import, takes the "
		"last step, and wipes the label of OLD. The pool remembers the order over a power "
		"cut and an export. 'cancel POOL replace' undoes it. If NEW fails, OLD stays. If "
		"another leg of its mirror is out, OLD stays until that leg is in sync.\n"
		"OLD is an SSD of the cache: data that only the cache has is written home first, "
		"while the pool is in use. Nothing is copied to the new SSD. It fills as data is "
		"written and read.",
	.more = "NEW must be as large as the space that the vdev uses of each leg. What it has "
		"beyond that is not used. A power cut or the loss of NEW interrupts a resilver, "
		"which goes on later where it was. If the power goes at the very beginning, the "
		"pool still has OLD: give the command again. A disk whose label was not wiped is "
		"no leg any more: import leaves it out, and labelclear -f makes it free.\n"
		"Of a parity1, a pool replaces one leg in use at a time. NEW becomes a leg only at "
		"the end, so offline and online do not take it. If NEW fails, export and import "
		"the pool to go on with it. If OLD is lost meanwhile, 'wait -t replace', --wait or "
		"kvpool-monitor lets NEW take its place at once, and makes the data that is "
		"missing there from the other legs. If both are lost, replace OLD again, by "
		"another device or by a spare: that cancels the first order. Until the end the "
		"pool refuses other changes of legs and vdevs, except that a leg that is out can "
		"be replaced.\n"
		"Of a cache: if the log was on the cache, it is back there at the end. If the "
		"command is interrupted (SIGINT, SIGQUIT, SIGTERM, SIGHUP) while data is written "
		"home, nothing has changed, and the log stays on the cache. After that point the "
		"command ignores these signals and runs to its end. If it is killed (SIGKILL) or "
		"the power fails, the cache may be left idle: then set cache_mode=writeback. The "
		"same holds for attach, detach, online, add and grow. If the change was made but "
		"the log does not return, the exit status is 1, and a message says so. A power cut "
		"at any time leaves the cache with the old SSDs or with the new ones, and loses no "
		"data.",
	.example = "kvpoolctl replace --wait tank /dev/sdc /dev/sde\n"
		"kvpoolctl replace --spare -n tank /dev/sdc",
	.options = options,
	.dry_run = true,
	.run = run,
};
