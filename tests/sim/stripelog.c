// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a log in full stripes, on a cache of kind parity1: cut everywhere, with any one SSD
 * gone; and blocks of it that rot, each alone, with all SSDs there. The part that a recovery took
 * for the log is found by the next one with one SSD less (R15).
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "cache/admission.h"
#include "io/io.h"
#include "super/members.h"

struct life {
	struct host host;
	struct host_start start;
	struct oracle o;
	void (*live)(struct life *l);
	const struct base *base;
	struct image img[MAX_DISKS];
	u32 served, lost, lives;
	u32 fault_disk;			/* reads of this block of it fail; 0: of none */
	u64 fault_block;
	u32 refusing;			/* bit per disk: it takes no writes to the log */
	const struct oracle *old;	/* other allowed contents, or EIO: the log was given up */
	u32 gone;			/* number of blocks that read EIO then */
	bool look;			/* at all blocks, before it lives */
	struct oracle before;		/* of the last checkpoint */
	u64 lsns[48];
	u64 tail;			/* while it lived */
	int refused;
	int expected;			/* the error of a start that is to be refused; 0: none is */
	bool may_refuse;		/* with -EIO */
	u64 acknowledged, head;		/* lsns: what lies between these was not */
	struct kvp_geometry g;		/* of the cache */
	u32 generations;
	u64 filled;
	u64 nonce, log_nonce;		/* of the pool, and of the last life's log */
};

/* Legs that have data; the SSDs are behind them. */
static u32 first_ssd(const struct life *l)
{
	return l->start.legs - l->start.cache;
}

/* --- what happens ------------------------------------------------------------------------ */

static void live_overwriting(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 4, false);
	host_flush(h);
	host_write(h, 3, 1, true);
	host_write(h, 4, 7, false);
	host_flush(h);
}

/* Several rows an entry; the last of them may be narrower. */
static void live_wide(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 64, 11, false);
	host_flush(h);
	host_write(h, 66, 10, false);
	host_flush(h);
	host_write(h, 20, 3, false);
}

static void live_discarding(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 1, 3, false);
	host_flush(h);
	host_discard(h, 1, 3);
	host_discard(h, 66, 8);
	host_flush(h);
	host_write(h, 2, 1, true);
}

/*
 * Data under intents, and intents under data: a recovery finds the versions at home, or in the log.
 */
static void live_by_intent(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 62, 4, false);
	host_flush(h);
	host_write(h, 60, 20, false);
	host_flush(h);
	host_write(h, 70, 2, true);
	host_checkpoint(h);
	host_write(h, 60, 20, false);
	host_write(h, 3, 1, true);
}

/* Headers of more than one block. */
static void live_with_long_headers(struct life *l)
{
	host_write(&l->host, 100, 300, false);
	host_flush(&l->host);
	host_write(&l->host, 2, 2, true);
	l->acknowledged = kvp_log_head(l->host.pool->log);
	host_write(&l->host, 100, 300, false);
	l->head = kvp_log_head(l->host.pool->log);
}

static void live_and_lose_an_ssd(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 5, false);
	host_flush(h);
	l->lost |= BIT(first_ssd(l) + 1);
	disks_kill(first_ssd(l) + 1);
	host_write(h, 3, 5, false);
	host_flush(h);
	host_write(h, 4, 1, true);
}

static void live_and_take_one_out(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 5, false);
	host_flush(h);
	l->lost |= BIT(first_ssd(l));
	kvp_leg_offline(h->pool, host_leg(h, first_ssd(l)));
	host_write(h, 3, 5, false);
	host_flush(h);
	host_write(h, 20, 3, false);
}

static void append_up_to(struct life *l, u64 lsn)
{
	while (l->host.pool->log->head.lsn < lsn) {
		host_write(&l->host, 64, 11, false);
		host_flush(&l->host);
	}
}

/*
 * The part of the log that counts begins late in a segment, ends in the next one, and is not
 * written home.
 */
static void live_far(struct life *l)
{
	const struct kvp_log *log = l->host.pool->log;
	u64 segment = log->head.lsn - log->head.lsn % disks.log_segment;
	u32 i;

	append_up_to(l, segment + 180);
	host_checkpoint(&l->host);
	l->tail = log->tail;
	for (i = 0; i < first_ssd(l); i++)
		disks_stall(i, disks.data_start, disks.img[i].blocks - 1);
	append_up_to(l, segment + disks.log_segment + 1);
}

