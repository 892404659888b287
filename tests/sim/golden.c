// SPDX-License-Identifier: GPL-2.0-only
/*
 * The format does not change: images made by golden.py, which shares no code with us, equal our
 * encoding, and decode to the same values. Also the promises of the pure parts for every size.
 */
#include <stdlib.h>
#include <string.h>

#include "format/regions.h"
#include "format/spare.h"
#include "format/tunables.h"
#include "golden_data.h"
#include "io/io.h"
#include "suite.h"

static void test(const char *name, bool (*fn)(void))
{
	if (wanted(name))
		result(name, fn());
}

/* --- images --------------------------------------------------------------------------- */

static bool same_as_golden(const void *got, size_t size, const struct golden_line *lines, u32 nr)
{
	u8 *want = calloc(1, size);
	bool good = true;
	size_t i;

	for (i = 0; i < nr; i++)
		memcpy(want + lines[i].at, lines[i].bytes, 16);
	for (i = 0; good && i < size; i++)
		good = expect(want[i] == ((const u8 *)got)[i], "byte %zu is %02x, should be %02x",
			      i,
			      ((const u8 *)got)[i], want[i]);
	free(want);
	return good;
}

static void golden_uuid(u8 *uuid, u32 n)
{
	u32 i;

	for (i = 0; i < 16; i++)
		uuid[i] = n * 16 + i;
}

static struct kvp_sb *golden_sb(void)
{
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	u32 i;

	golden_uuid(sb->pool_uuid, 1);
	golden_uuid(sb->leg_uuid, 3);
	sb->self_offset = 64 * 1024 + 5 * 16384;
	sb->epoch = 7;
	sb->sequence = 21;
	sb->write_time = 1700000100;
	sb->create_time = 1700000000;
	sb->leg_index = 1;
	sb->flags = KVP_SB_CLEAN;
	sb->nonce = 0x1122334455667788ull;
	sb->log_nonce = 0x99aabbccddeeff00ull;
	sb->log_tail = 2048;
	sb->log_prev_lsn = 2000;
	sb->log_prev_csum = 0xcafebabe;
	sb->era = 12;
	sb->log_commit = 2100;
	sb->checkpoint = 33;
	sb->written_blocks = 400;
	sb->poisoned_blocks = 2;
	sb->pool_blocks = 500;
	sb->vdev_count = 1;
	sb->leg_count = 2;
	sb->fork_count = 2;
	sb->root_count = 1;
	sb->forks[0] = 0xf0f1;
	sb->forks[1] = 0xf0f2;
	sb->tunable_mask = 5;
	sb->tunables[0] = 1 << 22;
	sb->tunables[2] = 1 << 23;
	sb->scrub = (struct kvp_scrub_info){ 9, 1700000001, 1700000002, 3, 1, KVP_SCRUB_PAUSED };
	sb->trim = (struct kvp_trim_info){ 0x123, 0x45, KVP_TRIM_RUNNING };
	sb->event_seq = 77;
	strcpy(sb->name, "pool");
	strcpy(sb->comment, "comment");
	sb->host = 0x0123456789abcdefull;
	strcpy(sb->host_name, "host");
	sb->vdevs[0] = (struct kvp_geometry){ KVP_VDEV_MIRROR, 0, 2, 1, 256, 512, 4, 256, 1536, 512,
					      0, 288, 0 };
	for (i = 0; i < 2; i++) {
		golden_uuid(sb->legs[i].uuid, 2 + i);
		sb->legs[i].state = 1 + i;
		sb->legs[i].in_sync_era = 11;
		sb->legs[i].size_blocks = 2304;
		sb->legs[i].err_read = 1;
		sb->legs[i].err_write = 2;
		sb->legs[i].err_checksum = 3;
		sb->legs[i].healed = 4;
	}
	sb->roots[0] = 0x40000009deadbeefull | 3ull << 32;
	kvp_map_build(sb, &sb->map);
	return sb;
}

