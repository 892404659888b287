/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was read of block devices, remembered in a file in /run. So a command that is called again
 * and again need not read them each time, which would keep disks from sleeping.
 *
 * What was read still holds if nothing was written since. The kernel counts the writes to a device,
 * and gives each disk that appears a number of its own (diskseq). Writes to the disks below a
 * device count, too: they may change it past its own counter, as LVM does when it merges a
 * snapshot.
 *
 * Some devices are not remembered: those whose driver counts nothing, which shows when a read of
 * them is not counted; those whose counters are switched off; and loop devices, as others may write
 * to their files. What another host writes to a shared disk is not noticed. So a command may take
 * what it remembers only as a sign that all is well, and reads anew before it says anything else.
 */
#ifndef KVPOOLCTL_REMEMBER_H
#define KVPOOLCTL_REMEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "format/format.h"

/* where the files are, and the kernel's counters; only tests change them */
extern const char *remember_dir, *remember_sys;

/** struct stamp - what the kernel says of a device at some time */
struct stamp {
	u64 diskseq;	/* of its disk */
	u64 sectors;	/* its size */
	u64 writes;	/* requests and sectors that changed it or what is below, added up */
	u64 reads;	/* the same of reads; stamps that differ only here are equal */
};

/** stamp_take() - the stamp of @rdev now; false: the kernel does not tell. Opens no device. */
bool stamp_take(dev_t rdev, struct stamp *s);

struct remembered {
	dev_t rdev;
	struct stamp stamp;
	void *text;		/* NULL if @size is 0 */
	size_t size;
};

struct memory {
	char path[64];
	struct remembered *list;
	unsigned int count;
	bool changed;
};

/**
 * memory_open() - what this program remembers under @name
 *
 * Empty if there is nothing, or if another build of the program wrote it.
 */
void memory_open(struct memory *m, const char *name);

/** memory_find() - what was read of @rdev, if that still holds by its stamp @now; else NULL */
const struct remembered *memory_find(const struct memory *m, dev_t rdev, const struct stamp *now);

/**
 * memory_keep() - remember what was read of @rdev
 * @before: its stamp, taken before it was read
 *
 * Not if something was written meanwhile, or the read was not counted. Without memory it is
 * forgotten.
 */
void memory_keep(struct memory *m, dev_t rdev, const struct stamp *before, const void *text,
		 size_t size);

/** memory_close() - write the file, if anything changed. A failure only costs reads later. */
void memory_close(struct memory *m);

#endif
