// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring of orders (format/order_ring.h): what a user ordered is still known after thousands of
 * events, power cuts, blocks that are torn or cannot be read, and legs that were away.
 */
#include <string.h>

#include "script.h"
#include "super/events.h"
#include "super/members.h"

#define TURNS		2u
#define MANY		60u		/* orders: four blocks of the ring */
#define IN_BLOCK	KVP_EVENTS_PER_BLOCK
#define MOST		(2 * KVP_ORDER_RING)

/* What a case knows besides its script. The text of order n is "set key=strict value=n". */
static struct {
	struct rng rng;
	u32 given;			/* orders so far */
	u32 written[MOST];		/* the end of the trace when an order was on the disks */
	struct image old;		/* of one disk, with fewer orders */
} own;

/* --- giving ------------------------------------------------------------------------------ */

static void give(struct script *s, u32 n)
{
	struct kvp_event_by by = { .words = " uid=7 login=8" };
	struct kvp_pool *pool = s->host.pool;

	while (n--) {
		if (own.given == MOST)
			sim_fail("too many orders");
		kvp_events_by(pool, &by);
		kvp_event(pool, "set key=strict value=%u", own.given);
		kvp_events_by_end(pool, &by);
		kvp_events_flush(pool);
		own.written[own.given++] = disks.trace.nr;
	}
}

/* So many that the ring of events is written over. */
static void fail_often(struct script *s)
{
	u32 i;

	for (i = 0; i < KVP_EVENT_RING + 9; i++) {
		kvp_event(s->host.pool, "leg_lost leg=1 path=- why=write error %u", i);
		if (i % 50 == 0)
			kvp_events_flush(s->host.pool);
	}
	kvp_events_flush(s->host.pool);
}

static void give_many(struct script *s)
{
	give(s, MANY);
}

static void give_amid_failures(struct script *s)
{
	give(s, MANY / 2);
	fail_often(s);
	give(s, MANY / 2);
	fail_often(s);
}

/* --- looking ----------------------------------------------------------------------------- */

static u32 number_of(const struct kvp_disk_event *e)
{
	u32 n = ~0u;

	if (sscanf((const char *)e->text, "set key=strict uid=7 login=8 value=%u", &n) != 1)
		sim_fail("an order is '%s'", (const char *)e->text);
	return n;
}

/* Orders from @first to @last are there, apart from those of one block of the ring, @without. */
static void expect_orders(struct script *s, u32 first, u32 last, u32 without)
{
	struct kvp_disk_event e;
	u32 at = first;
	u64 seq = 0;

	for (; kvp_event_order(s->host.pool, seq, &e); seq = le64_to_cpu(e.seq) + 1) {
		if (le64_to_cpu(e.seq) >= kvp_events_next(s->host.pool->events))
			sim_fail("an order has the number of an event to come");
		if (at % KVP_ORDER_RING / IN_BLOCK == without)
			at += IN_BLOCK;
		if (number_of(&e) != at++)
			sim_fail("order %u is not there: next is %u", at - 1, number_of(&e));
	}
	if (at != last + 1)
		sim_fail("orders from %u on are not there", at);
}

static void all_known(struct script *s)
{
	u32 first = own.given > KVP_ORDER_RING ? own.given - KVP_ORDER_RING : 0;

	expect_orders(s, first, own.given - 1, ~0u);
}

/* None is left among the events. */
static void known_though_pushed_out(struct script *s)
{
	struct kvp_disk_event e;
	u64 seq;

	for (seq = 0; seq < kvp_events_next(s->host.pool->events); seq++)
		if (kvp_event_get(s->host.pool, seq, &e) && !strncmp((char *)e.text, "set ", 4))
			sim_fail("the ring of events still has '%s'", (char *)e.text);
	all_known(s);
}

/* A life that keeps its disks. */
static bool live(struct script *s, void (*act)(struct script *s))
{
	if (!script_live(s, act, false))
		return false;
	script_keep(s);
	return true;
}

static void each_leg(struct script *s, void (*fn)(struct image *img, u32 disk))
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		fn(&s->img[i], i);
}

/* --- cases ------------------------------------------------------------------------------- */

static bool outlast_failures(struct script *s)
{
	return live(s, give_amid_failures) && live(s, known_though_pushed_out);
}

static void give_more_than_fit(struct script *s)
{
	give(s, KVP_ORDER_RING - 100);
}

static bool the_newest_stay(struct script *s)
{
	return live(s, give_more_than_fit) && live(s, give_more_than_fit) && live(s, all_known);
}

