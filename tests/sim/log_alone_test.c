// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log alone, without a pool, on a mirror: entries and their order, waiters, legs that fail, a
 * log that is full, and intents. The test is its client, writes home what is logged, and reads the
 * entries as a recovery does.
 */
#include <linux/mm.h>

#include "core/core.h"
#include "core/stats.h"
#include "format/regions.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "suite.h"
#include "table/table.h"

#define LEGS		2u
#define LEG_BLOCKS	2304u
#define BUFFER		2048u	/* pages: more than the log has room for */
#define LONG_RUN	128u	/* blocks that go home by intent */
#define A_WHILE		100	/* jiffies: all that can go on has done so */

/* All that a log needs, and what it asked and told. */
struct alone {
	struct kvp_sb sb;
	struct kvp_vdevs vdevs;
	struct kvp_leg legs[LEGS];
	struct kvp_stats __percpu *stats;
	struct kvp_wbuf w;
	struct kvp_table t;	/* there is no poison in it */
	u64 tunables[KVP_TUNABLES];
	unsigned long flags;
	struct kvp_failure failure;
	struct kvp_losses losses;
	u64 epoch;
	struct mutex checkpoint_lock;
	struct workqueue_struct *commit_wq, *work_wq;
	struct kvp_log log;
	bool holds_homes;	/* direct workers do nothing */
	u32 destages, spaces, settles, flushes, failed_legs, resumed, commit_failed;
};

/* A wait for durability, and what had happened when it was answered. */
struct answer {
	struct kvp_waiter w;
	struct alone *a;
	bool done;
	int error;
	u32 settles, flushes;
};

/* --- the client ------------------------------------------------------------------------ */

static void destage(void *of, bool now)
{
	((struct alone *)of)->destages++;
}

static void space(void *of)
{
	((struct alone *)of)->spaces++;
}

/* Pages of the buffer are free. What the log tells of space is counted alone. */
static void buffer_space(void *of)
{
}

static int settle(void *of)
{
	struct alone *a = of;

	a->settles += kvp_losses_dirty(&a->losses);
	atomic_set(&a->losses.recorded, atomic_read(&a->losses.seen));
	return 0;
}

static int flush(void *of)
{
	((struct alone *)of)->flushes++;
	return 0;
}

static void poison(void *of)
{
	sim_fail("there is no poison");
}

static bool fail_leg(void *of, struct kvp_leg *leg)
{
	struct alone *a = of;

	a->failed_legs |= 1u << leg->index;
	WRITE_ONCE(leg->state, KVP_LEG_FAULTED);
	atomic_inc(&a->losses.seen);
	return true;
}

static int checkpoint(void *of, const struct kvp_log_mark *head, struct kvp_log_new *to)
{
	sim_fail("the log moves");
	return -EIO;
}

static void resumed(void *of)
{
	((struct alone *)of)->resumed++;
}

static void commit_failed(void *of)
{
	((struct alone *)of)->commit_failed++;
}

static const struct kvp_log_client client = {
	.destage = destage, .space = space, .settle = settle, .flush = flush, .poison = poison,
	.fail_leg = fail_leg, .checkpoint = checkpoint, .resumed = resumed,
	.commit_failed = commit_failed,
};

static void faulted(struct kvp_failure *f, const char *why)
{
	sim_fail("the pool is faulted: %s", why);
}

/* A direct worker: the blocks of intents are written home. */
static void direct_work(struct work_struct *work)
{
	struct alone *a = container_of(work, struct kvp_direct_worker, work)->of;
	struct list_head *slice;
	struct kvp_direct *b;

	while (!a->holds_homes && (b = kvp_direct_next(&a->log, &slice))) {
		if (!slice) {
			list_splice_tail_init(&b->versions, &b->slices[0]);
			kvp_direct_cut(&a->log, b, 1);
			continue;
		}
		kvp_wbuf_drop_list(&a->w, slice);
		kvp_direct_end_slice(&a->log, b, false);
		kvp_flush_kick(&a->log);
	}
}

/* --- a log, and what is done with it ---------------------------------------------------- */

static void lay_out(struct alone *a)
{
	struct kvp_why why;

	if (kvp_layout(KVP_VDEV_MIRROR, LEGS, LEG_BLOCKS, 0, 0, &a->sb.vdevs[0], &why))
		sim_fail("no layout: %s", why.text);
	a->sb.vdev_count = 1;
	a->sb.leg_count = LEGS;
	a->sb.nonce = 99;
	a->sb.log_nonce = 77;
	a->sb.log_tail = kvp_lsn(kvp_log_blocks(&a->sb.vdevs[0]));
	if (kvp_regions_lay_out(&a->sb))
		sim_fail("there are no regions");
	a->sb.pool_blocks = kvp_map_blocks(&a->sb.map);
}

