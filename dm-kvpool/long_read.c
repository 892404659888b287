// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device-mapper.h>

#include "format/stripe.h"
#include "io/inject.h"
#include "io/leg_queue.h"
#include "long_read.h"

#define JUNK_ORDER	4u	/* parity that nobody looks at: so much is a segment */
#define RESERVE		16

/* A request to one leg. */
struct part {
	struct kvp_leg *leg;
	bool data;			/* not only parity */
	struct bio bio;
};

/* A read being cut into parts; blocks are those of the vdev, from @first to @end. */
struct cut {
	struct kvp_requests *r;
	struct bio *bio;
	struct kvp_vdev *v;
	u64 first, end;
	struct kvp_leg *leg;		/* that parts are made for */
	struct bvec_iter iter;		/* of @bio, at block @at */
	u64 at;
	struct part *part;		/* the last one, if it may go on */
	u64 next;			/* on the leg, where it would go on */
	struct bio_list parts;
};

static struct part *part_of(struct bio *bio)
{
	return container_of(bio, struct part, bio);
}

/* --- making parts ----------------------------------------------------------------------- */

/* A part that begins at @block of the leg, for up to @blocks. */
static struct part *new_part(struct cut *c, u64 block, u32 blocks)
{
	/* A block may lie in two segments. */
	struct bio *bio = bio_alloc_bioset(c->leg->bdev, min_t(u32, 2 * blocks, BIO_MAX_VECS),
					   REQ_OP_READ | (c->bio->bi_opf & (REQ_SYNC | REQ_META | REQ_PRIO)),
					   GFP_NOWAIT | __GFP_NOWARN, &c->r->long_bios);

	if (!bio)
		return NULL;
	bio_clone_blkg_association(bio, c->bio);
	bio->bi_ioprio = c->bio->bi_ioprio;
	bio->bi_iter.bi_sector = block << KVP_SECTORS_SHIFT;
	part_of(bio)->leg = c->leg;
	part_of(bio)->data = false;
	bio_list_add(&c->parts, bio);
	return part_of(bio);
}

/* The part that goes on, or begins, at @block of the leg. */
static struct bio *part_at(struct cut *c, u64 block)
{
	if (!c->part || c->next != block)
		c->part = new_part(c, block, (u32)(c->end - c->first));
	return c->part ? &c->part->bio : NULL;
}

static bool add_parity(struct cut *c, u64 block, u32 blocks)
{
	struct bio *bio = part_at(c, block);
	u32 left = blocks, n;

	for (; bio && left; left -= n) {
		n = min(left, c->r->junk_blocks);
		if (!bio_add_page(bio, c->r->junk, n * KVP_BLOCK_SIZE, 0))
			return false;
	}
	c->next = block + blocks;
	return bio;
}

/* @blocks of data from @from on, which follow what was added for this leg before. */
static bool add_data(struct cut *c, u64 block, u64 from, u32 blocks)
{
	struct bio *bio = part_at(c, block);
	u32 left = blocks * KVP_BLOCK_SIZE;

	if (!bio)
		return false;
	bio_advance_iter(c->bio, &c->iter, (from - c->at) * KVP_BLOCK_SIZE);
	while (left) {
		struct bio_vec bv = bio_iter_iovec(c->bio, c->iter);
		u32 n = min(left, bv.bv_len);

		if (bio_add_page(bio, bv.bv_page, n, bv.bv_offset) != n)
			return false;
		bio_advance_iter_single(c->bio, &c->iter, n);
		left -= n;
	}
	c->part->data = true;
	c->at = from + blocks;
	c->next = block + blocks;
	return true;
}

/*
 * What the leg has of the stripe whose first block is @base. Parity of a stripe
 * that is read as a whole comes with it: so what follows one read is what the next
 * one begins with, and the device's queue can make one request of both.
 */