/* Clean blocks between the others: no read needs them, but they are in their rows. */
static void live_with_fills(struct life *l)
{
	struct host *h = &l->host;
	u64 block;

	kvp_admit_unstop(h->pool->admission);
	host_write(h, 2, 3, true);
	for (block = 64; block < 74; block++)
		host_read_check(h, block);
	host_sleep(3000);
	host_write(h, 3, 5, true);
	for (block = 100; block < 107; block++)
		host_read_check(h, block);
	host_sleep(3000);
	host_write(h, 4, 1, true);
	l->filled = h->pool->log->ssd_blocks[KVP_LOG_FILLS];
	kvp_admit_stop(h->pool->admission);
}

static const struct {
	const char *name;
	void (*live)(struct life *l);
} lives[] = {
	{ "overwrite", live_overwriting }, { "wide", live_wide }, { "discard", live_discarding },
	{ "intent", live_by_intent }, { "long-header", live_with_long_headers },
	{ "fills", live_with_fills }, { "ssd-loss", live_and_lose_an_ssd },
		{ "ssd-offline", live_and_take_one_out },
};

/* --- a life ------------------------------------------------------------------------------ */

static void look_at_all(struct life *l)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	u64 block;
	int ret;

	for (block = 0; block < l->o.blocks; block++) {
		ret = host_read(&l->host, block, data);
		if (ret && !l->old)
			sim_fail("block %llu cannot be read", block);
		l->gone += !!ret;
		if (!ret && !oracle_allows(l->old ?: &l->o, block, data, ~0u, why))
			sim_fail("%s", why);
	}
}

static void life_main(void *arg)
{
	struct life *l = arg;
	u32 i;

	for (i = 0; i < disks.nr; i++)
		if (l->refusing >> i & 1)
			disks_fault(FAULT_WRITE_EIO, i, l->g.log_start,
				    l->g.log_start + kvp_log_area(&l->g) - 1);
	if (l->fault_disk)
		disks_fault(FAULT_READ_EIO, l->fault_disk, l->fault_block, l->fault_block);
	l->refused = host_start(&l->host, &l->o, &l->start);
	if (l->refused)
		return;
	l->served = disks.trace.nr;
	l->g = *l->host.pool->vdevs.log_vdev->g;
	l->nonce = l->host.pool->sb->nonce;
	l->log_nonce = l->host.pool->log->nonce;
	l->generations = l->host.pool->sb->generation_count;
	kvp_admit_stop(l->host.pool->admission);
	l->host.lying = l->look ? ~0ull : 0;
	if (l->look)
		look_at_all(l);
	if (l->live)
		l->live(l);
}

/* On @img; false: it failed, or was refused. */
static bool run_life(struct life *l, const struct image *img, void (*live)(struct life *l),
		     bool look)
{
	bool good;

	l->live = live;
	l->look = look;
	good = run_machine(img, l->start.legs, mix64(opt.seed, ++l->lives), life_main, l);
	if (l->refused == -EIO && l->may_refuse)
		return good;
	if (good && l->refused != l->expected)
		snprintf(sim_failure, sizeof(sim_failure), "start gave %d, not %d: %s", l->refused,
			 l->expected,
			 l->host.refusal.why);
	if (!good || l->refused != l->expected)
		fprintf(stderr, "  %s\n", sim_failure);
	return good && l->refused == l->expected;
}

static struct life *new_life(const struct host_start *shape)
{
	struct life *l = calloc(1, sizeof(*l));

	l->start = *shape;
	l->base = base_cache(&l->start);
	oracle_copy(&l->o, &l->base->o);
	return l;
}

static void free_life(struct life *l)
{
	oracle_free(&l->o);
	free(l);
}

/* --- cut everywhere, and with each leg gone ---------------------------------------------- */

