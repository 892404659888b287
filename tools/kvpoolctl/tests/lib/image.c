// SPDX-License-Identifier: GPL-2.0-only
/* Pools made for tests. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

void image_read(const struct image *m, unsigned int leg, u64 at, void *buf, size_t bytes)
{
	if (pread(m->fd[leg], buf, bytes, (off_t)at) != (ssize_t)bytes)
		die("image_read");
}

void image_write(struct image *m, unsigned int leg, u64 at, const void *buf, size_t bytes)
{
	if (pwrite(m->fd[leg], buf, bytes, (off_t)at) != (ssize_t)bytes)
		die("image_write");
}

void image_flip(struct image *m, unsigned int leg, u64 at, unsigned int bit)
{
	u8 byte;

	image_read(m, leg, at, &byte, 1);
	byte ^= (u8)(1u << bit);
	image_write(m, leg, at, &byte, 1);
}

static void write_all(struct image *m, u64 block, const void *buf, u32 count)
{
	unsigned int i;

	for (i = 0; i < m->legs; i++)
		image_write(m, i, block << KVP_BLOCK_SHIFT, buf,
			    (size_t)count << KVP_BLOCK_SHIFT);
}

static void make_superblock(struct image *m)
{
	struct kvp_sb *sb = &m->sb;
	struct kvp_why why;
	unsigned int i;

	if (kvp_layout(m->legs == 1 ? KVP_VDEV_SINGLE : KVP_VDEV_MIRROR, m->legs, m->blocks, 0,
		       4 << 20, &sb->vdevs[0], &why)) {
		fprintf(stderr, "image: %s\n", why.text);
		exit(1);
	}
	memset(sb->pool_uuid, 0x50, sizeof(sb->pool_uuid));
	sb->epoch = 3;
	sb->write_time = sb->create_time = 1700000000;
	sb->flags = 0;
	sb->nonce = 0x1122334455667788;
	sb->log_nonce = 0x99aabbccddeeff00;
	sb->era = 7;
	sb->checkpoint = 9;
	sb->pool_blocks = sb->vdevs[0].data_blocks;
	sb->vdev_count = 1;
	sb->leg_count = m->legs;
	sb->root_count = (u32)kvp_pages_at(&sb->vdevs[0], sb->vdevs[0].levels - 1);
	snprintf(sb->name, sizeof(sb->name), "tank");
	for (i = 0; i < m->legs; i++) {
		memset(sb->legs[i].uuid, (int)(0xa0 + i), 16);
		sb->legs[i].state = KVP_LEG_IN_SYNC;
		sb->legs[i].size_blocks = m->blocks;
	}
	/* the second time round, and close to the end of a segment */
	sb->log_tail = kvp_log_blocks(&sb->vdevs[0]) + sb->vdevs[0].segment_blocks - 3;
	sb->log_commit = sb->log_tail;
	m->lsn = sb->log_tail;
}

void image_make(struct image *m, unsigned int legs, u64 blocks)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->legs = legs;
	m->blocks = blocks;
	for (i = 0; i < legs; i++) {
		m->fd[i] = memfd_create("leg", MFD_CLOEXEC);
		if (m->fd[i] < 0 || ftruncate(m->fd[i], (off_t)(blocks << KVP_BLOCK_SHIFT)))
			die("image_make");
		snprintf(m->path[i], sizeof(m->path[i]), "/proc/self/fd/%d", m->fd[i]);
	}
	make_superblock(m);
	m->seed = kvp_sum_seed(m->sb.nonce, 0);
	m->entries = calloc(kvp_pages_at(&m->sb.vdevs[0], 0) * KVP_PTRS_PER_PAGE, sizeof(u64));
	if (!m->entries)
		die("image_make");
}

void image_free(struct image *m)
{
	unsigned int i;

	for (i = 0; i < m->legs; i++)
		close(m->fd[i]);
	free(m->entries);
}

u32 image_fill(const struct image *m, u64 block, unsigned int version, void *buf)
{
	u64 *word = buf;
	size_t i;

	for (i = 0; i < KVP_BLOCK_SIZE / sizeof(*word); i++)
		word[i] = block << 32 | (u64)version << 16 | i;
	return kvp_block_sum(m->seed, block, buf);
}

void image_home(struct image *m, u64 block, unsigned int version)
{
	u8 buf[KVP_BLOCK_SIZE];

	image_fill(m, block, version, buf);
	write_all(m, m->sb.vdevs[0].data_start + block, buf, 1);
}

void image_valid(struct image *m, u64 block, unsigned int version)
{
	u8 buf[KVP_BLOCK_SIZE];

	m->entries[block] = kvp_entry(image_fill(m, block, version, buf), 5, KVP_ENTRY_VALID);
	image_home(m, block, version);
}

static void put_record(struct image *m, u8 *buf, struct kvp_log_hdr *h,
		       const struct image_rec *r, unsigned int i)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 crc = image_fill(m, r->block, r->version, data);
	struct kvp_rec rec = {
		.block = r->block, .kind = r->kind, .count = 1, .crc = crc,
	};

	if (r->kind == KVP_REC_DISCARD) {
		rec.count = r->count;
		rec.crc = 0;
	}
	if (kvp_rec_has_payload(&rec))
		memcpy(buf + ((size_t)h->blocks++ << KVP_BLOCK_SHIFT), data, sizeof(data));
	kvp_rec_encode(&rec, (struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE) + i);
}

