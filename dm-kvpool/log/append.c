// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries that take no version from the write buffer: parity (parity.c), and clean blocks for the
 * SSD cache. They make no write of a user durable.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "core/core.h"
#include "format/logstripe.h"
#include "log/internal.h"
#include "log/log.h"

void kvp_append_begin(struct kvp_log *log, struct kvp_entry_io *e, u32 nr,
		      struct kvp_log_at limit)
{
	struct kvp_log_hdr *h = &e->hdr;

	lockdep_assert_held(&log->build_lock);
	e->phase = KVP_ENTRY_WRITING;
	e->data = 0;
	e->intents = 0;
	e->records = 0;
	e->reserved = 0;
	e->last_seq = log->built_seq;
	e->direct = NULL;
	e->appended = true;
	e->rest_waits = false;
	e->append = NULL;
	e->of = NULL;
	e->clean = false;
	e->dropped = false;
	e->again = 0;
	e->renewed = 0;
	h->hdr_blocks = kvp_log_hdr_blocks(nr);
	h->rec_count = nr;
	h->payload = nr;
	h->blocks = kvp_log_entry_blocks(log->vdevs->log_vdev->g, h->hdr_blocks, nr);
	h->limit_lsn = limit.lsn;
	h->limit_rec = limit.rec;
	memcpy(e->pages, e->hdr_pages, h->hdr_blocks * sizeof(*e->pages));
}

void kvp_append_add(struct kvp_entry_io *e, const struct kvp_rec *r, struct page *page)
{
	struct kvp_disk_rec *recs = e->hdr_buf + KVP_LOG_HDR_SIZE;

	kvp_rec_encode(r, &recs[e->records]);
	e->pages[e->hdr.hdr_blocks + e->records++] = page;
}

bool kvp_log_is_wanted(struct kvp_log *log)
{
	unsigned long flags;
	bool wanted;

	spin_lock_irqsave(&log->lock, flags);
	wanted = !list_empty(&log->waiters);
	spin_unlock_irqrestore(&log->lock, flags);
	return wanted;
}

void kvp_append_ended(struct kvp_entry_io *e, int error)
{
	struct kvp_parity_append *a = e->append;

	e->append = NULL;
	a->error = error;
	complete(&a->done);
}