static bool golden_superblock_test(void)
{
	struct kvp_sb *sb = golden_sb(), *back = calloc(1, sizeof(*back));
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_why why;
	bool good;

	kvp_sb_encode(sb, d);
	good = same_as_golden(d, sizeof(*d), golden_superblock, ARRAY_SIZE(golden_superblock));
	good &= expect(!kvp_sb_decode(d, sb->self_offset, 2304, back, &why), "refused: %s",
		       why.text);
	good &= expect(!memcmp(sb, back, sizeof(*sb)), "decoded to something else");
	good &= expect(kvp_sb_decode(d, sb->self_offset + 16384, 2304, back, &why) == -EUCLEAN,
		       "accepted at another place");
	d->version = cpu_to_le32(2);
	good &= expect(kvp_sb_decode(d, sb->self_offset, 2304, back, &why) == -EUCLEAN,
		       "accepted with a bad sum");
	/* Regions of before extents were smaller than leaves: refused, not misread. */
	sb->incompat = 1;
	kvp_sb_encode(sb, d);
	good &= expect(kvp_sb_decode(d, sb->self_offset, 2304, back, &why) == -EOPNOTSUPP,
		       "accepted with unknown extents");
	memset(d, 0, sizeof(*d));
	good &= expect(kvp_sb_decode(d, sb->self_offset, 2304, back, &why) == -ENODATA, "zeros");
	free(sb);
	free(back);
	free(d);
	return good;
}

/* Each byte of a label of a spare that differs is found, whatever the sum says. */
static bool spare_bytes_count(const struct kvp_disk_sb *good, u64 at)
{
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_spare s;
	struct kvp_why why;
	bool sound = true;
	size_t i;
	u32 sealed;

	for (i = 0; sound && i < sizeof(*d); i++)
		for (sealed = 0; sealed < 2; sealed++) {
			int ret;

			*d = *good;
			((u8 *)d)[i] ^= 0x80;
			d->csum = sealed ? 0 : d->csum;
			if (sealed)
				d->csum = cpu_to_le32(kvp_crc32c(~0u, d, sizeof(*d)));
			ret = kvp_spare_decode(d, at, 2304, &s, &why);
			/* With a right sum these may be anything. */
			sound &= expect(ret ||
					(sealed && ((i >= 16 && i < 20) || (i >= 48 && i < 80) ||
						(i >= 112 && i < 120) || (i >= 664 && i < 728))),
					"byte %zu is another, sum %u: taken", i, sealed);
		}
	free(d);
	return sound;
}

/* The list of spares: one after the other, the last eight bytes of all vdevs, used or not. */
static bool spare_list_test(void)
{
	struct kvp_sb *sb = golden_sb(), *back = calloc(1, sizeof(*back));
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	u8 raw[KVP_MAX_SPARES * 16];
	struct kvp_why why;
	bool good = true;
	u32 i;

	for (i = 0; i < KVP_MAX_SPARES; i++)
		golden_uuid(sb->spares[i], 20 + i);
	kvp_sb_encode(sb, d);
	for (i = 0; i < KVP_MAX_VDEVS; i++)
		memcpy(raw + 8 * i, (u8 *)d + 1024 + 128 * i + 120, 8);
	good &= expect(!memcmp(raw, sb->spares, sizeof(raw)), "it lies elsewhere");
	good &= expect(!kvp_sb_decode(d, sb->self_offset, 2304, back, &why), "refused: %s",
		       why.text);
	good &= expect(!memcmp(sb, back, sizeof(*sb)), "decoded to something else");
	good &= expect(kvp_spares_find(back, sb->spares[7]) == 7, "the last one is not found");
	memset(back->spares[3], 0, 16);
	good &= expect(kvp_spares_find(back, sb->spares[3]) == KVP_MAX_SPARES, "found, and gone");
	good &= expect(kvp_spares_find(back, back->spares[3]) == 3, "the free place");
	free(sb);
	free(back);
	free(d);
	return good;
}

