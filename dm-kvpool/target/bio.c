// SPDX-License-Identifier: GPL-2.0-only
/* The blocks of a bio. A block may lie in several segments. */
#include "target/bio.h"

void kvp_bio_copy_from(struct bio *bio, struct bvec_iter *iter, void *block)
{
	u32 left = KVP_BLOCK_SIZE;

	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 n = min(left, bv.bv_len);

		bv.bv_len = n;
		memcpy_from_bvec(block, &bv);
		bio_advance_iter_single(bio, iter, n);
		block += n;
		left -= n;
	}
}

void kvp_bio_copy_to(struct bio *bio, struct bvec_iter *iter, const void *block)
{
	u32 left = KVP_BLOCK_SIZE;

	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 n = min(left, bv.bv_len);

		bv.bv_len = n;
		if (block) {
			memcpy_to_bvec(&bv, block);
			block += n;
		} else {
			memzero_bvec(&bv);
		}
		bio_advance_iter_single(bio, iter, n);
		left -= n;
	}
}

/* A block whose data lies in several pages. */
static noinline u32 sum_of_pieces(struct bio *bio, struct bvec_iter *iter, struct kvp_seed seed,
				  kvp_block_t block)
{
	u32 left = KVP_BLOCK_SIZE;
	struct kvp_sum sum;

	kvp_sum_begin(&sum, seed, block);
	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 n = min(left, bv.bv_len);
		void *p = bvec_kmap_local(&bv);

		kvp_sum_add(&sum, p, n);
		kunmap_local(p);
		bio_advance_iter_single(bio, iter, n);
		left -= n;
	}
	return kvp_sum_end(&sum);
}

u32 kvp_bio_sum(struct bio *bio, struct bvec_iter *iter, struct kvp_seed seed, kvp_block_t block)
{
	struct bio_vec bv = bio_iter_iovec(bio, *iter);
	void *p;
	u32 sum;

	if (bv.bv_len < KVP_BLOCK_SIZE)
		return sum_of_pieces(bio, iter, seed, block);
	p = bvec_kmap_local(&bv);
	sum = kvp_block_sum(seed, block, p);
	kunmap_local(p);
	bio_advance_iter_single(bio, iter, KVP_BLOCK_SIZE);
	return sum;
}
