/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads of a parity1 from several legs at once: those that are longer than a chunk, and
 * those of a leg that is out.
 *
 * The blocks that such a read needs of a leg lie in chunks, with parity in between. A disk
 * that seeks gets one request all the same, which reads the parity too, into a page that is
 * thrown away. Another disk gets a request for each stretch between two chunks of parity.
 * While a leg is out the parity is needed, and is read along (home/stripe_read.h). Data
 * goes into the reader's pages, and is verified there, block by block, when all of it has
 * come (R8).
 */
#ifndef KVP_LONG_READ_H
#define KVP_LONG_READ_H

#include "target/request.h"

/** kvp_long_reads_init() - memory for them; 0 or -ENOMEM */
int __must_check kvp_long_reads_init(struct kvp_requests *r);
void kvp_long_reads_exit(struct kvp_requests *r);

/**
 * kvp_long_read() - read the blocks of @bio from home
 * @leaf: of all its blocks, of a parity1; the reference stays with the caller until @done
 * @done: called once when all of it has come, from any context
 *
 * If blocks of a leg that is out must be rebuilt, k->rebuild is set, and the caller calls
 * kvp_long_rebuild() next. k->lacks is that leg until its blocks are rebuilt. Never waits.
 * Return: false if no leg can be read this way, there is no memory, or no room for the
 * segments; then @done is not called.
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
