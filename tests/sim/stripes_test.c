// SPDX-License-Identifier: GPL-2.0-only
/* Parity1: where requests lie on the legs. */
#include <string.h>

#include "format/stripe.h"
#include "suite.h"
#include "home/row.h"

#define MAX_ROWS	4096

/* The owner of each block of each leg. */
struct legs {
	u32 count;
	u64 rows;			/* below which all are taken, or will be */
	char text[KVP_STRIPE_MAX_LEGS][MAX_ROWS][4];
};

static struct legs legs;

static void clear(u32 count)
{
	memset(&legs, 0, sizeof(legs));
	legs.count = count;
}

static bool take(const struct kvp_piece *p, u32 row, const char *kind, u32 number)
{
	char *text;

	if (!expect(p->leg < legs.count && p->block + row < MAX_ROWS, "leg %u block %llu", p->leg,
		    p->block + row))
		return false;
	text = legs.text[p->leg][p->block + row];
	if (!expect(!*text, "leg %u block %llu is taken twice", p->leg, p->block + row))
		return false;
	snprintf(text, 4, "%s%u", kind, number % 100);
	legs.rows = max_t(u64, legs.rows, p->block + row + 1);
	return true;
}

/* All blocks of a request; each must be where kvp_stripe_at() says. */
static bool take_request(u64 offset, u32 blocks)
{
	u32 seen = 0, most = 0, piece, row;
	struct kvp_piece p, parity;
	bool good = true;

	kvp_stripe_piece(legs.count, offset, blocks, 0, &parity);
	good = expect(parity.blocks == kvp_stripe_parity(legs.count, blocks), "%u blocks of parity",
		      parity.blocks);
	for (row = 0; good && row < parity.blocks; row++)
		good = take(&parity, row, "P", row);
	for (piece = 1; good && piece < legs.count; piece++) {
		kvp_stripe_piece(legs.count, offset, blocks, piece, &p);
		good &= expect(p.leg != parity.leg, "parity on the leg of its data");
		good &= expect(p.blocks <= parity.blocks, "rows without parity");
		good &= expect(!p.blocks || p.first == seen, "piece %u begins at %u", piece,
			       p.first);
		for (row = 0; good && row < p.blocks; row++) {
			struct kvp_stripe_at at = kvp_stripe_at(legs.count, blocks, p.first + row);

			good &= expect(at.piece == piece && at.row == row,
				       "block %u is in piece %u",
				       p.first + row, at.piece);
			good &= take(&p, row, "D", p.first + row);
		}
		seen += p.blocks;
		most = max(most, p.blocks);
	}
	good &= expect(seen == blocks, "%u of %u blocks", seen, blocks);
	good &= expect(most == parity.blocks, "%u rows of parity for %u", parity.blocks, most);
	return good;
}

/* The example of docs/design/parity.md. */
bool stripe_example_test(void)
{
	static const char *const rows[] = {
		"P0 D0 D2 D4 D6", "P1 D1 D3 D5 D7", "P0 D0 D1 D2 P0", "D0 D1 D2 P0 D0",
		"D1 P0 D0 D3 D6", "D8 P1 D1 D4 D7", "D9 P2 D2 D5 --",
	};
	static const struct {
		u64 offset;
		u32 blocks;
	} requests[] = { { 0, 8 }, { 10, 3 }, { 14, 3 }, { 18, 2 }, { 21, 10 } };
	bool good = true;
	u64 offset = 0;
	u32 i, leg;

	clear(5);
	for (i = 0; good && i < ARRAY_SIZE(requests); i++) {
		good = expect(requests[i].offset == offset, "request %u is at %llu", i, offset) &&
		       take_request(offset, requests[i].blocks);
		offset += kvp_stripe_request_size(5, requests[i].blocks);
	}
	for (i = 0; good && i < ARRAY_SIZE(rows); i++)
		for (leg = 0; leg < 5; leg++) {
			const char *got = legs.text[leg][i];

			good &= expect(!strncmp(*got ? got : "--", rows[i] + 3 * leg, 2),
				       "row %u of leg %u is %s", i, leg, got);
		}
	return good && expect(legs.rows == ARRAY_SIZE(rows), "%llu rows", legs.rows);
}

