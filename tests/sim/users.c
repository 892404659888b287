// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/mm.h>

#include "users.h"
#include "cache/admission.h"
#include "cache/client.h"
#include "cache/pacing.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "home/heal.h"
#include "home/missing.h"
#include "io/flight.h"
#include "io/io.h"
#include "io/mirror.h"
#include "log/spill.h"
#include "policy/index.h"
#include "policy/ssdpolicy.h"
#include "pool/shadow.h"
#include "pool/add.h"
#include "pool/grow.h"
#include "pool/online.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/heartbeat.h"
#include "super/leaves.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/resilver.h"
#include "work/scrub.h"

#define BEHIND_BLOCKS	128	/* of a pool of two vdevs behind the boundary */
#define SMALL_CHUNK	4

/* --- life -------------------------------------------------------------------------- */

static void space_came_free(struct kvp_pool *pool)
{
	struct host *h = pool->requests;

	h->space_seq++;
	wake_up_all(&h->space);
}

static void add_vdev(struct kvp_start *s, bool parity, u32 legs)
{
	s->vdevs[s->nr_vdevs].kind = parity ? KVP_VDEV_PARITY1 :
				     legs > 1 ? KVP_VDEV_MIRROR : KVP_VDEV_SINGLE;
	s->vdevs[s->nr_vdevs++].nr_legs = legs;
}

static u32 extent_of(bool parity, u32 legs)
{
	struct kvp_geometry g = {
		.kind = parity ? KVP_VDEV_PARITY1 : KVP_VDEV_MIRROR, .leg_count = legs,
		.chunk_blocks = SMALL_CHUNK,
	};

	return kvp_extent_blocks(&g);
}

/*
 * Behind the second turn of the first vdev. There is about as much of each, so a turn is one
 * extent.
 */
u64 host_boundary(const struct host_start *s)
{
	return 2 * extent_of(s->parity, s->legs - s->cache - s->second) +
	       extent_of(s->second_parity, s->second);
}

u32 host_disk(const struct host_start *hs, u32 leg)
{
	if (hs->on)
		return hs->on[leg];
	if (hs->swapped && leg == hs->swapped)
		return hs->legs;
	return leg < hs->legs - hs->cache ? leg : leg + hs->blank;
}

static void add_cache(struct kvp_start *s, const struct host_start *hs, u32 legs)
{
	s->vdevs[s->nr_vdevs].kind = hs->cache_parity ? KVP_VDEV_CACHE_PARITY1 : KVP_VDEV_CACHE;
	s->vdevs[s->nr_vdevs++].nr_legs = legs;
	s->tunable_mask |= BIT_ULL(KVP_T_CACHE_MODE);
	s->tunables[KVP_T_CACHE_MODE] = hs->writethrough ? KVP_CACHE_WRITETHROUGH :
		KVP_CACHE_WRITEBACK;
}

/* Returns true if there is a parity1. */
static bool add_vdevs(struct kvp_start *s, const struct host_start *hs)
{
	const struct host_vdev *v;
	bool parity = hs->parity || hs->second_parity;

	for (v = hs->wide; v && v->legs; v++) {
		parity |= v->parity;
		if (v->cache)
			add_cache(s, hs, v->legs);
		else
			add_vdev(s, v->parity, v->legs);
	}
	if (hs->wide)
		return parity;
	add_vdev(s, hs->parity, hs->legs - hs->cache - hs->second);
	if (hs->second)
		add_vdev(s, hs->second_parity, hs->second);
	if (hs->cache)
		add_cache(s, hs, hs->cache);
	return parity;
}

/* Devices may become larger. 0: all of the disk. */
static u32 blocks_of_leg(const struct host_start *hs, u32 leg)
{
	u32 data = hs->legs - hs->cache;

	if (leg >= data)
		return 0;
	return (leg < data - hs->second ? hs->all_blocks : hs->second_blocks) ?: hs->leg_blocks;
}

static void name_disk(struct kvp_start_leg *leg, u32 disk)
{
	leg->bdev = &disks.bdev[disk];
	leg->size_blocks = disks.img[disk].blocks;
	snprintf(leg->path, sizeof(leg->path), "disk%u", disk);
}

static void fill_start(struct kvp_start *s, const struct host_start *hs)
{
	bool parity;
	u32 i, disk;

	s->format = hs->format;
	s->degraded = hs->degraded;
	s->readonly = hs->readonly;
	s->accept_fork = hs->accept_fork;
	s->any_uuid = true;
	snprintf(s->name, sizeof(s->name), "sim");
	s->discard_log = hs->discard_log;
	parity = add_vdevs(s, hs);
	/* Several turns below one leaf, and legs of the size that all tests have. */
	s->pool_blocks = hs->second ? host_boundary(hs) + BEHIND_BLOCKS : hs->parity ? 512 : 0;
	if (hs->grown)
		s->pool_blocks = 0;
	s->chunk_bytes = parity ? (hs->chunk ?: SMALL_CHUNK) * KVP_BLOCK_SIZE : 0;
	s->dirty_bytes = (u64)hs->cache_dirty << KVP_BLOCK_SHIFT;
	s->log_bytes = (hs->log_mib ?: 4ull) << 20;
	s->tunable_mask |= BIT_ULL(KVP_T_WRITE_BUFFER) | BIT_ULL(KVP_T_SEQ_CUTOFF_WRITE) |
			  BIT_ULL(KVP_T_STRICT) | BIT_ULL(KVP_T_RAM_CACHE) |
			  BIT_ULL(KVP_T_ONLINE_AUTO);
	s->tunables[KVP_T_ONLINE_AUTO] = hs->returns;
	s->tunables[KVP_T_WRITE_BUFFER] = 4ull << 20;
	s->tunables[KVP_T_SEQ_CUTOFF_WRITE] = 64ull << 10;
	s->tunables[KVP_T_STRICT] = hs->strict;
	/* Half of what the small pools have, so that blocks are evicted. */
	s->tunables[KVP_T_RAM_CACHE] = 1ull << 20;
	s->replaces = hs->replaces;
	if (hs->replaces)
		memcpy(s->leaves, hs->replaces, sizeof(s->leaves));
	if (hs->shadow)
		name_disk(&s->shadow, hs->shadow - 1);
	s->nr_legs = hs->legs;
	for (i = 0; i < hs->legs; i++) {
		if (hs->missing >> i & 1) {
			snprintf(s->legs[i].path, sizeof(s->legs[i].path), "-");
			s->legs[i].named = hs->named;
			if (hs->named)
				memcpy(s->legs[i].uuid, hs->named, sizeof(s->legs[i].uuid));
			continue;
		}
		disk = host_disk(hs, i);
		s->legs[i].bdev = &disks.bdev[disk];
		s->legs[i].size_blocks = blocks_of_leg(hs, i) ?: disks.img[disk].blocks;
		if (hs->shrunk >> i & 1)
			s->legs[i].size_blocks = hs->shrunk_blocks;
		s->legs[i].rotational = hs->rotational;
		snprintf(s->legs[i].path, sizeof(s->legs[i].path), "disk%u", disk);
	}
}

