// SPDX-License-Identifier: GPL-2.0-only
/*
 * An SSD cache alone, without a pool: the test is its vdev, its client, and the log. It sends no
 * requests to a leg. What needs those is in scache_test.c, admission_test.c, reinsert_test.c and
 * restart.c.
 */
#include <stdlib.h>

#include <linux/mm.h>

#include "cache/admission.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "check.h"
#include "core/core.h"
#include "core/stats.h"
#include "kinds/kinds.h"
#include "ram/wbuf.h"
#include "suite.h"

#define SEGMENT		256u
#define SEGMENTS	8u
#define BLOCKS		(SEGMENT * SEGMENTS)
#define BEGIN		(2ull * BLOCKS)		/* where the log begins, and place 0 */
#define ERA		5u			/* of the summary that old blocks come from */

/**
 * struct alone - a cache of one SSD, and what the client of the cache answers
 * @outcome: of the next append
 * @appended: so many blocks were appended to the log
 * @claimed: the last claim of the ring; @refuses: it fails
 */
struct alone {
	struct kvp_geometry g;
	struct kvp_leg leg;
	struct kvp_vdev v;
	struct kvp_scache s;
	struct kvp_admission f;
	struct kvp_reinsert r;
	struct kvp_wbuf w;
	struct mutex lock;
	bool locked;
	struct kvp_cache_log log;
	u64 tunables[KVP_TUNABLES];
	struct kvp_stats __percpu *stats;
	enum kvp_clean_outcome outcome;
	u32 appended, claims;
	kvp_lsn_t claimed;
	bool refuses;
	bool (*test)(struct alone *t);
	bool good;
};

/* --- the client ------------------------------------------------------------------------ */

static void lock(void *of)
{
	struct alone *t = of;

	mutex_lock(&t->lock);
	t->locked = true;
}

static void unlock(void *of)
{
	struct alone *t = of;

	t->locked = false;
	mutex_unlock(&t->lock);
}

static void look(void *of, struct kvp_cache_log *log)
{
	*log = ((struct alone *)of)->log;
}

static int claim(void *of, kvp_lsn_t lsn)
{
	struct alone *t = of;

	t->claims++;
	if (t->refuses)
		return -EIO;
	t->claimed = lsn;
	return 0;
}

static enum kvp_clean_outcome append(void *of, struct list_head *taken, u32 n)
{
	struct alone *t = of;

	if (!t->locked)
		sim_fail("blocks are appended without the lock");
	if (t->outcome == KVP_CLEAN_SENT) {
		t->appended += n;
		kvp_admit_sent(&t->f, taken);
	}
	return t->outcome;
}

static bool may_append(void *of)
{
	return false;
}

static void wait_idle(void *of)
{
}

static const struct kvp_scache_client client = {
	.lock = lock, .unlock = unlock, .look = look, .claim = claim,
	.append = append, .may_append = may_append, .wait_idle = wait_idle,
};

/* --- the index ---------------------------------------------------------------------------- */

static kvp_lsn_t lsn(u64 behind)
{
	return kvp_lsn(BEGIN + behind);
}

/*
 * The log writes an entry with a header at @at, and its @n blocks from @block on are written home.
 */
static void write_home(struct alone *t, u64 at, u64 block, u32 n)
{
	struct kvp_version d = { .lsn = lsn(at) };
	u32 i;

	kvp_scache_overwrite(&t->s, lsn(at), n + 1);
	for (i = 0; i < n; i++) {
		d.block = kvp_block(block + i);
		d.payload = 1 + i;
		d.crc = 1000 + block + i;
		kvp_scache_home_written(&t->s, &d);
	}
}

/* So many blocks from @block on lie together on the SSD; 0: @block is not there. */
static u32 there(struct alone *t, u64 block, u32 n, struct kvp_on_ssd *at)
{
	u32 alike = kvp_scache_alike(&t->s, kvp_block(block), n, at);

	return at->block ? alike : 0;
}

