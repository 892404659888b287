// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile devices. Superblocks, log entries and table pages are mutated, mostly with sums made to
 * match, so that they pass the first check. They go through the decoders and through a whole start.
 * No start may crash, hang, or return a wrong byte as right. Each refusal names the fault.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "forge.h"
#include "format/logplace.h"
#include "super/members.h"
#include "suite.h"

/* --- mutations ---------------------------------------------------------------------- */

static u64 odd_value(struct rng *rng)
{
	static const u64 values[] = {
		0, 1, 2, 3, 4, 15, 16, 17, 47, 48, 49, 255, 256, 512, 1023, 1024, 1025, 4095, 4096,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ull, 0x7fffffffffffffffull,
		0x8000000000000000ull, ~0ull, ~0ull - 1, 1ull << 52, (1ull << 56) - 1,
	};

	return rng_below(rng, 4) ? values[rng_below(rng, ARRAY_SIZE(values))] : rng_next(rng);
}

/* One to four changes: bits, bytes, words. Most fields are in the first kilobyte. */
static void mutate(struct rng *rng, u8 *p, u32 size, u32 hot)
{
	u32 n = 1 + rng_below(rng, 4);

	while (n--) {
		u32 at = rng_below(rng, rng_below(rng, 5) ? hot : size);
		u64 v = odd_value(rng);

		switch (rng_below(rng, 4)) {
		case 0:
			p[at] ^= 1u << rng_below(rng, 8);
			break;
		case 1:
			p[at] = (u8)v;
			break;
		case 2:
			memcpy(p + min(at & ~3u, size - 4), &v, 4);
			break;
		default:
			memcpy(p + min(at & ~7u, size - 8), &v, 8);
			break;
		}
	}
}

static void reseal_sb(struct kvp_disk_sb *d)
{
	d->csum = 0;
	d->csum = cpu_to_le32(kvp_crc32c(~0u, d, sizeof(*d)));
}

/* --- decoders -------------------------------------------------------------------------- */

struct material {
	struct kvp_disk_sb sb[32];
	u64 offset[32];
	u32 nr_sb;
	struct kvp_sb newest;
	u8 log[64][8 * 4096];
	u64 lsn[64];
	u32 nr_log;
	u8 leaf[4096];
};

static void collect_sbs(struct material *m, const struct image *img)
{
	struct kvp_sb *sb = malloc(sizeof(*sb));
	struct kvp_why why;
	u32 end, slot, i;

	for (end = 0; end < 2; end++)
		for (slot = 0; slot < KVP_SB_RING; slot++) {
			struct kvp_disk_sb *d = &m->sb[m->nr_sb];
			u64 at = kvp_sb_slot_offset(img->blocks, end, slot);

			for (i = 0; i < KVP_SB_BLOCKS; i++)
				image_read(img, (at >> 12) + i, (u8 *)d + i * 4096);
			if (kvp_sb_decode(d, at, img->blocks, sb, &why))
				continue;
			m->offset[m->nr_sb++] = at;
			if (kvp_sb_newer(sb, &m->newest))
				m->newest = *sb;
		}
	free(sb);
}

static void collect_log(struct material *m, const struct image *img)
{
	const struct kvp_geometry *g = &m->newest.vdevs[0];
	u64 i;
	u32 b;

	for (i = 0; i + 8 <= kvp_log_blocks(g) && m->nr_log < 64; i++) {
		const struct kvp_disk_log_hdr *d = (void *)m->log[m->nr_log];

		image_read(img, g->log_start + i, m->log[m->nr_log]);
		if (le32_to_cpu(d->magic) != KVP_LOG_MAGIC)
			continue;
		for (b = 1; b < 8; b++)
			image_read(img, g->log_start + i + b, m->log[m->nr_log] + b * 4096);
		m->lsn[m->nr_log++] = le64_to_cpu(d->lsn);
	}
}

/* The pool is so small that its only leaf is its root. */
static void collect_leaf(struct material *m, const struct image *img)
{
	const struct kvp_geometry *g = &m->newest.vdevs[0];
	u64 root = m->newest.roots[0];

	image_read(img, kvp_page_block(g, g->levels - 1, 0, kvp_ptr_slot(root)), m->leaf);
}