/*
 * After a cut at any place, each order that was on the disks is there, and perhaps the next one.
 * Orders given later leave them alone.
 */
static void what_was_written(struct script *s)
{
	struct kvp_disk_event e;
	u64 seq = 0;
	u32 n = 0;

	for (; kvp_event_order(s->host.pool, seq, &e); seq = le64_to_cpu(e.seq) + 1)
		if (number_of(&e) != n++)
			sim_fail("order %u is not there", n - 1);
	if (n < own.given || n > own.given + 1)
		sim_fail("%u orders of %u", n, own.given);
	own.given = n;
	give(s, 3);
	all_known(s);
}

static bool cut_anywhere(struct script *s)
{
	u32 at, turn, written[MANY];
	struct trace trace;
	bool good = true;

	if (!script_live(s, give_many, true))
		return false;
	memcpy(written, own.written, sizeof(written));
	trace = script_take_trace();
	for (at = written[IN_BLOCK - 3]; good && at < written[IN_BLOCK + 2]; at++)
		for (turn = 0; good && turn < 4; turn++) {
			script_free_disks(s, s->img);
			cut_trace(&trace, at, turn, &own.rng, s->img);
			for (own.given = 0; written[own.given] <= at;)
				own.given++;
			good = script_live(s, what_was_written, false);
		}
	trace_free(&trace);
	return good;
}

/* The first sector of block 1 has something else: two orders. */
static void tear(struct image *img, u32 disk)
{
	u8 block[KVP_BLOCK_SIZE];

	(void)disk;
	image_read(img, KVP_ORDERS_BLOCK + 1, block);
	memset(block, 0x5a, 512);
	image_write_data(img, KVP_ORDERS_BLOCK + 1, block);
}

static void all_but_two(struct script *s)
{
	struct kvp_disk_event e;
	u64 seq = 0;
	u32 n = 0;

	for (; kvp_event_order(s->host.pool, seq, &e); seq = le64_to_cpu(e.seq) + 1, n++)
		if (number_of(&e) != n + (n >= IN_BLOCK ? 2 : 0))
			sim_fail("order %u is not there", n);
	if (n + 2 != own.given)
		sim_fail("%u orders of %u", n, own.given);
}

static bool torn(struct script *s)
{
	if (!live(s, give_many))
		return false;
	tear(&s->img[0], 0);
	if (s->legs > 1 && !live(s, all_known))
		return false;
	each_leg(s, tear);
	return live(s, all_but_two);
}

static u32 unreadable;		/* bit per leg: block 1 of the ring cannot be read */

static void hide(struct script *s)
{
	u32 i;

	for (i = 0; i < s->legs; i++)
		if (unreadable >> i & 1)
			disks_fault(FAULT_READ_EIO, i, KVP_ORDERS_BLOCK + 1, KVP_ORDERS_BLOCK + 1);
}

static void known_but_for_a_block(struct script *s)
{
	expect_orders(s, 0, own.given - 1, 1);
}

/* The newest orders lie in the block that cannot be read. The next ones go past it. */
static void give_past_the_block(struct script *s)
{
	struct kvp_disk_event e;
	u32 n = 0;
	u64 seq = 0;

	give(s, 3);
	for (; kvp_event_order(s->host.pool, seq, &e); seq = le64_to_cpu(e.seq) + 1)
		n++;
	if (n != IN_BLOCK + 3)
		sim_fail("%u orders, not %u", n, IN_BLOCK + 3);
}

static void give_into_block_1(struct script *s)
{
	give(s, IN_BLOCK + 9);
}

static bool no_leg_has_it(struct script *s)
{
	bool good;

	if (!live(s, give_into_block_1))
		return false;
	unreadable = ~0u;
	good = live(s, give_past_the_block);
	unreadable = 0;
	return good && live(s, all_known);
}

static bool one_leg_has_it_not(struct script *s)
{
	bool good = live(s, give_many);
	u32 i;

	for (i = 0; good && i < s->legs; i++) {
		unreadable = 1u << i;
		good = live(s, s->legs > 1 ? all_known : known_but_for_a_block);
	}
	unreadable = 0;
	return good && live(s, all_known);
}

static void copy_ring(struct image *to, const struct image *from)
{
	u8 block[KVP_BLOCK_SIZE];
	u32 i;

	for (i = 0; i < KVP_ORDERS_BLOCKS; i++) {
		image_read(from, KVP_ORDERS_BLOCK + i, block);
		image_write_data(to, KVP_ORDERS_BLOCK + i, block);
	}
}

