// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl giveup: give up a page of the checksum table that no leg has. */
#include <inttypes.h>
#include <stdlib.h>

#include "pool_object.h"

static int parse_block(const char *text, uint64_t *block, struct err *err)
{
	char *end;

	*block = strtoull(text, &end, 10);
	if (*end || end == text || *text == '-')
		return err_set(err, ERR_USAGE, "giveup",
			       "see block= of the events table_lost and table_silent",
			       "'%s' is not a block number", text);
	return 0;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false;
	char message[64];
	struct dm_entry e;
	uint64_t block;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;
	ctl_args(ctl, argc, 2, 2);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (parse_block(argv[optind + 1], &block, &err))
		return ctl_fail(ctl, &err);
	snprintf(message, sizeof(message), "give_up %" PRIu64 "%s", block, force ? " force" : "");
	if (dm_message(e.name, message, NULL, &err))
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "even if a leg that is out may have the page, or one that fails to read it" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_giveup = {
	.name = "giveup",
	.purpose = "give up a page of checksums that is bad in every copy",
	.args = "[-f] POOL BLOCK",
	.about = "Gives up the page of the checksum table above BLOCK if no leg has a good copy of "
		"it. The event table_lost or table_silent names BLOCK. All blocks below the page "
		"are lost, 1 GiB or 512 GiB of them: they read as errors until each is overwritten "
		"or discarded.",
	.more = "BLOCK counts blocks of 4 KiB. Data that was written there after the loss stays. "
		"Refused while a leg fails to read the page, since that may pass. -f gives it up "
		"all the same if the leg reads other blocks; then also the page of 2 MiB.",
	.example = "kvpoolctl giveup tank 1280000",
	.options = options,
	.run = run,
};