/* Requests of any size, one behind the other: no block is left out or taken twice. */
bool stripe_requests_test(void)
{
	struct rng rng = { 7 };
	bool good = true;
	u32 n, round, leg;

	for (n = KVP_STRIPE_MIN_LEGS; good && n <= KVP_STRIPE_MAX_LEGS; n++)
		for (round = 0; good && round < 40; round++) {
			u64 offset = 0, row, taken = 0;

			clear(n);
			while (good && offset < n * (MAX_ROWS - 1200ull)) {
				u32 blocks = 1 + rng_below(&rng, round % 2 ? 3 * n : 1000);

				good = take_request(offset, blocks);
				good &= expect(kvp_stripe_request_size(n, blocks) ==
					       blocks + (blocks + n - 2) / (n - 1), "size");
				offset += kvp_stripe_request_size(n, blocks);
			}
			for (leg = 0; leg < n; leg++)
				for (row = 0; row < legs.rows; row++)
					taken += !!*legs.text[leg][row];
			good &= expect(taken == offset, "%llu of %llu blocks are taken", taken,
				       offset);
			good &= expect(legs.rows == (offset + n - 1) / n,
				       "%llu rows for %llu blocks",
				       legs.rows, offset);
		}
	return good;
}

/* At home every leg has as much parity as any other, and parity never lies with its data. */
bool stripe_home_test(void)
{
	u32 n, chunk, stripe, piece, row;
	bool good = true;

	for (n = KVP_STRIPE_MIN_LEGS; good && n <= KVP_STRIPE_MAX_LEGS; n++)
		for (chunk = 1; good && chunk <= 64; chunk *= 4) {
			u32 parities[KVP_STRIPE_MAX_LEGS] = { 0 };

			clear(n);
			for (stripe = 0; stripe < 2 * n; stripe++)
				for (piece = 0; good && piece < n; piece++) {
					struct kvp_piece p;

					kvp_stripe_home(n, chunk, stripe, piece, &p);
					good &= expect(p.blocks == chunk &&
						       p.block == stripe * chunk,
						       "stripe %u piece %u: %u blocks at %llu",
						       stripe,
						       piece, p.blocks, p.block);
					good &= expect(kvp_stripe_piece_on(n, stripe,
						p.leg) == piece,
						       "stripe %u piece %u: found as %u", stripe,
						       piece,
						       kvp_stripe_piece_on(n, stripe, p.leg));
					good &= expect(!piece || p.first == (piece - 1) * chunk,
						       "first");
					if (!piece)
						parities[p.leg]++;
					for (row = 0; good && row < p.blocks; row++)
						good = take(&p, row, piece ? "D" : "P", row);
				}
			for (piece = 0; piece < n; piece++)
				good &= expect(parities[piece] == 2,
					       "leg %u has %u parities of %u stripes",
					       piece, parities[piece], 2 * n);
			good &= expect(legs.rows == 2ull * n * chunk, "%llu rows", legs.rows);
		}
	return good;
}

/* Where a row's pieces are is told in two ways. */
bool stripe_rows_test(void)
{
	struct kvp_geometry g = { .kind = KVP_VDEV_PARITY1, .data_start = 1000 };
	bool good = true;
	u32 piece, row;

	for (g.leg_count = KVP_STRIPE_MIN_LEGS; good && g.leg_count <= KVP_STRIPE_MAX_LEGS;
	     g.leg_count++)
		for (g.chunk_blocks = 1; good && g.chunk_blocks <= 16; g.chunk_blocks *= 4)
			for (row = 0; good && row < 3 * g.leg_count * g.chunk_blocks; row++)
				for (piece = 0; good && piece < g.leg_count; piece++) {
					struct kvp_place at = kvp_row_place(&g, row, piece), as =
						piece ? kvp_data_place(&g, kvp_row_block(&g, row,
							piece)) :
							kvp_parity_place(&g, row);

					good = expect(at.leg == as.leg && at.block == as.block,
						      "%u legs, row %u piece %u: leg %u block "
						      "%llu, and leg %u block %llu",
						      g.leg_count, row, piece, at.leg, at.block,
						      as.leg, as.block);
				}
	return good;
}