static bool try_sb(const struct material *m, struct rng *rng, struct kvp_disk_sb *d,
		   struct kvp_sb *out)
{
	u32 pick = rng_below(rng, m->nr_sb);
	struct kvp_why why = { "" };
	int ret;

	memcpy(d, &m->sb[pick], sizeof(*d));
	mutate(rng, (u8 *)d, sizeof(*d), 1300);
	if (rng_below(rng, 8))
		reseal_sb(d);
	ret = kvp_sb_decode(d, m->offset[pick], POOL_LEG_BLOCKS, out, &why);
	if (!ret)
		return true;
	return expect(why.text[0], "a superblock is refused (%d) without a reason", ret);
}

static bool try_log(const struct material *m, struct rng *rng, u8 *buf)
{
	u32 pick = rng_below(rng, m->nr_log), i;
	const struct kvp_geometry *g = &m->newest.vdevs[0];
	struct kvp_disk_log_hdr *d = (void *)buf;
	struct kvp_log_hdr h;
	struct kvp_why why = { "" };
	u64 epoch;
	int ret;

	memcpy(buf, m->log[pick], 8 * 4096);
	mutate(rng, buf, 8 * 4096, 400);
	if (rng_below(rng, 8)) {
		/* Sealing needs a sane number of records; the rest stays as mutated. */
		u32 recs = le32_to_cpu(d->rec_count) % 1024, bytes = KVP_LOG_HDR_SIZE + recs * 16;
		__le64 seed[2] = { cpu_to_le64(m->newest.nonce), d->nonce };

		d->csum = 0;
		if (recs == le32_to_cpu(d->rec_count))
			d->csum = cpu_to_le32(kvp_crc32c(kvp_crc32c(~0u, seed, 16), buf, bytes));
	}
	kvp_log_epoch(buf, 8, m->newest.nonce, &epoch);
	ret = kvp_log_decode(g, buf, 1 + rng_below(rng, 8), m->newest.nonce, le64_to_cpu(d->nonce),
			     rng_below(rng, 3) ? m->lsn[pick] : le64_to_cpu(d->lsn), POOL_BLOCKS,
			     &h,
			     &why);
	if (ret)
		return expect(why.text[0], "a log entry is refused (%d) without a reason", ret);
	if (!kvp_log_rows_known(&m->newest, buf, &h))
		return true;
	/* accepted input must be safe to use */
	for (i = 0; i < h.rec_count; i++) {
		struct kvp_rec r;

		kvp_rec_decode((struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE) + i, &r);
		if (!expect(r.block < POOL_BLOCKS && r.count && r.count <= POOL_BLOCKS - r.block,
			    "a record beyond the end was accepted"))
			return false;
	}
	return expect(h.blocks >= h.hdr_blocks && h.blocks <= KVP_MAX_ENTRY_BLOCKS &&
		      h.open_count <= KVP_MAX_OPEN_INTENTS, "an unsound header was accepted");
}

/*
 * A page does not describe itself, so every word must be safe as an entry and as a pointer. A
 * changed page must not verify, there or anywhere else.
 */
static bool try_page(const struct material *m, struct rng *rng, u8 *page)
{
	const struct kvp_geometry *g = &m->newest.vdevs[0];
	struct kvp_seed seed = kvp_sum_seed(m->newest.nonce, 0, 0);
	u32 i;
	u32 sum = kvp_ptr_sum(m->newest.roots[0]), level = rng_below(rng, KVP_MAX_LEVELS);
	u64 index = rng_below(rng, 4), blocks = kvp_table_blocks(g);
	bool same;

	memcpy(page, m->leaf, 4096);
	mutate(rng, page, 4096, 4096);
	same = !memcmp(page, m->leaf, 4096) && !level && !index;
	if (!expect((kvp_page_sum(seed, level, index, page) == sum) == same,
		    "a table page verifies that is not the one"))
		return false;
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		u64 word = le64_to_cpu(((__le64 *)page)[i]);
		u64 at = kvp_page_block(g, 0, 0, kvp_ptr_slot(word));

		if (!expect(kvp_entry_state(word) < 4 && kvp_entry_era(word) <= KVP_ERA_MAX &&
			    kvp_ptr_era(word) <= KVP_ERA_MAX && at >= g->table_start &&
			    at < g->table_start + blocks, "word %016llx leads astray", word))
			return false;
	}
	return true;
}

