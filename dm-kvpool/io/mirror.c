// SPDX-License-Identifier: GPL-2.0-only
/* Choosing a leg to read from, and flushing all legs. */
#include "core/core.h"
#include "core/shadow.h"
#include "core/vdev_ops.h"
#include "io/io.h"
#include "io/flight.h"
#include "io/mirror.h"
#include "io/slow.h"

/* flushed at once: the stack has room for so many requests, also with KASAN */
#define FLUSH_LEGS	12u
#define STEP_BLOCKS	256u	/* 1 MiB: piece of a stream that is read from one leg */
/* how many more requests a stream's leg may have than the least busy leg */
#define STREAM_AHEAD	32

/*
 * True if @a is the better leg to read @block from. A leg that answers wins over one that has not
 * for a second, and then one that is not slow over one that is. Then the leg with less in flight
 * wins. Between equals, a disk wins whose head is there already. Otherwise the caller's order
 * decides, which depends on the block's address in steps of 1 MiB. So a long stream goes to all
 * legs, and to each in long pieces. A stream of small requests stays with its leg for such a piece,
 * so that waiting requests can be joined.
 */
static bool better(const struct kvp_leg *a, const struct kvp_leg *b, kvp_lblock_t block)
{
	int x = atomic_read(&a->in_flight), y = atomic_read(&b->in_flight);

	if (READ_ONCE(a->late) != READ_ONCE(b->late))
		return READ_ONCE(b->late);
	if (READ_ONCE(a->slow) != READ_ONCE(b->slow))
		return READ_ONCE(b->slow);
	if (x != y)
		return x < y;
	if (a->rotational && (READ_ONCE(a->next_block) == block) !=
			     (READ_ONCE(b->next_block) == block))
		return READ_ONCE(a->next_block) == block;
	return false;
}

/* How far @block is behind the first home; on a cache, which has no homes, its block on the SSD. */
static u64 distance(const struct kvp_vdev *v, kvp_lblock_t block)
{
	return kvp_lblock_nr(block) - v->g->data_start;
}

/*
 * True if @leg, a disk that seeks, reads the blocks right before @block within the same step, and
 * is not too busy. Legs that do not seek gain more when they share the stream.
 */
static bool is_streaming(const struct kvp_leg *leg, const struct kvp_leg *best, kvp_lblock_t block)
{
	return leg->rotational && READ_ONCE(leg->next_block) == block &&
	       distance(leg->v, block) % STEP_BLOCKS && !READ_ONCE(leg->late) &&
	       !READ_ONCE(leg->slow) &&
	       atomic_read(&leg->in_flight) <= atomic_read(&best->in_flight) + STREAM_AHEAD;
}

struct kvp_leg *kvp_leg_best_copy(const struct kvp_vdev *v, kvp_lblock_t block)
{
	u32 n = v->nr_legs, first = n > 1 ? (u32)(distance(v, block) / STEP_BLOCKS) % n : 0, i;
	struct kvp_leg *best = NULL;
	bool seeks = false;

	for (i = 0; i < n; i++) {
		struct kvp_leg *leg = &v->legs[(first + i) % n];

		if (!kvp_leg_in_sync(leg))
			continue;
		if (READ_ONCE(leg->slow) && kvp_slow_probes(leg) && !READ_ONCE(leg->late))
			return leg;
		seeks |= leg->rotational;
		if (!best || better(leg, best, block))
			best = leg;
	}
	for (i = 0; seeks && n > 1 && i < n; i++)
		if (kvp_leg_in_sync(&v->legs[i]) && is_streaming(&v->legs[i], best, block))
			return &v->legs[i];
	return best;
}

/*
 * The one leg that is read last. A leg that has not answered for a second comes behind one that is
 * slow. Of two that are alike none is passed over, as each is needed to make the blocks of the
 * other.
 */
static struct kvp_leg *last_leg(const struct kvp_vdev *v)
{
	struct kvp_leg *last = NULL;
	bool twice = false;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		struct kvp_leg *leg = &v->legs[i];

		if (!kvp_leg_in_sync(leg))
			return NULL;
		if (!kvp_leg_is_read_last(leg))
			continue;
		if (last && READ_ONCE(last->late) == READ_ONCE(leg->late)) {
			twice = true;
		} else if (!last || READ_ONCE(leg->late)) {
			last = leg;
			twice = false;
		}
	}
	return twice ? NULL : last;
}

