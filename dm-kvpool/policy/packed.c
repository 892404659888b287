// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "policy/packed.h"

#define FULL	KVP_PACKED_SLOTS
#define NEARLY	(FULL * 15 / 16)	/* so full may a page be after records were moved to it */

static_assert(sizeof(struct kvp_packed_slot) == 16);
static_assert(sizeof(struct kvp_packed_page) <= KVP_PACKED_BYTES);

/* --- records ------------------------------------------------------------------------- */

#define REC_SHIFT	10
#define ROW_SHIFT	20
#define FLAGS_SHIFT	28

static_assert(KVP_PACKED_MAX_PAYLOAD >> REC_SHIFT == 0);
static_assert(KVP_PACKED_MAX_REC >> (ROW_SHIFT - REC_SHIFT) == 0);

static struct kvp_packed_slot to_slot(const struct kvp_packed_rec *r)
{
	return (struct kvp_packed_slot){
		.block = (u32)kvp_block_nr(r->block),
		.lsn = r->lsn,
		.crc = r->crc,
		.bits = r->payload | (u32)r->rec << REC_SHIFT | (u32)r->row << ROW_SHIFT |
			(u32)r->flags << FLAGS_SHIFT,
	};
}

static kvp_block_t block_at(const struct kvp_packed_page *g, u32 i)
{
	return kvp_block((u64)g->high << 32 | g->slots[i].block);
}

static u8 flags_of(const struct kvp_packed_slot *s)
{
	return s->bits >> FLAGS_SHIFT;
}

static void read_slot(const struct kvp_packed_page *g, u32 i, struct kvp_packed_rec *r)
{
	const struct kvp_packed_slot *s = &g->slots[i];

	r->block = block_at(g, i);
	r->lsn = s->lsn;
	r->crc = s->crc;
	r->payload = s->bits & KVP_PACKED_MAX_PAYLOAD;
	r->rec = s->bits >> REC_SHIFT & KVP_PACKED_MAX_REC;
	r->row = (u8)(s->bits >> ROW_SHIFT);
	r->flags = flags_of(s);
}

/* --- pages ------------------------------------------------------------------------------- */

static struct kvp_packed_page *page_of(const struct rb_node *at)
{
	return at ? rb_entry(at, struct kvp_packed_page, node) : NULL;
}

/* The last page that begins at @block or before it; NULL: there is none. */
static struct kvp_packed_page *page_for(const struct kvp_packed *p, kvp_block_t block)
{
	struct rb_node *at = p->pages.rb_node;
	struct kvp_packed_page *g, *found = NULL;

	while (at) {
		g = page_of(at);
		if (kvp_block_before(block, block_at(g, 0))) {
			at = at->rb_left;
		} else {
			found = g;
			at = at->rb_right;
		}
	}
	return found;
}

