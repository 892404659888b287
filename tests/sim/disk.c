// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices while a machine runs. Requests end in an order chosen by the seed; a
 * write changes what reads see when it ends. Its pages are copied when it is
 * submitted and compared when it ends: no code may change a page in flight.
 */
#include <stdlib.h>

#include "disk.h"
#include <linux/ktime.h>
#include <linux/mm.h>

#include "core/core.h"
#include "io/flight.h"

#define MAX_IN_FLIGHT 4096

const char *sabotage_names[BREAK_KINDS] = {
	[BREAK_NOTHING] = "nothing",
	[BREAK_FUA_LOG] = "fua-log",
	[BREAK_FUA_SB] = "fua-sb",
	[BREAK_FLUSH] = "flush",
	[BREAK_FLUSH_HOME] = "flush-home",
	[BREAK_FLUSH_TABLE] = "flush-table",
	[BREAK_HOME] = "home-lost",
	[BREAK_LOG_LEG] = "log-one-leg",
	[BREAK_TABLE] = "table-lost",
};

struct disks disks;
enum disk_fua sim_fua;

struct in_flight {
	struct kvp_io *io;
	u32 disk, id;		/* id: in the trace, ~0 for reads */
	int error;
	u64 due;		/* ns: it does not end before */
	bool redirected;
	bool reserved;		/* it has a bio of the reserve */
	/* the pool was starting: if it comes late, it must be what was sent, too */
	bool of_start;
};

static struct in_flight in_flight[MAX_IN_FLIGHT];
static u32 nr_in_flight;

/* --- trace --------------------------------------------------------------------------- */

static void *grow(void *p, u32 nr, u32 *room, size_t size)
{
	if (nr < *room)
		return p;
	*room = *room ? 2 * *room : 256;
	p = realloc(p, *room * size);
	if (!p)
		abort();
	return p;
}

static u32 trace_event(struct trace *t, enum trace_kind kind, u32 id)
{
	t->events = grow(t->events, t->nr, &t->room, sizeof(*t->events));
	t->events[t->nr++] = (struct trace_event){ kind, id };
	return t->nr;
}

static bool is_write(enum kvp_io_op op)
{
	return op == KVP_IO_WRITE || op == KVP_IO_WRITE_FUA || op == KVP_IO_DISCARD;
}

bool kvp_io_can_discard(const struct kvp_leg *leg)
{
	return !disks.no_discards;
}

/*
 * A discarded block may read as anything: as before, as zeros, or as data that was never written.
 */
static struct blk *junk(u32 disk, u64 block)
{
	struct blk *old = image_blk(&disks.img[disk], block);
	u64 data[KVP_BLOCK_SIZE / 8] = { 0 };
	u32 kind = rng_below(&sim_rng, 4), i;

	if (old && !kind)
		memcpy(data, old->data, sizeof(data));
	for (i = 0; kind > 1 && i < ARRAY_SIZE(data); i++)
		data[i] = mix64(disk + 1, block * ARRAY_SIZE(data) + i);
	return blk_new(data);
}

static u32 trace_submit(u32 disk, const struct kvp_io *io, enum kvp_io_op op, u64 block)
{
	struct trace *t = &disks.trace;
	struct trace_request *r;
	u32 i;

	t->requests = grow(t->requests, t->nr_requests, &t->request_room, sizeof(*t->requests));
	r = &t->requests[t->nr_requests];
	memset(r, 0, sizeof(*r));
	r->disk = disk;
	r->op = op;
	r->block = block;
	r->nr = is_write(op) ? io->nr : 0;
	r->data = r->nr ? calloc(r->nr, sizeof(*r->data)) : NULL;
	for (i = 0; i < r->nr; i++)
		r->data[i] = op == KVP_IO_DISCARD ? junk(disk, block + i) :
						    blk_new(page_address(io->pages[i]));
	r->submitted = trace_event(t, TRACE_SUBMIT, t->nr_requests);
	return t->nr_requests++;
}

