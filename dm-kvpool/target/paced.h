/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes that are kept for a moment, so that an SSD cache does not get full (cache/pacing.h). */
#ifndef KVP_PACED_H
#define KVP_PACED_H

#include <linux/types.h>

struct bio;
struct kvp_requests;
struct work_struct;

/**
 * kvp_paced_keep() - keep @bio, a write, if writers are slowed down and it is not its turn
 *
 * Return: is it kept? Then it comes to the end of r->writes in time, or goes back with a noflush
 * suspend. A REQ_NOWAIT write has ended instead. Context: map; does not sleep.
 */
bool kvp_paced_keep(struct kvp_requests *r, struct bio *bio);

/** kvp_paced_work() - of r->pace_work */
void kvp_paced_work(struct work_struct *work);

#endif /* KVP_PACED_H */