static void begin(struct alone *a)
{
	const struct kvp_log_given given = {
		.vdevs = &a->vdevs, .wbuf = &a->w, .table = &a->t, .tunables = a->tunables,
		.flags = &a->flags, .failure = &a->failure, .losses = &a->losses,
		.durable_epoch = &a->epoch, .checkpoint_lock = &a->checkpoint_lock,
		.commit_wq = a->commit_wq, .work_wq = a->work_wq, .client = &client, .of = a,
	};
	u32 i;

	if (kvp_log_init(&a->log, &given))
		sim_fail("there is no log");
	for (i = 0; i < KVP_DIRECT_WORKERS; i++) {
		kvp_direct_worker(&a->log, i)->of = a;
		INIT_WORK(&kvp_direct_worker(&a->log, i)->work, direct_work);
	}
	kvp_log_begin(&a->log);
}

static struct alone *make(void)
{
	struct alone *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct kvp_wbuf_client buffer;
	u32 i;

	lay_out(a);
	for (i = 0; i < LEGS; i++) {
		a->legs[i].index = i;
		a->legs[i].bdev = &disks.bdev[i];
		a->legs[i].state = KVP_LEG_IN_SYNC;
	}
	kvp_vdevs_make(&a->vdevs, &a->sb, NULL, a->legs, kvp_vdev_ops_of);
	a->stats = alloc_percpu(struct kvp_stats);
	buffer = (struct kvp_wbuf_client){ .space = buffer_space, .of = a, .stats = a->stats };
	if (kvp_wbuf_init(&a->w, &buffer, BUFFER, 0))
		sim_fail("there is no buffer");
	a->tunables[KVP_T_COMMIT_INTERVAL_MS] = 60000;
	a->failure.faulted = faulted;
	a->epoch = 5;
	a->commit_wq = alloc_workqueue("commit", 0, 0);
	a->work_wq = alloc_workqueue("work", WQ_UNBOUND, 0);
	mutex_init(&a->checkpoint_lock);
	set_bit(KVP_POOL_RUNNING, &a->flags);
	begin(a);
	return a;
}

static void drop(struct alone *a)
{
	kvp_log_stop(&a->log);
	destroy_workqueue(a->work_wq);
	destroy_workqueue(a->commit_wq);
	kvp_log_exit(&a->log);
	kvp_wbuf_exit(&a->w);
	free_percpu(a->stats);
	kfree(a);
}

/* What is written to @block for the @n-th time. */
static void fill(void *data, u64 block, u32 n)
{
	u32 *words = data, i;

	for (i = 0; i < KVP_BLOCK_SIZE / sizeof(*words); i++)
		words[i] = (u32)block * 1000 + n + 1;
}

/* Returns false if the buffer takes no more. */
static bool write(struct alone *a, u64 block, u32 n)
{
	struct kvp_version *d = kvp_wbuf_begin_write(&a->w, kvp_block(block), false);

	if (!d)
		return false;
	fill(page_address(d->page), block, n);
	kvp_wbuf_end_write(&a->w, d);
	return true;
}

static void write_run(struct alone *a, u64 block, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (!write(a, block + i, 0))
			sim_fail("the buffer is full");
}

static void answered(struct kvp_waiter *w, int error)
{
	struct answer *r = container_of(w, struct answer, w);

	r->done = true;
	r->error = error;
	r->settles = r->a->settles;
	r->flushes = r->a->flushes;
}

static void ask(struct alone *a, struct answer *r)
{
	*r = (struct answer){ .w.done = answered, .a = a };
	r->w.seq = kvp_wbuf_seq(&a->w);
	kvp_commit_wait_async(&a->log, &r->w);
}

static void wait_a_while(void)
{
	schedule_timeout_uninterruptible(A_WHILE);
}

static void expect_answer(struct answer *r, int error)
{
	wait_a_while();
	if (!r->done || r->error != error)
		sim_fail("a waiter is %s: %d", r->done ? "answered" : "not answered", r->error);
}

/* Read one block of the log from @leg. */
static void read_log(struct alone *a, u32 leg, kvp_lsn_t lsn, void *data)
{
	struct kvp_place at = kvp_log_place(&a->sb.vdevs[0], lsn, leg);
	struct page *page = alloc_page(GFP_KERNEL);

	if (kvp_io_page(&a->legs[leg], KVP_IO_READ, at.block, page))
		sim_fail("leg %u cannot be read", leg);
	memcpy(data, page_address(page), KVP_BLOCK_SIZE);
	__free_page(page);
}

