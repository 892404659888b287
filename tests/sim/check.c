// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "suite.h"
#include "cache/scache.h"
#include "format/point.h"
#include "format/replaces.h"
#include "home/row.h"
#include "ram/wbuf.h"
#include "table/table.h"

#define RECRASHES 6
#define LOST 0xee		/* is seen of a block that reads EIO */

struct check_stats check_stats;

void check_seed_config(struct sim_config *c, u64 seed)
{
	static const u32 preempts[] = { 0, 30, 300 }, biases[] = { 100, 400, 800 };
	struct rng r = { mix64(seed, 77) };

	memset(c, 0, sizeof(*c));
	c->seed = seed;
	c->preempt = preempts[rng_below(&r, 3)];
	c->io_bias = biases[rng_below(&r, 3)];
}

bool run_machine(const struct image *img, u32 legs, u64 seed, void (*main)(void *arg), void *arg)
{
	struct sim_config config;
	enum sim_end end;

	check_seed_config(&config, seed);
	disks_begin(img, legs);
	end = sim_run(&config, main, arg);
	disks_end();
	check_stats.machines++;
	return end == (disks.cut_at ? SIM_POWER_CUT : SIM_RETURNED);
}

/* A start fails before it has looked at everything. */
enum illness {
	ILL_ONE,		/* one request fails */
	ILL_ALL,		/* it and all later ones */
	ILL_THERE,		/* and all later reads there, on all disks */
	ILL_READS,		/* reads of a disk, from one on */
	ILL_WRITES,		/* writes and flushes of a disk, from one on */
	ILL_DEAD,		/* a disk dies */
	ILL_HANGS,		/* a disk does not answer, from a request on */
	ILL_SLOTS,		/* the newest superblocks of disks cannot be read */
	ILL_RING,		/* one ring of a disk cannot be read nor written */
	ILL_MISSING,		/* a disk is not there */
	ILL_MEMORY,		/* allocations fail */
	ILLNESSES
};

struct ill {
	enum illness what;
	int error;
	u32 disk, after, times;
	u32 disks;		/* bit per disk */
	bool stops;		/* the start is followed by a stop, and not by a power cut */
	bool served;		/* it succeeded */
};

/* One start and look at everything. */
struct look {
	const struct crash *crash;
	struct host host;
	struct host_start start;
	const u8 *expected;	/* of each block, or NULL: what the oracle allows */
	u8 *seen;		/* filled in, or NULL */
	int refused;		/* error of the start */
	bool may_refuse;
	bool scrub, stop;
	bool returns;		/* legs that are out are brought back, and the resilver ends */
	bool taken;		/* the shadow has taken the place of its leg */
	u32 started;		/* position in the trace when recovery was over */
	u64 written, poisoned, torn;	/* blocks, after the recovery; written: not all zeros */
	u32 tag;			/* of the history */
	u64 blocks;			/* that were looked at */
	char first[200];	/* why the first of several starts was refused */
	/* this start has faults, and nothing is looked at; or NULL */
	const struct ill *ill;
};

/* That can be looked at: a pool that was to grow may not have. */
static u64 blocks_of(const struct look *l)
{
	return min_t(u64, l->crash->o->blocks, l->host.pool->sb->pool_blocks);
}

/*
 * True for a block that was going home by intent, if a leg with homes is gone, or died before the
 * cut. Not if only such legs are gone, and that was recorded.
 */
static bool may_be_lost(const struct look *l, u64 block)
{
	const struct crash *c = l->crash;
	u32 homes = BIT(c->legs - c->cache) - 1;

	/* A recovery that has ended has answered for it. */
	if (l->expected)
		return l->expected[block * KVP_BLOCK_SIZE] == LOST;
	if (c->recorded_at && c->at >= c->recorded_at && !(l->start.missing & homes & ~c->lost))
		return false;
	return ((l->start.missing | c->lost) & homes) && oracle_may_be_lost(c->o, block, c->at);
}

static void look_at_block(struct look *l, u64 block, u8 *data)
{
	const struct crash *c = l->crash;
	char why[160];
	int ret = host_read(&l->host, block, data);

	if (ret) {
		bool sound = c->at >= c->sound_at && block >= c->sound &&
			     block - c->sound < c->sound_count;

		if ((sound || !c->poison_allowed) && !may_be_lost(l, block))
			sim_fail("block %llu reads %d after the recovery", block, ret);
		memset(data, LOST, KVP_BLOCK_SIZE);
	} else if (!oracle_allows(c->o, block, data, c->at, why) &&
		   !(c->astray && oracle_may_be_lost(c->o, block, c->at))) {
		sim_fail("after the recovery: %s", why);
	}
	if (l->expected && memcmp(data, l->expected + block * KVP_BLOCK_SIZE, KVP_BLOCK_SIZE))
		sim_fail("block %llu changed with another recovery", block);
	if (l->seen)
		memcpy(l->seen + block * KVP_BLOCK_SIZE, data, KVP_BLOCK_SIZE);
}

/*
 * Every row of a vdev whose legs are in use: its parity is the XOR of its data, of what is written.
 */
