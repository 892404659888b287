// SPDX-License-Identifier: GPL-2.0-only
/* Entries of a log in full stripes: where each block lies, and that any one leg can be lost. */
#include <stdlib.h>
#include <string.h>

#include "format/logstripe.h"
#include "log/log.h"
#include "suite.h"

#define ROWS	256u	/* rows of the ring on each leg: far more than two entries take */
#define ENTRIES	400u

/* The contents of the legs: a word stands for a block. */
struct legs {
	u32 nr;
	u64 ring;
	u32 *block[KVP_STRIPE_MAX_LEGS];
};

static u32 *block_at(struct legs *l, u64 lsn)
{
	struct kvp_place at = kvp_log_stripe_place(l->nr, l->ring, lsn);

	return &l->block[at.leg][at.block];
}

static u32 leg_of(const struct legs *l, u64 lsn)
{
	return kvp_log_stripe_place(l->nr, l->ring, lsn).leg;
}

/* A word that is of this entry, part and block only. */
static u32 contents(u64 lsn, enum kvp_log_part part, u32 index)
{
	u64 x = (lsn << 20 | part << 16 | index) * 0x9e3779b97f4a7c15ull;

	return (u32)(x >> 32) | 1;
}

/* Writes like a commit: first all blocks but parity, then each row's sum as its parity. */
static void write_entry(struct legs *l, u64 lsn, const struct kvp_log_stripe *s)
{
	u32 at, index, sum = 0, end = kvp_log_stripe_blocks(s);

	for (at = end; at-- > 0;) {
		enum kvp_log_part part = kvp_log_stripe_part(s, at, &index);

		if (part == KVP_LOG_PART_PARITY) {
			*block_at(l, lsn + at) = sum;
			sum = 0;
			continue;
		}
		*block_at(l, lsn + at) = contents(lsn, part, index);
		if (part == KVP_LOG_PART_PAYLOAD)
			sum ^= contents(lsn, part, index);
	}
}

/* Every block is one thing, and says so both ways. */
static bool parts_fit(const struct kvp_log_stripe *s)
{
	u32 blocks = kvp_log_stripe_blocks(s), headers = 0, parity = 0, payload = 0, at, index;
	bool good = true;

	for (at = 0; good && at < blocks; at++) {
		switch (kvp_log_stripe_part(s, at, &index)) {
		case KVP_LOG_PART_HEADER:
			good = expect(at == headers++ && index == at / 2, "header at %u is %u", at,
				      index);
			break;
		case KVP_LOG_PART_PARITY:
			good = expect(index == parity++, "parity at %u is of row %u", at, index);
			break;
		default:
			payload++;
			good = expect(index < s->payload && kvp_log_stripe_payload(s, index) == at,
				      "payload at %u is %u", at, index);
		}
	}
	return good && expect(headers == 2 * s->hdr_blocks && payload == s->payload &&
			      parity == (s->payload + s->legs - 2) / (s->legs - 1),
			      "%u legs, %u and %u blocks: %u headers, %u of parity, %u of payload",
			      s->legs, s->hdr_blocks, s->payload, headers, parity, payload);
}

/* One request a leg: its part of an entry lies together, in sequence. */
static bool lies_together(struct legs *l, u64 lsn, const struct kvp_log_stripe *s)
{
	u32 at, blocks = kvp_log_stripe_blocks(s);
	bool good = true;

	for (at = l->nr; good && at < blocks; at++) {
		struct kvp_place a = kvp_log_stripe_place(l->nr, l->ring, lsn + at - l->nr);
		struct kvp_place b = kvp_log_stripe_place(l->nr, l->ring, lsn + at);

		good = expect(a.leg == b.leg && a.block + 1 == b.block,
			      "lsn %llu and the next of its leg",
			      lsn + at);
	}
	return good;
}

/* The block at @at without the leg that has it. */
static u32 made_from_others(struct legs *l, u64 lsn, const struct kvp_log_stripe *s, u32 at,
			    bool *good)
{
	u32 first, end, sum = 0;

	for (first = kvp_log_stripe_row(s, at, &end); first < end; first++) {
		if (first == at)
			continue;
		*good &= expect(leg_of(l, lsn + first) != leg_of(l, lsn + at),
				"two blocks of a row on leg %u", leg_of(l, lsn + at));
		sum ^= *block_at(l, lsn + first);
	}
	return sum;
}

/* One byte names the row to a reader that knows only the block's place. */
static bool row_is_told(struct legs *l, u64 lsn, const struct kvp_log_stripe *s, u32 at)
{
	struct kvp_geometry g = { .kind = KVP_VDEV_CACHE_PARITY1, .leg_count = l->nr };
	struct kvp_log_hdr h = { .hdr_blocks = s->hdr_blocks, .payload = s->payload };
	u32 end, first = kvp_log_stripe_row(s, at, &end);
	u8 row = kvp_log_row(&g, &h, at);

	return expect(kvp_log_row_first(lsn + at, row) == lsn + first &&
		      kvp_log_row_blocks(row) == end - first, "block %u: its row is not told", at);
}

