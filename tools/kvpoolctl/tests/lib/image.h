/* SPDX-License-Identifier: GPL-2.0-only */
/* Pools for tests: legs in memory, written only with the codecs, as a module would leave them. */
#ifndef KVPOOL_TEST_IMAGE_H
#define KVPOOL_TEST_IMAGE_H

#include "format/format.h"

#define IMAGE_SMALL	3072ull		/* blocks of a leg: 12 MiB, one level of table */
#define IMAGE_LARGE	(3ull << 19)	/* 6 GiB, sparse: two levels */
#define IMAGE_MAX_LEGS	10
#define IMAGE_MAX_VDEVS	4
#define IMAGE_MAX_LOGGED 8

/* The cache of an image. */
enum image_cache {
	IMAGE_NO_CACHE,
	IMAGE_ONE_SSD,
	IMAGE_TWO_SSDS,
	IMAGE_THREE_SSDS,	/* of kind parity1 */
	IMAGE_TWO_SSDS_READ,	/* the log is on the legs with data */
	IMAGE_CACHES,
};

/* The vdevs of a pool: those with data, ended by one of kind 0, and a cache after them. */
struct image_shape {
	struct {
		u32 kind;		/* enum kvp_vdev_kind */
		unsigned int legs;
	} vdevs[IMAGE_MAX_VDEVS];
	enum image_cache cache;
};

#define IMAGE_SHAPES	8
/* Shapes with parity1, several vdevs, a log that rotates over vdevs, and caches beside these. */
extern const struct image_shape image_shapes[IMAGE_SHAPES];

/* An entry of the log, or of a recovery's chain, with a header of one block. */
struct image_entry {
	u64 lsn;
	bool chain;
};

/* Images that are made from now on are as an older version made pools: their sums have no fold. */
extern bool image_old_sums;

struct image {
	struct kvp_sb sb;		/* the superblock that image_seal() writes */
	unsigned int legs;
	unsigned int data_legs;		/* number of legs before the SSDs of the cache */
	u32 cache;			/* its vdev; 0: there is none */
	/* lsn of a segment of the cache with clean blocks; 0: it has none */
	u64 clean;
	u64 blocks;			/* of a leg */
	struct kvp_seed seed;
	int fd[IMAGE_MAX_LEGS];
	char path[IMAGE_MAX_LEGS][32];	/* by which the legs can be opened */
	u64 *entries;			/* the table's entries, by block of the pool */
	u8 *home, *now;			/* by block: the version that is valid; the newest one */
	/* of the log: where the next entry goes */
	u64 lsn, prev_lsn;
	u32 prev_csum;
	struct image_entry logged[IMAGE_MAX_LOGGED];
	unsigned int logged_count;
};

struct image_rec {
	enum kvp_rec_kind kind;
	u64 block;			/* of a parity: any of its row */
	u32 count;			/* of a discard */
	unsigned int version;		/* of data and intents: what is written */
};

/* Contents that image_standard() writes. */
#define STD_VALID	{ 0, 1, 2, 3, 511, 512, 600 }	/* in the table, version 1 */
#define STD_POISONED	700u
#define STD_LOGGED	{ 1, 40 }		/* data in the log, version 2 */
#define STD_INTENT_DONE	600u			/* intent, and home holds it */
#define STD_INTENT_OLD	2u			/* intent, home holds the version before */
#define STD_INTENT_TORN	3u			/* intent, home holds a mixture */
#define STD_DISCARDED	512u			/* 100 blocks from here */

#define STD_CLEAN	511u			/* also clean on the cache, by a summary */

void image_make(struct image *m, unsigned int legs, u64 blocks);
/** image_make_cached() - the same with a cache, whose SSDs come behind @legs */
void image_make_cached(struct image *m, unsigned int legs, u64 blocks, enum image_cache cache);

/** image_make_shaped() - the same of any shape */
void image_make_shaped(struct image *m, const struct image_shape *shape, u64 blocks);
void image_free(struct image *m);

/** image_fill() - contents of @block in @version; returns its sum */
u32 image_fill(const struct image *m, u64 block, unsigned int version, void *buf);

/** image_home() - write @version of @block home, on all legs */
void image_home(struct image *m, u64 block, unsigned int version);

/** image_valid() - the same, and enter it in the table */
void image_valid(struct image *m, u64 block, unsigned int version);

/** image_log() - append an entry; its parity counts all entries before it */
void image_log(struct image *m, const struct image_rec *recs, unsigned int count);

/** image_chain() - append the parity of @block's row as a recovery's chain, after the log's end */
void image_chain(struct image *m, u64 block);

/** image_skip() - continue at the start of the next segment */
void image_skip(struct image *m);

/**
 * image_clean() - make version 1 of @block clean on the cache, by the summary of the segment at
 * m->clean
 */
void image_clean(struct image *m, u64 block);

/**
 * image_log_at() - byte on a leg of the log's @lsn, or of its first copy; @leg, if not NULL,
 * receives the leg
 */
u64 image_log_at(const struct image *m, u64 lsn, unsigned int *leg);

/** image_log_vdev() - the vdev that has the entry at @lsn */
const struct kvp_geometry *image_log_vdev(const struct image *m, u64 lsn);

/** image_seal() - write table and superblocks; each call raises the sequence */
void image_seal(struct image *m);

/** image_standard() - all kinds of contents, sealed */
void image_standard(struct image *m, unsigned int legs, u64 blocks);

void image_standard_cached(struct image *m, unsigned int legs, u64 blocks, enum image_cache cache);

/** image_standard_shaped() - the same; with rows there is parity in the log, and a chain */
void image_standard_shaped(struct image *m, const struct image_shape *shape, u64 blocks);

/** image_stop() - empty the log, as after a clean stop; sealed */
void image_stop(struct image *m);

/** image_read(), image_write() - bytes of a leg */
void image_read(const struct image *m, unsigned int leg, u64 at, void *buf, size_t bytes);
void image_write(struct image *m, unsigned int leg, u64 at, const void *buf, size_t bytes);

/** image_flip() - invert one bit */
void image_flip(struct image *m, unsigned int leg, u64 at, unsigned int bit);

#endif