static bool finds(struct alone *t)
{
	struct kvp_on_ssd at;
	bool good;

	write_home(t, 0, 100, 8);
	good = expect(there(t, 100, 8, &at) == 8, "what was written home is not found");
	good &= expect(at.block == kvp_log_place(&t->g, lsn(1), 0).block, "at the wrong place");
	good &= expect(at.before == ~0u, "it counts as old");
	good &= expect(there(t, 104, 8, &at) == 4, "the run does not end with the last block");
	good &= expect(!there(t, 99, 2, &at), "the block before is found");
	good &= expect(kvp_scache_alike(&t->s, kvp_block(98), 8, &at) == 2, "two are not there");
	good &= expect(kvp_scache_used(&t->s) == 8, "%llu blocks are there", kvp_scache_used(&t->s));
	good &= expect(kvp_scache_unused(&t->s) == BLOCKS - 9, "%u places are unused",
		       kvp_scache_unused(&t->s));
	/* the same block once more: the newer place counts */
	write_home(t, 9, 103, 1);
	good &= expect(there(t, 100, 8, &at) == 3, "blocks are together that are not");
	good &= expect(there(t, 103, 1, &at) == 1 &&
		       at.block == kvp_log_place(&t->g, lsn(10), 0).block, "at its old place");
	/* longer reads do not ask, and none does if no SSD is left */
	good &= expect(!there(t, 100, KVP_SCACHE_READ + 1, &at), "a long read asks the cache");
	t->leg.state = KVP_LEG_FAULTED;
	good &= expect(!there(t, 100, 1, &at) && !kvp_scache_size(&t->s), "without an SSD");
	return good;
}

static bool forgets(struct alone *t)
{
	struct kvp_on_ssd at;
	bool good;

	write_home(t, 0, 100, 8);
	kvp_scache_forget(&t->s, kvp_block(103), 2);
	good = expect(!there(t, 103, 1, &at) && !there(t, 104, 1, &at), "blocks that changed are there");
	good &= expect(there(t, 100, 8, &at) == 3 && there(t, 105, 3, &at) == 3, "others are not");
	kvp_scache_forget(&t->s, kvp_block(0), 1000);
	return good & expect(!kvp_scache_used(&t->s), "some are left");
}

static bool comes_round(struct alone *t)
{
	struct kvp_on_ssd at, last, now;
	bool good;

	write_home(t, 0, 100, 8);
	good = expect(there(t, 100, 8, &at) == 8 && there(t, 107, 1, &last) == 1, "nothing is there");
	kvp_scache_overwrite(&t->s, lsn(BLOCKS - SEGMENT), SEGMENT);
	good &= expect(kvp_scache_intact(&t->s, &at), "the log has not come to the place yet");
	good &= expect(there(t, 100, 8, &now) == 8, "the log ended before its place");
	/* now the header of an entry, at the place of the one that was there */
	kvp_scache_overwrite(&t->s, lsn(BLOCKS), 1);
	good &= expect(kvp_scache_intact(&t->s, &at), "only the header was overwritten");
	kvp_scache_overwrite(&t->s, lsn(BLOCKS + 1), 1);
	good &= expect(!kvp_scache_intact(&t->s, &at), "the first block was overwritten while it was read");
	good &= expect(kvp_scache_intact(&t->s, &last), "but the last one was not");
	good &= expect(!there(t, 100, 1, &now) && there(t, 101, 7, &now) == 7, "what the log overwrites");
	kvp_scache_overwrite(&t->s, lsn(BLOCKS + 2), 7);
	return good & expect(!kvp_scache_used(&t->s) && !kvp_scache_intact(&t->s, &last), "all is gone");
}

static bool fills(struct alone *t)
{
	struct kvp_index_entry e = { .key = 7, .crc = 1 }, live[4];
	atomic_t changes = ATOMIC_INIT(3);
	struct kvp_on_ssd at;
	bool good;

	good = expect(!kvp_scache_fill(&t->s, lsn(20), &e, &changes, 3), "a block does not enter");
	good &= expect(there(t, 7, 1, &at) == 1, "and is not found");
	good &= expect(kvp_scache_fill(&t->s, lsn(21), &e, &changes, 3) == -EEXIST, "it enters again");
	e.key = 8;
	good &= expect(kvp_scache_fill(&t->s, lsn(22), &e, &changes, 2) == -ESTALE,
		       "a block enters that changed since it was read");
	e.key = 7;
	e.place = 20;
	good &= expect(!kvp_scache_move(&t->s, lsn(30), &e, &changes, 3), "it cannot be moved");
	good &= expect(kvp_scache_live(&t->s, lsn(0), SEGMENT, live) == 1 && live[0].place == 30 &&
		       live[0].key == 7, "it is not at its new place");
	/* the log has overwritten the old place meanwhile: the new one counts all the same */
	kvp_scache_forget(&t->s, kvp_block(7), 1);
	good &= expect(!kvp_scache_move(&t->s, lsn(40), &e, &changes, 3), "it is lost");
	good &= expect(kvp_scache_live(&t->s, lsn(0), SEGMENT, live) == 1 && live[0].place == 40,
		       "it is not there again");
	return good;
}

