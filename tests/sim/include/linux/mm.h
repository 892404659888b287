/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: pages with an address; no highmem. */
#ifndef SIM_LINUX_MM_H
#define SIM_LINUX_MM_H

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	4096ul
#define PAGE_MASK	(~(PAGE_SIZE - 1))
#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))

struct page {
	void *address;
	struct page *head;	/* of those that were allocated together */
	struct page *next;	/* on the free list */
	struct blk *lent;	/* contents that only copy_highpage() sees */
	unsigned int order;
	int refs;
	bool used;
};

struct page *virt_to_page(const void *p);
#define page_address(p)		((p)->address)
#define page_ref_count(p)	((p)->refs)
bool get_page_unless_zero(struct page *page);
void get_page(struct page *page);
void put_page(struct page *page);
#define page_to_virt(p)		((p)->address)
#define nth_page(p, n)		virt_to_page((char *)page_address(p) + (n) * PAGE_SIZE)
#define clear_page(a)		memset(a, 0, PAGE_SIZE)
#define copy_page(d, s)		memcpy(d, s, PAGE_SIZE)
#define kmap_local_page(p)	page_address(p)
#define kunmap_local(a)		((void)(a))
#define clear_highpage(p)	clear_page(page_address(p))
void copy_highpage(struct page *to, struct page *from);
#define get_order(s)		(fls64(((s) - 1) >> PAGE_SHIFT))
#define totalram_pages()	(1ul << 20)
unsigned int memalloc_noio_save(void);
void memalloc_noio_restore(unsigned int flags);

#endif
