// SPDX-License-Identifier: GPL-2.0-only
/* Pools for tests. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/logplace.h"
#include "format/logstripe.h"
#include "format/regions.h"
#include "format/summary.h"
#include "image.h"

const struct image_shape image_shapes[IMAGE_SHAPES] = {
	{ { { KVP_VDEV_PARITY1, 3 } }, IMAGE_NO_CACHE },
	{ { { KVP_VDEV_PARITY1, 5 } }, IMAGE_NO_CACHE },
	{ { { KVP_VDEV_PARITY1, 3 }, { KVP_VDEV_MIRROR, 2 }, { KVP_VDEV_SINGLE, 1 } },
	  IMAGE_NO_CACHE },
	{ { { KVP_VDEV_MIRROR, 2 }, { KVP_VDEV_MIRROR, 2 } }, IMAGE_NO_CACHE },
	{ { { KVP_VDEV_PARITY1, 3 } }, IMAGE_TWO_SSDS },
	{ { { KVP_VDEV_PARITY1, 4 }, { KVP_VDEV_MIRROR, 2 } }, IMAGE_THREE_SSDS },
	{ { { KVP_VDEV_SINGLE, 1 }, { KVP_VDEV_PARITY1, 3 } }, IMAGE_ONE_SSD },
	{ { { KVP_VDEV_PARITY1, 4 } }, IMAGE_TWO_SSDS_READ },
};

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

/* Writes @data to the home of @block of the pool, on each leg that has it. */
static void write_home(struct image *m, u64 block, const void *data)
{
	struct kvp_map_place in = kvp_map_find(&m->sb.map, block);
	const struct kvp_geometry *g = &m->sb.vdevs[in.vdev];
	struct kvp_place at = kvp_data_place(g, in.block);
	u32 copies = kvp_is_parity1(g) ? 1 : g->leg_count, i;

	for (i = 0; i < copies; i++)
		image_write(m, g->first_leg + at.leg + i, at.block << KVP_BLOCK_SHIFT, data,
			    KVP_BLOCK_SIZE);
}

static void check_layout(int error, const struct kvp_why *why)
{
	if (!error)
		return;
	fprintf(stderr, "image: %s\n", why->text);
	exit(1);
}

static const unsigned int ssds[IMAGE_CACHES] = {
	[IMAGE_ONE_SSD] = 1, [IMAGE_TWO_SSDS] = 2, [IMAGE_THREE_SSDS] = 3,
	[IMAGE_TWO_SSDS_READ] = 2,
};

/* Adds the vdev of the cache. */
static void add_cache(struct image *m, enum image_cache cache)
{
	struct kvp_geometry *g = &m->sb.vdevs[m->cache];
	struct kvp_why why;

	g->first_leg = m->data_legs;
	check_layout(kvp_layout_cache(cache == IMAGE_THREE_SSDS ? KVP_VDEV_CACHE_PARITY1 :
				      KVP_VDEV_CACHE,
				      m->legs - m->data_legs, m->blocks, g, &why), &why);
	m->sb.vdev_count++;
}

/* Sets the place of the log, and of the clean blocks on the cache. */
static void place_log(struct image *m, enum image_cache cache)
{
	const struct kvp_geometry *g = &m->sb.vdevs[m->cache];
	bool log = cache != IMAGE_TWO_SSDS_READ;

	/* without a cache the log stays on the vdevs that a new pool chooses */
	if (!m->cache)
		return;
	kvp_log_carry(&m->sb, log ? m->cache : 0, 0);
	m->clean = kvp_log_blocks(g);
	/*
	 * Behind what a summary speaks of; with the log elsewhere it is the last segment written
	 * to.
	 */
	m->sb.cache_lsn = log ? 0 : m->clean + g->segment_blocks;
}