static bool add_stripe(struct cut *c, u64 base, u32 piece)
{
	const struct kvp_geometry *g = c->v->g;
	u32 chunk = g->chunk_blocks;
	u64 home = g->data_start + kvp_row_of(g, base), first, end;

	if (!piece) {
		if (!c->leg->rotational || base < c->first ||
		    base + kvp_stripe_blocks(g) > c->end)
			return true;
		return add_parity(c, home, chunk);
	}
	first = max(c->first, base + (piece - 1) * chunk);
	end = min(c->end, base + piece * chunk);
	return first >= end || add_data(c, home + first % chunk, first, (u32)(end - first));
}

static bool cut_for_leg(struct cut *c, u32 leg)
{
	u32 stripe = kvp_stripe_blocks(c->v->g);
	u64 base = c->first - c->first % stripe;

	c->leg = &c->v->legs[leg];
	c->iter = c->bio->bi_iter;
	c->at = c->first;
	c->part = NULL;
	for (; base < c->end; base += stripe)
		if (!add_stripe(c, base, kvp_stripe_piece_on(c->v->nr_legs, base / stripe, leg)))
			return false;
	return true;
}

static void drop_parts(struct bio_list *parts)
{
	struct bio *bio;

	while ((bio = bio_list_pop(parts)))
		bio_put(bio);
}

/* A read of one stripe wants nothing of the leg that has its parity. */
static u32 drop_parity_alone(struct bio_list *parts)
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
	struct bio *bio = dm_bio_from_per_bio_data(k, sizeof(*k));

	if (atomic_dec_and_test(&k->parts))
		k->long_done(k->requests, bio, !READ_ONCE(k->failed));
}

static void part_done(struct bio *bio)
{
	struct kvp_bio *k = bio->bi_private;

	if (bio->bi_status || kvp_injected(part_of(bio)->leg, KVP_FAULT_READ))
		WRITE_ONCE(k->failed, true);
	kvp_leg_unchoose(part_of(bio)->leg);
	bio_put(bio);
	put_read(k);
}

static void send_parts(struct kvp_bio *k, struct bio_list *parts, u32 nr)
{
	struct bio *bio;

	/* One is ours. */
	atomic_set(&k->parts, nr + 1);
	k->failed = false;
	while ((bio = bio_list_pop(parts))) {
		struct kvp_leg *leg = part_of(bio)->leg;

		bio->bi_private = k;
		bio->bi_end_io = part_done;
		kvp_leg_choose_this(leg);
		kvp_leg_send(leg, bio);
	}
	put_read(k);
}

bool kvp_long_read(struct kvp_requests *r, struct bio *bio, const struct kvp_tpage *leaf,
		   void (*done)(struct kvp_requests *r, struct bio *bio, bool good))
{
	struct kvp_bio *k = dm_per_bio_data(bio, sizeof(*k));
	struct cut c = { .r = r, .bio = bio, .v = leaf->v };
	u32 leg;

	c.first = kvp_vdev_block(leaf, bio->bi_iter.bi_sector >> KVP_SECTORS_SHIFT);
	c.end = c.first + (bio_sectors(bio) >> KVP_SECTORS_SHIFT);
	for (leg = 0; leg < c.v->nr_legs; leg++)
		if (!cut_for_leg(&c, leg)) {
			drop_parts(&c.parts);
			return false;
		}
	k->requests = r;
	k->long_done = done;
	send_parts(k, &c.parts, drop_parity_alone(&c.parts));
	return true;
}

bool kvp_long_read_whole(const struct kvp_vdev *v)
{
	return kvp_vdev_usable(v) == v->nr_legs;
}

/* --- life ------------------------------------------------------------------------------- */

int kvp_long_reads_init(struct kvp_requests *r)
{
	u32 order = JUNK_ORDER;

	/*
	 * Also where no vdev has parity: one that has may be added while this runs.
	 * One for all: what comes there is not looked at.
	 */
	for (; !r->junk; order--) {
		r->junk = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY, order);
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