/* What no module writes of a trim is no trim: the superblock is good without it. */
static bool forged_trim_test(void)
{
	static const struct kvp_trim_info trims[] = {
		{ 512, 512, KVP_TRIM_FINISHED }, { 0, 0, KVP_TRIM_FAILED },
		{ 513, 0, KVP_TRIM_RUNNING }, { ~0ull, 0, KVP_TRIM_RUNNING },
		{ 9, 513, KVP_TRIM_RUNNING }, { 9, ~0ull, KVP_TRIM_RUNNING },
		{ 9, 9, KVP_TRIM_FAILED + 1 }, { 9, 9, 255 },
	};
	struct kvp_sb *sb = golden_sb(), *back = calloc(1, sizeof(*back));
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_trim_info want;
	struct kvp_why why;
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(trims); i++) {
		want = i < 2 ? trims[i] : (struct kvp_trim_info){ 0 };
		sb->trim = trims[i];
		kvp_sb_encode(sb, d);
		good &= expect(!kvp_sb_decode(d, sb->self_offset, 2304, back, &why),
			       "trim %u is refused: %s", i, why.text);
		good &= expect(!memcmp(&want, &back->trim, sizeof(want)), "trim %u at %llu, state %u",
			       i, kvp_block_nr(back->trim.cursor), back->trim.state);
	}
	free(sb);
	free(back);
	free(d);
	return good;
}

static bool golden_spare_test(void)
{
	struct kvp_spare s = { .size_blocks = 2304, .create_time = 1700000000, .name = "pool" };
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	u64 at = kvp_spare_offset(2304, 0);
	struct kvp_spare back;
	struct kvp_why why;
	bool good;

	golden_uuid(s.pool_uuid, 1);
	golden_uuid(s.uuid, 3);
	kvp_spare_encode(&s, at, d);
	good = same_as_golden(d, sizeof(*d), golden_spare, ARRAY_SIZE(golden_spare));
	good &= expect(!kvp_spare_decode(d, at, 2304, &back, &why), "refused: %s", why.text);
	good &= expect(!memcmp(&s, &back, sizeof(s)), "decoded to something else");
	good &= expect(kvp_spare_decode(d, kvp_spare_offset(2304, 1), 2304, &back, &why) ==
		       -EUCLEAN,
		       "accepted at the other end");
	good &= expect(kvp_spare_decode(d, at, 2305, &back, &why) == -EUCLEAN,
		       "accepted on a device that has grown");
	good &= expect(kvp_sb_decode(d, at, 2304, sb, &why) == -EOPNOTSUPP,
		       "taken for a leg of a pool: %s", why.text);
	good &= spare_bytes_count(d, at);
	s.name[1] = '\n';
	kvp_spare_encode(&s, at, d);
	good &= expect(kvp_spare_decode(d, at, 2304, &back, &why) == -EUCLEAN,
		       "a control character in the pool's name is accepted");
	free(sb);
	sb = golden_sb();
	kvp_sb_encode(sb, d);
	good &= expect(kvp_spare_decode(d, sb->self_offset, 2304, &back, &why) == -ENODATA,
		       "a leg is taken for a spare");
	memset(d, 0, sizeof(*d));
	good &= expect(kvp_spare_decode(d, at, 2304, &back, &why) == -ENODATA, "zeros");
	free(sb);
	free(d);
	return good;
}