/* Lays out the vdevs. */
static void lay_out(struct image *m, const struct image_shape *shape)
{
	struct kvp_sb *sb = &m->sb;
	struct kvp_why why;
	unsigned int first = 0;

	while (sb->vdev_count < IMAGE_MAX_VDEVS && shape->vdevs[sb->vdev_count].kind) {
		struct kvp_geometry *g = &sb->vdevs[sb->vdev_count];

		g->first_leg = first;
		check_layout(kvp_layout(shape->vdevs[sb->vdev_count].kind,
					shape->vdevs[sb->vdev_count].legs, m->blocks, 0, 4 << 20,
					g, &why), &why);
		first += g->leg_count;
		sb->vdev_count++;
	}
	m->cache = shape->cache ? sb->vdev_count : 0;
	if (shape->cache)
		add_cache(m, shape->cache);
	snprintf(why.text, sizeof(why.text), "no regions");
	check_layout(kvp_regions_lay_out(sb), &why);
	place_log(m, shape->cache);
	sb->pool_blocks = kvp_map_blocks(&sb->map);
	sb->root_count = (u32)kvp_sb_roots(sb);
}

bool image_old_sums;

static void make_superblock(struct image *m, const struct image_shape *shape)
{
	const struct kvp_geometry *g;
	struct kvp_sb *sb = &m->sb;
	unsigned int i;

	lay_out(m, shape);
	memset(sb->pool_uuid, 0x50, sizeof(sb->pool_uuid));
	sb->epoch = 3;
	sb->write_time = sb->create_time = 1700000000;
	sb->flags = 0;
	sb->nonce = 0x1122334455667788;
	sb->incompat |= image_old_sums ? 0 : KVP_FEATURES_OF_NEW;
	sb->log_nonce = 0x99aabbccddeeff00;
	sb->era = 7;
	sb->checkpoint = 9;
	sb->leg_count = m->legs;
	snprintf(sb->name, sizeof(sb->name), "tank");
	for (i = 0; i < m->legs; i++) {
		memset(sb->legs[i].uuid, (int)(0xa0 + i), 16);
		sb->legs[i].state = KVP_LEG_IN_SYNC;
		sb->legs[i].size_blocks = m->blocks;
	}
	/* in the log's second round, close to the end of a segment */
	g = &sb->vdevs[sb->log_vdev];
	sb->log_tail = kvp_log_blocks(g) + g->segment_blocks -
		       (kvp_has_data(g) ? 3 : kvp_log_kept(g) + 4);
	sb->log_commit = sb->log_tail;
	m->lsn = sb->log_tail;
}

static struct image_shape copies_shape(unsigned int legs, enum image_cache cache)
{
	return (struct image_shape){ { { legs == 1 ? KVP_VDEV_SINGLE : KVP_VDEV_MIRROR, legs } },
				     cache };
}

void image_make(struct image *m, unsigned int legs, u64 blocks)
{
	image_make_cached(m, legs, blocks, IMAGE_NO_CACHE);
}

void image_make_cached(struct image *m, unsigned int legs, u64 blocks, enum image_cache cache)
{
	const struct image_shape shape = copies_shape(legs, cache);

	image_make_shaped(m, &shape, blocks);
}

void image_make_shaped(struct image *m, const struct image_shape *shape, u64 blocks)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < IMAGE_MAX_VDEVS && shape->vdevs[i].kind; i++)
		m->data_legs += shape->vdevs[i].legs;
	m->legs = m->data_legs + ssds[shape->cache];
	m->blocks = blocks;
	for (i = 0; i < m->legs; i++) {
		m->fd[i] = memfd_create("leg", MFD_CLOEXEC);
		if (m->fd[i] < 0 || ftruncate(m->fd[i], (off_t)(blocks << KVP_BLOCK_SHIFT)))
			die("image_make");
		snprintf(m->path[i], sizeof(m->path[i]), "/proc/self/fd/%d", m->fd[i]);
	}
	make_superblock(m, shape);
	m->seed = kvp_sum_seed(m->sb.nonce, 0, m->sb.incompat);
	m->entries = calloc(m->sb.pool_blocks, sizeof(*m->entries));
	m->home = calloc(m->sb.pool_blocks, 1);
	m->now = calloc(m->sb.pool_blocks, 1);
	if (!m->entries || !m->home || !m->now)
		die("image_make");
}