void trace_free(struct trace *t)
{
	u32 i, j;

	for (i = 0; i < t->nr_requests; i++) {
		for (j = 0; j < t->requests[i].nr; j++)
			blk_put(t->requests[i].data[j]);
		free(t->requests[i].data);
	}
	for (i = 0; i < t->nr_disks; i++)
		image_free(&t->start[i]);
	free(t->requests);
	free(t->events);
	memset(t, 0, sizeof(*t));
}

static void start_trace(void)
{
	u32 i;

	trace_free(&disks.trace);
	disks.trace.nr_disks = disks.nr;
	for (i = 0; i < disks.nr; i++)
		image_copy(&disks.trace.start[i], &disks.img[i]);
}

/* --- faults ------------------------------------------------------------------------------ */

struct fault *disks_fault(enum fault_kind kind, u32 disk, u64 first, u64 last)
{
	struct fault *f = &disks.faults[disks.nr_faults++];

	*f = (struct fault){ .kind = kind, .disk = disk, .first = first, .last = last };
	return f;
}

static bool concerns(const struct fault *f, enum kvp_io_op op)
{
	switch (f->kind) {
	case FAULT_READ_EIO:
		return op == KVP_IO_READ;
	case FAULT_FLUSH_EIO:
		return op == KVP_IO_FLUSH;
	case FAULT_DEATH:
	case FAULT_HANG:
		return true;
	case FAULT_ONCE:
		return op != KVP_IO_READ;
	case FAULT_READ_ONCE:
		return op == KVP_IO_READ;
	default:
		return is_write(op);
	}
}

static const struct fault *find_fault(u32 disk, struct kvp_io *io, enum kvp_io_op op)
{
	u32 i;

	for (i = 0; i < disks.nr_faults; i++) {
		struct fault *f = &disks.faults[i];

		if (f->disk != disk || !concerns(f, op) ||
		    (op != KVP_IO_FLUSH && (io->block > f->last || io->block + io->nr <= f->first)))
			continue;
		if (f->seen++ < f->after || (f->times && f->hit >= f->times))
			continue;
		f->hit++;
		f->hit_alone = op == KVP_IO_FLUSH;
		f->hit_flush = f->hit_alone ||
			       (op == KVP_IO_WRITE_FUA && disks.fua == FUA_CLAIMED);
		io->doomed = f->kind == FAULT_WRITE_EIO || f->kind == FAULT_FLUSH_EIO;
		return f;
	}
	return NULL;
}

/* The error of this request if it must fail, wherever it goes. */
static int hiccup_error(u32 nr, const struct kvp_io *io)
{
	u32 disk = BIT(io->leg->bdev->index);

	if (nr == disks.hiccup.first) {
		disks.hiccup.block = io->block;
		if (disks.hiccup.alone)
			disks.hiccup.disks = disk;
	}
	if (nr < disks.hiccup.first || nr - disks.hiccup.first >= disks.hiccup.nr)
		return 0;
	if (disks.hiccup.disks && !(disks.hiccup.disks & disk))
		return 0;
	if (disks.hiccup.around && (io->op != KVP_IO_READ ||
				    io->block + io->nr <= disks.hiccup.block ||
				    io->block >= disks.hiccup.block + disks.hiccup.around))
		return 0;
	return disks.hiccup.error;
}

/* A rewrite makes a bad sector good. */
static void cure(u32 disk, const struct kvp_io *io)
{
	u32 i;

	for (i = 0; i < disks.nr_faults; i++) {
		struct fault *f = &disks.faults[i];

		if (f->kind == FAULT_READ_EIO && f->disk == disk && io->block <= f->first &&
		    io->block + io->nr > f->last)
			f->kind = FAULT_NONE;
	}
}

bool disk_has_log(u32 disk, u64 block)
{
	return block >= disks.log_first[disk] && block < disks.log_end[disk];
}