static bool golden_log_entry_test(void)
{
	static const struct kvp_rec recs[] = {
		{ 17, 1, 0xaabbccdd, KVP_REC_DATA, 0 }, { 18, 1, 0x01020304, KVP_REC_INTENT, 0 },
		{ 100, 40, 0, KVP_REC_DISCARD, 0 },
	};
	static const struct kvp_geometry g = { KVP_VDEV_MIRROR, 0, 2, 1, 256, 512, 4, 256, 1536,
					       512, 0, 288, 0 };
	struct kvp_log_hdr h = {
		.nonce = 0x99aabbccddeeff00ull, .epoch = 7, .lsn = 2050, .prev_lsn = 2048,
		.durable = 2048, .write_time = 1700000200, .prev_csum = 0x12345678, .blocks = 2,
		.hdr_blocks = 1, .rec_count = 3, .open_count = 2, .open = { 2040, 2044 },
			.payload = 1,
	}, back;
	u8 *buf = malloc(4096);
	struct kvp_why why;
	bool good;
	u32 i;

	memset(&back, 0, sizeof(back));
	memset(buf, 0x77, 4096);
	for (i = 0; i < 3; i++)
		kvp_rec_encode(&recs[i], (struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE) + i);
	kvp_log_seal(buf, &h, 0x1122334455667788ull);
	good = same_as_golden(buf, 4096, golden_log_entry, ARRAY_SIZE(golden_log_entry));
	/* Over an entry that had some records more. */
	memset(buf + KVP_LOG_HDR_SIZE + 48, 0x77, 160);
	good &= expect(kvp_log_seal_over(buf, &h, 0x1122334455667788ull, KVP_LOG_HDR_SIZE + 208) ==
		       KVP_LOG_HDR_SIZE + 48, "bytes of a header");
	good &= same_as_golden(buf, 4096, golden_log_entry, ARRAY_SIZE(golden_log_entry));
	good &= expect(!kvp_log_decode(&g, buf, 1, 0x1122334455667788ull, h.nonce, 2050, 500, &back,
				       &why), "refused: %s", why.text);
	good &= expect(!memcmp(&h, &back, sizeof(h)), "decoded to something else");
	good &= expect(kvp_log_decode(&g, buf, 1, 0x1122334455667788ull, h.nonce, 2051, 500, &back,
				      &why) == -EUCLEAN, "accepted at another place");
	good &= expect(kvp_log_decode(&g, buf, 1, 1, h.nonce, 2050, 500, &back, &why) == -EUCLEAN,
		       "accepted by another pool");
	good &= expect(kvp_log_decode(&g, buf, 1, 0x1122334455667788ull, 5, 2050, 500, &back,
				      &why) ==
		       -ENODATA, "accepted under another nonce");
	good &= expect(kvp_log_decode(&g, buf, 1, 0x1122334455667788ull, h.nonce, 2050, 120, &back,
				      &why) == -EUCLEAN, "accepted a record beyond the end");
	free(buf);
	return good;
}

static bool golden_sums_test(void)
{
	struct kvp_seed seed = kvp_sum_seed(0x1122334455667788ull, 0, 0), folded = seed;
	u8 data[4096];
	u32 i;
	bool good;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + 3;
	folded.folded = true;
	good = expect(seed.crc == GOLDEN_SEED, "seed %08x", seed.crc);
	good &= expect(kvp_block_sum(seed, 17, data) == GOLDEN_BLOCK_17, "sum of a block");
	good &= expect(kvp_block_sum(folded, 17, data) == GOLDEN_FOLDED_17, "with its fold");
	good &= expect(kvp_page_sum(folded, 1, 5, data) == GOLDEN_PAGE_1_5, "a page has no fold");
	good &= expect(kvp_page_sum(seed, 1, 5, data) == GOLDEN_PAGE_1_5, "sum of a page");
	return good;
}

/* Every bit of the input before the data; and of blocks that are xored. */
static bool zeros_sums_of(u64 features)
{
	struct kvp_seed seed = kvp_sum_seed(0x1122334455667788ull, 0, features), bits = seed;
	struct kvp_seed other = kvp_sum_seed(5, 3, features);
	u8 zeros[4096] = { 0 }, a[4096], b[4096], both[4096];
	bool good = true;
	u32 i;

	for (i = 0; i < 32; i++) {
		bits.crc = BIT(i);
		good &= expect(kvp_zeros_sum(bits, 0) == kvp_block_sum(bits, 0, zeros), "bit %u",
			       i);
	}
	for (i = 0; i < 64; i++)
		good &= expect(kvp_zeros_sum(seed, BIT(i)) == kvp_block_sum(seed, BIT(i), zeros),
			       "block 2^%u", i);
	for (i = 0; i < 4096; i++) {
		a[i] = i * 7 + 3;
		b[i] = i * i >> 3;
		both[i] = a[i] ^ b[i];
	}
	good &= expect((kvp_block_sum(other, 99, both) ^ kvp_zeros_sum(other, 99)) ==
		       (kvp_block_sum(seed, 17, a) ^ kvp_zeros_sum(seed, 17) ^
			kvp_block_sum(seed, 4711, b) ^ kvp_zeros_sum(seed, 4711)),
		       "sum of two blocks added up");
	return good;
}

