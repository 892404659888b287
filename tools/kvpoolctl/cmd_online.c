// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl online: take a leg that is out into use again. */
#include "pool_lock.h"
#include "pool_object.h"
#include "resilver.h"
#include "ssds.h"

enum { WAIT = 1000 };

/* The leg that @dev names. A device that the pool does not have may be one of its legs. */
static int find(const struct dm_entry *e, const struct stats *s, const char *dev, unsigned int *leg,
		struct err *err)
{
	char uuid[UUID_BUF];
	int found;

	if (!leg_find(e->name, s, dev, uuid, leg, err))
		return 0;
	found = resilver_label_leg(e, s, dev);
	if (found < 0)
		return -1;
	*leg = (unsigned int)found;
	return 0;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *pool, *dev;
	bool wait = false, force = false;
	struct dm_entry e;
	unsigned int leg;
	struct stats s;
	struct err err;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		*(c == WAIT ? &wait : &force) = true;
	ctl_args(ctl, argc, 2, 2);
	pool = argv[optind];
	dev = argv[optind + 1];
	ret = pool_lock_named(ctl, pool) ?: ctl_find(ctl, pool, &e);
	if (ret)
		return ret;
	if (stats_load(e.name, &s, &err))
		return ctl_fail(ctl, &err);
	if (find(&e, &s, dev, &leg, &err))
		ret = ctl_fail(ctl, &err);
	else if (resilver_is_ssd(&s, leg))
		ret = ssds_online(ctl, &e, &s, leg, dev, force);
	else
		ret = resilver_online(ctl, &e, &s, leg, dev, wait, force);
	stats_free(&s);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "also a device that is, or may be, a copy of the leg, or that cannot be looked at for "
	  "signatures; an SSD of the cache that the pool holds: also if it may have what the pool "
	  "lacks" },
	{ WAIT, "wait", NULL,
	  "return when the leg is in sync; for an SSD of a cache the command always does" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_online = {
	.name = "online",
	.purpose = "take a leg that is out into use again",
	.args = "[-n] [-f] [--wait] POOL DEV",
	.about = "Takes a leg into use again that failed, was taken out, or missed writes. DEV is "
		"a path, or the UUID of the leg. The leg gets what was written since it left, and "
		"nothing else, while the pool is in use. Until then it is resilvering, and "
		"nothing is read from it.\n"
		"An SSD of the cache starts empty instead, with another UUID. So does every other "
		"SSD of the cache that is out of use and that the pool holds. As with replace, "
		"data that only the cache has is written home first. An SSD is refused if it may "
		"have what the pool lacks: blocks that are lost, a log that was discarded, or "
		"another history. Then its owner decides.",
	.more = "With the tunable online_auto, lost legs that are connected at a start come back "
		"by themselves; SSDs of a cache do if kvpool-monitor runs. A power cut, or the "
		"loss of the leg, interrupts a resilver; a later one goes on where it was. The "
		"tunable resilver_rate limits its rate.\n"
		"A leg or SSD that carries a signature of another tool is refused: it may have got "
		"another use while it was out. labelclear --foreign wipes the signature. One that "
		"cannot be looked at for half a minute is refused without -f.\n"
		"A device that the pool does not have is refused if it is an older copy of the "
		"leg, as a snapshot is: its label knows fewer checkpoints than the leg is known "
		"to have. It is refused, too, if another device carries the same label. "
		"A resilver would write over the copy.\n"
		"A leg that was missing, or that dropped out and came back under other device "
		"numbers, is connected by a reload of the table: give the path of its device. Its "
		"label tells which leg it is. The same goes for a leg on LUKS or LVM whose disk "
		"was pulled out: open it under another name, since the pool still holds the old "
		"one.\n"
		"An SSD of the cache that was missing, or that came back under other device "
		"numbers, is named in the same way. Its label is wiped, and it takes its old "
		"place as a new SSD. To give up what it may have: labelclear -f, and replace. It "
		"is refused, too, while the device that the pool has for it is still there, as a "
		"mapping of LUKS or LVM is. A power cut at any time leaves the cache with the SSD "
		"or without it. If it has no label then, give it to replace.",
	.example = "kvpoolctl online --wait tank /dev/sdc",
	.options = options,
	.dry_run = true,
	.run = run,
};
