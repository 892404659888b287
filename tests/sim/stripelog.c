// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a log in full stripes, on a cache of kind parity1: cut everywhere, with any one SSD
 * gone; and blocks of it that rot, each alone, with all SSDs there. The part that a recovery took
 * for the log is found by the next one with one SSD less (R15).
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "cache/admission.h"
#include "io/io.h"
#include "super/members.h"

enum harm { ROT, STALE, SILENT, HARMS };	/* other contents; older contents; no answer */

static const char * const harm_names[HARMS] = { "rot", "stale", "silent" };

/* What a case remembers; zeroed for each turn. */
static struct {
	u32 fault_disk;			/* reads of this block of it fail; 0: of none */
	u64 fault_block;
	u32 refusing;			/* bit per disk: it takes no writes to the log */
	const struct oracle *old;	/* other allowed contents, or EIO: the log was given up */
	u32 gone;			/* number of blocks that read EIO then */
	bool look;			/* at all blocks, before it lives */
	struct oracle before;		/* of the last checkpoint */
	u64 lsns[48];
	u64 tail;			/* while it lived */
	int expected;			/* the error of a start that is to be refused; 0: none is */
	bool may_refuse;		/* with -EIO */
	u64 acknowledged, head;		/* lsns: what lies between these was not */
	struct kvp_geometry g;		/* of the cache */
	u32 generations;
	u64 filled;
	u64 nonce, log_nonce;		/* of the pool, and of the last life's log */
} own;

/* --- what happens ------------------------------------------------------------------------ */

static void live_overwriting(struct script *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 4, false);
	host_flush(h);
	host_write(h, 3, 1, true);
	host_write(h, 4, 7, false);
	host_flush(h);
}

/* Several rows an entry; the last of them may be narrower. */
static void live_wide(struct script *l)
{
	struct host *h = &l->host;

	host_write(h, 64, 11, false);
	host_flush(h);
	host_write(h, 66, 10, false);
	host_flush(h);
	host_write(h, 20, 3, false);
}

static void live_discarding(struct script *l)
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
static void live_by_intent(struct script *l)
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
static void live_with_long_headers(struct script *l)
{
	host_write(&l->host, 100, 300, false);
	host_flush(&l->host);
	host_write(&l->host, 2, 2, true);
	own.acknowledged = kvp_log_head(l->host.pool->log);
	host_write(&l->host, 100, 300, false);
	own.head = kvp_log_head(l->host.pool->log);
}

static void live_and_lose_an_ssd(struct script *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 5, false);
	host_flush(h);
	l->crash.lost |= BIT(script_first_ssd(l) + 1);
	disks_kill(script_first_ssd(l) + 1);
	host_write(h, 3, 5, false);
	host_flush(h);
	host_write(h, 4, 1, true);
}

static void live_and_take_one_out(struct script *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 5, false);
	host_flush(h);
	l->crash.lost |= BIT(script_first_ssd(l));
	host_offline(h, script_first_ssd(l));
	host_write(h, 3, 5, false);
	host_flush(h);
	host_write(h, 20, 3, false);
}

static void append_up_to(struct script *l, u64 lsn)
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
static void live_far(struct script *l)
{
	const struct kvp_log *log = l->host.pool->log;
	u64 segment = log->head.lsn - log->head.lsn % disks.log_segment;
	u32 i;

	append_up_to(l, segment + 180);
	host_checkpoint(&l->host);
	own.tail = log->tail;
	for (i = 0; i < script_first_ssd(l); i++)
		disks_stall(i, disks.data_start, disks.img[i].blocks - 1);
	append_up_to(l, segment + disks.log_segment + 1);
}

/* Clean blocks between the others: no read needs them, but they are in their rows. */
static void live_with_fills(struct script *l)
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
	own.filled = h->pool->log->ssd_blocks[KVP_LOG_FILLS];
	kvp_admit_stop(h->pool->admission);
}

static const struct {
	const char *name;
	void (*live)(struct script *l);
} lives[] = {
	{ "overwrite", live_overwriting }, { "wide", live_wide }, { "discard", live_discarding },
	{ "intent", live_by_intent }, { "long-header", live_with_long_headers },
	{ "fills", live_with_fills }, { "ssd-loss", live_and_lose_an_ssd },
		{ "ssd-offline", live_and_take_one_out },
};

/* --- a life ------------------------------------------------------------------------------ */

