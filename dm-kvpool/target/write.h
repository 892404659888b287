/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes, discards and flushes: from a bio to the write buffer. */
#ifndef KVP_WRITE_H
#define KVP_WRITE_H

struct bio;
struct kvp_pool;
struct kvp_requests;

/**
 * kvp_write_map() - serve a write
 *
 * kvp_write_map_discard() - serve a discard or write-zeroes
 *
 * kvp_write_map_flush() - serve a bio with REQ_PREFLUSH, which has no data
 *
 * Return: a DM_MAPIO_* value. Context: map; never waits.
 */
int kvp_write_map(struct kvp_requests *r, struct bio *bio);
int kvp_write_map_discard(struct kvp_requests *r, struct bio *bio);
int kvp_write_map_flush(struct kvp_pool *pool, struct bio *bio);

/** kvp_write_init() - call it before the first bio */
void kvp_write_init(struct kvp_requests *r);

#endif /* KVP_WRITE_H */