/* --- blocks from before the start ----------------------------------------------------------- */

static bool restores(struct alone *t)
{
	u64 newest = kvp_entry(1, ERA - 1, KVP_ENTRY_VALID);
	u64 born = kvp_entry(1, ERA, KVP_ENTRY_VALID);
	u64 other = kvp_entry(2, ERA - 1, KVP_ENTRY_VALID), none = 0;
	kvp_lsn_t segment = kvp_lsn_back(lsn(0), SEGMENT);
	u32 first = kvp_scache_place(&t->s, segment);
	struct kvp_index_entry e[] = {
		{ .key = 200, .crc = 1, .place = first, .old = true },
		{ .key = 201, .crc = 1, .place = first + 1, .old = true },
	};
	struct kvp_on_ssd at;
	bool good;

	if (!expect(!kvp_scache_expect_old(&t->s), "no memory for eras"))
		return false;
	kvp_scache_set_era(&t->s, first, ERA);
	write_home(t, 0, 201, 1);
	good = expect(first == BLOCKS - SEGMENT, "the round before begins at %u", first);
	good &= expect(kvp_scache_restore(&t->s, segment, e, 2) == 1, "not the one that is unknown");
	good &= expect(!t->locked, "the lock is held");
	good &= expect(there(t, 200, 1, &at) == 1 && at.before == ERA, "its era is %u", at.before);
	good &= expect(there(t, 201, 1, &at) == 1 && at.before == ~0u, "it replaced a newer one");
	good &= expect(kvp_scache_unused(&t->s) == BLOCKS - 3, "%u places are unused",
		       kvp_scache_unused(&t->s));
	good &= expect(kvp_scache_is_newest(&t->s, &e[0], newest), "the version of the table");
	good &= expect(!kvp_scache_is_newest(&t->s, &e[0], born), "it was born later");
	good &= expect(!kvp_scache_is_newest(&t->s, &e[0], other), "it has another sum");
	good &= expect(!kvp_scache_is_newest(&t->s, &e[0], none), "it is not written");
	kvp_scache_forget_older(&t->s, kvp_block(200), newest);
	good &= expect(there(t, 200, 1, &at) == 1, "the newest version was forgotten");
	kvp_scache_forget_older(&t->s, kvp_block(200), born);
	good &= expect(!there(t, 200, 1, &at), "an older version is believed");
	kvp_scache_forget_older(&t->s, kvp_block(201), born);
	good &= expect(there(t, 201, 1, &at) == 1, "one of this start was forgotten");
	/* the log comes to that segment, while its summary is being read */
	kvp_scache_overwrite(&t->s, lsn(BLOCKS - SEGMENT), 1);
	good &= expect(kvp_scache_restore(&t->s, segment, e, 1) == -ESTALE, "over the log");
	return good & expect(!there(t, 200, 1, &at), "and it entered");
}

/* --- the ring ------------------------------------------------------------------------------- */

static bool goes_round(struct alone *t)
{
	u32 kept = kvp_log_kept(&t->g), left = SEGMENT - kept;
	struct kvp_on_ssd at;
	bool good;

	t->log.here = false;
	t->refuses = true;
	good = expect(!kvp_scache_claimed(&t->s), "nothing was claimed yet");
	good &= expect(!kvp_scache_claim(&t->s) && t->claims == 1, "a claim fails unnoticed");
	t->refuses = false;
	good &= expect(kvp_scache_claim(&t->s) && t->claims == 2, "a claim fails");
	good &= expect(!kvp_lsn_before(t->claimed, lsn(2 * SEGMENT)), "it is too short");
	good &= expect(kvp_scache_claim(&t->s) && t->claims == 2, "what is claimed is claimed again");
	good &= expect(kvp_scache_ring(&t->s, left - 10) == lsn(0), "it does not begin at place 0");
	good &= expect(kvp_scache_ring(&t->s, 10) == lsn(left - 10), "it does not go on");
	good &= expect(kvp_scache_ring(&t->s, 1) == lsn(SEGMENT), "it writes over a summary");
	write_home(t, SEGMENT, 100, 8);
	good &= expect(there(t, 100, 1, &at) == 1 && kvp_scache_intact(&t->s, &at), "is not there");
	while (kvp_lsn_before(kvp_scache_passed(&t->s), lsn(BLOCKS + SEGMENT)))
		kvp_scache_ring(&t->s, 31);
	kvp_scache_ring(&t->s, 31);
	good &= expect(!kvp_scache_claimed(&t->s), "it is beyond its claim");
	good &= expect(!there(t, 100, 1, &at) && !kvp_scache_used(&t->s), "what it overwrote is there");
	t->log.here = true;
	return good & expect(kvp_scache_claim(&t->s) && t->claims == 2, "a log claims nothing");
}