void image_free(struct image *m)
{
	unsigned int i;

	for (i = 0; i < m->legs; i++)
		close(m->fd[i]);
	free(m->entries);
	free(m->home);
	free(m->now);
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
	write_home(m, block, buf);
}

void image_valid(struct image *m, u64 block, unsigned int version)
{
	u8 buf[KVP_BLOCK_SIZE];

	m->entries[block] = kvp_entry(image_fill(m, block, version, buf), 5, KVP_ENTRY_VALID);
	m->home[block] = m->now[block] = (u8)version;
	image_home(m, block, version);
}

const struct kvp_geometry *image_log_vdev(const struct image *m, u64 lsn)
{
	struct kvp_log_track track;

	kvp_log_track(&m->sb, &track);
	return &m->sb.vdevs[kvp_log_turn(&track, lsn)];
}

u64 image_log_at(const struct image *m, u64 lsn, unsigned int *leg)
{
	const struct kvp_geometry *g = image_log_vdev(m, lsn);
	struct kvp_place at = kvp_log_place(g, lsn, 0);

	if (leg)
		*leg = g->first_leg + at.leg;
	return at.block << KVP_BLOCK_SHIFT;
}

/* Writes one block of the log of @g to each leg that has it. */
static void put_lsn(struct image *m, const struct kvp_geometry *g, u64 lsn, const void *block)
{
	u32 copy;

	for (copy = 0; copy < kvp_log_copies(g); copy++) {
		struct kvp_place at = kvp_log_place(g, lsn, copy);

		image_write(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, block,
			    KVP_BLOCK_SIZE);
	}
}

/* The parity of @row of vdev @v, for the versions @versions of its blocks. */
static void row_parity(const struct image *m, u32 v, u64 row, const u8 *versions, u64 *sum)
{
	const struct kvp_geometry *g = &m->sb.vdevs[v];
	u64 data[KVP_BLOCK_SIZE / sizeof(u64)], block;
	u32 piece, w;

	memset(sum, 0, KVP_BLOCK_SIZE);
	for (piece = 1; piece < g->leg_count; piece++) {
		block = kvp_map_block(&m->sb.map, v, kvp_row_block(g, row, piece));
		if (block >= m->sb.pool_blocks || !versions[block])
			continue;
		image_fill(m, block, versions[block], data);
		for (w = 0; w < KVP_BLOCK_SIZE / sizeof(u64); w++)
			sum[w] ^= data[w];
	}
}

static u32 parity_sum(const struct image *m, u32 v, u64 row, const void *data)
{
	return kvp_block_sum(kvp_sum_seed(m->sb.nonce, v, m->sb.incompat), kvp_parity_addr(row),
			     data);
}

/* Makes the record without its sum, and its payload if it has one. */
static struct kvp_rec make_record(struct image *m, const struct image_rec *r, void *data)
{
	struct kvp_rec rec = { .block = r->block, .kind = r->kind, .count = 1 };
	struct kvp_map_place at = kvp_map_find(&m->sb.map, r->block);

	switch (r->kind) {
	case KVP_REC_DISCARD:
		rec.count = r->count;
		memset(m->now + r->block, 0, r->count);
		break;
	case KVP_REC_PARITY:
		rec.vdev = at.vdev;
		rec.block = kvp_row_of(&m->sb.vdevs[at.vdev], at.block);
		row_parity(m, rec.vdev, rec.block, m->now, data);
		rec.crc = parity_sum(m, rec.vdev, rec.block, data);
		break;
	default:
		rec.crc = image_fill(m, r->block, r->version, data);
		if (r->kind != KVP_REC_CLEAN)
			m->now[r->block] = (u8)r->version;
	}
	return rec;
}

