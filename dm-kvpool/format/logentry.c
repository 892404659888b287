// SPDX-License-Identifier: GPL-2.0-only
/*
 * Log entry codec: header and records. The reader of the payload verifies
 * it, with each record's sum.
 */
#include "format/logstripe.h"

void kvp_rec_encode(const struct kvp_rec *r, struct kvp_disk_rec *d)
{
	d->addr = cpu_to_le64(r->block | (u64)r->vdev << KVP_REC_VDEV_SHIFT |
			      (u64)r->kind << KVP_REC_KIND_SHIFT);
	d->count = cpu_to_le32(r->count);
	d->crc = cpu_to_le32(r->crc);
}

void kvp_rec_decode(const struct kvp_disk_rec *d, struct kvp_rec *r)
{
	u64 addr = le64_to_cpu(d->addr);

	/*
	 * The bits between address and kind are reserved. They stay in, so that the range check
	 * refuses them.
	 */
	r->block = addr & ((1ull << KVP_REC_KIND_SHIFT) - 1);
	r->kind = (unsigned int)(addr >> KVP_REC_KIND_SHIFT);
	r->vdev = 0;
	if (r->kind == KVP_REC_PARITY) {
		r->vdev = (u32)(r->block >> KVP_REC_VDEV_SHIFT);
		r->block &= (1ull << KVP_REC_ADDR_BITS) - 1;
	}
	r->count = le32_to_cpu(d->count);
	r->crc = le32_to_cpu(d->crc);
}

static u32 hdr_bytes(u32 records)
{
	return KVP_LOG_HDR_SIZE + records * (u32)sizeof(struct kvp_disk_rec);
}

static u32 hdr_sum(const struct kvp_disk_log_hdr *d, u64 pool_nonce, u64 log_nonce, u32 bytes)
{
	size_t at = offsetof(struct kvp_disk_log_hdr, csum), after = at + sizeof(d->csum);
	__le64 seed[2] = { cpu_to_le64(pool_nonce), cpu_to_le64(log_nonce) };
	const __le32 zero = 0;
	u32 crc = kvp_crc32c(~0u, seed, sizeof(seed));

	crc = kvp_crc32c(crc, d, at);
	crc = kvp_crc32c(crc, &zero, sizeof(zero));
	return kvp_crc32c(crc, (const u8 *)d + after, bytes - after);
}

u32 kvp_log_seal_over(void *buf, struct kvp_log_hdr *h, u64 pool_nonce, u32 written)
{
	u32 i, bytes = hdr_bytes(h->rec_count);
	struct kvp_disk_log_hdr *d = buf;

	memset(d, 0, sizeof(*d));
	d->magic = cpu_to_le32(KVP_LOG_MAGIC);
	d->nonce = cpu_to_le64(h->nonce);
	d->epoch = cpu_to_le64(h->epoch);
	d->lsn = cpu_to_le64(kvp_lsn_nr(h->lsn));
	d->prev_lsn = cpu_to_le64(kvp_lsn_nr(h->prev_lsn));
	d->prev_csum = cpu_to_le32(h->prev_csum);
	d->blocks = cpu_to_le32(h->blocks);
	d->durable = cpu_to_le64(kvp_lsn_nr(h->durable));
	d->hdr_blocks = cpu_to_le32(h->hdr_blocks);
	d->rec_count = cpu_to_le32(h->rec_count);
	d->open_count = cpu_to_le32(h->open_count);
	d->flags = cpu_to_le32(h->flags);
	for (i = 0; i < h->open_count; i++)
		d->open[i] = cpu_to_le64(kvp_lsn_nr(h->open[i]));
	d->write_time = cpu_to_le64(h->write_time);
	d->limit_lsn = cpu_to_le64(kvp_lsn_nr(h->limit_lsn));
	d->limit_rec = cpu_to_le32(h->limit_rec);
	if (written > bytes)
		memset((u8 *)buf + bytes, 0, written - bytes);
	h->csum = hdr_sum(d, pool_nonce, h->nonce, bytes);
	d->csum = cpu_to_le32(h->csum);
	return bytes;
}

void kvp_log_seal(void *buf, struct kvp_log_hdr *h, u64 pool_nonce)
{
	kvp_log_seal_over(buf, h, pool_nonce, h->hdr_blocks << KVP_BLOCK_SHIFT);
}

static const char *rec_fault(const struct kvp_rec *r, u64 pool_blocks)
{
	if (r->kind == KVP_REC_PARITY)
		return r->count == 1 ? NULL : "count of a record";
	if (r->block >= pool_blocks || !r->count || r->count > pool_blocks - r->block)
		return "range of a record";
	switch (r->kind) {
	case KVP_REC_DATA:
	case KVP_REC_INTENT:
	case KVP_REC_CLEAN:
		return r->count == 1 ? NULL : "count of a record";
	case KVP_REC_DISCARD:
		return NULL;
	default:
		return "kind of a record";
	}
}

static const char *records_fault(const struct kvp_geometry *g, const void *buf,
				 struct kvp_log_hdr *h,
				 u64 pool_blocks)
{
	const struct kvp_disk_rec *d =
		(const struct kvp_disk_rec *)((const u8 *)buf + KVP_LOG_HDR_SIZE);
	u32 i;

	h->payload = 0;
	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;
		const char *fault;

		kvp_rec_decode(&d[i], &r);
		fault = rec_fault(&r, pool_blocks);
		if (fault)
			return fault;
		h->payload += kvp_rec_has_payload(&r);
	}
	return h->blocks == kvp_log_entry_blocks(g, h->hdr_blocks, h->payload) ? NULL : "length";
}