static void check_rows(struct look *l, const struct kvp_vdev *v)
{
	struct kvp_pool *pool = l->host.pool;
	u64 sum[KVP_BLOCK_SIZE / 8], data[KVP_BLOCK_SIZE / 8], row, first;
	u32 i, j;

	if (kvp_vdev_usable(v) < v->nr_legs)
		return;
	for (row = 0; (first = kvp_pool_block(v, kvp_row_block(v->g, row, 1))) < blocks_of(l);
	     row++) {
		struct kvp_tpage *leaf = kvp_table_load(pool->table, first);
		bool known = kvp_entry_state(kvp_table_parity(leaf, row)) != KVP_ENTRY_POISONED;

		memset(sum, 0, sizeof(sum));
		for (i = 0; i < v->nr_legs; i++) {
			struct kvp_place at = kvp_row_place(v->g, row, i);

			if (kvp_entry_state(kvp_row_entry(leaf, row, i)) != KVP_ENTRY_VALID)
				continue;
			image_read(&disks.img[v->legs[at.leg].bdev->index], at.block, data);
			for (j = 0; j < ARRAY_SIZE(sum); j++)
				sum[j] ^= data[j];
		}
		kvp_table_put(leaf);
		for (j = 0; known && j < ARRAY_SIZE(sum); j++)
			if (sum[j])
				sim_fail("row %llu: the parity is wrong after the recovery", row);
	}
}

/* Two legs of a vdev must agree on every written block, healed or not. */
static void compare_two(struct look *l, const struct kvp_vdev *v, u32 a, u32 b)
{
	struct kvp_pool *pool = l->host.pool;
	u64 block;

	for (block = 0; block < blocks_of(l); block++) {
		struct kvp_tpage *leaf = kvp_table_load(pool->table, block);
		u64 entry = kvp_table_entry(leaf, block);
		u64 at = kvp_home_block(pool, block);
		/*
		 * A version that stays in the log of a cache goes home later. A part of its row may
		 * have been home before.
		 */
		bool own = leaf->v == v && !kvp_wbuf_any(pool->wbuf, block, 1);

		kvp_table_put(leaf);
		if (own && kvp_entry_state(entry) == KVP_ENTRY_VALID &&
		    !image_same(&disks.img[v->legs[a].bdev->index],
				&disks.img[v->legs[b].bdev->index], at, 1, &at))
			sim_fail("legs differ at block %llu after the recovery", block);
	}
}

static void compare_legs(struct look *l)
{
	struct kvp_pool *pool = l->host.pool;
	u32 n, i, first;

	for (n = 0; n < pool->vdevs.nr; n++) {
		const struct kvp_vdev *v = &pool->vdevs.v[n];

		if (!kvp_has_data(v->g))
			continue;
		if (kvp_is_parity1(v->g)) {
			check_rows(l, v);
			continue;
		}
		for (i = 0, first = ~0u; i < v->nr_legs; i++) {
			if (!kvp_leg_in_sync(&v->legs[i]))
				continue;
			if (first == ~0u)
				first = i;
			else
				compare_two(l, v, first, i);
		}
	}
}

/* A cache that was to join may not have; or it was to leave, and has. */
static int start_without_cache(struct look *l)
{
	struct host_start old = l->start;

	old.legs -= old.cache;
	old.missing &= BIT(old.legs) - 1;
	old.cache = 0;
	return host_start(&l->host, l->crash->o, &old);
}

/* As the pool was that a second vdev was being added to. */
static struct host_start without_second(const struct host_start *hs)
{
	struct host_start old = *hs;
	u32 first = old.legs - old.cache - old.second;

	old.legs -= old.second;
	old.blank = old.second;
	old.missing = (old.missing & (BIT(first) - 1)) |
		      old.missing >> (first + old.second) << first;
	old.second = 0;
	return old;
}

static int start_as_before(struct look *l)
{
	struct host_start old = l->start;

	old.legs += l->crash->old_cache - old.cache;
	old.cache = l->crash->old_cache;
	old.missing = (old.missing | l->crash->anew) & (BIT(old.legs) - 1);
	old.swapped = 0;
	return host_start(&l->host, l->crash->o, &old);
}

/* A mirror had one leg more, or less. A leg is missing if its disk is. */
static int start_with_other_legs(struct look *l)
{
	struct host_start old = *l->crash->before;
	u32 i, k;

	old.missing = 0;
	old.degraded = l->start.degraded;
	for (i = 0; i < old.legs; i++)
		for (k = 0; k < l->start.legs; k++)
			if (host_disk(&l->start, k) == host_disk(&old, i) &&
			    l->start.missing >> k & 1)
				old.missing |= BIT(i);
	return host_start(&l->host, l->crash->o, &old);
}

/* The shadow may have taken its place. */
static int start_as_taken(struct look *l)
{
	struct host_start hs = l->start;

	hs.on = l->crash->taken_on;
	hs.shadow = 0;
	l->taken = true;
	return host_start(&l->host, l->crash->o, &hs);
}

/* It takes its place when it is complete, or when its leg is out. */
static void take_place(struct look *l)
{
	if (!l->host.pool->shadow.v)
		return;
	if (host_take_place(&l->host))
		sim_fail("the shadow does not take its place: %s", l->host.refusal.why);
	l->taken = true;
	host_wait_resilver(&l->host);
}

