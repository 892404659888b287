// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks at one leg of a pool and damages it, with no more than the format's
 * header. All I/O is direct.
 *
 *	leg label DEV			key=value of the newest superblock
 *	leg page DEV BLOCK		leg block of the live leaf page of BLOCK
 *	leg garble DEV BLOCK [N] [SEED]	random bytes over N leg blocks
 *	leg zero DEV BLOCK [N]
 *	leg sum DEV BLOCK N		a digest of those leg blocks
 *	leg save DEV FILE		metadata and data, as they are
 *	leg restore DEV FILE		only what differs
 *	leg mutate DEV SEED label|table|log|any
 *		A few random bytes where it hurts; prints what was done.
 *	leg forge DEV SEED
 *		A field of the newest superblock changed, with a right checksum,
 *		or one of a log entry's header, likewise.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/fs.h>
#include <unistd.h>
#include "../../include/kvpool_format.h"

#define die(...) (fprintf(stderr, "leg: " __VA_ARGS__), fputc('\n', stderr), exit(1))

static uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	static uint32_t table[256];
	const uint8_t *p = data;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
			table[i] = c;
		}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 255];
	return crc;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static struct leg {
	const char *path;
	int fd;
	uint64_t blocks;
	struct kvp_disk_sb *sb;		/* the newest */
	struct kvp_disk_vdev *vdev;
	uint64_t table_start, table_blocks, log_start, log_blocks, data_start, data_blocks;
} leg;
static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng = mix(rng);
	return rng % below;
}

static void *buffer(size_t blocks)
{
	void *p;

	if (posix_memalign(&p, KVP_BLOCK_SIZE, blocks * KVP_BLOCK_SIZE))
		die("out of memory");
	memset(p, 0, blocks * KVP_BLOCK_SIZE);
	return p;
}

static void get(uint64_t block, void *buf, size_t n)
{
	if (pread(leg.fd, buf, n * KVP_BLOCK_SIZE, block * KVP_BLOCK_SIZE) !=
	    (ssize_t)(n * KVP_BLOCK_SIZE))
		die("%s: read of block %llu: %s", leg.path, (unsigned long long)block, strerror(errno));
}

static void put(uint64_t block, const void *buf, size_t n)
{
	if (pwrite(leg.fd, buf, n * KVP_BLOCK_SIZE, block * KVP_BLOCK_SIZE) !=
	    (ssize_t)(n * KVP_BLOCK_SIZE))
		die("%s: write of block %llu: %s", leg.path, (unsigned long long)block, strerror(errno));
}

static uint64_t ring_block(unsigned int end, unsigned int slot)
{
	return (end ? leg.blocks - KVP_LABEL_BLOCKS : 0) + KVP_SB_FIRST_BLOCK + slot *
		KVP_SB_BLOCKS;
}

static uint32_t sb_sum(struct kvp_disk_sb *sb)
{
	uint32_t kept = sb->csum, sum;

	sb->csum = 0;
	sum = crc32c(~0u, sb, KVP_SB_SIZE);
	sb->csum = kept;
	return sum;
}

static bool sb_valid(struct kvp_disk_sb *sb)
{
	return !memcmp(sb->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN) &&
		le32toh(sb->csum) == sb_sum(sb);
}

static bool newer(const struct kvp_disk_sb *a, const struct kvp_disk_sb *b)
{
	if (a->epoch != b->epoch)
		return le64toh(a->epoch) > le64toh(b->epoch);
	return le64toh(a->sequence) > le64toh(b->sequence);
}

static void open_leg(const char *path, bool write)
{
	uint64_t bytes;

	leg.path = path;
	leg.fd = open(path, (write ? O_RDWR | O_DSYNC : O_RDONLY) | O_DIRECT);
	if (leg.fd < 0)
		die("%s: %s", path, strerror(errno));
	if (ioctl(leg.fd, BLKGETSIZE64, &bytes))
		die("%s: size: %s", path, strerror(errno));
	leg.blocks = bytes / KVP_BLOCK_SIZE;
}