static enum kvp_io_op sabotaged_op(u32 disk, const struct kvp_io *io)
{
	bool log = disk_has_log(disk, io->block);

	if (io->op != KVP_IO_WRITE_FUA)
		return io->op;
	if (disks.sabotage == BREAK_FUA_LOG && log)
		return KVP_IO_WRITE;
	if (disks.sabotage == BREAK_FUA_SB &&
	    (io->block < KVP_LABEL_BLOCKS || io->block >= disks.img[0].blocks - KVP_LABEL_BLOCKS))
		return KVP_IO_WRITE;
	return io->op;
}

static bool sabotage_loses(u32 disk, const struct kvp_io *io, enum kvp_io_op op)
{
	bool log = disk_has_log(disk, io->block);

	switch (disks.sabotage) {
	case BREAK_FLUSH:
		return op == KVP_IO_FLUSH;
	case BREAK_FLUSH_HOME:
	case BREAK_FLUSH_TABLE:
		/* Checkpoints flush twice, and there are hardly any other flushes. */
		return op == KVP_IO_FLUSH && ((disks.flushes - 1) / disks.nr % 2 ==
					      (disks.sabotage == BREAK_FLUSH_TABLE));
	case BREAK_HOME:
		return op == KVP_IO_WRITE && io->block >= disks.data_start;
	case BREAK_LOG_LEG:
		return op == KVP_IO_WRITE_FUA && disk && log;
	case BREAK_TABLE:
		return op == KVP_IO_WRITE && disk && io->block >= disks.table_start &&
		       io->block < disks.log_start;
	default:
		return false;
	}
}

/* --- requests -------------------------------------------------------------------------------- */

/* Two writes of one block are in flight: the order of their arrival is not defined. */
static void check_overlap(u32 disk, const struct kvp_io *io)
{
	u32 i;

	for (i = 0; i < nr_in_flight; i++) {
		const struct kvp_io *o = in_flight[i].io;

		/* The leg is out: it does not matter what it writes there in the end. */
		if (o->stray)
			continue;
		if (in_flight[i].disk == disk && is_write(o->op) && io->block < o->block + o->nr &&
		    o->block < io->block + io->nr)
			sim_fail("two writes of block %llu of disk %u are in flight",
				 (u64)max(io->block, o->block), disk);
	}
}

static void check_request(u32 disk, const struct kvp_io *io)
{
	u64 size = disks.img[disk].blocks;

	if (io->op == KVP_IO_FLUSH ? io->nr : !io->nr || io->nr > size || io->block > size - io->nr)
		sim_fail("request beyond the end of disk %u: block %llu, %u blocks", disk,
			 (u64)io->block, io->nr);
	if (!io->done)
		sim_fail("request without a completion");
}

void kvp_io_hold(struct block_device *bdev)
{
	bdev->holds++;
}

bool kvp_io_fua_flushes(const struct kvp_leg *leg)
{
	return disks.fua != FUA_OWN;
}

bool kvp_io_fua_apart(const struct kvp_leg *leg)
{
	return disks.fua == FUA_NONE;
}

/* A disk has at once whatever it is sent. */
void kvp_io_drop(struct kvp_leg *leg)
{
}

void kvp_io_unhold(struct block_device *bdev)
{
	bdev->holds--;
}

/* As io_bio.c does without memory; false: it is not sent. */
static bool take_reserved(struct kvp_io *io, u32 disk)
{
	while (!kvp_share_take(&disks.share[disk]))
		if (!kvp_share_wait(&disks.share[disk], io))
			return false;
	while (disks.reserved == KVP_BIO_SHARE * disks.nr)
		sim_block(&disks.reserved, "for the reserve of bios");
	disks.reserved++;
	return true;
}

static void put_reserved(u32 disk)
{
	disks.reserved--;
	sim_wake(&disks.reserved);
	kvp_share_put(&disks.share[disk]);
}

