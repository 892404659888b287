/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_GFP_H
#define SIM_LINUX_GFP_H

#include <linux/types.h>

#define __GFP_DIRECT_RECLAIM	0x1u
#define __GFP_IO		0x2u
#define __GFP_FS		0x4u
#define __GFP_ZERO		0x8u
#define __GFP_NORETRY		0x10u
#define __GFP_NOWARN		0x20u
#define __GFP_HIGH		0x40u
#define __GFP_NOMEMALLOC	0x80u
#define __GFP_NOFAIL		0x100u
#define __GFP_RETRY_MAYFAIL	0x200u
#define __GFP_COMP		0x400u
#define __GFP_MEMALLOC		0x800u
#define __GFP_KSWAPD_RECLAIM	0x1000u
#define __GFP_RECLAIM	(__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define __GFP_HIGHMEM		0u
#define GFP_NOIO	__GFP_RECLAIM
#define GFP_NOFS	(GFP_NOIO | __GFP_IO)
#define GFP_KERNEL	(GFP_NOFS | __GFP_FS)
#define GFP_NOWAIT	__GFP_KSWAPD_RECLAIM
#define GFP_ATOMIC	(__GFP_HIGH | __GFP_KSWAPD_RECLAIM)
#define gfpflags_allow_blocking(g) (((g) & __GFP_DIRECT_RECLAIM) != 0)

struct page;
struct page *alloc_pages(gfp_t gfp, unsigned int order);
void __free_pages(struct page *page, unsigned int order);
#define alloc_page(g)		alloc_pages(g, 0)
#define __free_page(p)		__free_pages(p, 0)
unsigned long __get_free_pages(gfp_t gfp, unsigned int order);
void free_pages(unsigned long addr, unsigned int order);
#define __get_free_page(g)	__get_free_pages(g, 0)
#define get_zeroed_page(g)	__get_free_pages((g) | __GFP_ZERO, 0)
#define free_page(a)		free_pages(a, 0)

#endif
