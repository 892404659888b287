/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads of a parity1 from several legs at once: those that are longer than a chunk, and
 * those of a leg that is out.
 *
 * What such a read wants of a leg lies in pieces of a chunk, with parity in
 * between. On a disk that seeks it is one request for each leg all the same: the
 * parity is read, too, into memory that nobody looks at. Else there is a request
 * for what lies between two chunks of parity. While a leg is out the parity is needed,
 * and comes along (home/stripe_read.h). Data goes into the reader's pages,
 * and is verified there, block by block, when all of it has come (R8).
 */
#ifndef KVP_LONG_READ_H
#define KVP_LONG_READ_H

#include "target/request.h"

/** kvp_long_reads_init() - memory for them; 0 or -ENOMEM */
int kvp_long_reads_init(struct kvp_requests *r);
void kvp_long_reads_exit(struct kvp_requests *r);

/**
 * kvp_long_read() - read what @bio wants from home
 * @leaf: of all its blocks, of a parity1; the reference stays with the caller until @done
 * @done: called once when all of it has come, from any context
 *
 * If it is to be rebuilt what a leg had that is out, k->rebuild is set, and kvp_long_rebuild()
 * comes next; k->lacks is the leg as long as that has not been done, or cannot be. Never
 * waits. Return: false when there is nothing that can be read so, no memory, or not enough
 * room for its segments; then @done is not called.
 */
bool kvp_long_read(struct kvp_requests *r, struct bio *bio, const struct kvp_tpage *leaf,
		   void (*done)(struct kvp_requests *r, struct bio *bio, bool good));

/**
 * kvp_long_rebuild() - make in the reader's pages what did not come; to be verified, as all else
 * @good: all has come that could; otherwise memory is freed, and that is all
 *
 * Clears k->rebuild, and if it was done k->lacks. Return: how many blocks were made. Context:
 * process.
 */
u32 kvp_long_rebuild(struct kvp_requests *r, struct bio *bio, bool good);

#endif /* KVP_LONG_READ_H */
