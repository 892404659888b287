// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks that programs sum themselves. A piece of such a block ends with its own crc32c, so the
 * crc32c of the piece as a whole is a constant. A disk loses a write of such a block, and says that
 * it wrote it. The old version that it still has must not verify.
 */
#include <string.h>

#include "home/row.h"
#include "trouble.h"

bool sim_old_sums;

void choose_sums(const char *suite)
{
	u64 turn = opt.seed;

	while (*suite)
		turn = mix64(turn, (u8)*suite++);
	sim_old_sums = turn % 4 == 0;
}

/* --- contents with the same sum ------------------------------------------------------------- */

/* More than crc and fold have together, so that some of them make any even number of changes. */
#define FREE_BITS	100u

typedef unsigned __int128 bits;		/* one for each free bit */

/* The crc32c of a block in the upper half, its fold in the lower one. */
static u64 crc_and_fold(const u8 *data)
{
	static const struct kvp_seed plain = { 0 }, folded = { .folded = true };
	u32 crc = kvp_block_sum(plain, kvp_block(0), data);

	return (u64)crc << 32 | (crc ^ kvp_block_sum(folded, kvp_block(0), data));
}

/* Free bits are in many words, and in all places of a byte: the fold rotates words. */
static void flip(u8 *data, u32 bit)
{
	data[2000 + bit * 13] ^= 1 << bit % 8;
}

/* Elimination: write @effect as the XOR of effects of free bits. Return: those bits. */
static bits solve(const u64 *effects, u64 effect)
{
	bits from[64] = { 0 }, chosen;
	u64 basis[64] = { 0 };
	u32 bit, i;

	for (bit = 0; bit <= FREE_BITS; bit++) {
		u64 rest = bit < FREE_BITS ? effects[bit] : effect;

		chosen = bit < FREE_BITS ? (bits)1 << bit : 0;
		for (i = 64; i-- && rest; ) {
			if (!(rest >> i & 1))
				continue;
			if (!basis[i]) {
				basis[i] = rest;
				from[i] = chosen;
				break;
			}
			rest ^= basis[i];
			chosen ^= from[i];
		}
	}
	return chosen;
}

void same_sum(const u8 *a, u8 *b, u32 at)
{
	u64 want = crc_and_fold(a), effects[FREE_BITS], off;
	bits flips;
	u32 bit;

	memcpy(b, a, KVP_BLOCK_SIZE);
	b[at] ^= 0x55;
	off = crc_and_fold(b) ^ want;
	for (bit = 0; bit < FREE_BITS; bit++) {
		flip(b, bit);
		effects[bit] = crc_and_fold(b) ^ want ^ off;
		flip(b, bit);
	}
	flips = solve(effects, off);
	for (bit = 0; bit < FREE_BITS; bit++)
		if (flips >> bit & 1)
			flip(b, bit);
	if (crc_and_fold(b) != want)
		sim_fail("no twins: the case was not set up");
}

/* --- contents that sum themselves ----------------------------------------------------------- */

/*
 * Pieces that end with their own crc32c; all but @constant bytes differ from version to version.
 * Two pieces are copies of each other: that a change is made twice must not hide it.
 */
struct layout {
	const char *name;
	u32 count, first, bytes, distance, constant;
};

static const struct layout layouts[] = {
	{ "block", 1, 0, 4096, 0, 0 },
	{ "four-of-1024", 4, 0, 1024, 1024, 0 },
	{ "eight-of-512", 8, 0, 512, 512, 0 },
	{ "end-of-a-block", 1, 0, 4096, 0, 4088 },
	{ "one-word", 1, 1024, 8, 0, 0 },
	{ "anywhere", 1, 101, 333, 0, 0 },
	{ "a-piece-and-its-copy", 2, 0, 512, 2048, 0 },
	{ "a-sector-and-its-copy-at-the-end", 2, 0, 512, 3584, 0 },
	{ "a-record-of-384-and-its-copy", 2, 64, 384, 384, 8 },
	{ "a-short-piece-and-its-copy", 2, 40, 24, 64, 4 },
};

static const struct layout *layout;