/* --- whole starts ---------------------------------------------------------------------------- */

struct hostile_start {
	struct host host;
	struct host_start start;
	struct oracle *o;
	bool forged;		/* with good sums: not damage, but a forgery */
	bool started;
};

/*
 * Damage: readable data is right. A forged superblock with a good sum may bring back an old
 * version, but never data that was not written there.
 */
static void read_all(struct hostile_start *hs)
{
	u8 *data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);
	u64 blocks = min(hs->host.pool->sb->pool_blocks, (u64)POOL_BLOCKS), block;
	char why[160];

	for (block = 0; block < blocks; block++) {
		if (host_read(&hs->host, block, data))
			continue;
		/* A table may lie that nothing was written. */
		if (hs->forged && !memchr_inv(data, 0, KVP_BLOCK_SIZE))
			continue;
		if (hs->forged ? !oracle_current(hs->o, block, data, 0, why) :
				 !oracle_allows(hs->o, block, data, ~0u, why))
			sim_fail("mutated leg%s: %s", hs->forged ? ", forged" : "", why);
	}
	kfree(data);
}

static void hostile_main(void *arg)
{
	struct hostile_start *hs = arg;
	int ret = host_start(&hs->host, hs->o, &hs->start);

	hs->started = !ret;
	if (ret) {
		if (!hs->host.refusal.why[0] || !hs->host.refusal.mend[0])
			sim_fail("refused with %d, but without words", ret);
		if (sim_memory_in_use())
			sim_fail("%u objects stay allocated after a refusal", sim_memory_in_use());
		return;
	}
	hs->host.may_fail = true;
	hs->host.lying = ~0ull;
	read_all(hs);
	host_write(&hs->host, 5, 2, true);
	host_stop(&hs->host);
}

static void read_slot(const struct image *img, u32 slot, struct kvp_disk_sb *d)
{
	u64 at = kvp_sb_slot_offset(img->blocks, slot / KVP_SB_RING, slot % KVP_SB_RING) >> 12;
	u32 i;

	for (i = 0; i < KVP_SB_BLOCKS; i++)
		image_read(img, at + i, (u8 *)d + i * 4096);
}

static void write_slot(struct image *img, u32 slot, const struct kvp_disk_sb *d)
{
	u64 at = kvp_sb_slot_offset(img->blocks, slot / KVP_SB_RING, slot % KVP_SB_RING) >> 12;
	u32 i;

	for (i = 0; i < KVP_SB_BLOCKS; i++)
		image_write_data(img, at + i, (const u8 *)d + i * 4096);
}

static void mutate_sbs(struct rng *rng, struct image *img, bool all)
{
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct rng same = *rng;
	u32 slot;

	rng_next(rng);
	for (slot = 0; slot < 2 * KVP_SB_RING; slot++) {
		/* The same change everywhere, or no good copy would lose against another. */
		struct rng change = all ? same : *rng;

		if (!all && rng_below(rng, 4))
			continue;
		read_slot(img, slot, d);
		mutate(&change, (u8 *)d, sizeof(*d), 1300);
		reseal_sb(d);
		write_slot(img, slot, d);
	}
	free(d);
}

static void mutate_blocks(struct rng *rng, struct image *img, u64 first, u64 count)
{
	u32 n = 1 + rng_below(rng, 8);
	u8 data[4096];

	while (n--) {
		u64 block = first + rng_below(rng, count);

		image_read(img, block, data);
		mutate(rng, data, sizeof(data), 400);
		image_write_data(img, block, data);
	}
}