/* An SSD that begins anew may have no label for a moment, but not once the others name it. */
static void expect_old(const struct look *l)
{
	const struct crash *c = l->crash;

	if (c->anew && memcmp(l->host.pool->sb->legs[__ffs(c->anew)].uuid, c->old_uuid,
			      sizeof(c->old_uuid)))
		sim_fail("an SSD that has begun anew is refused");
}

/*
 * Legs that are out return by themselves, or by order if they were taken offline. All that are
 * there must be in sync then.
 */
static void bring_back(struct look *l)
{
	struct kvp_pool *pool = l->host.pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		if (kvp_has_data(leg->v->g) && leg->bdev &&
		    READ_ONCE(leg->state) == KVP_LEG_OFFLINE &&
		    !kvp_place_taken(pool->sb, i) &&
		    host_online(&l->host, leg->bdev->index))
			sim_fail("leg %u does not return: %s", i, l->host.refusal.why);
	}
	host_wait_resilver(&l->host);
	take_place(l);
	host_wait_replaced(&l->host);
	for (i = 0; i < pool->nr_legs; i++)
		if (kvp_has_data(pool->legs[i].v->g) && pool->legs[i].bdev &&
		    kvp_leg_in_sync(&pool->legs[i]) == kvp_replaced_may_leave(pool->sb, i))
			sim_fail("leg %u has not returned, but is in state %u", i,
				 pool->legs[i].state);
}

/* Too few of one vdev: bits @legs on from @first. */
static bool vdev_lost(u32 have, u32 first, u32 legs, bool parity)
{
	u32 mine = have >> first & (BIT(legs) - 1);

	return hweight_long(mine) < (parity ? legs - 1 : 1);
}

/* True if a pool with only @others, less the lost ones, may lose anything. */
static bool too_many(const struct crash *c, u32 others)
{
	u32 cache = c->legs - c->cache, first = cache - c->second, have = others & ~c->lost;

	/*
	 * Until the exchange, a single SSD may have the log that is needed; of parity1, all that
	 * are left may.
	 */
	if (c->at < c->swaps_at && (!c->cache_parity || c->old_lost) &&
	    ~have >> cache & (BIT(c->cache) - 1))
		return true;
	/* With the power and the last SSD the log is lost, and no --discard-log is given here. */
	if (c->cache && vdev_lost(have, cache, c->cache, c->cache_parity))
		return true;

	return vdev_lost(have, 0, first, c->parity) ||
	       (c->second && vdev_lost(have, first, c->second, c->second_parity));
}

/*
 * True if @disk has a superblock by which leg @i is out, and the one that replaces it in sync. What
 * is acknowledged from then on is on that one alone.
 */
static bool calls_out(const struct look *l, u32 disk, u32 i)
{
	static struct kvp_disk_sb d;
	static struct kvp_sb sb;
	const struct image *img = &disks.img[disk];
	struct kvp_why why;
	u32 slot, b;

	for (slot = 0; slot < 2 * KVP_SB_RING; slot++) {
		u64 at = kvp_sb_slot_offset(img->blocks, slot & 1, slot / 2);

		for (b = 0; b < KVP_SB_BLOCKS; b++)
			image_read(img, (at >> KVP_BLOCK_SHIFT) + b, (u8 *)&d + b * KVP_BLOCK_SIZE);
		if (!kvp_sb_decode(&d, at, img->blocks, &sb, &why) &&
		    sb.leg_count == l->crash->legs && sb.legs[i].state != KVP_LEG_IN_SYNC &&
		    kvp_place_taken(&sb, i))
			return true;
	}
	return false;
}

/*
 * True if the vdev has no source without the missing legs, since the leg that was replaced is out.
 * A superblock of another leg must say so: the leg that leaves does not get it itself. It may not
 * have been durable when the power went. But that cannot be told without the new leg.
 */
static bool has_left(const struct look *l)
{
	struct crash left = *l->crash;
	u32 i, there = (BIT(left.legs) - 1) & ~l->start.missing;

	left.lost |= left.leaves;
	if (!left.leaves || !too_many(&left, there))
		return false;
	for (i = 0; i < left.legs; i++)
		if ((there & ~left.leaves) >> i & 1 &&
		    calls_out(l, host_disk(&l->start, i), __ffs(left.leaves)))
			return true;
	return false;
}

/* A refusal must be one that is allowed here, and be for that reason. */
static void expect_refusal(const struct look *l)
{
	bool out = !l->may_refuse && has_left(l);

	/*
	 * It is no failure if a leg was recorded out before the cut, and no other leg is left that
	 * has the blocks that it lacks.
	 */
	if ((!l->may_refuse && !out) ||
	    (!l->crash->ill && (out || l->crash->given_up) &&
	     !strstr(l->host.refusal.why, "in sync")))
		sim_fail("start refused (%d): %s [at first: %s]", l->refused, l->host.refusal.why, l->first);
}

