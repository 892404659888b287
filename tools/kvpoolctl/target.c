// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "around.h"
#include "overlap.h"
#include "signature.h"
#include "target.h"

#define ZERO_AT_ONCE	(256ull << 20)	/* so that a signal ends it soon */

/* --- what is there ----------------------------------------------------------------------- */

/* A leg of a pool that was not destroyed is refused. */
static int check_label(const struct target *t, struct err *err)
{
	static const char mend[] = "to give up its data: kvpoolctl labelclear -f DEV";
	struct label l;
	int ret = 0;

	if (label_read(&t->dev, &l, err))
		return -1;
	if (!l.valid && !l.bad)
		ret = 0;
	else if (label_fault(&l))
		ret = err_set(err, ERR_MEMBER, t->path, label_mend(&l, mend),
			      "it carries a kvpool label: %s",
			      label_fault(&l));
	else if (!(l.sb->flags & KVP_SB_DESTROYED))
		ret = err_set(err, ERR_MEMBER, t->path, mend, "it is a member of pool %s",
			      l.sb->name);
	label_free(&l);
	return ret;
}

/* The legs that are read must not change. */
static int check_legs(const struct target *t, const struct scan *s, struct err *err)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (device_overlaps(&t->dev, &s->legs[i]->dev))
			return err_set(err, ERR_LISTED_TWICE, t->path,
				       "write the copy to something else",
				       "it is, or shares blocks with, the leg %.200s",
				       s->legs[i]->dev.path);
	return 0;
}

static int check_device(const struct target *t, struct err *err)
{
	if (t->dev.readonly)
		return err_set(err, ERR_READ_ONLY, t->path, "make it writable: blockdev --setrw",
			       "it is read-only");
	if (t->dev.bytes < t->bytes)
		return err_set(err, ERR_TOO_SMALL, t->path, "use a larger one",
			       "it has %llu bytes, and the pool's device %llu",
			       (unsigned long long)t->dev.bytes, (unsigned long long)t->bytes);
	return device_unused(&t->dev, err);
}