/*
 * One row, computed in another way: block @row of each leg, and the parity on the next leg in each
 * stripe.
 */
static bool one_wide_row(const struct kvp_geometry *g, u64 row)
{
	u32 leaf = kvp_leaf_blocks(g), piece, taken = 0;
	u64 stripe = row / g->chunk_blocks, page = kvp_parity_index(g, row) >> KVP_PTRS_SHIFT;
	bool good = true;

	for (piece = 0; good && piece < g->leg_count; piece++) {
		u64 block = piece ? kvp_row_block(g, row, piece) : 0;
		struct kvp_place at = piece ? kvp_data_place(g, block) : kvp_parity_place(g, row);
		struct kvp_place as = kvp_row_place(g, row, piece);

		good = expect(at.leg == (stripe + piece) % g->leg_count &&
			      at.block == g->data_start + row,
			      "row %llu piece %u: leg %u block %llu", row, piece, at.leg,
			      at.block) &&
		       expect(as.leg == at.leg && as.block == at.block,
			      "row %llu piece %u is in two places",
			      row, piece) &&
		       expect(kvp_stripe_piece_on(g->leg_count, stripe, at.leg) == piece,
			      "leg %u has another piece",
			      at.leg);
		taken |= BIT(at.leg);
		if (piece)
			good = good &&
			       expect(block == (stripe * (g->leg_count - 1) + piece - 1) *
				      g->chunk_blocks +
					       row % g->chunk_blocks && block < g->data_blocks,
				      "row %llu piece %u: block %llu", row, piece, block) &&
			       expect(kvp_row_of(g, block) == row &&
				      kvp_piece_of(g, block) == piece,
				      "block %llu is in another row", block) &&
			       expect(kvp_entry_index(g, block) >> KVP_PTRS_SHIFT == page &&
				      block / leaf == page,
				      "block %llu is below another leaf than its parity", block);
	}
	return good && expect(taken == BIT(g->leg_count) - 1, "row %llu is not on all legs", row) &&
	       expect(page < kvp_pages_at(g, 0), "row %llu is below no leaf", row);
}

/* Legs of more than 16 TiB have more rows than 32 bits count. */
bool stripe_wide_rows_test(void)
{
	static const u64 leg_blocks[] = { 4882812500ull, 1ull << 34, (1ull << 35) - 1 };
	u64 rows, row, around;
	struct kvp_why why;
	bool good = true;
	u32 i, n, chunk;

	for (n = KVP_STRIPE_MIN_LEGS; good && n <= KVP_STRIPE_MAX_LEGS; n++)
		for (chunk = 1; good && chunk <= 16; chunk *= 4)
			for (i = 0; good && i < ARRAY_SIZE(leg_blocks); i++) {
				struct kvp_geometry g = { .chunk_blocks = chunk };

				/* A vdev has 512 TiB at most. */
				if (i && (n - 1) * leg_blocks[i] > 1ull << 36)
					continue;
				good = expect(!kvp_layout(KVP_VDEV_PARITY1, n, leg_blocks[i], 0, 0,
							  &g, &why),
					      "%u legs: %s", n, why.text) &&
				       expect(!kvp_geometry_check(&g, leg_blocks[i], &why), "%s",
					      why.text);
				rows = kvp_row_count(&g);
				good = good && expect(rows > 1ull << 32 && rows < leg_blocks[i],
						      "%llu rows", rows);
				for (around = 1ull << 32; good && around < rows; around *= 2)
					for (row = around - 20; good && row < around + 20 &&
					     row < rows; row++)
						good = one_wide_row(&g, row);
				for (row = rows - 40; good && row < rows; row++)
					good = one_wide_row(&g, row);
			}
	return good;
}
