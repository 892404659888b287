// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutated images, read by inspect, check and import:
 *
 * fuzz [RUNS [FIRST_SEED]]
 *
 * Each run spoils a sound image in a few places, reads it in every way, and restores it. Most
 * damage has matching sums, so that it passes them. Under the sanitizers any misstep aborts. The
 * seed is printed on a failure. Counts of outcomes at the end show that the runs reached their
 * targets.
 *
 * tests/fuzz/image.c includes this file; there libFuzzer chooses instead of chance.
 */
#include <unistd.h>

#include "format/logplace.h"
#include "format/logstripe.h"
#include "format/summary.h"
#include "check.h"
#include "image.h"
#include "import.h"
#include "inspect.h"
#include "opened.h"

#define MAX_UNDO	512
#define FUZZ_LARGE	16	/* one of 16 runs uses the large image */
/* Images of a single or a mirror, and of one with each kind of cache. */
#define COPIED		(2 + IMAGE_CACHES)
#define IMAGES		(COPIED + 2 * IMAGE_SHAPES)	/* each shape dirty and clean */

struct undo {
	unsigned int leg;
	u64 at;
	size_t bytes;
	u8 *old;
};

static struct undo undos[MAX_UNDO];
static unsigned int undo_count;
static struct ctl ctl = { .quiet = true, .json = true };
static unsigned long usable, refused, copied, exits[6];

#ifdef FUZZ_INPUT
static u64 state;	/* position in the input */
static u64 rnd(u64 below);
#else
#include "seeded.h"
#endif

/* Writes bytes, and keeps the old ones. */
static void put(struct image *m, unsigned int leg, u64 at, const void *buf, size_t bytes)
{
	struct undo *u = &undos[undo_count];

	if (undo_count == MAX_UNDO)
		return;
	*u = (struct undo){ leg, at, bytes, malloc(bytes) };
	undo_count++;
	image_read(m, leg, at, u->old, bytes);
	image_write(m, leg, at, buf, bytes);
}

static void restore(struct image *m)
{
	while (undo_count) {
		struct undo *u = &undos[--undo_count];

		image_write(m, u->leg, u->at, u->old, u->bytes);
		free(u->old);
	}
}

/* Puts values that parsers stumble over in place of 1, 4 or 8 bytes. */
static void spoil(u8 *buf, size_t from, size_t to)
{
	static const u64 nasty[] = { 0, 1, 2, 3, 16, 17, 0x7f, 0xff, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xffffffff, 1ull << 56, 1ull << 63, ~0ull, ~0ull - 1 };
	static const size_t sizes[] = { 1, 4, 4, 8, 8 };
	size_t bytes = sizes[rnd(5)], at = from + rnd(to - from - bytes);
	u64 value = rnd(2) ? nasty[rnd(sizeof(nasty) / sizeof(*nasty))] : rnd(~0ull);

	if (rnd(4))
		at -= (at - from) % 4;	/* fields are aligned */
	if (!rnd(4)) {
		memcpy(&value, buf + at, bytes);
		value += rnd(2) ? 1 : ~0ull;
	}
	memcpy(buf + at, &value, bytes);
}

static void seal_superblock(struct kvp_disk_sb *d)
{
	d->csum = 0;
	d->csum = cpu_to_le32(kvp_crc32c(~0u, d, sizeof(*d)));
}

static void mutate_label(struct image *m, unsigned int leg, u64 at)
{
	static struct kvp_disk_sb d;
	unsigned int times = 1 + (unsigned int)rnd(3);

	image_read(m, leg, at, &d, sizeof(d));
	while (times--) {
		/* most fields lie in front; vdevs, legs and roots follow */
		if (rnd(2))
			spoil((u8 *)&d, 16, 1024);
		else
			spoil((u8 *)&d, 16, sizeof(d));
	}
	if (rnd(2))
		d.epoch = cpu_to_le64(100);	/* so that this superblock is the newest */
	if (rnd(8))
		seal_superblock(&d);
	put(m, leg, at, &d, sizeof(d));
}