/* Decode the entry at @lsn, as a recovery does. Returns false if @leg has none. */
static bool entry_at(struct alone *a, u32 leg, kvp_lsn_t lsn, struct kvp_log_hdr *h, u8 *buf)
{
	struct kvp_why why;

	read_log(a, leg, lsn, buf);
	return !kvp_log_decode(&a->sb.vdevs[0], buf, 1, a->sb.nonce, a->sb.log_nonce, lsn,
			       a->sb.pool_blocks, h, &why);
}

/* The entry at @lsn has @n data records, of blocks from @block on, on all legs in use. */
static void expect_data(struct alone *a, kvp_lsn_t lsn, u64 block, u32 n, struct kvp_log_hdr *h)
{
	u8 buf[KVP_BLOCK_SIZE], data[KVP_BLOCK_SIZE], want[KVP_BLOCK_SIZE];
	const struct kvp_disk_rec *recs = (const void *)(buf + KVP_LOG_HDR_SIZE);
	struct kvp_rec r;
	u32 leg, i;

	for (leg = 0; leg < LEGS; leg++) {
		if (!kvp_leg_in_sync(&a->legs[leg]))
			continue;
		if (!entry_at(a, leg, lsn, h, buf) || h->rec_count != n || h->payload != n)
			sim_fail("leg %u has not the entry", leg);
		for (i = 0; i < n; i++) {
			kvp_rec_decode(&recs[i], &r);
			read_log(a, leg, kvp_lsn_add(lsn, h->hdr_blocks + i), data);
			fill(want, block + i, 0);
			if (r.kind != KVP_REC_DATA || r.block != block + i ||
			    memcmp(data, want, sizeof(want)) ||
			    r.crc != kvp_block_sum(kvp_sum_seed(a->sb.nonce, 0, a->sb.incompat),
						   kvp_block(block + i), want))
				sim_fail("record %u is not that of block %llu", i, block + i);
		}
	}
}

static void sync(struct alone *a, int error)
{
	int ret = kvp_commit_sync(&a->log);

	if (ret != error)
		sim_fail("a commit ends with %d", ret);
}

/* --- cases ------------------------------------------------------------------------------- */

/* Two entries, one behind the other; the second names the first. */
static void appends(struct alone *a)
{
	kvp_lsn_t tail = a->sb.log_tail, second;
	struct kvp_log_hdr first, next;
	u8 buf[KVP_BLOCK_SIZE];

	write_run(a, 10, 5);
	if (entry_at(a, 0, tail, &first, buf))
		sim_fail("an entry is written before a caller asks for durability");
	sync(a, 0);
	expect_data(a, tail, 10, 5, &first);
	second = kvp_lsn_add(tail, first.blocks);
	if (kvp_log_durable(&a->log) != second || kvp_log_used(&a->log) != first.blocks)
		sim_fail("the log is durable up to %llu", kvp_lsn_nr(kvp_log_durable(&a->log)));
	write_run(a, 40, 3);
	sync(a, 0);
	expect_data(a, second, 40, 3, &next);
	if (first.epoch != 5 || first.prev_lsn || next.prev_lsn != tail ||
	    next.prev_csum != first.csum || next.durable != second)
		sim_fail("the second entry does not follow the first");
	/* All is handed on, in order, and nothing is left to commit. */
	wait_a_while();
	kvp_post_kick(&a->log);
	kvp_post_flush(&a->log);
	if (kvp_wbuf_nr_logged(&a->w) != 8 || kvp_wbuf_buffered(&a->w) ||
	    kvp_log_passed_on(&a->log) != kvp_log_durable(&a->log))
		sim_fail("%u versions are logged", kvp_wbuf_nr_logged(&a->w));
}

/* A waiter waits for all legs, and for all that was accepted before it. */
static void answers(struct alone *a)
{
	struct answer r, later;

	write_run(a, 10, 1);
	disks_stall(1, a->sb.vdevs[0].log_start, a->sb.vdevs[0].log_start + 64);
	ask(a, &r);
	wait_a_while();
	if (r.done)
		sim_fail("a waiter is answered before one leg has the entry");
	write_run(a, 11, 1);
	ask(a, &later);
	wait_a_while();
	if (r.done || later.done)
		sim_fail("a waiter is answered before an entry is durable");
	disks_release(1);
	expect_answer(&r, 0);
	expect_answer(&later, 0);
	if (r.flushes || a->settles)
		sim_fail("a waiter took the long way for nothing");
	ask(a, &r);
	if (!r.done)
		sim_fail("what is durable is not so at once");
}

