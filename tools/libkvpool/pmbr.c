// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/format.h"
#include "pmbr.h"

#define TEXT_AT		128	/* behind all fields of a FAT boot sector */
#define ENTRY_AT	446
#define MAGIC_AT	510

/*
 * An old BIOS runs what carries the magic of a boot sector, also zeros, and hangs. This goes on to
 * the next device: int 18h; if that returns, hlt for ever.
 */
static const unsigned char code[] = { 0xcd, 0x18, 0xf4, 0xeb, 0xfd };

/* For people who look at the bytes. */
static const char text[] = "This is a leg or a spare of a kvpool pool. It is not blank.\r\n";

/*
 * Type 0xee from sector 1 on, as UEFI has it. The size is the largest: Linux and fdisk take that
 * for any device. The bytes between text and entry stay zeros, so there is no disk signature:
 * Windows minds two disks with the same one.
 */
static const unsigned char entry[16] = {
	0, 0x00, 0x02, 0x00, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff
};

void pmbr_make(unsigned char sector[PMBR_BYTES])
{
	memset(sector, 0, PMBR_BYTES);
	memcpy(sector, code, sizeof(code));
	memcpy(sector + TEXT_AT, text, sizeof(text) - 1);
	memcpy(sector + ENTRY_AT, entry, sizeof(entry));
	sector[MAGIC_AT] = 0x55;
	sector[MAGIC_AT + 1] = 0xaa;
}

static int transferred(ssize_t done, size_t wanted)
{
	if (done < 0)
		return -1;
	if ((size_t)done == wanted)
		return 0;
	errno = EIO;
	return -1;
}

bool pmbr_is_ours(const void *block)
{
	unsigned char ours[PMBR_BYTES];

	pmbr_make(ours);
	return !memcmp(block, ours, sizeof(ours));
}

int pmbr_look(int fd)
{
	unsigned char block[KVP_BLOCK_SIZE];
	size_t i = 0;

	if (transferred(pread(fd, block, sizeof(block), 0), sizeof(block)))
		return -1;
	if (pmbr_is_ours(block))
		return PMBR_OURS;
	while (i < sizeof(block) && !block[i])
		i++;
	return i == sizeof(block) ? PMBR_NONE : PMBR_OTHER;
}

/* Write @sector if block 0 is in state @only. */
static int replace(int fd, int only, const unsigned char sector[PMBR_BYTES])
{
	int state = pmbr_look(fd);

	if (state != only)
		return state < 0 ? -1 : 0;
	if (transferred(pwrite(fd, sector, PMBR_BYTES, 0), PMBR_BYTES) || fsync(fd))
		return -1;
	return 1;
}

int pmbr_write(int fd)
{
	unsigned char sector[PMBR_BYTES];

	pmbr_make(sector);
	return replace(fd, PMBR_NONE, sector);
}

int pmbr_clear(int fd)
{
	static const unsigned char zeros[PMBR_BYTES];

	return replace(fd, PMBR_OURS, zeros);
}