/* Spoils one label, or the newest one of every leg in the same way. */
static void mutate_superblock(struct image *m)
{
	unsigned int end = (unsigned int)rnd(2), leg;
	u64 lie = state;

	if (rnd(2)) {
		leg = (unsigned int)rnd(m->legs);
		mutate_label(m, leg, kvp_sb_slot_offset(m->blocks, end, 1 + (unsigned int)rnd(4)));
		return;
	}
	for (leg = 0; leg < m->legs; leg++) {
		state = lie;
		mutate_label(m, leg, kvp_sb_slot_offset(m->blocks, end,
						       (unsigned int)m->sb.sequence));
	}
}

/* Sets the sum as kvp_log_seal() does, over the present contents of the buffer. */
static void seal_entry(const struct image *m, u8 *buf, size_t size)
{
	struct kvp_disk_log_hdr *d = (struct kvp_disk_log_hdr *)buf;
	__le64 seed[2] = { cpu_to_le64(m->sb.nonce), d->nonce };
	size_t bytes = KVP_LOG_HDR_SIZE +
		(size_t)le32_to_cpu(d->rec_count) * sizeof(struct kvp_disk_rec);

	d->csum = 0;
	d->csum = cpu_to_le32(kvp_crc32c(kvp_crc32c(~0u, seed, sizeof(seed)), buf,
					 bytes < size ? bytes : size));
}

/* --- false entries --------------------------------------------------------------------- */

struct entry {
	u64 lsn;
	const struct kvp_geometry *g;	/* of the vdev with the entry */
	u8 buf[KVP_BLOCK_SIZE] __attribute__((aligned(8)));	/* its header */
};

static struct kvp_disk_log_hdr *hdr_of(struct entry *e)
{
	return (struct kvp_disk_log_hdr *)e->buf;
}

static struct kvp_disk_rec *rec_of(struct entry *e, u32 i)
{
	return (struct kvp_disk_rec *)(e->buf + KVP_LOG_HDR_SIZE) + i;
}

static u32 records(struct entry *e)
{
	u32 n = le32_to_cpu(hdr_of(e)->rec_count);

	return n < 8 ? n : 8;
}

static u64 log_byte(const struct entry *e, u64 lsn, u32 copy, unsigned int *leg)
{
	struct kvp_place at = kvp_log_place(e->g, lsn, copy);

	*leg = e->g->first_leg + at.leg;
	return at.block << KVP_BLOCK_SHIFT;
}

static void read_entry(const struct image *m, u64 lsn, struct entry *e)
{
	unsigned int leg;
	u64 at;

	e->lsn = lsn;
	e->g = image_log_vdev(m, lsn);
	at = log_byte(e, lsn, 0, &leg);
	image_read(m, leg, at, e->buf, sizeof(e->buf));
}

/*
 * Writes one block to one leg, or to all legs that have it; in full stripes a header has two
 * copies.
 */
static void put_copies(struct image *m, const struct entry *e, u64 lsn, bool header,
		       const void *data, bool all)
{
	bool twice = header && kvp_log_striped(e->g);
	u32 n = twice ? 2 : kvp_log_copies(e->g), only = (u32)rnd(n), copy;
	unsigned int leg;
	u64 at;

	for (copy = 0; copy < n; copy++) {
		at = log_byte(e, twice ? lsn + copy : lsn, twice ? 0 : copy, &leg);
		if (all || copy == only)
			put(m, leg, at, data, KVP_BLOCK_SIZE);
	}
}

/* A used place of the log. */
static u64 some_lsn(const struct image *m)
{
	u64 lsn = m->logged[rnd(m->logged_count)].lsn;

	switch (rnd(6)) {
	case 0:
		return m->lsn;
	case 1:
		return kvp_log_segment_end(&m->sb.vdevs[m->sb.log_vdev], lsn);
	case 2:
		return lsn + rnd(3) - 1;
	case 3:
		return m->sb.log_tail + kvp_log_blocks(&m->sb.vdevs[m->sb.log_vdev]);
	default:
		return lsn;
	}
}

static u64 some_block(const struct image *m)
{
	static const u64 blocks[] = { 0, 1, 2, 3, 40, 511, 512, 600, 611, 700 };

	return rnd(4) ? blocks[rnd(sizeof(blocks) / sizeof(*blocks))] :
			m->sb.pool_blocks - 1 - rnd(3) + rnd(2);
}