static void note_geometry(const struct kvp_pool *pool)
{
	u32 i;

	memset(disks.log_end, 0, sizeof(disks.log_end));
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];
		const struct kvp_geometry *g = leg->v->g;

		if (leg->bdev && (leg->v == pool->vdevs.log_vdev ||
				  pool->sb->log_others >> leg->v->index & 1)) {
			disks.log_first[leg->bdev->index] = g->log_start;
			disks.log_end[leg->bdev->index] = g->log_start + kvp_log_area(g);
		}
	}
	disks.log_start = pool->vdevs.log_vdev->g->log_start;
	disks.log_blocks = kvp_log_blocks(pool->vdevs.log_vdev->g);
	disks.log_segment = pool->vdevs.log_vdev->g->segment_blocks;
	disks.table_start = pool->vdevs.v[0].g->table_start;
	disks.data_start = pool->vdevs.v[0].g->data_start;
}

/* Check that the boundary lies between the two vdevs, as tests expect. */
static void check_boundary(struct kvp_pool *pool, const struct host_start *hs)
{
	u64 boundary;

	if (!hs->second || hs->grown)
		return;
	boundary = host_boundary(hs);
	if (kvp_locate(pool, boundary - 1).v != &pool->vdevs.v[0] ||
	    kvp_locate(pool, boundary).v != &pool->vdevs.v[1])
		sim_fail("block %llu is not the first one of the second vdev", boundary);
}

/*
 * R29: no leg is behind, whatever power cuts there were, except one that was put back to an older
 * state.
 * Labels that lie with good sums may say so of any.
 */
static void check_lags(struct kvp_pool *pool, const struct host_start *hs)
{
	u32 i;

	for (i = 0; !hs->hostile && i < pool->nr_legs; i++)
		if (!!pool->legs[i].lag != ((u64)hs->outdated >> i & 1))
			sim_fail("leg %u is found to be %llu superblocks behind", i, pool->legs[i].lag);
}

int host_start(struct host *h, struct oracle *o, const struct host_start *hs)
{
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	memset(h, 0, sizeof(*h));
	h->o = o;
	init_waitqueue_head(&h->space);
	init_waitqueue_head(&h->messages_wait);
	fill_start(s, hs);
	h->pool = kvp_pool_alloc();
	h->pool->requests = h;
	h->pool->space = space_came_free;
	sim_allocations = 0;
	sim_refused_from = hs->refused_from;
	sim_refused_until = hs->refused_until;
	ret = kvp_pool_start(h->pool, s, &h->refusal);
	h->seen = disks.nr_faults ? disks.faults[0].seen : 0;
	sim_refused_until = 0;
	kfree(s);
	if (ret) {
		if (!h->refusal.why[0])
			sim_fail("start refused with %d and no reason", ret);
		kvp_pool_free(h->pool);
		h->pool = NULL;
		return ret;
	}
	/* A test of a race with an admission means one that is under way. */
	h->pool->admission->gather = 0;
	if (!hs->first_resume)
		kvp_pool_unquiesce(h->pool);
	note_geometry(h->pool);
	check_boundary(h->pool, hs);
	check_lags(h->pool, hs);
	return 0;
}

/* See users.h. In target.c, kvp_orders_end() and kvp_orders_drain() do this. */
void host_suspend(struct host *h)
{
	h->suspended = true;
	if (h->messages)
		wait_event(h->messages_wait, !h->messages);
	if (h->haste)
		kvp_pool_halt(h->pool);
	else
		kvp_pool_quiesce(h->pool);
}

/*
 * A change finds a log on the legs empty, also if the suspend has left something in it. What was
 * accepted since may be there.
 */
static void expect_settled(struct host *h)
{
	if (h->haste && oracle_mark(h->o) == h->accepted && !h->discards &&
	    kvp_log_counts(h->pool->log) && !kvp_log_may_stay(h->pool->log))
		sim_fail("legs or vdevs have changed beside a log that is not empty");
}

void host_resume(struct host *h)
{
	kvp_pool_unquiesce(h->pool);
	h->suspended = false;
	wake_up_all(&h->messages_wait);
}

static void begin_message(struct host *h)
{
	if (h->suspended)
		wait_event(h->messages_wait, !h->suspended);
	h->messages++;
}

static void end_message(struct host *h)
{
	h->messages--;
	if (h->suspended)
		wake_up_all(&h->messages_wait);
}

/* What a new table does before it changes the suspended pool, and after: target/reload.c. */
static void begin_change(struct host *h)
{
	host_suspend(h);
	h->accepted = oracle_mark(h->o);
	kvp_heartbeat_stop(h->pool);
	kvp_change_begin(h->pool);
}

