// SPDX-License-Identifier: GPL-2.0-only
/* The log's records in memory. */
#include <stdlib.h>

#include "format/logstripe.h"
#include "replay.h"

static int append(struct replay_rec **list, size_t *count, size_t *room,
		  const struct replay_rec *rec)
{
	struct replay_rec *more;
	size_t want = *room ? 2 * *room : 1024;

	if (*count == REPLAY_MAX_RECORDS)
		return -E2BIG;
	if (*count == *room) {
		more = realloc(*list, want * sizeof(*more));
		if (!more)
			return -ENOMEM;
		*list = more;
		*room = want;
	}
	(*list)[(*count)++] = *rec;
	return 0;
}

static int append_parity(struct replay *r, const struct kvp_rec *d, const struct kvp_log_hdr *h,
			 u32 index, u64 payload, u8 payload_row)
{
	struct replay_parity *more;
	size_t want = r->parity_room ? 2 * r->parity_room : 256;

	if (r->parity_count == REPLAY_MAX_RECORDS)
		return -E2BIG;
	if (r->parity_count == r->parity_room) {
		more = realloc(r->parity, want * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->parity = more;
		r->parity_room = want;
	}
	r->parity[r->parity_count++] = (struct replay_parity) {
		.row = d->block, .vdev = d->vdev, .crc = d->crc, .lsn = h->lsn,
		.index = index, .payload = payload, .payload_row = payload_row,
		.limit = { h->limit_lsn, h->limit_rec },
	};
	return 0;
}

/* True if @rec, a resolved intent, goes on where @before ends, in the same entry. */
static bool goes_on(const struct replay_rec *before, const struct replay_rec *rec)
{
	return before->kind == KVP_REC_INTENT && rec->kind == KVP_REC_INTENT &&
	       before->lsn == rec->lsn && before->index + before->count == rec->index &&
	       before->block + before->count == rec->block;
}

/*
 * Note a discard, or a resolved intent. The log may have very many of those, in long runs: a run is
 * one record.
 */
static int append_discard(struct replay *r, const struct replay_rec *rec)
{
	struct replay_rec *last = r->discard_count ? &r->discards[r->discard_count - 1] : NULL;

	if (last && goes_on(last, rec)) {
		last->count++;
		return 0;
	}
	return append(&r->discards, &r->discard_count, &r->discard_room, rec);
}

int replay_add(void *replay, const struct kvp_log_hdr *h, const void *buf)
{
	struct replay *r = replay;
	u32 i, at, n = 0;
	int ret = 0;

	for (i = 0; !ret && i < h->rec_count; i++) {
		struct kvp_rec d;
		struct replay_rec rec;

		log_rec(buf, i, &d);
		at = kvp_rec_has_payload(&d) ? kvp_log_payload_at(r->g, h, n++) : 0;
		rec = (struct replay_rec) {
			.block = d.block, .lsn = h->lsn, .index = i,
			.count = d.count, .crc = d.crc, .kind = (u8)d.kind,
			.row = at ? kvp_log_row(r->g, h, at) : 0, .payload = h->lsn + at,
		};
		if (!kvp_rec_counts(&d))
			continue;
		if (d.kind == KVP_REC_PARITY)
			ret = append_parity(r, &d, h, i, rec.payload, rec.row);
		else if (d.kind == KVP_REC_DISCARD ||
			 (d.kind == KVP_REC_INTENT && replay_settled(r, &rec)))
			ret = append_discard(r, &rec);
		else
			ret = append(&r->recs, &r->count, &r->room, &rec);
	}
	return ret;
}

static int by_block(const void *a, const void *b)
{
	const struct replay_rec *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->lsn == y->lsn && x->index == y->index)
		return 0;
	return replay_newer(x, y) ? -1 : 1;
}

static int by_row(const void *a, const void *b)
{
	const struct replay_parity *x = a, *y = b;

	if (x->vdev != y->vdev)
		return x->vdev < y->vdev ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->lsn != y->lsn)
		return x->lsn > y->lsn ? -1 : 1;
	return x->index > y->index ? -1 : x->index < y->index;
}