static bool cut_life(const char *name, const struct host_start *shape, void (*live)(struct life *l))
{
	struct life *l = new_life(shape);
	struct crash crash = {
		.legs = l->start.legs, .parity = l->start.parity, .cache = l->start.cache,
			.cache_parity = true,
		.o = &l->o, .each_leg = true,
	};
	bool good = run_life(l, l->base->img, live, false);

	crash.lost = l->lost;
	if (good)
		good = !cut_everywhere(name, &crash, l->served, CHECK_RECRASH);
	free_life(l);
	return good;
}

/* --- a damaged block -------------------------------------------------------------------- */

enum harm { ROT, STALE, SILENT, HARMS };	/* other contents; older contents; no answer */

static const char * const harm_names[HARMS] = { "rot", "stale", "silent" };

/* Where the recovery's first superblock begins: all is equal by then. */
static u32 first_superblock(const struct trace *t)
{
	u32 i;

	for (i = 0; i < t->nr; i++) {
		const struct trace_request *r = &t->requests[t->events[i].id];

		if (t->events[i].kind == TRACE_SUBMIT && r->nr == KVP_SB_BLOCKS &&
		    r->op == KVP_IO_WRITE_FUA)
			return i;
	}
	return t->nr;
}

/* The recovery is cut, and one SSD is gone for good: the next one finds the same (R15). */
static bool next_without(struct life *l, const struct trace *t, u32 at, u32 ssd)
{
	struct cutter *cut = malloc(sizeof(*cut));
	u32 which[MAX_PENDING], n, i;
	struct rng rng = { mix64(opt.seed, at) };
	struct image img[MAX_DISKS];
	u8 fates[MAX_PENDING];
	bool good;

	cutter_init(cut, t);
	cutter_seek(cut, at);
	n = cutter_majors(cut, which);
	for (i = 0; i < n; i++)
		fates[i] = rng_below(&rng, 3);
	cutter_images(cut, fates, &rng, img);
	cutter_free(cut);
	free(cut);
	l->start.missing = BIT(ssd);
	/* also a leg, if the other has the same, or the parts to rebuild it */
	if (l->start.parity)
		l->start.missing |= BIT(rng_below(&rng, first_ssd(l)));
	l->start.degraded = true;
	good = run_life(l, img, NULL, true);
	if (!good)
		fprintf(stderr, "  ^ cut at %u of %u, and %llx are gone\n", at, t->nr,
			l->start.missing);
	l->start.missing = 0;
	l->start.degraded = false;
	for (i = 0; i < l->start.legs; i++)
		image_free(&img[i]);
	return good;
}

static bool each_without(struct life *l, u32 hurt, u32 tries)
{
	struct trace t = disks.trace;
	u32 from = first_superblock(&t), ssd, i;
	struct rng rng = { mix64(opt.seed, hurt) };
	bool good = true;

	memset(&disks.trace, 0, sizeof(disks.trace));
	for (i = 0; good && i < tries; i++)
		for (ssd = first_ssd(l); good && ssd < l->start.legs; ssd++)
			good = next_without(l, &t, from + (i ? rng_below(&rng, t.nr - from + 1) :
							   0), ssd);
	trace_free(&t);
	return good;
}

/* Only what this life has written of the log. */
static bool written(const struct life *l, u32 disk, u64 block)
{
	struct blk *b = image_blk(&l->img[disk], block), *was = image_blk(&l->base->img[disk],
		block);

	return b && (!was || memcmp(b->data, was->data, KVP_BLOCK_SIZE));
}

static void hurt_image(struct life *l, struct image *img, u32 disk, u64 block, enum harm harm)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	image_read(harm == STALE ? &l->base->img[disk] : &l->img[disk], block, data);
	for (i = 0; harm == ROT && i < 64; i++)
		data[i * 61] ^= 0x5a;
	if (harm != SILENT)
		image_write_data(img, block, data);
	l->fault_disk = harm == SILENT ? disk : 0;
	l->fault_block = block;
}

/*
 * True if the block is of an entry that was on its way when the life ended. Such an entry may be
 * torn. If a block of it does not answer, too, it could also be one that was acknowledged (R27).
 */
static bool was_on_its_way(const struct life *l, u32 disk, u64 block)
{
	u64 lsn;

	for (lsn = l->acknowledged; lsn < l->head; lsn++) {
		struct kvp_place at = kvp_log_place(&l->g, lsn, 0);

		if (first_ssd(l) + at.leg == disk && at.block == block)
			return true;
	}
	return false;
}