struct kvp_leg *kvp_leg_to_pass_over(const struct kvp_vdev *v)
{
	struct kvp_leg *last = last_leg(v);
	u32 busiest = 0, i;
	bool seeks = false;

	/* For a leg that may never answer, the others take all. */
	if (!last || READ_ONCE(last->late))
		return last;
	for (i = 0; i < v->nr_legs; i++) {
		const struct kvp_leg *leg = &v->legs[i];

		if (leg == last)
			continue;
		busiest = max_t(u32, busiest, max(atomic_read(&leg->in_flight), 0));
		seeks |= leg->rotational;
	}
	return kvp_slow_leaves_to_others(max(atomic_read(&last->in_flight), 0), busiest, seeks,
					 kvp_slow_factor(v->pool)) ? last : NULL;
}

/*
 * A read by a user's bio is no flight. So the watch looks at the leg's number of reads in flight,
 * and at the time at which the first of them was sent.
 */
void kvp_leg_choose_this(struct kvp_leg *leg)
{
	/* Set the time first: with an old one the leg would seem to hang. */
	if (!atomic_read(&leg->in_flight))
		WRITE_ONCE(leg->asked, jiffies);
	/*
	 * Ordered: after the time, which pairs with keeps_reads(); and before the look at whether
	 * the watch is armed, which pairs with watch_work().
	 */
	atomic_inc_return(&leg->in_flight);
	kvp_flights_watch(leg->pool);
}

void kvp_leg_unchoose(struct kvp_leg *leg)
{
	if (READ_ONCE(leg->answered) != jiffies)
		WRITE_ONCE(leg->answered, jiffies);
	atomic_dec(&leg->in_flight);
}

static struct kvp_leg *chosen(struct kvp_leg *leg, kvp_lblock_t block, u32 nr)
{
	if (leg) {
		kvp_leg_choose_this(leg);
		WRITE_ONCE(leg->next_block, kvp_lblock_add(block, nr));
	}
	return leg;
}

struct kvp_leg *kvp_leg_choose(const struct kvp_spot *at, u32 nr)
{
	kvp_lblock_t home = kvp_data_place(at->v->g, at->block).block;

	return chosen(at->v->ops->choose(at->v, at->block), home, nr);
}

struct kvp_leg *kvp_leg_choose_copy(const struct kvp_vdev *v, kvp_lblock_t block, u32 nr)
{
	return chosen(kvp_leg_best_copy(v, block), block, nr);
}

struct kvp_leg *kvp_leg_choose_log(const struct kvp_vdev *v, struct kvp_place at, u32 nr)
{
	struct kvp_leg *leg = &v->legs[at.leg];

	if (!v->ops->only_log_leg(v, at))
		return kvp_leg_choose_copy(v, at.block, nr);
	return chosen(kvp_leg_in_sync(leg) ? leg : NULL, at.block, nr);
}

/*
 * Flush the legs from @first to before @end. A device whose flush failed may have lost any write
 * since its last good flush. So the leg is given up (R20), unless the pool needs it.
 */
static int flush_some(struct kvp_pool *pool, u32 first, u32 end)
{
	struct kvp_io ios[FLUSH_LEGS];
	struct kvp_io_group group;
	u32 i, n = 0;

	memset(ios, 0, sizeof(ios));
	kvp_io_group_init(&group);
	for (i = first; i < end; i++) {
		struct kvp_leg *leg = kvp_leg_beside(pool, i);

		if (!leg->v->ops->needs_flush(leg))
			continue;
		ios[n].leg = leg;
		ios[n].op = KVP_IO_FLUSH;
		kvp_io_group_submit(&group, &ios[n++]);
	}
	kvp_io_group_wait(&group);
	for (i = 0; i < n; i++) {
		if (!ios[i].error)
			continue;
		kvp_leg_failed_write(ios[i].leg);
		if (!kvp_leg_flush_failed(ios[i].leg))
			return -EIO;
	}
	return 0;
}

int kvp_legs_flush(struct kvp_pool *pool)
{
	int ret = kvp_legs_usable(pool) ? 0 : -EIO;
	u32 i, legs = kvp_legs_beside(pool);

	for (i = 0; !ret && i < legs; i += FLUSH_LEGS)
		ret = flush_some(pool, i, min(i + FLUSH_LEGS, legs));
	return ret;
}