static void decode_hdr(const struct kvp_disk_log_hdr *d, struct kvp_log_hdr *h)
{
	u32 i;

	h->nonce = le64_to_cpu(d->nonce);
	h->epoch = le64_to_cpu(d->epoch);
	h->lsn = kvp_lsn(le64_to_cpu(d->lsn));
	h->prev_lsn = kvp_lsn(le64_to_cpu(d->prev_lsn));
	h->durable = kvp_lsn(le64_to_cpu(d->durable));
	h->write_time = le64_to_cpu(d->write_time);
	h->limit_lsn = kvp_lsn(le64_to_cpu(d->limit_lsn));
	h->limit_rec = le32_to_cpu(d->limit_rec);
	h->csum = le32_to_cpu(d->csum);
	h->prev_csum = le32_to_cpu(d->prev_csum);
	h->blocks = le32_to_cpu(d->blocks);
	h->hdr_blocks = le32_to_cpu(d->hdr_blocks);
	h->rec_count = le32_to_cpu(d->rec_count);
	h->open_count = le32_to_cpu(d->open_count);
	h->flags = le32_to_cpu(d->flags);
	for (i = 0; i < KVP_MAX_OPEN_INTENTS; i++)
		h->open[i] = kvp_lsn(le64_to_cpu(d->open[i]));
}

static int refuse(struct kvp_why *why, kvp_lsn_t lsn, const char *what)
{
	snprintf(why->text, sizeof(why->text), "log entry %llu: bad %s",
		 (unsigned long long)kvp_lsn_nr(lsn), what);
	return -EUCLEAN;
}

/* True if @h is sound enough to compute its sum. */
static bool hdr_length_sound(const struct kvp_log_hdr *h, u32 avail)
{
	return h->rec_count <=
	       (KVP_MAX_ENTRY_BLOCKS << KVP_BLOCK_SHIFT) / sizeof(struct kvp_disk_rec) &&
	       h->hdr_blocks == kvp_log_hdr_blocks(h->rec_count) && h->hdr_blocks <= avail;
}

bool kvp_log_epoch(const void *buf, u32 avail, u64 pool_nonce, u64 *epoch)
{
	const struct kvp_disk_log_hdr *d = buf;
	struct kvp_log_hdr h;

	if (!avail || le32_to_cpu(d->magic) != KVP_LOG_MAGIC)
		return false;
	decode_hdr(d, &h);
	if (!hdr_length_sound(&h, avail) ||
	    hdr_sum(d, pool_nonce, h.nonce, hdr_bytes(h.rec_count)) != h.csum)
		return false;
	*epoch = h.epoch;
	return true;
}

u32 kvp_log_hdr_claims(const void *buf)
{
	const struct kvp_disk_log_hdr *d = buf;

	return le32_to_cpu(d->magic) == KVP_LOG_MAGIC ? le32_to_cpu(d->hdr_blocks) : 0;
}

int kvp_log_decode(const struct kvp_geometry *g, const void *buf, u32 avail, u64 pool_nonce,
		   u64 log_nonce, kvp_lsn_t lsn, u64 pool_blocks, struct kvp_log_hdr *h,
		   struct kvp_why *why)
{
	const struct kvp_disk_log_hdr *d = buf;
	const char *fault;

	if (!avail || le32_to_cpu(d->magic) != KVP_LOG_MAGIC ||
	    le64_to_cpu(d->nonce) != log_nonce) {
		snprintf(why->text, sizeof(why->text), "log entry %llu: none here",
			 (unsigned long long)kvp_lsn_nr(lsn));
		return -ENODATA;
	}
	decode_hdr(d, h);
	if (!hdr_length_sound(h, avail))
		return refuse(why, lsn, "header length");
	if (hdr_sum(d, pool_nonce, log_nonce, hdr_bytes(h->rec_count)) != h->csum)
		return refuse(why, lsn, "sum");
	if (h->lsn != lsn)
		return refuse(why, lsn, "position");
	if (h->blocks > KVP_MAX_ENTRY_BLOCKS ||
	    h->blocks > kvp_lsn_since(kvp_log_segment_end(g, lsn), lsn))
		return refuse(why, lsn, "length");
	if (h->open_count > KVP_MAX_OPEN_INTENTS || kvp_lsn_before(lsn, h->durable) ||
	    !kvp_lsn_before(h->prev_lsn, lsn))
		return refuse(why, lsn, "order");
	fault = records_fault(g, buf, h, pool_blocks);
	return fault ? refuse(why, lsn, fault) : 0;
}

static bool row_known(const struct kvp_sb *sb, const struct kvp_rec *r)
{
	return r->vdev < sb->vdev_count && kvp_is_parity1(&sb->vdevs[r->vdev]) &&
	       kvp_rec_row(r) < kvp_row_count(&sb->vdevs[r->vdev]);
}

bool kvp_log_rows_known(const struct kvp_sb *sb, const void *buf, const struct kvp_log_hdr *h)
{
	const struct kvp_disk_rec *d =
		(const struct kvp_disk_rec *)((const u8 *)buf + KVP_LOG_HDR_SIZE);
	u32 i;

	for (i = 0; i < h->rec_count; i++) {
		struct kvp_rec r;

		kvp_rec_decode(&d[i], &r);
		if (r.kind == KVP_REC_PARITY && !row_known(sb, &r))
			return false;
	}
	return true;
}
