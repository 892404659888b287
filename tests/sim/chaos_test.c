// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any orders in any order: legs leave, die, return, are attached, detached and replaced, the pool
 * grows, its log moves, and the power goes, over several lives. The next table is the one that the
 * newest label names, as an import finds it. With all disks there, each start must go well without
 * an order. Without one of them it may be refused; if it is not, nothing may be missing.
 *
 * The cases named troubled: disks fail superblocks, keep them or hang amid changes, memory is
 * short, and most cuts lie there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "life.h"
#include "script.h"
#include "core/shadow.h"
#include "core/vdev.h"
#include "format/replaces.h"
#include "pool/ahead.h"
#include "pool/cachevdev.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "super/members.h"
#include "table/table.h"
#include "work/resilver.h"
#include "work/trim.h"

#define MORE		4400u	/* blocks of a disk that has become larger once */
#define MOST		6700u	/* and twice */
#define SPARES		4u
#define WINDOWS		8u

static const struct {
	const char *name;
	struct host_start start;
} shapes[] = {
	{ "single", { .legs = 1 } },
	{ "mirror", { .legs = 2 } },
	{ "mirror3", { .legs = 3 } },
	{ "parity1", { .legs = 3, .parity = true } },
	{ "strict", { .legs = 4, .parity = true, .strict = true } },
	{ "mirrors", { .legs = 4, .second = 2 } },
	{ "mirror-and-parity1", { .legs = 5, .second = 3, .second_parity = true } },
	{ "parity1-and-mirror", { .legs = 5, .parity = true, .second = 2 } },
	{ "cache", { .legs = 4, .cache = 2 } },
	{ "cache-of-parity1", { .legs = 4, .parity = true, .cache = 1 } },
	{ "cache-of-rows", { .legs = 5, .cache = 3, .cache_parity = true } },
};

static struct {
	struct rng rng;
	struct life_writer writer;
	u8 on[MAX_DISKS], next[MAX_DISKS];
	u32 at;			/* where the last life was cut */
	u64 dead;		/* disks that died in this life */
	bool last, lost_a_leg, look, tolerant;
	u8 uuid[16];
	struct image old[MAX_DISKS];	/* the state at the end of an earlier life */
	bool has_old, all_in_sync;
	bool troubled;		/* legs fail and keep superblocks amid changes */
	bool answered;		/* they do no more */
	bool stuck;		/* only a restart helps */
	struct {
		u32 from, to;
	} windows[WINDOWS];	/* where in the trace such changes are */
	u32 nr_windows;
	char log[16384];
} own;

/* What happened, for a failure. */
static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	size_t len = strlen(own.log);
	va_list ap;

	va_start(ap, format);
	vsnprintf(own.log + len, sizeof(own.log) - len, format, ap);
	va_end(ap);
	if (opt.verbose)
		printf("#%s\n", own.log + len);
}

/* --- what is on the disks ---------------------------------------------------------------- */

static bool read_slot(const struct image *img, u32 blocks, u32 end, u32 slot, struct kvp_sb *sb)
{
	u64 at = kvp_sb_slot_offset(blocks, end, slot);
	static struct kvp_disk_sb d;
	struct kvp_why why;
	u32 i;

	for (i = 0; i < KVP_SB_BLOCKS; i++)
		image_read(img, (at >> KVP_BLOCK_SHIFT) + i, (u8 *)&d + i * KVP_BLOCK_SIZE);
	return !kvp_sb_decode(&d, at, blocks, sb, &why);
}

/* The newest superblock of a disk, at any end that it has had. */
static bool newest_of(const struct image *img, struct kvp_sb *best)
{
	static const u32 sizes[] = { POOL_LEG_BLOCKS, MORE, MOST };
	struct kvp_sb *sb = malloc(sizeof(*sb));
	bool found = false, front = false;
	u32 i;

	for (i = 0; i < KVP_SB_RING; i++)
		front |= read_slot(img, img->blocks, 0, i, sb);
	for (i = 0; i < ARRAY_SIZE(sizes) * 2 * KVP_SB_RING; i++) {
		u32 blocks = sizes[i / KVP_SB_RING / 2];

		/* Only a label in front tells of an end where the device ended once. */
		if (blocks > img->blocks || (!front && blocks < img->blocks) ||
		    !read_slot(img, blocks, i / KVP_SB_RING % 2, i % KVP_SB_RING, sb) ||
		    (found && !kvp_sb_newer(sb, best)))
			continue;
		*best = *sb;
		found = true;
	}
	free(sb);
	return found;
}

/* What is known of the disks between two lives. */
struct labels {
	struct kvp_sb best, each[MAX_DISKS];
	bool found[MAX_DISKS];
};

