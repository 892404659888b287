// SPDX-License-Identifier: GPL-2.0-only
/* The only file that uses libblkid. */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmbr.h"
#include "signature.h"

/*
 * A member of a ZFS pool carries up to 512 uberblocks, and each is a signature. A device with more
 * is not plausible.
 */
#define MAX_SIGNATURES	2000

static blkid_probe probe_new(int fd, const char *path, struct err *err)
{
	blkid_probe pr = blkid_new_probe();

	if (!pr || blkid_probe_set_device(pr, fd, 0, 0)) {
		err_set(err, ERR_IO, path, "check the device", "cannot be probed for signatures");
		blkid_free_probe(pr);
		return NULL;
	}
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_TYPE |
					  BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	return pr;
}

/* Is what the probe found the protective MBR of a leg? That is no signature of another tool. */
static bool is_own(blkid_probe pr, int fd)
{
	const char *type;

	return blkid_probe_lookup_value(pr, "TYPE", &type, NULL) &&
	       !blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL) && !strcmp(type, "PMBR") &&
	       pmbr_look(fd) == PMBR_OURS;
}

int signature_find(const char *path, char *type, size_t size, struct err *err)
{
	/* not the descriptor of struct device: libblkid's reads are unaligned */
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	const char *value;
	blkid_probe pr;

	*type = 0;
	if (fd < 0)
		return err_set(err, ERR_IO, path, "check the device", "%s", strerror(errno));
	pr = probe_new(fd, path, err);
	if (!pr) {
		close(fd);
		return -1;
	}
	do {
		ret = blkid_do_probe(pr);
	} while (ret == 0 && is_own(pr, fd));
	if (ret == 0) {
		if (blkid_probe_lookup_value(pr, "TYPE", &value, NULL) &&
		    blkid_probe_lookup_value(pr, "PTTYPE", &value, NULL))
			value = "unknown";
		snprintf(type, size, "%s", value);
	}
	blkid_free_probe(pr);
	close(fd);
	if (ret < 0)
		return err_set(err, ERR_IO, path, "check the device",
			       "probing for signatures failed");
	return !ret;
}

/* The signature that the probe found; false: it has no place. */
static bool read_found(blkid_probe pr, struct signature *s)
{
	const char *type, *offset, *magic;
	size_t bytes;

	if (blkid_probe_lookup_value(pr, "TYPE", &type, NULL) &&
	    blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL))
		return false;
	if ((blkid_probe_lookup_value(pr, "SBMAGIC_OFFSET", &offset, NULL) ||
	     blkid_probe_lookup_value(pr, "SBMAGIC", &magic, &bytes)) &&
	    (blkid_probe_lookup_value(pr, "PTMAGIC_OFFSET", &offset, NULL) ||
	     blkid_probe_lookup_value(pr, "PTMAGIC", &magic, &bytes)))
		return false;
	snprintf(s->type, sizeof(s->type), "%s", type);
	s->offset = strtoull(offset, NULL, 10);
	s->bytes = bytes;
	return true;
}

static int zero(int fd, const struct signature *s)
{
	static const char zeros[256];
	unsigned long long at = s->offset, left = s->bytes;

	while (left) {
		size_t n = left < sizeof(zeros) ? left : sizeof(zeros);

		if (pwrite(fd, zeros, n, (off_t)at) != (ssize_t)n)
			return -1;
		at += n;
		left -= n;
	}
	return 0;
}

/* A path may lead elsewhere by now. */
static bool same_device(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_rdev == y.st_rdev &&
	       (S_ISBLK(x.st_mode) || (x.st_dev == y.st_dev && x.st_ino == y.st_ino));
}

int signature_each(const char *path, int fd, bool (*wipe)(void *arg, const struct signature *s),
		   void *arg, struct err *err)
{
	int reader = open(path, O_RDONLY | O_CLOEXEC), ret = -1, n = 0;
	struct signature s;
	blkid_probe pr;

	if (reader < 0)
		return err_set(err, ERR_IO, path, "check the device", "%s", strerror(errno));
	if (fd >= 0 && !same_device(reader, fd)) {
		close(reader);
		return err_set(err, ERR_HELD, path, "see what it is now, then ask for it again",
			       "its path leads to another device than when it was checked");
	}
	pr = probe_new(reader, path, err);
	while (pr && n++ < MAX_SIGNATURES && (ret = blkid_do_probe(pr)) == 0) {
		if (!read_found(pr, &s) || is_own(pr, reader) || !wipe(arg, &s) || fd < 0)
			continue;
		ret = -1;
		if (zero(fd, &s) || blkid_probe_step_back(pr))
			break;
	}
	blkid_free_probe(pr);
	close(reader);
	if (pr && ret == 1 && fd >= 0 && fsync(fd))
		ret = -1;
	if (pr && ret != 1)
		err_set(err, ERR_IO, path, "check the device",
			"its signatures cannot be read or wiped");
	return pr && ret == 1 ? 0 : -1;
}

struct raid {
	unsigned long long from;
	char *type;
};

static bool note_raid(void *arg, const struct signature *s)
{
	static const char member[] = "_raid_member";
	size_t n = strlen(s->type), m = sizeof(member) - 1;
	struct raid *r = arg;

	if (s->offset >= r->from && ((n > m && !strcmp(s->type + n - m, member)) ||
				     !strcmp(s->type, "drbd")))
		snprintf(r->type, SIGNATURE_TYPE, "%s", s->type);
	return false;
}

void signature_of_raid(const char *path, unsigned long long from, char type[SIGNATURE_TYPE])
{
	struct raid r = { from, type };
	struct err err;

	*type = 0;
	signature_each(path, -1, note_raid, &r, &err);
}

int signature_wipe(int fd, const char *path, struct err *err)
{
	blkid_probe pr = probe_new(fd, path, err);
	int ret = 0, n = 0;

	if (!pr)
		return -1;
	while (n++ < MAX_SIGNATURES && (ret = blkid_do_probe(pr)) == 0) {
		if (blkid_do_wipe(pr, 0)) {
			ret = -1;
			break;
		}
	}
	blkid_free_probe(pr);
	if (ret != 1)
		return err_set(err, ERR_IO, path, "check the device, or run wipefs -a",
			       "its signatures cannot be wiped");
	return 0;
}

int signature_partition(const char *path, unsigned long long offset)
{
	blkid_probe pr = blkid_new_probe_from_filename(path);
	blkid_partlist list;
	blkid_partition part;
	long long start;
	int i, found = 0;

	list = pr ? blkid_probe_get_partitions(pr) : NULL;
	for (i = 0; list && !found && i < blkid_partlist_numof_partitions(list); i++) {
		part = blkid_partlist_get_partition(list, i);
		start = blkid_partition_get_start(part);
		if (!blkid_partition_is_extended(part) &&
		    offset / 512 >= (unsigned long long)start &&
		    offset / 512 - (unsigned long long)start <
		    (unsigned long long)blkid_partition_get_size(part))
			found = blkid_partition_get_partno(part);
	}
	blkid_free_probe(pr);
	return found;
}
