// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the standard image to files, one a leg: mkimage [OPTION] FILE...
 * -s: without poison; -m: not to be imported without its name (autoimport=0);
 * -x: exported; -d: destroyed; -r: with a feature that only readers may ignore;
 * -i: with one that nobody may; -u: another pool, of the same name; -h: run by
 * another host, which did not stop it; -H: which did
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/tunables.h"
#include "image.h"

static void apply(struct image *m, char option)
{
	unsigned int i;

	switch (option) {
	case 's':
		m->entries[STD_POISONED] = 0;
		break;
	case 'm':
		m->sb.tunable_mask |= 1u << KVP_T_AUTOIMPORT;
		m->sb.tunables[KVP_T_AUTOIMPORT] = 0;
		break;
	case 'x':
		m->sb.flags |= KVP_SB_EXPORTED;
		break;
	case 'r':
		m->sb.ro_compat |= 1ull << 40;
		break;
	case 'i':
		m->sb.incompat |= 1ull << 40;
		break;
	case 'u':
		memset(m->sb.pool_uuid, 0x51, sizeof(m->sb.pool_uuid));
		break;
	case 'H':
		m->sb.flags |= KVP_SB_CLEAN;
		/* fallthrough */
	case 'h':
		m->sb.host = 1;
		strcpy(m->sb.host_name, "elsewhere");
		break;
	case 'd':
		m->sb.flags |= KVP_SB_DESTROYED;
		break;
	}
	/* no older superblock says otherwise */
	for (i = 0; i < KVP_SB_RING; i++)
		image_seal(m);
}

int main(int argc, char **argv)
{
	bool option = argc > 1 && *argv[1] == '-';
	int first = option ? 2 : 1, leg, fd;
	static u8 buf[1 << 20];
	struct image m;
	u64 at;

	if (argc - first < 1 || argc - first > IMAGE_MAX_LEGS)
		return 2;
	image_standard(&m, (unsigned int)(argc - first), IMAGE_SMALL);
	if (option)
		apply(&m, argv[1][1]);
	for (leg = 0; leg < argc - first; leg++) {
		fd = open(argv[first + leg], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		for (at = 0; at < m.blocks << KVP_BLOCK_SHIFT; at += sizeof(buf)) {
			image_read(&m, (unsigned int)leg, at, buf, sizeof(buf));
			if (pwrite(fd, buf, sizeof(buf), (off_t)at) != sizeof(buf)) {
				perror(argv[first + leg]);
				return 1;
			}
		}
		close(fd);
	}
	image_free(&m);
	return 0;
}
