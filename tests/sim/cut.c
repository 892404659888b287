// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "kvpool_format.h"
#include "io/io.h"

static bool is_write(const struct trace_request *r)
{
	return r->op == KVP_IO_WRITE || r->op == KVP_IO_WRITE_FUA || r->op == KVP_IO_DISCARD;
}

static bool is_minor(u64 block)
{
	return block >= KVP_EVENTS_BLOCK && block < KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS;
}

/* --- hashed images -------------------------------------------------------------------- */

static u64 place_hash(u32 disk, u64 block, u32 s, struct blk *b)
{
	u64 sum = blk_sector_sum(b, s);

	return sum ? mix64(sum, (u64)disk << 48 | block << 3 | s) : 0;
}

static void hashed_write(struct image *img, u64 *hash, u32 disk, u64 block, struct blk *b, u8 mask)
{
	struct blk *old = image_blk(img, block);
	u32 s;

	if (!is_minor(block))
		for (s = 0; s < 8; s++)
			if (mask >> s & 1)
				*hash ^= place_hash(disk, block, s, old) ^
					 place_hash(disk, block, s, b);
	image_write(img, block, b, mask);
}

/* --- pending writes -------------------------------------------------------------------- */

static const struct trace_request *request_of(const struct cutter *c, const struct pending *p)
{
	return &c->t->requests[p->request];
}

static void add_pending(struct cutter *c, u32 request)
{
	const struct trace_request *r = &c->t->requests[request];
	struct pending *p = &c->p[c->nr++];

	if (c->nr == MAX_PENDING) {
		fprintf(stderr, "too many unflushed writes\n");
		abort();
	}
	*p = (struct pending){ .request = request, .minor = is_minor(r->block) };
	p->mask = malloc(r->nr);
	if (!p->mask)
		abort();
	memset(p->mask, ALL_SECTORS, r->nr);
}

static void drop_pending(struct cutter *c, u32 i)
{
	free(c->p[i].mask);
	memmove(&c->p[i], &c->p[i + 1], (--c->nr - i) * sizeof(c->p[0]));
}

/* An older write of these sectors, if it is still in the cache, can no longer appear. */
static void supersede_older(struct cutter *c, const struct pending *newer)
{
	const struct trace_request *r = request_of(c, newer);
	u32 i, b;

	for (i = 0; i < c->nr; i++) {
		const struct trace_request *o = request_of(c, &c->p[i]);

		if (o->disk != r->disk || o->submitted >= r->submitted)
			continue;
		for (b = 0; b < o->nr; b++)
			if (o->block + b >= r->block && o->block + b < r->block + r->nr)
				c->p[i].mask[b] &= ~newer->mask[o->block + b - r->block];
	}
}

static void make_durable(struct cutter *c, u32 i)
{
	struct pending *p = &c->p[i];
	const struct trace_request *r = request_of(c, p);
	u32 b;

	supersede_older(c, p);
	for (b = 0; b < r->nr; b++)
		hashed_write(&c->durable[r->disk], &c->hash, r->disk, r->block + b, r->data[b],
			     p->mask[b]);
	drop_pending(c, i);
}

static u32 find_pending(const struct cutter *c, u32 request)
{
	u32 i;

	for (i = 0; i < c->nr; i++)
		if (c->p[i].request == request)
			return i;
	abort();
}

static void end_write(struct cutter *c, u32 request)
{
	const struct trace_request *r = &c->t->requests[request];
	u32 i;

	if (r->lost)
		return;
	i = find_pending(c, request);
	if (r->error)
		c->p[i].suspect = true;
	else if (r->op == KVP_IO_WRITE_FUA)
		make_durable(c, i);
	else
		c->p[i].ended = true;
}

