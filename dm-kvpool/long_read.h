/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads of a parity1 that are longer than a chunk.
 *
 * What such a read wants of a leg lies in pieces of a chunk, with parity in
 * between. On a disk that seeks it is one request for each leg all the same: the
 * parity is read, too, into memory that nobody looks at. Else there is a request
 * for what lies between two chunks of parity. Data goes into the reader's pages,
 * and is verified there, block by block, when all of it has come (R8).
 */
#ifndef KVP_LONG_READ_H
#define KVP_LONG_READ_H

#include "request.h"

/** kvp_long_reads_init() - memory for them; 0 or -ENOMEM */
int kvp_long_reads_init(struct kvp_requests *r);
void kvp_long_reads_exit(struct kvp_requests *r);

/** kvp_long_read_whole() - may a read be longer than a chunk? Not if a leg of @v is out. */
bool kvp_long_read_whole(const struct kvp_vdev *v);

/**
 * kvp_long_read() - read what @bio wants from home
 * @leaf: of all its blocks; the reference stays with the caller until @done
 * @done: called once when all of it has come, from any context
 *
 * Never waits. Return: false when there is no memory, or not enough room for its
 * segments; then @done is not called.
 */
bool kvp_long_read(struct kvp_requests *r, struct bio *bio, const struct kvp_tpage *leaf,
		   void (*done)(struct kvp_requests *r, struct bio *bio, bool good));

#endif /* KVP_LONG_READ_H */
