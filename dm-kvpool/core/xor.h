/* SPDX-License-Identifier: GPL-2.0-only */
/* XOR of blocks, for parity. */
#ifndef KVP_XOR_H
#define KVP_XOR_H

#include <linux/types.h>

struct page;

/** kvp_xor() - XOR @source into @sum. Context: process. */
void kvp_xor(struct page *sum, struct page *source);

/**
 * kvp_xor_sum() - make @sum the XOR of @nr pages; without pages it is zeros
 *
 * The first page may be @sum itself. Context: process.
 */
void kvp_xor_sum(struct page *sum, struct page **sources, u32 nr);

#endif /* KVP_XOR_H */