static bool zeros_sums_test(void)
{
	bool old = zeros_sums_of(0);

	return zeros_sums_of(KVP_INCOMPAT_FOLDED_SUMS) && old;
}

/* Vectors of RFC 3720, appendix B.4; ours is not inverted. */
static bool crc_vectors_test(void)
{
	u8 zeros[32] = { 0 }, ones[32], up[32], down[32];
	bool good;
	u32 i;

	for (i = 0; i < 32; i++) {
		ones[i] = 0xff;
		up[i] = i;
		down[i] = 31 - i;
	}
	good = expect(~kvp_crc32c(~0u, zeros, 32) == 0x8a9136aa, "zeros");
	good &= expect(~kvp_crc32c(~0u, ones, 32) == 0x62a8ab43, "ones");
	good &= expect(~kvp_crc32c(~0u, up, 32) == 0x46dd794e, "up");
	good &= expect(~kvp_crc32c(~0u, down, 32) == 0x113fdb5c, "down");
	good &= expect(~kvp_crc32c(~0u, "123456789", 9) == 0xe3069283, "123456789");
	for (i = 0; i <= 32; i++)
		good &= expect(kvp_crc32c(kvp_crc32c(5, up, i), up + i, 32 - i) ==
			       kvp_crc32c(5, up, 32), "continued at %u", i);
	return good;
}

/* --- entries and pointers ------------------------------------------------------------------ */

static bool entries_test(void)
{
	u64 e = kvp_entry(0xdeadbeef, KVP_ERA_MAX, KVP_ENTRY_POISONED);
	u64 p = kvp_ptr(0x12345678, 99, 1, true);
	bool good;

	good = expect(e == 0xbfffffffdeadbeefull, "entry %llx", e);
	good &= expect(kvp_entry_crc(e) == 0xdeadbeef && kvp_entry_era(e) == KVP_ERA_MAX &&
		       kvp_entry_state(e) == KVP_ENTRY_POISONED, "entry taken apart");
	good &= expect(p == 0xc000006312345678ull, "pointer %llx", p);
	good &= expect(kvp_ptr_sum(p) == 0x12345678 && kvp_ptr_era(p) == 99 &&
		       kvp_ptr_slot(p) == 1 &&
		       kvp_ptr_poison(p) && !kvp_ptr_null(p) && kvp_ptr_null(0),
		       "pointer taken apart");
	return good;
}

/* --- layout --------------------------------------------------------------------------------- */

/* Pages of all levels have places of their own, inside the table. */
static bool pages_disjoint(const struct kvp_geometry *g)
{
	u64 end = g->table_start + kvp_table_blocks(g), last = 0;
	bool good = true;
	u32 level;

	for (level = 0; level < g->levels; level++) {
		u64 n = kvp_pages_at(g, level), i;
		u64 step = n > 3000 ? n / 1000 : 1;

		for (i = 0; i < n; i += step) {
			u64 a = kvp_page_block(g, level, i, 0), b = kvp_page_block(g, level, i, 1);

			good &= expect(b == a + KVP_SLOT_GROUP, "slots of page %llu", i);
			good &= expect(a >= g->table_start && b < end, "page %llu beyond the table",
				       i);
			good &= expect(step > 1 || i % KVP_SLOT_GROUP || a > last || (!level && !i),
				       "page %llu overlaps", i);
			last = max(last, b);
		}
	}
	return good;
}