/* Changes one field of the header; the checks of it must notice. */
static void lie_in_header(const struct image *m, struct entry *e)
{
	struct kvp_disk_log_hdr *d = hdr_of(e);
	u64 lsn = some_lsn(m);

	switch (rnd(11)) {
	case 0:
		d->prev_lsn = cpu_to_le64(lsn);
		break;
	case 1:
		d->durable = cpu_to_le64(lsn);
		break;
	case 2:
		d->limit_lsn = cpu_to_le64(lsn);
		d->limit_rec = cpu_to_le32((u32)rnd(4));
		break;
	case 3:
		d->open_count = cpu_to_le32((u32)rnd(KVP_MAX_OPEN_INTENTS + 2));
		d->open[rnd(KVP_MAX_OPEN_INTENTS)] = cpu_to_le64(lsn);
		break;
	case 4:
		d->rec_count = cpu_to_le32(le32_to_cpu(d->rec_count) + (u32)rnd(3) - 1);
		break;
	case 5:
		d->hdr_blocks = cpu_to_le32((u32)rnd(KVP_MAX_HDR_BLOCKS + 2));
		break;
	case 6:
		d->blocks = cpu_to_le32((u32)rnd(KVP_MAX_ENTRY_BLOCKS + 2));
		break;
	case 7:
		d->flags ^= cpu_to_le32(KVP_LOG_LAST);
		break;
	case 8:
		d->nonce = cpu_to_le64(rnd(2) ? m->sb.log_nonce : m->sb.redo_nonce);
		break;
	case 9:
		d->epoch = cpu_to_le64(m->sb.epoch + rnd(3) - 1);
		break;
	default:
		spoil(e->buf, 8, KVP_LOG_HDR_SIZE);
	}
}

static void lie_in_record(const struct image *m, struct entry *e)
{
	struct kvp_disk_rec *d = rec_of(e, (u32)rnd(records(e) + 1));
	struct kvp_rec r;

	kvp_rec_decode(d, &r);
	switch (rnd(5)) {
	case 0:
		r.kind = (unsigned int)rnd(KVP_REC_CLEAN + 2);
		r.count = r.kind == KVP_REC_DISCARD ? 1 + (u32)rnd(700) : 1;
		break;
	case 1:
		r.block = some_block(m);
		break;
	case 2:
		r.count = rnd(2) ? (u32)rnd(3) : (u32)(m->sb.pool_blocks - r.block + rnd(2));
		break;
	case 3:
		r.kind = KVP_REC_PARITY;
		r.vdev = (u32)rnd(m->sb.vdev_count + 1);
		r.block = rnd(300);
		break;
	default:
		spoil((u8 *)d, 0, sizeof(*d));
		return;
	}
	kvp_rec_encode(&r, d);
}

static void lie_in_payload(struct image *m, struct entry *e)
{
	u8 data[KVP_BLOCK_SIZE];
	unsigned int leg;
	u64 lsn = e->lsn + 1 + rnd(6), at = log_byte(e, lsn, 0, &leg);

	image_read(m, leg, at, data, sizeof(data));
	spoil(data, 0, sizeof(data));
	put_copies(m, e, lsn, false, data, rnd(2));
}

/* Sets the lengths that follow from the records, and the sums of the payload. */
static void make_fit(const struct image *m, struct entry *e)
{
	struct kvp_disk_log_hdr *d = hdr_of(e);
	struct kvp_log_hdr h = { .lsn = e->lsn, .hdr_blocks = 1 };
	u8 data[KVP_BLOCK_SIZE];
	struct kvp_rec r;
	unsigned int leg;
	u32 i, n = 0;
	u64 at, to;

	for (i = 0; i < records(e); i++) {
		kvp_rec_decode(rec_of(e, i), &r);
		h.payload += kvp_rec_has_payload(&r);
	}
	d->hdr_blocks = cpu_to_le32(1);
	d->blocks = cpu_to_le32(kvp_log_entry_blocks(e->g, 1, h.payload));
	for (i = 0; i < records(e); i++) {
		kvp_rec_decode(rec_of(e, i), &r);
		if (!kvp_rec_has_payload(&r))
			continue;
		at = log_byte(e, e->lsn + kvp_log_payload_at(e->g, &h, n++), 0, &leg);
		image_read(m, leg, at, data, sizeof(data));
		to = r.kind == KVP_REC_PARITY ? kvp_parity_addr(r.block) : r.block;
		r.crc = kvp_block_sum(kvp_sum_seed(m->sb.nonce, r.vdev, m->sb.incompat), to, data);
		kvp_rec_encode(&r, rec_of(e, i));
	}
}