/* The first slot of @g with @block or a later one; g->nr: there is none. */
static u32 slot_for(const struct kvp_packed_page *g, kvp_block_t block)
{
	u32 high = kvp_block_nr(block) >> 32, low = (u32)kvp_block_nr(block);
	u32 at = 0, n = g->nr, half;

	if (g->high != high)
		return g->high < high ? n : 0;
	/* The slot is one of those from @at to @at + @n. */
	while (n) {
		half = n / 2;
		if (g->slots[at + half].block < low) {
			at += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return at;
}

/* True if slot @i of @g has the record of @block. */
static bool has_at(const struct kvp_packed_page *g, u32 i, kvp_block_t block)
{
	return g && i < g->nr && block_at(g, i) == block;
}

/* The slot of @block; NULL: it has no record. Often it is the one that was looked for last. */
static struct kvp_packed_slot *slot_of(struct kvp_packed *p, kvp_block_t block,
				       struct kvp_packed_page **g)
{
	if (!has_at(p->last, p->last_slot, block)) {
		p->last = page_for(p, block);
		p->last_slot = p->last ? slot_for(p->last, block) : 0;
	}
	*g = p->last;
	return has_at(p->last, p->last_slot, block) ? &p->last->slots[p->last_slot] : NULL;
}

/* The page before @g, or behind it, if records can move between them. */
static struct kvp_packed_page *neighbour(struct kvp_packed_page *g, bool behind)
{
	struct kvp_packed_page *n = page_of(behind ? rb_next(&g->node) : rb_prev(&g->node));

	return n && n->high == g->high ? n : NULL;
}

static bool comes_before(struct rb_node *a, const struct rb_node *b)
{
	return kvp_block_before(block_at(page_of(a), 0), block_at(page_of(b), 0));
}

/* Make *@spare a page of the set. It has its records already. */
static void enter(struct kvp_packed *p, struct kvp_packed_page *g)
{
	rb_add(&g->node, &p->pages, comes_before);
	p->nr_pages++;
}

static void leave(struct kvp_packed *p, struct kvp_packed_page *g)
{
	rb_erase(&g->node, &p->pages);
	p->nr_pages--;
	if (p->last == g)
		p->last = NULL;
	kfree(g);
}

/* Move the first @n records of @b to the end of @a, which lies before it. */
static void move_down(struct kvp_packed_page *a, struct kvp_packed_page *b, u32 n)
{
	memcpy(&a->slots[a->nr], b->slots, n * sizeof(*b->slots));
	memmove(b->slots, &b->slots[n], (b->nr - n) * sizeof(*b->slots));
	a->nr += n;
	b->nr -= n;
}

/* Move the last @n records of @a to the front of @b, which lies behind it. */
static void move_up(struct kvp_packed_page *a, struct kvp_packed_page *b, u32 n)
{
	memmove(&b->slots[n], b->slots, b->nr * sizeof(*b->slots));
	memcpy(b->slots, &a->slots[a->nr - n], n * sizeof(*a->slots));
	a->nr -= n;
	b->nr += n;
}

/* Two pages become three, or one becomes two: the records are shared out evenly. */
static void split(struct kvp_packed *p, struct kvp_packed_page *a, struct kvp_packed_page *b,
		  struct kvp_packed_page *spare)
{
	u32 share = b ? (a->nr + b->nr) / 3 : a->nr / 2;

	spare->high = a->high;
	spare->nr = 0;
	move_up(a, spare, a->nr - share);
	if (b)
		move_down(spare, b, b->nr - share);
	enter(p, spare);
}

/* Make room in @g, which is full. Returns false if a page is needed, and there is none. */
static bool make_room(struct kvp_packed *p, struct kvp_packed_page *g,
		      struct kvp_packed_page **spare)
{
	struct kvp_packed_page *before = neighbour(g, false), *behind = neighbour(g, true);

	if (behind && behind->nr < NEARLY) {
		move_up(g, behind, (g->nr - behind->nr + 1) / 2);
		return true;
	}
	if (before && before->nr < NEARLY) {
		move_down(before, g, (g->nr - before->nr + 1) / 2);
		return true;
	}
	if (!*spare)
		return false;
	if (behind)
		split(p, g, behind, *spare);
	else if (before)
		split(p, before, g, *spare);
	else
		split(p, g, NULL, *spare);
	*spare = NULL;
	return true;
}

/* Join @g with its neighbours, if all of them have much room. */
static void join(struct kvp_packed *p, struct kvp_packed_page *g)
{
	struct kvp_packed_page *before = neighbour(g, false), *behind = neighbour(g, true);
	u32 down, nr = g->nr + (before ? before->nr : 0) + (behind ? behind->nr : 0);

	if (nr > NEARLY * (!!before + !!behind) || (!before && !behind))
		return;
	down = !behind ? g->nr : !before ? 0 : min(nr / 2 - min(nr / 2, before->nr), g->nr);
	if (down)
		move_down(before, g, down);
	if (g->nr)
		move_up(g, behind, g->nr);
	leave(p, g);
}

/* --- the set ------------------------------------------------------------------------------ */

void kvp_packed_init(struct kvp_packed *p)
{
	p->pages = RB_ROOT;
	p->last = NULL;
	p->last_slot = 0;
	p->nr = 0;
	p->nr_pages = 0;
}

void kvp_packed_clear(struct kvp_packed *p)
{
	struct kvp_packed_page *g;

	while ((g = page_of(rb_first(&p->pages))))
		leave(p, g);
	p->nr = 0;
}

struct kvp_packed_page *kvp_packed_spare(void)
{
	return kmalloc(sizeof(struct kvp_packed_page),
		       GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN);
}

static void begin_page(struct kvp_packed *p, struct kvp_packed_page *g,
		       const struct kvp_packed_rec *r)
{
	g->high = kvp_block_nr(r->block) >> 32;
	g->nr = 1;
	g->slots[0] = to_slot(r);
	enter(p, g);
}

/* The page that @block belongs to: one of the same upper half; NULL: there is none. */
static struct kvp_packed_page *page_to_add(const struct kvp_packed *p, kvp_block_t block)
{
	struct kvp_packed_page *g = page_for(p, block);
	u32 high = kvp_block_nr(block) >> 32;

	if (!g || g->high != high)
		g = page_of(g ? rb_next(&g->node) : rb_first(&p->pages));
	return g && g->high == high ? g : NULL;
}

bool kvp_packed_add(struct kvp_packed *p, const struct kvp_packed_rec *r,
		    struct kvp_packed_page **spare)
{
	struct kvp_packed_page *g = page_to_add(p, r->block);
	u32 i = g ? slot_for(g, r->block) : 0;

	if (g && i < g->nr && block_at(g, i) == r->block)
		return false;
	if (!g || (g->nr == FULL && i == FULL && !neighbour(g, true))) {
		/* Blocks that come in order fill whole pages. */
		if (!*spare)
			return false;
		begin_page(p, *spare, r);
		*spare = NULL;
		p->nr++;
		return true;
	}
	if (g->nr == FULL) {
		if (!make_room(p, g, spare))
			return false;
		g = page_to_add(p, r->block);
		i = slot_for(g, r->block);
	}
	memmove(&g->slots[i + 1], &g->slots[i], (g->nr - i) * sizeof(*g->slots));
	g->slots[i] = to_slot(r);
	g->nr++;
	p->nr++;
	return true;
}

bool kvp_packed_replace(struct kvp_packed *p, const struct kvp_packed_rec *r,
			struct kvp_packed_rec *old)
{
	struct kvp_packed_page *g;
	struct kvp_packed_slot *s = slot_of(p, r->block, &g);

	if (!s)
		return false;
	read_slot(g, s - g->slots, old);
	*s = to_slot(r);
	return true;
}

bool kvp_packed_find(struct kvp_packed *p, kvp_block_t block, struct kvp_packed_rec *r)
{
	struct kvp_packed_page *g;
	struct kvp_packed_slot *s = slot_of(p, block, &g);

	if (s)
		read_slot(g, s - g->slots, r);
	return s;
}

bool kvp_packed_supersede(struct kvp_packed *p, kvp_block_t block, u8 *flags)
{
	struct kvp_packed_page *g;
	struct kvp_packed_slot *s = slot_of(p, block, &g);

	if (!s || (flags_of(s) & KVP_PACKED_SUPERSEDED))
		return false;
	*flags = flags_of(s);
	s->bits |= KVP_PACKED_SUPERSEDED << FLAGS_SHIFT;
	return true;
}

void kvp_packed_mark(struct kvp_packed *p, kvp_block_t block, u8 flags)
{
	struct kvp_packed_page *g;
	struct kvp_packed_slot *s = slot_of(p, block, &g);

	if (!WARN_ON_ONCE(!s))
		s->bits |= (u32)flags << FLAGS_SHIFT;
}

void kvp_packed_del(struct kvp_packed *p, kvp_block_t block)
{
	struct kvp_packed_page *g;
	struct kvp_packed_slot *s = slot_of(p, block, &g);

	if (WARN_ON_ONCE(!s))
		return;
	p->nr--;
	g->nr--;
	memmove(s, s + 1, (g->nr - (s - g->slots)) * sizeof(*s));
	if (!g->nr)
		leave(p, g);
	else if (g->nr < NEARLY)
		join(p, g);
}

/* The page and slot of the first block from @from on; NULL: there is none. */
static struct kvp_packed_page *first_from(const struct kvp_packed *p, kvp_block_t from, u32 *slot)
{
	struct kvp_packed_page *g = page_for(p, from);

	*slot = g ? slot_for(g, from) : 0;
	if (g && *slot < g->nr)
		return g;
	*slot = 0;
	return page_of(g ? rb_next(&g->node) : rb_first(&p->pages));
}

bool kvp_packed_next(const struct kvp_packed *p, kvp_block_t from, struct kvp_packed_rec *r)
{
	u32 i;
	struct kvp_packed_page *g = first_from(p, from, &i);

	if (g)
		read_slot(g, i, r);
	return g;
}

static bool matches(const struct kvp_packed_query *q, const struct kvp_packed_slot *s)
{
	return s->lsn - q->base < q->span || (flags_of(s) & q->flags);
}

u32 kvp_packed_collect(const struct kvp_packed *p, struct kvp_packed_query *q, kvp_block_t *blocks,
		       u32 max)
{
	u32 i, n = 0, looks = 0;
	struct kvp_packed_page *g = first_from(p, q->from, &i);

	for (; g && n < max && looks < KVP_PACKED_LOOKS; looks++) {
		for (; i < g->nr && n < max; i++)
			if (matches(q, &g->slots[i]))
				blocks[n++] = block_at(g, i);
		q->from = kvp_block_add(block_at(g, i - 1), 1);
		if (i < g->nr)
			break;
		g = page_of(rb_next(&g->node));
		i = 0;
	}
	q->more = g;
	return n;
}

/* --- places in the log -------------------------------------------------------------------- */

void kvp_packed_places_init(struct kvp_packed_places *s)
{
	memset(s, 0, sizeof(*s));
}

/* The bin of @lsn, which is not below the first bin. */
static u64 bin_of(const struct kvp_packed_places *s, kvp_lsn_t lsn)
{
	return kvp_lsn_since(lsn, s->base) >> s->shift;
}

/* Bins below the first one that has records are not needed any more. */
static void drop_empty(struct kvp_packed_places *s)
{
	u32 left = KVP_PACKED_BINS - s->first;

	memmove(s->bins, &s->bins[s->first], left * sizeof(*s->bins));
	memset(&s->bins[left], 0, s->first * sizeof(*s->bins));
	s->base = kvp_lsn_add(s->base, (u64)s->first << s->shift);
	s->first = 0;
}

/* Make bins twice as large. */
static void coarsen(struct kvp_packed_places *s)
{
	u32 i;

	for (i = 0; i < KVP_PACKED_BINS / 2; i++)
		s->bins[i] = s->bins[2 * i] + s->bins[2 * i + 1];
	memset(&s->bins[i], 0, (KVP_PACKED_BINS - i) * sizeof(*s->bins));
	s->first /= 2;
	s->shift++;
}

bool kvp_packed_places_add(struct kvp_packed_places *s, kvp_lsn_t lsn)
{
	if (!s->nr) {
		s->base = lsn;
		s->shift = 0;
		s->first = 0;
	}
	if (kvp_lsn_before(lsn, s->base) || kvp_lsn_since(lsn, s->base) >> 31)
		return false;
	if (bin_of(s, lsn) >= KVP_PACKED_BINS)
		drop_empty(s);
	while (bin_of(s, lsn) >= KVP_PACKED_BINS)
		coarsen(s);
	s->bins[bin_of(s, lsn)]++;
	s->first = min_t(u64, s->first, bin_of(s, lsn));
	s->nr++;
	return true;
}

void kvp_packed_places_del(struct kvp_packed_places *s, kvp_lsn_t lsn)
{
	s->bins[bin_of(s, lsn)]--;
	s->nr--;
	while (s->nr && !s->bins[s->first])
		s->first++;
}

kvp_lsn_t kvp_packed_places_oldest(const struct kvp_packed_places *s)
{
	return kvp_lsn_add(s->base, (u64)s->first << s->shift);
}

kvp_lsn_t kvp_packed_places_part(const struct kvp_packed_places *s, u32 n)
{
	u32 i = s->first, sum = 0;

	while (i < KVP_PACKED_BINS && sum < n)
		sum += s->bins[i++];
	return kvp_lsn_add(s->base, (u64)i << s->shift);
}
