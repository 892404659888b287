/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by verify.c, which walks the pool, and verify_rows.c, which knows parity. */
#ifndef KVPOOLCTL_VERIFY_ROWS_H
#define KVPOOLCTL_VERIFY_ROWS_H

#include "replay.h"
#include "verify.h"

#define LEAF_BLOCKS	KVP_PTRS_PER_PAGE	/* the most blocks below one leaf */

/* What a leg said when a block was read. */
enum leg_said {
	LEG_GAVE,
	LEG_LOST,	/* the medium has lost the block: no later try helps */
	LEG_SILENT,	/* it was not read: a later try may succeed */
};

/* One leg's blocks at home below one leaf. */
struct leg_view {
	u8 *data;			/* LEAF_BLOCKS blocks */
	u8 said[LEAF_BLOCKS];		/* enum leg_said */
};

struct row_buffers;

struct checker {
	const struct offline_pool *pools;	/* of each vdev */
	const struct offline_pool *log;
	struct verify *v;
	struct table *tables;			/* of each vdev */
	struct replay replay;
	struct log_at log_end;			/* no record of a parity1 counts from there on */
	struct leg_view *views;			/* of the legs of one vdev */
	struct row_buffers *rows;
	void *block;				/* scratch block of the log */
	const u8 *found;			/* contents of the block just resolved, or NULL */
	/*
	 * A leg in sync was silent about a home of the block, or row, that is being resolved. So it
	 * may have the newest version (R27).
	 */
	bool silent;
	/* of the blocks below the leaf: for v->contents; NULL: it is not given */
	u8 *data, *states;
	/* the leaf being checked */
	const struct offline_pool *pool;	/* its vdev */
	struct table *table;
	enum page_state state;
	u64 first, own;		/* its first block: of the pool, and of the vdev */
	u32 count;		/* blocks */
	u64 base;		/* first block of the data area in views */
};

/**
 * verify_read() - read homes from @from to before @to of a leaf, counted from c->base, on every leg
 */
void verify_read(struct checker *c, u32 from, u32 to);

/**
 * verify_home() - home @slot, counted from c->base, on legs[@leg]; NULL: it cannot be read, and
 * c->silent is set if a later try may succeed
 */
const u8 *verify_home(struct checker *c, unsigned int leg, u64 slot);

/** verify_note() - count a block */
void verify_note(struct checker *c, u64 block, enum verify_state state);

/** verify_keep() - keep the contents of a block of the leaf, for v->contents */
void verify_keep(struct checker *c, u64 block, const u8 *data);

/** verify_reads_log() - is data of the log read, although the walk of the log has verified it? */
static inline bool verify_reads_log(const struct checker *c)
{
	return c->data || c->v->log.by_header;
}

/** verify_blame() - count that the leg legs[@leg] lacks something it should have */
void verify_blame(struct checker *c, int leg);

/** verify_entry() - word @word of the leaf; if the leaf is lost, an entry in no valid state */
u64 verify_entry(const struct checker *c, u64 index);

/** verify_open() - may intents of the entry at @lsn have been cut short? */
bool verify_open(const struct checker *c, u64 lsn);

struct row_buffers *verify_rows_alloc(void);
void verify_rows_free(struct row_buffers *b);

/** verify_rows() - verify all blocks of a leaf of a parity1, and their parity */
void verify_rows(struct checker *c);

#endif
