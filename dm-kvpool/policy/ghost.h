/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often blocks that are not in an SSD cache were asked for lately. ssdpolicy.h admits blocks
 * by that.
 *
 * A block is remembered by a fingerprint: 10 bits of its hash, and two bits of a count. Other bits
 * of the hash choose its set. A set has 16 fingerprints, the latest first. One that is seen again
 * moves to the front, and one that falls off the end is forgotten. So one in 64 blocks that were
 * never seen is taken for another, once. It takes two or three sightings to enter, so little is
 * admitted wrongly.
 *
 * Memory: a set takes 24 bytes, and there are 59 fingerprints for a hundred blocks of the cache.
 * That is 0.885 bytes a block. With the index's 15.1 a cache takes no more than 16. More than
 * twice of it (14 bits of a hash, and as many fingerprints as blocks) has 0.3 % fewer misses in
 * the traces of tests/cache, and writes a seventh more. As much memory with 14 bits, for 44 of a
 * hundred blocks, has 0.6 % more misses.
 *
 * Pure: no I/O, no lock. Calls for one ghost must be made one at a time.
 */
#ifndef KVP_GHOST_H
#define KVP_GHOST_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define KVP_GHOST_WAYS	16
#define KVP_GHOST_MOST	3u	/* sightings that the count can tell apart */

/**
 * struct kvp_ghost_set - words of 12 bits, the latest first; 0 is none
 * @low: their lower 8 bits
 * @high: the upper 4, of two words each
 */
struct kvp_ghost_set {
	u8 low[KVP_GHOST_WAYS];
	u8 high[KVP_GHOST_WAYS / 2];
};

static_assert(sizeof(struct kvp_ghost_set) == 24);

/** struct kvp_ghost - @sets of them, chosen by a hash of @seed */
struct kvp_ghost {
	u32 sets;
	u64 seed;
	struct kvp_ghost_set *set;
};

/**
 * kvp_ghost_init() - make a ghost that remembers nothing
 * @capacity: blocks of the cache
 * @seed: random
 *
 * Return: 0 or -ENOMEM. Context: may sleep, if @gfp allows it.
 */
int __must_check kvp_ghost_init(struct kvp_ghost *g, u32 capacity, u64 seed, gfp_t gfp);

/** kvp_ghost_exit() - free its memory. May sleep. */
void kvp_ghost_exit(struct kvp_ghost *g);

/** kvp_ghost_bytes() - memory that it takes */
u64 kvp_ghost_bytes(const struct kvp_ghost *g);

/**
 * kvp_ghost_see() - note that block @key is asked for
 *
 * Return: how often it was asked for lately, this time included; at most KVP_GHOST_MOST. Context:
 * any.
 */
u32 kvp_ghost_see(struct kvp_ghost *g, u64 key);

/** kvp_ghost_forget() - forget block @key, which must be the last one seen. Context: any. */
void kvp_ghost_forget(struct kvp_ghost *g, u64 key);

/** kvp_ghost_check() - for tests: NULL, or what is wrong */
const char *kvp_ghost_check(const struct kvp_ghost *g);

#endif /* KVP_GHOST_H */
