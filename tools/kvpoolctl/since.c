// SPDX-License-Identifier: GPL-2.0-only
#include "since.h"

int since_usage(struct ctl *ctl, const char *text)
{
	struct kvp_point p;

	if (kvp_point_parse(text, &p) != -EINVAL)
		return 0;	/* the module knows which are still to come */
	return ctl_usage(ctl, "--since takes a checkpoint: its number, or NUMBER@TAG as diff "
			 "prints it");
}