static bool layout_test(void)
{
	struct rng rng = { 42 };
	struct kvp_geometry g;
	struct kvp_why why;
	bool good = true;
	u32 i, fits = 0;

	for (i = 0; good && i < 3000; i++) {
		u64 leg = 1 + (rng_next(&rng) >> (28 + rng_below(&rng, 28)));
		u64 log = rng_below(&rng, 3) ? 0 : (4ull << 20) + rng_below(&rng, 1u << 30);
		u32 legs = 1 + rng_below(&rng, 16);
		int ret;

		memset(&g, 0, sizeof(g));
		why.text[0] = 0;
		ret = kvp_layout(legs == 1 ? KVP_VDEV_SINGLE : KVP_VDEV_MIRROR, legs, leg, 0, log,
				 &g,
				 &why);
		good &= expect(!ret || (ret == -ENOSPC && why.text[0]),
			       "layout of %llu blocks on %u legs, log %llu: %d, %s",
			       leg, legs, log, ret, why.text);
		if (ret)
			continue;
		fits++;
		good &= expect(!kvp_geometry_check(&g, leg, &why), "%llu blocks: %s", leg,
			       why.text);
		good &= expect(!g.table_copy == (legs > 1), "copies of the table on %u legs", legs);
		good &= expect(kvp_geometry_check(&g, g.data_start + g.data_blocks + 255, &why) ==
			       -EUCLEAN, "fits a smaller leg");
		if (i % 16 == 0)
			good &= pages_disjoint(&g);
	}
	good &= expect(fits > 500, "only %u layouts fit", fits);
	good &= expect(kvp_layout(KVP_VDEV_SINGLE, 2, 1 << 20, 0, 0, &g, &why) == -EINVAL,
		       "single of 2");
	good &= expect(kvp_layout(KVP_VDEV_MIRROR, 17, 1 << 20, 0, 0, &g, &why) == -EINVAL,
		       "17 legs");
	good &= expect(kvp_layout(KVP_VDEV_MIRROR, 2, 1 << 20, 0, 1 << 20, &g, &why) == -EINVAL,
		       "log of 1 MiB");
	good &= expect(kvp_layout(KVP_VDEV_MIRROR, 2, 2047, 0, 4 << 20, &g, &why) == -ENOSPC,
		       "leg of 2047 blocks");
	return good;
}

/* Everything that lies on @leg at @block: once. */
static bool take_place(u8 *taken, const struct kvp_geometry *g, u64 leg_blocks, struct kvp_place p,
		       const char *what)
{
	if (!expect(p.leg < g->leg_count && p.block < leg_blocks, "%s beyond its leg", what))
		return false;
	return expect(!taken[p.leg * leg_blocks + p.block]++,
		      "%s where something else is: leg %u block %llu",
		      what, p.leg, p.block);
}

static bool take_table(u8 *taken, const struct kvp_geometry *g, u64 leg_blocks)
{
	bool good = true;
	u32 level, slot;
	u64 i;

	for (level = 0; level < g->levels; level++)
		for (i = 0; good && i < kvp_pages_at(g, level); i++) {
			struct kvp_place a = kvp_page_place(g, level, i, 0, 0);
			struct kvp_place b = kvp_page_place(g, level, i, 0, 1);

			good &= expect(a.leg != b.leg, "both copies of a page on leg %u", a.leg);
			for (slot = 0; slot < 2; slot++) {
				a = kvp_page_place(g, level, i, slot, 0);
				b = kvp_page_place(g, level, i, slot, 1);
				good &= expect(a.block >= g->table_start &&
					       a.block < g->log_start &&
					       b.block < g->log_start, "page %llu not in the table",
					       i);
				good = good && take_place(taken, g, leg_blocks, a, "page") &&
				       take_place(taken, g, leg_blocks, b, "page");
			}
		}
	return good;
}

static bool take_log(u8 *taken, const struct kvp_geometry *g, u64 leg_blocks)
{
	bool good = true;
	u64 lsn;

	for (lsn = 0; good && lsn < kvp_log_blocks(g); lsn++) {
		struct kvp_place a = kvp_log_place(g, lsn, 0), b = kvp_log_place(g, lsn, 1);

		good &= expect(a.leg != b.leg && a.block >= g->log_start &&
			       b.block < g->data_start &&
			       a.block < g->data_start, "lsn %llu", lsn);
		good = good && take_place(taken, g, leg_blocks, a, "log") &&
		       take_place(taken, g, leg_blocks, b, "log");
	}
	return good;
}

/*
 * Every block and every row's parity has a home and a word of the table of its own, and they know
 * one another.
 */
