// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries on a cache of kind parity1 (format/logstripe.h): which blocks of an entry each leg gets,
 * and the parity of its rows.
 *
 * Nothing is read. Parity is made anew from the entry's blocks each time the entry is sent, so it
 * never uses a block of an earlier attempt at the same place.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/xor.h"
#include "format/logstripe.h"
#include "format/stripe.h"
#include "io/io.h"
#include "log/log.h"

/* struct kvp_entry_io has this many ios */
static_assert(KVP_STRIPE_MAX_LEGS <= KVP_MAX_MIRROR_LEGS);

#define MAX_ROWS	DIV_ROUND_UP(KVP_MAX_ENTRY_BLOCKS, KVP_STRIPE_MIN_LEGS)

/**
 * struct entry_rows - memory of one entry in flight
 * @parity: a page for each row that the entry can have
 * @laid: all blocks of the entry, those of the first leg first
 */
struct entry_rows {
	struct page *parity[MAX_ROWS];
	struct page *laid[KVP_MAX_ENTRY_BLOCKS];
};

struct kvp_log_rows {
	u32 nr;			/* number of pages for parity that each entry has */
	struct entry_rows of[KVP_ENTRIES];
};

void kvp_log_rows_free(struct kvp_log_rows *rows)
{
	u32 i, k;

	if (!rows)
		return;
	for (i = 0; i < KVP_ENTRIES; i++)
		for (k = 0; k < rows->nr; k++)
			if (rows->of[i].parity[k])
				__free_page(rows->of[i].parity[k]);
	kvfree(rows);
}

u64 kvp_log_rows_bytes(const struct kvp_log *log)
{
	const struct kvp_log_rows *rows = log->rows;

	return rows ? sizeof(*rows) + (u64)rows->nr * KVP_ENTRIES * KVP_BLOCK_SIZE : 0;
}

static int alloc_pages_of(struct kvp_log_rows *rows)
{
	u32 i, k;

	for (i = 0; i < KVP_ENTRIES; i++)
		for (k = 0; k < rows->nr; k++) {
			rows->of[i].parity[k] = alloc_page(GFP_KERNEL);
			if (!rows->of[i].parity[k])
				return -ENOMEM;
		}
	return 0;
}

int kvp_log_rows_alloc(const struct kvp_log *log, struct kvp_log_rows **rows)
{
	u32 i, nr = 0;

	*rows = NULL;
	for (i = 0; i < log->vdevs->nr; i++)
		nr = max(nr, kvp_log_entry_rows(log->vdevs->v[i].g));
	if (!nr)
		return 0;
	*rows = kvzalloc(sizeof(**rows), GFP_KERNEL);
	if (!*rows)
		return -ENOMEM;
	(*rows)->nr = nr;
	if (!alloc_pages_of(*rows))
		return 0;
	kvp_log_rows_free(*rows);
	*rows = NULL;
	return -ENOMEM;
}

/*
 * Make the parity of the row at @at. The parity of a single block is a copy of it, so that block's
 * own page serves.
 */
static struct page *make_parity(struct page **pages, const struct kvp_log_stripe *s, u32 at,
				struct page *parity)
{
	struct page *from[KVP_STRIPE_MAX_LEGS];
	u32 end, index, n = 0;

	kvp_log_stripe_row(s, at, &end);
	while (++at < end) {
		kvp_log_stripe_part(s, at, &index);
		from[n++] = pages[s->hdr_blocks + index];
	}
	if (n == 1)
		return from[0];
	kvp_xor_sum(parity, from, n);
	return parity;
}

static struct page *page_at(struct page **pages, const struct kvp_log_stripe *s, u32 at,
			    struct entry_rows *rows)
{
	u32 index;

	switch (kvp_log_stripe_part(s, at, &index)) {
	case KVP_LOG_PART_HEADER:
		return pages[index];
	case KVP_LOG_PART_PARITY:
		return make_parity(pages, s, at, rows->parity[index]);
	default:
		return pages[s->hdr_blocks + index];
	}
}

u32 kvp_log_lay_rows(const struct kvp_log *log, u32 entry, const struct kvp_vdev *v,
		     const struct kvp_log_hdr *h, struct page **pages, u32 nr, struct kvp_io *ios)
{
	const struct kvp_geometry *g = v->g;
	const struct kvp_log_stripe s = { g->leg_count, h->hdr_blocks, h->payload };
	struct entry_rows *rows = &log->rows->of[entry];
	u32 first, at, n = 0, parts = 0;

	/* Go leg by leg. Each leg has every n-th block. */
	for (first = 0; first < min(s.legs, h->blocks); first++) {
		struct kvp_place to = kvp_log_place(g, kvp_lsn_add(h->lsn, first), 0);
		struct kvp_io *io = &ios[to.leg];

		io->block = to.block;
		io->pages = &rows->laid[n];
		for (at = first; at < h->blocks; at += s.legs)
			rows->laid[n++] = page_at(pages, &s, at, rows);
		io->nr = (u32)(&rows->laid[n] - io->pages);
		parts++;
	}
	/*
	 * Any one leg can be lost: the header is on two, and other blocks can be made from the rest
	 * of their row.
	 */
	return parts - 1;
}
