// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a pool: start, quiesce, stop.
 */
#include "cache/admission.h"
#include "cache/client.h"
#include "cache/rebuild.h"
#include "cache/reinsert.h"
#include "cache/scache.h"
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/log_mark.h"
#include "core/log_ops.h"
#include "core/refusal.h"
#include "core/stats.h"
#include "core/vdev_ops.h"
#include "format/logplace.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "io/flight.h"
#include "io/slow.h"
#include "log/log.h"
#include "log/move.h"
#include "policy/estimate.h"
#include "pool/add.h"
#include "pool/ahead.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "pool/pool.h"
#include "pool/online.h"
#include "pool/start.h"
#include "pool/tableline.h"
#include "pool/wiring.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "recovery/recover.h"
#include "super/events.h"
#include "super/finds.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "table/ssdcopy.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/direct.h"
#include "work/resilver.h"
#include "work/scrub.h"
#include "work/trim.h"

/* A pool and all its parts. No other file knows them together. */
struct parts {
	struct kvp_pool pool;
	struct kvp_wbuf wbuf;
	struct kvp_rcache rcache;
	struct kvp_scache scache;
	struct kvp_throttle throttle;
	struct kvp_speed speed;
	struct kvp_reinsert reinsert;
	struct kvp_rebuild rebuild;
	struct kvp_admission admission;
	struct kvp_log log;
	struct kvp_table table;
	struct kvp_ssdcopies ssdcopies;
	struct kvp_destage destage;
	struct kvp_scrub scrub;
	struct kvp_resilver resilver;
	struct kvp_returns returns;
	struct kvp_ahead ahead;
	struct kvp_trim trim;
	struct kvp_passdown passdown;
	struct kvp_drain drain;
	struct kvp_events events;
	struct kvp_finds finds;
	struct kvp_flights flights;
	struct kvp_slow slow;
	struct kvp_heartbeat heartbeat;
};

static void assemble(struct parts *parts)
{
	struct kvp_pool *pool = &parts->pool;

	pool->wbuf = &parts->wbuf;
	pool->rcache = &parts->rcache;
	pool->scache = &parts->scache;
	pool->throttle = &parts->throttle;
	pool->speed = &parts->speed;
	pool->reinsert = &parts->reinsert;
	pool->rebuild = &parts->rebuild;
	pool->admission = &parts->admission;
	pool->log = &parts->log;
	pool->table = &parts->table;
	pool->ssdcopies = &parts->ssdcopies;
	pool->destage = &parts->destage;
	pool->scrub = &parts->scrub;
	pool->resilver = &parts->resilver;
	pool->returns = &parts->returns;
	pool->ahead = &parts->ahead;
	pool->trim = &parts->trim;
	pool->passdown = &parts->passdown;
	pool->drain = &parts->drain;
	pool->events = &parts->events;
	pool->finds = &parts->finds;
	pool->flights = &parts->flights;
	pool->slow = &parts->slow;
	pool->heartbeat = &parts->heartbeat;
}

struct kvp_pool *kvp_pool_alloc(void)
{
	struct parts *parts = kvzalloc(sizeof(*parts), GFP_KERNEL);
	struct kvp_pool *pool;

	if (!parts)
		return NULL;
	pool = &parts->pool;
	assemble(parts);
	kvp_wire(pool);
	mutex_init(&pool->set_lock);
	mutex_init(&pool->sb_lock);
	seqcount_mutex_init(&pool->published_seq, &pool->sb_lock);
	mutex_init(&pool->checkpoint_lock);
	spin_lock_init(&pool->members_lock);
	init_waitqueue_head(&pool->stripes_wait);
	init_waitqueue_head(&pool->suspend_wait);
	INIT_WORK(&pool->members_work, kvp_members_work);
	INIT_WORK(&pool->poison_work, kvp_poison_work);
	kvp_range_locks_init(&pool->ranges);
	kvp_drain_init(pool);
	kvp_heartbeat_init(pool);
	INIT_LIST_HEAD(&pool->leaving);
	pool->sb = kvzalloc(sizeof(*pool->sb), GFP_KERNEL);
	pool->published = kvzalloc(sizeof(*pool->published), GFP_KERNEL);
	pool->stats = alloc_percpu(struct kvp_stats);
	if (kvp_flights_init(pool) || !pool->sb || !pool->published || !pool->stats) {
		kvp_pool_free(pool);
		return NULL;
	}
	return pool;
}

void kvp_pool_free(struct kvp_pool *pool)
{
	if (!pool || !kvp_flights_put(pool->flights))
		return;
	if (pool->gone)
		pool->gone(pool);
	kvp_flights_exit(pool);
	free_percpu(pool->stats);
	kvfree(pool->published);
	kvfree(pool->sb);
	kvfree(container_of(pool, struct parts, pool));
}

