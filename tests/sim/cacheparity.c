// SPDX-License-Identifier: GPL-2.0-only
/*
 * A parity1 whose log is on a cache of kind parity1: rows of homes, and their parity in rows of the
 * log. It is cut everywhere. Each image is checked with any one leg gone, and with any leg and any
 * SSD gone at once (check.c). A recovery without one of them is cut, and the next start is without
 * the other.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>

#include "script.h"
#include "cache/admission.h"
#include "io/io.h"
#include "log/move.h"
#include "super/members.h"

#define LEGS		3u	/* with data; behind them as many SSDs */
#define SSDS		3u
#define STRIPES		46u	/* of four rows: more than an entry of parity holds */

/* What a case knows besides its script. */
static struct {
	bool filled;
	struct completion done;
	u64 nonce;		/* of the log that a recovery finds */
} own;

/* --- what happens ------------------------------------------------------------------------ */

static void lose(struct script *t, u32 disk)
{
	disks_kill(disk);
	t->crash.lost |= BIT(disk);
}

/* If false, the test must be repeated with another order of events. */
static bool home_without_checkpoint(struct script *t)
{
	t->spoilt = !host_try_home(&t->host);
	return !t->spoilt;
}

static void parts_of_rows(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 81, 6, false);
	host_checkpoint(&t->host);
	host_write(&t->host, 3, 3, false);
	host_write(&t->host, 90, 1, true);
	host_checkpoint(&t->host);
	if (!t->host.pool->log->ssd_blocks[KVP_LOG_PARITY])
		sim_fail("no parity was logged: the case was not set up");
}

/* Parity in the log that counts an old version of a block, and a new one beside it. */
static void newer_than_the_parity_counts(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 73, 1, true);
	if (!home_without_checkpoint(t))
		return;
	host_write(&t->host, 64, 1, true);
	host_write(&t->host, 73, 1, true);
	script_cut_from_here(t);
	host_checkpoint(&t->host);
}

static void row_in_every_way(struct script *t)
{
	host_write(&t->host, 64, 1, true);
	if (!home_without_checkpoint(t))
		return;
	host_write(&t->host, 64, 8, true);
	host_checkpoint(&t->host);
	host_write(&t->host, 68, 1, true);
	host_discard(&t->host, 64, 1);
	host_checkpoint(&t->host);
	host_write(&t->host, 64, 1, true);
	host_checkpoint(&t->host);
}