static void end_change(struct host *h)
{
	kvp_change_end(h->pool);
	host_resume(h);
}

int host_grow(struct host *h, const struct host_start *hs)
{
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	fill_start(s, hs);
	begin_change(h);
	ret = kvp_pool_add(h->pool, s, &h->refusal);
	end_change(h);
	kfree(s);
	return ret;
}

static bool has_label(const struct image *img, u64 first)
{
	u8 data[KVP_BLOCK_SIZE];
	u64 block;

	for (block = first; block < first + KVP_LABEL_BLOCKS; block++) {
		image_read(img, block, data);
		if (memchr_inv(data, 0, sizeof(data)))
			return true;
	}
	return false;
}

/* Before any task writes more of them. */
static void expect_labels(const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		if (kvp_leg_in_sync(leg) && (!has_label(&disks.img[leg->bdev->index], 0) ||
					    !has_label(&disks.img[leg->bdev->index],
						       leg->size_blocks - KVP_LABEL_BLOCKS)))
			sim_fail("leg %u has no label", i);
	}
}

bool host_wrote_superblock(const struct trace_request *r, struct kvp_sb *sb)
{
	static struct kvp_disk_sb d;
	struct kvp_why why;
	u32 i;

	if (r->op != KVP_IO_WRITE_FUA || r->nr != KVP_SB_BLOCKS)
		return false;
	for (i = 0; i < KVP_SB_BLOCKS; i++)
		memcpy((u8 *)&d + i * KVP_BLOCK_SIZE, r->data[i]->data, KVP_BLOCK_SIZE);
	return !kvp_sb_decode(&d, r->block << KVP_BLOCK_SHIFT, disks.img[r->disk].blocks, sb,
			      &why);
}

int host_replace_ssds(struct host *h, const struct host_start *hs)
{
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	fill_start(s, hs);
	begin_change(h);
	if (h->quiesced)
		h->quiesced(h);
	h->quiesced = NULL;
	ret = kvp_pool_replace_ssds(h->pool, s, &h->refusal);
	if (!ret)
		expect_labels(h->pool);
	end_change(h);
	kfree(s);
	return ret;
}

int host_replace(struct host *h, const struct host_start *hs)
{
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	fill_start(s, hs);
	s->replace = true;
	begin_change(h);
	if (h->quiesced)
		h->quiesced(h);
	h->quiesced = NULL;
	ret = kvp_pool_replace_leg(h->pool, s, &h->refusal);
	if (!ret)
		expect_settled(h);
	if (!ret && !host_labelled(host_disk(hs, hs->swapped)))
		sim_fail("the new leg has no label");
	end_change(h);
	kfree(s);
	return ret;
}

static int load_table(struct host *h, const struct host_start *hs,
		      int (*change)(struct kvp_pool *pool, const struct kvp_start *s,
				    struct kvp_refusal *r))
{
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	fill_start(s, hs);
	s->pool_blocks = hs->table_blocks;
	s->replace = change != kvp_pool_grow;
	s->grow = !s->replace;
	begin_change(h);
	if (h->quiesced)
		h->quiesced(h);
	h->quiesced = NULL;
	ret = change(h->pool, s, &h->refusal);
	if (!ret)
		expect_labels(h->pool);
	if (!ret)
		expect_settled(h);
	end_change(h);
	note_geometry(h->pool);
	kfree(s);
	return ret;
}

int host_attach(struct host *h, const struct host_start *hs)
{
	return load_table(h, hs, kvp_pool_attach);
}

int host_detach(struct host *h, const struct host_start *hs)
{
	return load_table(h, hs, kvp_pool_detach);
}

int host_larger(struct host *h, const struct host_start *hs)
{
	return load_table(h, hs, kvp_pool_grow);
}

int host_grow_ahead(struct host *h, const struct host_start *hs)
{
	struct kvp_grow *w = kzalloc(sizeof(*w), GFP_KERNEL);
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;
	u32 i;

	fill_start(s, hs);
	for (i = 0; i < s->nr_legs; i++)
		w->leg_blocks[i] = s->legs[i].size_blocks;
	ret = kvp_pool_grow_ahead(h->pool, w, &h->refusal);
	kfree(s);
	kfree(w);
	return ret;
}

int host_shadow(struct host *h, const struct host_start *hs)
{
	return load_table(h, hs, kvp_pool_shadow);
}

static int take_place(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	return kvp_pool_take_place(pool, r);
}

static int forget_shadow(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	return kvp_pool_forget_shadow(pool, r);
}

int host_take_place(struct host *h)
{
	struct host_start none = { .legs = 1 };

	return load_table(h, &none, take_place);
}

int host_forget_shadow(struct host *h)
{
	struct host_start none = { .legs = 1 };

	return load_table(h, &none, forget_shadow);
}

bool host_labelled(u32 disk)
{
	const struct image *img = &disks.img[disk];

	return has_label(img, 0) || has_label(img, img->blocks - KVP_LABEL_BLOCKS);
}

int host_shrink(struct host *h, const struct host_start *hs)
{
	struct kvp_start *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	fill_start(s, hs);
	begin_change(h);
	ret = kvp_pool_remove(h->pool, s, &h->refusal);
	if (!ret && kvp_log_rows_bytes(h->pool->log))
		sim_fail("the cache has left, and %llu bytes of its log have not",
			 kvp_log_rows_bytes(h->pool->log));
	end_change(h);
	kfree(s);
	return ret;
}

