// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
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

static bool write_number(const char *path, u64 next)
{
	FILE *f = fopen(path, "we");
	bool ok;

	if (!f)
		return false;
	ok = fprintf(f, "%" PRIu64 "\n", next) > 0 && !fflush(f) && !fsync(fileno(f));
	return !fclose(f) && ok;
}

/* The folder holds the name of the file. */
static bool sync_folder(void)
{
	int fd = open(config.state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && !fsync(fd);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Replaced at once: a power cut leaves the old file or the new one, never an empty one. */
void place_save(const char *uuid, u64 next)
{
	char path[PATH_MAX], new[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", config.state, uuid);
	if (snprintf(new, sizeof(new), "%s/.%s", config.state, uuid) >= (int)sizeof(new))
		return;
	if (!write_number(new, next) || rename(new, path) || !sync_folder())
		journal_say(PRI_WARNING, "%s cannot be written: %s", path, strerror(errno));
}