static bool hurt_one(struct life *l, u32 disk, u64 block, enum harm harm)
{
	struct image img[MAX_DISKS];
	bool good;
	u32 i;

	for (i = 0; i < l->start.legs; i++)
		image_copy(&img[i], &l->img[i]);
	hurt_image(l, &img[disk], disk, block, harm);
	l->may_refuse = harm == SILENT && was_on_its_way(l, disk, block);
	good = run_life(l, img, NULL, true);
	l->fault_disk = 0;
	l->may_refuse = false;
	/* It answers again: all is there. */
	if (good && l->refused)
		good = run_life(l, img, NULL, true);
	if (good)
		good = each_without(l, block, 1 + opt.rounds);
	if (!good)
		fprintf(stderr, "  ^ %s of block %llu of disk %u\n", harm_names[harm], block, disk);
	for (i = 0; i < l->start.legs; i++)
		image_free(&img[i]);
	return good;
}

static void keep_images(struct life *l)
{
	u32 i;

	for (i = 0; i < l->start.legs; i++) {
		image_free(&l->img[i]);
		image_copy(&l->img[i], &disks.img[i]);
	}
}

/* One life; its contents go to l->img. */
static bool begin_with(struct life *l, void (*live)(struct life *l))
{
	bool good = run_life(l, l->base->img, live, false);

	keep_images(l);
	return good;
}

/* Another life: the first life's entries in the log then are of an older generation. */
static bool go_on_with(struct life *l, void (*live)(struct life *l))
{
	bool good = run_life(l, l->img, live, true);

	keep_images(l);
	return good && expect(l->generations,
			      "there is no older generation: the case was not set up");
}

static bool end_with(struct life *l, bool good)
{
	u32 i;

	for (i = 0; i < l->start.legs; i++)
		image_free(&l->img[i]);
	free_life(l);
	return good;
}

/* Every block of the log that was written, one by one: copies of headers, payload, parity. */
static bool hurt_life(const struct host_start *shape, void (*live)(struct life *l),
		      void (*then)(struct life *l), enum harm harm)
{
	struct life *l = new_life(shape);
	bool good = begin_with(l, live) && (!then || go_on_with(l, then));
	u32 disk, hurt = 0;
	u64 block;

	for (disk = first_ssd(l); good && disk < l->start.legs; disk++)
		for (block = disks.log_first[disk]; good && block < disks.log_end[disk]; block++)
			if (written(l, disk, block)) {
				good = hurt_one(l, disk, block, harm);
				hurt++;
			}
	if (good && live == live_with_fills)
		good = expect(l->filled > 4,
			      "%llu blocks were filled: the case was not set up", l->filled);
	if (good && hurt < 2 * shape->cache)
		good = expect(false, "%u blocks were hurt: the case was not set up", hurt);
	return end_with(l, good);
}

/* --- contents of one SSD alone ---------------------------------------------------------- */

/* A header of a later activation, wherever one could be, on one SSD. */
static void forge_epochs(struct life *l, u32 disk)
{
	struct kvp_log_hdr h = { .nonce = l->log_nonce, .epoch = 1000, .lsn = 12, .hdr_blocks = 1,
				 .blocks = 2 };
	u8 data[KVP_BLOCK_SIZE] = { 0 };
	u64 block;

	kvp_log_seal(data, &h, l->nonce);
	for (block = l->g.log_start; block < l->g.log_start + kvp_log_area(&l->g); block++)
		image_write_data(&l->img[disk], block, data);
}

/* The contents of an SSD that was recorded out do not count; those of one in sync do (R12, R17). */
static bool outdated_says_nothing(const struct host_start *shape)
{
	struct life *l = new_life(shape);
	bool good = begin_with(l, live_and_take_one_out);

	forge_epochs(l, first_ssd(l));
	good = good && run_life(l, l->img, NULL, true);
	forge_epochs(l, first_ssd(l) + 1);
	l->expected = -ESTALE;
	return end_with(l, good && run_life(l, l->img, NULL, true));
}

/*
 * Puts the lsns of the last life's headers with @blocks into l->lsns, in sequence; returns their
 * number.
 */
