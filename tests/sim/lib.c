// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's library functions that the engine calls. */
#include <stdarg.h>
#include <stdlib.h>

#include "sched.h"

#include <linux/interval_tree.h>
#include <linux/list_sort.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/uuid.h>
#include <linux/xarray.h>

/* --- strings, random numbers, printk ---------------------------------------------------- */

void *memchr_inv(const void *p, int c, size_t bytes)
{
	const u8 *b = p;

	/*
	 * All bytes are c if the first is, and each is like the one before it. Nearly all calls end
	 * here.
	 */
	if (!bytes || (*b == (u8)c && !memcmp(b, b + 1, bytes - 1)))
		return NULL;
	while (*b == (u8)c)
		b++;
	return (void *)b;
}

ssize_t strscpy(char *dst, const char *src, size_t size)
{
	size_t n = strnlen(src, size);

	if (!size)
		return -E2BIG;
	if (n == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = 0;
		return -E2BIG;
	}
	memcpy(dst, src, n + 1);
	return (ssize_t)n;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* As the kernel's: a '+' before and a newline behind may be there, "0x" with base 16. */
int kstrtou64(const char *text, unsigned int base, u64 *value)
{
	const char *first;
	u64 n = 0;

	text += *text == '+';
	if (base == 16 && text[0] == '0' && (text[1] | 32) == 'x')
		text += 2;
	for (first = text; digit_of(*text) < (int)base; text++) {
		if (__builtin_mul_overflow(n, (u64)base, &n) ||
		    __builtin_add_overflow(n, (u64)digit_of(*text), &n))
			return -ERANGE;
	}
	if (text == first || strcmp(text, *text ? "\n" : ""))
		return -EINVAL;
	*value = n;
	return 0;
}

int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	u64 n;
	int ret = kstrtou64(text, base, &n);

	if (!ret && n > U32_MAX)
		ret = -ERANGE;
	if (!ret)
		*value = (unsigned int)n;
	return ret;
}

/* characters after the 36 are ignored */
int uuid_parse(const char *text, uuid_t *uuid)
{
	u32 i;

	for (i = 0; i < UUID_STRING_LEN; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' :
		    digit_of(text[i]) > 15)
			return -EINVAL;
	for (i = 0; i < UUID_SIZE; i++, text += 2) {
		text += *text == '-';
		uuid->b[i] = (u8)(digit_of(text[0]) << 4 | digit_of(text[1]));
	}
	return 0;
}

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf, size, fmt, args);
	va_end(args);
	return n < (int)size ? n : (int)size - 1;
}

void get_random_bytes(void *p, size_t n)
{
	u8 *b = p;

	while (n--)
		*b++ = (u8)(rng_next(&sim_rng) >> 40);
}

u32 get_random_u32(void)
{
	return (u32)(rng_next(&sim_rng) >> 32);
}

u64 get_random_u64(void)
{
	return rng_next(&sim_rng);
}

