/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The measured rate at which versions go home: no disk tells its own. Status shows it, and it sets
 * the pace of a cache (cache/pacing.h), and of writers that are slowed down (throttle.h).
 */
#ifndef KVP_SPEED_H
#define KVP_SPEED_H

#include "core/core.h"

/**
 * struct kvp_speed - the rate of a pool; changed by destage alone
 * @worked, @work_ns: versions that destage took lately, and the time that it needed
 * @beside, @beside_ns: the same of short turns beside the host: a guess that is low, until there
 *	are others
 * @home, @wall_ns, @ended: the same of all the time, and when that ended (ns); for statistics
 */
struct kvp_speed {
	u64 worked, work_ns;
	u64 beside, beside_ns;
	u64 home, wall_ns, ended;
};

/* What a turn of destage tells of the legs. */
enum kvp_speed_turn {
	KVP_SPEED_FULL,		/* what they can take */
	KVP_SPEED_BESIDE,	/* a guess that is low: the host had its part */
	KVP_SPEED_NOTHING,	/* there was too little to do */
};

/** kvp_speed_init() - nothing is measured yet */
void kvp_speed_init(struct kvp_pool *pool);

/**
 * kvp_speed_note() - a turn of destage is over: it took @versions and @ns nanoseconds
 * @turn: what it tells
 *
 * Context: destage alone.
 */
void kvp_speed_note(struct kvp_pool *pool, u32 versions, u64 ns, enum kvp_speed_turn turn);

/**
 * kvp_speed_full() - versions a second that the data vdevs take; a guess that is high until it is
 *	known
 */
u64 kvp_speed_full(const struct kvp_pool *pool);

/** kvp_speed_drain_ms() - how long it takes to bring home all that waits; for statistics */
u64 kvp_speed_drain_ms(const struct kvp_pool *pool);

/**
 * kvp_speed_shown() - versions a second that went home in the last half minute or so; for
 *	statistics
 */
u64 kvp_speed_shown(const struct kvp_pool *pool);

#endif /* KVP_SPEED_H */