static bool survives(struct legs *l, u64 lsn, const struct kvp_log_stripe *s)
{
	u32 at, blocks = kvp_log_stripe_blocks(s), index;
	bool good = true;

	for (at = 0; good && at < blocks; at++) {
		u32 made;

		if (kvp_log_stripe_part(s, at, &index) == KVP_LOG_PART_HEADER) {
			good = expect(leg_of(l, lsn + at) != leg_of(l, lsn + (at ^ 1)) &&
				      *block_at(l, lsn + (at ^ 1)) == *block_at(l, lsn + at),
				      "header block %u is on one leg only", index);
			continue;
		}
		made = made_from_others(l, lsn, s, at, &good);
		good &= expect(made == *block_at(l, lsn + at),
			       "%u legs, entry at %llu: block %u cannot be made", l->nr, lsn, at) &&
			row_is_told(l, lsn, s, at);
	}
	return good;
}

static bool entry_holds(struct legs *l, u64 lsn, const struct kvp_log_stripe *s)
{
	write_entry(l, lsn, s);
	return parts_fit(s) && lies_together(l, lsn, s) && survives(l, lsn, s);
}

static struct kvp_log_stripe shape(u32 legs, u32 i)
{
	return (struct kvp_log_stripe){ legs, i % 5 ? 1 : 1 + i / 5 % 16, i * 7 % 60 };
}

/* Entries one behind the other, round the ring; none takes anything of the one before it. */
static bool ring_holds(u32 legs)
{
	struct legs l = { .nr = legs, .ring = (u64)legs * ROWS };
	struct kvp_log_stripe s, before = { 0 };
	u64 lsn = l.ring + legs, last = 0;
	bool good = true;
	u32 i;

	for (i = 0; i < legs; i++)
		l.block[i] = calloc(ROWS, sizeof(u32));
	for (i = 0; good && i < ENTRIES; i++) {
		s = shape(legs, i);
		/* None crosses the end of the ring, as none crosses a segment's. */
		if (lsn % l.ring + kvp_log_stripe_blocks(&s) > l.ring)
			lsn += l.ring - lsn % l.ring;
		good = entry_holds(&l, lsn, &s) && (!last || survives(&l, last, &before));
		last = lsn;
		before = s;
		lsn += kvp_log_stripe_blocks(&s);
	}
	for (i = 0; i < legs; i++)
		free(l.block[i]);
	return good;
}

bool log_stripes_test(void)
{
	bool good = true;
	u32 legs;

	for (legs = KVP_STRIPE_MIN_LEGS; good && legs <= KVP_STRIPE_MAX_LEGS; legs++)
		good = ring_holds(legs);
	return good;
}

/* As much as fits, and not one more. */
bool log_stripes_room_test(void)
{
	bool good = true;
	u32 legs, hdr, room;

	for (legs = KVP_STRIPE_MIN_LEGS; legs <= KVP_STRIPE_MAX_LEGS; legs++)
		for (hdr = 1; hdr <= KVP_MAX_HDR_BLOCKS; hdr++)
			for (room = 2 * hdr; good && room <= KVP_SEGMENT_BLOCKS; room++) {
				u32 most = kvp_log_stripe_most(legs, hdr, room);
				struct kvp_log_stripe s = { legs, hdr, most },
					more = { legs, hdr, most + 1 };

				good = expect(kvp_log_stripe_blocks(&s) <= room &&
					      kvp_log_stripe_blocks(&more) > room,
					      "%u legs, header of %u: %u fit into %u", legs, hdr,
					      most, room);
			}
	return good;
}

/*
 * The lsns that @reserved entries of one row each use from @at on, in a segment whose first @kept
 * lsns are outside.
 */
static u64 rows_use(const struct kvp_geometry *g, u32 at, u32 reserved, u32 kept)
{
	u32 size = g->segment_blocks, least = kvp_log_entry_blocks(g, 1, 1);
	u64 lsn = at;

	for (; reserved; reserved--) {
		if (size - lsn % size < least + kept)
			lsn += size - lsn % size;
		lsn += least;
	}
	return lsn - at;
}

/*
 * The space reserved for parity is enough, whether destage logs it or a recovery, after the end of
 * a segment (R24).
 */
static bool reserve_is_enough(const struct kvp_geometry *g, u32 reserved)
{
	u64 kept = kvp_log_reserve(g, reserved);
	bool good = true;
	u32 at;

	for (at = 0; good && at < g->segment_blocks; at += 17) {
		u32 rest = g->segment_blocks - at;

		good = expect(rows_use(g, at, reserved, kvp_log_kept(g)) <= kept &&
			      rest + rows_use(g, 0, reserved, 0) <= kept,
			      "kind %u, %u legs: %llu blocks are kept for %u rows, from %u on",
			      g->kind, g->leg_count,
			      kept, reserved, at);
	}
	return good;
}

bool log_reserve_test(void)
{
	struct kvp_geometry g = { .kind = KVP_VDEV_CACHE, .leg_count = 2, .segments = 64 };
	bool good = true;
	u32 reserved;

	for (g.segment_blocks = 256; g.segment_blocks <= KVP_SEGMENT_BLOCKS; g.segment_blocks *= 2)
		for (reserved = 0; good && reserved < 40000; reserved += 1 + reserved / 3) {
			g.kind = KVP_VDEV_CACHE;
			good = reserve_is_enough(&g, reserved);
			g.kind = KVP_VDEV_PARITY1;
			g.leg_count = 3;
			good = good && reserve_is_enough(&g, reserved);
			g.kind = KVP_VDEV_CACHE_PARITY1;
			good = good && reserve_is_enough(&g, reserved);
		}
	return good;
}
