/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices, and image files that stand for one: their properties, their users, and reads of
 * whole blocks.
 */
#ifndef KVPOOLCTL_DEVICE_H
#define KVPOOLCTL_DEVICE_H

#include <limits.h>
#include <sys/types.h>

#include "err.h"
#include "format/format.h"

struct device {
	char path[PATH_MAX];	/* as the user named it */
	dev_t rdev;		/* 0: an image file */
	dev_t file_dev;		/* of an image file: the device of its file system */
	ino_t file_ino;
	u64 bytes;
	u64 blocks;		/* whole 4 KiB blocks */
	unsigned int sector;	/* logical block size */
	bool readonly;
	int fd;			/* of device_open_now(), for reading only; else -1 */
	struct reader *reader;	/* of device_open(); NULL: none */
};

/* how long a device may take to answer, in seconds; only tests change it; 0: for ever */
extern unsigned int device_patience;

/* image files count as block devices; only tests change it */
extern bool device_takes_files;

/**
 * device_open() - open a device for reading
 * @allow_file: accept an image file
 *
 * Reads of a block device do not use the page cache, which misses the writes of a running pool.
 * A process of its own reads the device (reader.h). If the device has not answered its first reads
 * after @device_patience, it is not opened, and @err says so. A device that has not answered to
 * this process a short time ago is refused at once.
 */
int device_open(const char *path, bool allow_file, struct device *d, struct err *err);

/** device_open_now() - the same, but waits for a device that hangs, for ever if need be */
int device_open_now(const char *path, bool allow_file, struct device *d, struct err *err);
void device_close(struct device *d);

/**
 * device_reopen() - device_open() of a device, or image file, that was looked at before
 * @was: that; closed
 *
 * Refuses a path that leads to another one now.
 */
int device_reopen(const struct device *was, struct device *d, struct err *err);

/**
 * device_ask() - find out which of many devices answer, at once
 *
 * device_open() of one that hangs is then refused without another wait, and names all.
 */
void device_ask(const char *const *paths, unsigned int count);

/** device_note() - a device hangs, or answers again. A path that does not exist is ignored. */
void device_note(const char *path, bool hangs);

/**
 * device_apart() - work that may hang on a device, in a process of its own
 * @path: the device
 * @work: returns 0; or another number, with its @err. What it changes in memory is lost, but for
 *	@result
 * @result: of @size bytes; NULL: none
 *
 * Return: as @work; or -1 with @err if it has not ended, and used no processor for
 * @device_patience.
 */
int device_apart(const char *path, int (*work)(void *arg, struct err *err), void *arg, void *result,
		 size_t size, struct err *err);

/** device_apart_soon() - the same for work that may be left out: waits for five seconds at most */
int device_apart_soon(const char *path, int (*work)(void *arg, struct err *err), void *arg,
		      void *result, size_t size, struct err *err);

/**
 * device_read() - read whole blocks
 * @buf: aligned to a block, as from blocks_alloc()
 *
 * Return: 0, -EINVAL (outside the device), -ETIMEDOUT (it hangs: later reads fail at once) or
 * -errno.
 */
int device_read(const struct device *d, u64 block, u32 count, void *buf);

/** device_lost() - has the medium lost what device_read() did not read? No later try helps then */
static inline bool device_lost(int error)
{
	return error == -ENODATA || error == -EILSEQ;
}

/** blocks_alloc() - memory for @count blocks, aligned; NULL when there is none */
void *blocks_alloc(u32 count);

/** block_xor() - add one block to another */
void block_xor(void *to, const void *from);

/** device_same() - do two names mean the same device or file? */
bool device_same(const struct device *a, const struct device *b);

/** device_sys_line() - first line of the file @rest in the folder of @rdev in /sys; false: none */
bool device_sys_line(dev_t rdev, const char *rest, char *buf, size_t size);

/** device_disk() - the disk that @rdev is a partition of, else @rdev itself */
dev_t device_disk(dev_t rdev);

/** device_partitions() - the partitions of a disk, at most @max of them; how many are in @list */
unsigned int device_partitions(dev_t rdev, dev_t *list, unsigned int max);

/** device_make() - a device number from its parts */
dev_t device_make(unsigned int major, unsigned int minor);

/** device_numbers() - "MAJOR:MINOR" */
const char *device_numbers(dev_t rdev, char buf[32]);

/** device_name() - "/dev/..." name of a device number, for people */
const char *device_name(dev_t rdev, char *buf, size_t size);

/* longest path in a table; the module would remember 255 characters */
#define DEVICE_WORD	64

/**
 * device_word() - @d in a device-mapper table
 *
 * A path that stays valid: the user's path if it lies in /dev, else the node's path. People find
 * the leg under that path even when the device has gone. If no path is suitable: the device's
 * numbers.
 */
const char *device_word(const struct device *d, char buf[DEVICE_WORD]);

/** device_find() - the number of the block device at @path; 0 or -errno */
int device_find(const char *path, dev_t *rdev);

/** device_unescape() - a path of mountinfo, which writes blanks and backslashes in octal: \\040 */
void device_unescape(char *text);

/** device_mountpoint() - where @rdev itself is mounted, or that it is swap; false: neither */
bool device_mountpoint(dev_t rdev, char *buf, size_t size);

/**
 * device_holder() - the device that is stacked on top of @rdev
 * @name: its kernel name; empty if there is none
 * @dm_uuid: its device-mapper UUID, empty if it has none
 *
 * Return: true if there is one.
 */
bool device_holder(dev_t rdev, char *name, size_t size, char *dm_uuid, size_t uuid_size);

/** device_readonly() - is @d read-only now? Does not open it: it may have been read long ago. */
bool device_readonly(const struct device *d);

/** device_discards() - does @rdev, or its disk, offer discards? 1: yes; 0: no; -1: unknown */
int device_discards(dev_t rdev);

/** device_rotates() - does @rdev, or its disk, rotate? 1: yes; 0: no, an SSD; -1: unknown */
int device_rotates(dev_t rdev);

/** device_suspended() - is @rdev a suspended mapped device, on which reads would wait? */
bool device_suspended(dev_t rdev);

/**
 * device_of_multipath() - does udev know @rdev as a path of a multipath device?
 *
 * That device may not be there yet. It has no holder then, and looks like a disk of its own.
 */
bool device_of_multipath(dev_t rdev);

/**
 * device_unused() - refuse a device that is in use
 *
 * In use means: a leg of a pool that runs; mounted or swap, by itself, by its partitions or by
 * devices stacked on them; held by a driver; or opened exclusively by a program. The first of these
 * is what @err says. Does not wait for a device that hangs.
 */
int device_unused(const struct device *d, struct err *err);

/** device_announce() - have udev probe @rdev again after its contents have changed */
void device_announce(dev_t rdev);

/**
 * device_claim() - open exclusively, for reading and writing; for device_apart()
 *
 * Refuses a path that leads to another device now than to @d.
 *
 * Return: a file descriptor, or -1 with @err.
 */
int device_claim(const struct device *d, struct err *err);

/**
 * device_again() - open without a claim, as the pool may hold it; for device_apart()
 * @write: for reading and writing
 *
 * Return: as device_claim().
 */
int device_again(const struct device *d, bool write, struct err *err);

#endif