static bool take_rows(u8 *taken, u8 *words, const struct kvp_geometry *g, u64 leg_blocks)
{
	bool good = true;
	u64 row;
	u32 i;

	for (row = 0; good && row < kvp_row_count(g); row++) {
		u64 index = kvp_parity_index(g, row);

		good = take_place(taken, g, leg_blocks, kvp_parity_place(g, row), "parity") &&
		       expect(!words[index]++, "word of the parity of row %llu", row);
		for (i = 1; good && i < g->leg_count; i++) {
			u64 block = kvp_row_block(g, row, i), at = kvp_entry_index(g, block);

			good = expect(block < g->data_blocks && kvp_row_of(g, block) == row &&
				      kvp_piece_of(g, block) == i, "row %llu piece %u", row, i) &&
			       take_place(taken, g, leg_blocks, kvp_data_place(g, block),
					  "block") &&
			       expect(at >> KVP_PTRS_SHIFT == index >> KVP_PTRS_SHIFT &&
				      at >> KVP_PTRS_SHIFT == block / kvp_leaf_blocks(g),
				      "block %llu is below another leaf than its parity", block) &&
			       expect(!words[at]++, "word of block %llu", block);
		}
	}
	return good;
}

static bool parity_layout_one(u32 legs, u32 chunk, u64 leg_blocks, u64 log)
{
	struct kvp_geometry g = { .chunk_blocks = chunk };
	u8 *taken = calloc(legs, leg_blocks), *words;
	struct kvp_why why;
	bool good;
	int ret = kvp_layout(KVP_VDEV_PARITY1, legs, leg_blocks, 0, log, &g, &why);

	if (!expect(!ret, "%u legs, chunk %u: %s", legs, chunk, why.text))
		return false;
	words = calloc(kvp_pages_at(&g, 0), KVP_PTRS_PER_PAGE);
	good = expect(!kvp_geometry_check(&g, leg_blocks, &why), "%s", why.text) &&
	       expect(kvp_geometry_check(&g, g.data_start + kvp_home_blocks(&g) + 255,
					 &why) == -EUCLEAN,
		      "fits a smaller leg") &&
	       take_table(taken, &g, leg_blocks) && take_log(taken, &g, leg_blocks) &&
	       take_rows(taken, words, &g, leg_blocks);
	free(taken);
	free(words);
	return good;
}

static bool parity_layout_test(void)
{
	struct kvp_geometry g = { .chunk_blocks = 3 };
	bool good = true;
	struct kvp_why why;
	u32 legs, chunk;

	for (legs = 3; good && legs <= 16; legs++)
		for (chunk = 1; good && chunk <= 512 / legs; chunk *= 2)
			good = parity_layout_one(legs, chunk, 6000 + 777 * legs,
						 8ull << 20 << legs % 2);
	good &= expect(kvp_layout(KVP_VDEV_PARITY1, 3, 9000, 0, 0, &g, &why) == -EINVAL,
		       "chunk of 3");
	g.chunk_blocks = 64;
	good &= expect(kvp_layout(KVP_VDEV_PARITY1, 9, 90000, 0, 0, &g, &why) == -EINVAL,
		       "stripe of 576 blocks");
	g.chunk_blocks = 0;
	good &= expect(kvp_layout(KVP_VDEV_PARITY1, 2, 9000, 0, 0, &g, &why) == -EINVAL,
		       "two legs");
	good &= expect(!kvp_layout(KVP_VDEV_PARITY1, 16, 9000, 0, 4 << 20, &g, &why) &&
		       g.chunk_blocks == 16, "chunk by default: %u", g.chunk_blocks);
	return good;
}

/* --- tunables -------------------------------------------------------------------------------- */

