// SPDX-License-Identifier: GPL-2.0-only
/*
 * A summary of a segment of an SSD cache, patched and mostly sealed again. Input: shape, flags,
 * patches.
 */
#include <stdlib.h>
#include <string.h>

#include "format/logplace.h"
#include "format/summary.h"
#include "fuzz.h"
#include "shapes.h"

#define UNSEALED	1	/* the sum is as the patches left it */
#define OTHER_LEG	2	/* the summary of another leg */

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	const struct kvp_sb *sb = shape((u32)take(&in, 1) % SHAPES);
	u32 flags = (u32)take(&in, 1), i;
	struct kvp_disk_summary *d = malloc(sizeof(*d));
	struct kvp_summary_rec r = { 3, 0x12345678, false };
	bool valid;

	kvp_summary_begin(d, sb->log_tail, sb->era);
	kvp_summary_set(d, 0, &r);
	kvp_summary_set(d, KVP_SUMMARY_RECORDS - 1, &r);
	patch(&in, d, sizeof(*d));
	if (!(flags & UNSEALED))
		d->csum = 0;
	if (!(flags & UNSEALED))
		kvp_summary_seal(d, sb->nonce, sb->legs[0].uuid);
	valid = kvp_summary_valid(d, sb->nonce, sb->legs[flags & OTHER_LEG ? sb->leg_count - 1 :
							 0].uuid, sb->log_tail,
				  sb->era);
	reached(valid);
	if (valid)
		sure(le64_to_cpu(d->lsn) == sb->log_tail && le32_to_cpu(d->era) <= sb->era,
		     "of another segment or era");
	for (i = 0; valid && i < KVP_SUMMARY_RECORDS; i++)
		if (kvp_summary_get(d, i, sb->pool_blocks, &r))
			sure(r.block < sb->pool_blocks, "a block beyond the end");
	free(d);
	return 0;
}

void fuzz_seeds(void)
{
	static const u8 records[] = { 8, 0, 3, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0 },
		other[] = { 9, OTHER_LEG };

	seed(records, sizeof(records));
	seed(other, sizeof(other));
}