/* Links the following entries to this one again. */
static void make_follow(struct image *m, const struct entry *first)
{
	u32 csum = le32_to_cpu(hdr_of((struct entry *)first)->csum);
	struct entry e;
	unsigned int i;

	for (i = 0; i < m->logged_count; i++) {
		if (m->logged[i].lsn <= first->lsn || m->logged[i].chain)
			continue;
		read_entry(m, m->logged[i].lsn, &e);
		hdr_of(&e)->prev_csum = cpu_to_le32(csum);
		seal_entry(m, e.buf, sizeof(e.buf));
		csum = le32_to_cpu(hdr_of(&e)->csum);
		put_copies(m, &e, e.lsn, true, e.buf, true);
	}
}

/* Puts a copy of the last entry behind the end, as if it were the next one. */
static bool move_behind(const struct image *m, struct entry *e)
{
	struct kvp_disk_log_hdr *d = hdr_of(e);

	if (rnd(8))
		return false;
	e->lsn = rnd(2) ? m->lsn : kvp_log_segment_end(e->g, m->lsn);
	e->g = image_log_vdev(m, e->lsn);
	d->lsn = cpu_to_le64(e->lsn);
	d->prev_lsn = cpu_to_le64(m->prev_lsn);
	d->prev_csum = cpu_to_le32(m->prev_csum);
	return true;
}

static void mutate_log(struct image *m)
{
	const struct image_entry *which = &m->logged[rnd(m->logged_count)];
	unsigned int times = 1 + (unsigned int)rnd(3);
	bool all = rnd(4), behind;
	struct entry e;

	read_entry(m, which->lsn, &e);
	behind = move_behind(m, &e);
	while (times--)
		switch (rnd(4)) {
		case 0:
			lie_in_header(m, &e);
			break;
		case 1:
			lie_in_payload(m, &e);
			break;
		default:
			lie_in_record(m, &e);
		}
	if (rnd(4))
		make_fit(m, &e);
	if (rnd(8))
		seal_entry(m, e.buf, sizeof(e.buf));
	put_copies(m, &e, e.lsn, true, e.buf, all);
	if (all && !behind && !which->chain && rnd(8))
		make_follow(m, &e);
}

/* --- false tables ---------------------------------------------------------------------- */

/* Replaces a root in the newest superblocks of a leg. */
static void put_root(struct image *m, unsigned int leg, u32 root, u64 ptr, bool wins)
{
	static struct kvp_disk_sb d;
	unsigned int end;

	for (end = 0; end < 2; end++) {
		u64 at = kvp_sb_slot_offset(m->blocks, end, (unsigned int)m->sb.sequence);

		image_read(m, leg, at, &d, sizeof(d));
		d.roots[root] = cpu_to_le64(ptr);
		if (wins)
			d.epoch = cpu_to_le64(99);
		seal_superblock(&d);
		put(m, leg, at, &d, sizeof(d));
	}
}

/* A page on each leg that has it. */
static void put_page(struct image *m, const struct kvp_geometry *g, u32 level, u64 index,
		     const void *page)
{
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(g); copy++) {
		struct kvp_place at = kvp_page_place(g, level, index, 1, copy);

		put(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, page, KVP_BLOCK_SIZE);
	}
}

static void read_page(const struct image *m, const struct kvp_geometry *g, u32 level, u64 index,
		      void *page)
{
	struct kvp_place at = kvp_page_place(g, level, index, 1, 0);

	image_read(m, g->first_leg + at.leg, at.block << KVP_BLOCK_SHIFT, page, KVP_BLOCK_SIZE);
}

