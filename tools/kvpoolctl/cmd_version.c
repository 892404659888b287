// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl version: tool, module and on-disk format. */
#include "ctl.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	char module[64];
	json_object *root, *disk;
	bool loaded;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 0, 0);
	loaded = module_version(module, sizeof(module));
	if (!ctl->json) {
		printf("kvpoolctl %s\nmodule    %s\nformat    %d, features: compat %#llx, "
		       "ro-compat %#llx, incompat %#llx\n", KVPOOL_VERSION,
		       loaded ? module : "not loaded", KVP_FORMAT_VERSION, KVP_COMPAT_KNOWN,
		       KVP_RO_COMPAT_KNOWN, KVP_INCOMPAT_KNOWN);
		return EXIT_DONE;
	}
	root = json_root();
	json_text(root, "tool", KVPOOL_VERSION);
	json_text(root, "module", loaded ? module : NULL);
	disk = json_child(root, "format");
	json_number(disk, "version", KVP_FORMAT_VERSION);
	json_number(disk, "compat", KVP_COMPAT_KNOWN);
	json_number(disk, "ro_compat", KVP_RO_COMPAT_KNOWN);
	json_number(disk, "incompat", KVP_INCOMPAT_KNOWN);
	ctl_json(root);
	return EXIT_DONE;
}

const struct command cmd_version = {
	.name = "version",
	.purpose = "versions of the tool, the module and the on-disk format",
	.args = "",
	.about = "Shows the versions of tool, module and on-disk format.",
	.example = "kvpoolctl version",
	.run = run,
};