/* --- start ------------------------------------------------------------------------ */

static void take_leg(struct kvp_pool *pool, struct kvp_leg *leg, u32 index,
		     const struct kvp_start_leg *s)
{
	memset(leg, 0, sizeof(*leg));
	leg->pool = pool;
	leg->index = index;
	leg->bdev = s->bdev;
	leg->size_blocks = s->size_blocks;
	leg->rotational = s->rotational;
	leg->answered = jiffies;
	memcpy(leg->path, s->path, sizeof(leg->path));
}

static void take_legs(struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 i;

	pool->nr_legs = s->nr_legs;
	memset(pool->legs, 0, sizeof(pool->legs));
	for (i = 0; i < s->nr_legs; i++)
		take_leg(pool, &pool->legs[i], i, &s->legs[i]);
	take_leg(pool, &pool->shadow, KVP_SHADOW, &s->shadow);
}

static void take_tunables(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < KVP_TUNABLES; i++) {
		u64 v = pool->sb->tunables[i];

		/* The value comes from a device. If it is out of range, it counts as not set. */
		if (!(pool->sb->tunable_mask & BIT_ULL(i)) || !kvp_tunable_allows(i, v))
			v = kvp_tunables[i].def;
		pool->tunables[i] = v;
	}
}

/* Set how long a leg is waited for until a label tells. */
static void take_leg_timeout(struct kvp_pool *pool, const struct kvp_start *s)
{
	const unsigned int id = KVP_T_LEG_TIMEOUT;
	bool given = s->format && s->tunable_mask & BIT_ULL(id);

	pool->tunables[id] = given ? s->tunables[id] : kvp_tunables[id].def;
}

/*
 * Claim the legs, so that no other holder can open them (R25). An earlier holder may have written
 * after the labels were read, and closed them. So read the labels again.
 */
static int claim_legs(struct kvp_pool *pool, struct kvp_labels *labels, const struct kvp_start *s,
		      struct kvp_refusal *refusal)
{
	int ret = s->format ? 0 : kvp_identify(pool, labels, refusal);

	if (!ret)
		ret = s->claim(pool, refusal);
	return ret ?: kvp_labels_read(labels, pool, s->format, refusal);
}

/* Make superblock, legs and geometry: by format, or from the labels. */
static int find_or_format(struct kvp_pool *pool, const struct kvp_start *s,
			  struct kvp_refusal *refusal)
{
	struct kvp_labels *labels = kvp_labels_alloc();
	int ret;

	if (!labels)
		return kvp_refuse(refusal, -ENOMEM, "free some memory and try again",
				  "out of memory before reading labels");
	ret = kvp_labels_read(labels, pool, s->format, refusal);
	if (!ret && s->claim)
		ret = claim_legs(pool, labels, s, refusal);
	if (s->format)
		kvp_probes_begin(pool);	/* no leg changes its place any more */
	if (!ret)
		ret = s->format ? kvp_format(pool, labels, s, refusal) :
				  kvp_choose(pool, labels, s, s->auto_degraded, refusal);
	kvp_labels_free(labels);
	if (ret)
		return ret;
	kvp_vdevs_init(pool);
	ret = kvp_cache_check(pool, s, refusal);
	if (ret)
		return ret;
	pool->seed = kvp_sum_seed(pool->sb->nonce, 0, pool->sb->incompat);
	if (s->name[0])
		snprintf(pool->sb->name, sizeof(pool->sb->name), "%s", s->name);
	/* Do so even if the host is unknown: the recorded one is no longer right. */
	pool->sb->host = s->host;
	memcpy(pool->sb->host_name, s->host_name, sizeof(s->host_name));
	take_tunables(pool);
	return 0;
}

static void wbuf_has_space(void *pool)
{
	kvp_pool_space(pool);
}

static int alloc_wbuf(struct kvp_pool *pool)
{
	const struct kvp_wbuf_client client = {
		.space = wbuf_has_space, .of = pool, .stats = pool->stats,
	};

	return kvp_wbuf_init(pool->wbuf, &client,
			     pool->tunables[KVP_T_WRITE_BUFFER] >> KVP_BLOCK_SHIFT,
			     pool->vdevs.spill_window);
}

static int alloc_log(struct kvp_pool *pool)
{
	struct kvp_log_given given = {
		.vdevs = &pool->vdevs,
		.wbuf = pool->wbuf,
		.table = pool->table,
		.tunables = pool->tunables,
		.flags = &pool->flags,
		.failure = &pool->failure,
		.losses = &pool->losses,
		.durable_epoch = &pool->durable_epoch,
		.checkpoint_lock = &pool->checkpoint_lock,
		.commit_wq = pool->commit_wq,
		.work_wq = pool->work_wq,
	};

	kvp_wire_log(pool, &given);
	return kvp_log_init(pool->log, &given);
}

