// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device-mapper.h>
#include <linux/highmem.h>

#include "compat/xor.h"
#include "core/core.h"
#include "home/stripe_read.h"
#include "io/inject.h"
#include "io/leg_queue.h"
#include "io/mirror.h"
#include "io/slow.h"
#include "table/table.h"
#include "target/bio.h"
#include "target/long_read.h"
#include "target/request.h"

#define JUNK_ORDER	4u	/* parity that is not needed: the size of a segment for it */
#define RESERVE		16
#define OWN_PAGES	2048	/* of all reads together: 8 MiB */
#define XOR_ALIGN	64u	/* at least what the widest instructions want */

/* A request to one leg. */
struct part {
	struct kvp_leg *leg;
	bool data;			/* false: all of it is parity that is not needed */
	u32 blocks;
	u64 since;			/* from kvp_slow_begin() */
	struct bio bio;
};

/* What a read must remember until the blocks that it lacks are made. */
struct kvp_row_pages {
	struct kvp_stripe_read read;
	u32 nr_own;			/* number of pages of @own */
	struct page *own[];		/* by slot, from the one behind the reader's on; or NULL */
};

/* A read being cut into parts. */
struct cut {
	struct kvp_requests *r;
	struct bio *bio;
	struct kvp_stripe_read read;
	struct kvp_row_pages *rebuild;	/* or NULL: all blocks come from the legs that have them */
	u32 count, own;			/* slots: of the reader, and above */
	u32 segments;			/* of @bio */
	struct kvp_leg *leg;		/* the one whose parts are cut now */
	struct bvec_iter iter;		/* place in @bio, at slot @at */
	u32 at;
	struct part *part;		/* the last one, if it may be extended */
	kvp_lblock_t next;			/* block of the leg where it would continue */
	struct bio_list parts;
};

static struct part *part_of(struct bio *bio)
{
	return container_of(bio, struct part, bio);
}

/* --- kept buffers ------------------------------------------------------------------------ */

static void free_rebuild(struct kvp_requests *r, struct kvp_row_pages *b, u32 slots)
{
	u32 i;

	if (!b)
		return;
	for (i = 0; i < slots && b->nr_own; i++)
		if (b->own[i]) {
			__free_page(b->own[i]);
			b->nr_own--;
			atomic_dec(&r->own_pages);
		}
	kfree(b);
}

static bool alloc_rebuild(struct cut *c)
{
	c->own = 0;
	c->rebuild = NULL;
	if (!c->read.rebuild)
		return true;
	c->own = kvp_stripe_read_own(&c->read);
	c->rebuild = kzalloc(struct_size(c->rebuild, own, c->own), GFP_NOWAIT | __GFP_NOWARN);
	return c->rebuild;
}

/* --- making parts ----------------------------------------------------------------------- */

static u32 segments_of(struct bio *bio)
{
	struct bvec_iter iter;
	struct bio_vec bv;
	u32 n = 0;

	bio_for_each_bvec(bv, bio, iter)
		n++;
	return n;
}

/*
 * The most segments that a part of this leg may have. Each stripe has one stretch of the reader's
 * blocks there, which may begin amid a segment. Parity that is not read ends a part: the leg has
 * that of one stripe in as many as there are legs. So most parts need no memory for segments.
 */
static u32 most_segments(const struct cut *c)
{
	const struct kvp_geometry *g = c->read.leaf->v->g;
	u32 stripes = c->count / kvp_stripe_blocks(g) + 2, junk = 0;

	if (c->leg->rotational)
		junk = DIV_ROUND_UP(g->chunk_blocks, c->r->junk_blocks);
	else if (!c->rebuild)
		stripes = min(stripes, g->leg_count - 1);
	return min_t(u32, c->segments + c->own + stripes * (1 + junk), BIO_MAX_VECS);
}

