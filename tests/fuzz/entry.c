// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of a log in sequence, patched and mostly sealed again. An entry that decodes must be safe
 * to use. Its records go through the replay, whose result is compared with a plain reading of them.
 * Input: shape, number of the first failing allocation, then entries: flags, number of records,
 * records, number of patches, patches.
 */
#include <stdlib.h>
#include <string.h>

#include "format/logplace.h"
#include "format/logstripe.h"
#include "fuzz.h"
#include "kernel.h"
#include "policy/replay.h"
#include "shapes.h"

#define UNSEALED	1	/* the sum is as the patches left it */
#define SHORT		2	/* fewer blocks were read than the entry has */
#define SETTLED		4	/* its intents and discards are resolved */
#define PLAIN		8	/* records are 16 bytes as they are on disk */

#define MOST		512	/* records that are remembered */

struct known {
	struct kvp_rec rec;
	struct kvp_log_at at;
	bool settled;
};

static struct known known[MOST];
static u32 nr_known;

/* --- an entry ----------------------------------------------------------------------------- */

static void some_record(struct input *in, u32 flags, const struct kvp_sb *sb,
			struct kvp_disk_rec *d)
{
	struct kvp_rec r;

	if (flags & PLAIN) {
		d->addr = cpu_to_le64(take(in, 8));
		d->count = cpu_to_le32((u32)take(in, 4));
		d->crc = cpu_to_le32((u32)take(in, 4));
		return;
	}
	r.kind = (u32)take(in, 1) % (KVP_REC_CLEAN + 2);
	r.block = take(in, 1);
	r.count = r.kind == KVP_REC_DISCARD ? (u32)take(in, 1) : 1;
	r.crc = (u32)r.block * 77;
	r.vdev = r.kind == KVP_REC_PARITY ? (u32)r.block % (sb->vdev_count + 1) : 0;
	kvp_rec_encode(&r, d);
}

static u32 payload_of(const void *buf, u32 records)
{
	const struct kvp_disk_rec *d = (const void *)((const u8 *)buf + KVP_LOG_HDR_SIZE);
	struct kvp_rec r;
	u32 n = 0;

	while (records--) {
		kvp_rec_decode(d++, &r);
		n += kvp_rec_has_payload(&r);
	}
	return n;
}

/* Return: flags; @avail: blocks of @buf, which has room for KVP_MAX_HDR_BLOCKS. */
static u32 build(struct input *in, const struct kvp_sb *sb, const struct kvp_geometry *g, u64 lsn,
		 u8 *buf, u32 *avail)
{
	u32 flags = (u32)take(in, 1), n = (u32)take(in, 1), patches, i;
	struct kvp_log_hdr h = {
		.nonce = sb->log_nonce, .epoch = sb->epoch, .lsn = lsn, .prev_lsn = lsn - 1,
			.durable = lsn,
		.rec_count = n, .hdr_blocks = kvp_log_hdr_blocks(n),
	};
	struct kvp_disk_log_hdr *d = (struct kvp_disk_log_hdr *)buf;
	size_t bytes = KVP_LOG_HDR_SIZE + n * sizeof(struct kvp_disk_rec);

	for (i = 0; i < n; i++)
		some_record(in, flags, sb, (struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE) + i);
	h.blocks = kvp_log_entry_blocks(g, h.hdr_blocks, payload_of(buf, n));
	kvp_log_seal(buf, &h, sb->nonce);
	patches = (u32)take(in, 1) * 8;
	if (patches) {
		struct input some = { in->at, patches < in->left ? patches : in->left };

		in->at += some.left;
		in->left -= some.left;
		patch(&some, buf, bytes);
	}
	*avail = h.hdr_blocks;
	/* as many records as the header says now, if they fit */
	i = le32_to_cpu(d->rec_count);
	if (i <= (KVP_MAX_HDR_BLOCKS * KVP_BLOCK_SIZE - KVP_LOG_HDR_SIZE) /
	    sizeof(struct kvp_disk_rec)) {
		bytes = KVP_LOG_HDR_SIZE + i * sizeof(struct kvp_disk_rec);
		*avail = kvp_log_hdr_blocks(i);
	}
	if (!(flags & UNSEALED)) {
		__le64 seeds[2] = { cpu_to_le64(sb->nonce), d->nonce };

		d->csum = 0;
		d->csum = cpu_to_le32(kvp_crc32c(kvp_crc32c(~0u, seeds, sizeof(seeds)), buf,
						 bytes));
	}
	if (flags & SHORT)
		*avail -= 1;
	return flags;
}

