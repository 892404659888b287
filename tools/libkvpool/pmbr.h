/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protective MBR in block 0 of a leg or a spare. No pool uses that block. Tools that do not
 * know kvpool find a partition table there, and ask before they write. Its one partition has the
 * type of a GPT, and there is no GPT, so neither Linux nor Windows makes a partition of it.
 *
 * It is the same on every device: no size and no logical block size is in it.
 */
#ifndef KVPOOLCTL_PMBR_H
#define KVPOOLCTL_PMBR_H

#include <stdbool.h>

#define PMBR_BYTES	512

enum pmbr_state {
	PMBR_NONE,	/* block 0 is zeros */
	PMBR_OURS,
	PMBR_OTHER,	/* something else is there: kvpoolctl must not overwrite it */
};

/** pmbr_make() - the bytes of the protective MBR */
void pmbr_make(unsigned char sector[PMBR_BYTES]);

/** pmbr_is_ours() - are the first bytes of block 0 those of pmbr_make()? */
bool pmbr_is_ours(const void *block);

/** pmbr_look() - what is in block 0? Return: an enum pmbr_state, or -1 with errno. */
int pmbr_look(int fd);

/** pmbr_write() - write it if block 0 is zeros. Return: 1 written, 0 left, -1 with errno. */
int pmbr_write(int fd);

/** pmbr_clear() - zero it if it is there, byte for byte. Return: 1 cleared, 0 left, or -1. */
int pmbr_clear(int fd);

#endif