/* Returns false if there is no label of the pool. */
static bool read_labels(struct script *s, struct labels *l)
{
	bool any = false;
	u32 i;

	for (i = 0; i < s->disks; i++) {
		l->found[i] = newest_of(&s->img[i], &l->each[i]);
		/* That of a leg that joins has no epoch. */
		if (!l->found[i] || !l->each[i].epoch)
			continue;
		if (!any || kvp_sb_newer(&l->each[i], &l->best))
			l->best = l->each[i];
		any = true;
	}
	return any;
}

/* The disk that has the label of this leg; MAX_DISKS: none. */
static u32 disk_of(const struct script *s, const struct labels *l, const u8 uuid[16])
{
	u32 i;

	for (i = 0; i < s->disks; i++)
		if (l->found[i] && !memcmp(l->each[i].leg_uuid, uuid, 16))
			return i;
	return MAX_DISKS;
}

static void take_shape(struct script *s, const struct kvp_sb *sb)
{
	u32 vdevs = sb->vdev_count;

	s->start.legs = sb->leg_count;
	s->start.cache = 0;
	if (!kvp_has_data(&sb->vdevs[vdevs - 1]))
		s->start.cache = sb->vdevs[--vdevs].leg_count;
	s->start.second = vdevs > 1 ? sb->vdevs[1].leg_count : 0;
}

static void take_disks(struct script *s, const struct labels *l)
{
	u32 i, disk;

	memset(own.on, s->disks - 1, sizeof(own.on));
	s->start.on = own.on;
	s->start.missing = 0;
	own.all_in_sync = true;
	for (i = 0; i < s->start.legs; i++) {
		disk = disk_of(s, l, l->best.legs[i].uuid);
		if (disk == MAX_DISKS)
			s->start.missing |= BIT_ULL(i);
		else
			own.on[i] = (u8)disk;
		own.all_in_sync &= l->best.legs[i].state == KVP_LEG_IN_SYNC;
		say(" %u:%u", own.on[i], l->best.legs[i].state);
	}
	disk = l->best.shadow.of ? disk_of(s, l, l->best.shadow.uuid) : MAX_DISKS;
	s->start.shadow = disk == MAX_DISKS ? 0 : disk + 1;
}

/* The table that an import would load. Returns false if there is no label. */
static bool derive(struct script *s)
{
	struct labels *l = calloc(1, sizeof(*l));
	bool any = read_labels(s, l);

	if (any) {
		take_shape(s, &l->best);
		say(" [%u legs", s->start.legs);
		take_disks(s, l);
		say("%s%s]", s->start.shadow ? " shadow" : "",
		    s->start.missing ? " some without a label" : "");
	}
	free(l);
	return any;
}

static bool in_use(struct script *s, u32 disk)
{
	u32 i;

	for (i = 0; i < s->start.legs; i++)
		if (own.on[i] == disk && !(s->start.missing >> i & 1))
			return true;
	return s->start.shadow == disk + 1;
}

/* A disk that no leg is on; MAX_DISKS: none. */
static u32 free_disk(struct script *s)
{
	u32 i, at = rng_below(&own.rng, s->disks);

	for (i = 0; i < s->disks; i++)
		if (!in_use(s, (at + i) % s->disks) && !disks.dead[(at + i) % s->disks])
			return (at + i) % s->disks;
	return MAX_DISKS;
}

/* --- orders ------------------------------------------------------------------------------- */

static struct kvp_leg *leg_of(struct script *s, u32 i)
{
	return &s->host.pool->legs[i];
}

static u32 any_leg(struct script *s)
{
	return rng_below(&own.rng, s->host.pool->nr_legs);
}

static u32 data_legs(struct script *s)
{
	return s->start.legs - s->start.cache;
}

static void result_of(struct script *s, const char *what, u32 leg, int ret)
{
	say(" %s %u%s%s;", what, leg, ret ? ": " : "", ret ? s->host.refusal.why : "");
}

static void op_offline(struct script *s)
{
	u32 i = any_leg(s);
	struct kvp_leg *leg = leg_of(s, i);

	if (kvp_is_cache(leg->v->g))
		return;
	own.lost_a_leg = true;
	say(" offline %u: %d;", i, kvp_leg_offline(s->host.pool, leg));
}

static void op_online(struct script *s)
{
	u32 i = any_leg(s);

	if (disks.dead[own.on[i]])
		return;
	result_of(s, "online", i, kvp_leg_online(s->host.pool, leg_of(s, i), &s->host.refusal));
}

/* May the disk die without loss? A leg that joins may be needed, or not: leave that out. */
static bool may_die(struct script *s, const struct kvp_leg *leg)
{
	const struct kvp_vdev *v = leg->v;
	u32 i, good = 0, resilvers = 0;

	if (kvp_members_dirty(s->host.pool))
		return false;
	for (i = 0; i < v->nr_legs; i++) {
		if (&v->legs[i] == leg)
			continue;
		good += kvp_leg_in_sync(&v->legs[i]) && !v->legs[i].joins;
		resilvers += kvp_leg_resilvers(&v->legs[i]);
		if (v->legs[i].joins)
			return false;
	}
	if (leg->joins)
		return false;
	if (!kvp_leg_in_sync(leg))
		return true;
	if (kvp_is_parity1(v->g) || v->g->kind == KVP_VDEV_CACHE_PARITY1)
		return good == v->nr_legs - 1;
	return good > (resilvers ? 1 : 0);
}