/*
 * Spoils a page, and seals it, the pages above and the root: on all legs, or on one that is the
 * newest.
 */
static void mutate_table(struct image *m)
{
	static struct kvp_disk_page page;
	unsigned int times = 1 + (unsigned int)rnd(8), leg = (unsigned int)rnd(m->legs);
	u32 v = (u32)rnd(m->cache ? m->cache : m->sb.vdev_count), first = 0, level, i;
	const struct kvp_geometry *g = &m->sb.vdevs[v];
	u64 index = 0, ptr = 0;
	bool all = rnd(4);

	for (i = 0; i < v; i++)
		first += kvp_root_count(&m->sb.vdevs[i]);
	for (level = (u32)rnd(g->levels); level < g->levels; level++) {
		read_page(m, g, level, index, &page);
		if (ptr)
			page.slot[0] = cpu_to_le64(ptr);
		while (times) {
			spoil((u8 *)&page, 0, rnd(2) ? 64 : sizeof(page));
			times--;
		}
		put_page(m, g, level, index, &page);
		ptr = kvp_ptr(kvp_page_sum(kvp_sum_seed(m->sb.nonce, v, m->sb.incompat), level,
					   index, &page), 5, 1, rnd(2));
	}
	if (!rnd(8))
		return;
	for (i = 0; i < m->legs; i++)
		if (all || i == leg)
			put_root(m, i, first, ptr, !all);
}

/* Sets the sum as kvp_summary_seal() does, or leaves it wrong. */
static void mutate_summary(struct image *m)
{
	static struct kvp_disk_summary d;
	const struct kvp_geometry *g = &m->sb.vdevs[m->cache];
	struct kvp_place at;
	unsigned int leg, times = 1 + (unsigned int)rnd(3);

	if (!m->clean)
		return;
	at = kvp_summary_place(g, m->clean, (u32)rnd(kvp_summary_copies(g)));
	leg = g->first_leg + at.leg;
	image_read(m, leg, at.block << KVP_BLOCK_SHIFT, &d, sizeof(d));
	while (times--)
		spoil((u8 *)&d, 8, rnd(2) ? 64 : sizeof(d));
	if (rnd(8))
		kvp_summary_seal(&d, m->sb.nonce, m->sb.legs[leg].uuid);
	put(m, leg, at.block << KVP_BLOCK_SHIFT, &d, sizeof(d));
}

static void mutate_anywhere(struct image *m)
{
	unsigned int leg = (unsigned int)rnd(m->legs);
	const struct kvp_geometry *g = m->sb.vdevs;
	u8 byte = (u8)rnd(256);
	u64 at;

	while (leg >= g->first_leg + g->leg_count)
		g++;
	at = (u64[]){ 0, g->table_start, g->log_start, g->data_start,
		      m->blocks - KVP_LABEL_BLOCKS }[rnd(5)];
	put(m, leg, (at << KVP_BLOCK_SHIFT) + rnd(256 << KVP_BLOCK_SHIFT), &byte, 1);
}

static void mutate(struct image *m)
{
	unsigned int times = 1 + (unsigned int)rnd(3);

	while (times--)
		switch (rnd(7)) {
		case 0:
		case 1:
			mutate_superblock(m);
			break;
		case 2:
		case 6:
			mutate_log(m);
			break;
		case 3:
			mutate_table(m);
			break;
		case 4:
			mutate_summary(m);
			break;
		default:
			mutate_anywhere(m);
		}
}

static void look_at_leg(const struct image *m, unsigned int leg)
{
	struct device d;
	struct label l;
	struct err err;
	json_object *o;

	if (device_open(m->path[leg], true, &d, &err) || label_read(&d, &l, &err))
		abort();
	o = inspect_object(&d, &l, &err);
	if (o && !json_object_to_json_string(o))
		abort();
	json_object_put(o);
	label_free(&l);
	device_close(&d);
}

static u64 touched;

static int touch(void *arg, const struct verify_span *span, struct err *err)
{
	u64 i;

	for (i = 0; span->states && i < span->count; i++)
		if (verify_has(span->states[i]))
			touched += span->data[(i << KVP_BLOCK_SHIFT) + i % KVP_BLOCK_SIZE];
	(void)arg, (void)err;
	return 0;
}

