/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes: a start in which several legs hang waits for all of them at the same time.
 *
 * A start often asks one leg after the other: for labels, the log, pages, homes. Each leg that
 * hangs would be found only when it is asked, and would take leg_timeout then. So as soon as one
 * leg has kept a request for a second, all legs that have no request get a probe: a read of their
 * first label slot. Its data and its error are not used. A leg that keeps its probe for leg_timeout
 * becomes silent, as one that keeps any other request (io/flight.h). While a leg is late, legs that
 * have answered are probed again each second, since they may hang by then.
 *
 * Only requests of the start make a leg late for this purpose: a late probe causes no other probes.
 *
 *  - A leg answers its probe, and hangs later: it gets another probe as long as some leg is late.
 *    Otherwise it is found when it is asked.
 *  - A leg answers reads of its label, and hangs in other requests: it is found when it is asked.
 *  - A leg that is out, or silent, is not asked by the start, and gets no probe.
 *  - The start ends, or legs change places, while a probe is in flight: kvp_probes_end() waits
 *    until it has ended, or its leg is silent. The probe was sent a second or two after the request
 *    that is late, so the start takes that much longer.
 *  - There is no memory for a flight: no probe is sent this time.
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
 * @on: probes may be sent; set by the task that starts the pool
 * @out: bits of legs whose probe is in flight. The watch sets them; they are cleared as the probe
 *	ends
 * @pending: probes in flight, and one of the starting task
 * @ended: the starting task waits here
 * @ios: by index of the leg
 * @nowhere: the pages of a probe; its data is not copied
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
 * kvp_probes_begin() - allow probes: the pool starts
 *
 * Its legs stay in their places until kvp_probes_end(). A second call before that has no effect.
 * Context: process.
 */
void kvp_probes_begin(struct kvp_pool *pool);

/**
 * kvp_probes_end() - send no more probes, and wait for those in flight. Context: process.
 *
 * After that each leg that kept its probe is silent. No effect without kvp_probes_begin().
 */
void kvp_probes_end(struct kvp_pool *pool);

/**
 * kvp_probes_look() - for the watch: probe legs, if any leg is late
 */
void kvp_probes_look(struct kvp_pool *pool, u64 late, u64 busy);

#endif /* KVP_PROBE_H */