/* Header, payload and parity fill the entry without overlap. */
static void check_shape(const struct kvp_geometry *g, const struct kvp_log_hdr *h)
{
	const struct kvp_log_stripe s = { g->leg_count, h->hdr_blocks, h->payload };
	u8 there[KVP_MAX_ENTRY_BLOCKS] = { 0 };
	u32 i, at, index, end;

	sure(h->blocks <= KVP_MAX_ENTRY_BLOCKS && h->hdr_blocks <= KVP_MAX_HDR_BLOCKS,
	     "length of an entry");
	sure(h->open_count <= KVP_MAX_OPEN_INTENTS, "open intents");
	for (i = 0; i < h->payload; i++) {
		at = kvp_log_payload_at(g, h, i);
		sure(at < h->blocks && !there[at]++, "block %u of the payload lies at %u", i, at);
		if (!kvp_log_striped(g))
			continue;
		sure(kvp_log_stripe_part(&s, at, &index) == KVP_LOG_PART_PAYLOAD && index == i,
		     "part of an entry");
		sure(kvp_log_stripe_row(&s, at, &end) < at && at < end && end <= h->blocks,
		     "row of a block");
		sure(kvp_log_row_first(at, kvp_log_row(g, h, at)) == kvp_log_stripe_row(&s, at,
			&end) &&
		     kvp_log_row_blocks(kvp_log_row(g, h, at)) <= g->leg_count, "row, in a byte");
	}
	for (i = 0; kvp_log_striped(g) && i < h->blocks; i++)
		sure((kvp_log_stripe_part(&s, i, &index) == KVP_LOG_PART_PAYLOAD) == there[i],
		     "block %u", i);
}

/* --- the replay ---------------------------------------------------------------------------- */

static int feed(struct kvp_replay *replay, const struct kvp_sb *sb, const struct kvp_geometry *g,
		const u8 *buf,
		const struct kvp_log_hdr *h, u32 flags)
{
	const struct kvp_disk_rec *d = (const void *)(buf + KVP_LOG_HDR_SIZE);
	u32 i, payload = 0;

	for (i = 0; i < h->rec_count && nr_known < MOST; i++) {
		struct known *k = &known[nr_known];
		u32 at = 0;
		int ret;

		kvp_rec_decode(&d[i], &k->rec);
		if (kvp_rec_has_payload(&k->rec))
			at = kvp_log_payload_at(g, h, payload++);
		sure(k->rec.kind == KVP_REC_PARITY ||
		     (k->rec.count && k->rec.block < sb->pool_blocks &&
		      k->rec.count <= sb->pool_blocks - k->rec.block),
		     "a record beyond the end");
		if (k->rec.kind == KVP_REC_PARITY || !kvp_rec_counts(&k->rec))
			continue;
		k->at = (struct kvp_log_at){ h->lsn, i };
		k->settled = flags & SETTLED && k->rec.kind != KVP_REC_DATA;
		if (k->settled) {
			ret = kvp_replay_resolved(replay, &k->rec);
			if (ret)
				return ret;
		} else {
			ret = kvp_replay_add(replay, &k->rec, k->at, at ? h->lsn + at : 0,
					     at ? kvp_log_row(g, h, at) : 0);
			if (ret)
				return ret;
		}
		nr_known++;
	}
	return 0;
}

/* Checks the chain of @block, from the newest record back. */
static void check_block(struct kvp_replay *replay, u64 block)
{
	const struct kvp_replay_rec *rec = kvp_replay_newest(replay, block);
	u32 i = nr_known;

	while (i--) {
		const struct known *k = &known[i];

		if (block < k->rec.block || block - k->rec.block >= k->rec.count)
			continue;
		if (k->settled || k->rec.kind == KVP_REC_DISCARD)
			break;
		sure(rec && rec->block == block && rec->kind == k->rec.kind &&
		     rec->lsn == k->at.lsn &&
		     rec->rec == k->at.rec && rec->crc == k->rec.crc, "record %u of block %llu", i,
		     (unsigned long long)block);
		sure(!rec->payload == (k->rec.kind == KVP_REC_INTENT), "payload of a record");
		rec = rec->older;
		if (k->rec.kind == KVP_REC_DATA)
			break;
	}
	sure(!rec, "block %llu has more records than there are", (unsigned long long)block);
}