static void look_at_all(struct script *l)
{
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	u64 block;
	int ret;

	for (block = 0; block < l->o.blocks; block++) {
		ret = host_read(&l->host, block, data);
		if (ret && !own.old)
			sim_fail("block %llu cannot be read", block);
		own.gone += !!ret;
		if (!ret && !oracle_allows(own.old ?: &l->o, block, data, ~0u, why))
			sim_fail("%s", why);
	}
}

static void prepare(struct script *l)
{
	u32 i;

	for (i = 0; i < disks.nr; i++)
		if (own.refusing >> i & 1)
			disks_fault(FAULT_WRITE_EIO, i, own.g.log_start,
				    own.g.log_start + kvp_log_area(&own.g) - 1);
	if (own.fault_disk)
		disks_fault(FAULT_READ_EIO, own.fault_disk, own.fault_block, own.fault_block);
}

static void begin(struct script *l)
{
	own.g = *l->host.pool->vdevs.log_vdev->g;
	own.nonce = l->host.pool->sb->nonce;
	own.log_nonce = l->host.pool->log->nonce;
	own.generations = l->host.pool->sb->generation_count;
	kvp_admit_stop(l->host.pool->admission);
	l->host.lying = own.look ? ~0ull : 0;
	if (own.look)
		look_at_all(l);
}

/* On @img; false: it failed, or was refused. */
static bool run_life(struct script *l, const struct image *img, void (*live)(struct script *l),
		     bool look)
{
	own.look = look;
	if (!script_live_on(l, img, live, true)) {
		fprintf(stderr, "  %s\n", sim_failure);
		return false;
	}
	return (l->refused == -EIO && own.may_refuse) ||
	       expect(l->refused == own.expected, "start gave %d, not %d: %s", l->refused,
		      own.expected, l->host.refusal.why);
}

/* --- a damaged block -------------------------------------------------------------------- */

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
static bool next_without(struct script *l, const struct trace *t, u32 at, u32 ssd)
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
		l->start.missing |= BIT(rng_below(&rng, script_first_ssd(l)));
	l->start.degraded = true;
	good = run_life(l, img, NULL, true);
	if (!good)
		fprintf(stderr, "  ^ cut at %u of %u, and %llx are gone\n", at, t->nr,
			l->start.missing);
	l->start.missing = 0;
	l->start.degraded = false;
	script_free_disks(l, img);
	return good;
}

static bool each_without(struct script *l, u32 hurt, u32 tries)
{
	struct trace t = disks.trace;
	u32 from = first_superblock(&t), ssd, i;
	struct rng rng = { mix64(opt.seed, hurt) };
	bool good = true;

	memset(&disks.trace, 0, sizeof(disks.trace));
	for (i = 0; good && i < tries; i++)
		for (ssd = script_first_ssd(l); good && ssd < l->start.legs; ssd++)
			good = next_without(l, &t, from + (i ? rng_below(&rng, t.nr - from + 1) :
							   0), ssd);
	trace_free(&t);
	return good;
}

/* Only what this life has written of the log. */
static bool written(const struct script *l, u32 disk, u64 block)
{
	struct blk *b = image_blk(&l->img[disk], block);
	struct blk *was = image_blk(&base_for(l->c->shape)->img[disk], block);

	return b && (!was || memcmp(b->data, was->data, KVP_BLOCK_SIZE));
}

static void hurt_image(struct script *l, struct image *img, u32 disk, u64 block, enum harm harm)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	image_read(harm == STALE ? &base_for(l->c->shape)->img[disk] : &l->img[disk], block, data);
	for (i = 0; harm == ROT && i < 64; i++)
		data[i * 61] ^= 0x5a;
	if (harm != SILENT)
		image_write_data(img, block, data);
	own.fault_disk = harm == SILENT ? disk : 0;
	own.fault_block = block;
}

/*
 * True if the block is of an entry that was on its way when the life ended. Such an entry may be
 * torn. If a block of it does not answer, too, it could also be one that was acknowledged (R27).
 */
static bool was_on_its_way(const struct script *l, u32 disk, u64 block)
{
	u64 lsn;

	for (lsn = own.acknowledged; lsn < own.head; lsn++) {
		struct kvp_place at = kvp_log_place(&own.g, lsn, 0);

		if (script_first_ssd(l) + at.leg == disk && at.block == block)
			return true;
	}
	return false;
}