static bool tunables_test(void)
{
	static const struct {
		const char *key, *text;
		int ret;
		u64 value;
	} cases[] = {
		{ "write_buffer", "64M", 0, 64 << 20 }, { "write_buffer", "4194304", 0, 4 << 20 },
		{ "write_buffer", "1M", -ERANGE, 0 }, { "write_buffer", "", -EINVAL, 0 },
		{ "write_buffer", "64MB", -EINVAL, 0 }, { "write_buffer", "-1", -EINVAL, 0 },
		{ "write_buffer", "64m", -EINVAL, 0 }, { "write_buffer", "0x10", -EINVAL, 0 },
		{ "write_buffer", "99999999999999999999999", -ERANGE, 0 },
		{ "write_buffer", "18446744073709551615T", -ERANGE, 0 },
		{ "commit_interval_ms", "250", 0, 250 }, { "commit_interval_ms", "1K", -EINVAL, 0 },
		{ "commit_interval_ms", "0", -ERANGE, 0 }, { "strict", "1", 0, 1 },
		{ "strict", "2", -EINVAL, 0 }, { "failmode", "wait", 0, 1 },
		{ "failmode", "error", 0, 0 }, { "failmode", "err", -EINVAL, 0 },
		{ "failmode", "error|wait", -EINVAL, 0 }, { "degraded_start", "auto", 0, 1 },
	};
	struct kvp_why why;
	bool good = true;
	char text[64];
	u64 value;
	int id, ret;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		id = kvp_tunable_find(cases[i].key);
		ret = id < 0 ? id : kvp_tunable_parse(id, cases[i].text, &value, &why);
		good &= expect(ret == cases[i].ret, "%s=%s: %d", cases[i].key, cases[i].text, ret);
		good &= expect(ret || value == cases[i].value, "%s=%s: %llu", cases[i].key,
			       cases[i].text, value);
		good &= expect(!ret || why.text[0], "%s=%s: no reason", cases[i].key,
			       cases[i].text);
	}
	good &= expect(kvp_tunable_find("nonsense") == -ENOENT, "nonsense is a tunable");
	for (id = 0; id < KVP_TUNABLES; id++) {
		kvp_tunable_print(id, kvp_tunables[id].def, text, sizeof(text));
		good &= expect(!kvp_tunable_parse(id, text, &value, &why) &&
			       value == kvp_tunables[id].def, "%s: its default does not parse",
			       kvp_tunables[id].key);
	}
	return good;
}

/* Of a request in two parts, a flush that failed is told, whatever the other part met. */
static bool first_error_test(void)
{
	static const int errors[][2] = {
		{ -EIO, -ENOMEM }, { -EIO, -ETIMEDOUT }, { -ENODATA, -EIO }, { -ENOMEM, -EIO },
	};
	bool good = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		struct kvp_io io = { .error = 0 };

		kvp_io_note_error(&io, errors[i][0]);
		kvp_io_note_error(&io, errors[i][1]);
		good &= expect(io.error == errors[i][0], "%d, then %d: told is %d", errors[i][0],
			       errors[i][1], io.error);
	}
	return good;
}

void run_golden(void)
{
	test("golden_superblock", golden_superblock_test);
	test("golden_spare", golden_spare_test);
	test("spare_list", spare_list_test);
	test("forged_trim", forged_trim_test);
	test("golden_log_entry", golden_log_entry_test);
	test("golden_sums", golden_sums_test);
	test("zeros_sums", zeros_sums_test);
	test("crc_vectors", crc_vectors_test);
	test("entries", entries_test);
	test("layout", layout_test);
	test("parity_layout", parity_layout_test);
	test("tunables", tunables_test);
	test("stripe_example", stripe_example_test);
	test("stripe_requests", stripe_requests_test);
	test("stripe_home", stripe_home_test);
	test("stripe_rows", stripe_rows_test);
	test("stripe_wide_rows", stripe_wide_rows_test);
	test("rcache_alone", rcache_alone_test);
	test("wbuf_alone", wbuf_alone_test);
	table_alone_tests();
	log_alone_tests();
	test("scache_alone", scache_alone_test);
	test("admission_alone", admission_alone_test);
	test("log_stripes", log_stripes_test);
	test("log_stripes_room", log_stripes_room_test);
	test("log_reserve", log_reserve_test);
	test("history", history_test);
	test("regions_example", regions_example_test);
	test("regions_extents", regions_extents_test);
	test("regions_of_many_pools", regions_property_test);
	test("regions_from_a_device", regions_hostile_test);
	test("turns_of_the_log", turns_choice_test);
	test("turns_are_shared", turns_share_test);
	test("streams_length", streams_length_test);
	test("streams_crowd", streams_crowd_test);
	test("first_error_of_a_request", first_error_test);
}
