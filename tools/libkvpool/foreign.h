/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signatures of other tools on a leg. They do not know kvpool's labels, and not all of them mind
 * its protective MBR. Its first 64 KiB and its end are unused otherwise. mkfs, pvcreate, mdadm,
 * mkswap and sfdisk, run on a leg by mistake, leave their magic there, and the pool never
 * overwrites it. The pool's checksums find what else these tools wrote. At the next boot another
 * tool may take the leg for its own.
 */
#ifndef KVPOOLCTL_FOREIGN_H
#define KVPOOLCTL_FOREIGN_H

#include "label.h"
#include "signature.h"

/**
 * foreign_free() - are these bytes of a leg unused by the pool?
 * @in_use: the pool runs, and may write any slot of its labels
 *
 * Unused are the free parts of the label areas, and slots that hold no label any more.
 */
bool foreign_free(const struct device *d, const struct label *l, u64 offset, u64 bytes,
		  bool in_use);

/**
 * foreign_find() - look for signatures on many devices at once
 * @type: the signature found on each; empty if there is none or the device did not answer in 2 s
 *
 * A disk of a running pool may hang; a question about the pool's health must not.
 */
void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE]);

/* What foreign_find_sure() says of a device that it cannot look at. */
#define FOREIGN_UNKNOWN		"unknown"
/* The same in words, behind the name of the device. */
#define FOREIGN_UNSEEN		"it cannot be looked at for signatures of other tools"

/**
 * foreign_find_sure() - the same for an order that would write over what it does not find
 * @type: the signature found on each; FOREIGN_UNKNOWN if the device cannot be read, or did not
 *	answer as long as others are waited for (device_patience)
 */
void foreign_find_sure(const char *const *paths, unsigned int count,
		       char (*type)[SIGNATURE_TYPE]);

/**
 * foreign_wipe() - remove the signatures of other tools from a leg, and nothing else
 * @fd: open for writing; -1: only look
 * @done: signatures that were wiped, or would be
 * @left: signatures that lie where the pool keeps data
 *
 * Return: 0, or -1 with @err.
 */
int foreign_wipe(const struct device *d, const struct label *l, int fd, bool in_use,
		 struct signature_list *done, struct signature_list *left, struct err *err);

#endif
