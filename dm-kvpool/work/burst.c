// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/time64.h>

#include "core/core.h"
#include "core/host.h"
#include "core/log_ops.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "work/burst.h"
#include "work/destage.h"
#include "work/destage_ops.h"

/* us: how long destage keeps its processor while others want it; more as the log fills up */
#define SPELL_LEAST	250u
#define SPELL_MOST	1000u
#define MOST_TIMES	3ull

/* Seconds. The rest ends earlier if much is written meanwhile. */
#define MOST_REST	4u

/*
 * How full log and buffer are, in per cent. At 100 writers wait. On legs that seek, blocks that are
 * only buffered do not count yet: if they are of a stream, they will need no more than a record
 * each. Other legs are fast enough to keep the log emptier.
 */
static u32 full_percent(const struct kvp_pool *pool)
{
	u64 most = kvp_log_limit_empty(pool->log), intents = kvp_log_intents_limit(pool->log);
	u64 used = kvp_destage_legs_seek(pool) ? kvp_log_spent(pool->log, most) :
						 min(most, kvp_log_taken(pool->log, most));
	u64 log = div64_u64(100 * used, max(most, 1ull));
	u64 buffer = div_u64(100ull * kvp_wbuf_nr_logged(pool->wbuf),
			     max(kvp_wbuf_limit(pool->wbuf), 1u));
	/* Beyond this limit streams go through the log. */
	u64 past = div64_u64(100 * min(intents, kvp_log_intents_since(pool->log)),
			     max(intents, 1ull));

	return (u32)min(max3(log, buffer, past), 100ull);
}

/* True if a caller waits for destage, or may wait soon. */
static bool is_awaited(struct kvp_pool *pool)
{
	return kvp_destage_hurries(pool->destage) || kvp_destage_is_awaited(pool->destage) ||
	       kvp_pool_faulted(pool) || kvp_log_short(pool->log) || kvp_wbuf_scarce(pool->wbuf) ||
	       kvp_wbuf_nr_holes(pool->wbuf) || kvp_table_half_dirty(pool->table) ||
	       kvp_throttle_any_waits(pool->throttle);
}

/* The host's share of the time now, in 32nds. */
static u32 others(const struct kvp_pool *pool)
{
	return kvp_yield_others(full_percent(pool), kvp_destage_legs_seek(pool));
}

/*
 * A version of a parity1 takes several times the processor of another one, and about as many times
 * the room in the log.
 */
static u64 spell_most(const struct kvp_pool *pool)
{
	u64 window = kvp_log_window(pool->vdevs.log_vdev->g);

	return SPELL_MOST * clamp(div64_u64(window, max(kvp_log_limit_empty(pool->log), 1ull)),
				  1ull, MOST_TIMES);
}

static u64 spell_ns(const struct kvp_pool *pool)
{
	u32 own = KVP_YIELD_OTHERS - others(pool);

	return (SPELL_LEAST + (spell_most(pool) - SPELL_LEAST) * own / KVP_YIELD_OTHERS) *
	       NSEC_PER_USEC;
}

static bool is_awaited_now(struct kvp_pool *pool)
{
	return is_awaited(pool) || !others(pool);
}

/*
 * True if a rest ends now. During a rest, versions that streams have passed are dropped, since that
 * needs no leg. When enough are dropped for a step of the tail, the rest ends: streams need the
 * space.
 */
static bool rest_ends(void *of)
{
	struct kvp_pool *pool = of;

	if (is_awaited_now(pool))
		return true;
	if (kvp_destage_many_passed(pool)) {
		mutex_lock(&pool->checkpoint_lock);
		kvp_destage_drop_passed(pool);
		mutex_unlock(&pool->checkpoint_lock);
	}
	return kvp_destage_tail_waits(pool);
}

/*
 * Disks that seek take little of the processor. There all requests of a batch are sent at once, so
 * that they can be sorted. Nor does the worker nap while a suspend or an order waits for it.
 */
static void set_spell(struct kvp_burst *b, struct kvp_home *home)
{
	bool none = kvp_destage_legs_seek(b->pool) || kvp_destage_is_awaited(b->pool->destage);
	struct kvp_spell *spell = none ? NULL : &b->spell;

	b->spell.most = none ? U64_MAX : spell_ns(b->pool);
	/* Where entries are long, they hold up writers anyway, and a short slice costs speed. */
	if (!none && kvp_log_ops(&b->pool->vdevs)->quick_data < KVP_ENTRY_MAX_DATA)
		kvp_spell_begin(&b->spell);
	kvp_home_gives_way(home, spell);
	kvp_table_gives_way(b->pool->table, spell);
}

void kvp_burst_init(struct kvp_burst *b, struct kvp_pool *pool)
{
	b->pool = pool;
	b->spell.most = U64_MAX;
	b->spell.napped = kvp_speed_naps(pool);
}

bool kvp_burst_yields(struct kvp_pool *pool, bool busy)
{
	return busy && !is_awaited_now(pool);
}

u64 kvp_burst_rest_for(const struct kvp_pool *pool, u64 ns)
{
	return kvp_yield_rest(ns, others(pool), MOST_REST);
}

u64 kvp_burst_no_rest(const struct kvp_pool *pool, u64 ns)
{
	return 0;
}

void kvp_burst_begin(struct kvp_burst *b, struct kvp_home *home)
{
	struct kvp_pool *pool = b->pool;
	bool busy;

	set_spell(b, home);
	/* Look at the host each time, so that the next look knows what is new. */
	busy = kvp_host_busy(pool, &b->host, KVP_HOST_QUIET_MS);
	b->napped = *b->spell.napped;
	b->brief = kvp_log_ops(&pool->vdevs)->destage->is_brief(pool, busy);
}

void kvp_burst_end(struct kvp_burst *b, u64 ns)
{
	u64 napped = *b->spell.napped - b->napped;

	kvp_table_gives_way(b->pool->table, NULL);
	b->rest = b->brief ? kvp_log_ops(&b->pool->vdevs)->destage->rest(b->pool, ns) : 0;
	/* In a nap the host had the legs, too. */
	b->rest -= min(b->rest, napped);
}

void kvp_burst_rest(struct kvp_burst *b)
{
	if (b->rest && kvp_host_rest(b->pool, &b->host, b->rest, rest_ends, b->pool))
		b->rested++;
	b->rest = 0;
}