static int alloc_table(struct kvp_pool *pool)
{
	struct kvp_table_client client = {
		.vdevs = &pool->vdevs,
		.flags = &pool->flags,
		.checkpoint_lock = &pool->checkpoint_lock,
		.rcache = pool->rcache,
		.copies = pool->ssdcopies,
		.stats = &pool->work_stats,
	};

	kvp_wire_table(pool, &client);
	return kvp_table_init(pool->table, &client,
			      pool->tunables[KVP_T_TABLE_CACHE] >> KVP_BLOCK_SHIFT);
}

static int alloc_parts(struct kvp_pool *pool)
{
	int ret;

	pool->commit_wq = alloc_workqueue("kvpool-commit", WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	pool->work_wq = alloc_workqueue("kvpool-work", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	/* No rescuer: a scrub takes hours, and memory reclaim does not wait for it. */
	pool->scrub_wq = alloc_workqueue("kvpool-scrub", WQ_UNBOUND, 0);
	if (!pool->commit_wq || !pool->work_wq || !pool->scrub_wq)
		return -ENOMEM;
	kvp_throttle_init(pool);
	kvp_speed_init(pool);
	kvp_ssdcopy_init(pool->ssdcopies, &pool->flags, &pool->work_stats);
	ret = kvp_flights_reserve(pool);
	if (!ret)
		ret = kvp_sb_buffers_alloc(pool);
	if (!ret)
		ret = alloc_wbuf(pool);
	if (!ret)
		ret = kvp_rcache_init(pool->rcache, pool->stats);
	if (!ret)
		ret = alloc_log(pool);
	if (!ret)
		ret = kvp_direct_init(pool);
	if (!ret)
		ret = alloc_table(pool);
	if (!ret)
		ret = kvp_destage_init(pool);
	return ret;
}

static void free_parts(struct kvp_pool *pool)
{
	kvp_heartbeat_exit(pool);
	kvp_rebuild_exit(pool->rebuild);
	kvp_admit_exit(pool->admission);
	kvp_scache_exit(pool->scache);
	kvp_ssdcopy_exit(pool->ssdcopies);
	if (pool->scrub_wq)
		destroy_workqueue(pool->scrub_wq);
	pool->scrub_wq = NULL;
	kvp_ahead_exit(pool);
	kvp_finds_stop(pool);
	if (pool->work_wq) {
		/* The stop itself may have queued work, for the loss of a leg or an event. */
		flush_workqueue(pool->work_wq);
		destroy_workqueue(pool->work_wq);
	}
	if (pool->commit_wq)
		destroy_workqueue(pool->commit_wq);
	pool->work_wq = NULL;
	pool->commit_wq = NULL;
	kvp_flights_stop(pool);
	kvp_destage_exit(pool);
	kvp_table_exit(pool->table);
	kvp_direct_exit(pool);
	kvp_log_exit(pool->log);
	kvp_rcache_exit(pool->rcache);
	kvp_wbuf_exit(pool->wbuf);
	kvp_sb_buffers_free(pool);
	kvp_events_exit(pool);
}

/* How many leaves, of all vdevs, may have written blocks. */
static u64 leaves_written(const struct kvp_pool *pool)
{
	struct kvp_table_figures t;
	u64 leaves = 0;
	u32 i;

	for (i = 0; i < pool->vdevs.nr; i++)
		leaves += kvp_pages_at(pool->vdevs.v[i].g, 0);
	kvp_table_figures(pool->table, &t);
	return min(leaves, t.written + t.poisoned + (u64)t.uncounted * KVP_PTRS_PER_PAGE);
}

static bool any_rotates(const struct kvp_vdev *v)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (v->legs[i].rotational)
			return true;
	return false;
}

u64 kvp_pool_recovery_ms(struct kvp_pool *pool)
{
	struct kvp_recovery_work work = {
		.window = kvp_log_window(pool->vdevs.log_vdev->g),
		.intents = kvp_log_intents_limit(pool->log),
		.leaves = leaves_written(pool),
		.row_legs = pool->vdevs.widest_row,
		.stays = kvp_log_may_stay(pool->log) &&
			 pool->sb->generation_count < KVP_MAX_GENERATIONS,
		.by_headers = kvp_log_by_headers(pool->sb),
		.read_us = kvp_log_ops(&pool->vdevs)->read_us,
	};
	u32 i;

	work.log_rotates = any_rotates(pool->vdevs.log_vdev);
	for (i = 0; i < pool->vdevs.nr_with_data; i++)
		work.home_rotates |= any_rotates(pool->vdevs.with_data[i]);
	return kvp_recovery_worst_ms(&work);
}

/* Write a new pool's first superblock. The recovery writes the later ones. */
static int write_first_superblock(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret ? kvp_refuse(refusal, ret, "replace the device that failed",
				"no leg took the first superblock") : 0;
}

/* R16, R29: tell the administrator which legs are stale by their labels, and why. */
static void tell_stale(struct kvp_pool *pool)
{
	char name[KVP_LEG_WORDS];
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		if (pool->legs[i].lag)
			kvp_event(pool, "leg_outdated leg=%u behind=%llu%s", i,
				  (unsigned long long)pool->legs[i].lag,
				  kvp_leg_words(&pool->legs[i], name));
		if (pool->legs[i].passed)
			kvp_event(pool, "leg_passed_by leg=%u%s", i,
				  kvp_leg_words(&pool->legs[i], name));
	}
}

