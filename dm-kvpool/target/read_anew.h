/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads that a worker goes on with: it loads a leaf, or reads blocks anew. */
#ifndef KVP_READ_ANEW_H
#define KVP_READ_ANEW_H

#include <linux/workqueue.h>

struct bio;
struct kvp_bio;
struct kvp_requests;

/**
 * kvp_read_anew() - read each block again that does not fit, under its lock; step 6 of read.c
 *
 * Goes through a private page, and heals. A lost block ends with an error. If a leg does not answer
 * and failmode=wait, the read waits.
 *
 * kvp_read_anew_work() - the same, for kvp_read_defer()
 *
 * Return: true if the bio has ended without an error. Context: process, may sleep.
 */
bool kvp_read_anew(struct kvp_requests *r, struct bio *bio);
void kvp_read_anew_work(struct work_struct *work);

/** kvp_read_defer() - let a worker go on with @bio, by @how. Any context. */
void kvp_read_defer(struct kvp_requests *r, struct bio *bio, work_func_t how);

/**
 * kvp_read_wait() - from map: hand @bio to a worker, or end it if its submitter does not want to
 * wait
 */
void kvp_read_wait(struct kvp_requests *r, struct bio *bio, work_func_t how);

/** kvp_read_leave_poller() - @bio goes on by a worker, which a poller cannot drive. Any context. */
void kvp_read_leave_poller(struct bio *bio);

/** kvp_read_free_beside() - free the spilled blocks that were read beside home. Any context. */
void kvp_read_free_beside(struct kvp_bio *k);

/** kvp_read_anew_init() - call it before the first bio */
void kvp_read_anew_init(struct kvp_requests *r);

#endif /* KVP_READ_ANEW_H */