static bool hurt_one(struct script *l, u32 disk, u64 block, enum harm harm)
{
	struct image img[MAX_DISKS];
	bool good;
	u32 i;

	for (i = 0; i < l->start.legs; i++)
		image_copy(&img[i], &l->img[i]);
	hurt_image(l, &img[disk], disk, block, harm);
	own.may_refuse = harm == SILENT && was_on_its_way(l, disk, block);
	good = run_life(l, img, NULL, true);
	own.fault_disk = 0;
	own.may_refuse = false;
	/* It answers again: all is there. */
	if (good && l->refused)
		good = run_life(l, img, NULL, true);
	if (good)
		good = each_without(l, block, 1 + opt.rounds);
	if (!good)
		fprintf(stderr, "  ^ %s of block %llu of disk %u\n", harm_names[harm], block, disk);
	script_free_disks(l, img);
	return good;
}

/* One life; its contents go to l->img. */
static bool begin_with(struct script *l, void (*live)(struct script *l))
{
	bool good = run_life(l, l->img, live, false);

	script_keep(l);
	return good;
}

/* Another life: the first life's entries in the log then are of an older generation. */
static bool go_on_with(struct script *l, void (*live)(struct script *l))
{
	bool good = run_life(l, l->img, live, true);

	script_keep(l);
	return good && expect(own.generations,
			      "there is no older generation: the case was not set up");
}

/* Every block of the log that was written, one by one: copies of headers, payload, parity. */
static bool hurt_each(struct script *l, enum harm harm)
{
	bool good = begin_with(l, l->c->act) && (!l->c->then || go_on_with(l, l->c->then));
	u32 disk, hurt = 0;
	u64 block;

	for (disk = script_first_ssd(l); good && disk < l->start.legs; disk++)
		for (block = disks.log_first[disk]; good && block < disks.log_end[disk]; block++)
			if (written(l, disk, block)) {
				good = hurt_one(l, disk, block, harm);
				hurt++;
			}
	if (good && l->c->act == live_with_fills)
		good = expect(own.filled > 4,
			      "%llu blocks were filled: the case was not set up", own.filled);
	return good && expect(hurt >= 2 * l->start.cache,
			      "%u blocks were hurt: the case was not set up", hurt);
}

static bool rot_each(struct script *l)
{
	return hurt_each(l, ROT);
}

static bool make_each_stale(struct script *l)
{
	return hurt_each(l, STALE);
}

static bool silence_each(struct script *l)
{
	return hurt_each(l, SILENT);
}

/* --- contents of one SSD alone ---------------------------------------------------------- */

/* A header of a later activation, wherever one could be, on one SSD. */
static void forge_epochs(struct script *l, u32 disk)
{
	struct kvp_log_hdr h = { .nonce = own.log_nonce, .epoch = 1000, .lsn = 12, .hdr_blocks = 1,
				 .blocks = 2 };
	u8 data[KVP_BLOCK_SIZE] = { 0 };
	u64 block;

	kvp_log_seal(data, &h, own.nonce);
	for (block = own.g.log_start; block < own.g.log_start + kvp_log_area(&own.g); block++)
		image_write_data(&l->img[disk], block, data);
}

/* The contents of an SSD that was recorded out do not count; those of one in sync do (R12, R17). */
static bool outdated_says_nothing(struct script *l)
{
	bool good = begin_with(l, live_and_take_one_out);

	forge_epochs(l, script_first_ssd(l));
	good = good && run_life(l, l->img, NULL, true);
	forge_epochs(l, script_first_ssd(l) + 1);
	own.expected = -ESTALE;
	return good && run_life(l, l->img, NULL, true);
}

/*
 * Puts the lsns of the last life's headers with @blocks into own.lsns, in sequence; returns their
 * number.
 */
static u32 find_headers(struct script *l, u32 blocks)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 n = 0;
	u64 lsn;

	for (lsn = 0; n < ARRAY_SIZE(own.lsns) && lsn < 2 * kvp_log_blocks(&own.g); lsn++) {
		const struct kvp_disk_log_hdr *d = (void *)data;
		struct kvp_place at = kvp_log_place(&own.g, lsn, 0);

		image_read(&l->img[script_first_ssd(l) + at.leg], at.block, data);
		if (le32_to_cpu(d->magic) == KVP_LOG_MAGIC &&
		    le64_to_cpu(d->nonce) == own.log_nonce &&
		    le64_to_cpu(d->lsn) == lsn && le32_to_cpu(d->hdr_blocks) == blocks)
			own.lsns[n++] = lsn;
	}
	return n;
}