int target_check(struct target *t, const struct scan *s, struct err *err)
{
	struct stat st;
	int ret;

	t->fd = -1;
	if (stat(t->path, &st))
		return errno == ENOENT ? 0 : err_set(err, ERR_IO, t->path, "check the path", "%s",
						     strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return err_set(err, ERR_NOT_BLOCK_DEVICE, t->path, "name a file",
			       "neither a file nor a block device");
	t->exists = true;
	if (device_open(t->path, true, &t->dev, err))
		return -1;
	ret = check_legs(t, s, err);
	if (!ret && !t->force)
		ret = err_set(err, ERR_EXISTS, t->path, "-f overwrites it, if it is not needed",
			      "it exists");
	if (!ret)
		ret = check_label(t, err) || around_check(&t->dev, err) ? -1 : 0;
	if (!ret && t->dev.rdev)
		ret = check_device(t, err);
	device_close(&t->dev);
	return ret;
}

/* --- writing ------------------------------------------------------------------------------- */

static int failed(const struct target *t, u64 block, struct err *err)
{
	return err_set(err, ERR_IO, t->path, errno == ENOSPC ? "make room, then again with -f" :
		       "check the device, then again with -f",
		       "%s; the copy ends at lba %llu", strerror(errno), (unsigned long long)block);
}

static bool is_same_file(const struct target *t)
{
	struct stat st;

	return !fstat(t->fd, &st) && st.st_dev == t->dev.file_dev && st.st_ino == t->dev.file_ino;
}

/* Nothing held it while the log was read. It is open now: is it still what was checked? */
static int check_again(const struct target *t, struct err *err)
{
	struct target now = { .path = t->path };
	int ret;

	if (device_open(t->path, true, &now.dev, err))
		return -1;
	if (!device_same(&now.dev, &t->dev) ||
	    (t->dev.rdev ? now.dev.bytes < t->bytes : !is_same_file(t)))
		ret = err_set(err, ERR_HELD, t->path, "see what it is now, then ask for it again",
			      "its path leads to something else than when it was checked, or its "
			      "size has changed");
	else
		ret = check_label(&now, err);
	device_close(&now.dev);
	return ret;
}

static int open_file(struct target *t, struct err *err)
{
	t->fd = open(t->path, O_WRONLY | O_CLOEXEC | (t->exists ? 0 : O_CREAT | O_EXCL), 0600);
	if (t->fd < 0)
		return err_set(err, errno == EACCES || errno == EPERM ? ERR_PERMISSION : ERR_IO,
			       t->path, "check the path, and its file system", "%s",
			       strerror(errno));
	if (!t->exists)
		return 0;
	if (check_again(t, err))
		return -1;
	return ftruncate(t->fd, 0) ? failed(t, 0, err) : 0;
}

static int open_device(struct target *t, struct err *err)
{
	/* a claim of a partition would hide what its disk is */
	if (around_check(&t->dev, err))
		return -1;
	t->fd = device_claim(&t->dev, err);
	if (t->fd < 0 || check_again(t, err))
		return -1;
	return signature_wipe(t->fd, t->path, err);
}

static int begin(struct target *t, struct err *err)
{
	t->begun = true;
	return t->dev.rdev ? open_device(t, err) : open_file(t, err);
}

static int put(struct target *t, u64 block, u64 count, const u8 *data, struct err *err)
{
	size_t left = (size_t)count << KVP_BLOCK_SHIFT;
	off_t at = (off_t)(block << KVP_BLOCK_SHIFT);
	ssize_t n;

	t->written += left;
	while (left) {
		n = pwrite(t->fd, data, left, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failed(t, block, err);
		data += n;
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

/* A new file has a hole there; a device may have anything. */
static int zero(struct target *t, u64 block, u64 count, struct err *err)
{
	u64 range[2] = { block << KVP_BLOCK_SHIFT }, left = count << KVP_BLOCK_SHIFT;

	while (t->dev.rdev && left) {
		range[1] = left < ZERO_AT_ONCE ? left : ZERO_AT_ONCE;
		if (ioctl(t->fd, BLKZEROOUT, range))
			return failed(t, block, err);
		range[0] += range[1];
		left -= range[1];
	}
	return 0;
}

static bool is_zero(const u8 *block)
{
	return !*block && !memcmp(block, block + 1, KVP_BLOCK_SIZE - 1);
}

static bool has_contents(const struct verify_span *s, u64 i)
{
	return s->states && verify_has(s->states[i]) && !is_zero(s->data + (i << KVP_BLOCK_SHIFT));
}

int target_take(void *target, const struct verify_span *span, struct err *err)
{
	struct target *t = target;
	u64 i, n;
	bool has;
	int ret = t->begun ? 0 : begin(t, err);

	for (i = 0; !ret && i < span->count; i += n) {
		has = has_contents(span, i);
		/* without states all of the span is unwritten */
		for (n = span->states ? 1 : span->count; i + n < span->count; n++)
			if (has_contents(span, i + n) != has)
				break;
		ret = has ? put(t, span->first + i, n, span->data + (i << KVP_BLOCK_SHIFT), err) :
			    zero(t, span->first + i, n, err);
	}
	return ret;
}

int target_end(struct target *t, bool failed_before, struct err *err)
{
	int ret = 0;

	if (t->fd < 0)
		return 0;
	/* Only a whole copy gets the size of one. */
	if (!failed_before && !t->dev.rdev && ftruncate(t->fd, (off_t)t->bytes))
		ret = failed(t, t->bytes >> KVP_BLOCK_SHIFT, err);
	else if (!failed_before && fsync(t->fd))
		ret = err_set(err, ERR_IO, t->path, "check the device, then again with -f",
			      "the copy may not be durable: %s", strerror(errno));
	close(t->fd);
	t->fd = -1;
	return ret;
}
