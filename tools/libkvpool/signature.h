/* SPDX-License-Identifier: GPL-2.0-only */
/* libblkid: signatures on a device. */
#ifndef KVPOOLCTL_SIGNATURE_H
#define KVPOOLCTL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define SIGNATURE_TYPE	64	/* bytes of a signature's name */

/**
 * signature_find() - which signature (file system, partition table, RAID, ...) a device has
 * @type: receives its type, empty when the device has none
 *
 * The protective MBR of a leg (pmbr.h) does not count, nor does it for signature_each().
 *
 * Return: 1 found, 0 none, -1 with @err when the probe failed.
 */
int signature_find(const char *path, char *type, size_t size, struct err *err);

/** signature_partition() - number of the partition that has byte @offset of a device; 0: none */
int signature_partition(const char *path, unsigned long long offset);

#define SIGNATURES_MAX	16

/* A signature, and the place of its magic. */
struct signature {
	char type[SIGNATURE_TYPE];
	unsigned long long offset, bytes;
};

struct signature_list {
	struct signature list[SIGNATURES_MAX];
	unsigned int count;
	unsigned int more;	/* that did not fit */
};

/**
 * signature_each() - show all signatures of a device to @wipe
 * @fd: open for writing, -1: only look
 * @wipe: called for each; if true, its magic is zeroed, and a signature below it is shown next
 *
 * Return: 0, or -1 with @err.
 */
int signature_each(const char *path, int fd, bool (*wipe)(void *arg, const struct signature *s),
		   void *arg, struct err *err);

/**
 * signature_of_raid() - is the device a member of a RAID that keeps its own block at the end?
 * @from: the signature counts from this byte on
 * @type: receives its type, empty when there is none, or the probe failed
 */
void signature_of_raid(const char *path, unsigned long long from, char type[SIGNATURE_TYPE]);

/** signature_wipe() - remove all signatures, also those at the end; @fd open for writing */
int signature_wipe(int fd, const char *path, struct err *err);

#endif
