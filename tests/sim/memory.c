// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the simulated machine. Objects come from malloc(), so that ASan guards them; pages come
 * from an arena, poisoned while they are free. The end of the machine's life frees all memory.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "image.h"
#include "sched.h"

#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/vmalloc.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(a, b)		((void)(a))
#define ASAN_UNPOISON_MEMORY_REGION(a, b)	((void)(a))
#endif

#define ARENA_PAGES	(1u << 18)	/* 1 GiB of addresses */
#define MAX_ORDER	8
#define HUGE_PAGE	((size_t)2 << 20)

bool sim_out_of_memory(void);

struct object {
	struct object *next, *prev;
	size_t size, pad;
};

static struct object objects = { &objects, &objects, 0, 0 };
static u32 nr_objects, nr_pages;
static char *arena;
static struct page *pages;
static u32 arena_used;
static struct page *free_pages_of[MAX_ORDER + 1];

u32 sim_memory_short;
u32 sim_refused_from, sim_refused_until, sim_allocations;
u32 sim_many_intents = 1u << 17;

static struct shrinker *shrinkers;
static bool reclaiming;

/* Direct reclaim: it runs amid the caller's work, with the caller's locks held. */
static void reclaim(gfp_t gfp)
{
	struct shrink_control sc = { .nr_to_scan = 2, .gfp_mask = gfp };
	struct shrinker *s;
	unsigned long n;

	if (reclaiming)
		return;
	reclaiming = true;
	for (s = shrinkers; s; s = s->next) {
		n = s->count_objects(s, &sc);
		if (n && n != SHRINK_EMPTY)
			s->scan_objects(s, &sc);
	}
	reclaiming = false;
}

static bool now_short(void)
{
	return sim_memory_short && rng_chance(&sim_rng, sim_memory_short);
}

static bool refuse(gfp_t gfp)
{
	if (gfp & __GFP_NOFAIL)
		return false;
	sim_allocations++;
	if (sim_allocations >= sim_refused_from && sim_allocations < sim_refused_until)
		return true;
	if (gfp & __GFP_DIRECT_RECLAIM) {
		sim_might_sleep("allocation");
		if (shrinkers && sim_out_of_memory())
			reclaim(gfp);
		if ((gfp & (__GFP_NORETRY | __GFP_RETRY_MAYFAIL)) && sim_out_of_memory())
			return true;
		return !(gfp & __GFP_IO) && now_short();
	}
	return sim_out_of_memory() || now_short();
}

void *sim_alloc(size_t size, gfp_t gfp)
{
	struct object *o;

	if (refuse(gfp))
		return NULL;
	o = malloc(sizeof(*o) + size);
	if (!o)
		abort();
	o->size = size;
	o->next = objects.next;
	o->prev = &objects;
	o->next->prev = o;
	objects.next = o;
	nr_objects++;
	/* not zeros: callers must not rely on zeros */
	memset(o + 1, gfp & __GFP_ZERO ? 0 : 0x5a,
	       gfp & __GFP_ZERO || size < 256 ? size : 256);
	return o + 1;
}

void sim_free(const void *p)
{
	struct object *o;

	if (!p || IS_ERR_VALUE(p))
		return;
	o = (struct object *)p - 1;
	o->next->prev = o->prev;
	o->prev->next = o->next;
	nr_objects--;
	free(o);
}

/* --- pages --------------------------------------------------------------------------- */

