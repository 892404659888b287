/* SPDX-License-Identifier: GPL-2.0-only */
/* A bio: its blocks, and what the target keeps beside it. */
#ifndef KVP_BIO_H
#define KVP_BIO_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/workqueue.h>

#include "cache/admission.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/stats.h"
#include "log/log.h"

struct kvp_requests;
struct kvp_row_pages;
struct kvp_spilled_read;

/* Per-bio data; kept small. */
struct kvp_bio {
	struct kvp_waiter waiter;	/* FLUSH, FUA */
	/* ns: when the wait of a FLUSH began; of a read from a leg, from kvp_slow_begin() */
	u64 since;
	struct kvp_requests *requests;
	bool stream;			/* a write that goes home past a cache, if possible */
	struct bvec_iter iter;		/* as it arrived; reads only */
	/* Some of its blocks were buffered, and all are read from home. */
	bool mixed;
	struct kvp_spilled_read *beside;	/* of a mixed read: its spilled blocks */
	bool lacks_spilled;		/* and not all of them were asked for */
	atomic_t sides;			/* of a mixed read: home and SSDs, if not yet read */
	struct kvp_leg *leg;		/* the leg that is read from home */
	struct kvp_tpage *leaf;		/* the leaf to verify against */
	atomic_t parts;			/* of a long read: requests that have not ended */
	bool failed;			/* of a long read: one of its requests has failed */
	void (*long_done)(struct kvp_requests *r, struct bio *bio, bool good);
	struct kvp_row_pages *rebuild;	/* rows from which blocks of a leg are made */
	const struct kvp_leg *lacks;	/* the leg whose blocks are not in the reader's pages yet */
	bool passes;			/* that leg is in use, and was passed over */
	bool came;			/* all other blocks were read without an error */
	/* of the RAM cache, taken before the read, for so many blocks from the first on */
	u32 token, token_blocks;
	/* how the read was counted: not kept for this reason (KVP_RAM_KEEP: no), and as misses */
	enum kvp_ram_bypass bypassed;
	bool missed_ram, missed_ssd;
	bool fill, favoured;		/* enter the RAM cache; as if it had been hit once */
	bool may_fill;			/* enter the SSD cache, by @plan */
	struct kvp_admit_plan plan;
	struct kvp_on_ssd ssd;		/* where the SSD cache has it; none if its block is 0 */
	struct work_struct work;	/* a read that has to wait */
};

/** kvp_bio_data() - what the target keeps beside @bio */
static inline struct kvp_bio *kvp_bio_data(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct kvp_bio));
}

/** kvp_bio_of() - the bio that @k lies beside */
static inline struct bio *kvp_bio_of(struct kvp_bio *k)
{
	return dm_bio_from_per_bio_data(k, sizeof(struct kvp_bio));
}

/** kvp_bio_block() - the first of the pool's blocks that a bio has left */
static inline kvp_block_t kvp_bio_block(struct bvec_iter iter)
{
	return kvp_block(iter.bi_sector >> KVP_SECTORS_SHIFT);
}

/** kvp_bio_first() - the same of @bio where it stands */
static inline kvp_block_t kvp_bio_first(const struct bio *bio)
{
	return kvp_bio_block(bio->bi_iter);
}

/** kvp_bio_count() - how many blocks a bio has left */
static inline u32 kvp_bio_count(const struct bio *bio)
{
	return bio_sectors(bio) >> KVP_SECTORS_SHIFT;
}

/** kvp_bio_end() - end a bio with @status. Any context. */
static inline void kvp_bio_end(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
}

/**
 * kvp_bio_copy_from() - copy the block at @iter to @block, and move @iter behind it
 *
 * kvp_bio_copy_to() - the same the other way; @block: NULL for zeros
 *
 * kvp_bio_sum() - the sum of pool block @block, whose data is at @iter; moves @iter behind it
 *
 * Any context.
 */
void kvp_bio_copy_from(struct bio *bio, struct bvec_iter *iter, void *block);
void kvp_bio_copy_to(struct bio *bio, struct bvec_iter *iter, const void *block);
u32 kvp_bio_sum(struct bio *bio, struct bvec_iter *iter, struct kvp_seed seed, kvp_block_t block);

#endif /* KVP_BIO_H */
