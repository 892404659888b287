// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <inttypes.h>
#include <libdevmapper.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "alignment.h"
#include "device.h"

#define MAX_DEPTH	16	/* of devices that are stacked */

/* The first line of @file, of the folder that /sys has for @rdev; "" if there is none. */
static const char *sys_line(dev_t rdev, const char *file, char *buf, int size)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(rdev), minor(rdev), file);
	f = fopen(path, "re");
	if (!f || !fgets(buf, size, f))
		*buf = 0;
	if (f)
		fclose(f);
	buf[strcspn(buf, "\n")] = 0;
	return buf;
}

/* 0 if the file is missing. Device-mapper and md report -1 where their disks disagree. */
static u64 sys_number(dev_t rdev, const char *file)
{
	char text[32];

	return (u64)strtoll(sys_line(rdev, file, text, sizeof(text)), NULL, 10);
}

static bool begins_inside(dev_t rdev, u64 at, int depth);

/* The disks of an md begin behind its own labels. */
static bool md_inside(dev_t rdev, u64 at, int depth)
{
	char path[PATH_MAX], file[PATH_MAX], text[32];
	unsigned int ma, mi;
	bool inside = false;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/md", major(rdev), minor(rdev));
	dir = opendir(path);
	while (dir && !inside && (e = readdir(dir))) {
		if (strncmp(e->d_name, "dev-", 4))
			continue;
		snprintf(file, sizeof(file), "md/%s/block/dev", e->d_name);
		if (sscanf(sys_line(rdev, file, text, sizeof(text)), "%u:%u", &ma, &mi) != 2)
			continue;
		snprintf(file, sizeof(file), "md/%s/offset", e->d_name);
		inside = begins_inside(makedev(ma, mi), at + sys_number(rdev, file) * 512,
				       depth + 1);
	}
	if (dir)
		closedir(dir);
	return inside;
}

/* Does a target that begins at sector @start put byte @at of its device inside a block? */
static bool target_inside(const char *type, const char *params, u64 start, u64 at, int depth)
{
	unsigned int ma, mi;
	int words = 0;
	u64 from;

	/* cipher, key and IV offset come before the device */
	if (!strcmp(type, "linear"))
		words = sscanf(params, "%u:%u %" SCNu64, &ma, &mi, &from);
	else if (!strcmp(type, "crypt"))
		words = sscanf(params, "%*s %*s %*s %u:%u %" SCNu64, &ma, &mi, &from);
	if (words != 3)
		return at % KVP_BLOCK_SIZE;
	return begins_inside(makedev(ma, mi), at + (from - start) * 512, depth + 1);
}

static bool dm_inside(const char *name, u64 at, int depth)
{
	struct dm_task *t = dm_task_create(DM_DEVICE_TABLE);
	char *type = NULL, *params = NULL;
	uint64_t start, length;
	bool inside = false;
	void *next = NULL;

	/* a table of dm-crypt may have the key */
	if (t && dm_task_set_name(t, name) && dm_task_secure_data(t) && dm_task_run(t)) {
		do {
			next = dm_get_next_target(t, next, &start, &length, &type, &params);
			if (type && params)
				inside |= target_inside(type, params, start, at, depth);
		} while (next);
	}
	if (t)
		dm_task_destroy(t);
	return inside;
}

/* A loop device on a file begins where the file does, which is a block of its file system. */
static bool loop_inside(dev_t rdev, const char *file, u64 at, int depth)
{
	struct stat st;

	at += sys_number(rdev, "loop/offset");
	if (!stat(file, &st) && S_ISBLK(st.st_mode))
		return begins_inside(st.st_rdev, at, depth + 1);
	return at % KVP_BLOCK_SIZE;
}

/* Does byte @at of @rdev lie inside a block of a disk below? Only @at modulo 4 KiB counts. */
static bool begins_inside(dev_t rdev, u64 at, int depth)
{
	dev_t disk = device_disk(rdev);
	char text[PATH_MAX];

	if (depth > MAX_DEPTH)
		return false;
	if (disk != rdev)
		return begins_inside(disk, at + sys_number(rdev, "start") * 512, depth + 1);
	if (*sys_line(rdev, "dm/name", text, sizeof(text)))
		return dm_inside(text, at, depth);
	if (*sys_line(rdev, "loop/backing_file", text, sizeof(text)))
		return loop_inside(rdev, text, at, depth);
	if (*sys_line(rdev, "md/level", text, sizeof(text)))
		return md_inside(rdev, at, depth);
	return at % KVP_BLOCK_SIZE;
}

bool device_misaligned(dev_t rdev)
{
	/* A disk that reports no size of its physical blocks may have blocks of 4 KiB. */
	return sys_number(rdev, "alignment_offset") || begins_inside(rdev, 0, 0);
}