static void op_kill(struct script *s)
{
	u32 i = any_leg(s);

	if (disks.dead[own.on[i]] || !may_die(s, leg_of(s, i)) || own.dead)
		return;
	own.lost_a_leg = true;
	own.dead |= BIT_ULL(own.on[i]);
	disks_kill(own.on[i]);
	say(" disk %u dies, leg %u;", own.on[i], i);
}

static bool may_trouble(struct script *s, u32 i)
{
	return !disks.dead[own.on[i]] && !own.dead && !(s->start.missing >> i & 1) &&
	       may_die(s, leg_of(s, i));
}

/* A write fails, or a flush, and the disk goes on. */
static void op_error(struct script *s)
{
	u32 i = any_leg(s);
	bool flush = rng_below(&own.rng, 2);
	struct fault *f;

	if (!may_trouble(s, i))
		return;
	own.lost_a_leg = true;
	f = disks_fault(flush ? FAULT_FLUSH_EIO : FAULT_WRITE_EIO, own.on[i], 0, ~0ull);
	f->times = 1;
	f->after = rng_below(&own.rng, 3);
	life_writes(&own.writer, 2);
	host_checkpoint(&s->host);
	say(" a %s of disk %u fails: %u;", flush ? "flush" : "write", own.on[i], f->hit);
	disks.nr_faults = 0;
}

/* It does not answer for a while, perhaps for so long that it is given up. */
static void op_hang(struct script *s)
{
	u32 i = any_leg(s), disk = own.on[i];

	if (!may_trouble(s, i))
		return;
	own.lost_a_leg = true;
	disks_fault(FAULT_HANG, disk, 0, ~0ull);
	say(" disk %u hangs", disk);
	life_writes(&own.writer, 2);
	host_sleep(rng_below(&own.rng, 2) ? 40000 : 300);
	disks.nr_faults = 0;
	disks_wake(disk);
	say(", and no more;");
}

/* A vdev that may have one leg more: a single or a mirror. Returns its number, or 2. */
static u32 some_mirror(struct script *s)
{
	u32 v = s->start.second ? rng_below(&own.rng, 2) : 0;

	return (v ? s->start.second_parity : s->start.parity) ? 2 : v;
}

static u32 end_of(struct script *s, u32 v)
{
	return v ? data_legs(s) : data_legs(s) - s->start.second;
}

static void now(struct script *s, const struct host_start *hs)
{
	memcpy(own.on, own.next, sizeof(own.on));
	s->start = *hs;
	s->start.on = own.on;
	s->start.replaces = NULL;
}

static void op_attach(struct script *s)
{
	u32 disk = free_disk(s), v = some_mirror(s), end, i, old;
	struct host_start hs = s->start;
	int ret;

	if (disk == MAX_DISKS || v == 2)
		return;
	end = end_of(s, v);
	for (i = 0; i < hs.legs; i++)
		own.next[i + (i >= end)] = own.on[i];
	own.next[end] = (u8)disk;
	hs.on = own.next;
	hs.legs++;
	hs.second += v;
	hs.missing = (hs.missing & (BIT_ULL(end) - 1)) | (hs.missing >> end << (end + 1));
	if (rng_chance(&own.rng, 500)) {
		old = any_leg(s);
		memcpy(own.uuid, s->host.pool->sb->legs[old].uuid, 16);
		hs.replaces = own.uuid;
		say(" for %u", old);
	}
	watch_forget(disk);
	ret = host_attach(&s->host, &hs);
	result_of(s, "attach", disk, ret);
	if (!ret)
		now(s, &hs);
}

static void op_detach(struct script *s)
{
	struct host_start hs = s->start;
	u32 out = any_leg(s), i;
	bool second;
	int ret;

	if (out >= data_legs(s))
		return;
	second = out >= data_legs(s) - hs.second;
	if ((second ? hs.second_parity : hs.parity) ||
	    (second ? hs.second : data_legs(s) - hs.second) < 2)
		return;
	for (i = 0; i < hs.legs; i++)
		if (i != out)
			own.next[i - (i > out)] = own.on[i];
	hs.on = own.next;
	hs.legs--;
	hs.second -= second;
	hs.missing = (hs.missing & (BIT_ULL(out) - 1)) | (hs.missing >> (out + 1) << out);
	ret = host_detach(&s->host, &hs);
	result_of(s, "detach", out, ret);
	if (!ret)
		now(s, &hs);
}

