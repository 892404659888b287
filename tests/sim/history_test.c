// SPDX-License-Identifier: GPL-2.0-only
/* The log's history of blocks and rows of a parity1. */
#include "policy/history.h"
#include "policy/replay.h"
#include "suite.h"

/* Three legs, chunks of four blocks: a stripe is eight blocks. */
static const struct kvp_geometry g = {
	.kind = KVP_VDEV_PARITY1, .leg_count = 3, .chunk_blocks = 4, .data_blocks = 800,
};

static bool add(struct kvp_history *h, u32 kind, u64 block, u32 count, u64 lsn, u32 n, u64 payload,
		struct kvp_log_at limit)
{
	struct kvp_rec rec = { .block = block, .count = count, .kind = kind, .crc = (u32)lsn };

	return expect(!kvp_history_add(h, &rec, (struct kvp_log_at){ lsn, n }, payload, 0, limit),
		      "out of memory");
}

/*
 * The newest version of @block before @lsn, record @n, is the data at @payload; 0: a discard; ~0:
 * none.
 */
static bool is(struct kvp_history *h, u64 block, u64 lsn, u32 n, u64 payload)
{
	const struct kvp_past_version *v = kvp_history_find(h, block,
							    (struct kvp_log_at){ lsn, n });
	u64 got = !v ? ~0ull : v->kind == KVP_REC_DISCARD ? 0 : v->payload;

	return expect(got == payload, "block %llu before %llu,%u: %lld, not %lld", block, lsn, n,
		      (s64)got, (s64)payload);
}

static bool versions(struct kvp_history *h)
{
	const struct kvp_log_at none = { 0, 0 };
	bool good = add(h, KVP_REC_DATA, 5, 1, 100, 0, 101, none) &&
		    add(h, KVP_REC_DISCARD, 5, 1, 100, 1, 0, none) &&
		    add(h, KVP_REC_DATA, 5, 1, 100, 2, 102, none) &&
		    add(h, KVP_REC_DATA, 5, 1, 200, 0, 201, none);

	return good && is(h, 5, 100, 0, ~0ull) && is(h, 5, 100, 1, 101) && is(h, 5, 100, 2, 0) &&
	       is(h, 5, 101, 0, 102) && is(h, 5, 200, 0, 102) && is(h, 5, ~0ull, 0, 201) &&
	       is(h, 6, ~0ull, 0, ~0ull);
}

/* From within stripe 1 to within stripe 4, and data before and after it. */
static bool discards(struct kvp_history *h)
{
	const struct kvp_log_at none = { 0, 0 };
	bool good = add(h, KVP_REC_DATA, 13, 1, 300, 0, 301, none) &&
		    add(h, KVP_REC_DATA, 20, 1, 300, 1, 302, none) &&
		    add(h, KVP_REC_DISCARD, 14, 20, 300, 2, 0, none) &&
		    add(h, KVP_REC_DATA, 21, 1, 300, 3, 303, none);
	u64 block;

	good = good && is(h, 13, ~0ull, 0, 301) && is(h, 34, ~0ull, 0, ~0ull) &&
	       is(h, 20, 300, 2, 302) && is(h, 21, ~0ull, 0, 303) && is(h, 21, 300, 3, 0);
	for (block = 14; good && block < 34; block++)
		good = block == 21 || is(h, block, ~0ull, 0, 0);
	good = good && expect(kvp_history_knows(h, kvp_vblock(14)) &&
			      kvp_history_knows(h, kvp_vblock(33)) &&
			      !kvp_history_knows(h, kvp_vblock(16)) &&
			      !kvp_history_knows(h, kvp_vblock(31)),
			      "only stripes that are discarded in part have rows of their own");
	block = 16;
	good = good && expect(kvp_history_next(h, &block) && block == 20, "the block of a write");
	block = 24;
	good = good && expect(kvp_history_next(h, &block) && block == 32, "a stripe cut in part");
	block = 40;
	return good && expect(!kvp_history_next(h, &block), "block %llu has no record", block);
}

static bool parity(struct kvp_history *h)
{
	const struct kvp_logged_parity *p;
	bool good = add(h, KVP_REC_PARITY, 7, 1, 400, 0, 401, (struct kvp_log_at){ 300, 1 }) &&
		    add(h, KVP_REC_PARITY, 7, 1, 500, 0, 501, (struct kvp_log_at){ 350, 2 });

	p = kvp_history_parity(h, 7, 200);
	good = good && expect(p && p->payload == 501 && p->limit.lsn == 350 && p->limit.rec == 2,
			      "the newest parity of a row");
	good = good && expect(kvp_history_parity(h, 7, 350) == p, "it counts records at the tail");
	good = good && expect(!kvp_history_parity(h, 7, 351), "the tail has passed what it counts");
	return good && expect(!kvp_history_parity(h, 8, 0), "a row that has none");
}