void host_stop(struct host *h)
{
	const char *wrong;
	u32 strays, i;

	if (h->halted)
		kvp_pool_finish(h->pool);
	else
		kvp_pool_quiesce(h->pool);
	host_cache_check(h);
	wrong = kvp_admit_check(h->pool->admission);
	if (wrong)
		sim_fail("fills: %s", wrong);
	kvp_pool_stop(h->pool);
	strays = kvp_strays(h->pool);
	kvp_pool_free(h->pool);
	h->pool = NULL;
	/* What legs have not answered goes when they do. */
	for (i = 0; strays && i < disks.nr; i++)
		disks_wake(i);
	for (i = 0; strays && sim_memory_in_use() && i < 100; i++)
		host_sleep(10);
	for (i = 0; i < disks.nr; i++)
		if (disks.bdev[i].holds)
			sim_fail("disk %u is not held", i);
	if (sim_memory_in_use())
		sim_fail("%u objects or pages are still allocated after the stop",
			 sim_memory_in_use());
}

/* --- durability ------------------------------------------------------------------------ */

struct sync_waiter {
	struct kvp_waiter w;
	struct completion done;
	int error;
};

static void sync_done(struct kvp_waiter *w, int error)
{
	struct sync_waiter *s = container_of(w, struct sync_waiter, w);

	s->error = error;
	complete(&s->done);
}

/*
 * R20, whatever the power spares: of what went past the log, and @w had to wait for, nothing is
 * open any more.
 */
static void expect_closed(struct host *h, const struct kvp_waiter *w)
{
	const struct kvp_direct *b = h->pool->log->directs;
	u32 i;

	for (i = 0; w->flushed && i < KVP_MAX_OPEN_INTENTS; i++)
		if (b[i].phase != KVP_DIRECT_FREE && b[i].mark.lsn < w->lsn)
			sim_fail("a waiter for %llu was answered, intents at %llu are open",
				 w->lsn, b[i].mark.lsn);
}

static int wait_durable(struct host *h, u64 seq)
{
	struct sync_waiter s = { .w.done = sync_done };
	u64 nonce = h->pool->log->nonce;

	init_completion(&s.done);
	s.w.seq = seq;
	kvp_commit_wait_async(h->pool->log, &s.w);
	wait_for_completion(&s.done);
	/* In a log to which it has moved all places are others. */
	if (!s.error && nonce == h->pool->log->nonce)
		expect_closed(h, &s.w);
	return s.error;
}

static int judge(struct host *h, const char *what, int error)
{
	if (error && !h->may_fail)
		sim_fail("%s failed with %d", what, error);
	return error;
}

/* --- writes -------------------------------------------------------------------------------- */

/*
 * As write.c: ask for space, and wait until there is more than when @seen was noted. False: in
 * vain.
 */
static bool wait_for_space(struct host *h, u32 seen)
{
	struct kvp_pool *pool = h->pool;

	if (kvp_pool_faulted(pool))
		return false;
	kvp_destage_relieve(pool);
	kvp_commit_kick(pool->log, true);
	wait_event(h->space, h->space_seq != seen || kvp_pool_faulted(pool));
	return true;
}

static struct kvp_version *begin_write(struct host *h, u64 block, bool large)
{
	struct kvp_pool *pool = h->pool;

	for (;;) {
		u32 seen = h->space_seq;
		struct kvp_version *d = kvp_wbuf_begin_write(pool->wbuf, block, large);

		if (d)
			return d;
		if (!wait_for_space(h, seen))
			return NULL;
	}
}

static int finish_write(struct host *h, u64 block, u32 count, bool fua, u64 mark)
{
	int ret;

	if (!fua) {
		kvp_commit_kick(h->pool->log, true);
		return 0;
	}
	ret = wait_durable(h, kvp_wbuf_seq(h->pool->wbuf));
	if (!ret)
		oracle_ack_blocks(h->o, block, count, mark);
	return judge(h, "FUA write", ret);
}

/* R7: a parity1 that lacks a leg logs everything, and so does one that is strict. */
static bool whole_stripes_may_bypass(struct host *h, u64 block)
{
	const struct kvp_vdev *v;

	/* The trip of a write to a mirror has no call that the engine would not make. */
	if (!h->pool->vdevs.widest_row)
		return false;
	v = kvp_locate(h->pool, block).v;
	return kvp_is_parity1(v->g) && !READ_ONCE(h->pool->tunables[KVP_T_STRICT]) &&
	       kvp_vdev_usable(v) == v->nr_legs;
}

int host_write(struct host *h, u64 block, u32 count, bool fua)
{
	/* With the log on legs, the run in the buffer decides. */
	bool stream = kvp_is_cache(READ_ONCE(h->pool->vdevs.log_vdev)->g) &&
		      kvp_pacing_joins_stream(h->pool, block, count, 0);
	u64 mark = 0;
	u32 i;

	/* A run of writes may become intents, whichever way it was cut into requests. */
	if (!READ_ONCE(h->pool->tunables[KVP_T_STRICT]))
		oracle_joins(h->o, block, count, stream ? 1 : KVP_WBUF_LARGE);
	for (i = 0; i < count; i++) {
		struct kvp_version *d = begin_write(h, block + i, count - i >= KVP_WBUF_LARGE);

		if (!d)
			return judge(h, "write", -EIO);
		d->stream = stream;
		mark = oracle_write(h->o, block + i, page_address(d->page));
		if (whole_stripes_may_bypass(h, block + i))
			oracle_losable(h->o, block + i);
		kvp_wbuf_end_write(h->pool->wbuf, d);
	}
	return finish_write(h, block, count, fua, mark);
}

int host_write_zeros(struct host *h, u64 block, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct kvp_version *d = begin_write(h, block + i, count - i >= KVP_WBUF_LARGE);

		if (!d)
			return judge(h, "write", -EIO);
		memset(page_address(d->page), 0, KVP_BLOCK_SIZE);
		oracle_write_zeros(h->o, block + i);
		kvp_wbuf_end_write(h->pool->wbuf, d);
	}
	return finish_write(h, block, count, false, 0);
}