/* Makes a leaf, and newest superblocks that name it. */
static void forge_leaf(struct rng *rng, struct image *img, const struct kvp_geometry *g)
{
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	u64 newest = 0, root = 0, forged, at;
	u8 page[4096];
	u32 slot;

	for (slot = 0; slot < 2 * KVP_SB_RING; slot++) {
		read_slot(img, slot, d);
		if (memcmp(d->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN) ||
		    le64_to_cpu(d->sequence) <= newest)
			continue;
		newest = le64_to_cpu(d->sequence);
		root = le64_to_cpu(d->roots[0]);
	}
	at = kvp_page_block(g, 0, 0, kvp_ptr_slot(root));
	image_read(img, at, page);
	mutate(rng, page, sizeof(page), sizeof(page));
	image_write_data(img, at, page);
	for (slot = 0; slot < 2 * KVP_SB_RING; slot++) {
		read_slot(img, slot, d);
		if (le64_to_cpu(d->roots[0]) != root)
			continue;
		forged = kvp_page_sum(kvp_sum_seed(le64_to_cpu(d->nonce), 0, 0), 0, 0, page);
		d->roots[0] = cpu_to_le64(kvp_ptr(forged, kvp_ptr_era(root), kvp_ptr_slot(root),
						  rng_below(rng, 2)));
		reseal_sb(d);
		write_slot(img, slot, d);
	}
	free(d);
}

/* --- a pool that was cut off with a full log, as material ------------------------------------- */

struct victim {
	struct host host;
	struct host_start start;
	struct oracle o;
	struct image img[MAX_DISKS];
	struct kvp_sb sb;	/* the newest */
	u32 forged_logs, forged_summaries;
};

/* One leg. True: the sums are good. */
static bool mutate_image(struct rng *rng, struct victim *v, struct image *img, u32 leg)
{
	const struct kvp_geometry *g = v->sb.vdevs;

	while (leg >= g->first_leg + g->leg_count)
		g++;
	switch (rng_below(rng, kvp_has_data(g) ? 6 : 4)) {
	case 0:
		mutate_sbs(rng, img, true);
		return true;
	case 1:
		mutate_sbs(rng, img, false);
		return true;
	case 2:
		mutate_blocks(rng, img, g->log_start, 80);
		break;
	case 3:
		mutate_blocks(rng, img, 0, KVP_LABEL_BLOCKS);
		mutate_blocks(rng, img, kvp_has_data(g) ? g->data_start : g->log_start,
			      kvp_has_data(g) ? kvp_home_blocks(g) : kvp_log_area(g));
		break;
	case 4:
		mutate_blocks(rng, img, g->table_start, kvp_table_blocks(g));
		break;
	default:
		forge_leaf(rng, img, g);
		return true;
	}
	return false;
}

/*
 * Forges the log, or a cache's summaries, on all legs; and nothing else. Otherwise rot at home
 * would be taken for the rest of a torn write.
 */
static bool forge_image(struct rng *rng, struct victim *v, struct image *img)
{
	int cache = kvp_cache_find(&v->sb);
	bool forged;

	if (cache >= 0 && !rng_below(rng, 4)) {
		forged = forge_summary(rng, img, &v->sb, cache);
		v->forged_summaries += forged;
	} else {
		forged = forge_log(rng, img, &v->sb);
		v->forged_logs += forged;
	}
	return forged;
}

/* True: the sums are good. */
static bool mutate_pool(struct rng *rng, struct victim *v, struct image *img)
{
	u32 n = 1 + (v->start.legs > 1 && rng_below(rng, 2));
	bool forged = false;

	if (rng_below(rng, 2))
		return forge_image(rng, v, img);
	while (n--) {
		u32 leg = rng_below(rng, v->start.legs);

		forged |= mutate_image(rng, v, &img[leg], leg);
	}
	return forged;
}

/* more than a small cache's log holds, so that there are summaries */
static void victim_main(void *arg)
{
	struct victim *v = arg;
	u32 i;

	if (host_start(&v->host, &v->o, &v->start))
		sim_fail("start: %s", v->host.refusal.why);
	for (i = 0; v->start.cache && i < 24; i++) {
		host_write(&v->host, 16 * (i % 16), 16, false);
		host_flush(&v->host);
		host_read_check(&v->host, 300 + i % 8);
	}
	if (v->start.cache)
		host_checkpoint(&v->host);
	for (i = 0; i < 8; i++) {
		host_write(&v->host, 3 * i, 4, false);
		host_flush(&v->host);
	}
	host_write(&v->host, 100, 30, false);
	host_discard(&v->host, 64, 9);
	host_flush(&v->host);
}