static void find_label(void)
{
	struct kvp_disk_sb *sb = buffer(KVP_SB_BLOCKS);

	leg.sb = NULL;
	for (unsigned int end = 0; end < 2; end++)
		for (unsigned int slot = 0; slot < KVP_SB_RING; slot++) {
			get(ring_block(end, slot), sb, KVP_SB_BLOCKS);
			if (!sb_valid(sb) || (leg.sb && !newer(sb, leg.sb)))
				continue;
			if (!leg.sb)
				leg.sb = buffer(KVP_SB_BLOCKS);
			memcpy(leg.sb, sb, KVP_SB_SIZE);
		}
	if (!leg.sb)
		die("%s: no valid label", leg.path);
	leg.vdev = &leg.sb->vdevs[0];
	leg.table_start = le64toh(leg.vdev->table_start);
	leg.log_start = le64toh(leg.vdev->log_start);
	leg.log_blocks = (uint64_t)le32toh(leg.vdev->log_segments) *
		le32toh(leg.vdev->segment_blocks);
	leg.table_blocks = leg.log_start - leg.table_start;
	leg.data_start = le64toh(leg.vdev->data_start);
	leg.data_blocks = le64toh(leg.vdev->data_blocks);
}

static void label(void)
{
#define SHOW(name, value) printf(name "=%llu\n", (unsigned long long)(value))
	SHOW("epoch", le64toh(leg.sb->epoch));
	SHOW("sequence", le64toh(leg.sb->sequence));
	SHOW("slot", le64toh(leg.sb->sequence) % KVP_SB_RING);
	SHOW("leg_index", le32toh(leg.sb->leg_index));
	SHOW("flags", le32toh(leg.sb->flags));
	SHOW("blocks", leg.blocks);
	SHOW("table_start", leg.table_start);
	SHOW("log_start", leg.log_start);
	SHOW("log_blocks", leg.log_blocks);
	SHOW("data_start", leg.data_start);
	SHOW("data_blocks", leg.data_blocks);
	SHOW("table_levels", le32toh(leg.vdev->table_levels));
	SHOW("log_tail", le64toh(leg.sb->log_tail));
	for (unsigned int i = 0; i < le32toh(leg.sb->leg_count); i++)
		printf("leg%u.state=%u\n", i, le32toh(leg.sb->legs[i].state));
	printf("uuid=");
	for (int i = 0; i < 16; i++)
		printf("%02x", leg.sb->leg_uuid[i]);
	printf("\n");
}

/* Slots 0 of sixteen pages come first, then their slots 1. */
static uint64_t leaf_page(uint64_t block)
{
	uint64_t index = block >> KVP_PTRS_SHIFT, ptr, slot;

	if (le32toh(leg.vdev->table_levels) != 1)
		die("only for tables of one level");
	ptr = le64toh(leg.sb->roots[index]);
	if (!(uint32_t)ptr)
		die("no page: unwritten");
	slot = ptr >> KVP_PTR_SLOT_SHIFT & 1;
	return leg.table_start + index / KVP_SLOT_GROUP * (2 * KVP_SLOT_GROUP) +
	       slot * KVP_SLOT_GROUP + index % KVP_SLOT_GROUP;
}

static void garble(uint64_t block, uint64_t n, bool zeros)
{
	uint64_t *buf = buffer(1);

	for (; n--; block++) {
		for (int i = 0; !zeros && i < 512; i++)
			buf[i] = rnd(UINT64_MAX);
		put(block, buf, 1);
	}
}

static void sum(uint64_t block, uint64_t n)
{
	void *buf = buffer(1);
	uint32_t crc = ~0u;

	for (; n--; block++) {
		get(block, buf, 1);
		crc = crc32c(crc, buf, KVP_BLOCK_SIZE);
	}
	printf("%08x\n", crc);
}