static u32 find_headers(struct life *l, u32 blocks)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 n = 0;
	u64 lsn;

	for (lsn = 0; n < ARRAY_SIZE(l->lsns) && lsn < 2 * kvp_log_blocks(&l->g); lsn++) {
		const struct kvp_disk_log_hdr *d = (void *)data;
		struct kvp_place at = kvp_log_place(&l->g, lsn, 0);

		image_read(&l->img[first_ssd(l) + at.leg], at.block, data);
		if (le32_to_cpu(d->magic) == KVP_LOG_MAGIC &&
		    le64_to_cpu(d->nonce) == l->log_nonce &&
		    le64_to_cpu(d->lsn) == lsn && le32_to_cpu(d->hdr_blocks) == blocks)
			l->lsns[n++] = lsn;
	}
	return n;
}

static void rot_at(struct life *l, u64 lsn)
{
	struct kvp_place at = kvp_log_place(&l->g, lsn, 0);

	hurt_image(l, &l->img[first_ssd(l) + at.leg], first_ssd(l) + at.leg, at.block, ROT);
}

/*
 * Both copies of one header, and one copy, now this, now that, of those behind it: they say that it
 * was durable.
 */
static bool one_copy_is_a_witness(const struct host_start *shape)
{
	bool good = true;
	u32 second, i, n;

	for (second = 0; good && second < 2; second++) {
		struct life *l = new_life(shape);

		good = begin_with(l, live_overwriting);
		n = find_headers(l, 1);
		good = good && expect(n >= 3, "%u entries: the case was not set up", n);
		for (i = 1; good && i < n; i++)
			rot_at(l, l->lsns[i] + second);
		if (good) {
			rot_at(l, l->lsns[0]);
			rot_at(l, l->lsns[0] + 1);
		}
		l->expected = -EUCLEAN;
		good = end_with(l, good && run_life(l, l->img, NULL, true));
	}
	return good;
}

/* After the first entry only the header of a later segment is there, in one copy. */
static bool far_copy_is_a_witness(const struct host_start *shape)
{
	bool good = true, found = false;
	u32 second, i, n;
	u64 far;

	for (second = 0; good && second < 2; second++) {
		struct life *l = new_life(shape);

		good = begin_with(l, live_far);
		n = find_headers(l, 1);
		far = kvp_log_segment_end(&l->g, l->tail + 17 + KVP_LOG_UNWITNESSED);
		for (i = 0; good && i < n; i++) {
			if (l->lsns[i] <= l->tail)
				continue;
			found |= l->lsns[i] == far;
			rot_at(l, l->lsns[i] + second);
			if (l->lsns[i] != far)
				rot_at(l, l->lsns[i] + !second);
		}
		good = good && expect(found,
				      "there is no such header: the case was not set up");
		l->expected = -EUCLEAN;
		good = end_with(l, good && run_life(l, l->img, NULL, true));
	}
	return good;
}

/* Another copy of each block of a header rots: all of it is there. */
static bool copies_that_are_mixed(const struct host_start *shape)
{
	struct life *l = new_life(shape);
	bool good = begin_with(l, live_with_long_headers);
	u32 i, n = find_headers(l, 2);

	good = good && expect(n, "there is no header of two blocks");
	for (i = 0; good && i < n; i++) {
		rot_at(l, l->lsns[i] + i % 2);
		rot_at(l, l->lsns[i] + 3 - i % 2);
	}
	return end_with(l, good && run_life(l, l->img, NULL, true));
}

/* Each SSD has something to be mended, and one, or two, do not take it. */
static bool refuse_to_be_mended(const struct host_start *shape)
{
	struct life *l = new_life(shape);
	bool good = begin_with(l, live_wide);
	u32 i, n = find_headers(l, 1);

	/* The header of the first entry, its parity, and a block of its payload: one on each. */
	good = good && expect(n >= 2, "%u entries: the case was not set up", n);
	for (i = 0; good && i < 3; i++)
		rot_at(l, i < 2 ? l->lsns[i] + i : l->lsns[1] + 2);
	for (i = 0; good && i < shape->cache; i++) {
		l->refusing = BIT(first_ssd(l) + i);
		good = run_life(l, l->img, NULL, true);
	}
	l->refusing = (BIT(shape->cache) - 1) << first_ssd(l);
	l->expected = -EIO;
	return end_with(l, good && run_life(l, l->img, NULL, true));
}