/*
 * The interval is over: all that was accepted until then becomes durable, though it takes several
 * entries. What is accepted after that waits for the next interval.
 */
static void interval_commits_all(struct alone *a)
{
	u32 i, many = 4 * KVP_LOG_QUICK_DATA + 14;

	a->tunables[KVP_T_COMMIT_INTERVAL_MS] = 5000;
	for (i = 0; i < many; i++)
		if (!write(a, 10 + 2 * i, 0))
			sim_fail("the buffer is full");
	kvp_commit_kick(&a->log, true);
	wait_a_while();
	if (kvp_wbuf_buffered(&a->w) != many)
		sim_fail("the log did not wait for the interval: the case was not set up");
	schedule_timeout_uninterruptible(msecs_to_jiffies(5000));
	if (kvp_wbuf_buffered(&a->w) || a->log.commits < 2)
		sim_fail("%u blocks are not committed though the interval is over",
			 kvp_wbuf_buffered(&a->w));
	if (a->log.commits < DIV_ROUND_UP(many, KVP_LOG_QUICK_DATA))
		sim_fail("no caller waits, and an entry is so long that it holds up writers");
	write_run(a, 10, 1);
	kvp_commit_kick(&a->log, true);
	wait_a_while();
	if (kvp_wbuf_buffered(&a->w) != 1)
		sim_fail("a later write was committed before its interval was over");
}

/* A leg does not take its part: it is given up, and that is recorded before any answer. */
static void loses_a_leg(struct alone *a)
{
	kvp_lsn_t tail = a->sb.log_tail;
	struct kvp_log_hdr h;
	struct answer r;
	u8 buf[KVP_BLOCK_SIZE];

	disks_fault(FAULT_WRITE_EIO, 1, 0, LEG_BLOCKS - 1);
	write_run(a, 10, 2);
	ask(a, &r);
	expect_answer(&r, 0);
	if (a->failed_legs != 2 || r.settles != 1)
		sim_fail("legs %x failed, and the answer came after %u superblocks",
			 a->failed_legs, r.settles);
	if (atomic64_read(&a->legs[1].err_write) != 1 || a->commit_failed)
		sim_fail("the error is not counted");
	expect_data(a, tail, 10, 2, &h);
	if (entry_at(a, 1, tail, &h, buf))
		sim_fail("the other leg has it: the case was not set up");
	write_run(a, 20, 1);
	sync(a, 0);
}

/* No leg takes an entry: nothing is lost, and the next attempt writes the same place. */
static void loses_all(struct alone *a)
{
	kvp_lsn_t tail = a->sb.log_tail;
	struct kvp_log_hdr h;
	u32 leg;

	for (leg = 0; leg < LEGS; leg++)
		disks_fault(FAULT_WRITE_EIO, leg, 0, LEG_BLOCKS - 1);
	write_run(a, 10, 2);
	sync(a, -EIO);
	if (a->commit_failed != 1 || !kvp_log_failed(&a->log) || a->failed_legs)
		sim_fail("%u commits failed", a->commit_failed);
	if (kvp_wbuf_buffered(&a->w) != 2 || kvp_log_used(&a->log))
		sim_fail("%u versions are back in the buffer", kvp_wbuf_buffered(&a->w));
	disks.nr_faults = 0;
	sync(a, 0);
	expect_data(a, tail, 10, 2, &h);
	if (a->resumed != 1 || kvp_log_failed(&a->log))
		sim_fail("a commit does not end the failure");
}

/* Write everything in the log home, and take a checkpoint. Returns the number of versions. */
static u32 write_all_home(struct alone *a)
{
	struct kvp_log_at next = { 0, 0 };
	struct kvp_log_mark mark;
	struct kvp_version *d;
	LIST_HEAD(data);
	LIST_HEAD(holes);
	u32 n;

	kvp_post_kick(&a->log);
	kvp_post_flush(&a->log);
	kvp_log_passed_mark(&a->log, &mark);
	kvp_log_floor(&a->log, &mark);
	n = kvp_wbuf_take_logged(&a->w, mark.lsn, ~0u, &data, &holes, &next);
	list_for_each_entry(d, &data, list)
		kvp_wbuf_advance(d, KVP_VERSION_HOMING);
	kvp_wbuf_drop_list(&a->w, &data);
	a->sb.log_tail = mark.lsn;
	a->spaces = 0;
	kvp_log_retire(&a->log, &mark);
	return n;
}