/* As the pool is, or as it was before the change that was cut. */
static void start_somehow(struct look *l)
{
	l->refused = host_start(&l->host, l->crash->o, &l->start);
	snprintf(l->first, sizeof(l->first), "%.190s", l->refused ? l->host.refusal.why : "");
	/* The growth that was cut short may not have happened. */
	if (l->refused && l->crash->growing && l->crash->at < l->crash->grown_at) {
		struct host_start old = without_second(&l->start);

		l->refused = host_start(&l->host, l->crash->o, &old);
	}
	/* Nor may that of the SSDs, which were others then. */
	if (l->refused && l->crash->swaps_at && l->crash->at < l->crash->swaps_at) {
		l->refused = start_as_before(l);
		/* with a fault the SSD may be silent, and the old table goes on without it */
		if (!l->refused && !l->ill)
			expect_old(l);
	}
	if (l->refused && l->crash->before && l->crash->at < l->crash->changes_at)
		l->refused = start_with_other_legs(l);
	if (l->refused && l->crash->shadow)
		l->refused = start_as_taken(l);
	if (!l->refused && l->crash->leaves_at && l->crash->at >= l->crash->leaves_at)
		sim_fail("started with a cache that has left");
	if (l->refused && (l->crash->at < l->crash->joins_at || l->crash->leaves_at))
		l->refused = start_without_cache(l);
}

/* The newest @nr superblocks of both rings of the disk cannot be read. */
static void silence_slots(u32 disk, u32 nr, int error)
{
	static struct kvp_disk_sb d;
	static struct kvp_sb sb;
	const struct image *img = &disks.img[disk];
	u64 newest = 0, sequences[2 * KVP_SB_RING] = { 0 };
	struct kvp_why why;
	u32 slot, b;

	for (slot = 0; slot < 2 * KVP_SB_RING; slot++) {
		u64 at = kvp_sb_slot_offset(img->blocks, slot & 1, slot / 2);

		for (b = 0; b < KVP_SB_BLOCKS; b++)
			image_read(img, (at >> KVP_BLOCK_SHIFT) + b, (u8 *)&d + b * KVP_BLOCK_SIZE);
		if (!kvp_sb_decode(&d, at, img->blocks, &sb, &why))
			sequences[slot] = sb.sequence;
		newest = max(newest, sequences[slot]);
	}
	for (slot = 0; slot < 2 * KVP_SB_RING && disks.nr_faults < MAX_FAULTS; slot++) {
		u64 at = kvp_sb_slot_offset(img->blocks, slot & 1, slot / 2) >> KVP_BLOCK_SHIFT;

		if (sequences[slot] + nr > newest)
			disks_fault(FAULT_READ_EIO, disk, at,
				    at + KVP_SB_BLOCKS - 1)->error = error;
	}
}

static void silence_ring(u32 disk, u32 end)
{
	u64 first = kvp_sb_slot_offset(disks.img[disk].blocks, end, 0) >> KVP_BLOCK_SHIFT;
	u64 last = first + KVP_SB_RING * KVP_SB_BLOCKS - 1;

	disks_fault(FAULT_READ_EIO, disk, first, last);
	disks_fault(FAULT_WRITE_EIO, disk, first, last);
}

static void fall_ill(struct look *l)
{
	const struct ill *ill = l->ill;
	struct fault *f = NULL;
	u32 i;

	switch (ill->what) {
	case ILL_ONE:
	case ILL_ALL:
	case ILL_THERE:
		disks.hiccup.first = ill->after;
		disks.hiccup.nr = ill->what == ILL_ONE ? 1 : ~0u;
		disks.hiccup.around = ill->what == ILL_THERE ? 512 : 0;
		disks.hiccup.error = ill->error;
		break;
	case ILL_READS:
		f = disks_fault(FAULT_READ_ONCE, ill->disk, 0, ~0ull);
		break;
	case ILL_WRITES:
		f = disks_fault(FAULT_ONCE, ill->disk, 0, ~0ull);
		break;
	case ILL_DEAD:
		f = disks_fault(FAULT_DEATH, ill->disk, 0, ~0ull);
		break;
	case ILL_HANGS:
		f = disks_fault(FAULT_HANG, ill->disk, 0, ~0ull);
		break;
	case ILL_SLOTS:
		for (i = 0; i < disks.nr; i++)
			if (ill->disks >> i & 1)
				silence_slots(i, ill->times, ill->error);
		break;
	case ILL_RING:
		silence_ring(ill->disk, ill->times & 1);
		break;
	case ILL_MISSING:
		for (i = 0; i < l->start.legs; i++)
			if (host_disk(&l->start, i) == ill->disk)
				l->start.missing |= BIT(i);
		break;
	case ILL_MEMORY:
		l->start.refused_from = 1 + ill->after;
		l->start.refused_until = 1 + ill->after + ill->times;
		break;
	default:
		break;
	}
	if (f) {
		f->after = ill->after;
		f->error = ill->error;
	}
}

static void ill_main(void *arg)
{
	struct look *l = arg;
	struct ill *ill = (struct ill *)l->ill;
	u32 i;

	fall_ill(l);
	start_somehow(l);
	ill->served = !l->refused;
	l->start.refused_until = 0;
	if (l->refused || !ill->stops)
		return;
	disks.hiccup.error = 0;
	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].kind = FAULT_NONE;
	for (i = 0; i < disks.nr; i++) {
		if (disks.hung[i])
			disks_wake(i);
	}
	host_stop(&l->host);
}

