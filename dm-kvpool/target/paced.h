/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes that wait for a moment, so that log and buffer do not get full (home/throttle.h). */
#ifndef KVP_PACED_H
#define KVP_PACED_H

#include <linux/hrtimer.h>
#include <linux/types.h>

#include "format/format.h"

struct bio;
struct kvp_requests;
struct work_struct;

/**
 * kvp_paced_keep() - keep write @bio, if writers are slowed down and it must wait
 *
 * Return: true if it is kept. Then it comes to the end of r->writes in time, or goes back with a
 * noflush suspend. A REQ_NOWAIT write has ended instead. Context: map; does not sleep.
 */
bool kvp_paced_keep(struct kvp_requests *r, struct bio *bio);

/** kvp_paced_init() - call it before the first bio */
void kvp_paced_init(struct kvp_requests *r);

/** kvp_paced_go_on() - look at the writes that are kept. Any context. */
void kvp_paced_go_on(struct kvp_requests *r);

/**
 * kvp_paced_stop() - keep no more writes. Context: process; no write is kept now, or all go back.
 */
void kvp_paced_stop(struct kvp_requests *r);

#endif /* KVP_PACED_H */