/* A part that begins at @block of the leg. */
static struct part *new_part(struct cut *c, kvp_lblock_t block)
{
	blk_opf_t opf = REQ_OP_READ | (c->bio->bi_opf & (REQ_SYNC | REQ_META | REQ_PRIO));
	struct bio *bio = bio_alloc_bioset(c->leg->bdev, most_segments(c), opf,
					   GFP_NOWAIT | __GFP_NOWARN, &c->r->long_bios);

	if (!bio)
		return NULL;
	bio_clone_blkg_association(bio, c->bio);
	bio->bi_ioprio = c->bio->bi_ioprio;
	bio->bi_iter.bi_sector = kvp_lblock_nr(block) << KVP_SECTORS_SHIFT;
	part_of(bio)->leg = c->leg;
	part_of(bio)->data = false;
	bio_list_add(&c->parts, bio);
	return part_of(bio);
}

static bool add_junk(struct cut *c, u32 blocks)
{
	u32 n;

	for (; blocks; blocks -= n) {
		n = min(blocks, c->r->junk_blocks);
		if (!bio_add_page(&c->part->bio, c->r->junk, n * KVP_BLOCK_SIZE, 0))
			return false;
	}
	return true;
}

/* The reader's blocks, which follow those that were added for this leg before. */
static bool add_readers(struct cut *c, u32 slot, u32 blocks)
{
	u32 left = blocks * KVP_BLOCK_SIZE, n;

	bio_advance_iter(c->bio, &c->iter, (slot - c->at) * KVP_BLOCK_SIZE);
	while (left) {
		/* pages that are neighbours in memory, all at once */
		n = min(left, mp_bvec_iter_len(c->bio->bi_io_vec, c->iter));
		if (bio_add_page(&c->part->bio, bio_iter_page(c->bio, c->iter), n,
				 bio_iter_offset(c->bio, c->iter)) != n)
			return false;
		bio_advance_iter_single(c->bio, &c->iter, n);
		left -= n;
	}
	c->at = slot + blocks;
	return true;
}

static bool add_own(struct cut *c, u32 slot, u32 blocks)
{
	struct page **own = &c->rebuild->own[slot - c->count];
	u32 i;

	for (i = 0; i < blocks; i++) {
		if (atomic_inc_return(&c->r->own_pages) <= OWN_PAGES)
			own[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!own[i]) {
			atomic_dec(&c->r->own_pages);
			return false;
		}
		c->rebuild->nr_own++;
		if (!bio_add_page(&c->part->bio, own[i], KVP_BLOCK_SIZE, 0))
			return false;
	}
	return true;
}

/* A stretch of the leg. If it follows the one before, it is part of the same request. */
static bool add_stretch(void *to, kvp_lblock_t at, u32 slot, u32 nr)
{
	struct cut *c = to;

	if (!c->part || c->next != at)
		c->part = new_part(c, at);
	if (!c->part)
		return false;
	c->next = kvp_lblock_add(at, nr);
	if (slot == KVP_SLOT_JUNK)
		return add_junk(c, nr);
	c->part->data = true;
	return slot < c->count ? add_readers(c, slot, nr) : add_own(c, slot, nr);
}

static void drop_parts(struct bio_list *parts)
{
	struct bio *bio;

	while ((bio = bio_list_pop(parts)))
		bio_put(bio);
}

static bool cut_for_legs(struct cut *c)
{
	const struct kvp_vdev *v = c->read.leaf->v;
	bool good = alloc_rebuild(c);
	u32 leg;

	for (leg = 0; good && leg < v->nr_legs; leg++) {
		c->leg = &v->legs[leg];
		c->iter = c->bio->bi_iter;
		c->at = 0;
		c->part = NULL;
		good = kvp_stripe_read_cut(&c->read, leg, add_stretch, c);
	}
	if (good)
		return true;
	drop_parts(&c->parts);
	free_rebuild(c->r, c->rebuild, c->own);
	c->rebuild = NULL;
	return false;
}

