/* SPDX-License-Identifier: GPL-2.0-only */
/* The policies that are compared. */
#ifndef CACHE_POLICIES_H
#define CACHE_POLICIES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct policy - one way to choose what is kept
 * @make: a cache of @capacity blocks, at least 1; blocks are numbered below @span
 * @ask: is the block there? If not, it is afterwards.
 */
struct policy {
	const char *name;
	void *(*make)(uint32_t capacity, uint32_t span);
	bool (*ask)(void *cache, uint32_t block);
	void (*drop)(void *cache);
};

/** ours - the module's */
extern const struct policy ours;

/** references - what to compare with, up to one without a name; in the order of the enum */
extern const struct policy references[];

enum { LRU, FIFO, CLOCK, TWOQ, ARC, FIXED, REFERENCES };

#endif