static void look_main(void *arg)
{
	struct look *l = arg;
	u64 healed, unrepaired, block, uncounted, held = 0;
	u8 *data;

	start_somehow(l);
	if (l->refused) {
		expect_refusal(l);
		return;
	}
	if (l->crash->at >= l->crash->grown_at &&
	    l->host.pool->sb->pool_blocks <= l->crash->grown_from)
		sim_fail("the pool had grown, and has %llu blocks", l->host.pool->sb->pool_blocks);
	l->started = disks.trace.nr;
	l->host.lying = l->crash->rotten;
	l->written = l->host.pool->table->written;
	l->poisoned = l->host.pool->table->poisoned;
	l->torn = l->host.pool->recovery.torn_accepted;
	l->tag = kvp_history_tag(l->host.pool->sb);
	l->blocks = blocks_of(l);
	data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);
	for (block = 0; block < l->blocks; block++) {
		look_at_block(l, block, data);
		held += memchr_inv(data, LOST, KVP_BLOCK_SIZE) &&
			memchr_inv(data, 0, KVP_BLOCK_SIZE);
	}
	kfree(data);
	uncounted = l->host.pool->table->uncounted;
	if (kvp_has_data(l->host.pool->vdevs.log_vdev->g) &&
	    held > l->written + uncounted * KVP_PTRS_PER_PAGE)
		sim_fail("%llu blocks hold data; %llu are counted as written, and %llu leaves are not counted", held,
			 l->written, uncounted);
	/*
	 * The table does not count data left in the log of a cache, nor blocks of uncounted leaves.
	 */
	if (!kvp_has_data(l->host.pool->vdevs.log_vdev->g) || l->host.pool->table->uncounted)
		l->written = held;
	if (l->host.pool->scache->v && !l->crash->heal_allowed) {
		host_warm_up(&l->host);
		host_cache_check(&l->host);
	}
	if (l->returns)
		bring_back(l);
	if (!l->crash->heal_allowed)
		compare_legs(l);
	if (l->scrub) {
		host_scrub(&l->host, &healed, &unrepaired);
		if ((healed || unrepaired) && !l->crash->heal_allowed)
			sim_fail("scrub after the recovery healed %llu, found %llu beyond repair",
				 healed, unrepaired);
	}
	if (l->stop)
		host_stop(&l->host);
}

/* True if all is well. */
static bool look(struct look *l, const struct image *images, u64 seed)
{
	struct sim_config config;
	enum sim_end end;

	check_seed_config(&config, seed);
	check_stats.machines++;
	disks_begin(images, l->crash->legs + l->crash->spare);
	l->start.swapped = l->crash->swapped;
	l->start.on = l->crash->on;
	l->start.shadow = l->crash->shadow;
	l->start.legs = l->crash->legs;
	l->start.parity = l->crash->parity;
	l->start.second = l->crash->second;
	l->start.second_parity = l->crash->second_parity;
	l->start.cache = l->crash->cache;
	l->start.cache_parity = l->crash->cache_parity;
	l->start.grown = l->crash->growing;
	end = sim_run(&config, l->ill ? ill_main : look_main, l);
	disks_end();
	return end == SIM_RETURNED;
}

static u32 complain(const struct crash *c, const char *what)
{
	fprintf(stderr, "  ^ %s (cut at %u)\n", what, c->at);
	return 1;
}

/* --- for kvpoolctl check ---------------------------------------------------------- */

#define DUMP_ONE_IN	16
#define DUMP_MOST	200

static void dump_leg(const struct image *img, const char *path)
{
	FILE *f = fopen(path, "w");
	u8 data[KVP_BLOCK_SIZE];
	u64 block;

	for (block = 0; f && block < img->blocks; block++) {
		if (!image_blk(img, block))
			continue;
		image_read(img, block, data);
		fseek(f, (long)(block * KVP_BLOCK_SIZE), SEEK_SET);
		fwrite(data, sizeof(data), 1, f);
	}
	if (!f || ftruncate(fileno(f), (off_t)img->blocks * KVP_BLOCK_SIZE) || fclose(f)) {
		perror(path);
		exit(2);
	}
}

/* Write the contents of each block, LOST if it read EIO; blocks of zeros are left out. */
static void dump_contents(const struct look *l, const char *path)
{
	FILE *f = fopen(path, "w");
	u64 block, blocks = l->blocks;

	for (block = 0; f && block < blocks; block++) {
		const u8 *data = l->seen + block * KVP_BLOCK_SIZE;

		if (!memchr_inv(data, 0, KVP_BLOCK_SIZE))
			continue;
		fseek(f, (long)(block * KVP_BLOCK_SIZE), SEEK_SET);
		fwrite(data, KVP_BLOCK_SIZE, 1, f);
	}
	if (!f || ftruncate(fileno(f), (off_t)blocks * KVP_BLOCK_SIZE) || fclose(f)) {
		perror(path);
		exit(2);
	}
}

/*
 * Write the images that @l looked at, without its missing legs, and the contents that the engine
 * read from them: another program must see the same.
 */