static void op_replace(struct script *s)
{
	u32 disk = free_disk(s), i = any_leg(s);
	struct host_start hs = s->start;
	int ret;

	if (disk == MAX_DISKS || i >= data_legs(s) || kvp_leg_takes_writes(leg_of(s, i)))
		return;
	memcpy(own.next, own.on, sizeof(own.on));
	own.next[i] = (u8)disk;
	hs.on = own.next;
	hs.missing &= ~BIT_ULL(i);
	hs.swapped = i;
	watch_forget(disk);
	ret = host_replace(&s->host, &hs);
	hs.swapped = 0;
	result_of(s, "replace", i, ret);
	if (!ret)
		now(s, &hs);
}

static void op_shadow(struct script *s)
{
	u32 disk = free_disk(s), i = any_leg(s);
	struct host_start hs = s->start;
	int ret;

	if (disk == MAX_DISKS || !kvp_is_parity1(leg_of(s, i)->v->g) || i >= data_legs(s) ||
	    s->start.shadow)
		return;
	memcpy(own.uuid, s->host.pool->sb->legs[i].uuid, 16);
	hs.replaces = own.uuid;
	hs.shadow = disk + 1;
	watch_forget(disk);
	ret = host_shadow(&s->host, &hs);
	result_of(s, "shadow", i, ret);
	if (!ret)
		s->start.shadow = disk + 1;
}

static void op_take(struct script *s)
{
	u32 disk = s->start.shadow - 1, i;
	struct kvp_leg *old = kvp_shadowed(s->host.pool);
	int ret;

	if (!s->start.shadow || !old)
		return;
	i = old->index;
	ret = host_take_place(&s->host);
	result_of(s, "take-place", i, ret);
	if (ret)
		return;
	own.on[i] = (u8)disk;
	s->start.missing &= ~BIT_ULL(i);
	s->start.shadow = 0;
}

static void op_forget(struct script *s)
{
	int ret;

	if (!s->host.pool->sb->shadow.of)
		return;
	ret = host_forget_shadow(&s->host);
	result_of(s, "forget-shadow", 0, ret);
	if (!ret)
		s->start.shadow = 0;
}

/* All that the devices have by now. */
static void op_larger(struct script *s)
{
	struct host_start hs = s->start;
	int ret;

	if (s->host.pool->sb->shadow.of)
		return;
	hs.grown = true;
	if (rng_chance(&own.rng, 500)) {
		ret = host_grow_ahead(&s->host, &hs);
		result_of(s, "grow-ahead", 0, ret);
		host_sleep(rng_below(&own.rng, 500));
	}
	ret = host_larger(&s->host, &hs);
	result_of(s, "grow", 0, ret);
	if (!ret)
		s->start.grown = true;
}

static void op_trim(struct script *s)
{
	say(" trim: %d;", kvp_trim_start(s->host.pool));
}

static void op_scrub(struct script *s)
{
	u64 healed, unrepaired;

	say(" scrub");
	host_scrub(&s->host, &healed, &unrepaired);
	say(": %llu;", healed);
	if (healed || unrepaired)
		sim_fail("a scrub healed %llu, found %llu beyond repair", healed, unrepaired);
}

static void op_mode(struct script *s)
{
	u64 mode = rng_below(&own.rng, 2) ? KVP_CACHE_WRITETHROUGH : KVP_CACHE_WRITEBACK;

	if (!s->start.cache)
		return;
	say(" mode %llu", mode);
	say(": %d;", kvp_pool_set(s->host.pool, KVP_T_CACHE_MODE, mode));
}

static void op_checkpoint(struct script *s)
{
	say(" checkpoint;");
	host_checkpoint(&s->host);
}

static void op_wait(struct script *s)
{
	u32 ms = rng_below(&own.rng, rng_chance(&own.rng, 200) ? 20000 : 500);

	say(" %u ms;", ms);
	host_sleep(ms);
}

static void op_rate(struct script *s)
{
	u64 rate = rng_below(&own.rng, 3) ? 0 : 64 << 10;

	say(" rate %llu;", rate);
	life_set_rate(s, rate);
}

static void op_suspend(struct script *s)
{
	say(" suspend;");
	host_suspend(&s->host);
	host_sleep(rng_below(&own.rng, 100));
	host_resume(&s->host);
}

static void op_remove_cache(struct script *s)
{
	struct host_start hs = s->start;
	int ret;

	if (!s->start.cache || rng_below(&own.rng, 3))
		return;
	hs.legs -= hs.cache;
	hs.missing &= BIT_ULL(hs.legs) - 1;
	hs.cache = 0;
	memcpy(own.next, own.on, sizeof(own.on));
	ret = host_shrink(&s->host, &hs);
	result_of(s, "remove-cache", 0, ret);
	if (!ret)
		now(s, &hs);
}