static void recovery_main(void *arg)
{
	struct victim *v = arg;

	if (host_start(&v->host, &v->o, &v->start))
		sim_fail("start: %s", v->host.refusal.why);
}

/* One life; it ends with the power, after @cut_at events of its trace if that is not 0. */
static void live(struct victim *v, void (*main)(void *), const struct image *img, u32 cut_at)
{
	struct sim_config config = { .seed = mix64(opt.seed, 808) };
	enum sim_end end;
	u32 i;

	disks_begin(img, v->start.legs);
	disks.cut_at = cut_at;
	end = sim_run(&config, main, v);
	if (end != (cut_at ? SIM_POWER_CUT : SIM_RETURNED)) {
		printf("FAIL making what is to be mutated\n");
		exit(2);
	}
	disks_end();
	for (i = 0; i < v->start.legs; i++)
		image_copy(&v->img[i], &disks.img[i]);
}

/* With a cut in the middle of the recovery from the first one, if @twice. */
static struct victim *make_victim(const struct host_start *shape, bool twice)
{
	const struct base *base = shape->cache ? base_cache(shape) : shape->parity ?
		base_parity(shape->legs, false) : base_pool(shape->legs, false);
	struct victim *v = calloc(1, sizeof(*v));
	struct material *m = calloc(1, sizeof(*m));
	struct image cut[MAX_DISKS];
	u32 i, events;

	oracle_copy(&v->o, &base->o);
	v->start = *shape;
	live(v, victim_main, base->img, 0);
	if (twice) {
		memcpy(cut, v->img, sizeof(cut));
		live(v, recovery_main, cut, 0);
		events = disks.trace.nr;
		for (i = 0; i < shape->legs; i++)
			image_free(&v->img[i]);
		live(v, recovery_main, cut, events / 2);
		for (i = 0; i < shape->legs; i++)
			image_free(&cut[i]);
	}
	collect_sbs(m, &v->img[0]);
	v->sb = m->newest;
	free(m);
	return v;
}

static void free_victim(struct victim *v)
{
	u32 i;

	for (i = 0; i < v->start.legs; i++)
		image_free(&v->img[i]);
	oracle_free(&v->o);
	free(v);
}

static bool hostile_decoders(void)
{
	static const struct host_start shape = { .legs = 1 };
	struct material *m = calloc(1, sizeof(*m));
	struct victim *v = make_victim(&shape, false);
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_sb *sb = malloc(sizeof(*sb));
	u8 *buf = malloc(8 * 4096);
	struct rng rng = { mix64(opt.seed, 4711) };
	u32 n = opt.rounds ?: opt.thorough ? 3000000 : 150000, i;
	bool good;

	collect_sbs(m, &v->img[0]);
	collect_log(m, &v->img[0]);
	collect_leaf(m, &v->img[0]);
	good = expect(m->nr_sb && m->nr_log && kvp_ptr_sum(m->newest.roots[0]) ==
		      kvp_page_sum(kvp_sum_seed(m->newest.nonce, 0, 0), 0, 0, m->leaf),
		      "nothing to mutate");
	for (i = 0; good && i < n; i++)
		good = i % 6 == 0 ? try_sb(m, &rng, d, sb) :
		       i % 6 == 1 ? try_page(m, &rng, buf) : try_log(m, &rng, buf);
	if (good && opt.thorough)
		printf("# hostile: %u superblocks, table pages and log entries\n", n);
	free(m);
	free(d);
	free(sb);
	free(buf);
	free_victim(v);
	return good;
}

/* An endless loop is killed, and counts as a failure. */
static void limit_processor(u32 seconds)
{
	const struct itimerval limit = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_PROF, &limit, NULL);
}