static void put_record(struct image *m, u8 *hdr, u8 *payload, struct kvp_log_hdr *h,
		       const struct image_rec *r, unsigned int i)
{
	u8 data[KVP_BLOCK_SIZE] __attribute__((aligned(8)));
	struct kvp_rec rec = make_record(m, r, data);

	if (kvp_rec_has_payload(&rec))
		memcpy(payload + ((size_t)h->payload++ << KVP_BLOCK_SHIFT), data, sizeof(data));
	kvp_rec_encode(&rec, (struct kvp_disk_rec *)(hdr + KVP_LOG_HDR_SIZE) + i);
}

/* Adds parity of rows, in a log that has it. */
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
				sum[w] ^= ((const u64 *)(payload +
							 ((size_t)index << KVP_BLOCK_SHIFT)))[w];
		}
		put_lsn(m, g, h->lsn + at, sum);
	}
}

static void note_entry(struct image *m, u64 lsn, bool chain)
{
	if (m->logged_count < IMAGE_MAX_LOGGED)
		m->logged[m->logged_count++] = (struct image_entry){ lsn, chain };
}

/*
 * Writes an entry at the place in @h to each leg that has it, and sets the fields of @h that follow
 * from the records.
 */
static void put_entry(struct image *m, struct kvp_log_hdr *h, const struct image_rec *recs,
		      unsigned int count)
{
	const struct kvp_geometry *g = image_log_vdev(m, h->lsn);
	u8 *hdr = calloc(KVP_MAX_ENTRY_BLOCKS, KVP_BLOCK_SIZE);
	u8 *payload = calloc(KVP_MAX_ENTRY_BLOCKS, KVP_BLOCK_SIZE);
	u32 i, copies = kvp_log_striped(g) ? 2 : 1;

	if (!hdr || !payload)
		die("image_log");
	for (i = 0; i < count; i++)
		put_record(m, hdr, payload, h, &recs[i], i);
	h->blocks = kvp_log_entry_blocks(g, h->hdr_blocks, h->payload);
	kvp_log_seal(hdr, h, m->sb.nonce);
	for (i = 0; i < copies * h->hdr_blocks; i++)
		put_lsn(m, g, h->lsn + i, hdr + ((size_t)(i / copies) << KVP_BLOCK_SHIFT));
	for (i = 0; i < h->payload; i++)
		put_lsn(m, g, h->lsn + kvp_log_payload_at(g, h, i),
			payload + ((size_t)i << KVP_BLOCK_SHIFT));
	if (kvp_log_striped(g))
		put_parity(m, g, h, payload);
	free(hdr);
	free(payload);
}

void image_log(struct image *m, const struct image_rec *recs, unsigned int count)
{
	struct kvp_log_hdr h = {
		.nonce = m->sb.log_nonce, .epoch = m->sb.epoch, .lsn = m->lsn,
		.prev_lsn = m->prev_lsn, .prev_csum = m->prev_csum, .durable = m->lsn,
		.hdr_blocks = kvp_log_hdr_blocks(count), .rec_count = count,
		.limit_lsn = m->lsn,
	};

	put_entry(m, &h, recs, count);
	note_entry(m, h.lsn, false);
	m->prev_lsn = m->lsn;
	m->prev_csum = h.csum;
	m->lsn += h.blocks;
}

void image_chain(struct image *m, u64 block)
{
	const struct image_rec rec = { KVP_REC_PARITY, block, 0, 0 };
	struct kvp_log_hdr h = {
		.nonce = m->sb.log_nonce + 1, .epoch = m->sb.epoch, .hdr_blocks = 1, .rec_count = 1,
		.lsn = kvp_log_segment_end(&m->sb.vdevs[m->sb.log_vdev], m->lsn),
		.durable = m->lsn, .limit_lsn = m->lsn, .flags = KVP_LOG_LAST,
	};

	m->sb.redo_nonce = h.nonce;
	m->sb.redo_lsn = h.lsn;
	m->sb.redo_state = KVP_REDO_COMPLETE;
	put_entry(m, &h, &rec, 1);
	note_entry(m, h.lsn, true);
}