int host_write_special(struct host *h, u64 block, const u8 *data)
{
	struct kvp_version *d = begin_write(h, block, false);

	if (!d)
		return judge(h, "write", -EIO);
	memcpy(page_address(d->page), data, KVP_BLOCK_SIZE);
	oracle_write_special(h->o, block, data);
	kvp_wbuf_end_write(h->pool->wbuf, d);
	return finish_write(h, block, 1, false, 0);
}

int host_flush(struct host *h)
{
	u64 mark = oracle_mark(h->o);
	int ret = wait_durable(h, kvp_wbuf_seq(h->pool->wbuf));

	if (!ret)
		oracle_ack(h->o, mark);
	return judge(h, "FLUSH", ret);
}

int host_discard(struct host *h, u64 block, u32 count)
{
	u32 seen;
	u64 seq;
	int ret;

	oracle_discard(h->o, block, count);
	h->discards++;
	do {
		seen = h->space_seq;
		ret = kvp_wbuf_discard(h->pool->wbuf, block, count, &seq);
	} while (ret == -EAGAIN && wait_for_space(h, seen));
	/* One that failed is never acknowledged: the block may have either contents. */
	if (!ret)
		oracle_discarded(h->o, block, count);
	h->discards--;
	kvp_commit_kick(h->pool->log, true);
	return judge(h, "discard", ret);
}

int host_checkpoint(struct host *h)
{
	u64 mark;
	int ret;

	begin_message(h);
	mark = oracle_mark(h->o);
	ret = kvp_destage_all(h->pool);
	end_message(h);
	if (!ret)
		oracle_ack(h->o, mark);
	return judge(h, "destage", ret);
}

void host_destage(struct host *h)
{
	/* Durable versions may move on a jiffy later. */
	flush_delayed_work(&h->pool->log->post_work);
	kvp_destage_kick(h->pool, true);
}

void host_press(struct host *h, u32 limit)
{
	struct kvp_pool *pool = h->pool;
	u64 mark = pool->tunables[KVP_T_RENEW_MARK];
	u32 usual = pool->wbuf->limit;

	flush_delayed_work(&pool->log->post_work);
	/* While versions are renewed, a full buffer is spilled, and no round is due. */
	WRITE_ONCE(pool->tunables[KVP_T_RENEW_MARK], 0);
	kvp_wbuf_set_limit(pool->wbuf, limit);
	kvp_destage_kick(pool, false);
	flush_work(&pool->destage->work);
	kvp_wbuf_set_limit(pool->wbuf, usual);
	WRITE_ONCE(pool->tunables[KVP_T_RENEW_MARK], mark);
}

bool host_try_home(struct host *h)
{
	struct kvp_pool *pool = h->pool;
	u64 checkpoints = pool->sb->checkpoint;

	/* A log on a cache is at leisure while there is room for an eighth more. */
	host_press(h, kvp_has_data(pool->vdevs.log_vdev->g) ? 3 : 0);
	if (kvp_wbuf_nr_logged(pool->wbuf))
		sim_fail("%u versions are not home: the case was not set up",
			 kvp_wbuf_nr_logged(pool->wbuf));
	return pool->sb->checkpoint == checkpoints;
}

void host_home_without_checkpoint(struct host *h)
{
	if (!host_try_home(h))
		sim_fail("there was a checkpoint: the case was not set up");
}

void host_write_by_intent(struct host *h, u64 block, u32 count)
{
	u64 before = h->pool->log->intent_blocks;

	host_write(h, block, count, false);
	host_sleep(1500);
	if (h->pool->log->intent_blocks == before)
		sim_fail("no intents: the case was not set up");
}

void host_occupy_destage(struct host *h)
{
	host_write_each(h, 0, 1);
	host_destage(h);
	while (kvp_wbuf_nr_logged(h->pool->wbuf))
		msleep(1);
}

void host_scrub(struct host *h, u64 *healed, u64 *unrepaired)
{
	host_scrub_since(h, 0, healed, unrepaired);
}

void host_scrub_since(struct host *h, u32 since, u64 *healed, u64 *unrepaired)
{
	int ret;

	/* One that the power cut interrupted goes on by itself. */
	flush_work(&h->pool->scrub->work);
	ret = kvp_scrub_start(h->pool, since);
	if (ret)
		sim_fail("scrub does not start: %d", ret);
	flush_work(&h->pool->scrub->work);
	if (h->pool->scrub->info.state != KVP_SCRUB_FINISHED)
		sim_fail("scrub ended in state %u", h->pool->scrub->info.state);
	*healed = h->pool->scrub->info.healed;
	*unrepaired = h->pool->scrub->info.unrepaired;
}

void host_warm_up(struct host *h)
{
	while (READ_ONCE(h->pool->rebuild->restoring) && !READ_ONCE(h->pool->rebuild->stopped))
		msleep(1);
}

void host_sleep(u32 ms)
{
	msleep(ms);
}

struct kvp_leg *host_leg(struct host *h, u32 disk)
{
	u32 i;

	for (i = 0; i < h->pool->nr_legs; i++)
		if (h->pool->legs[i].bdev == &disks.bdev[disk])
			return &h->pool->legs[i];
	return NULL;
}

/* --- legs that return ------------------------------------------------------------ */

#define RESILVER_MS	600000u		/* of virtual time: no resilver of a test takes as long */

void host_offline(struct host *h, u32 disk)
{
	int ret = kvp_leg_offline(h->pool, host_leg(h, disk));

	if (ret)
		sim_fail("leg %u cannot be taken out: %d", disk, ret);
}

int host_online(struct host *h, u32 disk)
{
	return kvp_leg_online(h->pool, host_leg(h, disk), &h->refusal);
}

void host_wait_resilver(struct host *h)
{
	u32 ms;

	for (ms = 0; !bitmap_empty(h->pool->returns->wanted, KVP_MAX_LEGS) ||
	     kvp_resilver_runs(h->pool);
	     ms += 20) {
		if (ms >= RESILVER_MS)
			sim_fail("a resilver does not end");
		host_sleep(20);
	}
}