void sim_printk(const char *fmt, ...)
{
	va_list args;

	if (!sim_verbose)
		return;
	va_start(args, fmt);
	fputs("  | ", stderr);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

/* --- sorting ------------------------------------------------------------------------------ */

/* Insertion from the end: stable, and fast on nearly sorted lists. */
void list_sort(void *priv, struct list_head *head, list_cmp_func_t cmp)
{
	struct list_head *e, *next, *at;

	for (e = head->next; e != head; e = next) {
		next = e->next;
		for (at = e->prev; at != head && cmp(priv, at, e) > 0; at = at->prev)
			;
		if (at != e->prev)
			list_move(e, at);
	}
}

void sort(void *base, size_t num, size_t size, int (*cmp)(const void *, const void *),
	  void (*swap)(void *, void *, int))
{
	qsort(base, num, size, cmp);
}

/* --- interval tree -------------------------------------------------------------------------- */

void interval_tree_insert(struct interval_tree_node *n, struct rb_root_cached *root)
{
	struct interval_tree_node **p = &root->first;

	while (*p && (*p)->start <= n->start)
		p = &(*p)->next;
	n->next = *p;
	*p = n;
}

void interval_tree_remove(struct interval_tree_node *n, struct rb_root_cached *root)
{
	struct interval_tree_node **p = &root->first;

	while (*p && *p != n)
		p = &(*p)->next;
	if (!*p)
		sim_fail("interval_tree_remove of a node that is not there");
	*p = n->next;
}

static struct interval_tree_node *overlapping(struct interval_tree_node *n, unsigned long start,
					      unsigned long last)
{
	while (n && (n->start > last || n->last < start))
		n = n->next;
	return n;
}

struct interval_tree_node *interval_tree_iter_first(struct rb_root_cached *root,
						    unsigned long start, unsigned long last)
{
	return overlapping(root->first, start, last);
}

struct interval_tree_node *interval_tree_iter_next(struct interval_tree_node *n,
						   unsigned long start, unsigned long last)
{
	return overlapping(n->next, start, last);
}

/*
 * --- xarray ------------------------------------------------------------------------------------
 */

/* First slot at or above @index. */
static unsigned long slot_of(const struct xarray *xa, unsigned long index)
{
	unsigned long lo = 0, hi = xa->nr;

	while (lo < hi) {
		unsigned long mid = (lo + hi) / 2;

		if (xa->slots[mid].index < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool there(const struct xarray *xa, unsigned long slot, unsigned long index)
{
	return slot < xa->nr && xa->slots[slot].index == index;
}

static void *visible(void *entry)
{
	return entry == XA_ZERO_ENTRY ? NULL : entry;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	unsigned long s = slot_of(xa, index);

	return there(xa, s, index) ? visible(xa->slots[s].entry) : NULL;
}

static void grow(struct xarray *xa)
{
	unsigned long room = xa->room ? 2 * xa->room : 8;
	struct xa_slot *slots = sim_alloc(room * sizeof(*slots), GFP_ATOMIC | __GFP_NOFAIL);

	if (xa->nr)
		memcpy(slots, xa->slots, xa->nr * sizeof(*slots));
	sim_free(xa->slots);
	xa->slots = slots;
	xa->room = room;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	unsigned long s = slot_of(xa, index);
	void *old;

	if (!there(xa, s, index))
		return NULL;
	old = xa->slots[s].entry;
	memmove(&xa->slots[s], &xa->slots[s + 1], (--xa->nr - s) * sizeof(*xa->slots));
	return visible(old);
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	unsigned long s = slot_of(xa, index);
	void *old;

	if (!entry)
		return xa_erase(xa, index);
	if (gfp & __GFP_DIRECT_RECLAIM)
		sim_might_sleep(__func__);
	if (there(xa, s, index)) {
		old = xa->slots[s].entry;
		xa->slots[s].entry = entry;
		return visible(old);
	}
	if (xa->nr == xa->room)
		grow(xa);
	memmove(&xa->slots[s + 1], &xa->slots[s], (xa->nr++ - s) * sizeof(*xa->slots));
	xa->slots[s] = (struct xa_slot){ index, entry };
	return NULL;
}

int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	if (there(xa, slot_of(xa, index), index))
		return -EBUSY;
	return xa_err(xa_store(xa, index, entry, gfp));
}

int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp)
{
	if (!there(xa, slot_of(xa, index), index))
		xa_store(xa, index, XA_ZERO_ENTRY, gfp);
	return 0;
}

void xa_release(struct xarray *xa, unsigned long index)
{
	unsigned long s = slot_of(xa, index);

	if (there(xa, s, index) && xa->slots[s].entry == XA_ZERO_ENTRY)
		xa_erase(xa, index);
}

static void *find_from(struct xarray *xa, unsigned long s, unsigned long *index, unsigned long max)
{
	for (; s < xa->nr && xa->slots[s].index <= max; s++)
		if (visible(xa->slots[s].entry)) {
			*index = xa->slots[s].index;
			return xa->slots[s].entry;
		}
	return NULL;
}

void *xa_find(struct xarray *xa, unsigned long *index, unsigned long max, unsigned int mark)
{
	return find_from(xa, slot_of(xa, *index), index, max);
}

void *xa_find_after(struct xarray *xa, unsigned long *index, unsigned long max, unsigned int mark)
{
	return *index == ~0ul ? NULL : find_from(xa, slot_of(xa, *index + 1), index, max);
}

/* The kernel's has interrupts off until it has freed all nodes. */
void xa_destroy(struct xarray *xa)
{
	if (xa->nr > XA_DESTROYED_AT_ONCE)
		sim_fail("xa_destroy() of %lu entries, with interrupts off", xa->nr);
	sim_free(xa->slots);
	xa_init(xa);
}