static u32 count_silent(const struct kvp_pool *pool)
{
	u32 i, n = 0;

	for (i = 0; i < pool->nr_legs; i++)
		n += READ_ONCE(pool->legs[i].silent);
	return n;
}

/* Name the legs that are silent, as far as the text has room. */
static void silent_words(const struct kvp_pool *pool, char *buf, size_t size)
{
	u32 i, named = 0, n = count_silent(pool);
	size_t len = 0;

	for (i = 0; i < pool->nr_legs && len + KVP_PATH_LEN + 24 < size; i++)
		if (READ_ONCE(pool->legs[i].silent))
			len += scnprintf(buf + len, size - len, "%s%s", named++ ? ", " : "",
					 pool->legs[i].path);
	scnprintf(buf + len, size - len, n > named ? " and %u more do not answer" :
		  n > 1 ? " do not answer" : " does not answer", n - named);
}

/* Refuse the start since some leg is silent. @left: a create has left labels. */
static int refuse_silent(const struct kvp_pool *pool, int error, bool format, bool left,
			 struct kvp_refusal *refusal)
{
	char words[sizeof(refusal->why) - 32];

	silent_words(pool, words, sizeof(words));
	if (format)
		return kvp_refuse(refusal, error,
				  left ? "use a device that answers; labelclear those that have a label now" :
					 "use a device that answers", "%s", words);
	return kvp_refuse(refusal, error,
		"see why, and start again; or give '-' in place of a device to start without it",
		"%s; nothing is lost", words);
}

/* Give up a leg in sync that did not answer, unless the pool needs it. */
static void leave_leg(struct kvp_leg *leg)
{
	if (!kvp_pool_readonly(leg->pool)) {
		kvp_leg_give_up(leg, "does not answer");
	} else if (kvp_vdev_usable(leg->v) > kvp_vdev_needed(leg->v)) {
		/* A read-only pool writes nothing, so nothing is recorded. */
		WRITE_ONCE(leg->left_at, jiffies | 1);
		WRITE_ONCE(leg->state, KVP_LEG_STALE);
	}
}

/* Record the losses before requests are answered (R16). */
static int record_silent(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return 0;
	mutex_lock(&pool->sb_lock);
	ret = kvp_sb_commit(pool);
	mutex_unlock(&pool->sb_lock);
	return ret ? kvp_refuse(refusal, ret, "see why, and start again",
				"no leg took the superblock; nothing is lost") : 0;
}

/* Give up the legs in sync that did not answer. Returns how many, or an error. */
static int leave_those(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	int left = 0;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		if (!leg->silent || !kvp_leg_in_sync(leg))
			continue;
		leave_leg(leg);
		if (kvp_leg_in_sync(leg))
			return refuse_silent(pool, -EIO, false, false, refusal);
		left++;
	}
	return left;
}

/*
 * The start has succeeded. A leg that did not answer may still have writes, which come late. So it
 * must be recorded out, or the start is refused. Another leg may hang in the superblock that
 * records that: repeat until it is written. A new pool needs all of its legs, or it is not made.
 */
static int leave_silent(struct kvp_pool *pool, const struct kvp_start *s,
			struct kvp_refusal *refusal)
{
	int left, ret = 0;
	u32 i;

	kvp_probes_end(pool);
	while (!ret) {
		/*
		 * From here on no leg becomes silent: a leg that hangs is given up as in a running
		 * pool.
		 */
		clear_bit(KVP_POOL_STARTING, &pool->flags);
		kvp_flights_wait_watch(pool);
		if (s->format && count_silent(pool))
			left = refuse_silent(pool, -EIO, true, false, refusal);
		else
			left = leave_those(pool, refusal);
		if (!left)
			break;
		set_bit(KVP_POOL_STARTING, &pool->flags);
		ret = left < 0 ? left : record_silent(pool, refusal);
	}
	for (i = 0; !ret && i < pool->nr_legs; i++)
		WRITE_ONCE(pool->legs[i].silent, false);
	return ret;
}

static int start_serving(struct kvp_pool *pool, const struct kvp_start *s,
			 struct kvp_refusal *refusal)
{
	struct kvp_log_mark head;
	int ret = 0;

