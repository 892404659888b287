/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of blocks, for parity. */
#ifndef KVP_XOR_H
#define KVP_XOR_H

#include <linux/types.h>

struct page;

/** kvp_xor() - add @source to @sum. Context: process. */
void kvp_xor(struct page *sum, struct page *source);

/**
 * kvp_xor_sum() - make @sum the sum of @nr pages; @sum itself may be the first of them. Without
 * pages it is zeros. Context: process.
 */
void kvp_xor_sum(struct page *sum, struct page **sources, u32 nr);

#endif /* KVP_XOR_H */