void host_wait_replaced(struct host *h)
{
	u32 ms;

	for (ms = 0; kvp_replaced_waits(h->pool) || kvp_members_dirty(h->pool); ms += 5) {
		if (ms >= RESILVER_MS)
			sim_fail("a leg that was replaced does not leave");
		host_sleep(5);
	}
}

/* --- reads ------------------------------------------------------------------------------------ */

/* The state before a block is read. */
struct read_plan {
	struct kvp_rfill ram;
	struct kvp_admit_plan ssd;
	bool may_fill;		/* the SSD cache */
	struct kvp_on_ssd at;	/* it lies on the SSD, unless the block is 0 */
};

/* Once. */
static void happen(struct host *h, void (**what)(struct host *h))
{
	void (*now)(struct host *h) = *what;

	*what = NULL;
	if (now)
		now(h);
}

/* Tasks that shrink the cache or fill it may run in between. */
static bool read_cached(struct host *h, u64 block, struct page *page)
{
	struct page *cached = kvp_rcache_get(h->pool->rcache, block);

	if (!cached)
		return false;
	memcpy(page_address(page), page_address(cached), 2048);
	sim_maybe_preempt();
	happen(h, &h->amid_hit);
	memcpy((u8 *)page_address(page) + 2048, (u8 *)page_address(cached) + 2048, 2048);
	kvp_rcache_put(cached);
	return true;
}

/* True if the table names the version that was read. Then it may enter the cache. */
static bool verify(struct host *h, u64 block, struct page *page, u64 entry,
		   const struct read_plan *plan)
{
	struct page *keep = kvp_rcache_page(h->pool->rcache, block);
	struct kvp_candidate *c = plan->may_fill ?
		kvp_admit_begin(h->pool->admission, block, &plan->ssd) : NULL;
	bool good;

	if (c)
		happen(h, &h->before_ssd_fill);
	if (c)
		memcpy(page_address(c->page), page_address(page), KVP_BLOCK_SIZE);
	if (keep)
		memcpy(page_address(keep), page_address(page), KVP_BLOCK_SIZE);
	good = kvp_block_sum(h->pool->seed, block, page_address(page)) == kvp_entry_crc(entry);
	if (c) {
		if (good)
			kvp_admit_add(h->pool->admission, c, kvp_entry_crc(entry));
		else
			kvp_admit_drop(h->pool->admission, c);
	}
	if (!keep)
		return good;
	if (!good) {
		kvp_rcache_unpage(h->pool->rcache, block, keep);
		return false;
	}
	sim_maybe_preempt();
	happen(h, &h->before_fill);
	kvp_rcache_insert(h->pool->rcache, block, keep, &plan->ram);
	return true;
}

static u32 random_ask(void)
{
	return (rng_chance(&sim_rng, 100) ? KVP_ASK_META : 0) |
	       (rng_chance(&sim_rng, 50) ? KVP_ASK_AHEAD : 0);
}

/* As if the block had been one of several of a request. The SSD is asked first. */
static void plan_read(struct host *h, u64 block, struct read_plan *plan)
{
	struct kvp_rfill *fill = &plan->ram;
	u32 before = min_t(u64, block, rng_below(&sim_rng, 8));

	fill->first = block - before;
	fill->count = before + 1 + rng_below(&sim_rng, KVP_RCACHE_STRETCH - before);
	fill->favoured = rng_chance(&sim_rng, 100);
	fill->token = kvp_rcache_token(h->pool->rcache, fill->first, fill->count);
	kvp_scache_alike(h->pool->scache, block, 1, &plan->at);
	sim_maybe_preempt();
	happen(h, &h->amid_look);
	plan->may_fill = h->pool->admission->candidates && !plan->at.block &&
			 kvp_admit_plan(h->pool->admission, fill->first, fill->count, random_ask(),
					&plan->ssd);
}

/* Straight from a leg, without a lock: of the SSD cache, if it is there, else from home. */
static int read_leg(struct host *h, const struct kvp_tpage *leaf, u64 block, struct page *page,
		    struct kvp_on_ssd at, bool *ssd)
{
	struct kvp_pool *pool = h->pool;
	struct kvp_spot spot = kvp_locate(pool, block);
	struct kvp_leg *leg = NULL;
	int error;

	sim_maybe_preempt();
	if (at.block)
		leg = kvp_scache_choose(pool->scache, &at, 1);
	*ssd = leg;
	if (!leg) {
		at.block = kvp_home_block(pool, block);
		leg = kvp_leg_choose(&spot, 1);
	}
	if (!leg && kvp_block_missing(pool, block))
		return -EIO;
	if (!leg)
		return host_read_passing(h, leaf, block, page_address(page));
	error = kvp_io_page(leg, KVP_IO_READ, at.block, page);
	kvp_leg_unchoose(leg);
	if (*ssd && !error && !kvp_scache_intact(pool->scache, &at))
		error = -ESTALE;
	h->ssd_reads += *ssd && !error;
	return error;
}

/*
 * Verified against the table as it is afterwards. *@doubt: the contents of the SSD cache do not
 * verify.
 */
static bool read_home(struct host *h, struct kvp_tpage *leaf, u64 block, struct page *page,
		      struct read_plan *plan, bool *doubt)
{
	struct kvp_pool *pool = h->pool;
	u64 entry = kvp_table_entry(leaf, block);
	bool ssd, good;