/* A block is discarded, unless a record that counts for all before it is newer than the discard. */
static void check_discarded(struct kvp_replay *replay, u64 block)
{
	struct kvp_replay_discard *discard;
	bool want = false, is = false;
	u32 i;

	for (i = 0; i < nr_known; i++) {
		const struct known *k = &known[i];

		if (block < k->rec.block || block - k->rec.block >= k->rec.count)
			continue;
		if (k->settled)
			want = false;
		else if (k->rec.kind == KVP_REC_DISCARD)
			want = true;
	}
	list_for_each_entry(discard, &replay->discards, list)
		is |= block >= discard->block && block < discard->end;
	sure(want == is, "block %llu is%s discarded", (unsigned long long)block, is ? "" : " not");
}

static void check_replay(struct kvp_replay *replay)
{
	u32 i;

	for (i = 0; i < nr_known; i++) {
		u64 first = known[i].rec.block, last = first + known[i].rec.count - 1;

		check_block(replay, first);
		check_block(replay, last);
		check_discarded(replay, first);
		check_discarded(replay, last);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	const struct kvp_sb *sb = shape((u32)take(&in, 1) % SHAPES);
	struct kvp_log_track track;
	struct kvp_replay replay;
	u64 lsn = sb->log_tail;
	int ret = 0;

	fuzz_memory_fails_at = (u32)take(&in, 1);
	nr_known = 0;
	kvp_log_track(sb, &track);
	kvp_replay_init(&replay);
	while (!ret && in.left && nr_known < MOST && lsn < sb->log_commit) {
		const struct kvp_geometry *g = &sb->vdevs[kvp_log_turn(&track, lsn)];
		u8 *buf = calloc(KVP_MAX_HDR_BLOCKS, KVP_BLOCK_SIZE), *exact;
		u32 avail, flags = build(&in, sb, g, lsn, buf, &avail);
		struct kvp_why why = { "" };
		struct kvp_log_hdr h;
		u64 epoch;

		/* so that the sanitizers notice a read beyond the end */
		exact = malloc(avail ? avail * KVP_BLOCK_SIZE : 1);
		memcpy(exact, buf, avail * KVP_BLOCK_SIZE);
		free(buf);
		kvp_log_epoch(exact, avail, sb->nonce, &epoch);
		if (avail)
			kvp_log_hdr_claims(exact);
		ret = kvp_log_decode(g, exact, avail, sb->nonce, sb->log_nonce, lsn,
				     sb->pool_blocks, &h, &why);
		reached(!ret);
		if (ret) {
			sure(*why.text, "refused (%d) without a reason", ret);
		} else if (kvp_log_rows_known(sb, exact, &h)) {
			check_shape(g, &h);
			ret = feed(&replay, sb, g, exact, &h, flags);
			lsn += h.blocks;
		}
		free(exact);
		if (ret == -EUCLEAN || ret == -ENODATA)
			ret = 0, lsn = kvp_log_segment_end(g, lsn);
		else if (!ret)
			lsn += !h.blocks;
	}
	if (!ret)
		check_replay(&replay);
	kvp_replay_exit(&replay);
	return 0;
}

void fuzz_seeds(void)
{
	static const u8 records[] = {
		0, 0, /* shape, memory */
		0, 3, KVP_REC_DATA, 17, KVP_REC_INTENT, 18, KVP_REC_DISCARD, 100, 40, 0,
		0, 4, KVP_REC_INTENT, 17, KVP_REC_CLEAN, 5, KVP_REC_DATA, 18, KVP_REC_INTENT, 18, 0,
		SETTLED, 1, KVP_REC_DISCARD, 10, 8, 0,
		0, 1, KVP_REC_PARITY, 0, 0,
		UNSEALED, 1, KVP_REC_DATA, 3, 1, 0, 8, 0, 1, 0, 0, 0, 0,
	};
	/* The golden pool has 500 blocks. */
	static const u8 beyond[] = { 0, 0, 0, 1, KVP_REC_DISCARD, 255, 255, 0 };
	u8 text[sizeof(records)];
	u32 i;

	memcpy(text, records, sizeof(text));
	for (i = 0; i < SHAPES; i++) {
		text[0] = (u8)i;
		seed(text, sizeof(text));
	}
	text[1] = 3;
	seed(text, sizeof(text));
	seed(beyond, sizeof(beyond));
}
