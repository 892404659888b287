// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl destroy: stop a pool and mark it as destroyed. */
#include "spare_devices.h"
#include "stop.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct dm_entry e;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (e.readonly) {
		err_set(&err, ERR_READ_ONLY, e.name, "export it and import it without --readonly",
			"it was imported read-only, its labels cannot be marked");
		return ctl_fail(ctl, &err);
	}
	ret = pool_stop(ctl, &e, "destroyed", false);
	if (!ret && !ctl->dry_run)
		spares_forget(ctl, e.uuid);
	return ret;
}

const struct command cmd_destroy = {
	.name = "destroy",
	.purpose = "stop a pool and give up its devices; import --destroyed undoes it",
	.args = "[-n] POOL",
	.about = "Stops a pool and marks its labels as destroyed. Data stays in place: 'kvpoolctl "
		"import --destroyed' undoes it until the legs get another use. Spares are free at "
		"once. The protective MBR of each leg is cleared, so mkfs asks nothing.",
	.example = "kvpoolctl destroy tank",
	.dry_run = true,
	.run = run,
};