void *sim_map(size_t bytes)
{
	char *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	p = (char *)round_up((size_t)p, HUGE_PAGE);
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void make_arena(void)
{
	arena = sim_map((size_t)ARENA_PAGES << PAGE_SHIFT);
	pages = sim_map(ARENA_PAGES * sizeof(*pages));
}

static struct page *new_pages(unsigned int order)
{
	struct page *p;
	u32 i;

	if (!arena)
		make_arena();
	/* Naturally aligned, as the kernel's are. */
	arena_used = round_up(arena_used, 1u << order);
	if (arena_used + (1u << order) > ARENA_PAGES)
		sim_fail("the arena of pages is used up");
	p = &pages[arena_used];
	for (i = 0; i < 1u << order; i++) {
		p[i].head = p;
		p[i].address = arena + ((size_t)(arena_used + i) << PAGE_SHIFT);
	}
	p->order = order;
	arena_used += 1u << order;
	return p;
}

struct page *alloc_pages(gfp_t gfp, unsigned int order)
{
	struct page *p;

	if (refuse(gfp))
		return NULL;
	p = free_pages_of[order];
	if (p)
		free_pages_of[order] = p->next;
	else
		p = new_pages(order);
	p->used = true;
	p->refs = 1;
	nr_pages++;
	ASAN_UNPOISON_MEMORY_REGION(p->address, PAGE_SIZE << order);
	if (gfp & __GFP_ZERO)
		memset(p->address, 0, PAGE_SIZE << order);
	else
		*(u64 *)p->address = 0x5a5a5a5a5a5a5a5aull;
	return p;
}

void __free_pages(struct page *p, unsigned int order)
{
	if (!p)
		return;
	if (!p->used || p->order != order)
		sim_fail("a page is freed that is not allocated, or with another order");
	if (--p->refs)
		return;
	p->used = false;
	blk_put(p->lent);
	p->lent = NULL;
	nr_pages--;
	ASAN_POISON_MEMORY_REGION(p->address, PAGE_SIZE << order);
	p->next = free_pages_of[order];
	free_pages_of[order] = p;
}

/* The page may be free, or belong to another user by now. */
bool get_page_unless_zero(struct page *p)
{
	if (!p->refs)
		return false;
	p->refs++;
	return true;
}

/* not for free pages */
void get_page(struct page *p)
{
	if (p->head->refs < 1)
		sim_fail("a reference to a page that is free");
	p->head->refs++;
}

void put_page(struct page *p)
{
	__free_pages(p->head, p->head->order);
}

void sim_lend(struct page *p, struct blk *b)
{
	if (!p->used)
		sim_fail("a disk reads into a page that is free");
	blk_get(b);
	blk_put(p->lent);
	p->lent = b;
}

void copy_highpage(struct page *to, struct page *from)
{
	memcpy(to->address, from->lent ? from->lent->data : from->address, PAGE_SIZE);
}

struct page *virt_to_page(const void *p)
{
	return &pages[((const char *)p - arena) >> PAGE_SHIFT];
}

unsigned long __get_free_pages(gfp_t gfp, unsigned int order)
{
	struct page *p = alloc_pages(gfp, order);

	return p ? (unsigned long)p->address : 0;
}

void free_pages(unsigned long addr, unsigned int order)
{
	if (addr)
		__free_pages(virt_to_page((void *)addr), order);
}

void *__vmalloc(unsigned long size, gfp_t gfp)
{
	return (void *)__get_free_pages(gfp, get_order(size));
}

void *vmalloc(unsigned long size)
{
	return __vmalloc(size, GFP_KERNEL);
}

void *vzalloc(unsigned long size)
{
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO);
}

void vfree(const void *p)
{
	if (p)
		__free_pages(virt_to_page(p), virt_to_page(p)->order);
}

unsigned int memalloc_noio_save(void)
{
	return 0;
}

void memalloc_noio_restore(unsigned int flags)
{
}

/* --- life ------------------------------------------------------------------------------ */

u32 sim_memory_in_use(void)
{
	return nr_objects + nr_pages;
}

void sim_memory_reset(void)
{
	u32 i;

	shrinkers = NULL;
	reclaiming = false;
	sim_memory_short = 0;
	sim_refused_from = 0;
	sim_refused_until = 0;
	sim_slow = NULL;
	sim_hands_over = false;
	while (objects.next != &objects)
		sim_free(objects.next + 1);
	for (i = 0; i < arena_used; i += 1u << pages[i].order) {
		pages[i].refs = pages[i].used;
		if (pages[i].used)
			__free_pages(&pages[i], pages[i].order);
	}
}

char *kstrdup(const char *s, gfp_t gfp)
{
	char *p = sim_alloc(strlen(s) + 1, gfp);

	return p ? strcpy(p, s) : NULL;
}

char *kasprintf(gfp_t gfp, const char *fmt, ...)
{
	char *p = sim_alloc(512, gfp);
	va_list args;

	if (!p)
		return NULL;
	va_start(args, fmt);
	vsnprintf(p, 512, fmt, args);
	va_end(args);
	return p;
}

struct kmem_cache *sim_cache_create(size_t size)
{
	struct kmem_cache *c = sim_alloc(sizeof(*c), GFP_KERNEL);

	c->size = size;
	return c;
}

/* --- shrinkers --------------------------------------------------------------------------- */

struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...)
{
	return sim_alloc(sizeof(struct shrinker), GFP_KERNEL | __GFP_ZERO);
}

void shrinker_register(struct shrinker *s)
{
	s->next = shrinkers;
	shrinkers = s;
}

void shrinker_free(struct shrinker *s)
{
	struct shrinker **p = &shrinkers;

	while (*p && *p != s)
		p = &(*p)->next;
	if (*p)
		*p = s->next;
	sim_free(s);
}
