// SPDX-License-Identifier: GPL-2.0-only
/* Pools made for tests. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/logplace.h"
#include "format/logstripe.h"
#include "format/regions.h"
#include "format/summary.h"
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

	for (i = 0; i < m->data_legs; i++)
		image_write(m, i, block << KVP_BLOCK_SHIFT, buf,
			    (size_t)count << KVP_BLOCK_SHIFT);
}

static void check_layout(int error, const struct kvp_why *why)
{
	if (!error)
		return;
	fprintf(stderr, "image: %s\n", why->text);
	exit(1);
}

/* The vdev of the cache, and where the log is. */
static void add_cache(struct image *m, enum image_cache cache)
{
	struct kvp_geometry *g = &m->sb.vdevs[1];
	bool log = cache != IMAGE_TWO_SSDS_READ;
	struct kvp_why why;

	g->first_leg = m->data_legs;
	check_layout(kvp_layout_cache(cache == IMAGE_THREE_SSDS ? KVP_VDEV_CACHE_PARITY1 : KVP_VDEV_CACHE,
				      m->legs - m->data_legs, m->blocks, g, &why), &why);
	m->sb.vdev_count = 2;
	snprintf(why.text, sizeof(why.text), "no regions");
	check_layout(kvp_regions_lay_out(&m->sb), &why);
	kvp_log_carry(&m->sb, log, 0);
	m->clean = kvp_log_blocks(g);
	/* Behind what a summary speaks of; with the log elsewhere it is the last segment written to. */
	m->sb.cache_lsn = log ? 0 : m->clean + g->segment_blocks;
}

static void make_superblock(struct image *m, enum image_cache cache)
{
	const struct kvp_geometry *g;
	struct kvp_sb *sb = &m->sb;
	struct kvp_why why;
	unsigned int i;

	check_layout(kvp_layout(m->data_legs == 1 ? KVP_VDEV_SINGLE : KVP_VDEV_MIRROR, m->data_legs,
				m->blocks, 0, 4 << 20, &sb->vdevs[0], &why), &why);
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
	if (cache)
		add_cache(m, cache);
	/* the second time round, and close to the end of a segment */
	g = &sb->vdevs[sb->log_vdev];
	sb->log_tail = kvp_log_blocks(g) + g->segment_blocks - (sb->log_vdev ? kvp_log_kept(g) + 4 : 3);
	sb->log_commit = sb->log_tail;
	m->lsn = sb->log_tail;
}

void image_make(struct image *m, unsigned int legs, u64 blocks)
{
	image_make_cached(m, legs, blocks, IMAGE_NO_CACHE);
}