static u64 due(u32 disk, enum kvp_io_op op)
{
	u32 us = op == KVP_IO_READ ? disks.delay[disk].read : op == KVP_IO_FLUSH ?
		 disks.delay[disk].flush : disks.delay[disk].write;

	if (!us || (disks.delay[disk].one_in && rng_below(&sim_rng, disks.delay[disk].one_in)))
		return 0;
	return ktime_get_ns() + us * 1000ull;
}

static void start(struct kvp_io *io, bool reserved)
{
	u32 disk = io->leg->bdev->index;
	struct in_flight *f = &in_flight[nr_in_flight];
	enum kvp_io_op op = sabotaged_op(disk, io);
	const struct fault *found;
	enum fault_kind fault;

	sim_might_sleep(__func__);
	check_request(disk, io);
	if (is_write(op)) {
		check_overlap(disk, io);
		watch_submit(disk, io);
	} else if (op == KVP_IO_READ) {
		watch_read(disk, io->block, io->nr);
	}
	if (nr_in_flight == MAX_IN_FLIGHT)
		sim_fail("too many requests in flight");
	disks.flushes += op == KVP_IO_FLUSH;
	disks.reads += op == KVP_IO_READ;
	disks.reads_of[disk] += op == KVP_IO_READ;
	disks.writes += is_write(op);
	disks.discarded += op == KVP_IO_DISCARD ? io->nr : 0;
	if (op == KVP_IO_DISCARD && io->block < disks.data_start)
		sim_fail("block %llu of disk %u is discarded, which is no home", (u64)io->block, disk);
	*f = (struct in_flight){ .io = io, .disk = disk, .id = ~0u,
				 .error = hiccup_error(disks.requests++, io),
				 .reserved = reserved, .due = due(disk, op),
				 .of_start = io->leg->pool &&
					     test_bit(KVP_POOL_STARTING, &io->leg->pool->flags) };
	nr_in_flight++;
	if (disks.labels + 1 == disks.requests && io->op == KVP_IO_READ &&
	    (io->block < KVP_LABEL_BLOCKS ||
	     io->block >= disks.img[disk].blocks - KVP_LABEL_BLOCKS))
		disks.labels++;
	found = find_fault(disk, io, op);
	fault = found ? found->kind : FAULT_NONE;
	if (fault == FAULT_DEATH)
		disks.dead[disk] = true;
	if (fault == FAULT_HANG)
		disks.hung[disk] = true;
	if (disks.dead[disk]) {
		f->error = -EIO;
		io->doomed = true;
	}
	if (fault == FAULT_READ_EIO || fault == FAULT_WRITE_EIO || fault == FAULT_FLUSH_EIO ||
	    fault == FAULT_ONCE || fault == FAULT_READ_ONCE || fault == FAULT_WRITE_ONCE)
		f->error = found->error ?: -EIO;
	f->redirected = fault == FAULT_MISDIRECTED;
	if (op != KVP_IO_READ && !disks.dead[disk]) {
		f->id = trace_submit(disk, io, op, io->block + f->redirected);
		disks.trace.requests[f->id].lost = fault == FAULT_LOST_WRITE ||
						   sabotage_loses(disk, io, op);
	}
	if (disks.cut_at && disks.trace.nr >= disks.cut_at)
		sim_power_cut();
	sim_maybe_preempt();
}

void kvp_io_start(struct kvp_io *io)
{
	bool reserved = disks.no_memory;

	if (!reserved || take_reserved(io, io->leg->bdev->index)) {
		start(io, reserved);
	} else {
		io->error = -ETIMEDOUT;
		io->done(io);
	}
}

void kvp_io_submit_all(struct kvp_io *ios, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		kvp_io_submit(&ios[i]);
}

/* --- completions ------------------------------------------------------------ */

