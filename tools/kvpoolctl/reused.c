// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "foreign.h"
#include "pool_object.h"
#include "reused.h"

static bool is_out(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return state && strcmp(state, "online") && strcmp(state, "resilvering");
}

bool reused_leg(const struct stats *s, unsigned int leg, char type[SIGNATURE_TYPE])
{
	const char *path = stats_text(s, "leg.%u.path", leg);
	char types[1][SIGNATURE_TYPE] = { "" }, buf[PATH_MAX];

	if (is_out(s, leg) && path && strcmp(path, "-")) {
		path = leg_path(path, buf, sizeof(buf));
		foreign_find_sure(&path, 1, types);
	}
	memcpy(type, types[0], SIGNATURE_TYPE);
	return *type;
}

int reused_check(const struct stats *s, unsigned int leg, bool *unseen, struct err *err)
{
	char type[SIGNATURE_TYPE], buf[PATH_MAX];
	bool unknown = reused_leg(s, leg, type) && !strcmp(type, FOREIGN_UNKNOWN);

	if (unseen)
		*unseen = unknown;
	if (!*type || unknown)
		return 0;
	return err_set(err, ERR_SIGNATURE,
		       leg_path(stats_text(s, "leg.%u.path", leg), buf, sizeof(buf)),
		       "disconnect it first; or kvpoolctl labelclear --foreign DEV, if nothing "
		       "on it is needed",
		       "it carries a signature of %.60s: it may have got another use while it was "
		       "out, and its first and last MiB would be wiped", type);
}
