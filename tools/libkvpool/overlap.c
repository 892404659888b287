// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "overlap.h"

#define MAX_DEPTH	8	/* of loop devices on each other */

/* Where the blocks of a device lie: bytes @from to @end of a disk, or of a file. */
struct place {
	dev_t disk;		/* 0: a file */
	dev_t file_dev;
	ino_t file_ino;
	u64 from, end;
};

static bool sys_number(dev_t rdev, const char *rest, u64 *number)
{
	char text[32];

	return device_sys_line(rdev, rest, text, sizeof(text)) &&
	       sscanf(text, "%" SCNu64, number) == 1;
}

static bool move(struct place *p, u64 by)
{
	return !__builtin_add_overflow(p->from, by, &p->from) &&
	       !__builtin_add_overflow(p->end, by, &p->end);
}

/* From a partition to its disk, or from a loop device to what it lies on. False: it is neither. */
static bool step_down(struct place *p)
{
	dev_t disk = device_disk(p->disk);
	char file[PATH_MAX];
	struct stat st;
	u64 at = 0;

	if (disk != p->disk) {
		if (!sys_number(p->disk, "start", &at) || at > UINT64_MAX / 512 ||
		    !move(p, at * 512))
			return false;
		p->disk = disk;
		return true;
	}
	if (!device_sys_line(p->disk, "loop/backing_file", file, sizeof(file)) || stat(file, &st))
		return false;
	sys_number(p->disk, "loop/offset", &at);
	if (!move(p, at))
		return false;
	p->disk = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	p->file_dev = st.st_dev;
	p->file_ino = st.st_ino;
	return true;
}

static struct place place_of(const struct device *d)
{
	struct place p = { d->rdev, d->file_dev, d->file_ino, 0, d->bytes };
	int depth = 0;

	while (p.disk && depth++ < MAX_DEPTH && step_down(&p))
		;
	return p;
}

static bool in_common(const struct place *a, const struct place *b)
{
	return a->from < b->end && b->from < a->end;
}

bool device_overlaps(const struct device *a, const struct device *b)
{
	struct place at, bt;

	if (device_same(a, b))
		return true;
	at = place_of(a);
	bt = place_of(b);
	if (at.disk != bt.disk ||
	    (!at.disk && (at.file_dev != bt.file_dev || at.file_ino != bt.file_ino)))
		return false;
	return in_common(&at, &bt);
}

/* A number that is only zeros, behind what names its kind ("naa."), is none. */
static bool says_something(const char *wwid)
{
	const char *number = strchr(wwid, '.');

	number = number ? number + 1 : wwid;
	return number[strspn(number, "0 -")] && strlen(number) >= 8;
}

/* SCSI has it in the folder of the device, NVMe in that of the disk. */
static bool wwid_of(dev_t disk, char wwid[DEVICE_WWID])
{
	return disk && (device_sys_line(disk, "device/wwid", wwid, DEVICE_WWID) ||
			device_sys_line(disk, "wwid", wwid, DEVICE_WWID)) &&
	       says_something(wwid);
}

bool device_same_wwid(const struct device *a, const struct device *b, char wwid[DEVICE_WWID])
{
	struct place at = place_of(a), bt = place_of(b);
	char other[DEVICE_WWID];

	return at.disk != bt.disk && wwid_of(at.disk, wwid) && wwid_of(bt.disk, other) &&
	       !strcmp(wwid, other) && in_common(&at, &bt);
}
