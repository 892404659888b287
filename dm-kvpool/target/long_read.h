/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads of a parity1 from several legs at once: those that are longer than a chunk, and those of a
 * leg that is out, or is read last (kvp_leg_is_read_last()).
 *
 * The blocks that such a read needs of a leg lie in chunks, with parity in between. A disk that
 * seeks gets one request, which reads the parity too, into a page that is thrown away. Another
 * disk gets a request for each stretch between two chunks of parity. While a leg is out, or is
 * passed over, the parity is needed, and is read along (home/stripe_read.h). Data goes into the
 * reader's pages. When all of it has come, it is verified there, block by block (R8).
 */
#ifndef KVP_LONG_READ_H
#define KVP_LONG_READ_H

#include "target/request.h"

/**
 * kvp_long_reads_init() - allocate memory for long reads; 0 or -ENOMEM
 *
 * kvp_long_reads_exit() - free it, also after an error; nothing if @r is zeros. No read is in
 * flight.
 *
 * Context: process, may sleep.
 */
int __must_check kvp_long_reads_init(struct kvp_requests *r);
void kvp_long_reads_exit(struct kvp_requests *r);

/**
 * kvp_long_read() - read the blocks of @bio from home
 * @leaf: of all its blocks, of a parity1; the reference stays with the caller until @done
 * @done: called once when all of it has come, from any context
 *
 * If blocks of a leg must be made from their rows, k->rebuild is set, and the caller calls
 * kvp_long_rebuild() next. k->lacks is that leg until its blocks are made; k->passes: it is in use,
 * and was passed over. Never waits.
 * Return: false if no leg can be read this way, or there is no memory, or no room for the
 * segments. Then @done is not called.
 */
bool kvp_long_read(struct kvp_requests *r, struct bio *bio, const struct kvp_tpage *leaf,
		   void (*done)(struct kvp_requests *r, struct bio *bio, bool good));

/**
 * kvp_long_rebuild() - make the blocks of the leg that was not read in the reader's pages
 * @good: all other blocks have come; otherwise this only frees memory
 *
 * The caller verifies them as it does all others. Clears k->rebuild, and k->lacks if the blocks
 * were made. Return: how many blocks were made. Context: process.
 */
u32 kvp_long_rebuild(struct kvp_requests *r, struct bio *bio, bool good);

#endif /* KVP_LONG_READ_H */