static void rot_at(struct script *l, u64 lsn)
{
	struct kvp_place at = kvp_log_place(&own.g, lsn, 0);

	u32 disk = script_first_ssd(l) + at.leg;

	hurt_image(l, &l->img[disk], disk, at.block, ROT);
}

/*
 * Both copies of one header, and one copy, now this, now that, of those behind it: they say that it
 * was durable.
 */
static bool one_copy_is_a_witness(struct script *l)
{
	bool good = begin_with(l, live_overwriting);
	u32 i, n = find_headers(l, 1);

	good = good && expect(n >= 3, "%u entries: the case was not set up", n);
	for (i = 1; good && i < n; i++)
		rot_at(l, own.lsns[i] + l->turn % 2);
	if (good) {
		rot_at(l, own.lsns[0]);
		rot_at(l, own.lsns[0] + 1);
	}
	own.expected = -EUCLEAN;
	return good && run_life(l, l->img, NULL, true);
}

/* After the first entry only the header of a later segment is there, in one copy. */
static bool far_copy_is_a_witness(struct script *l)
{
	bool good = begin_with(l, live_far), found = false;
	u64 far = kvp_log_segment_end(&own.g, own.tail + 17 + KVP_LOG_UNWITNESSED);
	u32 second = l->turn % 2, i, n = find_headers(l, 1);

	for (i = 0; good && i < n; i++) {
		if (own.lsns[i] <= own.tail)
			continue;
		found |= own.lsns[i] == far;
		rot_at(l, own.lsns[i] + second);
		if (own.lsns[i] != far)
			rot_at(l, own.lsns[i] + !second);
	}
	own.expected = -EUCLEAN;
	return good && expect(found, "there is no such header: the case was not set up") &&
	       run_life(l, l->img, NULL, true);
}

/* Another copy of each block of a header rots: all of it is there. */
static bool copies_that_are_mixed(struct script *l)
{
	bool good = begin_with(l, live_with_long_headers);
	u32 i, n = find_headers(l, 2);

	good = good && expect(n, "there is no header of two blocks");
	for (i = 0; good && i < n; i++) {
		rot_at(l, own.lsns[i] + i % 2);
		rot_at(l, own.lsns[i] + 3 - i % 2);
	}
	return good && run_life(l, l->img, NULL, true);
}

/* Each SSD has something to be mended, and one, or two, do not take it. */
static bool refuse_to_be_mended(struct script *l)
{
	bool good = begin_with(l, live_wide);
	u32 i, n = find_headers(l, 1);

	/* The header of the first entry, its parity, and a block of its payload: one on each. */
	good = good && expect(n >= 2, "%u entries: the case was not set up", n);
	for (i = 0; good && i < 3; i++)
		rot_at(l, i < 2 ? own.lsns[i] + i : own.lsns[1] + 2);
	for (i = 0; good && i < l->start.cache; i++) {
		own.refusing = BIT(script_first_ssd(l) + i);
		good = run_life(l, l->img, NULL, true);
	}
	own.refusing = (BIT(l->start.cache) - 1) << script_first_ssd(l);
	own.expected = -EIO;
	return good && run_life(l, l->img, NULL, true);
}

static void live_and_log_more(struct script *l)
{
	struct host *h = &l->host;

	host_write(h, 2, 6, false);
	host_write(h, 64, 9, false);
	host_checkpoint(h);
	oracle_copy(&own.before, &l->o);
	live_overwriting(l);
	live_wide(l);
	host_flush(h);
}

/* The new log is where entries can count: writes become durable. */
static void live_without_log(struct script *l)
{
	const struct kvp_vdevs *vdevs = &l->host.pool->vdevs;

	if (!kvp_vdev_has_log(vdevs->log_vdev))
		sim_fail("the new log is on vdev %u, which lacks legs for it",
			 vdevs->log_vdev->index);
	host_write(&l->host, 300, 3, false);
	host_flush(&l->host);
	host_checkpoint(&l->host);
	host_write(&l->host, 310, 1, true);
}

/*
 * All SSDs but one, or two of three, are gone: blocks that the rest names as lost are poisoned, and
 * the pool goes on.
 */
