/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes: a start in which several legs hang waits for all of them at once.
 *
 * A start often asks one leg after the other: labels, the log, pages, homes. Each leg that hangs
 * would be found only when it is asked, and would take leg_timeout then. So as soon as one leg has
 * kept a request for a second, all others that have no request get a probe: a read of their first
 * label slot. Nothing is done with what it reads, nor with its error. A leg that keeps its probe
 * for leg_timeout becomes silent like one that keeps any other request (io/flight.h). While a leg
 * is late, legs that have answered are probed again each second, since they may hang by then.
 *
 * Only requests of the start make a leg late for this: a probe that is late causes no others.
 *
 *  - A leg answers its probe, and hangs later: it gets another probe as long as some leg is late;
 *    else it is found when it is asked.
 *  - A leg answers reads of its label, and hangs in other requests: it is found when it is asked.
 *  - A leg that is out, or silent, is not asked by the start, and gets no probe.
 *  - The start ends, or legs change places, while a probe is out: kvp_probes_end() waits until it
 *    is back, or its leg is silent. It was sent a second or two after the request that is late, so
 *    that is how much longer the start takes.
 *  - No memory for a flight: there is no probe this time.
 */
#ifndef KVP_PROBE_H
#define KVP_PROBE_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/completion.h>

#include "format/format.h"
#include "io/io.h"

struct kvp_pool;

/**
 * struct kvp_probes - probes of a pool's legs; all zeros: none are sent
 * @on: they may be sent; by the starter
 * @out: bits of legs whose probe is in flight. Set by the watch, cleared as the probe ends
 * @pending: probes in flight, and one of the starter
 * @ended: the starter waits here
 * @ios: by index of the leg
 * @nowhere: what a probe reads is not copied
 */
struct kvp_probes {
	bool on;
	unsigned long out[BITS_TO_LONGS(KVP_MAX_LEGS)];
	atomic_t pending;
	struct completion ended;
	struct kvp_io ios[KVP_MAX_LEGS];
	struct page *nowhere[1];
};

/**
 * kvp_probes_begin() - the pool starts, and its legs stay in their places until kvp_probes_end()
 *
 * No effect before that, if it is called again.
 */
void kvp_probes_begin(struct kvp_pool *pool);

/**
 * kvp_probes_end() - send no more, and wait for those that are out. Context: process.
 *
 * Then each leg that kept its probe is silent. No effect without kvp_probes_begin().
 */
void kvp_probes_end(struct kvp_pool *pool);

/**
 * kvp_probes_look() - of the watch: probe legs, if need be
 * @late: legs that have kept a request of the start for a second, as bits
 * @busy: legs that have requests, as bits
 *
 * Context: process; waits for no leg.
 */
void kvp_probes_look(struct kvp_pool *pool, u64 late, u64 busy);

#endif /* KVP_PROBE_H */