void image_skip(struct image *m)
{
	m->lsn = kvp_log_segment_end(&m->sb.vdevs[m->sb.log_vdev], m->lsn);
}

void image_clean(struct image *m, u64 block)
{
	const struct kvp_geometry *g = &m->sb.vdevs[m->cache];
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

/* Writes page (@level, @index) of vdev @v. Returns its pointer, null for a page of zeros. */
static u64 write_page(struct image *m, u32 v, u32 level, u64 index, const u64 *slots)
{
	const struct kvp_geometry *g = &m->sb.vdevs[v];
	struct kvp_disk_page page;
	bool used = false;
	size_t i;
	u32 copy;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		page.slot[i] = cpu_to_le64(slots[i]);
		used |= slots[i] != 0;
	}
	if (!used)
		return 0;
	for (copy = 0; copy < kvp_page_copies(g); copy++) {
		struct kvp_place at = kvp_page_place(g, level, index, 1, copy);

		image_write(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, &page,
			    sizeof(page));
	}
	return kvp_ptr(kvp_page_sum(kvp_sum_seed(m->sb.nonce, v, m->sb.incompat), level, index,
				    &page), 5, 1, false);
}

/* Writes home the parity of each row with a valid block, and sets its words of the table. */
static void write_parity(struct image *m, u32 v, u64 *words)
{
	const struct kvp_geometry *g = &m->sb.vdevs[v];
	u64 sum[KVP_BLOCK_SIZE / sizeof(u64)], row, block;
	bool used;
	u32 piece;

	for (row = 0; kvp_is_parity1(g) && row < kvp_row_count(g); row++) {
		struct kvp_place at = kvp_parity_place(g, row);

		for (piece = 1, used = false; piece < g->leg_count; piece++) {
			block = kvp_map_block(&m->sb.map, v, kvp_row_block(g, row, piece));
			used |= block < m->sb.pool_blocks && m->home[block];
		}
		if (!used)
			continue;
		row_parity(m, v, row, m->home, sum);
		image_write(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, sum,
			    sizeof(sum));
		words[kvp_parity_index(g, row)] = kvp_entry(parity_sum(m, v, row, sum), 5,
							    KVP_ENTRY_VALID);
	}
}

/* All words of the leaves of vdev @v. */
static u64 *leaf_words(struct image *m, u32 v)
{
	const struct kvp_geometry *g = &m->sb.vdevs[v];
	u64 *words = calloc(kvp_pages_at(g, 0) * KVP_PTRS_PER_PAGE, sizeof(*words)), own, block;

	if (!words)
		die("write_table");
	for (own = 0; own < g->data_blocks; own++) {
		block = kvp_map_block(&m->sb.map, v, own);
		if (block < m->sb.pool_blocks && m->entries[block])
			words[kvp_entry_index(g, own)] = m->entries[block];
	}
	write_parity(m, v, words);
	return words;
}

/* Writes the table of vdev @v; its roots go to @roots. */
static void write_table(struct image *m, u32 v, u64 *roots)
{
	const struct kvp_geometry *g = &m->sb.vdevs[v];
	u64 *below = leaf_words(m, v), *here, pages, i;
	u32 level;

	for (level = 0; level < g->levels; level++) {
		pages = kvp_pages_at(g, level);
		here = calloc((pages / KVP_PTRS_PER_PAGE + 1) * KVP_PTRS_PER_PAGE, sizeof(*here));
		if (!here)
			die("write_table");
		for (i = 0; i < pages; i++)
			here[i] = write_page(m, v, level, i, below + i * KVP_PTRS_PER_PAGE);
		free(below);
		below = here;
	}
	memcpy(roots, below, kvp_root_count(g) * sizeof(u64));
	free(below);
}