static void dump(const struct crash *c, const struct look *l)
{
	static u32 crashes[2], dumped;
	bool less = l->start.missing;
	char path[512];
	FILE *f;
	u32 i;

	if (!opt.dump || !l->seen || c->lost || c->unreadable || crashes[less]++ % DUMP_ONE_IN ||
	    dumped == (opt.dump_most ?: DUMP_MOST))
		return;
	for (i = 0; i < c->legs; i++) {
		if (l->start.missing & BIT(i))
			continue;
		snprintf(path, sizeof(path), "%s/%03u.leg%02u", opt.dump, dumped, i);
		dump_leg(&c->images[i], path);
	}
	snprintf(path, sizeof(path), "%s/%03u.data", opt.dump, dumped);
	dump_contents(l, path);
	snprintf(path, sizeof(path), "%s/%03u.result", opt.dump, dumped++);
	f = fopen(path, "w");
	if (!f)
		exit(2);
	fprintf(f, "%llu %llu %llu %llu %u\n", l->written, l->poisoned, l->torn,
		(u64)l->start.missing, l->tag);
	fclose(f);
	/* So many were asked for: nothing else is waited for. */
	if (dumped == opt.dump_most)
		exit(0);
}

/* Memory for the blocks that are read, if they are dumped. */
static u8 *seen_for_dump(const struct crash *c)
{
	return opt.dump ? malloc((size_t)c->o->blocks * KVP_BLOCK_SIZE) : NULL;
}

/* --- without legs -------------------------------------------------------------------- */

/* Without leg @i: by force, and then contents are allowed; or on its own, where that is safe. */
static u32 check_without(const struct crash *c, u32 i)
{
	u32 others = (BIT(c->legs) - 1) & ~BIT(i);
	struct crash by_itself = *c;
	struct look l = { .crash = &by_itself, .start.missing = BIT(i), .may_refuse = true };

	/* Lost legs may be back. Even if too many were lost, no wrong contents may appear. */
	by_itself.poison_allowed |= too_many(c, others);
	if (!look(&l, c->images, mix64(c->seed, 100 + i)))
		return complain(c, "without a leg, not degraded");
	if (too_many(c, others))
		return 0;
	/* A leg that missed writes may be forced to start, but then anything is said of it. */
	l = (struct look){ .crash = c, .start.missing = BIT(i), .start.degraded = true,
			   .scrub = true };
	l.may_refuse = (c->unreadable | c->given_up) & others;
	l.seen = seen_for_dump(c);
	if (!look(&l, c->images, mix64(c->seed, 200 + i))) {
		free(l.seen);
		return complain(c, "degraded");
	}
	if (!l.refused)
		dump(c, &l);
	free(l.seen);
	return 0;
}

/* The same images, another order of events: the same bytes at home. */
static u32 check_twice(const struct crash *c, const u8 *seen)
{
	struct look l = { .crash = c, .expected = seen };

	if (!look(&l, c->images, mix64(c->seed, 300)))
		return complain(c, "recovered twice");
	return 0;
}

/* A leg with data and an SSD, either of them of a vdev that can be without it: a bit each. */
static bool choose_pair(const struct crash *c, struct rng *rng, u32 *leg, u32 *ssd)
{
	u32 cache = c->legs - c->cache, tries;

	for (tries = 0; c->cache_parity && tries < 8; tries++) {
		*leg = BIT(rng_below(rng, cache));
		*ssd = BIT(cache + rng_below(rng, c->cache));
		if (!too_many(c, (BIT(c->legs) - 1) & ~*leg & ~*ssd))
			return true;
	}
	return false;
}

static void lose_a_leg(struct look *l, struct rng *rng)
{
	const struct crash *c = l->crash;
	u32 leg = rng_below(rng, c->legs), others = (BIT(c->legs) - 1) & ~BIT(leg), with, ssd;

	if (c->heal_allowed)
		return;
	if (choose_pair(c, rng, &with, &ssd))
		l->start.missing = with | ssd;
	else if (!too_many(c, others))
		l->start.missing = BIT(leg);
	l->start.degraded = l->start.missing;
}

/* --- cuts of a recovery ------------------------------------------------------------ */

/* What the trace of a look left, cut at @at. */
static void cut_look(const struct trace *t, u32 at, struct rng *rng, struct image *images)
{
	struct cutter *cut = malloc(sizeof(*cut));
	u32 n, k, which[MAX_PENDING];
	u8 fates[MAX_PENDING];

	cutter_init(cut, t);
	cutter_seek(cut, at);
	n = cutter_majors(cut, which);
	for (k = 0; k < n; k++)
		fates[k] = rng_below(rng, 3);
	cutter_images(cut, fates, rng, images);
	cutter_free(cut);
	free(cut);
}

static void free_images(const struct crash *c, struct image *images)
{
	u32 k;

	for (k = 0; k < c->legs + c->spare; k++)
		image_free(&images[k]);
}