static bool stalled(const struct in_flight *f)
{
	u32 i;

	if (disks.hung[f->disk] || f->due > ktime_get_ns())
		return true;
	if (f->io->op == KVP_IO_FLUSH && disks.flushes_stalled)
		return true;
	if (disks.stalls_reads && f->io->op != KVP_IO_READ)
		return false;
	if (disks.stalls_writes && f->io->op == KVP_IO_READ)
		return false;
	for (i = 0; i < 2; i++)
		if (f->io->block < disks.stalled[f->disk][i].end &&
		    f->io->block + f->io->nr > disks.stalled[f->disk][i].first)
			return true;
	return false;
}

u32 sim_io_pending(void)
{
	u32 i, n = 0;

	for (i = 0; i < nr_in_flight; i++)
		n += !stalled(&in_flight[i]);
	return n;
}

u64 sim_io_due(void)
{
	u64 first = 0;
	u32 i;

	for (i = 0; i < nr_in_flight; i++)
		if (in_flight[i].due > ktime_get_ns() && (!first || in_flight[i].due < first))
			first = in_flight[i].due;
	return first;
}

bool disks_hold_reads(void)
{
	u32 i;

	for (i = 0; i < MAX_DISKS; i++)
		if (disks.stalled[i][0].end && !disks.stalls_writes)
			return true;
	return false;
}

bool disks_wait(void)
{
	return sim_io_pending() < nr_in_flight;
}

/* Disks take a number of segments a request, mostly 128: pages are to lie together by eight. */
static void count_segments(const struct kvp_io *io)
{
	u32 i, segments = 1;

	for (i = 1; i < io->nr; i++)
		segments += io->pages[i]->head != io->pages[i - 1]->head;
	disks.scattered += segments > io->nr / 8 + 2;
}

/*
 * Only kvp_io_land() looks at the pages of a flight, and copies them. Filling them here as well
 * would take a third of all time: recovery reads the whole log. So such a page only notes the block
 * that it would hold.
 */
static void end_read(const struct in_flight *f)
{
	struct image *img = &disks.img[f->disk];
	u32 i;

	if (f->io->background && !f->io->flight)
		count_segments(f->io);
	for (i = 0; i < f->io->nr; i++) {
		/* It has no waiter: no other code may have the page. */
		if (f->io->stray && page_ref_count(f->io->pages[i]->head) > 1)
			sim_fail("block %llu of disk %u is read late, into a page that is in use",
				 (u64)f->io->block + i, f->disk);
		if (f->io->flight && !f->io->stray)
			sim_lend(f->io->pages[i], image_blk(img, f->io->block + i) ?: &blk_zeros);
		else
			image_read(img, f->io->block + i, page_address(f->io->pages[i]));
	}
}

/*
 * It has no waiter: its pages may be used for something else by now, before the device has
 * taken them. The trace has what gets there in the end. A discard has no pages.
 */
static void end_stray(const struct in_flight *f)
{
	struct trace_request *r = &disks.trace.requests[f->id];
	u32 i;

	for (i = 0; i < r->nr && r->op != KVP_IO_DISCARD; i++) {
		if (rng_chance(&sim_rng, 300))
			continue;
		blk_put(r->data[i]);
		r->data[i] = blk_new(page_address(f->io->pages[i]));
	}
}

static void end_write(const struct in_flight *f)
{
	struct trace_request *r = &disks.trace.requests[f->id];
	u32 i;

	for (i = 0; i < r->nr; i++) {
		if (r->op != KVP_IO_DISCARD && (!f->io->stray || f->of_start) &&
		    memcmp(r->data[i]->data, page_address(f->io->pages[i]), KVP_BLOCK_SIZE))
			sim_fail("block %llu of disk %u changed while it was written",
				 (u64)f->io->block + i, f->disk);
		if (!r->lost && !f->error)
			image_write(&disks.img[f->disk], r->block + i, r->data[i], ALL_SECTORS);
	}
	if (!f->error)
		cure(f->disk, f->io);
}

/* The images have it. */
static void forget_data(struct trace_request *r)
{
	u32 i;

	for (i = 0; i < r->nr; i++)
		blk_put(r->data[i]);
	free(r->data);
	r->data = NULL;
	r->nr = 0;
}

