// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "journal.h"
#include "place.h"

bool place_load(const char *uuid, u64 *next)
{
	char path[PATH_MAX];
	bool found;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", config.state, uuid);
	f = fopen(path, "re");
	found = f && fscanf(f, "%" SCNu64, next) == 1;
	if (f)
		fclose(f);
	return found;
}

/* Replaced at once: a power cut leaves the old file or the new one. */
void place_save(const char *uuid, u64 next)
{
	char path[PATH_MAX], new[PATH_MAX];
	bool ok = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", config.state, uuid);
	if (snprintf(new, sizeof(new), "%s/.%s", config.state, uuid) >= (int)sizeof(new))
		return;
	f = fopen(new, "we");
	if (f) {
		ok = fprintf(f, "%" PRIu64 "\n", next) > 0;
		ok = !fclose(f) && ok;
	}
	if (!ok || rename(new, path))
		journal_say(PRI_WARNING, "%s cannot be written: %s", path, strerror(errno));
}