void image_log(struct image *m, const struct image_rec *recs, unsigned int count)
{
	u8 *buf = calloc(KVP_MAX_ENTRY_BLOCKS, KVP_BLOCK_SIZE);
	struct kvp_log_hdr h = {
		.nonce = m->sb.log_nonce, .epoch = m->sb.epoch, .lsn = m->lsn,
		.prev_lsn = m->prev_lsn, .prev_csum = m->prev_csum, .durable = m->lsn,
		.hdr_blocks = kvp_log_hdr_blocks(count), .rec_count = count,
	};
	unsigned int i;

	if (!buf)
		die("image_log");
	h.blocks = h.hdr_blocks;
	for (i = 0; i < count; i++)
		put_record(m, buf, &h, &recs[i], i);
	kvp_log_seal(buf, &h, m->sb.nonce);
	write_all(m, m->sb.vdevs[0].log_start + kvp_log_pos(&m->sb.vdevs[0], m->lsn), buf,
		  h.blocks);
	m->prev_lsn = m->lsn;
	m->prev_csum = h.csum;
	m->lsn += h.blocks;
	free(buf);
}

void image_skip(struct image *m)
{
	m->lsn = kvp_log_segment_end(&m->sb.vdevs[0], m->lsn);
}

/* Writes page (@level, @index) of @slots; its pointer, null for a page of zeros. */
static u64 write_page(struct image *m, u32 level, u64 index, const u64 *slots)
{
	struct kvp_disk_page page;
	bool used = false;
	size_t i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		page.slot[i] = cpu_to_le64(slots[i]);
		used |= slots[i] != 0;
	}
	if (!used)
		return 0;
	for (i = 0; i < kvp_table_copies(&m->sb.vdevs[0]); i++)
		write_all(m, kvp_page_copy(&m->sb.vdevs[0],
					   kvp_page_block(&m->sb.vdevs[0], level, index, 1), i),
			  &page, 1);
	return kvp_ptr(kvp_page_sum(m->seed, level, index, &page), 5, 1, false);
}

static void write_table(struct image *m)
{
	const struct kvp_geometry *g = &m->sb.vdevs[0];
	u64 *below = m->entries, *here, pages, i;
	u32 level;

	for (level = 0; level < g->levels; level++) {
		pages = kvp_pages_at(g, level);
		here = calloc((pages / KVP_PTRS_PER_PAGE + 1) * KVP_PTRS_PER_PAGE, sizeof(*here));
		if (!here)
			die("write_table");
		for (i = 0; i < pages; i++)
			here[i] = write_page(m, level, i, below + i * KVP_PTRS_PER_PAGE);
		if (below != m->entries)
			free(below);
		below = here;
	}
	memcpy(m->sb.roots, below, m->sb.root_count * sizeof(u64));
	free(below);
}

void image_seal(struct image *m)
{
	struct kvp_disk_sb *raw = malloc(sizeof(*raw));
	unsigned int leg, end;

	if (!raw)
		die("image_seal");
	write_table(m);
	m->sb.sequence++;
	for (leg = 0; leg < m->legs; leg++)
		for (end = 0; end < 2; end++) {
			m->sb.leg_index = leg;
			memcpy(m->sb.leg_uuid, m->sb.legs[leg].uuid, 16);
			m->sb.self_offset = kvp_sb_slot_offset(m->blocks, end,
						(unsigned int)m->sb.sequence);
			kvp_sb_encode(&m->sb, raw);
			image_write(m, leg, m->sb.self_offset, raw, sizeof(*raw));
		}
	free(raw);
}

static void tear(struct image *m, u64 block)
{
	u8 buf[KVP_BLOCK_SIZE], half[KVP_BLOCK_SIZE];

	image_fill(m, block, 1, buf);
	image_fill(m, block, 2, half);
	memcpy(buf, half, sizeof(buf) / 2);
	write_all(m, m->sb.vdevs[0].data_start + block, buf, 1);
}

void image_standard(struct image *m, unsigned int legs, u64 blocks)
{
	static const unsigned int valid[] = STD_VALID, logged[] = STD_LOGGED;
	const struct image_rec first = { KVP_REC_DATA, 0, 0, 9 };
	const struct image_rec recs[] = {
		{ KVP_REC_DATA, logged[0], 0, 2 }, { KVP_REC_DATA, logged[1], 0, 2 },
		{ KVP_REC_DISCARD, STD_DISCARDED, 100, 0 },
	};
	const struct image_rec intents[] = {
		{ KVP_REC_INTENT, STD_INTENT_DONE, 0, 2 }, { KVP_REC_INTENT, STD_INTENT_OLD, 0, 2 },
		{ KVP_REC_INTENT, STD_INTENT_TORN, 0, 2 }, { KVP_REC_DATA, 0, 0, 10 },
	};
	size_t i;

	image_make(m, legs, blocks);
	for (i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		image_valid(m, valid[i], 1);
	m->entries[STD_POISONED] = kvp_entry(0, 5, KVP_ENTRY_POISONED);
	image_log(m, &first, 1);
	image_skip(m);
	image_log(m, recs, sizeof(recs) / sizeof(*recs));
	image_log(m, intents, sizeof(intents) / sizeof(*intents));
	image_home(m, STD_INTENT_DONE, 2);
	tear(m, STD_INTENT_TORN);
	for (i = 0; i < 3; i++)
		image_seal(m);
}