/* A flush covers writes that had ended when it was submitted. */
static void end_flush(struct cutter *c, const struct trace_request *f)
{
	u32 i = 0;

	/* If the device had no memory, or was busy, it was never issued. */
	if (f->lost || f->error == -ENOMEM || f->error == -EBUSY || f->error == -EAGAIN)
		return;
	while (i < c->nr) {
		struct pending *p = &c->p[i];
		const struct trace_request *r = request_of(c, p);

		if (r->disk != f->disk || !p->ended || p->suspect || r->ended > f->submitted) {
			i++;
		} else if (f->error) {
			p->suspect = true;
			i++;
		} else {
			make_durable(c, i);
		}
	}
}

/* --- walking ------------------------------------------------------------------------------ */

void cutter_init(struct cutter *c, const struct trace *t)
{
	u32 i;

	c->t = t;
	c->at = 0;
	c->hash = 0;
	c->nr = 0;
	for (i = 0; i < t->nr_disks; i++)
		image_copy(&c->durable[i], &t->start[i]);
}

void cutter_free(struct cutter *c)
{
	u32 i;

	while (c->nr)
		drop_pending(c, c->nr - 1);
	for (i = 0; i < c->t->nr_disks; i++)
		image_free(&c->durable[i]);
}

bool cutter_step(struct cutter *c)
{
	const struct trace_event *e;
	const struct trace_request *r;

	if (c->at == c->t->nr)
		return false;
	e = &c->t->events[c->at++];
	r = &c->t->requests[e->id];
	if (e->kind == TRACE_SUBMIT) {
		if (is_write(r) && !r->lost)
			add_pending(c, e->id);
	} else if (is_write(r)) {
		end_write(c, e->id);
	} else {
		end_flush(c, r);
	}
	return true;
}

void cutter_seek(struct cutter *c, u32 at)
{
	while (c->at < at && cutter_step(c))
		;
}

u32 cutter_majors(const struct cutter *c, u32 *which)
{
	u32 i, n = 0;

	for (i = 0; i < c->nr; i++)
		if (!c->p[i].minor)
			which[n++] = i;
	return n;
}

static u8 fate_mask(enum fate fate, struct rng *rng)
{
	switch (fate) {
	case FATE_KEPT:
		return ALL_SECTORS;
	case FATE_TORN:
		/* often a whole block of a longer write, else any of its sectors */
		switch (rng_below(rng, 4)) {
		case 0:
			return ALL_SECTORS;
		case 1:
			return 0;
		default:
			return (u8)rng_next(rng);
		}
	default:
		return 0;
	}
}

u64 cutter_images(const struct cutter *c, const u8 *fates, struct rng *rng, struct image *out)
{
	u64 hash = c->hash;
	u32 i, b, n = 0;

	for (i = 0; i < c->t->nr_disks; i++)
		image_copy(&out[i], &c->durable[i]);
	for (i = 0; i < c->nr; i++) {
		const struct pending *p = &c->p[i];
		const struct trace_request *r = request_of(c, p);
		enum fate fate = p->minor ? (enum fate)rng_below(rng, 3) : (enum fate)fates[n++];

		for (b = 0; b < r->nr; b++)
			hashed_write(&out[r->disk], &hash, r->disk, r->block + b, r->data[b],
				     p->mask[b] & fate_mask(fate, rng));
	}
	return hash;
}

void cutter_mixed(const struct cutter *c, u32 turn, struct rng *rng, struct image *out)
{
	u8 fates[MAX_PENDING];
	u32 i;

	for (i = 0; i < c->nr; i++)
		fates[i] = turn % 4 == 0 ? FATE_KEPT : turn % 4 == 1 ? FATE_DROPPED :
			rng_below(rng, 3);
	cutter_images(c, fates, rng, out);
}

void cut_trace(const struct trace *t, u32 at, u32 turn, struct rng *rng, struct image *out)
{
	struct cutter *c = malloc(sizeof(*c));

	cutter_init(c, t);
	cutter_seek(c, at);
	cutter_mixed(c, turn, rng, out);
	cutter_free(c);
	free(c);
}