/* One start; @started is counted. */
static bool hostile_start(struct victim *v, u32 i, u32 *started)
{
	struct rng rng = { mix64(opt.seed, mix64(v->start.legs + 100 * v->start.cache, i)) };
	struct hostile_start *hs = calloc(1, sizeof(*hs));
	struct image img[MAX_DISKS];
	struct sim_config config;
	struct oracle o;
	bool good;
	u32 leg;

	oracle_copy(&o, &v->o);
	for (leg = 0; leg < v->start.legs; leg++)
		image_copy(&img[leg], &v->img[leg]);
	hs->start = v->start;
	hs->start.hostile = true;
	hs->o = &o;
	hs->forged = mutate_pool(&rng, v, img);
	check_seed_config(&config, rng_next(&rng));
	disks_begin(img, v->start.legs);
	disks.forged = hs->forged;
	limit_processor(120);
	good = sim_run(&config, hostile_main, hs) == SIM_RETURNED;
	limit_processor(0);
	disks_end();
	*started += hs->started;
	for (leg = 0; leg < v->start.legs; leg++)
		image_free(&img[leg]);
	oracle_free(&o);
	free(hs);
	check_stats.machines++;
	return good;
}

/* Each start is a turn. If one fails, it stays in sim_turn for the command that repeats it. */
static bool hostile_starts(const struct host_start *shape, bool twice, const char *name, u32 n)
{
	struct victim *v = make_victim(shape, twice);
	u32 i, started = 0;
	bool good = expect(opt.turn < (s64)n, "there are %u turns", n);

	for (i = 0; good && i < n; i++) {
		if (opt.turn >= 0 && opt.turn != i)
			continue;
		sim_turn = i;
		good = hostile_start(v, i, &started);
	}
	if (good)
		sim_turn = -1;
	if (opt.turn < 0)
		good = good && expect(started > n / 20 && started < n && v->forged_logs,
				      "%u of %u started, %u logs lied", started, n,
				      v->forged_logs) &&
		       expect(!shape->cache || v->forged_summaries, "no summary lied");
	if (opt.verbose)
		printf("# %s: %u of %u started, %u logs and %u summaries lied\n", name, started, n,
		       v->forged_logs, v->forged_summaries);
	free_victim(v);
	return good;
}

/*
 * --- how much of a cache may be dirty -----------------------------------------------------------
 */

/* A field of the superblock and a feature bit, that may say anything. */
static u64 some_window(struct rng *rng, const struct kvp_geometry *g)
{
	u64 segments = rng_below(rng, g->segments + 3);

	switch (rng_below(rng, 4)) {
	case 0:
		return 0;
	case 1:
		return segments * g->segment_blocks;
	case 2:
		return segments * g->segment_blocks + rng_below(rng, 3) - 1;
	default:
		return rng_next(rng) >> (32 + rng_below(rng, 32));
	}
}

static bool window_is_sound(const struct kvp_sb *sb, u32 vdev)
{
	const struct kvp_geometry *g = &sb->vdevs[vdev];
	u64 window = (u32)g->log_window, in_use = sb->log_commit - sb->log_tail;

	if (!window)
		return !(sb->incompat & KVP_INCOMPAT_LOG_WINDOW);
	return vdev && sb->incompat & KVP_INCOMPAT_LOG_WINDOW && window >= 512 &&
	       window <= 1u << 24 &&
	       window % g->segment_blocks == 0 && window <= (u64)g->segments * g->segment_blocks &&
	       window >= in_use;
}

static bool hostile_window(const struct host_start *shape, u32 n)
{
	struct material *m = calloc(1, sizeof(*m));
	const struct base *base = base_cache(shape);
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_sb *out = malloc(sizeof(*out)), *sb = &m->newest;
	u32 cache, i, sound = 0;
	bool good;

	collect_sbs(m, &base->img[0]);
	cache = sb->vdev_count - 1;
	good = expect(cache == 1 && !sb->vdevs[1].log_window, "no cache with the usual window");
	for (i = 0; good && i < n; i++) {
		struct rng rng = { mix64(opt.seed, mix64(shape->cache, i)) };
		u32 vdev = rng_below(&rng, 8) ? 1 : 0;
		struct kvp_why why = { "" };
		bool expected;
		int ret;

		sb->vdevs[vdev].log_window = some_window(&rng, &sb->vdevs[1]);
		sb->incompat &= ~KVP_INCOMPAT_LOG_WINDOW;
		if (rng_below(&rng, 8) ? sb->vdevs[vdev].log_window : rng_below(&rng, 2))
			sb->incompat |= KVP_INCOMPAT_LOG_WINDOW;
		expected = window_is_sound(sb, vdev);
		kvp_sb_encode(sb, d);
		ret = kvp_sb_decode(d, sb->self_offset, base->img[0].blocks, out, &why);
		good = expect(!ret == expected, "window of %llu blocks, vdev %u: %d %s",
			      sb->vdevs[vdev].log_window,
			      vdev, ret, why.text) &&
		       expect(ret || out->vdevs[1].log_window == sb->vdevs[1].log_window,
			      "another window is read");
		sound += !ret && out->vdevs[1].log_window;
		sb->vdevs[vdev].log_window = 0;
	}
	good = good && expect(sound > n / 20, "only %u of %u were sound", sound, n);
	free(m);
	free(d);
	free(out);
	return good;
}