static void fill_version(u8 *data, u32 version)
{
	u32 i, k;

	for (i = 0; i < KVP_BLOCK_SIZE; i++)
		data[i] = (u8)(i * 7 + (i >> 8));
	for (k = 0; k < layout->count; k++) {
		u32 at = layout->first + k * layout->distance, end = at + layout->bytes - 4;
		__le32 crc;

		for (i = at; i < end; i++)
			data[i] = i - at < layout->constant ? 3 :
				  (u8)mix64(version, layout->count == 2 ? i - at : i);
		crc = cpu_to_le32(kvp_crc32c(~0u, data + at, end - at));
		memcpy(data + end, &crc, sizeof(crc));
	}
}

/* --- a write that a disk loses --------------------------------------------------------------- */

/* A block of user data, at whose version the contents are looked for. */
#define SELF	70u

/* Where a disk may lose a write of the block: each copy, or its piece of the row and the parity. */
static u32 homes_of(struct host *h, struct kvp_place *homes)
{
	struct kvp_spot at = kvp_locate(h->pool, SELF);
	const struct kvp_geometry *g = at.v->g;
	u32 i;

	if (g->kind == KVP_VDEV_PARITY1) {
		homes[0] = kvp_data_place(g, at.block);
		homes[1] = kvp_row_place(g, kvp_row_of(g, at.block), 0);
		return 2;
	}
	for (i = 0; i < g->leg_count; i++) {
		homes[i] = kvp_data_place(g, at.block);
		homes[i].leg = i;
	}
	return g->leg_count;
}

static void write_version(struct host *h, u32 version)
{
	u8 data[KVP_BLOCK_SIZE];

	fill_version(data, version);
	host_write_special(h, SELF, data);
	host_checkpoint(h);
}

/* Let one home after the other lose a write. @noticed: a scrub must find it; false for old sums. */
static void lose_a_write(struct host *h, bool noticed)
{
	struct kvp_place homes[MAX_DISKS];
	u8 old[KVP_BLOCK_SIZE];
	u32 n = homes_of(h, homes), i;

	host_write(h, SELF - 6, 12, false);
	host_checkpoint(h);
	for (i = 0; i < n; i++) {
		write_version(h, 2 * i + 1);
		image_read(&disks.img[homes[i].leg], homes[i].block, old);
		write_version(h, 2 * i + 2);
		image_write_data(&disks.img[homes[i].leg], homes[i].block, old);
		expect_scrub(h, noticed, 0);
		if (noticed)
			host_read_check(h, SELF);
	}
}

static void is_noticed(struct script *t)
{
	if (!t->host.pool->seed.folded)
		sim_fail("old sums: the case was not set up");
	lose_a_write(&t->host, true);
}

/* This proves the contents above. The last version is good again. */
static void passes_with_old_sums(struct script *t)
{
	lose_a_write(&t->host, false);
	write_version(&t->host, 100);
}

/* A reader gets the newest version, from whichever leg it reads first. */
static void is_not_read(struct script *t)
{
	struct host *h = &t->host;
	struct kvp_place homes[MAX_DISKS];
	u8 old[KVP_BLOCK_SIZE];
	u32 n = homes_of(h, homes), i;

	if (kvp_pool_set(h->pool, KVP_T_RAM_CACHE, 0))
		sim_fail("the RAM cache cannot be switched off");
	for (i = 0; i < n; i++) {
		write_version(h, 2 * i + 1);
		image_read(&disks.img[homes[i].leg], homes[i].block, old);
		write_version(h, 2 * i + 2);
		image_write_data(&disks.img[homes[i].leg], homes[i].block, old);
		host_read_check(h, SELF);
		host_read_check(h, SELF);
		write_version(h, 2 * i + 3);
	}
}

void run_sums(void)
{
	const struct host_start mirror = { .legs = 2 }, rows = { .legs = 3, .parity = true };
	bool old_sums = sim_old_sums;
	char name[80];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		layout = &layouts[i];
		sim_old_sums = false;
		snprintf(name, sizeof(name), "lost:%s:mirror", layout->name);
		lives_of(name, is_noticed, NULL, &mirror, LEG_BLOCKS);
		snprintf(name, sizeof(name), "lost:%s:parity1", layout->name);
		lives_of(name, is_noticed, NULL, &rows, LEG_BLOCKS);
		snprintf(name, sizeof(name), "lost:%s:read", layout->name);
		lives_of(name, is_not_read, NULL, &mirror, LEG_BLOCKS);
		sim_old_sums = true;
		snprintf(name, sizeof(name), "lost:%s:old-sums", layout->name);
		lives_of(name, passes_with_old_sums, NULL, &mirror, LEG_BLOCKS);
	}
	sim_old_sums = old_sums;
}
