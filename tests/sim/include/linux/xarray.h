/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: a sorted array of (index, pointer). */
#ifndef SIM_LINUX_XARRAY_H
#define SIM_LINUX_XARRAY_H

#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kernel.h>

struct xa_slot {
	unsigned long index;
	void *entry;
};

struct xarray {
	struct xa_slot *slots;
	unsigned long nr, room;
};

#define XA_FLAGS_LOCK_IRQ	0
#define DEFINE_XARRAY(name)	struct xarray name = { NULL, 0, 0 }
#define XA_ZERO_ENTRY		((void *)0x406ul)
#define XA_DESTROYED_AT_ONCE	16ul

static inline void xa_init(struct xarray *xa)
{
	xa->slots = NULL;
	xa->nr = xa->room = 0;
}

#define xa_init_flags(xa, f)	xa_init(xa)

void *xa_load(struct xarray *xa, unsigned long index);
void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp);
void xa_release(struct xarray *xa, unsigned long index);
void *xa_erase(struct xarray *xa, unsigned long index);
void *xa_find(struct xarray *xa, unsigned long *index, unsigned long max, unsigned int mark);
void *xa_find_after(struct xarray *xa, unsigned long *index, unsigned long max, unsigned int mark);
void xa_destroy(struct xarray *xa);

#define XA_PRESENT	8u
#define xa_empty(xa)	(!(xa)->nr)
#define xa_is_err(p)	IS_ERR(p)
#define xa_err(p)	(IS_ERR(p) ? (int)PTR_ERR(p) : 0)
#define xa_for_each_range(xa, index, entry, start, last)		\
	for (index = (start), entry = xa_find(xa, &(index), last, XA_PRESENT); entry; \
	     entry = xa_find_after(xa, &(index), last, XA_PRESENT))
#define xa_for_each(xa, index, entry)	xa_for_each_range(xa, index, entry, 0, ~0ul)
#define xa_for_each_start(xa, index, entry, start) \
	xa_for_each_range(xa, index, entry, start, ~0ul)

#endif