static bool given_up(struct script *l)
{
	bool good = begin_with(l, live_and_log_more);
	u32 all = (BIT(l->start.cache) - 1) << script_first_ssd(l), i, k;

	for (i = 0; good && i < l->start.cache; i++)
		for (k = 0; good && k < i; k++) {
			l->start.missing = (BIT(i) | BIT(k)) << script_first_ssd(l);
			l->start.degraded = true;
			own.expected = -ENOTCONN;
			good = run_life(l, l->img, NULL, true);
			l->start.discard_log = true;
			own.expected = 0;
			own.old = &own.before;
			good = good && run_life(l, l->img, NULL, true);
			good = good && expect(own.gone,
					      "nothing is known to be lost, with %llx of %x missing",
					      l->start.missing, all) &&
			       run_life(l, l->img, live_without_log, false);
			l->start.discard_log = false;
			own.old = NULL;
			own.gone = 0;
		}
	oracle_free(&own.before);
	return good;
}

/* --- suite ------------------------------------------------------------------------------- */

/* "3", or "parity+3". */
static const char *shape_of(const struct host_start *shape)
{
	static char name[16];

	snprintf(name, sizeof(name), "%s%u", shape->parity ? "parity+" : "", shape->cache);
	return name;
}

static void set_up(struct script *l)
{
	l->crash.each_leg = true;
}

static void cut(const char *what, const struct host_start *shape, void (*act)(struct script *l))
{
	char name[128];
	const struct script_case c = {
		.name = name, .shape = shape, .set_up = set_up, .begin = begin, .act = act,
		.leave = true, .turns = 1, .most = 1, .first_plain = true, .life_seeds = true,
		.cuts = SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH, .own = &own,
		.own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "stripelog:cut:%s:%s", what, shape_of(shape));
	script_run(&c);
}

static void run_as(const char *name, struct script_case c)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "stripelog:%s:%s", name, shape_of(c.shape));
	c.name = whole;
	c.prepare = prepare;
	c.begin = begin;
	c.may_refuse = c.first_plain = c.life_seeds = true;
	c.own = &own;
	c.own_size = sizeof(own);
	script_run(&c);
}

static void hurt(enum harm harm, const char *what, const struct host_start *shape,
		 void (*act)(struct script *l), void (*then)(struct script *l))
{
	static bool (* const plays[HARMS])(struct script *l) = {
		rot_each, make_each_stale, silence_each,
	};
	char name[64];

	snprintf(name, sizeof(name), "%s:%s", harm_names[harm], what);
	run_as(name, (struct script_case){ .shape = shape, .play = plays[harm], .act = act,
					   .then = then, .turns = 1, .most = 1 });
}

/*
 * All writes in these lives are acknowledged at their end; without a leg of a parity1, directly
 * written blocks may be lost.
 */
static void run_hurts(const struct host_start *shape)
{
	static const u32 whole[] = { 0, 2, 4, 5 };
	enum harm harm;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(whole); i++)
		for (harm = 0; harm < HARMS; harm++)
			if (!shape->parity || lives[whole[i]].live != live_with_long_headers)
				hurt(harm, lives[whole[i]].name, shape, lives[whole[i]].live,
				     NULL);
	/* with parity, each start begins a new log */
	for (harm = 0; !shape->parity && harm < HARMS; harm++)
		hurt(harm, "generations", shape, live_overwriting, live_discarding);
}

static void test(const char *what, const struct host_start *shape, bool (*play)(struct script *l),
		 u32 turns)
{
	run_as(what, (struct script_case){ .shape = shape, .play = play, .turns = turns,
					   .most = turns });
}

void run_stripelog(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 5, .cache = 3, .cache_parity = true },
		{ .legs = 6, .cache = 4, .cache_parity = true },
		{ .legs = 6, .parity = true, .cache = 3, .cache_parity = true },
	};
	const struct host_start *shape;
	u32 i;

	for (shape = shapes; shape < shapes + ARRAY_SIZE(shapes); shape++) {
		for (i = 0; i < ARRAY_SIZE(lives); i++)
			cut(lives[i].name, shape, lives[i].live);
		run_hurts(shape);
		test("outdated", shape, outdated_says_nothing, 1);
		/* each with the one copy and with the other */
		test("witness", shape, one_copy_is_a_witness, 2);
		test("far-witness", shape, far_copy_is_a_witness, 2);
		test("mixed-copies", shape, copies_that_are_mixed, 1);
		test("refusing", shape, refuse_to_be_mended, 1);
		test("given-up", shape, given_up, 1);
	}
}