/* A read of one stripe needs nothing of the leg that has its parity. */
static u32 drop_junk_alone(struct bio_list *parts)
{
	struct bio_list all = *parts;
	struct bio *bio;
	u32 n = 0;

	bio_list_init(parts);
	while ((bio = bio_list_pop(&all))) {
		if (part_of(bio)->data) {
			bio_list_add(parts, bio);
			n++;
		} else {
			bio_put(bio);
		}
	}
	return n;
}

/* --- reading ---------------------------------------------------------------------------- */

static void put_read(struct kvp_bio *k)
{
	struct bio *bio = kvp_bio_of(k);

	if (atomic_dec_and_test(&k->parts))
		k->long_done(k->requests, bio, !READ_ONCE(k->failed));
}

static void part_done(struct bio *bio)
{
	struct kvp_bio *k = bio->bi_private;

	if (bio->bi_status || kvp_injected(part_of(bio)->leg, KVP_FAULT_READ))
		WRITE_ONCE(k->failed, true);
	if (!bio->bi_status)
		kvp_slow_end(part_of(bio)->leg, KVP_IO_READ, part_of(bio)->blocks,
			     part_of(bio)->since);
	kvp_leg_unchoose(part_of(bio)->leg);
	bio_put(bio);
	put_read(k);
}

static void send_parts(struct kvp_bio *k, struct bio_list *parts, u32 nr)
{
	struct bio *bio;

	/* One more, so that the read does not end before all parts were sent. */
	atomic_set(&k->parts, nr + 1);
	k->failed = false;
	while ((bio = bio_list_pop(parts))) {
		struct kvp_leg *leg = part_of(bio)->leg;

		bio->bi_private = k;
		bio->bi_end_io = part_done;
		part_of(bio)->blocks = bio_sectors(bio) >> KVP_SECTORS_SHIFT;
		part_of(bio)->since = kvp_slow_begin(leg);
		kvp_leg_choose_this(leg);
		kvp_leg_send(leg, bio);
	}
	put_read(k);
}

bool kvp_long_read(struct kvp_requests *r, struct bio *bio, const struct kvp_tpage *leaf,
		   void (*done)(struct kvp_requests *r, struct bio *bio, bool good))
{
	struct kvp_bio *k = kvp_bio_data(bio);
	struct cut c = { .r = r, .bio = bio, .count = kvp_bio_count(bio),
			 .segments = segments_of(bio) };
	u32 nr;

	/*
	 * Of a mixed read, blocks are about to go home. What a leg had that was passed over might
	 * have to be read anew, block by block.
	 */
	if (!kvp_stripe_read_begin(&c.read, leaf, kvp_bio_first(bio), c.count, !k->mixed))
		return false;
	while (!cut_for_legs(&c)) {
		/* With less memory, make none. kvp_read_anew() makes those of a leg that is out. */
		if (!c.read.rebuild)
			return false;
		kvp_stripe_read_only(&c.read);
	}
	nr = drop_junk_alone(&c.parts);
	if (!nr)
		return false;
	if (c.rebuild)
		c.rebuild->read = c.read;
	k->requests = r;
	k->long_done = done;
	k->rebuild = c.rebuild;
	k->lacks = c.read.lacking ? &leaf->v->legs[c.read.out] : NULL;
	k->passes = c.read.passes;
	send_parts(k, &c.parts, nr);
	return true;
}

/* --- making what a leg has that was not read ----------------------------------------------- */

/* What the XOR of a block that was not read needs. Blocks may lie in several segments. */
struct xor {
	struct bio *bio;
	struct bvec_iter iter;		/* of all that is read */
	const struct kvp_row_pages *rebuild;
};

/* Vector instructions want aligned data, and a reader's buffer need not be aligned. */
static void xor_bytes(u8 *to, u8 *from, u32 n)
{
	void *source = from;
	u64 a, b;

	if (IS_ALIGNED((unsigned long)to | (unsigned long)from | n, XOR_ALIGN)) {
		kvp_compat_xor(to, &source, 1, n);
		return;
	}
	for (; n >= sizeof(a); n -= sizeof(a), to += sizeof(a), from += sizeof(a)) {
		memcpy(&a, to, sizeof(a));
		memcpy(&b, from, sizeof(b));
		a ^= b;
		memcpy(to, &a, sizeof(a));
	}
	while (n--)
		*to++ ^= *from++;
}