/* --- counts at their largest values ------------------------------------------------------ */

#define FIRST_REFUSED	(KVP_SB_COUNT_END - KVP_SB_COUNT_ROOM)

/* What is added to all superblocks of all legs. The sequence keeps its slot. */
static const struct largest {
	const char *name;
	u64 epoch, sequence, checkpoint;
	u64 tail, cache;	/* places: they get this value */
	bool era;		/* the newest one becomes the last that there is */
	bool refused;
} largest[] = {
	{ "epoch-last", .epoch = FIRST_REFUSED - 100 },
	{ "epoch", .epoch = KVP_SB_COUNT_END - 1, .refused = true },
	{ "epoch-before-the-end", .epoch = FIRST_REFUSED, .refused = true },
	{ "sequence", .sequence = KVP_SB_COUNT_END - 1, .refused = true },
	{ "checkpoint", .checkpoint = KVP_SB_COUNT_END - 1, .refused = true },
	{ "tail", .tail = KVP_LOG_TAIL_END - 1, .refused = true },
	{ "tail-before-the-end", .tail = KVP_LOG_TAIL_END - KVP_SB_COUNT_ROOM, .refused = true },
	{ "cache", .cache = KVP_CACHE_LSN_END - KVP_SB_COUNT_ROOM, .refused = true },
	{ "era", .era = true },
};

struct at_largest {
	struct host host;
	struct host_start start;
	struct oracle o;
	const struct largest *what;
	struct image img[MAX_DISKS];
};

static void start_again(struct at_largest *t)
{
	if (host_start(&t->host, &t->o, &t->start))
		sim_fail("start: %s", t->host.refusal.why);
}

static void largest_main(void *arg)
{
	struct at_largest *t = arg;
	struct host *h = &t->host;
	u64 healed, unrepaired;
	u32 i;

	if (t->what->refused) {
		if (!host_start(h, &t->o, &t->start) || !strstr(h->refusal.why, "no room to grow"))
			sim_fail("not refused: %s", h->refusal.why);
		if (disks.writes)
			sim_fail("a start that is refused has written");
		t->start.readonly = true;
		start_again(t);
		host_read_each(h, 0, 40);
		host_stop(h);
		return;
	}
	for (i = 0; i < 3; i++) {
		start_again(t);
		host_write(h, 30 * i, 10, false);
		host_checkpoint(h);
		host_offline(h, i % 2);
		host_write(h, 30 * i + 5, 9, true);
		host_sleep(2500);
		host_discard(h, 30 * i + 1, 2);
		host_checkpoint(h);
		if (host_online(h, i % 2))
			sim_fail("online: %s", h->refusal.why);
		host_write(h, 30 * i + 3, 1, true);
		host_wait_resilver(h);
		if (!kvp_leg_in_sync(host_leg(h, i % 2)))
			sim_fail("the leg does not come back");
		host_scrub(h, &healed, &unrepaired);
		if (healed || unrepaired)
			sim_fail("a leg that came back lacked %llu blocks", healed + unrepaired);
		host_stop(h);
	}
}