static void op_wait_resilver(struct script *s)
{
	life_set_rate(s, 0);
	say(" wait;");
	host_wait_resilver(&s->host);
	say(" waited;");
}

static void op_heartbeat(struct script *s)
{
	u64 seconds = rng_below(&own.rng, 2);

	say(" heartbeat %llu: %d;", seconds, kvp_pool_set(s->host.pool, KVP_T_HEARTBEAT, seconds));
}

/* What an administrator does in turn. */
static void op_replace_to_the_end(struct script *s)
{
	u32 ms;

	if (!s->start.shadow)
		op_shadow(s);
	if (!s->start.shadow)
		return;
	life_set_rate(s, 0);
	for (ms = 0; ms < 60000 && !s->host.pool->shadow_ready; ms += 20)
		host_sleep(20);
	if (rng_below(&own.rng, 3) == 0)
		op_kill(s);
	op_take(s);
}

static void op_haste(struct script *s)
{
	s->host.haste = rng_below(&own.rng, 2);
}

/* --- trouble amid a change --------------------------------------------------------------- */

/* The pool sees so many blocks of a disk that is a leg; else all that it has. */
static u64 blocks_of(const struct kvp_pool *pool, u32 disk)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev == &disks.bdev[disk])
			return pool->legs[i].size_blocks;
	return disks.img[disk].blocks;
}

/* One of the next superblocks fails on a disk, or is kept, in one ring or both. */
static void trouble_superblock(struct host *h, u32 disk, bool keep)
{
	u64 sequence = h->pool->sb->sequence + 1 + rng_below(&own.rng, 5), at;
	u32 rings = rng_below(&own.rng, 3) ? 3 : 1 + rng_below(&own.rng, 2), end;

	say(" {disk %u %s %llu in %u}", disk, keep ? "keeps" : "fails", sequence, rings);
	for (end = 0; end < 2; end++) {
		at = kvp_sb_slot_offset(blocks_of(h->pool, disk), end, sequence % KVP_SB_RING) >>
		     KVP_BLOCK_SHIFT;
		if (!(rings >> end & 1))
			continue;
		if (keep)
			disks_stall(disk, at, at + KVP_SB_BLOCKS - 1);
		else
			disks_fault(FAULT_WRITE_EIO, disk, at, at + KVP_SB_BLOCKS - 1);
	}
}

static void trouble_disk(struct script *s, u32 disk)
{
	struct fault *f;

	switch (rng_below(&own.rng, 8)) {
	case 0:
	case 1:
		if (!disks.stalled[disk][0].end)
			trouble_superblock(&s->host, disk, true);
		return;
	case 2:
		f = disks_fault(FAULT_WRITE_EIO, disk, 0, KVP_LABEL_BLOCKS - 1);
		f->after = rng_below(&own.rng, 6);
		f->times = 1 + rng_below(&own.rng, 3);
		say(" {disk %u fails %u after %u}", disk, f->times, f->after);
		return;
	case 3:
		disks_fault(FAULT_HANG, disk, 0, ~0ull)->after = rng_below(&own.rng, 8);
		say(" {disk %u hangs}", disk);
		return;
	default:
		trouble_superblock(&s->host, disk, false);
	}
}

/* Sooner or later than a leg is given up. */
static void end_trouble(void *arg)
{
	u32 i;

	host_sleep(rng_below(&own.rng, 2) ? 100 + rng_below(&own.rng, 1000) : 45000);
	disks.nr_faults = 0;
	disks_release_all();
	for (i = 0; i < disks.nr; i++)
		if (disks.hung[i])
			disks_wake(i);
	own.answered = true;
}

/* The pool is quiesced, and the change begins. */
static void plant(struct host *h)
{
	struct script *s = container_of(h, struct script, host);
	u32 n = 1 + rng_below(&own.rng, 4), disk;

	own.answered = false;
	own.windows[own.nr_windows % WINDOWS].from = disks.trace.nr;
	while (n--) {
		disk = rng_below(&own.rng, s->disks);
		if (!disks.dead[disk] && disks.nr_faults + 2 < MAX_FAULTS)
			trouble_disk(s, disk);
	}
	if (!rng_below(&own.rng, 5)) {
		sim_refused_from = sim_allocations + 1 + rng_below(&own.rng, 30);
		sim_refused_until = sim_refused_from + (rng_below(&own.rng, 2) ? 1 : 50);
		say(" {no memory from %u on}", sim_refused_from - sim_allocations);
	}
	sim_spawn("answers", end_trouble, NULL);
}