/*
 * XOR bytes from @from into the reader's bytes at @iter, to the end of their piece. Returns how
 * many.
 */
static u32 xor_from(struct bio *bio, const struct bvec_iter *iter, u8 *from, u32 n)
{
	struct bio_vec bv = bio_iter_iovec(bio, *iter);
	u8 *to;

	n = min(n, bv.bv_len);
	to = bvec_kmap_local(&bv);
	xor_bytes(to, from, n);
	flush_dcache_page(bv.bv_page);
	kunmap_local(to);
	return n;
}

static void xor_own(struct xor *x, struct bvec_iter to, struct page *page)
{
	u32 done = 0, n;

	for (; done < KVP_BLOCK_SIZE; done += n) {
		n = xor_from(x->bio, &to, page_address(page) + done, KVP_BLOCK_SIZE - done);
		bio_advance_iter_single(x->bio, &to, n);
	}
}

static void xor_readers(struct xor *x, struct bvec_iter to, struct bvec_iter from, u32 bytes)
{
	u32 n;

	for (; bytes; bytes -= n) {
		struct bio_vec bv = bio_iter_iovec(x->bio, from);
		u8 *p = bvec_kmap_local(&bv);

		n = xor_from(x->bio, &to, p, min(bytes, bv.bv_len));
		kunmap_local(p);
		bio_advance_iter_single(x->bio, &to, n);
		bio_advance_iter_single(x->bio, &from, n);
	}
}

static struct bvec_iter iter_at(const struct xor *x, u32 slot)
{
	struct bvec_iter iter = x->iter;

	bio_advance_iter(x->bio, &iter, slot * KVP_BLOCK_SIZE);
	return iter;
}

static void xor_slots(void *to, u32 slot, u32 from, u32 nr)
{
	struct xor *x = to;
	u32 count = x->iter.bi_size >> KVP_BLOCK_SHIFT;

	if (from < count)
		xor_readers(x, iter_at(x, slot), iter_at(x, from), nr * KVP_BLOCK_SIZE);
	else
		for (; nr--; slot++, from++)
			xor_own(x, iter_at(x, slot), x->rebuild->own[from - count]);
}

u32 kvp_long_rebuild(struct kvp_requests *r, struct bio *bio, bool good)
{
	struct kvp_bio *k = kvp_bio_data(bio);
	struct kvp_row_pages *b = k->rebuild;
	struct xor x = { .bio = bio, .iter = k->iter, .rebuild = b };
	int made = good ? kvp_stripe_read_make(&b->read, xor_slots, &x) : -EIO;

	free_rebuild(r, b, kvp_stripe_read_own(&b->read));
	k->rebuild = NULL;
	if (made < 0)
		return 0;
	k->lacks = NULL;
	return made;
}

/* --- life ------------------------------------------------------------------------------- */

int kvp_long_reads_init(struct kvp_requests *r)
{
	u32 order = JUNK_ORDER;

	/*
	 * Allocate this also if no vdev has parity: such a vdev may be added while the pool runs.
	 * All reads share these pages, since no code looks at what comes there.
	 */
	for (; !r->junk; order--) {
		r->junk = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY,
				      order);
		r->junk_blocks = 1u << order;
		if (!order)
			break;
	}
	if (!r->junk)
		return -ENOMEM;
	return bioset_init(&r->long_bios, RESERVE, offsetof(struct part, bio), BIOSET_NEED_BVECS);
}

void kvp_long_reads_exit(struct kvp_requests *r)
{
	bioset_exit(&r->long_bios);
	if (r->junk)
		__free_pages(r->junk, ilog2(r->junk_blocks));
	r->junk = NULL;
}
