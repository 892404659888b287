// SPDX-License-Identifier: GPL-2.0-only
/* Entries and summaries that lie. */
#include <string.h>

#include "forge.h"
#include "format/logplace.h"
#include "format/logstripe.h"
#include "format/summary.h"

#define MAX_FOUND	64
#define MAX_HDR_RECORDS	((KVP_BLOCK_SIZE - KVP_LOG_HDR_SIZE) / sizeof(struct kvp_disk_rec))

struct forger {
	struct rng *rng;
	struct image *img;
	const struct kvp_sb *sb;
	u64 lsn[MAX_FOUND];	/* of entries with a header of one block */
	u32 nr;
};

struct entry {
	u64 lsn;
	const struct kvp_geometry *g;
	u8 buf[KVP_BLOCK_SIZE] __aligned(8);
};

static struct kvp_disk_log_hdr *hdr_of(struct entry *e)
{
	return (struct kvp_disk_log_hdr *)e->buf;
}

static struct kvp_disk_rec *rec_of(struct entry *e, u32 i)
{
	return (struct kvp_disk_rec *)(e->buf + KVP_LOG_HDR_SIZE) + i;
}

/* As many records as fit, whatever the header says. */
static u32 records(struct entry *e)
{
	return min(le32_to_cpu(hdr_of(e)->rec_count), (u32)MAX_HDR_RECORDS);
}

static void put_in_buf(const struct forger *f, u64 lsn, struct entry *e)
{
	struct kvp_log_track track;
	struct kvp_place at;

	kvp_log_track(f->sb, &track);
	e->lsn = lsn;
	e->g = &f->sb->vdevs[kvp_log_turn(&track, lsn)];
	at = kvp_log_place(e->g, lsn, 0);
	image_read(&f->img[e->g->first_leg + at.leg], at.block, e->buf);
}

/* On all legs that have it, or on one; in full stripes a header is there twice. */
static void write_copies(const struct forger *f, const struct entry *e, u64 lsn, const void *data,
			 bool header, bool all)
{
	bool twice = header && kvp_log_striped(e->g);
	u32 n = twice ? 2 : kvp_log_copies(e->g), only = rng_below(f->rng, n), i;

	for (i = 0; i < n; i++) {
		struct kvp_place at = kvp_log_place(e->g, twice ? lsn + i : lsn, twice ? 0 : i);

		if (all || i == only)
			image_write_data(&f->img[e->g->first_leg + at.leg], at.block, data);
	}
}

static void find_from(struct forger *f, u64 lsn)
{
	const struct kvp_geometry *g = &f->sb->vdevs[f->sb->log_vdev];
	u64 end = lsn + kvp_log_blocks(g), epoch;
	struct entry e;

	while (lsn < end && f->nr < MAX_FOUND) {
		put_in_buf(f, lsn, &e);
		if (kvp_log_epoch(e.buf, 1, f->sb->nonce, &epoch) &&
		    le64_to_cpu(hdr_of(&e)->lsn) == lsn) {
			f->lsn[f->nr++] = lsn;
			lsn += le32_to_cpu(hdr_of(&e)->blocks);
		} else {
			lsn = kvp_log_segment_end(g, lsn);
		}
	}
}

static u64 some_lsn(const struct forger *f, u64 lsn)
{
	switch (rng_below(f->rng, 5)) {
	case 0:
		return lsn + rng_below(f->rng, 3) - 1;
	case 1:
		return kvp_log_segment_end(&f->sb->vdevs[f->sb->log_vdev], lsn);
	case 2:
		return rng_next(f->rng);
	default:
		return f->lsn[rng_below(f->rng, f->nr)];
	}
}