	kvp_events_load(pool);
	tell_stale(pool);
	kvp_scrub_init(pool);
	kvp_resilver_init(pool);
	kvp_returns_init(pool);
	kvp_ahead_init(pool);
	kvp_trim_init(pool);
	if (s->format)
		ret = write_first_superblock(pool, refusal);
	if (!ret)
		ret = kvp_heartbeat_begin(pool, refusal);
	if (!ret)
		ret = kvp_recover(pool, &head, refusal);
	if (!ret)
		ret = leave_silent(pool, s, refusal);
	if (ret)
		return ret;
	kvp_log_start(pool->log, pool->sb->log_nonce, &head);
	kvp_cache_begin(pool);
	/*
	 * Not earlier: the recovery changes entries, and does not need the cache. The pool runs
	 * also without this cache.
	 */
	if (kvp_rcache_resize(pool->rcache, pool->tunables[KVP_T_RAM_CACHE] >> KVP_BLOCK_SHIFT))
		kvp_event(pool, "ram_cache_off why=no_memory");
	mutex_lock(&pool->sb_lock);
	kvp_sb_publish(pool);
	mutex_unlock(&pool->sb_lock);
	set_bit(KVP_POOL_RUNNING, &pool->flags);
	if (!kvp_pool_readonly(pool)) {
		kvp_events_kick(pool);
		if (pool->recovery.kept)
			kvp_destage_kick(pool, false);
	}
	kvp_scrub_unquiesce(pool);
	kvp_resilver_unquiesce(pool);
	kvp_returns_unquiesce(pool);
	kvp_trim_unquiesce(pool);
	kvp_ahead_unquiesce(pool);
	return 0;
}

/* If legs did not answer, that is the better reason for the refusal. All of them are named. */
static void name_silent(struct kvp_pool *pool, const struct kvp_start *s, int error, bool left,
			struct kvp_refusal *refusal)
{
	u32 i, named = 0, n = count_silent(pool);

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].silent)
			named += !!strstr(refusal->why, pool->legs[i].path);
	if (n && (s->format || named < n))
		(void)refuse_silent(pool, error, s->format, left, refusal);
}

/*
 * A create was refused after some leg may have got its label: make all legs that answer blank
 * again. Before the first superblock the areas of the labels were zeros. A late write to a leg can
 * only be a label that no other leg has. If the power goes during this, some legs have a label, as
 * if it had gone earlier.
 *
 * Returns true if a leg that answers may have kept its label.
 */
static bool unmake(struct kvp_pool *pool)
{
	bool left = false;
	u32 i;

	kvp_heartbeat_stop(pool);
	/* A worker may be about to record a loss, and write labels. */
	flush_workqueue(pool->work_wq);
	for (i = 0; i < pool->nr_legs; i++)
		if (!READ_ONCE(pool->legs[i].silent))
			left |= !kvp_label_wipe(pool, &pool->legs[i]);
	return left;
}

int kvp_pool_start(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *refusal)
{
	bool left = false;
	int ret;

	memset(refusal, 0, sizeof(*refusal));
	snprintf(refusal->what, sizeof(refusal->what), "pool %s", s->name[0] ? s->name : "start");
	pool->flags = BIT(KVP_POOL_STARTING) | (s->readonly ? BIT(KVP_POOL_READONLY) : 0);
	pool->owner = s->owner;
	take_legs(pool, s);
	take_leg_timeout(pool, s);
	kvp_finds_init(pool);
	ret = kvp_events_init(pool);
	if (!ret)
		ret = kvp_flights_reserve(pool);
	if (!ret)
		ret = find_or_format(pool, s, refusal);
	if (!ret)
		kvp_probes_begin(pool);
	if (!ret)
		ret = alloc_parts(pool);
	if (!ret) {
		ret = start_serving(pool, s, refusal);
		if (ret && s->format)
			left = unmake(pool);
	}
	if (!ret)
		return 0;
	if (!refusal->why[0])
		kvp_refuse(refusal, ret, "free some memory and try again", "out of memory");
	kvp_probes_end(pool);
	name_silent(pool, s, ret, left, refusal);
	free_parts(pool);
	clear_bit(KVP_POOL_STARTING, &pool->flags);
	return ret;
}

/* --- suspend and stop ------------------------------------------------------------------ */

/* Mark the label as clean: the log is empty, and the next start need not read it. */
static void mark_clean(struct kvp_pool *pool)
{
	if (kvp_pool_faulted(pool) || kvp_members_settle(pool) || !kvp_log_idle(pool->log))
		return;
	mutex_lock(&pool->sb_lock);
	pool->sb->scrub = *kvp_scrub_progress(pool);
	pool->sb->flags |= KVP_SB_CLEAN;
	if (kvp_sb_commit(pool))
		pool->sb->flags &= ~KVP_SB_CLEAN;
	mutex_unlock(&pool->sb_lock);
}

