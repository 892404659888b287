/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: here all pages have addresses. */
#ifndef SIM_LINUX_VMALLOC_H
#define SIM_LINUX_VMALLOC_H

#include <linux/mm.h>

void *vmalloc(unsigned long size);
void *vzalloc(unsigned long size);
void *__vmalloc(unsigned long size, gfp_t gfp);
void vfree(const void *p);
#define vmalloc_to_page(p)	virt_to_page(p)

#endif
