/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: the simulated machine's memory; a power cut frees all of it. */
#ifndef SIM_LINUX_SLAB_H
#define SIM_LINUX_SLAB_H

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kernel.h>

void *sim_alloc(size_t size, gfp_t gfp);
void sim_free(const void *p);

#define kmalloc(s, g)		sim_alloc(s, g)
#define kzalloc(s, g)		sim_alloc(s, (g) | __GFP_ZERO)
#define kcalloc(n, s, g)	sim_alloc((size_t)(n) * (s), (g) | __GFP_ZERO)
#define kmalloc_array(n, s, g)	sim_alloc((size_t)(n) * (s), g)
#define kvmalloc		kmalloc
#define kvzalloc		kzalloc
#define kvcalloc		kcalloc
#define kvmalloc_array		kmalloc_array
#define kmalloc_node(s, g, n)	kmalloc(s, g)
#define kfree(p)		sim_free(p)
#define kvfree(p)		sim_free(p)
#define kfree_sensitive(p)	sim_free(p)
char *kstrdup(const char *s, gfp_t gfp);
char *kasprintf(gfp_t gfp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct kmem_cache {
	size_t size;
};

struct kmem_cache *sim_cache_create(size_t size);
#define KMEM_CACHE(s, f)		sim_cache_create(sizeof(struct s))
#define kmem_cache_create(n, s, a, f, c) sim_cache_create(s)
#define kmem_cache_alloc(c, g)		sim_alloc((c)->size, g)
#define kmem_cache_zalloc(c, g)		sim_alloc((c)->size, (g) | __GFP_ZERO)
#define kmem_cache_free(c, p)		sim_free(p)
#define kmem_cache_destroy(c)		sim_free(c)

#endif