/* One leg has the ring of an earlier life, and then the other. The first block is full by then. */
static bool older_on_one_leg(struct script *s)
{
	struct image newest;
	bool good = live(s, give_more_than_fit);
	u32 i;

	image_copy(&own.old, &s->img[0]);
	good = good && live(s, give_more_than_fit);
	for (i = 0; good && i < s->legs; i++) {
		image_copy(&newest, &s->img[i]);
		copy_ring(&s->img[i], &own.old);
		good = script_live(s, all_known, false);
		copy_ring(&s->img[i], &newest);
		image_free(&newest);
	}
	image_free(&own.old);
	return good;
}

/* Leg 1 misses orders, and gets them when it returns. */
static void away_for_a_while(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	give(s, MANY);
	if (kvp_leg_offline(pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	give(s, MANY);
	if (host_online(&s->host, 1))
		sim_fail("leg 1 does not return");
	host_wait_resilver(&s->host);
	kvp_events_flush(pool);
}

static void wipe(struct image *img, u64 first)
{
	static const u8 zeros[KVP_BLOCK_SIZE];
	u32 i;

	for (i = 0; i < KVP_ORDERS_BLOCKS; i++)
		image_write_data(img, first + i, zeros);
}

/* After @act leg 1 has all orders of the ring: those of leg 0 are wiped. */
static bool leg_1_knows_all_after(struct script *s, void (*act)(struct script *s))
{
	if (!live(s, act))
		return false;
	wipe(&s->img[0], KVP_ORDERS_BLOCK);
	return live(s, all_known);
}

static bool gets_what_it_missed(struct script *s)
{
	return leg_1_knows_all_after(s, away_for_a_while);
}

static void give_a_few(struct script *s)
{
	give(s, 3);
}

/* Disks 2 and 3 become a second vdev. */
static void add_only(struct script *s)
{
	s->start = (struct host_start){ .legs = 4, .second = 2, .grown = true };
	if (host_grow(&s->host, &s->start))
		sim_fail("not grown: %s", s->host.refusal.why);
	kvp_events_flush(s->host.pool);
}

static void add_a_vdev(struct script *s)
{
	give_into_block_1(s);
	add_only(s);
}

/* Then the first vdev cannot read a block of its ring. That block is not blank on the new legs. */
static bool new_legs_get_them(struct script *s)
{
	blank_disks(&s->img[s->disks], 2, POOL_LEG_BLOCKS);
	s->disks += 2;
	s->legs = 4;
	if (!live(s, add_a_vdev))
		return false;
	unreadable = 3;
	return live(s, all_known);
}

/* The first vdev cannot read a block with orders as the second one joins, and at the next start. */
static bool blank_on_new_legs(struct script *s)
{
	blank_disks(&s->img[s->disks], 2, POOL_LEG_BLOCKS);
	s->disks += 2;
	if (!live(s, give_into_block_1))
		return false;
	s->legs = 4;
	unreadable = 3;
	if (!live(s, add_only) || !live(s, give_a_few))
		return false;
	unreadable = 0;
	return live(s, all_known);
}

/* --- what one leg lacks is written at the next start --------------------------------------- */

enum lack { LACK_ALL, LACK_SOME, LACK_TORN, LACK_UNREAD, LACKS };

/* Leg @i lacks what the other one has. */
static void lack(struct script *s, u32 i, enum lack what)
{
	switch (what) {
	case LACK_ALL:
		wipe(&s->img[i], KVP_ORDERS_BLOCK);
		break;
	case LACK_SOME:
		copy_ring(&s->img[i], &own.old);
		break;
	case LACK_TORN:
		tear(&s->img[i], i);
		break;
	default:
		wipe(&s->img[i], KVP_ORDERS_BLOCK);
		unreadable = 1u << i;
	}
}

/* A start, and then the leg that had all orders loses them. */
static bool written_back(struct script *s)
{
	bool good = live(s, give_into_block_1);
	u32 what, i;

	image_copy(&own.old, &s->img[0]);
	good = good && live(s, give_into_block_1);
	for (i = 0; good && i < s->legs; i++)
		for (what = 0; good && what < LACKS; what++) {
			lack(s, i, what);
			good = live(s, NULL);
			unreadable = 0;
			wipe(&s->img[!i], KVP_ORDERS_BLOCK);
			good = good && live(s, all_known);
		}
	image_free(&own.old);
	return good;
}

/* A pool that is only read is not written either. */
static bool not_written_back(struct script *s)
{
	static const u8 zeros[KVP_BLOCK_SIZE];
	u8 block[KVP_BLOCK_SIZE];
	bool good = live(s, give_many);

	wipe(&s->img[0], KVP_ORDERS_BLOCK);
	s->start.readonly = true;
	good = good && live(s, all_known);
	image_read(&s->img[0], KVP_ORDERS_BLOCK, block);
	return good && !memcmp(block, zeros, sizeof(block));
}

/* --- writes that fail, and forged numbers ---------------------------------------------------- */

/* The leg of this turn does not take the first order of block 1. The next event mends that. */
static void give_as_a_write_fails(struct script *s)
{
	u64 block = KVP_ORDERS_BLOCK + 1;

	disks_fault(FAULT_WRITE_EIO, s->turn & 1, block, block)->times = 1;
	give(s, IN_BLOCK + 1);
	kvp_event(s->host.pool, "settled x=1");
	kvp_events_flush(s->host.pool);
}

static bool failed_writes(struct script *s)
{
	if (!live(s, give_as_a_write_fails))
		return false;
	wipe(&s->img[!(s->turn & 1)], KVP_ORDERS_BLOCK);
	return live(s, all_known);
}

/* An event that all sums fit is in the last slot of both rings. Its number is far too high. */
static void forge(struct image *img, u32 disk)
{
	struct kvp_disk_event block[IN_BLOCK], e;

	(void)disk;
	image_read(img, KVP_ORDERS_BLOCK, (u8 *)block);
	e = block[0];
	e.seq = cpu_to_le64((1ull << 48) - 1);
	kvp_event_seal(&e);
	memset(block, 0, sizeof(block));
	block[IN_BLOCK - 1] = e;
	image_write_data(img, KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS - 1, (u8 *)block);
	image_write_data(img, KVP_EVENTS_BLOCK + KVP_EVENTS_BLOCKS - 1, (u8 *)block);
}

static void give_with_events(struct script *s)
{
	struct kvp_disk_event e;

	give_many(s);
	if (!kvp_event_get(s->host.pool, kvp_events_next(s->host.pool->events) - 1, &e))
		sim_fail("the newest order is no event");
}

static bool forged_number(struct script *s)
{
	if (!live(s, give_many))
		return false;
	each_leg(s, forge);
	return live(s, give_with_events) && live(s, all_known);
}

/* --- a history that was given up ----------------------------------------------------------- */

/* Leg 1 goes its own way with orders that do not count later. */
static bool part_ways(struct script *s)
{
	u32 given = own.given;

	s->start.degraded = true;
	s->start.missing = 1;
	if (!live(s, give_many))
		return false;
	own.given = given;
	s->start.missing = 2;
	if (!live(s, give_a_few) || !live(s, give_a_few))
		return false;
	s->start.degraded = false;
	s->start.missing = 0;
	s->start.accept_fork = true;
	if (!live(s, all_known))
		return false;
	s->start.accept_fork = false;
	return true;
}

static void leg_1_returns(struct script *s)
{
	if (kvp_leg_in_sync(host_leg(&s->host, 1)))
		sim_fail("the history of leg 1 was not given up");
	if (host_online(&s->host, 1))
		sim_fail("leg 1 does not return");
	host_wait_resilver(&s->host);
	kvp_events_flush(s->host.pool);
}

static bool given_up(struct script *s)
{
	return live(s, give_into_block_1) && part_ways(s) && live(s, leg_1_returns) &&
	       live(s, all_known);
}

/* No order of the other history is among the events, either. */
static void no_foreign_events(struct script *s)
{
	struct kvp_disk_event e;
	u64 seq;

	for (seq = 0; seq < kvp_events_next(s->host.pool->events); seq++)
		if (kvp_event_get(s->host.pool, seq, &e) && !strncmp((char *)e.text, "set ", 4) &&
		    number_of(&e) >= own.given)
			sim_fail("the ring of events has '%s' of another history", (char *)e.text);
}

static bool events_given_up(struct script *s)
{
	return live(s, give_into_block_1) && part_ways(s) && live(s, leg_1_returns) &&
	       live(s, no_foreign_events);
}

/* --- a leg that joins ---------------------------------------------------------------------- */

/* The number of writes to the rings of a disk since event @from of the trace, and of @blocks. */
static u32 ring_writes(u32 from, u32 disk, u32 *blocks)
{
	const struct trace *t = &disks.trace;
	u32 i, n = 0;

	for (i = *blocks = 0; i < t->nr_requests; i++) {
		const struct trace_request *r = &t->requests[i];

		if (r->disk != disk || r->submitted <= from || r->block < KVP_EVENTS_BLOCK ||
		    r->block >= KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS)
			continue;
		n++;
		*blocks += r->nr;
	}
	return n;
}

/* Leg 1 returns. It gets each ring by one request, and leg 0 gets what is new. */
static void return_in_few_writes(struct script *s)
{
	u32 from, blocks;

	give(s, MANY);
	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	give(s, MANY);
	from = disks.trace.nr;
	if (host_online(&s->host, 1))
		sim_fail("leg 1 does not return");
	host_wait_resilver(&s->host);
	kvp_events_flush(s->host.pool);
	if (ring_writes(from, 1, &blocks) > 6 || blocks < KVP_EVENTS_BLOCKS + KVP_ORDERS_BLOCKS)
		sim_fail("leg 1 gets its rings in %u writes of %u blocks",
			 ring_writes(from, 1, &blocks), blocks);
	if (ring_writes(from, 0, &blocks) > 4 || blocks > 8)
		sim_fail("leg 0 gets %u blocks of its rings", blocks);
}

static bool returns_in_few_writes(struct script *s)
{
	return live(s, return_in_few_writes) && live(s, all_known);
}

/* There is no memory for a request of a whole ring as leg 1 returns. */
static void return_without_memory(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	give(s, MANY);
	if (kvp_leg_offline(pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	give(s, MANY);
	if (host_online(&s->host, 1))
		sim_fail("leg 1 does not return");
	sim_set_oom(1000);
	host_wait_resilver(&s->host);
	kvp_events_flush(pool);
	sim_set_oom(0);
}

static bool returns_without_memory(struct script *s)
{
	return leg_1_knows_all_after(s, return_without_memory);
}

/* Leg 1 takes neither the ring nor then block 1 of it. The next event mends that. */
static void return_as_a_write_fails(struct script *s)
{
	u64 block = KVP_ORDERS_BLOCK + 1;

	away_for_a_while(s);
	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	give(s, 1);
	image_write_data(&disks.img[1], block, (const u8[KVP_BLOCK_SIZE]){ 0 });
	disks_fault(FAULT_WRITE_EIO, 1, block, block)->times = 2;
	if (host_online(&s->host, 1))
		sim_fail("leg 1 does not return");
	host_wait_resilver(&s->host);
	kvp_event(s->host.pool, "settled x=1");
	kvp_events_flush(s->host.pool);
}

static bool returns_as_a_write_fails(struct script *s)
{
	return leg_1_knows_all_after(s, return_as_a_write_fails);
}

static struct fault *fail_rings(u32 disk)
{
	struct fault *f = disks_fault(FAULT_WRITE_ONCE, disk, KVP_EVENTS_BLOCK,
				      KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS - 1);

	f->error = -ETIMEDOUT;
	return f;
}

/* Each of @rings rings may be tried for ten seconds from @since on, and a last request's tries. */
static void expect_soon(unsigned long since, u32 rings)
{
	if (time_after(jiffies, since + rings * 12 * HZ))
		sim_fail("the rings were tried for %u ms", jiffies_to_msecs(jiffies - since));
}

/* Leg 1 returns, and fails each write to its rings after some tries. It is not held up by that. */
static void return_as_all_fail(struct script *s)
{
	struct fault *f;

	away_for_a_while(s);
	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 cannot be taken offline");
	f = fail_rings(1);
	if (host_online(&s->host, 1))
		sim_fail("leg 1 does not return");
	host_wait_resilver(&s->host);
	kvp_events_flush(s->host.pool);
	if (!kvp_leg_in_sync(host_leg(&s->host, 1)) || !f->hit)
		sim_fail("leg 1 is not in sync, or has failed nothing");
	disks.nr_faults = 0;
	give(s, 1);
}

static bool returns_as_all_fail(struct script *s)
{
	return leg_1_knows_all_after(s, return_as_all_fail);
}

/* Leg 1 lacks blocks of its rings, whole ones or every second block, and fails all writes there. */
static void lack_as_all_fail(struct script *s)
{
	static const u64 lacks[] = { ~0ull, 0x5555555555555555ull };
	struct kvp_leg *leg = host_leg(&s->host, 1);
	unsigned long since;
	u32 i;

	give(s, MANY);
	for (i = 0; i < ARRAY_SIZE(lacks); i++) {
		fail_rings(1);
		since = jiffies;
		leg->lacks[KVP_EVENTS_ALL] = leg->lacks[KVP_EVENTS_ORDERS] = lacks[i];
		kvp_events_give(s->host.pool);
		expect_soon(since, 2);
		if (leg->lacks[KVP_EVENTS_ALL] != lacks[i])
			sim_fail("leg 1 lacks %llx", leg->lacks[KVP_EVENTS_ALL]);
		disks.nr_faults = 0;
		kvp_events_give(s->host.pool);
		if (leg->lacks[KVP_EVENTS_ALL] || leg->lacks[KVP_EVENTS_ORDERS])
			sim_fail("leg 1 still lacks blocks");
	}
}

static bool lacks_as_all_fail(struct script *s)
{
	return live(s, lack_as_all_fail) && live(s, all_known);
}

/* A new leg has both rings before its label: what it had there may be of another history. */
static void add_and_look(struct script *s)
{
	u32 disk, i, rings, from = disks.trace.nr;

	add_a_vdev(s);
	for (disk = 2; disk < 4; disk++) {
		for (i = rings = 0; i < disks.trace.nr_requests; i++) {
			const struct trace_request *r = &disks.trace.requests[i];

			if (r->disk != disk || r->submitted <= from)
				continue;
			if (r->block < KVP_EVENTS_BLOCK)
				break;
			if (r->block < KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS)
				rings += r->nr;
		}
		if (rings != KVP_EVENTS_BLOCKS + KVP_ORDERS_BLOCKS)
			sim_fail("disk %u has %u blocks of the rings before its label", disk,
				 rings);
	}
}

static bool rings_before_labels(struct script *s)
{
	blank_disks(&s->img[s->disks], 2, POOL_LEG_BLOCKS);
	s->disks += 2;
	s->legs = 4;
	return live(s, add_and_look) && live(s, all_known);
}

/* As an older module leaves it: orders are among the events, and the ring is blank. */
static bool blank(struct script *s)
{
	u32 i;

	if (!live(s, give_many))
		return false;
	for (i = 0; i < s->legs; i++)
		wipe(&s->img[i], KVP_ORDERS_BLOCK);
	own.given = 0;
	return live(s, give_many) && live(s, all_known);
}

/* The superblock is from before the orders. Their numbers must not be given again. */
static bool without_events(struct script *s)
{
	u32 i;

	if (!script_live(s, give_many, true))
		return false;
	script_keep(s);
	for (i = 0; i < s->legs; i++)
		wipe(&s->img[i], KVP_EVENTS_BLOCK);
	return live(s, give_many) && live(s, all_known);
}

/* --- frame ------------------------------------------------------------------------------- */

static void set_up(struct script *s)
{
	own.rng.s = s->seed;
	unreadable = 0;
}

static void orders(const char *what, u32 legs, bool (*play)(struct script *s))
{
	const struct host_start shape = { .legs = legs };
	char name[80];
	struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .prepare = hide, .play = play,
		.turns = TURNS, .salt = 9100, .life_seeds = true, .own = &own,
		.own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "orders:%u:%s", legs, what);
	script_run(&c);
}

void run_orders(void)
{
	u32 legs;

	for (legs = 1; legs <= 2; legs++) {
		orders("failures", legs, outlast_failures);
		orders("newest", legs, the_newest_stay);
		orders("cut", legs, cut_anywhere);
		orders("torn", legs, torn);
		orders("unreadable", legs, no_leg_has_it);
		orders("unreadable-on-one", legs, one_leg_has_it_not);
		orders("blank", legs, blank);
		orders("without-events", legs, without_events);
		orders("forged", legs, forged_number);
	}
	orders("older", 2, older_on_one_leg);
	orders("away", 2, gets_what_it_missed);
	orders("added", 2, new_legs_get_them);
	orders("added-unread", 2, blank_on_new_legs);
	orders("write-fails", 2, failed_writes);
	orders("written-back", 2, written_back);
	orders("readonly", 2, not_written_back);
	orders("given-up", 2, given_up);
	orders("events-given-up", 2, events_given_up);
	orders("few-writes", 2, returns_in_few_writes);
	orders("without-memory", 2, returns_without_memory);
	orders("return-fails", 2, returns_as_a_write_fails);
	orders("return-fails-slowly", 2, returns_as_all_fail);
	orders("fails-slowly", 2, lacks_as_all_fail);
	orders("before-labels", 2, rings_before_labels);
}