/* With any number of discards, a look-up of a block checks few. */
static bool many_discards(void)
{
	const struct kvp_log_at none = { 0, 0 };
	struct kvp_history h;
	bool good = true;
	u32 i;

	kvp_history_init(&h, &g);
	/* Stripes 5 to 39: parts of three stretches of sixteen. */
	good = add(&h, KVP_REC_DISCARD, 40, 280, 1, 0, 0, none);
	for (i = 0; good && i < 400; i++)
		good = is(&h, i, ~0ull, 0, i >= 40 && i < 320 ? 0 : ~0ull);
	kvp_history_exit(&h);
	kvp_history_init(&h, &g);
	for (i = 1; good && i <= 3000; i++)
		good = add(&h, KVP_REC_DISCARD, 64 * (u64)i, i % 7 ? 48 : 8000, i, 0, 0, none);
	for (i = 1; good && i <= 3000; i++)
		good = is(&h, 64 * (u64)i + 9, ~0ull, 0, 0) &&
			is(&h, 64 * (u64)i + 9, 2, 0, i == 1 ? 0 : ~0ull);
	good = good && expect(h.looks < 3000 * 400, "%llu looks", h.looks);
	kvp_history_exit(&h);
	return good;
}

/* Nor does it with many of the same stripes, whichever is the newest one before the limit. */
static bool same_discards(void)
{
	const struct kvp_log_at none = { 0, 0 };
	struct kvp_history h;
	bool good = true;
	u32 i;

	kvp_history_init(&h, &g);
	for (i = 1; good && i <= 4000; i++)
		good = add(&h, KVP_REC_DISCARD, 0, 800, 2 * i, 0, 0, none) &&
		       add(&h, KVP_REC_DATA, i % 800, 1, 2 * i + 1, 0, i, none);
	for (i = 1; good && i < 4000; i++)
		good = is(&h, i % 800, 2 * i + 2, 0, i) && is(&h, i % 800, 2 * i + 2, 1, 0) &&
		       is(&h, i % 800, 2 * i + 1, 0, 0) &&
		       expect(h.discarded.at.lsn == 2 * i, "block %u before %u: the discard at %llu",
			      i % 800, 2 * i + 1, h.discarded.at.lsn);
	good = good && expect(h.looks < 4000 * 3 * 60, "%llu looks", h.looks);
	kvp_history_exit(&h);
	return good;
}

static u64 notes_of(struct kvp_history *h)
{
	struct kvp_past_version *v;
	struct kvp_cover *c;
	unsigned long i;
	u64 n = 0;

	xa_for_each(&h->blocks, i, v)
		for (; v; v = v->older)
			n++;
	xa_for_each(&h->parts.stretches, i, c)
		for (; c; c = c->older)
			n++;
	return n;
}

/*
 * A discard takes little memory, also if it cuts stripes of 3840 blocks in two: a log has room for
 * more than a hundred discards in a block. Each block has the newest one, as a plain array says.
 */
static bool discards_of_parts(void)
{
	static const struct kvp_geometry wide = {
		.kind = KVP_VDEV_PARITY1, .leg_count = 16, .chunk_blocks = 256,
		.data_blocks = 3840 * 8,
	};
	static u32 newest[3840 * 8];
	const struct kvp_log_at none = { 0, 0 };
	struct kvp_history h;
	bool good = true;
	u64 b;
	u32 i;

	memset(newest, 0, sizeof(newest));
	kvp_history_init(&h, &wide);
	for (i = 1; good && i <= 300; i++) {
		u64 first = i * 7919 % (3840 * 6), end = first + 1 + i * 104729 % 7678;

		good = add(&h, KVP_REC_DISCARD, first, (u32)(end - first), i, 0, 0, none);
		for (b = first; b < end; b++)
			newest[b] = i;
	}
	for (b = 0; good && b < ARRAY_SIZE(newest); b++)
		good = is(&h, b, ~0ull, 0, newest[b] ? 0 : ~0ull) &&
		       expect(!newest[b] || h.discarded.at.lsn == newest[b],
			      "block %llu: discard %llu, not %u", b, h.discarded.at.lsn, newest[b]);
	good = good && expect(notes_of(&h) < 300 * 2 * 36, "%llu notes", notes_of(&h));
	kvp_history_exit(&h);
	return good;
}

/* Discards of mirrors: each block is discarded once, whatever the log has. */
static bool joined_discards(void)
{
	static bool want[2000], got[2000];
	struct kvp_replay_discard *d;
	struct kvp_replay r;
	bool good = true;
	u32 i, b, n = 0, most = 0;

	kvp_replay_init(&r);
	for (i = 0; good && i < 400; i++) {
		struct kvp_rec rec = { .kind = KVP_REC_DISCARD, .block = i * 7919 % 1900,
				       .count = 1 + i * 31 % (i % 5 ? 4 : 90) };

		good = expect(!kvp_replay_add(&r, &rec, (struct kvp_log_at){ i, 0 }, 0, 0),
			      "out of memory");
		for (b = 0; b < rec.count; b++)
			want[rec.block + b] = true;
	}
	for (b = 0; b < ARRAY_SIZE(want); b++)
		most += want[b] && (!b || !want[b - 1]);
	kvp_replay_join(&r);
	list_for_each_entry(d, &r.discards, list) {
		n++;
		for (b = kvp_block_nr(d->block); good && b < kvp_block_nr(d->end); b++) {
			good = expect(!got[b], "block %u is discarded twice", b);
			got[b] = true;
		}
	}
	kvp_replay_exit(&r);
	return good && expect(!memcmp(want, got, sizeof(want)), "other blocks are discarded") &&
	       expect(n == most, "%u discards of %u stretches", n, most);
}

bool history_test(void)
{
	struct kvp_history h;
	bool good;

	kvp_history_init(&h, &g);
	good = versions(&h) && discards(&h) && parity(&h) && many_discards() &&
	       same_discards() && discards_of_parts() && joined_discards();
	kvp_history_exit(&h);
	return good;
}