/* Cuts during recovery, and right behind it: the trace is the last look's. */
static u32 check_recrash(const struct crash *c, struct trace *t, u32 started, const u8 *seen,
			 u32 count)
{
	struct rng rng = { mix64(c->seed, 400) };
	u32 i, bad = 0;

	for (i = 0; !bad && i < count; i++) {
		/* One cut just when the pool serves, the others before. */
		u32 at = i ? rng_below(&rng, started + 1) : started;
		struct image images[MAX_DISKS];
		struct crash again = *c;
		struct look l = { .crash = &again, .seen = seen_for_dump(c) };

		cut_look(t, at, &rng, images);
		/* The contents that were read once must not change any more. */
		l.expected = at == started ? seen : NULL;
		l.scrub = i & 1;
		check_stats.recrashes++;
		/* And a leg is gone for good: the other has all entries (R15). */
		if (c->legs > 1 && i % 3 == 2)
			lose_a_leg(&l, &rng);
		if (!look(&l, images, mix64(c->seed, 500 + i))) {
			fprintf(stderr, "  ^ second cut at %u of %u\n", at, started);
			bad += complain(c, "cut during or after the recovery");
		} else if (!l.start.missing) {
			again.images = images;
			dump(&again, &l);
		}
		free(l.seen);
		free_images(c, images);
	}
	return bad;
}

/* A recovery without @first is cut, and the next one is without @then as well. */
static u32 check_one_after(const struct crash *c, u32 first, u32 then, struct rng *rng, u32 count)
{
	struct look l = { .crash = c, .start.missing = first, .start.degraded = true };
	struct trace t;
	u32 bad = 0;

	if (!look(&l, c->images, mix64(c->seed, first)))
		return complain(c, "without a leg, or an SSD");
	t = disks.trace;
	memset(&disks.trace, 0, sizeof(disks.trace));
	for (; !bad && l.started && count--;) {
		struct look again = { .crash = c, .start.missing = first | then,
			.start.degraded = true };
		u32 at = rng_below(rng, l.started + 1);
		struct image images[MAX_DISKS];

		cut_look(&t, at, rng, images);
		check_stats.recrashes++;
		if (!look(&again, images, mix64(c->seed, first + at))) {
			fprintf(stderr, "  ^ without %x: cut at %u of %u, then without %x\n", first, at, l.started,
				first | then);
			bad += complain(c, "a leg, and then an SSD, or the other way round");
		}
		free_images(c, images);
	}
	trace_free(&t);
	return bad;
}

/* Any leg and any SSD are gone at once, or the one during the recovery without the other. */
static u32 check_pairs(const struct crash *c, u32 count)
{
	struct rng rng = { mix64(c->seed, 600) };
	u32 leg, ssd, bad = 0, i;

	for (i = 0; !bad && i < count && choose_pair(c, &rng, &leg, &ssd); i++) {
		struct look l = { .crash = c, .start.missing = leg | ssd, .start.degraded = true,
			.scrub = i & 1 };

		if (c->unreadable || c->given_up || c->heal_allowed)
			break;
		if (!look(&l, c->images, mix64(c->seed, 700 + i)))
			bad += complain(c, "without a leg and an SSD");
		else if (!i)
			bad += check_one_after(c, ssd, leg, &rng, count) ?:
				check_one_after(c, leg, ssd, &rng, count);
	}
	return bad;
}

/* --- legs that return ---------------------------------------------------------------- */

/* After a resilver, @images must have all, without any one leg of each vdev. */
static u32 check_returned(const struct crash *c, const struct image *images, const u8 *seen,
			  bool taken)
{
	struct crash whole = *c;
	u32 i, bad = 0;

	if (taken) {
		whole.on = c->taken_on;
		whole.shadow = 0;
	}

	/* A leg that was being attached is none, or has all. */
	whole.lost = c->leaves | (c->before && c->at < c->changes_at ? c->back : 0);
	for (i = 0; !bad && i < c->legs - c->cache; i++) {
		struct look l = { .crash = &whole, .start.missing = BIT(i), .start.degraded = true,
				  .scrub = true, .expected = seen };

		if (too_many(&whole, (BIT(c->legs) - 1) & ~BIT(i)))
			continue;
		if (!look(&l, images, mix64(c->seed, 800 + i))) {
			fprintf(stderr, "  ^ after the resilver, without leg %u\n", i);
			bad += complain(c, "after the resilver");
		}
	}
	return bad;
}

/* The resilver is cut, and goes on at the next start. */
static u32 check_return_again(const struct crash *c, const struct trace *t, u32 started,
			      const u8 *seen,
			      u32 count)
{
	struct rng rng = { mix64(c->seed, 850) };
	u32 i, bad = 0;

	for (i = 0; !bad && i < count && t->nr > started; i++) {
		struct look l = { .crash = c, .returns = true, .scrub = true,
				  .expected = seen };
		u32 at = started + rng_below(&rng, t->nr - started + 1);
		struct image images[MAX_DISKS];

		cut_look(t, at, &rng, images);
		check_stats.recrashes++;
		if (!look(&l, images, mix64(c->seed, 860 + i))) {
			fprintf(stderr, "  ^ second cut at %u of %u, of a resilver\n", at, t->nr);
			bad += complain(c, "cut while a leg returns");
		}
		free_images(c, images);
	}
	return bad;
}