/* FILE is sparse and in RAM. */
static void save(const char *path)
{
	static const char zeros[KVP_BLOCK_SIZE];
	FILE *f = fopen(path, "w");
	size_t chunk = 256;
	char *buf = buffer(chunk);

	if (!f)
		die("%s: %s", path, strerror(errno));
	for (uint64_t b = 0; b < leg.blocks; b += chunk) {
		size_t n = leg.blocks - b < chunk ? leg.blocks - b : chunk;

		get(b, buf, n);
		for (size_t i = 0; i < n; i++)
			if (memcmp(buf + i * KVP_BLOCK_SIZE, zeros, KVP_BLOCK_SIZE) &&
			    (fseeko(f, (b + i) * KVP_BLOCK_SIZE, SEEK_SET) ||
			     fwrite(buf + i * KVP_BLOCK_SIZE, KVP_BLOCK_SIZE, 1, f) != 1))
				die("%s: %s", path, strerror(errno));
	}
	if (fflush(f) || ftruncate(fileno(f), leg.blocks * KVP_BLOCK_SIZE) || fclose(f))
		die("%s: %s", path, strerror(errno));
}

static void restore(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t chunk = 256;
	char *want = buffer(chunk), *have = buffer(chunk);

	if (!f)
		die("%s: %s", path, strerror(errno));
	for (uint64_t b = 0; b < leg.blocks; b += chunk) {
		size_t n = leg.blocks - b < chunk ? leg.blocks - b : chunk;

		if (fread(want, KVP_BLOCK_SIZE, n, f) != n)
			die("%s: too short", path);
		get(b, have, n);
		for (size_t i = 0; i < n; i++)
			if (memcmp(want + i * KVP_BLOCK_SIZE, have + i * KVP_BLOCK_SIZE,
				   KVP_BLOCK_SIZE))
				put(b + i, want + i * KVP_BLOCK_SIZE, 1);
	}
	fclose(f);
}

/*
 * A block that is not all zeros, if one can be found. With a forged label the log may be anywhere:
 * then any block.
 */
static uint64_t used_block(uint64_t first, uint64_t n, uint64_t *buf)
{
	uint64_t b;

	if (!n || first >= leg.blocks || n > leg.blocks - first) {
		first = 0;
		n = leg.blocks;
	}
	b = first;
	for (int tries = 0; tries < 200; tries++) {
		b = first + rnd(n);
		get(b, buf, 1);
		for (int i = 0; i < 512; i++)
			if (buf[i])
				return b;
	}
	return b;
}

static void mutate(const char *where)
{
	static const char *const places[] = { "label", "table", "log" };
	uint8_t *buf = buffer(1);
	unsigned int times = 1 + rnd(4);
	uint64_t b;

	while (times--) {
		const char *place = strcmp(where, "any") ? where : places[rnd(3)];
		unsigned int bytes = 1 + rnd(rnd(8) ? 4 : 4096);

		if (!strcmp(place, "label"))
			b = used_block(rnd(2) ? 0 : leg.blocks - KVP_LABEL_BLOCKS, KVP_LABEL_BLOCKS,
				       (uint64_t *)buf);
		else if (!strcmp(place, "table"))
			b = used_block(leg.table_start, leg.table_blocks, (uint64_t *)buf);
		else
			b = used_block(leg.log_start, leg.log_blocks, (uint64_t *)buf);
		printf("%s %s block %llu:", leg.path, place, (unsigned long long)b);
		for (unsigned int i = 0; i < bytes; i++) {
			/* headers are at the start of a block */
			unsigned int at = rnd(2) ? rnd(512) : rnd(KVP_BLOCK_SIZE);

			if (i < 4)
				printf(" %u", at);
			buf[at] ^= 1 + rnd(255);
		}
		printf("%s\n", bytes > 4 ? " ..." : "");
		put(b, buf, 1);
	}
}

