/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signatures of others on a leg. To other tools a leg looks blank: its first 64 KiB and the end of it
 * are not used, and no label of ours is known to them. mkfs, pvcreate, mdadm, mkswap and sfdisk, run on
 * a leg by mistake, leave their magic there, which the pool never overwrites; what else they wrote the
 * pool's checksums find. At the next boot somebody may take the leg for theirs.
 */
#ifndef KVPOOLCTL_FOREIGN_H
#define KVPOOLCTL_FOREIGN_H

#include "label.h"
#include "signature.h"

/**
 * foreign_free() - do these bytes of a leg hold nothing of the pool's?
 * @in_use: the pool runs, and may write any slot of its labels
 *
 * That are the parts of the label areas that are unused, and slots that are no label any more.
 */
bool foreign_free(const struct device *d, const struct label *l, u64 offset, u64 bytes, bool in_use);

/**
 * foreign_find() - look for signatures on devices, all at once, and for no longer than two seconds
 * @type: what was found on each, empty where there is nothing or where it did not answer
 *
 * A disk of a running pool may hang, and whoever asks for the pool's health must not.
 */
void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE]);

/**
 * foreign_wipe() - remove the signatures of others from a leg, and leave the rest of it alone
 * @fd: open for writing; -1: only look
 * @done, @left: what was wiped, or would be; and what lies where the pool has something
 *
 * Return: 0, or -1 with @err.
 */
int foreign_wipe(const struct device *d, const struct label *l, int fd, bool in_use,
		 struct signature_list *done, struct signature_list *left, struct err *err);

#endif
