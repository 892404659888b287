/* SPDX-License-Identifier: GPL-2.0-only */
/* The compared policies. */
#ifndef CACHE_POLICIES_H
#define CACHE_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct policy - a way to choose the blocks to keep
 * @make: a cache of @capacity blocks, at least 1; blocks are numbered below @span
 * @ask: is the block in the cache? If not, it is afterwards.
 */
struct policy {
	const char *name;
	void *(*make)(uint32_t capacity, uint32_t span);
	bool (*ask)(void *cache, uint32_t block);
	void (*drop)(void *cache);
};

/** ours - the module's */
extern const struct policy ours;

/**
 * references - the policies to compare with, ended by one without a name; in the order of the enum
 */
extern const struct policy references[];

enum { LRU, FIFO, CLOCK, TWOQ, ARC, FIXED, REFERENCES };

#endif