static void live_and_log_more(struct life *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 6, false);
	host_write(h, 64, 9, false);
	host_checkpoint(h);
	oracle_copy(&l->before, &l->o);
	live_overwriting(l);
	live_wide(l);
	host_flush(h);
}

/* All SSDs but one, or two of three, are gone: blocks that the rest names as lost are poisoned. */
static bool given_up(const struct host_start *shape)
{
	struct life *l = new_life(shape);
	bool good = begin_with(l, live_and_log_more);
	u32 all = (BIT(shape->cache) - 1) << first_ssd(l), i, k;

	for (i = 0; good && i < shape->cache; i++)
		for (k = 0; good && k < i; k++) {
			l->start.missing = BIT(first_ssd(l) + i) | BIT(first_ssd(l) + k);
			l->start.degraded = true;
			l->expected = -ENOTCONN;
			good = run_life(l, l->img, NULL, true);
			l->start.discard_log = true;
			l->expected = 0;
			l->old = &l->before;
			good = good && run_life(l, l->img, NULL, true);
			good = good && expect(l->gone,
					      "nothing is known to be lost, with %llx of %x missing",
					      l->start.missing, all);
			l->start.discard_log = false;
			l->old = NULL;
			l->gone = 0;
		}
	oracle_free(&l->before);
	return end_with(l, good);
}

/* --- suite ------------------------------------------------------------------------------- */

/* "3", or "parity+3". */
static const char *shape_of(const struct host_start *shape)
{
	static char name[16];

	snprintf(name, sizeof(name), "%s%u", shape->parity ? "parity+" : "", shape->cache);
	return name;
}

/*
 * All writes in these lives are acknowledged at their end; without a leg of a parity1, directly
 * written blocks may be lost.
 */
static void run_hurts(const struct host_start *shape)
{
	static const u32 whole[] = { 0, 2, 4, 5 };
	enum harm harm;
	char name[128];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(whole); i++)
		for (harm = 0; harm < HARMS; harm++) {
			if (shape->parity && lives[whole[i]].live == live_with_long_headers)
				continue;
			snprintf(name, sizeof(name), "stripelog:%s:%s:%s", harm_names[harm],
				 lives[whole[i]].name,
				 shape_of(shape));
			if (wanted(name))
				result(name, hurt_life(shape, lives[whole[i]].live, NULL, harm));
		}
	/* with parity, each start begins a new log */
	for (harm = 0; !shape->parity && harm < HARMS; harm++) {
		snprintf(name, sizeof(name), "stripelog:%s:generations:%s", harm_names[harm],
			 shape_of(shape));
		if (wanted(name))
			result(name, hurt_life(shape, live_overwriting, live_discarding, harm));
	}
}

static void test(const char *what, const struct host_start *shape,
		 bool (*fn)(const struct host_start *shape))
{
	char name[128];

	snprintf(name, sizeof(name), "stripelog:%s:%s", what, shape_of(shape));
	if (wanted(name))
		result(name, fn(shape));
}

void run_stripelog(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 5, .cache = 3, .cache_parity = true },
		{ .legs = 6, .cache = 4, .cache_parity = true },
		{ .legs = 6, .parity = true, .cache = 3, .cache_parity = true },
	};
	const struct host_start *shape;
	char name[128];
	u32 i;

	for (shape = shapes; shape < shapes + ARRAY_SIZE(shapes); shape++) {
		for (i = 0; i < ARRAY_SIZE(lives); i++) {
			snprintf(name, sizeof(name), "stripelog:cut:%s:%s", lives[i].name,
				 shape_of(shape));
			if (wanted(name))
				result(name, cut_life(name, shape, lives[i].live));
		}
		run_hurts(shape);
		test("outdated", shape, outdated_says_nothing);
		test("witness", shape, one_copy_is_a_witness);
		test("far-witness", shape, far_copy_is_a_witness);
		test("mixed-copies", shape, copies_that_are_mixed);
		test("refusing", shape, refuse_to_be_mended);
		test("given-up", shape, given_up);
	}
}