/* An SSD dies while parts of rows go home, and their parity perhaps goes to the log. */
static void an_ssd_dies(struct script *t)
{
	host_write(&t->host, 64, 3, true);
	host_write(&t->host, 81, 1, true);
	lose(t, LEGS + 1);
	host_checkpoint(&t->host);
	host_write(&t->host, 66, 20, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	host_read_check(&t->host, 64);
}

/* It takes no writes any more just when parity is logged. */
static void an_ssd_refuses_parity(struct script *t)
{
	host_write(&t->host, 64, 3, true);
	host_write(&t->host, 81, 1, true);
	flush_delayed_work(&t->host.pool->log->post_work);
	disks_fault(FAULT_WRITE_EIO, LEGS, 0, ~0ull);
	t->crash.lost |= BIT(LEGS);
	host_checkpoint(&t->host);
	if (kvp_leg_in_sync(host_leg(&t->host, LEGS)))
		sim_fail("the SSD was not given up");
	host_write(&t->host, 65, 1, true);
	host_checkpoint(&t->host);
}

/* A leg dies, and then an SSD: the rest is enough, for ever. */
static void one_of_each_dies(struct script *t)
{
	host_write(&t->host, 64, 3, true);
	lose(t, 1);
	host_write(&t->host, 66, 20, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	lose(t, LEGS + 2);
	host_write(&t->host, 2, 1, true);
	host_write(&t->host, 7, 1, true);
	host_checkpoint(&t->host);
	host_write(&t->host, 71, 4, true);
	host_read_check(&t->host, 64);
	host_read_check(&t->host, 100);
}

static void part_over_an_open_intent(struct script *t)
{
	host_write_by_intent(&t->host, 64, 48);
	host_write(&t->host, 66, 1, false);
	host_write(&t->host, 77, 2, false);
	if (kvp_commit_sync(t->host.pool->log))
		sim_fail("a commit failed");
	if (!home_without_checkpoint(t))
		return;
	host_write(&t->host, 66, 1, true);
	host_checkpoint(&t->host);
}

static void part_over_a_closed_intent(struct script *t)
{
	host_write_by_intent(&t->host, 64, 48);
	host_flush(&t->host);
	script_cut_from_here(t);
	host_write(&t->host, 66, 1, true);
	host_write(&t->host, 77, 2, true);
	if (!home_without_checkpoint(t))
		return;
	host_write(&t->host, 66, 1, true);
	host_write(&t->host, 68, 1, true);
	host_checkpoint(&t->host);
}

static void filler(void *arg)
{
	struct script *t = arg;
	u32 i;

	for (i = 0; !own.filled; i++) {
		host_write(&t->host, 64 + (i * 5) % 80, 1, false);
		if (i % 20 == 19)
			host_flush(&t->host);
	}
	complete_all(&own.done);
}

static void hold_homes(bool hold)
{
	u32 i;

	for (i = 0; i < LEGS; i++)
		if (hold)
			disks_stall(i, disks.data_start,
				    disks.img[i].blocks - KVP_LABEL_BLOCKS - 1);
		else
			disks_release(i);
}

/*
 * While nothing goes home the log gets full; there is room for parity in rows, of destage or of a
 * recovery.
 */
static void full_log_has_room_for_parity(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u32 i;

	init_completion(&own.done);
	hold_homes(true);
	sim_spawn("filler", filler, t);
	for (i = 0; i < 400 && !kvp_log_short(t->host.pool->log); i++)
		host_sleep(50);
	if (!kvp_log_short(t->host.pool->log))
		sim_fail("%llu of %llu blocks of the log are used: the case was not set up",
			 kvp_log_used(t->host.pool->log), kvp_log_window(log->vdevs->log_vdev->g));
	script_cut_from_here(t);
	t->cuts = 6;
	own.filled = true;
	hold_homes(false);
	wait_for_completion(&own.done);
	host_checkpoint(&t->host);
	if (log->reserved)
		sim_fail("the log is empty, and owes %u rows", log->reserved);
}

/*
 * Parity takes the rest of a segment, and no more: the summary follows, and an entry beyond it does
 * not count.
 */
static void parity_ends_with_the_segment(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u32 i, k, kept = kvp_log_kept(log->vdevs->log_vdev->g);
	u32 segment = log->vdevs->log_vdev->g->segment_blocks;
	u64 begin = log->head.lsn;

	t->cuts = 4;
	for (i = 0; log->head.lsn - begin < 20 * segment; i++) {
		for (k = 0; k < 1 + i * i % 13 + i / 16 % 5; k++)
			host_write(&t->host, 64 + 4 * k + i % 4, 1, false);
		host_checkpoint(&t->host);
		if (log->durable.lsn + kept > kvp_log_segment_end(log->vdevs->log_vdev->g,
			log->durable.prev_lsn))
			sim_fail("the entry at %llu goes beyond the end of its segment",
				 log->durable.prev_lsn);
	}
}

/* --- a leg leaves amid stripes (R7) ------------------------------------------------------- */

#define LARGE	112u	/* blocks: more slices than there are workers */

/* Stripes of a stream past the cache are on their way home, and others are not begun. */
static void begin_stream(struct script *t)
{
	struct kvp_log *log = t->host.pool->log;
	u64 intents;

	host_write(&t->host, 0, LARGE, false);
	host_flush(&t->host);
	host_checkpoint(&t->host);
	script_cut_from_here(t);
	intents = log->intent_blocks;
	hold_homes(true);
	host_write(&t->host, 0, LARGE, false);
	kvp_commit_now(t->host.pool->log);
	kvp_commit_kick(t->host.pool->log, true);
	host_sleep(200);
	if (log->intent_blocks < intents + LARGE / 2)
		sim_fail("no intents: the case was not set up");
}

static void leg_leaves(struct script *t)
{
	struct kvp_pool *pool = t->host.pool;
	u32 i;

	lose(t, 1);
	if (!kvp_leg_fail(host_leg(&t->host, 1), "it died"))
		sim_fail("leg 1 is needed");
	host_sleep(100);
	hold_homes(false);
	for (i = 0; i < 1000 && kvp_members_dirty(pool); i++)
		host_sleep(1);
	if (kvp_members_dirty(pool))
		sim_fail("the loss was not recorded");
	t->crash.recorded_at = disks.trace.nr;
}

static void end_stream(struct script *t)
{
	u32 i;

	host_flush(&t->host);
	for (i = 0; i < LARGE; i++)
		host_read_check(&t->host, i);
	host_checkpoint(&t->host);
	if (t->host.pool->log->nr_open || t->host.pool->log->withdrawn)
		sim_fail("intents are open after a checkpoint");
}

static void stripes_become_data(struct script *t)
{
	begin_stream(t);
	leg_leaves(t);
	end_stream(t);
}

static void mover(void *arg)
{
	struct script *t = arg;
	struct kvp_log_new plan = { .v = &t->host.pool->vdevs.v[0],
				    .mode = KVP_CACHE_WRITETHROUGH };

	if (kvp_log_move_to(t->host.pool->log, &plan))
		sim_fail("the log has not moved");
	complete_all(&own.done);
}

/*
 * The log moves by order, and nothing is built until it has moved. Some blocks have newer versions
 * in the buffer. The move does not wait for any of that to become data.
 */
static void stripes_while_the_log_moves(struct script *t)
{
	u32 i;

	init_completion(&own.done);
	begin_stream(t);
	sim_spawn("mover", mover, t);
	host_sleep(20);
	for (i = 5; i < LARGE; i += 9)
		host_write(&t->host, i, 1, false);
	host_discard(&t->host, 30, 4);
	leg_leaves(t);
	wait_for_completion(&own.done);
	if (t->host.pool->vdevs.log_vdev->index)
		sim_fail("the log is not on the legs");
	end_stream(t);
	script_cut_from_here(t);
	t->cuts = 2;
	host_write(&t->host, 3, 1, true);
}

/* --- running them -------------------------------------------------------------------------- */

static const struct host_start shape = {
	.legs = LEGS + SSDS, .parity = true, .cache = SSDS, .cache_parity = true,
};

static void begin(struct script *t)
{
	if (!kvp_log_striped(t->host.pool->vdevs.log_vdev->g) ||
	    !t->host.pool->vdevs.most_reserved)
		sim_fail("the log is on vdev %u: the case was not set up",
			 t->host.pool->vdevs.log_vdev->index);
	kvp_admit_stop(t->host.pool->admission);
	/* Checkpoints come when a test asks for them. */
	WRITE_ONCE(t->host.pool->tunables[KVP_T_DESTAGE_IDLE_MS], 600 * 1000);
	script_cut_from_here(t);
}

static void set_up(struct script *t)
{
	t->crash.each_leg = true;
}

static void test(const char *name, void (*act)(struct script *t))
{
	/* Each image is started many times: where few are asked for, not at every position. */
	const struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .begin = begin, .act = act,
		.leave = true, .turns = opt.thorough ? 4 : 1, .salt = 1000, .first_plain = true,
		.cuts = opt.images < 3 ? 12 : SCRIPT_EVERYWHERE, .depth = CHECK_RECRASH,
		.own = &own, .own_size = sizeof(own),
	};

	script_run(&c);
}

/* --- a recovery's chain ---------------------------------------------------------------------- */

/* One chunk of each stripe is in the log, the other at home only: more rows than an entry has. */
static void log_part_of_every_row(struct script *t)
{
	u32 stripe;

	own.nonce = t->host.pool->log->nonce;
	for (stripe = 0; stripe < STRIPES; stripe++)
		host_write(&t->host, 8 * stripe, 8, false);
	host_checkpoint(&t->host);
	hold_homes(true);
	for (stripe = 0; stripe < STRIPES; stripe++)
		host_write(&t->host, 8 * stripe + stripe % 2 * 4, 4, false);
	host_flush(&t->host);
}

/* In the recovery that is cut. */
static void refuse_on_an_ssd(struct script *t)
{
	if (t->lives == 2)
		disks_fault(FAULT_WRITE_EIO, LEGS + 1, disks.log_first[LEGS + 1],
			    disks.log_end[LEGS + 1] - 1);
}

/* All writes in flight are there. */
static void cut_at(const struct trace *trace, u32 at, struct image *out)
{
	struct cutter *cut = malloc(sizeof(*cut));
	struct rng rng = { opt.seed };
	u8 fates[MAX_PENDING];

	memset(fates, FATE_KEPT, sizeof(fates));
	cutter_init(cut, trace);
	cutter_seek(cut, at);
	cutter_images(cut, fates, &rng, out);
	cutter_free(cut);
	free(cut);
}

/*
 * Finds the entries of the chain in the submissions to any SSD: places of the first and the last.
 * Returns their number.
 */
static u32 find_chain(const struct trace *trace, u64 nonce, u32 *first, u32 *last)
{
	u32 i, n = 0;
	u64 lsn = 0;

	for (i = 0; i < trace->nr_requests; i++) {
		const struct trace_request *r = &trace->requests[i];
		const struct kvp_disk_log_hdr *d;

		if (r->op != KVP_IO_WRITE_FUA || !r->nr || r->disk < LEGS)
			continue;
		d = (const struct kvp_disk_log_hdr *)r->data[0]->data;
		if (le32_to_cpu(d->magic) != KVP_LOG_MAGIC || le64_to_cpu(d->nonce) == nonce)
			continue;
		if (!n)
			*first = r->submitted;
		*last = r->submitted;
		n += le64_to_cpu(d->lsn) != lsn;
		lsn = le64_to_cpu(d->lsn);
	}
	return n;
}

/*
 * The recovery is cut all along its chain, and after it. The next start may lack a leg and an SSD.
 */
static bool cut_the_chain(struct script *t, const struct trace *trace)
{
	u32 tries = min(opt.images, 16u) + 4, i, first = 0, last = 0, span;
	u32 n = find_chain(trace, own.nonce, &first, &last);
	bool good = expect(n > 1, "%u entries of a chain: the case was not set up", n);

	span = last + (last - first) - first + 8;
	for (i = 0; good && i < tries; i++) {
		struct crash c = t->crash;
		struct image img[MAX_DISKS];

		cut_at(trace, first + span * i / tries, img);
		c.images = img;
		c.at = ~0u;
		c.seed = mix64(opt.seed, i);
		good = !check_crash(&c, i % 3 ? CHECK_LEGS : CHECK_RECRASH);
		if (!good)
			fprintf(stderr, "  ^ the chain is from %u to %u, cut at %u\n", first, last,
				first + span * i / tries);
		script_free_disks(t, img);
	}
	return good;
}

static bool chain_is_cut(struct script *t)
{
	struct image logged[MAX_DISKS];
	struct trace trace;
	bool good = script_live(t, log_part_of_every_row, true);

	trace = script_take_trace();
	cut_at(&trace, trace.nr, logged);
	trace_free(&trace);
	t->seed = mix64(opt.seed, 2);
	good = good && script_live_on(t, logged, NULL, true);
	trace = script_take_trace();
	if (t->c->prepare)
		t->crash.lost |= BIT(LEGS + 1);
	good = good && cut_the_chain(t, &trace);
	trace_free(&trace);
	script_free_disks(t, logged);
	return good;
}

static void chain(const char *name, void (*prepare)(struct script *t))
{
	const struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .prepare = prepare,
		.begin = begin, .play = chain_is_cut, .turns = 1, .most = 1, .first_plain = true,
		.own = &own, .own_size = sizeof(own),
	};

	script_run(&c);
}

#define NAMED(function) "cachep1-parity:" #function, function

void run_cacheparity(void)
{
	test(NAMED(parts_of_rows));
	test(NAMED(newer_than_the_parity_counts));
	test(NAMED(row_in_every_way));
	test(NAMED(an_ssd_dies));
	test(NAMED(an_ssd_refuses_parity));
	test(NAMED(one_of_each_dies));
	test(NAMED(stripes_become_data));
	test(NAMED(stripes_while_the_log_moves));
	test(NAMED(part_over_an_open_intent));
	test(NAMED(part_over_a_closed_intent));
	test(NAMED(full_log_has_room_for_parity));
	test(NAMED(parity_ends_with_the_segment));
	chain("cachep1-parity:chain", NULL);
	chain("cachep1-parity:chain-without-an-ssd", refuse_on_an_ssd);
}
