// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries that take nothing from the write buffer: their payload is somebody else's, and no
 * write of a user becomes durable with them. Parity (parity.c), and clean blocks for the SSD
 * cache.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "pool/pool.h"
#include "log/log.h"
#include "log/internal.h"

void kvp_append_begin(struct kvp_pool *pool, struct kvp_entry_io *e, u32 nr,
		      struct kvp_log_at limit)
{
	struct kvp_log_hdr *h = &e->hdr;
	u32 i;

	lockdep_assert_held(&pool->log.build_lock);
	e->phase = KVP_ENTRY_WRITING;
	e->data = 0;
	e->intents = 0;
	e->records = 0;
	e->owed = 0;
	e->last_seq = pool->log.built_seq;
	e->bypass = NULL;
	e->appended = true;
	e->append = NULL;
	h->hdr_blocks = kvp_log_hdr_blocks(nr);
	h->rec_count = nr;
	h->blocks = h->hdr_blocks + nr;
	h->limit_lsn = limit.lsn;
	h->limit_rec = limit.rec;
	for (i = 0; i < h->hdr_blocks; i++)
		e->pages[i] = vmalloc_to_page(e->hdr_buf + i * KVP_BLOCK_SIZE);
}

void kvp_append_add(struct kvp_entry_io *e, const struct kvp_rec *r, struct page *page)
{
	struct kvp_disk_rec *recs = e->hdr_buf + KVP_LOG_HDR_SIZE;

	kvp_rec_encode(r, &recs[e->records]);
	e->pages[e->hdr.hdr_blocks + e->records++] = page;
}