void image_make_cached(struct image *m, unsigned int legs, u64 blocks, enum image_cache cache)
{
	static const unsigned int ssds[IMAGE_CACHES] = {
		[IMAGE_ONE_SSD] = 1, [IMAGE_TWO_SSDS] = 2, [IMAGE_THREE_SSDS] = 3, [IMAGE_TWO_SSDS_READ] = 2,
	};
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->data_legs = legs;
	m->legs = legs + ssds[cache];
	m->blocks = blocks;
	for (i = 0; i < m->legs; i++) {
		m->fd[i] = memfd_create("leg", MFD_CLOEXEC);
		if (m->fd[i] < 0 || ftruncate(m->fd[i], (off_t)(blocks << KVP_BLOCK_SHIFT)))
			die("image_make");
		snprintf(m->path[i], sizeof(m->path[i]), "/proc/self/fd/%d", m->fd[i]);
	}
	make_superblock(m, cache);
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

u64 image_log_at(const struct image *m, u64 lsn, unsigned int *leg)
{
	const struct kvp_geometry *g = &m->sb.vdevs[m->sb.log_vdev];
	struct kvp_place at = kvp_log_place(g, lsn, 0);

	if (leg)
		*leg = g->first_leg + at.leg;
	return at.block << KVP_BLOCK_SHIFT;
}

/* One block of the log of @g, on each leg that has it. */
static void put_lsn(struct image *m, const struct kvp_geometry *g, u64 lsn, const void *block)
{
	u32 copy;

	for (copy = 0; copy < kvp_log_copies(g); copy++) {
		struct kvp_place at = kvp_log_place(g, lsn, copy);

		image_write(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, block, KVP_BLOCK_SIZE);
	}
}

static void put_record(struct image *m, u8 *hdr, u8 *payload, struct kvp_log_hdr *h,
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
		memcpy(payload + ((size_t)h->payload++ << KVP_BLOCK_SHIFT), data, sizeof(data));
	kvp_rec_encode(&rec, (struct kvp_disk_rec *)(hdr + KVP_LOG_HDR_SIZE) + i);
}

/* Rows of parity, of a log that has them. */
static void put_parity(struct image *m, const struct kvp_geometry *g, const struct kvp_log_hdr *h,
		       const u8 *payload)
{
	const struct kvp_log_stripe s = { g->leg_count, h->hdr_blocks, h->payload };
	u32 at, end, i, index, w;

	for (at = 2 * h->hdr_blocks; at < h->blocks; at = end) {
		u64 sum[KVP_BLOCK_SIZE / sizeof(u64)] = { 0 };

		kvp_log_stripe_row(&s, at, &end);
		for (i = at + 1; i < end; i++) {
			kvp_log_stripe_part(&s, i, &index);
			for (w = 0; w < KVP_BLOCK_SIZE / sizeof(u64); w++)
				sum[w] ^= ((const u64 *)(payload + ((size_t)index << KVP_BLOCK_SHIFT)))[w];
		}
		put_lsn(m, g, h->lsn + at, sum);
	}
}

void image_log(struct image *m, const struct image_rec *recs, unsigned int count)
{
	const struct kvp_geometry *g = &m->sb.vdevs[m->sb.log_vdev];
	u8 *hdr = calloc(KVP_MAX_ENTRY_BLOCKS, KVP_BLOCK_SIZE);
	u8 *payload = calloc(KVP_MAX_ENTRY_BLOCKS, KVP_BLOCK_SIZE);
	struct kvp_log_hdr h = {
		.nonce = m->sb.log_nonce, .epoch = m->sb.epoch, .lsn = m->lsn,
		.prev_lsn = m->prev_lsn, .prev_csum = m->prev_csum, .durable = m->lsn,
		.hdr_blocks = kvp_log_hdr_blocks(count), .rec_count = count,
	};
	u32 i, copies = kvp_log_striped(g) ? 2 : 1;

	if (!hdr || !payload)
		die("image_log");
	for (i = 0; i < count; i++)
		put_record(m, hdr, payload, &h, &recs[i], i);
	h.blocks = kvp_log_entry_blocks(g, h.hdr_blocks, h.payload);
	kvp_log_seal(hdr, &h, m->sb.nonce);
	for (i = 0; i < copies * h.hdr_blocks; i++)
		put_lsn(m, g, m->lsn + i, hdr + ((size_t)(i / copies) << KVP_BLOCK_SHIFT));
	for (i = 0; i < h.payload; i++)
		put_lsn(m, g, m->lsn + kvp_log_payload_at(g, &h, i), payload + ((size_t)i << KVP_BLOCK_SHIFT));
	if (kvp_log_striped(g))
		put_parity(m, g, &h, payload);
	m->prev_lsn = m->lsn;
	m->prev_csum = h.csum;
	m->lsn += h.blocks;
	free(hdr);
	free(payload);
}

void image_clean(struct image *m, u64 block)
{
	const struct kvp_geometry *g = &m->sb.vdevs[1];
	struct kvp_disk_summary *d = malloc(sizeof(*d));
	struct kvp_summary_rec r = { .block = block };
	u8 buf[KVP_BLOCK_SIZE];
	u32 copy;

	if (!d)
		die("image_clean");
	r.crc = image_fill(m, block, 1, buf);
	put_lsn(m, g, m->clean, buf);
	kvp_summary_begin(d, m->clean, m->sb.era);
	kvp_summary_set(d, 0, &r);
	for (copy = 0; copy < kvp_summary_copies(g); copy++) {
		struct kvp_place at = kvp_summary_place(g, m->clean, copy);

		kvp_summary_seal(d, m->sb.nonce, m->sb.legs[g->first_leg + at.leg].uuid);
		image_write(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, d, sizeof(*d));
	}
	free(d);
}

void image_skip(struct image *m)
{
	m->lsn = kvp_log_segment_end(&m->sb.vdevs[m->sb.log_vdev], m->lsn);
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
	image_standard_cached(m, legs, blocks, IMAGE_NO_CACHE);
}

void image_standard_cached(struct image *m, unsigned int legs, u64 blocks, enum image_cache cache)
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

	image_make_cached(m, legs, blocks, cache);
	if (cache)
		image_clean(m, STD_CLEAN);
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