/* Small, huge, off by one, random. */
static uint64_t odd_value(uint64_t old)
{
	static const uint64_t odd[] = { 0, 1, 2, 255, 4096, 0x7fffffff, 0x80000000, 0xffffffff,
					0x100000000, INT64_MAX, UINT64_MAX };

	switch (rnd(4)) {
	case 0: return odd[rnd(sizeof(odd) / sizeof(*odd))];
	case 1: return old + 1;
	case 2: return old - 1;
	default: return old ^ 1ull << rnd(64);
	}
}

static void forge_label(void)
{
	/* offset and size of the fields to be forged */
	static const struct { size_t at; int size; const char *name; } fields[] = {
#define F(f) { offsetof(struct kvp_disk_sb, f), sizeof(((struct kvp_disk_sb *)0)->f), #f }
		F(version), F(compat), F(ro_compat), F(incompat), F(self_offset), F(epoch),
		F(sequence), F(leg_index), F(flags), F(nonce), F(log_nonce), F(log_tail),
		F(log_prev_lsn), F(log_prev_csum), F(era), F(log_commit), F(checkpoint),
		F(written_blocks), F(poisoned_blocks), F(pool_blocks), F(vdev_count), F(leg_count),
		F(fork_count), F(root_count), F(tunable_mask), F(tunables[3]), F(scrub_cursor),
		F(scrub_state), F(event_seq), F(vdevs[0].kind), F(vdevs[0].first_leg),
		F(vdevs[0].leg_count), F(vdevs[0].table_levels), F(vdevs[0].table_start),
		F(vdevs[0].log_start), F(vdevs[0].log_segments), F(vdevs[0].segment_blocks),
		F(vdevs[0].data_start), F(vdevs[0].data_blocks), F(vdevs[0].chunk_blocks),
		F(legs[0].state), F(legs[1].state), F(legs[0].in_sync_era), F(legs[0].size_blocks),
		F(legs[1].uuid[0]), F(roots[0]), F(roots[1]), F(tunables[0]), F(forks[0]),
		F(log_commit), F(log_tail), F(roots[2]), F(pool_blocks), F(vdevs[1].kind),
		F(trim_state), F(vdevs[0].trim[1]), F(vdevs[2].trim[1]),
	};
	unsigned int i = rnd(sizeof(fields) / sizeof(*fields));
	char *p = (char *)leg.sb + fields[i].at;
	uint64_t old = 0, v;

	memcpy(&old, p, fields[i].size);
	v = odd_value(old);
	memcpy(p, &v, fields[i].size);
	leg.sb->csum = htole32(sb_sum(leg.sb));
	printf("%s forged label: %s %#llx -> %#llx\n", leg.path, fields[i].name,
	       (unsigned long long)old, (unsigned long long)v);
	for (unsigned int end = 0; end < 2; end++) {
		uint64_t b = ring_block(end, le64toh(leg.sb->sequence) % KVP_SB_RING);

		if (fields[i].at != offsetof(struct kvp_disk_sb, self_offset))
			leg.sb->self_offset = htole64(b * KVP_BLOCK_SIZE);
		leg.sb->csum = htole32(sb_sum(leg.sb));
		put(b, leg.sb, KVP_SB_BLOCKS);
	}
}

static uint32_t hdr_sum(struct kvp_disk_log_hdr *h)
{
	uint64_t nonces[2] = { leg.sb->nonce, h->nonce };
	uint32_t kept = h->csum, c;

	h->csum = 0;
	c = crc32c(~0u, nonces, sizeof(nonces));
	c = crc32c(c, h, KVP_LOG_HDR_SIZE + le32toh(h->rec_count) * sizeof(struct kvp_disk_rec));
	h->csum = kept;
	return c;
}

