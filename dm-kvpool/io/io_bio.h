/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_IO_BIO_H
#define KVP_IO_BIO_H

struct kvp_pool;

/**
 * kvp_io_bio_init() - allocate a pool's own reserve of bios, before its first I/O; 0 or -ENOMEM
 *
 * Pools do not share a reserve: with a pool as a leg of another, requests that wait for the lower
 * pool would hold the bios that it needs to serve them. Context: process.
 */
int __must_check kvp_io_bio_init(struct kvp_pool *pool);
/**
 * kvp_io_bio_exit() - free the reserve, and the queues of the legs; nothing if there is none
 *
 * No request is in flight, and none comes: the last reference to the pool is gone. Context:
 * process.
 */
void kvp_io_bio_exit(struct kvp_pool *pool);

#endif /* KVP_IO_BIO_H */
