// SPDX-License-Identifier: GPL-2.0-only
#include "format/summary.h"

static u32 summary_sum(const struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid)
{
	size_t at = offsetof(struct kvp_disk_summary, csum), after = at + sizeof(d->csum);
	__le64 seed = cpu_to_le64(nonce);
	const __le32 zero = 0;
	u32 crc = kvp_crc32c(~0u, &seed, sizeof(seed));

	crc = kvp_crc32c(crc, leg_uuid, 16);
	crc = kvp_crc32c(crc, d, at);
	crc = kvp_crc32c(crc, &zero, sizeof(zero));
	return kvp_crc32c(crc, (const u8 *)d + after, sizeof(*d) - after);
}

void kvp_summary_begin(struct kvp_disk_summary *d, kvp_lsn_t lsn, u32 era)
{
	memset(d, 0, sizeof(*d));
	d->magic = cpu_to_le32(KVP_SUMMARY_MAGIC);
	d->lsn = cpu_to_le64(kvp_lsn_nr(lsn));
	d->era = cpu_to_le32(era);
}

void kvp_summary_set(struct kvp_disk_summary *d, u32 at, const struct kvp_summary_rec *r)
{
	d->recs[at].addr = cpu_to_le64(KVP_SUMMARY_LIVE | (r->meta ? KVP_SUMMARY_META : 0) |
				       kvp_block_nr(r->block));
	d->recs[at].crc = cpu_to_le32(r->crc);
}

void kvp_summary_seal(struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid)
{
	d->csum = cpu_to_le32(summary_sum(d, nonce, leg_uuid));
}

bool kvp_summary_valid(const struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid,
		       kvp_lsn_t lsn, u32 most)
{
	return le32_to_cpu(d->magic) == KVP_SUMMARY_MAGIC && kvp_lsn(le64_to_cpu(d->lsn)) == lsn &&
	       le32_to_cpu(d->era) <= most &&
	       le32_to_cpu(d->csum) == summary_sum(d, nonce, leg_uuid);
}