/* Forges an entry if its sum can be computed; otherwise one more random change. */
static bool forge_entry(void)
{
	static const struct { size_t at; int size; const char *name; } fields[] = {
#define E(f) { offsetof(struct kvp_disk_log_hdr, f), sizeof(((struct kvp_disk_log_hdr *)0)->f), #f }
		E(epoch), E(lsn), E(prev_lsn), E(prev_csum), E(blocks), E(durable), E(hdr_blocks),
		E(rec_count), E(open_count), E(flags), E(open[0]),
		{ KVP_LOG_HDR_SIZE, 8, "record.addr" }, { KVP_LOG_HDR_SIZE + 8, 4, "record.count" },
		{ KVP_LOG_HDR_SIZE + 12, 4, "record.crc" },
	};
	char *buf = buffer(KVP_MAX_ENTRY_BLOCKS);
	struct kvp_disk_log_hdr *h = (void *)buf;
	uint64_t found[64], count = 0;

	for (uint64_t b = leg.log_start; b < leg.log_start + leg.log_blocks && count < 64; b++) {
		get(b, buf, 1);
		if (le32toh(h->magic) == KVP_LOG_MAGIC && h->nonce == leg.sb->log_nonce)
			found[count++] = b;
	}
	if (!count)
		return false;
	uint64_t b = found[rnd(count)], room = leg.log_start + leg.log_blocks - b;

	get(b, buf, room < 16 ? room : 16);
	unsigned int i = rnd(sizeof(fields) / sizeof(*fields));
	uint64_t old = 0, v;
	bool right = le32toh(h->rec_count) < 3000 && le32toh(h->csum) == hdr_sum(h);

	memcpy(&old, buf + fields[i].at, fields[i].size);
	v = odd_value(old);
	memcpy(buf + fields[i].at, &v, fields[i].size);
	if (le32toh(h->rec_count) < 3000)
		h->csum = htole32(hdr_sum(h));
	printf("%s forged entry at %llu (%s): %s %#llx -> %#llx\n", leg.path, (unsigned long long)b,
	       right ? "sum known" : "sum guessed", fields[i].name, (unsigned long long)old,
	       (unsigned long long)v);
	put(b, buf, room < 16 ? room : 16);
	return true;
}

static uint64_t arg(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 2 ? argv[1] : "";
	bool write = !strcmp(cmd, "garble") || !strcmp(cmd, "zero") || !strcmp(cmd, "restore") ||
		     !strcmp(cmd, "mutate") || !strcmp(cmd, "forge");

	if (argc < 3)
		die("leg COMMAND DEV ...");
	open_leg(argv[2], write);
	if (!strcmp(cmd, "garble") || !strcmp(cmd, "zero")) {
		rng = arg(argc, argv, 5, 1);
		garble(arg(argc, argv, 3, 0), arg(argc, argv, 4, 1), *cmd == 'z');
		return 0;
	}
	if (!strcmp(cmd, "sum")) {
		sum(arg(argc, argv, 3, 0), arg(argc, argv, 4, 1));
		return 0;
	}
	if (!strcmp(cmd, "save") || !strcmp(cmd, "restore")) {
		if (argc < 4)
			die("%s DEV FILE", cmd);
		*cmd == 's' ? save(argv[3]) : restore(argv[3]);
		return 0;
	}
	find_label();
	if (!strcmp(cmd, "label")) {
		label();
	} else if (!strcmp(cmd, "page")) {
		printf("%llu\n", (unsigned long long)leaf_page(arg(argc, argv, 3, 0)));
	} else if (!strcmp(cmd, "mutate")) {
		rng = arg(argc, argv, 3, 1);
		mutate(argc > 4 ? argv[4] : "any");
	} else if (!strcmp(cmd, "forge")) {
		rng = arg(argc, argv, 3, 1);
		if (rnd(3) || !forge_entry())
			forge_label();
	} else {
		die("unknown command '%s'", cmd);
	}
	return 0;
}