static void lie_in_header(const struct forger *f, struct entry *e)
{
	struct kvp_disk_log_hdr *d = hdr_of(e);
	u64 lsn = some_lsn(f, e->lsn);

	switch (rng_below(f->rng, 9)) {
	case 0:
		d->prev_lsn = cpu_to_le64(lsn);
		break;
	case 1:
		d->durable = cpu_to_le64(lsn);
		break;
	case 2:
		d->limit_lsn = cpu_to_le64(lsn);
		d->limit_rec = cpu_to_le32(rng_below(f->rng, 4));
		break;
	case 3:
		d->open_count = cpu_to_le32(rng_below(f->rng, KVP_MAX_OPEN_INTENTS + 2));
		d->open[rng_below(f->rng, KVP_MAX_OPEN_INTENTS)] = cpu_to_le64(lsn);
		break;
	case 4:
		d->rec_count = cpu_to_le32(le32_to_cpu(d->rec_count) + rng_below(f->rng, 3) - 1);
		break;
	case 5:
		d->blocks = cpu_to_le32(rng_below(f->rng, KVP_MAX_ENTRY_BLOCKS + 2));
		break;
	case 6:
		d->flags ^= cpu_to_le32(KVP_LOG_LAST);
		break;
	case 7:
		d->epoch = cpu_to_le64(le64_to_cpu(d->epoch) + rng_below(f->rng, 3) - 1);
		break;
	default:
		d->nonce = cpu_to_le64(rng_below(f->rng, 2) ? f->sb->log_nonce : f->sb->redo_nonce);
	}
}

static void lie_in_record(const struct forger *f, struct entry *e)
{
	u32 n = records(e);
	struct kvp_disk_rec *d = rec_of(e, rng_below(f->rng, n ?: 1));
	struct kvp_rec r;

	kvp_rec_decode(d, &r);
	switch (rng_below(f->rng, 4)) {
	case 0:
		r.kind = rng_below(f->rng, KVP_REC_CLEAN + 2);
		r.count = r.kind == KVP_REC_DISCARD ? 1 + rng_below(f->rng, f->sb->pool_blocks) : 1;
		break;
	case 1:
		r.block = rng_below(f->rng, 2) ? rng_below(f->rng, f->sb->pool_blocks + 2) :
						 1ull << rng_below(f->rng, KVP_REC_ADDR_BITS);
		break;
	case 2:
		r.kind = KVP_REC_PARITY;
		r.vdev = rng_below(f->rng, f->sb->vdev_count + 1);
		r.block = rng_below(f->rng, 300);
		break;
	default:
		r.crc ^= 1u << rng_below(f->rng, 32);
	}
	kvp_rec_encode(&r, d);
}

static void rot_in_payload(const struct forger *f, const struct entry *e)
{
	u64 lsn = e->lsn + 1 + rng_below(f->rng, 6);
	struct kvp_place at = kvp_log_place(e->g, lsn, 0);
	u8 data[KVP_BLOCK_SIZE];

	image_read(&f->img[e->g->first_leg + at.leg], at.block, data);
	data[rng_below(f->rng, sizeof(data))] ^= 1u << rng_below(f->rng, 8);
	write_copies(f, e, lsn, data, false, rng_below(f->rng, 2));
}

/* The length that follows from the records. */
static void make_fit(struct entry *e)
{
	struct kvp_disk_log_hdr *d = hdr_of(e);
	u32 payload = 0, i;
	struct kvp_rec r;

	for (i = 0; i < records(e); i++) {
		kvp_rec_decode(rec_of(e, i), &r);
		payload += kvp_rec_has_payload(&r);
	}
	d->hdr_blocks = cpu_to_le32(kvp_log_hdr_blocks(records(e)));
	d->blocks = cpu_to_le32(kvp_log_entry_blocks(e->g, kvp_log_hdr_blocks(records(e)),
						     payload));
}

/* Computes the sum of kvp_log_seal() over the present contents. */
static u32 seal(const struct forger *f, struct entry *e)
{
	struct kvp_disk_log_hdr *d = hdr_of(e);
	__le64 seed[2] = { cpu_to_le64(f->sb->nonce), d->nonce };
	u32 sum;

	d->csum = 0;
	sum = kvp_crc32c(kvp_crc32c(~0u, seed, sizeof(seed)), e->buf,
			 KVP_LOG_HDR_SIZE + records(e) * sizeof(struct kvp_disk_rec));
	d->csum = cpu_to_le32(sum);
	return sum;
}