	if (kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN) {
		clear_page(page_address(page));
		return true;
	}
	if (kvp_entry_state(entry) != KVP_ENTRY_VALID)
		return false;
	if (plan->at.block && !kvp_cache_current(pool, leaf, block, 1, &plan->at))
		plan->at.block = 0;
	good = !read_leg(h, leaf, block, page, plan->at, &ssd);
	entry = kvp_table_entry(leaf, block);
	if (good && kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
		clear_page(page_address(page));
	else
		good = good && kvp_entry_state(entry) == KVP_ENTRY_VALID &&
		       verify(h, block, page, entry, plan);
	*doubt = !good && ssd;
	return good;
}

enum buffered { BUFFER_LACKS, BUFFER_HAD, BUFFER_HAS_NO_PAGE };

static enum buffered copy_buffered(struct host *h, u64 block, struct page *page)
{
	struct kvp_wbuf *w = h->pool->wbuf;
	struct kvp_version *d = kvp_wbuf_find(w, block);

	if (d) {
		bool here = d->page;

		if (here)
			memcpy(page_address(page), page_address(d->page), KVP_BLOCK_SIZE);
		kvp_wbuf_unlock(w, block);
		return here ? BUFFER_HAD : BUFFER_HAS_NO_PAGE;
	}
	if (!kvp_wbuf_in_hole(w, block))
		return BUFFER_LACKS;
	clear_page(page_address(page));
	return BUFFER_HAD;
}

static bool read_fast(struct host *h, u64 block, struct page *page, bool *doubt)
{
	struct kvp_pool *pool = h->pool;
	struct kvp_tpage *leaf;
	struct read_plan plan;
	bool good;

	if (kvp_wbuf_any(pool->wbuf, block, 1))
		return copy_buffered(h, block, page) == BUFFER_HAD;
	sim_maybe_preempt();
	if (read_cached(h, block, page))
		return true;
	plan_read(h, block, &plan);
	leaf = kvp_table_find(pool->table, block);
	if (!leaf) {
		leaf = kvp_table_load(pool->table, block);
		if (IS_ERR(leaf))
			return false;
	}
	good = read_home(h, leaf, block, page, &plan, doubt);
	kvp_table_put(leaf);
	return good;
}

int host_read_slowly(struct host *h, u64 block, u8 *data)
{
	struct page *page = alloc_page(GFP_KERNEL);
	int ret = kvp_block_read(h->pool, block, page) ? -EIO : 0;

	memcpy(data, page_address(page), KVP_BLOCK_SIZE);
	__free_page(page);
	return ret;
}

/* As a long read of the module does: this block together with neighbours. */
static struct kvp_spilled_read *read_around(struct host *h, u64 block)
{
	u32 before = min_t(u64, block, h->spilled_reads % 3), count = before + 1 + block % 4;
	u64 end;

	count = min_t(u64, count, h->pool->sb->pool_blocks - (block - before));
	return kvp_spilled_read(h->pool->log, block - before, count, &end);
}

/* Every other time. */
static bool read_spilled(struct host *h, u64 block, struct page *page)
{
	struct kvp_spilled_read *r;
	struct page *found;

	if (h->spilled_tries++ % 2)
		return false;
	r = read_around(h, block);
	sim_maybe_preempt();
	found = kvp_spilled_page(r, block);
	if (found)
		memcpy(page_address(page), page_address(found), KVP_BLOCK_SIZE);
	h->spilled_reads += !!found;
	kvp_spilled_free(r);
	return found;
}

/* Of a mixed read: home, whatever the buffer has. */
static bool read_home_alone(struct host *h, u64 block, struct page *page)
{
	struct kvp_spot at = kvp_locate(h->pool, block);
	struct kvp_leg *leg = kvp_leg_choose(&at, 1);
	bool good;

	if (!leg)
		return false;
	good = !kvp_io_page(leg, KVP_IO_READ, kvp_home_block(h->pool, block), page);
	kvp_leg_unchoose(leg);
	return good;
}

/* When all has come: the buffer is asked, then what came from the SSDs, and then the table. */
static bool take_mixed(struct host *h, const struct kvp_tpage *leaf, u64 block, struct page *page,
		       struct kvp_spilled_read *r, bool came)
{
	struct page *found = NULL;
	u64 entry;

	switch (copy_buffered(h, block, page)) {
	case BUFFER_HAD:
		return true;
	case BUFFER_HAS_NO_PAGE:
		found = kvp_spilled_page(r, block);
		if (found)
			memcpy(page_address(page), page_address(found), KVP_BLOCK_SIZE);
		h->beside_reads += !!found;
		return found;
	default:
		break;
	}
	sim_maybe_preempt();
	entry = kvp_table_entry(leaf, block);
	if (came && kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
		clear_page(page_address(page));
	else
		came = came && kvp_entry_state(entry) == KVP_ENTRY_VALID &&
		       kvp_block_sum(h->pool->seed, block, page_address(page)) ==
			       kvp_entry_crc(entry);
	return came;
}

/*
 * As a mixed read of the module does: home and the SSDs are read at the same time. Here one of them
 * answers before the other is asked; which one, changes from read to read.
 */
static bool read_mixed(struct host *h, u64 block, struct page *page)
{
	struct kvp_tpage *leaf = kvp_table_load(h->pool->table, block);
	bool home_first = h->mixed_reads++ % 2, came, good;
	struct kvp_spilled_read *r = NULL;

	if (IS_ERR(leaf))
		return false;
	if (!home_first)
		r = read_around(h, block);
	came = read_home_alone(h, block, page);
	if (home_first)
		r = read_around(h, block);
	sim_maybe_preempt();
	happen(h, &h->amid_mixed);
	good = take_mixed(h, leaf, block, page, r, came);
	kvp_spilled_free(r);
	kvp_table_put(leaf);
	return good;
}

/* While blocks are spilled, every third read; but none that a disk would hold back. */
static bool is_mixed(struct host *h)
{
	return h->amid_mixed ||
	       (kvp_wbuf_nr_spilled(h->pool->wbuf) && !disks_hold_reads() &&
		h->mixed_tries++ % 3 == 2);
}

int host_read(struct host *h, u64 block, u8 *data)
{
	struct page *page = alloc_page(GFP_KERNEL);
	bool doubt = false;
	int ret = 0;

	/* As read.c does. */
	if (!(is_mixed(h) && read_mixed(h, block, page)) &&
	    !read_fast(h, block, page, &doubt) && !read_spilled(h, block, page))
		ret = kvp_block_read(h->pool, block, page) ? -EIO : 0;
	if (doubt && !ret)
		kvp_cache_mistrust(h->pool, block, 1);
	h->mistrusted += doubt;
	memcpy(data, page_address(page), KVP_BLOCK_SIZE);
	__free_page(page);
	return ret;
}

void host_read_check(struct host *h, u64 block)
{
	u32 from = oracle_accepted(h->o, block);
	u8 *data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);
	char why[160];
	int ret = host_read(h, block, data);