/* --- admission ------------------------------------------------------------------------------ */

/* A read of @block from home that admission may take. NULL: it refuses. */
static struct kvp_candidate *read_home(struct alone *t, u64 block, bool changes)
{
	struct kvp_admit_plan plan;

	if (!kvp_admit_plan(&t->f, kvp_block(block), 1, 0, &plan))
		return NULL;
	if (changes)
		kvp_admit_changed(&t->f, kvp_block(block), 1);
	return kvp_admit_begin(&t->f, kvp_block(block), &plan);
}

static bool add(struct alone *t, u64 block)
{
	struct kvp_candidate *c = read_home(t, block, false);

	if (c)
		kvp_admit_add(&t->f, c, 1000 + block);
	flush_delayed_work(&t->f.work);
	return c;
}

static u64 refused(const struct alone *t, enum kvp_admit_refusal why)
{
	return t->stats->ssd_refused[why];
}

/* The entry with one clean block at @at is durable. */
static void durable(struct alone *t, u64 at)
{
	struct kvp_log_hdr h = {
		.lsn = lsn(at), .blocks = 2, .hdr_blocks = 1, .rec_count = 1, .payload = 1,
	};

	kvp_scache_overwrite(&t->s, h.lsn, h.blocks);
	kvp_admit_durable(&t->f, &h);
}

static bool admits(struct alone *t)
{
	struct kvp_on_ssd at;
	bool good;

	good = expect(add(t, 50) && t->appended == 1, "%u blocks were appended", t->appended);
	good &= expect(kvp_admit_busy(&t->f) && !kvp_admit_waiting(&t->f), "it is not on its way");
	good &= expect(!there(t, 50, 1, &at), "it is there before it is durable");
	/* one entry at a time */
	good &= expect(add(t, 51) && t->appended == 1 && kvp_admit_waiting(&t->f), "the next goes, too");
	durable(t, 0);
	good &= expect(there(t, 50, 1, &at) == 1 &&
		       at.block == kvp_log_place(&t->g, lsn(1), 0).block, "it is not there");
	good &= expect(t->stats->ssd_fills == 1, "%llu are counted", (u64)t->stats->ssd_fills);
	kvp_admit_kick(&t->f);
	flush_delayed_work(&t->f.work);
	good &= expect(t->appended == 2, "the next one does not go");
	kvp_admit_failed(&t->f);
	good &= expect(!there(t, 51, 1, &at) && !kvp_admit_busy(&t->f), "it was not written");
	return good;
}

static bool refuses_changes(struct alone *t)
{
	struct kvp_version *d;
	struct kvp_on_ssd at;
	bool good;

	good = expect(!read_home(t, 50, true), "a block that changed while it was read");
	good &= expect(refused(t, KVP_ADMIT_CHANGED) == 1, "is not counted");
	/* a change while the entry is in flight */
	good &= expect(add(t, 50), "is refused for ever");
	kvp_admit_changed(&t->f, kvp_block(48), 8);
	durable(t, 0);
	good &= expect(!there(t, 50, 1, &at), "a block that changed on its way");
	good &= expect(refused(t, KVP_ADMIT_CHANGED) == 2, "is not counted");
	/* a newer version in the buffer */
	d = kvp_wbuf_begin_write(&t->w, kvp_block(60), false);
	if (d)
		kvp_wbuf_end_write(&t->w, d);
	good &= expect(d && add(t, 60) && t->appended == 1, "a block with a newer version goes");
	return good & expect(refused(t, KVP_ADMIT_CHANGED) == 3, "is not counted");
}