/* As extract does. */
static void look_at_contents(const struct scan *s)
{
	struct verify *v = calloc(1, sizeof(*v));
	struct opened legs;
	struct err err;

	if (!v)
		abort();
	v->contents = touch;
	if (!opened_begin(s, &legs, &err)) {
		if (!opened_fault(&legs, &err))
			copied += !verify_pool(legs.pools, v, &err);
		opened_end(&legs);
	}
	free(v);
}

static void look_at_pool(const struct image *m)
{
	struct import_options options = { .degraded = rnd(2), .accept_fork = rnd(2) };
	const char *paths[IMAGE_MAX_LEGS];
	unsigned int without = rnd(4) ? ~0u : (unsigned int)rnd(m->legs), n = 0;
	struct refusals r;
	char params[4096];
	struct scan s;
	struct err err;
	json_object *o;
	unsigned int i;
	int status;

	for (i = 0; i < m->legs; i++)
		if (i != without || m->legs == 1)
			paths[n++] = m->path[i];
	if (scan_run(paths, n, &s, &err))
		abort();
	for (i = 0; i < s.pool_count; i++) {
		import_check(&s.pools[i], &options, &r);
		json_object_put(import_object(&s.pools[i], &r));
		import_params(&s.pools[i], &options, params, sizeof(params));
	}
	o = check_object(&ctl, &s, &status, &err);
	usable += !!o;
	refused += !o;
	if (o)
		exits[status]++;
	json_object_put(o);
	if (!rnd(3))
		look_at_contents(&s);
	scan_free(&s);
}

static void make_images(struct image *images)
{
	unsigned int i;

	image_standard(&images[0], 2, IMAGE_LARGE);
	image_old_sums = true;
	image_standard(&images[1], 1, IMAGE_SMALL);
	image_old_sums = false;
	image_standard(&images[2], 2, IMAGE_SMALL);
	images[2].entries[STD_POISONED] = 0;
	image_seal(&images[2]);
	for (i = 1; i < IMAGE_CACHES; i++)
		image_standard_cached(&images[2 + i], 2, IMAGE_SMALL, (enum image_cache)i);
	for (i = 0; i < IMAGE_SHAPES; i++) {
		image_old_sums = i % 4 == 1;
		image_standard_shaped(&images[COPIED + 2 * i], &image_shapes[i], IMAGE_SMALL);
		image_standard_shaped(&images[COPIED + 2 * i + 1], &image_shapes[i], IMAGE_SMALL);
		images[COPIED + 2 * i + 1].entries[STD_POISONED] = 0;
		image_stop(&images[COPIED + 2 * i + 1]);
	}
	image_old_sums = false;
}

/* Spoils one of the images, reads it, and restores it. */
static void run_one(struct image *images)
{
	struct image *m = &images[rnd(FUZZ_LARGE) ? 1 + rnd(IMAGES - 1) : 0];

	mutate(m);
	if (rnd(8) < 5)
		look_at_pool(m);
	else
		look_at_leg(m, (unsigned int)rnd(m->legs));
	restore(m);
}

#ifndef FUZZ_INPUT
int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, i;
	unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	static struct image images[IMAGES];

	device_patience = 0;	/* no image hangs, and processes take time */
	print_seed_on_failure("fuzz");
	make_images(images);
	for (i = 0; i < runs; i++) {
		seed(first + i);
		alarm(60);	/* a hanging parser is a fault too */
		run_one(images);
	}
	for (i = 0; i < IMAGES; i++)
		image_free(&images[i]);
	printf("fuzz: %lu runs: checked %lu (sound %lu, degraded %lu, faulted %lu), refused %lu, "
	       "copied %lu\n",
	       runs, usable, exits[0], exits[EXIT_DEGRADED], exits[EXIT_FAULTED], refused, copied);
	return runs >= 1000 && (!exits[EXIT_DONE] || !exits[EXIT_DEGRADED] ||
				!exits[EXIT_FAULTED] || !refused || !copied);
}
#endif