void image_seal(struct image *m)
{
	struct kvp_disk_sb *raw = malloc(sizeof(*raw));
	unsigned int leg, end;
	u32 v, root = 0;

	if (!raw)
		die("image_seal");
	for (v = 0; v < m->sb.vdev_count; v++)
		if (kvp_has_data(&m->sb.vdevs[v])) {
			write_table(m, v, m->sb.roots + root);
			root += kvp_root_count(&m->sb.vdevs[v]);
		}
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
	write_home(m, block, buf);
}

void image_standard(struct image *m, unsigned int legs, u64 blocks)
{
	image_standard_cached(m, legs, blocks, IMAGE_NO_CACHE);
}

void image_standard_cached(struct image *m, unsigned int legs, u64 blocks, enum image_cache cache)
{
	const struct image_shape shape = copies_shape(legs, cache);

	image_standard_shaped(m, &shape, blocks);
}

/* A block of a parity1 that the log has a record of; ~0: none. */
static u64 in_row(const struct image *m)
{
	u64 block;

	for (block = 0; block < m->sb.pool_blocks; block++)
		if (m->now[block] &&
		    kvp_is_parity1(&m->sb.vdevs[kvp_map_find(&m->sb.map, block).vdev]))
			return block;
	return ~0ull;
}

/* Appends three entries with all kinds of records; with rows also a fourth entry and a chain. */
static void standard_log(struct image *m)
{
	static const unsigned int logged[] = STD_LOGGED;
	const struct image_rec first = { KVP_REC_DATA, 0, 0, 9 };
	const struct image_rec recs[] = {
		{ KVP_REC_DATA, logged[0], 0, 2 }, { KVP_REC_DATA, logged[1], 0, 2 },
		{ KVP_REC_DISCARD, STD_DISCARDED, 100, 0 },
	};
	const struct image_rec intents[] = {
		{ KVP_REC_INTENT, STD_INTENT_DONE, 0, 2 }, { KVP_REC_INTENT, STD_INTENT_OLD, 0, 2 },
		{ KVP_REC_INTENT, STD_INTENT_TORN, 0, 2 }, { KVP_REC_DATA, 0, 0, 10 },
	};
	struct image_rec parity[] = { { KVP_REC_PARITY, 0, 0, 0 }, { KVP_REC_CLEAN, 511, 0, 1 } };
	u64 row;

	image_log(m, &first, 1);
	image_skip(m);
	image_log(m, recs, sizeof(recs) / sizeof(*recs));
	row = in_row(m);
	parity[0].block = row;
	if (row != ~0ull)
		image_log(m, parity, 2);
	image_log(m, intents, sizeof(intents) / sizeof(*intents));
	if (row != ~0ull)
		image_chain(m, row);
}

void image_standard_shaped(struct image *m, const struct image_shape *shape, u64 blocks)
{
	static const unsigned int valid[] = STD_VALID;
	size_t i;

	image_make_shaped(m, shape, blocks);
	if (m->cache)
		image_clean(m, STD_CLEAN);
	for (i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		image_valid(m, valid[i], 1);
	m->entries[STD_POISONED] = kvp_entry(0, 5, KVP_ENTRY_POISONED);
	standard_log(m);
	image_home(m, STD_INTENT_DONE, 2);
	tear(m, STD_INTENT_TORN);
	for (i = 0; i < 3; i++)
		image_seal(m);
}

void image_stop(struct image *m)
{
	m->sb.flags |= KVP_SB_CLEAN;
	m->sb.redo_nonce = m->sb.redo_lsn = 0;
	m->sb.redo_state = KVP_REDO_UNKNOWN;
	m->sb.log_tail = m->sb.log_commit = m->lsn;
	m->sb.log_prev_lsn = m->prev_lsn;
	m->sb.log_prev_csum = m->prev_csum;
	image_seal(m);
}