/* One SSD more or less, another one, or those that are out begin anew. */
static void op_ssds(struct script *s)
{
	struct host_start hs = s->start;
	u32 first = data_legs(s), at, i, how = rng_below(&own.rng, 4), disk = free_disk(s);
	bool rows = s->host.pool->vdevs.v[s->host.pool->vdevs.nr - 1].g->kind ==
		    KVP_VDEV_CACHE_PARITY1;
	bool beside = own.writer.goes_on;
	int ret;

	if (!hs.cache)
		return;
	at = first + rng_below(&own.rng, hs.cache);
	memcpy(own.next, own.on, sizeof(own.on));
	hs.on = own.next;
	if (how == 0 && !rows && hs.cache < 3) {
		if (disk == MAX_DISKS)
			return;
		own.next[hs.legs++] = (u8)disk;
		hs.cache++;
	} else if (how == 1 && !rows && hs.cache > 1) {
		for (i = at; i + 1 < hs.legs; i++)
			own.next[i] = own.next[i + 1];
		hs.missing = (hs.missing & (BIT_ULL(at) - 1)) |
			     (hs.missing >> (at + 1) << at);
		hs.legs--;
		hs.cache--;
	} else if (how == 2) {
		if (disk == MAX_DISKS)
			return;
		own.next[at] = (u8)disk;
		hs.missing &= ~BIT_ULL(at);
	}
	/* Labels of those that begin anew are wiped. */
	for (i = first; i < s->start.legs; i++)
		if (!kvp_leg_in_sync(leg_of(s, i)))
			watch_forget(own.on[i]);
	if (disk != MAX_DISKS)
		watch_forget(disk);
	/* device-mapper lets no write through to a suspended pool, and this change begins a log. */
	if (beside)
		life_end_writer(&own.writer);
	ret = host_replace_ssds(&s->host, &hs);
	if (beside)
		life_begin_writer(&own.writer);
	result_of(s, "ssds", at, ret);
	if (!ret)
		now(s, &hs);
}

/* A change of legs in trouble. It is made or undone, whatever the legs do. */
static void op_troubled(struct script *s)
{
	static void (*const changes[])(struct script *s) = {
		op_attach, op_detach, op_attach, op_detach, op_replace, op_shadow, op_take,
		op_forget, op_larger, op_ssds, op_ssds, op_ssds,
	};
	struct host *h = &s->host;
	u32 from = disks.trace.nr;

	own.windows[own.nr_windows % WINDOWS].from = 0;
	own.lost_a_leg = true;
	own.answered = true;
	h->may_fail = true;
	h->quiesced = plant;
	changes[rng_below(&own.rng, ARRAY_SIZE(changes))](s);
	h->quiesced = NULL;
	sim_refused_from = sim_refused_until = 0;
	while (!own.answered)
		host_sleep(50);
	if (kvp_pool_faulted(h->pool)) {
		say(" clear;");
		kvp_pool_clear(h->pool, -1);
	}
	if (kvp_pool_faulted(h->pool)) {
		say(" stuck: %d;", kvp_pool_failure(h->pool));
		own.stuck = true;
	}
	h->may_fail = own.stuck;
	if (own.windows[own.nr_windows % WINDOWS].from > from)
		own.windows[own.nr_windows++ % WINDOWS].to = disks.trace.nr;
}

static void (*const troubles[])(struct script *s) = {
	op_offline, op_online, op_online, op_detach, op_attach, op_checkpoint, op_wait, op_suspend,
	op_wait_resilver, op_wait_resilver, op_rate, op_mode,
	op_troubled, op_troubled, op_troubled, op_troubled, op_troubled, op_troubled, op_troubled,
};

static void (*const ops[])(struct script *s) = {
	op_offline, op_offline, op_online, op_online, op_kill, op_kill, op_attach, op_attach,
	op_detach, op_detach, op_replace, op_replace, op_shadow, op_shadow, op_take, op_take,
	op_forget, op_larger, op_trim, op_scrub, op_mode, op_checkpoint, op_wait, op_wait, op_wait,
	op_rate, op_suspend, op_remove_cache, op_wait_resilver, op_wait_resilver, op_haste,
	op_error, op_error, op_hang, op_heartbeat, op_replace_to_the_end, op_replace_to_the_end,
};

/* --- lives --------------------------------------------------------------------------------- */

/* What the last life left: all that was acknowledged, and nothing else. */
static void look(struct script *s)
{
	u64 torn = s->host.pool->recovery.torn_accepted, mixtures = 0, block;
	u8 data[KVP_BLOCK_SIZE];
	char why[160];
	int ret;

	for (block = 0; block < s->o.blocks && block < s->host.pool->sb->pool_blocks; block++) {
		bool may = own.lost_a_leg && oracle_may_be_lost(&s->o, block, own.at);

		ret = host_read(&s->host, block, data);
		if (ret && !may)
			sim_fail("block %llu cannot be read", block);
		if (!ret && !may && !oracle_allows(&s->o, block, data, own.at, why))
			sim_fail("%s", why);
		mixtures += !ret && oracle_is_mixture(&s->o, block, data);
		if (oracle_touched(&s->o, block) && !ret)
			oracle_rebase(&s->o, block, data);
		if (ret)
			host_write(&s->host, block, 1, true);
	}
	/* All were whole before the cut. So this start has found each mixture: a torn intent. */
	if (mixtures > torn)
		sim_fail("%llu blocks are mixtures of versions, and %llu were torn", mixtures,
			 torn);
}