static void set_reach(struct replay *r)
{
	u64 reach = 0, end;
	size_t i;

	for (i = 0; i < r->discard_count; i++) {
		end = r->discards[i].block + r->discards[i].count;
		if (reach < end)
			reach = end;
		r->reach[i] = reach;
	}
}

int replay_sort(struct replay *r)
{
	if (r->parity_count)
		qsort(r->parity, r->parity_count, sizeof(*r->parity), by_row);
	if (r->count)
		qsort(r->recs, r->count, sizeof(*r->recs), by_block);
	if (!r->discard_count)
		return 0;
	qsort(r->discards, r->discard_count, sizeof(*r->discards), by_block);
	r->heap = malloc(r->discard_count * sizeof(*r->heap));
	r->reach = malloc(r->discard_count * sizeof(*r->reach));
	if (!r->heap || !r->reach)
		return -ENOMEM;
	set_reach(r);
	return 0;
}

void replay_free(struct replay *r)
{
	free(r->recs);
	free(r->discards);
	free(r->heap);
	free(r->reach);
	free(r->parity);
	memset(r, 0, sizeof(*r));
}

static void heap_swap(struct replay *r, size_t a, size_t b)
{
	struct replay_rec *t = r->heap[a];

	r->heap[a] = r->heap[b];
	r->heap[b] = t;
}

static void heap_push(struct replay *r, struct replay_rec *rec)
{
	size_t i = r->heap_count++;

	r->heap[i] = rec;
	for (; i && replay_newer(r->heap[i], r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap_swap(r, i, (i - 1) / 2);
}

static void heap_pop(struct replay *r)
{
	size_t i = 0, child;

	r->heap[0] = r->heap[--r->heap_count];
	for (;;) {
		child = 2 * i + 1;
		if (child >= r->heap_count)
			return;
		if (child + 1 < r->heap_count &&
		    replay_newer(r->heap[child + 1], r->heap[child]))
			child++;
		if (!replay_newer(r->heap[child], r->heap[i]))
			return;
		heap_swap(r, i, child);
		i = child;
	}
}

u64 replay_next(struct replay *r, u64 block)
{
	while (r->at < r->count && r->recs[r->at].block < block)
		r->at++;
	return r->at < r->count ? r->recs[r->at].block : ~0ull;
}

size_t replay_get(struct replay *r, u64 block, const struct replay_rec **recs,
		  const struct replay_rec **discard)
{
	struct replay_rec *top;
	size_t n = 0;

	while (r->discard_at < r->discard_count && r->discards[r->discard_at].block <= block)
		heap_push(r, &r->discards[r->discard_at++]);
	*discard = NULL;
	while (r->heap_count && !*discard) {
		top = r->heap[0];
		if (block - top->block < top->count)
			*discard = top;
		else
			heap_pop(r);
	}
	if (replay_next(r, block) == block)
		while (r->at + n < r->count && r->recs[r->at + n].block == block)
			n++;
	*recs = n ? &r->recs[r->at] : NULL;
	return n;
}

/* The first record of @block or a later one. */
static size_t lower_bound(const struct replay *r, u64 block)
{
	size_t low = 0, high = r->count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->recs[mid].block < block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t replay_find(const struct replay *r, u64 block, const struct replay_rec **recs)
{
	size_t at = lower_bound(r, block), n = 0;

	while (at + n < r->count && r->recs[at + n].block == block)
		n++;
	*recs = n ? &r->recs[at] : NULL;
	return n;
}

/* The number of discards that begin before @end. */
static size_t discards_before(const struct replay *r, u64 end)
{
	size_t low = 0, high = r->discard_count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->discards[mid].block < end)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool replay_touches(const struct replay *r, u64 first, u64 end)
{
	size_t i = lower_bound(r, first);

	if (i < r->count && r->recs[i].block < end)
		return true;
	i = discards_before(r, end);
	return i && r->reach[i - 1] > first;
}

const struct replay_parity *replay_row(const struct replay *r, u32 vdev, u64 row)
{
	const struct replay_parity want = {
		.row = row, .vdev = vdev, .lsn = ~0ull, .index = ~0u,
	};
	size_t low = 0, high = r->parity_count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (by_row(&r->parity[mid], &want) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->parity_count && r->parity[low].vdev == vdev &&
	       r->parity[low].row == row ? &r->parity[low] : NULL;
}