#define LOOK_MS	20	/* between two looks at work that is to end before a suspend */

u32 kvp_pool_suspending(struct kvp_pool *pool)
{
	u32 suspend = pool->suspend + 1;

	WRITE_ONCE(pool->suspend, suspend);
	set_bit(KVP_POOL_SUSPENDING, &pool->flags);
	kvp_drain_stop(pool);
	kvp_destage_look(pool->destage);
	kvp_scrub_end_soon(pool);
	kvp_returns_end_soon(pool);
	kvp_resilver_end_soon(pool);
	kvp_trim_end_soon(pool);
	kvp_ahead_end_soon(pool);
	return suspend;
}

/*
 * If the suspend is interrupted, all of this work goes on, perhaps for hours. So do not wait for
 * the work itself, but look at it from time to time. kvp_pool_quiesce() makes sure that it has
 * ended.
 */
bool kvp_pool_wait_suspending(struct kvp_pool *pool, u32 suspend)
{
	static bool (*const works[])(struct kvp_pool *pool) = {
		kvp_scrub_works, kvp_returns_work, kvp_resilver_works, kvp_trim_works,
		kvp_ahead_works, kvp_drain_works,
	};
	u32 i;

	/* Idle: a leg may hang, and the kernel would report the task as hung after two minutes. */
	for (i = 0; i < ARRAY_SIZE(works); i++)
		while (kvp_is_suspending(pool, suspend) && works[i](pool))
			wait_event_idle_timeout(pool->suspend_wait,
						!kvp_is_suspending(pool, suspend),
						msecs_to_jiffies(LOOK_MS));
	return kvp_is_suspending(pool, suspend);
}

void kvp_pool_not_suspending(struct kvp_pool *pool)
{
	clear_bit(KVP_POOL_SUSPENDING, &pool->flags);
	wake_up_all(&pool->suspend_wait);
	kvp_destage_look(pool->destage);
	kvp_drain_unquiesce(pool);
	kvp_scrub_unquiesce(pool);
	kvp_resilver_unquiesce(pool);
	kvp_returns_unquiesce(pool);
	kvp_trim_unquiesce(pool);
	kvp_ahead_unquiesce(pool);
}

/*
 * False if the log can be retained, and all is durable in it, with intents closed. The log may have
 * to move meanwhile, so ask twice.
 */
static bool must_go_home(struct kvp_pool *pool)
{
	struct kvp_log *log = pool->log;

	return !kvp_log_may_stay(log) || kvp_commit_sync(log) || !kvp_log_may_stay(log);
}

int kvp_pool_write_back(struct kvp_pool *pool, u32 suspend, bool haste)
{
	if (kvp_pool_readonly(pool) || kvp_pool_faulted(pool))
		return 0;
	/* kvp_pool_halt() or kvp_pool_quiesce() follows, and tries again if this fails. */
	if (haste)
		return kvp_commit_sync(pool->log);
	return must_go_home(pool) ? kvp_destage_beside(pool, suspend) : 0;
}

void kvp_pool_hasten(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->suspend, pool->suspend + 1);
	wake_up_all(&pool->suspend_wait);
	kvp_destage_look(pool->destage);
}

/* Let all work end but that of log and destage. Returns false if there is no other. */
static bool end_works(struct kvp_pool *pool)
{
	kvp_scrub_quiesce(pool);
	kvp_returns_quiesce(pool);
	kvp_resilver_quiesce(pool);
	kvp_trim_quiesce(pool);
	kvp_ahead_quiesce(pool);
	kvp_drain_quiesce(pool);
	set_bit(KVP_POOL_QUIESCED, &pool->flags);
	clear_bit(KVP_POOL_SUSPENDING, &pool->flags);
	/* Later runs see the bit, and leave legs alone that may change their places. */
	kvp_flights_wait_watch(pool);
	if (kvp_pool_readonly(pool))
		return false;
	kvp_rebuild_stop(pool->rebuild);
	kvp_admit_stop(pool->admission);
	return true;
}

/*
 * Destage comes first: a round may log parity, and the stop of the log waits for its lock. Work of
 * the log may have been about to kick destage: a kick sets timers, and these end when that work has
 * ended.
 */
static void stop_log(struct kvp_pool *pool)
{
	kvp_destage_stop(pool);
	kvp_log_stop(pool->log);
	kvp_destage_stop(pool);
	flush_workqueue(pool->work_wq);
}

/* The last writes of a pool whose log is stopped. */
static void end_writes(struct kvp_pool *pool)
{
	kvp_cache_write_rest(pool);
	mark_clean(pool);
	kvp_ssdcopy_drain(pool->ssdcopies);
	kvp_finds_stop(pool);
	kvp_events_flush(pool);
}