static bool refuses(struct alone *t)
{
	struct kvp_candidate *c[KVP_ADMIT_BLOCKS];
	struct kvp_admit_plan plan;
	bool good;
	u32 i;

	t->tunables[KVP_T_SEQ_CUTOFF_READ] = 4 * KVP_BLOCK_SIZE;
	good = expect(!kvp_admit_plan(&t->f, kvp_block(100), 16, 0, &plan), "a stream is admitted");
	good &= expect(refused(t, KVP_ADMIT_STREAM) == 16, "not all of it is counted");
	t->outcome = KVP_CLEAN_NEVER;
	good &= expect(add(t, 50) && !t->appended, "the log is short, and takes it");
	good &= expect(refused(t, KVP_ADMIT_LOG) == 1 && !kvp_admit_waiting(&t->f), "is not dropped");
	for (i = 0; i < KVP_ADMIT_BLOCKS; i++) {
		c[i] = read_home(t, 1000 * (i + 1), false);
		good &= expect(c[i], "candidate %u is refused", i);
	}
	good &= expect(!read_home(t, 7, false) && refused(t, KVP_ADMIT_MEMORY) == 1, "one too many");
	for (i = 0; i < KVP_ADMIT_BLOCKS; i++)
		if (c[i])
			kvp_admit_drop(&t->f, c[i]);
	t->outcome = KVP_CLEAN_LATER;
	good &= expect(add(t, 50) && kvp_admit_waiting(&t->f), "it does not wait");
	kvp_admit_stop(&t->f);
	good &= expect(!kvp_admit_waiting(&t->f) && !read_home(t, 7, false), "it goes on, stopped");
	kvp_admit_unstop(&t->f);
	t->outcome = KVP_CLEAN_SENT;
	return good & expect(add(t, 50) && t->appended == 1, "it does not go on after that");
}

/* --- life --------------------------------------------------------------------------------- */

static void make_ssd(struct alone *t)
{
	t->g = (struct kvp_geometry){
		.kind = KVP_VDEV_CACHE, .leg_count = 1, .log_start = 64,
		.segments = SEGMENTS, .segment_blocks = SEGMENT,
	};
	/* No request goes there: any device will do. */
	t->leg = (struct kvp_leg){ .v = &t->v, .state = KVP_LEG_IN_SYNC, .bdev = (void *)t };
	t->v = (struct kvp_vdev){
		.g = &t->g, .ops = &kvp_cache_ops, .legs = &t->leg, .nr_legs = 1,
	};
}

static bool begin(struct alone *t, struct workqueue_struct *wq)
{
	const struct kvp_wbuf_client buffer = { .stats = t->stats };
	const struct kvp_scache_given given = {
		.client = &client, .of = t, .wq = wq, .stats = t->stats, .tunables = t->tunables,
	};

	make_ssd(t);
	mutex_init(&t->lock);
	t->log.here = true;
	t->outcome = KVP_CLEAN_SENT;
	t->tunables[KVP_T_SEQ_CUTOFF_READ] = 1 << 20;
	t->tunables[KVP_T_FILL_DWPD] = 100;
	if (kvp_wbuf_init(&t->w, &buffer, 64, 0) || kvp_scache_init(&t->s, &t->v, &given))
		return false;
	lock(t);
	kvp_scache_begin(&t->s, &t->v, lsn(0), lsn(0));
	unlock(t);
	if (kvp_admit_start(&t->f, &t->s, &t->w, &t->r))
		return false;
	t->f.gather = 0;
	return true;
}

static void alone_main(void *arg)
{
	struct workqueue_struct *wq = alloc_workqueue("alone", WQ_UNBOUND, 0);
	struct alone *t = arg;
	const char *wrong;

	t->stats = alloc_percpu(struct kvp_stats);
	t->good = expect(begin(t, wq), "there is no cache") && t->test(t);
	if (kvp_admit_busy(&t->f))
		kvp_admit_failed(&t->f);
	wrong = kvp_admit_check(&t->f) ?: kvp_index_check(&t->s.index);
	t->good &= expect(!wrong, "%s", wrong);
	kvp_admit_exit(&t->f);
	kvp_scache_exit(&t->s);
	kvp_wbuf_exit(&t->w);
	destroy_workqueue(wq);
	free_percpu(t->stats);
}

static bool alone(bool (*test)(struct alone *t))
{
	struct alone *t = calloc(1, sizeof(*t));
	bool good;

	t->test = test;
	good = run_machine(NULL, 0, 1, alone_main, t) && t->good;
	free(t);
	return good;
}

bool scache_alone_test(void)
{
	return alone(finds) & alone(forgets) & alone(comes_round) & alone(fills) & alone(restores) &
	       alone(goes_round);
}

bool admission_alone_test(void)
{
	return alone(admits) & alone(refuses_changes) & alone(refuses);
}
