/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces: requests to a cache, made from a seed, the same on every host.
 *
 * A request is a bio of one or more blocks. Most kinds draw objects of 1 to 8 blocks from a
 * distribution, and read a whole object or one block of it.
 */
#ifndef CACHE_TRACE_H
#define CACHE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

/** rng_next() - splitmix64 (Vigna) */
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);

struct request {
	uint32_t block;
	uint16_t blocks;
	bool write;
};

/**
 * struct trace - requests of one kind
 * @span: all blocks lie below it
 * @footprint: number of different blocks
 */
struct trace {
	const char *name;
	struct request *request;
	uint32_t requests, room;
	uint32_t span, footprint;
};

/** trace_kinds - names, up to a NULL */
extern const char *const trace_kinds[];

/** trace_make() - about @accesses blocks of kind number @kind; a larger @scale has more objects */
struct trace *trace_make(unsigned int kind, uint32_t scale, uint64_t seed);
void trace_free(struct trace *t);

#endif
