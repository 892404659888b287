// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "iocount.h"

#define SECTOR	512

bool iocount_parse(const char *line, struct iocount *c)
{
	/* fields: reads, merged, sectors, ms, the same of writes, in flight, 2 times, discards */
	int n = sscanf(line, "%" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %" SCNu64
		       " %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64, &c->reads, &c->read_bytes,
		       &c->read_ms, &c->writes, &c->write_bytes, &c->write_ms, &c->busy_ms,
		       &c->discards);

	if (n != 8) {
		memset(c, 0, sizeof(*c));
		return false;
	}
	c->read_bytes *= SECTOR;
	c->write_bytes *= SECTOR;
	return true;
}

bool iocount_load(dev_t rdev, struct iocount *c)
{
	char path[PATH_MAX], line[512];
	bool ok = false;
	FILE *f;

	memset(c, 0, sizeof(*c));
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(rdev), minor(rdev));
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f))
		ok = iocount_parse(line, c);
	fclose(f);
	return ok;
}