void kvp_pool_quiesce(struct kvp_pool *pool)
{
	if (!end_works(pool))
		return;
	/*
	 * What cannot be written home stays in the log. Then mark_clean() does not call the pool
	 * clean.
	 */
	if (must_go_home(pool))
		kvp_destage_all(pool);
	stop_log(pool);
	/* If this fails, the older tail is durable, and the next start reads more of the log. */
	if (kvp_log_may_stay(pool->log))
		kvp_destage_last_tail(pool);
	end_writes(pool);
}

void kvp_pool_halt(struct kvp_pool *pool)
{
	if (!end_works(pool))
		return;
	/* If this fails, nothing could be finished: the log has failed. */
	if (!kvp_commit_sync(pool->log))
		set_bit(KVP_POOL_HALTED, &pool->flags);
	stop_log(pool);
	end_writes(pool);
}

void kvp_pool_finish(struct kvp_pool *pool)
{
	if (!test_bit(KVP_POOL_HALTED, &pool->flags) || kvp_pool_faulted(pool))
		return;
	if (!kvp_log_may_stay(pool->log)) {
		kvp_pool_empty(pool);
		return;
	}
	clear_bit(KVP_POOL_HALTED, &pool->flags);
	kvp_destage_last_tail(pool);
	end_writes(pool);
}

void kvp_pool_empty(struct kvp_pool *pool)
{
	clear_bit(KVP_POOL_HALTED, &pool->flags);
	if (pool->sb->flags & KVP_SB_CLEAN)
		return;
	kvp_destage_start(pool);
	kvp_log_unstop(pool->log);
	set_bit(KVP_POOL_EMPTYING, &pool->flags);
	/* What cannot be written home stays in the log, and mark_clean() finds that. */
	kvp_destage_all(pool);
	stop_log(pool);
	clear_bit(KVP_POOL_EMPTYING, &pool->flags);
	mark_clean(pool);
	kvp_ssdcopy_drain(pool->ssdcopies);
}

void kvp_pool_unquiesce(struct kvp_pool *pool)
{
	clear_bit(KVP_POOL_HALTED, &pool->flags);
	clear_bit(KVP_POOL_QUIESCED, &pool->flags);
	kvp_heartbeat_go(pool);
	if (!kvp_pool_readonly(pool)) {
		/* This becomes durable before anything is appended again. */
		mutex_lock(&pool->sb_lock);
		if (pool->sb->flags & KVP_SB_CLEAN) {
			pool->sb->flags &= ~KVP_SB_CLEAN;
			kvp_sb_note(pool);
		}
		mutex_unlock(&pool->sb_lock);
		kvp_destage_start(pool);
		kvp_log_unstop(pool->log);
		kvp_admit_unstop(pool->admission);
		kvp_rebuild_unstop(pool->rebuild);
		kvp_destage_kick(pool, false);
	}
	kvp_drain_unquiesce(pool);
	kvp_scrub_unquiesce(pool);
	kvp_resilver_unquiesce(pool);
	kvp_returns_unquiesce(pool);
	kvp_trim_unquiesce(pool);
	kvp_ahead_unquiesce(pool);
}

void kvp_pool_stop(struct kvp_pool *pool)
{
	clear_bit(KVP_POOL_RUNNING, &pool->flags);
	pool->notify = NULL;
	pool->space = NULL;
	free_parts(pool);
}

/* --- settings ---------------------------------------------------------------------------- */

static void apply_tunable(struct kvp_pool *pool, unsigned int id, u64 value)
{
	WRITE_ONCE(pool->tunables[id], value);
	if (id == KVP_T_FAILMODE && kvp_pool_faulted(pool)) {
		kvp_flush_kick(pool->log);
		kvp_pool_space(pool);
	}
	if (id == KVP_T_DESTAGE_IDLE_MS)
		kvp_destage_kick(pool, true);	/* the running timer was set by the old value */
	if (id == KVP_T_HEARTBEAT)
		kvp_heartbeat_changed(pool);
	if (id == KVP_T_WRITE_BUFFER)
		kvp_wbuf_set_limit(pool->wbuf, value >> KVP_BLOCK_SHIFT);
	if (id == KVP_T_RENEW_MARK) {
		kvp_log_limit_buffered(pool->log);
		kvp_pool_space(pool);
		kvp_destage_kick(pool, false);
	}
	if (id == KVP_T_TABLE_CACHE) {
		kvp_table_set_budget(pool->table, value >> KVP_BLOCK_SHIFT);
		kvp_table_shrink(pool->table, false);
	}
}

