/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a read: what came from a leg or an SSD is compared with the table. */
#ifndef KVP_READ_END_H
#define KVP_READ_END_H

#include <linux/blk_types.h>

struct bio;
struct kvp_bio;
struct kvp_requests;

/** kvp_read_end_io() - a read has come back; a DM_ENDIO_* value. Interrupt context. */
int kvp_read_end_io(struct kvp_requests *r, struct bio *bio, blk_status_t *error);

/**
 * kvp_read_end_home() - of a mixed read: all has come from home, if @good
 *
 * kvp_read_end_long() - a long read has come, if @good
 *
 * Any context.
 */
void kvp_read_end_home(struct kvp_requests *r, struct bio *bio, bool good);
void kvp_read_end_long(struct kvp_requests *r, struct bio *bio, bool good);

/**
 * kvp_read_end_beside() - let a worker read the spilled blocks of a mixed read while home is read
 *
 * Call it before anything is sent. Never waits.
 */
void kvp_read_end_beside(struct kvp_requests *r, struct kvp_bio *k);

#endif /* KVP_READ_END_H */
