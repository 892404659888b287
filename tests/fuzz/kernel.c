// SPDX-License-Identifier: GPL-2.0-only
/* Stubs for the kernel functions that the simulator's library and headers need. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/sched.h"
#include "fuzz.h"
#include "kernel.h"

#include <linux/slab.h>

struct rng sim_rng;
bool sim_verbose;
u32 fuzz_memory_fails_at;

void *sim_alloc(size_t size, gfp_t gfp)
{
	void *p;

	if (!(gfp & __GFP_NOFAIL) && fuzz_memory_fails_at && !--fuzz_memory_fails_at)
		return NULL;
	p = malloc(size);
	/* not zeros: callers must not rely on zeros */
	return memset(p, gfp & __GFP_ZERO ? 0 : 0x5a, size);
}

void sim_free(const void *p)
{
	free((void *)p);
}

void sim_might_sleep(const char *where)
{
}

void sim_yield(void)
{
}

void sim_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	abort();
}

u64 mix64(u64 a, u64 b)
{
	struct rng r = { a * 0x9e3779b97f4a7c15ull + b };

	rng_next(&r);
	return rng_next(&r);
}
