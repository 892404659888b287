/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: a pool never fails. */
#ifndef SIM_LINUX_MEMPOOL_H
#define SIM_LINUX_MEMPOOL_H

#include <linux/slab.h>

typedef struct {
	size_t size;
} mempool_t;

#define mempool_init_kmalloc_pool(p, n, s)	((p)->size = (s), 0)
#define mempool_exit(p)				((p)->size = 0)
#define mempool_alloc(p, g)			sim_alloc((p)->size, GFP_NOIO)
#define mempool_free(e, p)			sim_free(e)

#endif
