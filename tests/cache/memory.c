// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's allocator, under the names of the simulator's stand-in headers. */
#include <stdlib.h>
#include <string.h>

#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "suite.h"

unsigned int memory_fail_at;
static size_t bytes;

struct object {
	size_t size, pad;
};

void *sim_alloc(size_t size, gfp_t gfp)
{
	struct object *o;

	if (memory_fail_at && !--memory_fail_at)
		return NULL;
	o = malloc(sizeof(*o) + size);
	if (!o)
		abort();
	o->size = size;
	bytes += size;
	/* not zeros: callers must not rely on zeros */
	return memset(o + 1, gfp & __GFP_ZERO ? 0 : 0x5a, size);
}

void sim_free(const void *p)
{
	struct object *o;

	if (!p)
		return;
	o = (struct object *)p - 1;
	bytes -= o->size;
	free(o);
}

size_t memory_bytes(void)
{
	return bytes;
}

void *__vmalloc(unsigned long size, gfp_t gfp)
{
	return sim_alloc(size, 0);
}

void vfree(const void *p)
{
	sim_free(p);
}