	if (ret)
		judge(h, "read", ret);
	else if (!oracle_current(h->o, block, data, from, why))
		sim_fail("read while running: %s", why);
	kfree(data);
}

void host_read_each(struct host *h, u64 first, u32 count)
{
	u64 block;

	for (block = first; block < first + count; block++)
		host_read_check(h, block);
}

void host_write_each(struct host *h, u64 first, u32 count)
{
	u64 block;

	for (block = first; block < first + count; block++) {
		host_write(h, block, 1, false);
		host_flush(h);
	}
}

/* --- the caches ------------------------------------------------------------------------------ */

bool host_cached(struct host *h, u64 block)
{
	struct page *page = kvp_rcache_get(h->pool->rcache, block);

	if (page)
		kvp_rcache_put(page);
	return page;
}

static void check_cached(struct host *h, u64 block, const struct page *page)
{
	struct kvp_tpage *leaf = kvp_table_find(h->pool->table, block);
	u64 entry;

	if (!leaf)
		return;
	entry = kvp_table_entry(leaf, block);
	if (!kvp_wbuf_any(h->pool->wbuf, block, 1) &&
	    (kvp_entry_state(entry) != KVP_ENTRY_VALID || kvp_entry_crc(entry) !=
	     kvp_block_sum(h->pool->seed, block, page_address(page))))
		sim_fail("the RAM cache holds another version of block %llu than the table", block);
	kvp_table_put(leaf);
}

/*
 * The entry of the block that must lie at @at, if its leaf is in memory. ~0: it is not, or a
 * restored block does not count.
 */
static u64 wanted_on_ssd(struct host *h, u64 block, const struct kvp_on_ssd *at)
{
	struct kvp_tpage *leaf = kvp_table_find(h->pool->table, block);
	u64 entry;

	if (!leaf)
		return ~0ull;
	entry = kvp_table_entry(leaf, block);
	kvp_table_put(leaf);
	/* A leaf that was discarded as a whole has no birth. */
	if (kvp_entry_era(entry) >= at->before ||
	    (at->before != ~0u && kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN))
		return ~0ull;
	return kvp_entry_state(entry) == KVP_ENTRY_VALID ? kvp_entry_crc(entry) : ~0ull - 1;
}

/*
 * A block in the index is the version that the table names, on every SSD in use that should have
 * it. A restored block lies there as it was noted, whether or not the table has a newer version by
 * now, and whether or not its leaf is in memory. What a disk holds that lies, or what a test has
 * made rotten, is not looked at: a read that gets it finds a wrong sum, and goes on.
 */
static void check_on_ssd(struct host *h, u64 block, const struct kvp_on_ssd *at, struct page *page)
{
	u64 wanted = wanted_on_ssd(h, block, at);
	struct kvp_pool *pool = h->pool;
	struct kvp_index_entry e;
	u32 i, sum;

	if (!kvp_index_find(&pool->scache->index, block, &e))
		sim_fail("the index of the SSD cache has forgotten block %llu", block);
	for (i = 0; i < pool->scache->v->nr_legs; i++) {
		struct kvp_leg *leg = &pool->scache->v->legs[i];

		if (!kvp_leg_in_sync(leg) || h->lying >> leg->bdev->index & 1 ||
		    at->block == h->rotten ||
		    (kvp_log_striped(pool->scache->v->g) && i != at->leg))
			continue;
		image_read(&disks.img[leg->bdev->index], at->block, page_address(page));
		sum = kvp_block_sum(pool->seed, block, page_address(page));
		if (wanted != ~0ull && wanted != sum)
			sim_fail("the SSD cache holds another version of block %llu than the table", block);
		if (e.old && e.crc != sum)
			sim_fail("the SSD cache holds another version of block %llu than was restored", block);
	}
}

static void check_ssd(struct host *h, struct page *page)
{
	const char *wrong = h->pool->scache->v ? kvp_index_check(&h->pool->scache->index) : NULL;
	struct kvp_on_ssd at;
	u64 block;

	if (wrong)
		sim_fail("the index of the SSD cache: %s", wrong);
	for (block = 0; h->pool->scache->v && block < h->o->blocks; block++) {
		kvp_scache_alike(h->pool->scache, block, 1, &at);
		if (at.block && !kvp_wbuf_any(h->pool->wbuf, block, 1))
			check_on_ssd(h, block, &at, page);
	}
}

void host_cache_check(struct host *h)
{
	struct page *spare = alloc_page(GFP_KERNEL);
	const char *wrong;
	struct page *page;
	u64 block;

	/* A large index may still be growing. */
	if (h->pool->scache->v)
		flush_work(&h->pool->scache->grow_work);
	rcu_read_lock();	/* no other task runs in between */
	check_ssd(h, spare);
	wrong = kvp_rcache_check(h->pool->rcache);
	if (wrong)
		sim_fail("the RAM cache: %s", wrong);
	for (block = 0; block < h->o->blocks; block++) {
		page = kvp_rcache_get(h->pool->rcache, block);
		if (!page)
			continue;
		check_cached(h, block, page);
		kvp_rcache_put(page);
	}
	rcu_read_unlock();
	__free_page(spare);
}
