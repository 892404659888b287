// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl detach: take one leg out of a mirror, or one SSD out of a cache that has several. */
#include "legs.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "resilver.h"
#include "reused.h"
#include "ssds.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "detach", .leaves = true };
	struct legs_order legs = { .new = NULL };
	struct dm_entry e;
	struct stats s;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	o.pool = argv[optind];
	o.leg = legs.name = argv[optind + 1];
	ret = pool_lock_named(ctl, o.pool) ?: leg_open(ctl, o.pool, o.leg, &e, &s, &legs.leg);
	if (ret)
		return ret;
	legs.e = &e;
	legs.s = &s;
	if (resilver_is_ssd(&s, legs.leg))
		ret = ssds_change(ctl, &o);
	else if (reused_check(&s, legs.leg, &legs.unseen, &err))
		ret = ctl_fail(ctl, &err);
	else
		ret = legs_change(ctl, &legs);
	stats_free(&s);
	return ret;
}

const struct command cmd_detach = {
	.name = "detach",
	.purpose = "take a leg out of a mirror, or an SSD out of a cache of several",
	.args = "[-n] POOL LEG",
	.about = "Takes LEG out for good, and wipes its label. LEG is a path, or the leg's UUID if "
		"it is missing. A parity1, or a cache of that kind, keeps its number of legs.\n"
		"LEG is a leg of a mirror: it may be in use or out. A mirror of two becomes a "
		"single. A leg that is in use can leave only if all others of its mirror are in "
		"sync.\n"
		"LEG is one of several SSDs of the cache: as with replace, data that only the "
		"cache has is written home first. If the SSDs that remain survive fewer losses "
		"than the legs, the cache becomes write-through. 'kvpoolctl remove POOL cache' "
		"takes out the last SSD.",
	.more = "A leg that is out and carries a signature of another tool is refused: it may have "
		"got another use. One that cannot be looked at leaves, and keeps its label.\n"
		"Writes wait for a moment. A power cut at any time leaves the pool with the leg or "
		"without it. A disk whose label was not wiped is no leg any more: import leaves it "
		"out, and labelclear -f makes it free.",
	.example = "kvpoolctl detach tank /dev/sdc",
	.dry_run = true,
	.run = run,
};