/* The legs that are out return at the next start. */
static u32 check_return(const struct crash *c, const u8 *seen, u32 count)
{
	struct look l = { .crash = c, .returns = true, .scrub = true,
			  .expected = seen, .stop = c->seed % 2 };
	struct image images[MAX_DISKS];
	struct trace t;
	u32 i, bad;

	if (!look(&l, c->images, mix64(c->seed, 900)))
		return complain(c, "a leg returns");
	for (i = 0; i < c->legs + c->spare; i++)
		image_copy(&images[i], &disks.img[i]);
	t = disks.trace;
	memset(&disks.trace, 0, sizeof(disks.trace));
	bad = check_returned(c, images, seen, l.taken);
	if (!bad)
		bad = check_return_again(c, &t, l.started, seen, count);
	trace_free(&t);
	free_images(c, images);
	return bad;
}

/* --- starts that are ill ------------------------------------------------------------- */

static struct ill choose_ill(const struct crash *c, struct rng *rng)
{
	static const int errors[] = { -EIO, -ENOMEM, -ETIMEDOUT, -EAGAIN, -EREMOTEIO, -ENOLINK };
	struct ill ill = {
		.what = rng_below(rng, ILLNESSES),
		.error = errors[rng_below(rng, ARRAY_SIZE(errors))],
		.disk = rng_below(rng, c->legs + c->spare),
		.stops = rng_below(rng, 2),
	};

	ill.after = rng_below(rng, 1u << (1 + rng_below(rng, 10)));
	ill.times = 1 + rng_below(rng, ill.what == ILL_MEMORY ? 30 : 4);
	ill.disks = rng_below(rng, 2) ? BIT(ill.disk) : rng_below(rng, BIT(c->legs));
	return ill;
}

/* A start with faults, which may be cut, on images of its own; later all must be there. */
static bool be_ill(struct crash *c, struct image *images, u32 turn)
{
	struct rng rng = { mix64(c->seed, 7000 + turn) };
	struct ill ill = choose_ill(c, &rng);
	struct look l = { .crash = c, .ill = &ill, .may_refuse = true };
	struct trace t;
	u32 i, bad = 0;

	if (!look(&l, c->images, mix64(c->seed, 7100 + turn)))
		return false;
	t = disks.trace;
	memset(&disks.trace, 0, sizeof(disks.trace));
	for (i = 0; i < t.nr_requests; i++)
		if (t.requests[i].error)
			bad |= BIT(t.requests[i].disk);
	if (ill.what == ILL_SLOTS)
		bad |= ill.disks;
	else if (ill.what > ILL_READS && ill.what < ILL_MEMORY)
		bad |= BIT(ill.disk);
	for (i = 0; i < c->legs; i++)
		if (bad >> host_disk(&l.start, i) & 1)
			c->given_up |= BIT(i);
	cut_look(&t, ill.stops && ill.served ? t.nr : rng_below(&rng, t.nr + 1), &rng, images);
	trace_free(&t);
	c->lost |= c->given_up;
	c->images = images;
	c->ill = true;
	check_stats.ill++;
	check_stats.ill_served += ill.served;
	return true;
}

static u32 check_well(const struct crash *c, enum check_depth depth);

static u32 complain_of(const struct crash *c, u32 turn, const char *what)
{
	struct rng rng = { mix64(c->seed, 7000 + turn) };
	struct ill i = choose_ill(c, &rng);

	fprintf(stderr, "  ^ fault %u: error %d, disk %u, after %u requests, %u times, disks %x, %s\n",
		i.what, i.error, i.disk, i.after, i.times, i.disks, i.stops ? "stops" : "is cut");
	return complain(c, what);
}

static u32 check_ill(const struct crash *c, enum check_depth depth)
{
	u32 turn, bad = 0;

	for (turn = 0; !bad && turn < opt.faults; turn++) {
		struct image images[MAX_DISKS];
		struct crash ill = *c;

		if (!be_ill(&ill, images, turn))
			return complain_of(c, turn, "a start with faults");
		if (check_well(&ill, depth))
			bad += complain_of(c, turn, "after a start with faults");
		free_images(c, images);
	}
	return bad;
}

u32 check_crash(const struct crash *c, enum check_depth depth)
{
	return opt.faults ? check_ill(c, depth) : check_well(c, depth);
}

static u32 check_well(const struct crash *c, enum check_depth depth)
{
	u8 *seen = malloc((size_t)c->o->blocks * KVP_BLOCK_SIZE);
	struct look l = { .crash = c, .seen = seen };
	struct trace t;
	u32 i, bad = 0;

	check_stats.images++;
	l.scrub = c->seed % 2 || depth > CHECK_CONTENTS;
	l.stop = c->seed % 4 == 1;
	if (!look(&l, c->images, c->seed)) {
		free(seen);
		return complain(c, "all legs");
	}
	dump(c, &l);
	t = disks.trace;
	memset(&disks.trace, 0, sizeof(disks.trace));
	if (l.started)
		bad += check_recrash(c, &t, l.started, seen,
				     depth == CHECK_RECRASH ? RECRASHES : 1);
	trace_free(&t);
	if (!bad && depth >= CHECK_LEGS) {
		bad += check_twice(c, seen);
		for (i = 0; !bad && c->legs > 1 && i < c->legs; i++)
			bad += check_without(c, i);
	}
	if (!bad && c->returns)
		bad += check_return(c, seen, depth);
	if (!bad && depth >= CHECK_LEGS)
		bad += check_pairs(c, depth == CHECK_RECRASH ? 4 : 1);
	free(seen);
	return bad;
}
