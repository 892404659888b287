// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the standard image to files, one a leg: mkimage [OPTION] FILE...
 * -s: without poison
 * -m: not imported unless named (autoimport=0)
 * -x: exported; -d: destroyed; -o: the second leg is out
 * -r: with a feature that readers may ignore; -i: with one that no program may ignore; -I: the same
 * in the newest superblock only; -v: of a newer version
 * -u: another pool of the same name
 * -h: run by another host, which did not stop it; -H: which did
 * -1, -2, -3: without poison, with a cache of that many SSDs, which are the last files; three SSDs
 * are a parity1
 * -b: with the protective MBR in block 0; -B: the same, of an exported pool
 * -l: with a cache of two SSDs, and the log on the legs
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/spare.h"
#include "format/tunables.h"
#include "image.h"
#include "pmbr.h"

static enum image_cache cache_of(char option)
{
	switch (option) {
	case '1':
		return IMAGE_ONE_SSD;
	case '2':
		return IMAGE_TWO_SSDS;
	case '3':
		return IMAGE_THREE_SSDS;
	case 'l':
		return IMAGE_TWO_SSDS_READ;
	}
	return IMAGE_NO_CACHE;
}

static unsigned int ssds_of(enum image_cache cache)
{
	return cache == IMAGE_TWO_SSDS_READ ? 2 : (unsigned int)cache;
}

static void apply(struct image *m, char option)
{
	unsigned int i;

	switch (option) {
	case 's':
	case 'p':
	case '1':
	case '2':
	case '3':
	case 'l':
		m->entries[STD_POISONED] = 0;
		break;
	case 'm':
		m->sb.tunable_mask |= 1u << KVP_T_AUTOIMPORT;
		m->sb.tunables[KVP_T_AUTOIMPORT] = 0;
		break;
	case 'B':
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
	case 'o':
		m->entries[STD_POISONED] = 0;
		m->sb.legs[1].state = KVP_LEG_STALE;
		break;
	}
	/* so that no older superblock differs */
	for (i = 0; i < KVP_SB_RING; i++)
		image_seal(m);
	if (option != 'I')
		return;
	m->sb.incompat |= 1ull << 40;
	image_seal(m);
}

/* All superblocks say that they are of the next version. The sum is where it was. */
static void make_newer(struct image *m)
{
	static struct kvp_disk_sb d;
	unsigned int leg, end, slot;

	for (leg = 0; leg < m->legs; leg++)
		for (end = 0; end < 2; end++)
			for (slot = 0; slot < KVP_SB_RING; slot++) {
				u64 at = kvp_sb_slot_offset(m->blocks, end, slot);

				image_read(m, leg, at, &d, sizeof(d));
				d.version = cpu_to_le32(KVP_FORMAT_VERSION + 1);
				d.csum = 0;
				d.csum = cpu_to_le32(kvp_crc32c(~0u, &d, sizeof(d)));
				image_write(m, leg, at, &d, sizeof(d));
			}
}

/* Makes the file @path, of the size of a leg, a spare of the pool. */
static int make_spare(const struct image *m, const char *path)
{
	struct kvp_spare s = { .size_blocks = m->blocks, .create_time = 1700000000 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), end;
	static struct kvp_disk_sb d;

	memcpy(s.pool_uuid, m->sb.pool_uuid, sizeof(s.pool_uuid));
	memset(s.uuid, 0x77, sizeof(s.uuid));
	strcpy(s.name, m->sb.name);
	if (ftruncate(fd, (off_t)(m->blocks << KVP_BLOCK_SHIFT)))
		return 1;
	for (end = 0; end < 2; end++) {
		kvp_spare_encode(&s, kvp_spare_offset(m->blocks, (unsigned int)end), &d);
		if (pwrite(fd, &d, sizeof(d),
			   (off_t)kvp_spare_offset(m->blocks, (unsigned int)end)) !=
		    sizeof(d))
			return 1;
	}
	return close(fd);
}

int main(int argc, char **argv)
{
	bool option = argc > 1 && *argv[1] == '-';
	int first = option ? 2 : 1, leg, fd;
	enum image_cache cache = option ? cache_of(argv[1][1]) : IMAGE_NO_CACHE;
	int data = argc - first - (int)ssds_of(cache);
	static u8 buf[1 << 20];
	bool protect = option && strchr("bB", argv[1][1]);
	const char *spare = NULL;
	struct image m;
	u64 at;

	if (option && argv[1][1] == 'p') {
		spare = argv[--argc];
		data--;
	}
	if (data < 1 || argc - first > IMAGE_MAX_LEGS)
		return 2;
	image_standard_cached(&m, (unsigned int)data, IMAGE_SMALL, cache);
	if (option)
		apply(&m, argv[1][1]);
	if (option && argv[1][1] == 'v')
		make_newer(&m);
	for (leg = 0; leg < argc - first; leg++) {
		fd = open(argv[first + leg], O_RDWR | O_CREAT | O_TRUNC, 0600);
		for (at = 0; at < m.blocks << KVP_BLOCK_SHIFT; at += sizeof(buf)) {
			image_read(&m, (unsigned int)leg, at, buf, sizeof(buf));
			if (pwrite(fd, buf, sizeof(buf), (off_t)at) != sizeof(buf)) {
				perror(argv[first + leg]);
				return 1;
			}
		}
		if (protect && pmbr_write(fd) != 1)
			return 1;
		close(fd);
	}
	if (spare && make_spare(&m, spare))
		return 1;
	image_free(&m);
	return 0;
}