static void make_follow(const struct forger *f, u32 i, u32 csum)
{
	struct entry e;

	while (++i < f->nr) {
		put_in_buf(f, f->lsn[i], &e);
		hdr_of(&e)->prev_csum = cpu_to_le32(csum);
		csum = seal(f, &e);
		write_copies(f, &e, e.lsn, e.buf, true, true);
	}
}

bool forge_log(struct rng *rng, struct image *img, const struct kvp_sb *sb)
{
	struct forger f = { .rng = rng, .img = img, .sb = sb };
	u32 times = 1 + rng_below(rng, 3), i, csum;
	bool all = rng_below(rng, 4);
	struct entry e;

	find_from(&f, sb->log_tail);
	if (sb->redo_nonce)
		find_from(&f, sb->redo_lsn);
	if (!f.nr)
		return false;
	i = rng_below(rng, f.nr);
	put_in_buf(&f, f.lsn[i], &e);
	while (times--)
		switch (rng_below(rng, 4)) {
		case 0:
			rot_in_payload(&f, &e);
			break;
		case 1:
			lie_in_header(&f, &e);
			break;
		default:
			lie_in_record(&f, &e);
		}
	if (rng_below(rng, 4))
		make_fit(&e);
	csum = seal(&f, &e);
	write_copies(&f, &e, e.lsn, e.buf, true, all);
	if (all && rng_below(rng, 8))
		make_follow(&f, i, csum);
	return true;
}

/* --- summaries --------------------------------------------------------------------------- */

static void lie_in_summary(struct rng *rng, struct kvp_disk_summary *d, const struct kvp_sb *sb)
{
	u32 n = 1 + rng_below(rng, 8), at;
	struct kvp_summary_rec r;

	while (n--) {
		at = rng_below(rng, rng_below(rng, 2) ? 16 : KVP_SUMMARY_RECORDS);
		switch (rng_below(rng, 4)) {
		case 0:
			d->era = cpu_to_le32(rng_next(rng) >> rng_below(rng, 64));
			break;
		case 1:
			d->recs[at].addr ^= cpu_to_le64(1ull << rng_below(rng, 64));
			break;
		case 2:
			d->recs[at] = d->recs[rng_below(rng, KVP_SUMMARY_RECORDS)];
			break;
		default:
			r = (struct kvp_summary_rec){ rng_below(rng, sb->pool_blocks + 2),
						      rng_next(rng),
						      !rng_below(rng, 4) };
			kvp_summary_set(d, at, &r);
		}
	}
}

bool forge_summary(struct rng *rng, struct image *img, const struct kvp_sb *sb, u32 cache)
{
	const struct kvp_geometry *g = &sb->vdevs[cache];
	u32 first = rng_below(rng, g->segments), copy = rng_below(rng, kvp_summary_copies(g)), i;
	struct kvp_disk_summary d;

	for (i = 0; i < g->segments; i++) {
		u64 lsn = (u64)((first + i) % g->segments) * g->segment_blocks;
		struct kvp_place at = kvp_summary_place(g, lsn, copy);
		u32 leg = g->first_leg + at.leg;

		image_read(&img[leg], at.block, &d);
		image_read(&img[leg], at.block + 1, (u8 *)&d + KVP_BLOCK_SIZE);
		if (le32_to_cpu(d.magic) != KVP_SUMMARY_MAGIC)
			continue;
		lie_in_summary(rng, &d, sb);
		kvp_summary_seal(&d, sb->nonce, sb->legs[leg].uuid);
		image_write_data(&img[leg], at.block, &d);
		image_write_data(&img[leg], at.block + 1, (u8 *)&d + KVP_BLOCK_SIZE);
		return true;
	}
	return false;
}