static void begin(struct script *s)
{
	own.writer.blocks = (u32)min_t(u64, s->o.blocks, s->host.pool->sb->pool_blocks);
	if (own.look)
		look(s);
	own.lost_a_leg = false;
	own.stuck = false;
	own.nr_windows = 0;
	own.dead = 0;
}

static void act(struct script *s)
{
	u32 n = 1 + rng_below(&own.rng, 7);
	bool beside = rng_below(&own.rng, 2);

	if (rng_below(&own.rng, 2))
		s->from = disks.trace.nr;
	life_set_rate(s, rng_below(&own.rng, 2) ? 0 : 64 << 10);
	life_writes(&own.writer, rng_below(&own.rng, 8));
	if (beside)
		life_begin_writer(&own.writer);
	while (n--) {
		if (own.troubled)
			troubles[rng_below(&own.rng, ARRAY_SIZE(troubles))](s);
		else
			ops[rng_below(&own.rng, ARRAY_SIZE(ops))](s);
		if (own.stuck)
			break;
		if (!beside)
			life_writes(&own.writer, rng_below(&own.rng, 4));
		host_read_check(&s->host, rng_below(&own.rng, own.writer.blocks));
		if (kvp_pool_faulted(s->host.pool))
			sim_fail("the pool is faulted");
	}
	if (beside)
		life_end_writer(&own.writer);
	if (!own.stuck)
		life_writes(&own.writer, rng_below(&own.rng, 4));
}

static void all_well(struct script *s)
{
	u32 i, round;

	life_set_rate(s, 0);
	for (round = 0; round < 3; round++) {
		host_wait_resilver(&s->host);
		for (i = 0; i < s->host.pool->nr_legs; i++) {
			struct kvp_leg *leg = leg_of(s, i);

			if (!kvp_leg_in_sync(leg) && leg->bdev && kvp_vdev_needed(leg->v) &&
			    !kvp_place_taken(s->host.pool->sb, i) &&
			    kvp_leg_online(s->host.pool, leg, &s->host.refusal) && !round)
				say(" leg %u stays out: %s;", i, s->host.refusal.why);
		}
	}
	for (i = 0; i < s->host.pool->nr_legs; i++)
		if (!(s->start.missing >> i & 1) && !kvp_leg_in_sync(leg_of(s, i)) &&
		    kvp_vdev_needed(leg_of(s, i)->v) && !kvp_place_taken(s->host.pool->sb, i))
			sim_fail("leg %u is in state %u at last", i, leg_of(s, i)->state);
	life_expect_sound(&s->host, own.writer.blocks);
}

static void tried(struct script *s)
{
	if (s->refused)
		say(" refused: %s;", s->host.refusal.why);
	if (s->refused && !own.tolerant)
		sim_fail("start refused (%d): %s", s->refused, s->host.refusal.why);
}

/* Leave one leg out, and see. What that start wrote stays. */
static bool without_one(struct script *s)
{
	u32 i = rng_below(&own.rng, s->start.legs);
	u64 missing = s->start.missing;
	bool good;

	s->start.missing |= BIT_ULL(i);
	own.lost_a_leg = true;
	say("\n  without leg %u:", i);
	own.tolerant = true;
	good = script_live(s, rng_below(&own.rng, 2) ? act : NULL, true);
	own.tolerant = false;
	if (!good)
		return false;
	s->start.missing = missing;
	if (s->refused)
		return true;
	own.at = disks.trace.nr;
	script_keep(s);
	return derive(s);
}

static void forget_old(struct script *s)
{
	if (own.has_old)
		script_free_disks(s, own.old);
	own.has_old = false;
}

/* One disk has an older state, as a snapshot that was restored. */
static bool put_one_back(struct script *s)
{
	u32 i = rng_below(&own.rng, s->start.legs), disk = own.on[i];
	struct image kept;
	bool good;

	if (!own.has_old || !own.all_in_sync || s->start.legs == 1 || s->start.missing ||
	    own.old[disk].blocks != s->img[disk].blocks)
		return true;
	say("\n  disk %u is put back:", disk);
	kept = s->img[disk];
	image_copy(&s->img[disk], &own.old[disk]);
	s->start.hostile = own.lost_a_leg = true;
	own.tolerant = true;
	good = derive(s) && script_live(s, rng_below(&own.rng, 2) ? act : NULL, true);
	own.tolerant = false;
	s->start.hostile = false;
	image_free(&s->img[disk]);
	s->img[disk] = kept;
	if (!good)
		return false;
	if (s->refused)
		return derive(s);
	own.at = disks.trace.nr;
	script_keep(s);
	forget_old(s);
	return derive(s);
}