static void enlarge(struct image *img, const struct largest *l, const struct kvp_sb *newest)
{
	struct material *m = calloc(1, sizeof(*m));
	struct kvp_sb *sb = malloc(sizeof(*sb));
	struct kvp_disk_sb *d = malloc(sizeof(*d));
	struct kvp_why why;
	u32 i, b;

	collect_sbs(m, img);
	for (i = 0; i < m->nr_sb; i++) {
		if (kvp_sb_decode(&m->sb[i], m->offset[i], img->blocks, sb, &why))
			abort();
		sb->epoch += l->epoch ? l->epoch - newest->epoch : 0;
		sb->sequence += l->sequence ? (l->sequence - newest->sequence) &
			~(u64)(KVP_SB_RING - 1) : 0;
		sb->checkpoint += l->checkpoint ? l->checkpoint - newest->checkpoint : 0;
		sb->era = l->era ? KVP_ERA_LAST : sb->era;
		if (l->tail)
			sb->log_tail = sb->log_commit = kvp_lsn(l->tail);
		if (l->cache)
			sb->cache_lsn = kvp_lsn(l->cache);
		kvp_sb_encode(sb, d);
		for (b = 0; b < KVP_SB_BLOCKS; b++)
			image_write_data(img, (m->offset[i] >> 12) + b, (u8 *)d + b * 4096);
	}
	free(m);
	free(sb);
	free(d);
}

static void largest_counts(const struct largest *l)
{
	const struct base *base = base_pool(2, false);
	struct at_largest *t = calloc(1, sizeof(*t));
	struct material *m = calloc(1, sizeof(*m));
	char name[64];
	u32 i;

	snprintf(name, sizeof(name), "hostile_largest:%s", l->name);
	if (wanted(name)) {
		collect_sbs(m, &base->img[0]);
		t->start.legs = 2;
		t->what = l;
		oracle_copy(&t->o, &base->o);
		for (i = 0; i < 2; i++) {
			image_copy(&t->img[i], &base->img[i]);
			enlarge(&t->img[i], l, &m->newest);
		}
		result(name, run_machine(t->img, 2, opt.seed, largest_main, t));
		for (i = 0; i < 2; i++)
			image_free(&t->img[i]);
		oracle_free(&t->o);
	}
	free(m);
	free(t);
}

void run_hostile(void)
{
	static const struct host_start caches[] = {
		{ .legs = 3, .cache = 1 }, { .legs = 5, .cache = 3, .cache_parity = true },
	};
	static const struct {
		const char *name;
		struct host_start shape;
		u32 share;	/* one start in @share */
	} starts[] = {
		{ "1", { .legs = 1 }, 1 },
		{ "2", { .legs = 2 }, 1 },
		{ "parity", { .legs = 3, .parity = true }, 1 },
		{ "cache-1", { .legs = 3, .cache = 1 }, 2 },
		{ "cache-2", { .legs = 4, .cache = 2 }, 2 },
		{ "cache-parity1", { .legs = 5, .cache = 3, .cache_parity = true }, 2 },
		{ "cache-reads", { .legs = 4, .cache = 2, .writethrough = true }, 2 },
		{ "parity-cache-2", { .legs = 5, .parity = true, .cache = 2 }, 2 },
		{ "parity-cache-parity1",
		  { .legs = 6, .parity = true, .cache = 3, .cache_parity = true }, 2 },
	};
	u32 n = opt.rounds ?: opt.thorough ? 20000 : 400, i, twice;
	char name[64];

	run_tableline();
	for (i = 0; i < ARRAY_SIZE(largest); i++)
		largest_counts(&largest[i]);
	if (wanted("hostile_decoders"))
		result("hostile_decoders", hostile_decoders());
	if (wanted("hostile_window:mirror"))
		result("hostile_window:mirror", hostile_window(&caches[0], 10 * n));
	if (wanted("hostile_window:parity1"))
		result("hostile_window:parity1", hostile_window(&caches[1], 10 * n));
	for (i = 0; i < ARRAY_SIZE(starts); i++)
		for (twice = 0; twice < 2; twice++) {
			snprintf(name, sizeof(name), "hostile_%s:%s",
				 twice ? "recoveries" : "starts",
				 starts[i].name);
			if (wanted(name))
				result(name, hostile_starts(&starts[i].shape, twice, name,
							    n / (twice ? 8 : starts[i].share)));
			sim_turn = -1;
		}
}