static void show(const struct in_flight *f)
{
	static const char * const names[] = { "read", "write", "write-fua", "flush", "discard" };

	fprintf(stderr, "  %5u disk %u %-9s %6llu +%-3u%s\n", disks.trace.nr, f->disk,
		names[f->io->op], (u64)f->io->block, f->io->nr, f->error ? " fails" : "");
}

void sim_io_end_one(void)
{
	u32 n = sim_io_pending(), pick = rng_below(&sim_rng, n), i;
	struct in_flight f;

	for (i = 0; ; i++)
		if (!stalled(&in_flight[i]) && !pick--)
			break;
	f = in_flight[i];
	in_flight[i] = in_flight[--nr_in_flight];
	/* Requests in flight to a dead leg end with an error, too. */
	if (disks.dead[f.disk]) {
		f.error = -EIO;
		f.io->doomed = true;
	}
	if (sim_verbose && f.io->op != KVP_IO_READ)
		show(&f);
	if (f.io->op == KVP_IO_READ && !f.error) {
		end_read(&f);
		watch_read_end(f.disk, f.io->block, f.io->nr);
	}
	if (f.id != ~0u) {
		if (f.io->stray)
			end_stray(&f);
		end_write(&f);
		disks.trace.requests[f.id].error = f.error;
		disks.trace.requests[f.id].ended = trace_event(&disks.trace, TRACE_END, f.id);
		watch_end(&disks.trace.requests[f.id]);
		if (disks.forgets)
			forget_data(&disks.trace.requests[f.id]);
	}
	if (f.reserved)
		put_reserved(f.disk);
	f.io->error = 0;
	if (f.error)
		kvp_io_note_error(f.io, f.error);
	f.io->done(f.io);
}

/* --- life ------------------------------------------------------------ */

void disks_begin(const struct image *images, u32 nr)
{
	enum sabotage sabotage = disks.sabotage;
	u32 i;

	disks_free();
	memset(&disks, 0, sizeof(disks));
	disks.sabotage = sabotage;
	disks.fua = sim_fua;
	disks.nr = nr;
	nr_in_flight = 0;
	for (i = 0; i < nr; i++) {
		disks.bdev[i].index = i;
		kvp_share_init(&disks.share[i]);
		image_copy(&disks.img[i], &images[i]);
	}
	start_trace();
	watch_begin();
}

void disks_end(void)
{
	nr_in_flight = 0;
}

void disks_free(void)
{
	u32 i;

	nr_in_flight = 0;
	trace_free(&disks.trace);
	for (i = 0; i < disks.nr; i++)
		image_free(&disks.img[i]);
	disks.nr = 0;
}

void disks_settle(void)
{
	if (nr_in_flight)
		sim_fail("requests are in flight");
	start_trace();
}

void disks_kill(u32 disk)
{
	disks.dead[disk] = true;
}

void disks_wake(u32 disk)
{
	u32 i;

	for (i = 0; i < disks.nr_faults; i++)
		if (disks.faults[i].kind == FAULT_HANG && disks.faults[i].disk == disk)
			disks.faults[i].kind = FAULT_NONE;
	disks.hung[disk] = false;
}

void disks_stall(u32 disk, u64 first, u64 last)
{
	u32 i = disks.stalled[disk][0].end ? 1 : 0;

	if (disks.stalled[disk][i].end)
		sim_fail("disk %u is stalled twice already", disk);
	disks.stalled[disk][i].first = first;
	disks.stalled[disk][i].end = last + 1;
}

void disks_release(u32 disk)
{
	memset(disks.stalled[disk], 0, sizeof(disks.stalled[disk]));
}

void disks_release_all(void)
{
	u32 i;

	for (i = 0; i < disks.nr; i++)
		disks_release(i);
}

void disks_hold_homes(u32 nr, u64 blocks)
{
	u32 i;

	for (i = 0; i < nr; i++)
		disks_stall(i, disks.data_start, disks.data_start + blocks);
}
