// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl attach: one more leg for a mirror, or SSD for a cache, as a copy of another. */
#include "legs.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "resilver.h"
#include "ssds.h"

enum { WAIT };

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "attach" };
	struct legs_order legs = { .wait = false };
	struct dm_entry e;
	struct stats s;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		*(c == 'f' ? &legs.force : &legs.wait) = true;
	ctl_args(ctl, argc, 3, 3);
	o.pool = argv[optind];
	o.leg = legs.name = argv[optind + 1];
	o.new = legs.new = argv[optind + 2];
	o.force = legs.force;
	ret = pool_lock_named(ctl, o.pool) ?: leg_open(ctl, o.pool, o.leg, &e, &s, &legs.leg);
	if (ret)
		return ret;
	legs.e = &e;
	legs.s = &s;
	if (resilver_is_ssd(&s, legs.leg))
		ret = ssds_change(ctl, &o);	/* there is nothing to wait for */
	else
		ret = legs_change(ctl, &legs);
	stats_free(&s);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL, "even if NEW carries a foreign signature, which is wiped" },
	{ WAIT, "wait", NULL, "return when NEW is in sync" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_attach = {
	.name = "attach",
	.purpose = "add one more leg to a mirror, or SSD to the cache, as a copy",
	.args = "[-n] [-f] [--wait] POOL LEG NEW",
	.about = "Makes NEW a copy of LEG, which is a path, or the leg's UUID. A parity1, or a "
		"cache of that kind, keeps its number of legs.\n"
		"LEG is a leg of a mirror, or a single, which becomes a mirror: NEW gets all its "
		"data while the pool is in use. Until then NEW is resilvering, and nothing is read "
		"from it. Writes wait for a moment at the beginning.\n"
		"LEG is an SSD of the cache: the cache then survives one more loss. As with "
		"replace, data that only the cache has is written home first. A write-through "
		"cache stays write-through until its mode is set.",
	.more = "NEW must be as large as the space that the vdev uses of each leg. What it has "
		"beyond that is not used. A power cut or the loss of NEW interrupts a resilver, "
		"which goes on later where it was. If the power goes at the very beginning, the "
		"pool is as it was: give the command again. To exchange one leg of a mirror for "
		"another, use replace: the pool remembers that order, and never survives fewer "
		"losses meanwhile.",
	.example = "kvpoolctl attach --wait tank /dev/sdb /dev/sdc\n"
		"kvpoolctl attach tank /dev/nvme0n1 /dev/nvme1n1",
	.options = options,
	.dry_run = true,
	.run = run,
};
