// SPDX-License-Identifier: GPL-2.0-only
/* Writes the standard image to files, one a leg: mkimage [-s] FILE... (-s: without poison) */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "image.h"

int main(int argc, char **argv)
{
	bool sound = argc > 1 && !strcmp(argv[1], "-s");
	int first = sound ? 2 : 1, leg, fd;
	static u8 buf[1 << 20];
	struct image m;
	u64 at;

	if (argc - first < 1 || argc - first > IMAGE_MAX_LEGS)
		return 2;
	image_standard(&m, (unsigned int)(argc - first), IMAGE_SMALL);
	if (sound) {
		m.entries[STD_POISONED] = 0;
		image_seal(&m);
	}
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
