/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The heartbeat: how two hosts notice that both have the pool. docs/design/heartbeat.md says what
 * it promises, and what it cannot.
 *
 * A round, each `heartbeat` seconds, on all legs that take writes:
 * 1. Note the time. All that follows counts from there.
 * 2. Read the blocks of the heartbeat. If one says that another activation came later, the pool
 *    fails (KVP_FAIL_HOST), and nothing more is written.
 * 3. Write this activation's block, with FUA.
 * 4. The leg has its heartbeat. The leg with the oldest heartbeat sets the time limit of the pool
 *    (pool->write_until). A redundant leg that is about to pass it is given up.
 *
 * No write goes to a leg once the time limit is over: kvp_writes_barred(), which io/flight.c and
 * io/leg_queue.c ask as they send a request. It costs one test while the heartbeat is off.
 *
 * While legs of a suspended pool change there are no rounds. The time limit may then be over, so
 * the first round after that begins another one, from what it reads.
 *
 * Locks: none. Rounds are made by the worker, or by a task that has stopped the worker: start and
 * resume.
 */
#ifndef KVP_HEARTBEAT_H
#define KVP_HEARTBEAT_H

#include <linux/workqueue.h>

#include "core/core.h"
#include "format/heartbeat.h"
#include "io/io.h"

struct kvp_refusal;

/**
 * struct kvp_heartbeat - the heartbeat of a pool; no memory besides, while it was never on
 * @own: what the next block says; own.claim is 0 before the first round
 * @until: of each leg: boot time in ns until which it may be written; 0: it had no round
 * @last: boot time in ns when the last round began that a leg took; for people
 * @took: of the round that is under way: the leg has carried out its last request
 * @wipes: of that round: the leg gets zeros in all other slots
 * @wq: for @work
 * @stopped: no rounds are made; between kvp_heartbeat_stop() and kvp_heartbeat_go()
 * @reads: KVP_BEAT_SLOTS pages for each leg, NULL: none yet
 * @block: the block to write
 * @zeros: a block of zeros
 * @all: the contents of all slots of a leg that gets zeros in the others
 */
struct kvp_heartbeat {
	struct kvp_pool *pool;
	struct kvp_beat own;
	u64 until[KVP_MAX_LEGS], last;
	bool took[KVP_MAX_LEGS], wipes[KVP_MAX_LEGS];
	struct workqueue_struct *wq;
	struct delayed_work work;
	bool stopped;
	struct page *reads[KVP_MAX_LEGS][KVP_BEAT_SLOTS];
	struct page *block, *zeros, *all[KVP_BEAT_SLOTS];
	struct kvp_io ios[KVP_MAX_LEGS];
};

/** kvp_heartbeat_init() - set up @pool->heartbeat; needs no memory */
void kvp_heartbeat_init(struct kvp_pool *pool);

/**
 * kvp_heartbeat_prepare() - get the memory that rounds with @pool's legs need
 *
 * Return: 0 or -ENOMEM. Context: process, no rounds are made that lack memory of their own.
 */
int __must_check kvp_heartbeat_prepare(struct kvp_pool *pool);

/**
 * kvp_heartbeat_begin() - claim the pool, before a start writes anything else; then make rounds
 *
 * No effect if the heartbeat is off, or the pool is read-only. Return: 0, or an error, and
 * @refusal says why. Context: process, waits for I/O.
 */
int __must_check kvp_heartbeat_begin(struct kvp_pool *pool, struct kvp_refusal *refusal);

/**
 * kvp_heartbeat_go() - one round at once, and more from now on, if the heartbeat is on
 *
 * The round reads first, and may begin another time limit. Context: process, waits for I/O. The
 * caller has not changed the legs since kvp_heartbeat_stop(), or has ended that.
 */
void kvp_heartbeat_go(struct kvp_pool *pool);

/** kvp_heartbeat_stop() - no rounds from now on. Context: process, waits for the last one. */
void kvp_heartbeat_stop(struct kvp_pool *pool);

/**
 * kvp_heartbeat_changed() - the tunable has another value, which is durable
 *
 * Context: process. The caller has called kvp_heartbeat_prepare() unless it is 0.
 */
void kvp_heartbeat_changed(struct kvp_pool *pool);

/**
 * struct kvp_heartbeat_figures - how the heartbeat is, for people
 * @age_ms: since the last round began that a leg took; 0: there was none
 * @left_ms: until nothing is written any more, unless another round comes first; 0: it is over
 */
struct kvp_heartbeat_figures {
	u64 age_ms, left_ms;
};

/** kvp_heartbeat_figures() - false: there is no heartbeat. Context: any; not exact. */
bool kvp_heartbeat_figures(struct kvp_pool *pool, struct kvp_heartbeat_figures *f);

/** kvp_heartbeat_exit() - kvp_heartbeat_stop(), and free the memory */
void kvp_heartbeat_exit(struct kvp_pool *pool);

#endif /* KVP_HEARTBEAT_H */