static void remember(struct script *s)
{
	u32 i;

	if (own.has_old && rng_below(&own.rng, 2))
		return;
	forget_old(s);
	for (i = 0; i < s->disks; i++)
		image_copy(&own.old[i], &s->img[i]);
	own.has_old = true;
}

/* Half of all lives end with a power cut at some place, a quarter with a stop. */
static void end_life(struct script *s, u32 how, bool first)
{
	u32 end = disks.trace.nr;

	own.at = end;
	if (how < 2 || own.last) {
		script_keep(s);
		return;
	}
	/* The first life begins with a pool that is there. */
	if (s->from < end)
		own.at = s->from + rng_below(&own.rng, end - s->from + 1);
	if (own.nr_windows && rng_below(&own.rng, 4)) {
		u32 i = rng_below(&own.rng, min(own.nr_windows, WINDOWS));

		own.at = own.windows[i].from +
			 rng_below(&own.rng, own.windows[i].to - own.windows[i].from + 1);
	}
	if (first)
		own.at = max(own.at, s->from);
	say(" cut at %u of %u;", own.at, end);
	script_cut(s, own.at, rng_below(&own.rng, 4), &own.rng);
}

static bool one_life(struct script *s, u32 i)
{
	u32 how = rng_below(&own.rng, 4);
	void (*what)(struct script *s) = own.last ? all_well : act;

	say("\n%u:", i);
	own.look = i != 0;
	if (i && !derive(s))
		return expect(false, "no label");
	s->start.returns = rng_below(&own.rng, 2);
	if (i && !own.last && rng_below(&own.rng, 3) == 0 && !without_one(s))
		return false;
	if (i && !own.last && rng_below(&own.rng, 3) == 0 && !put_one_back(s))
		return false;
	if (i)
		remember(s);
	if (!script_live(s, what, how != 0))
		return false;
	end_life(s, how, !i);
	return true;
}

/* Disks that no leg is on may be blank again. */
static void blank_some(struct script *s)
{
	u32 i;

	derive(s);
	for (i = 0; i < s->disks; i++)
		if (!in_use(s, i) && rng_below(&own.rng, 2))
			script_blank_disks(s, i, 1, s->img[i].blocks);
}

static void enlarge(struct image *img, u32 blocks)
{
	struct image new;
	u32 i;

	image_init(&new, blocks);
	for (i = 0; i < img->nr_chunks; i++)
		new.chunk[i] = img->chunk[i];
	free(img->chunk);
	*img = new;
}

/* Devices may be larger by now: all of them, or one. */
static void enlarge_some(struct script *s)
{
	u32 to = rng_below(&own.rng, 2) ? MORE : MOST, one = rng_below(&own.rng, s->disks), i;
	bool all = rng_below(&own.rng, 2);

	if (rng_below(&own.rng, 4))
		return;
	say(" larger: %s %u to %u;", all ? "all" : "disk", one, to);
	for (i = 0; i < s->disks; i++)
		if ((all || i == one) && s->img[i].blocks < to)
			enlarge(&s->img[i], to);
}

static bool play(struct script *s)
{
	u32 lives = 2 + rng_below(&own.rng, 5), i;
	bool good = true;

	for (i = 0; good && i < lives; i++) {
		own.last = false;
		good = one_life(s, i);
		if (good)
			blank_some(s);
		if (good)
			enlarge_some(s);
	}
	own.last = true;
	good = good && one_life(s, lives);
	if (!good)
		fprintf(stderr, "# %s\n", own.log);
	return good;
}

static void set_up(struct script *s)
{
	u32 i;

	own.rng.s = s->seed;
	for (i = 0; i < s->disks; i++)
		own.on[i] = (u8)i;
	s->start.on = own.on;
	own.writer = (struct life_writer){ &s->host, &own.rng, s->o.blocks };
}

static void set_up_troubled(struct script *s)
{
	set_up(s);
	own.troubled = true;
}

static void chaos(u32 i, bool troubled)
{
	const struct host_start *shape = &shapes[i].start;
	char name[96];
	const struct script_case c = {
		.name = name, .shape = shape, .spares = SPARES, .blank = POOL_LEG_BLOCKS,
		.blocks = shape->second ? host_boundary(shape) + 64 : POOL_BLOCKS,
		.set_up = troubled ? set_up_troubled : set_up, .clean_up = forget_old,
		.may_refuse = true, .tried = tried, .begin = begin, .play = play,
		.turns = 4, .salt = (troubled ? 18000 : 17000) + i, .life_seeds = true, .own = &own,
		.own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "chaos:%s%s", troubled ? "troubled-" : "", shapes[i].name);
	script_run(&c);
}

void run_chaos(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		chaos(i, false);
		chaos(i, true);
	}
}
