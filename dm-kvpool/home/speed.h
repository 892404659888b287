/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rate at which versions go home. It is measured, since no disk tells its own. Status shows it.
 * It sets the pace of a cache (cache/pacing.h), and that of writers that are slowed down
 * (throttle.h).
 */
#ifndef KVP_SPEED_H
#define KVP_SPEED_H

#include "core/core.h"

/**
 * struct kvp_speed - the rate of a pool; only destage changes it
 * @worked, @work_ns: versions that destage took lately, and the time that it needed for them
 * @recent, @recent_ns: the same, of the last 64 versions or so. When a host turns from streams to
 *	single blocks, legs that seek are a hundred times as slow, and a mean of seconds is too late
 * @taken, @began: versions of the burst that is in progress, and when it began, by
 *	kvp_speed_clock(); 0: none is
 * @napped: ns that destage has napped so far (core/crowd.h)
 * @beside, @beside_ns: the same of short rounds while the host uses the legs. The rate of those is
 *	too low. It is used until there are other rounds
 * @home, @wall_ns, @ended: versions, all the time that passed, and when the last round ended (ns);
 *	for statistics
 */
struct kvp_speed {
	u64 worked, work_ns;
	u64 recent, recent_ns;
	u64 taken, began;
	u64 napped;
	u64 beside, beside_ns;
	u64 home, wall_ns, ended;
};

/* What a round of destage tells of the legs. */
enum kvp_speed_burst {
	KVP_SPEED_FULL,		/* its rate is that which the legs can take */
	KVP_SPEED_BESIDE,	/* its rate is too low: the host used the legs, too */
	KVP_SPEED_NOTHING,	/* nothing: there was too little to do */
};

/** kvp_speed_init() - begin, with nothing measured yet */
void kvp_speed_init(struct kvp_pool *pool);

/**
 * kvp_speed_clock() - ns, by a clock that stands still while destage naps. Any context.
 *
 * Naps are not the time of the legs: they would take more in it.
 */
u64 kvp_speed_clock(const struct kvp_pool *pool);

/** kvp_speed_naps() - where destage counts the ns of its naps. Context: its worker alone. */
u64 *kvp_speed_naps(struct kvp_pool *pool);

/**
 * kvp_speed_begin() - a round of destage has taken @versions. Context: the destage worker alone.
 */
void kvp_speed_begin(struct kvp_pool *pool, u32 versions);

/**
 * kvp_speed_note() - a round of destage is over: it took @versions, in @ns nanoseconds without naps
 * @burst: what it tells
 *
 * Context: the destage worker alone.
 */
void kvp_speed_note(struct kvp_pool *pool, u32 versions, u64 ns, enum kvp_speed_burst burst);

/**
 * kvp_speed_full() - versions a second that the data vdevs can take; a guess that is high until a
 * round has begun
 *
 * It falls at once when a round is slower than those before, and it rises slowly: it sets the pace
 * of writers, which could fill the log before a mean has changed. Any context.
 */
u64 kvp_speed_full(const struct kvp_pool *pool);

/** kvp_speed_drain_ms() - ms that it takes to write all versions home that wait; for statistics */
u64 kvp_speed_drain_ms(const struct kvp_pool *pool);

/**
 * kvp_speed_shown() - versions a second that went home in the last half minute or so; for
 * statistics
 */
u64 kvp_speed_shown(const struct kvp_pool *pool);

#endif /* KVP_SPEED_H */