/* Caller holds set_lock. */
static int set_tunable(struct kvp_pool *pool, unsigned int id, u64 value)
{
	struct kvp_sb *sb = pool->sb;
	u64 old_mask, old;
	int ret = 0;

	/* Resize first: only this needs memory. If the commit fails then, no harm is done. */
	if (id == KVP_T_RAM_CACHE)
		ret = kvp_rcache_resize(pool->rcache, value >> KVP_BLOCK_SHIFT);
	if (id == KVP_T_HEARTBEAT && value)
		ret = kvp_heartbeat_prepare(pool);
	if (ret)
		return ret;
	mutex_lock(&pool->sb_lock);
	old_mask = sb->tunable_mask;
	old = sb->tunables[id];
	sb->tunable_mask |= BIT_ULL(id);
	sb->tunables[id] = value;
	ret = kvp_sb_commit(pool);
	if (ret) {
		sb->tunable_mask = old_mask;
		sb->tunables[id] = old;
	}
	mutex_unlock(&pool->sb_lock);
	/* If no leg is left, setting failmode must still end the waits. */
	if (!ret || id == KVP_T_FAILMODE)
		apply_tunable(pool, id, value);
	return ret;
}

int kvp_pool_set(struct kvp_pool *pool, unsigned int id, u64 value)
{
	int ret;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	/* Of two orders, the one whose value is durable must also be the one that is applied. */
	mutex_lock(&pool->set_lock);
	ret = set_tunable(pool, id, value);
	mutex_unlock(&pool->set_lock);
	return ret;
}

int kvp_pool_set_comment(struct kvp_pool *pool, const char *text)
{
	char old[KVP_COMMENT_LEN + 1];
	int ret;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	if (strlen(text) > KVP_COMMENT_LEN)
		return -ERANGE;
	if (!kvp_text_valid(text))
		return -EINVAL;
	mutex_lock(&pool->sb_lock);
	memcpy(old, pool->sb->comment, sizeof(old));
	snprintf(pool->sb->comment, sizeof(pool->sb->comment), "%s", text);
	ret = kvp_sb_commit(pool);
	if (ret)
		memcpy(pool->sb->comment, old, sizeof(old));
	mutex_unlock(&pool->sb_lock);
	return ret;
}

int kvp_pool_rename(struct kvp_pool *pool, const char *name)
{
	struct kvp_sb *sb = pool->sb;
	char old[KVP_NAME_LEN + 1];
	int ret;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	if (!kvp_name_valid(name))
		return -EINVAL;
	mutex_lock(&pool->sb_lock);
	memcpy(old, sb->name, sizeof(old));
	/* Readers without the lock may copy it meanwhile: its last byte is always 0. */
	snprintf(sb->name, sizeof(sb->name), "%s", name);
	ret = kvp_sb_commit(pool);
	if (ret)
		memcpy(sb->name, old, sizeof(old));
	mutex_unlock(&pool->sb_lock);
	if (!ret)
		kvp_event(pool, "renamed old=%s name=%s", old, name);
	return ret;
}

int kvp_pool_mark(struct kvp_pool *pool, u32 set, u32 clear)
{
	u32 old;
	int ret;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	mutex_lock(&pool->sb_lock);
	old = pool->sb->flags;
	pool->sb->flags = (old & ~clear) | set;
	ret = kvp_sb_commit(pool);
	if (ret)
		pool->sb->flags = old;
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static void zero_counters(struct kvp_leg *leg)
{
	atomic64_set(&leg->err_read, 0);
	atomic64_set(&leg->err_write, 0);
	atomic64_set(&leg->err_checksum, 0);
	atomic64_set(&leg->healed, 0);
}

/* Let a faulted pool go on if it can. A commit finds that out. */
static void go_on(struct kvp_pool *pool)
{
	/* If only the log had failed, the first entry that counts raises the event instead. */
	bool stood = kvp_pool_faulted(pool) && !kvp_log_failed(pool->log);
	int ret;

	mutex_lock(&pool->sb_lock);
	ret = kvp_unfault(pool, false);
	mutex_unlock(&pool->sb_lock);
	if (ret)
		return;
	kvp_post_kick(pool->log);
	kvp_direct_kick(pool->log);
	kvp_flush_kick(pool->log);
	kvp_destage_kick(pool, true);
	kvp_log_move_kick(pool->log);
	if (!kvp_commit_sync(pool->log) && stood && !kvp_pool_faulted(pool))
		kvp_event(pool, "resumed");
}

void kvp_pool_clear(struct kvp_pool *pool, int only)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (only < 0 || (u32)only == i)
			zero_counters(&pool->legs[i]);
	if (kvp_pool_readonly(pool))
		return;
	/* A failed flush on the last leg cannot be undone. A restart redoes the log. */
	if (kvp_pool_failure(pool) == KVP_NEEDS_RESTART)
		return;
	/* Requests keep waiting until this has ended: a read that uses the old legs would fail. */
	kvp_fail_clearing(&pool->failure, true);
	go_on(pool);
	kvp_fail_clearing(&pool->failure, false);
	kvp_pool_space(pool);
}