/* Write and commit until the log takes no more. Returns the number of blocks. */
static u32 fill_log(struct alone *a)
{
	u32 n = 0;

	while (n < LEG_BLOCKS) {
		if (!write(a, 2 * (n % 200), 0)) {
			sync(a, 0);
			if (!write(a, 2 * (n % 200), 0))
				break;
		}
		n++;
		if (!(n % 16))
			sync(a, 0);
	}
	return n;
}

/* The log is full: writes wait, and destage was called. The tail moves: there is space again. */
static void comes_round(struct alone *a)
{
	u64 window = kvp_log_window(&a->sb.vdevs[0]);
	u32 round, n, most = 0;

	for (round = 0; round < 4; round++) {
		kvp_lsn_t head = kvp_log_head(&a->log);

		a->destages = 0;
		n = fill_log(a);
		if (!a->destages)
			sim_fail("the log is full, and destage was not called");
		if (n >= window || n < window / 4 || kvp_log_used(&a->log) > window)
			sim_fail("%u blocks fill a log of %llu", n, window);
		if (!kvp_log_short(&a->log))
			sim_fail("the log is full, and not short");
		if (kvp_lsn_since(kvp_log_head(&a->log), head) > window)
			sim_fail("the log wrote over itself");
		most = max(most, n);
		if (write_all_home(a) > n || kvp_log_used(&a->log) || kvp_log_counts(&a->log))
			sim_fail("%llu blocks are in use", kvp_log_used(&a->log));
		if (!a->spaces)
			sim_fail("the log did not tell that there is space");
	}
	if (!kvp_log_idle(&a->log) || n + 64 < most)
		sim_fail("after %u blocks the log takes %u", most, n);
}

/* A long run goes by intent. A FLUSH waits until it is home, flushed, and called closed. */
static void intents(struct alone *a)
{
	kvp_lsn_t tail = a->sb.log_tail;
	u8 buf[KVP_BLOCK_SIZE];
	struct kvp_log_mark mark = { .lsn = KVP_LSN_MAX };
	struct kvp_log_hdr h, next, last;
	struct answer r, other;

	a->holds_homes = true;
	write_run(a, 100, LONG_RUN);
	ask(a, &r);
	wait_a_while();
	read_log(a, 0, tail, buf);
	if (!entry_at(a, 0, tail, &h, buf) || h.payload || h.rec_count != LONG_RUN)
		sim_fail("the run is data");
	kvp_log_floor(&a->log, &mark);
	if (r.done || mark.lsn != tail || kvp_log_intents_since(&a->log) != LONG_RUN)
		sim_fail("a waiter does not wait for homes");
	write_run(a, 10, 1);
	ask(a, &other);
	wait_a_while();
	if (!entry_at(a, 0, kvp_lsn_add(tail, h.blocks), &next, buf) || next.open_count != 1 ||
	    next.open[0] != tail)
		sim_fail("the next entry does not call the intents open");
	if (r.done || other.done || a->flushes)
		sim_fail("a waiter is answered while intents are open");
	a->holds_homes = false;
	kvp_direct_kick(&a->log);
	expect_answer(&r, 0);
	expect_answer(&other, 0);
	if (!r.flushes)
		sim_fail("nothing was flushed");
	if (!entry_at(a, 0, kvp_lsn_add(tail, h.blocks + next.blocks), &last, buf) ||
	    last.open_count)
		sim_fail("no entry calls the intents closed");
	write_all_home(a);
	if (kvp_log_intents_since(&a->log) || !kvp_log_idle(&a->log))
		sim_fail("intents are left");
}

/* --- the runner ----------------------------------------------------------------------- */

static const struct alone_case {
	const char *name;
	void (*fn)(struct alone *a);
} cases[] = {
	{ "log_alone_appends", appends },
	{ "log_alone_answers", answers },
	{ "log_alone_interval_commits_all", interval_commits_all },
	{ "log_alone_loses_a_leg", loses_a_leg },
	{ "log_alone_loses_all", loses_all },
	{ "log_alone_comes_round", comes_round },
	{ "log_alone_intents", intents },
};

static void alone_main(void *arg)
{
	const struct alone_case *c = arg;
	struct alone *a = make();

	c->fn(a);
	drop(a);
}

void log_alone_tests(void)
{
	struct image img[LEGS];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!wanted(cases[i].name))
			continue;
		blank_disks(img, LEGS, LEG_BLOCKS);
		result(cases[i].name,
		       run_machine(img, LEGS, opt.seed, alone_main, (void *)&cases[i]));
		image_free(&img[0]);
		image_free(&img[1]);
	}
}
