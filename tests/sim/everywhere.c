// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every cut of a trace. Only two kinds of events make a difference. If an event submits a write,
 * all images that have a part of the write are new. If a write is acknowledged, the rules are
 * stricter, so all images are checked again. So only those positions are checked, and no image is
 * checked twice under the same rules.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "io/io.h"

#define ALL_SUBSETS	12u
#define SEEN_BITS	16

struct seen {
	u64 *slots;
	u32 nr;
};

/* True if @key was there; forgets everything rather than grow without end. */
static bool seen_before(struct seen *s, u64 key)
{
	u32 i = key >> (64 - SEEN_BITS);

	if (s->nr > 1u << (SEEN_BITS - 1)) {
		memset(s->slots, 0, sizeof(u64) << SEEN_BITS);
		s->nr = 0;
	}
	for (; s->slots[i]; i = (i + 1) & ((1u << SEEN_BITS) - 1))
		if (s->slots[i] == key)
			return true;
	s->slots[i] = key;
	s->nr++;
	return false;
}

struct walk {
	const char *name;
	struct crash *crash;
	struct cutter *cut;
	struct seen seen;
	enum check_depth depth;
	struct rng rng;
	u32 acks, bad, checked;
	u32 turn;		/* for choices that take turns */
	u32 one_in;		/* look at one position in so many; 1: at all */
};

/*
 * One position is replayed by walking as if all were looked at: its choices depend on those before.
 */
static bool asked_for(const struct walk *w)
{
	return opt.crash < 0 || opt.crash == w->cut->at;
}

static void check_choice(struct walk *w, const u8 *fates)
{
	struct image images[MAX_DISKS];
	struct crash c = *w->crash;
	u64 hash = cutter_images(w->cut, fates, &w->rng, images);
	u32 i;

	if (seen_before(&w->seen, mix64(hash, w->acks) | 1)) {
		check_stats.duplicates++;
	} else {
		c.images = images;
		c.at = w->cut->at;
		if (c.back_at && c.at >= c.back_at)
			c.lost &= ~c.back;
		if (c.leaves && c.at >= c.left_at)
			c.lost |= c.leaves;
		c.seed = mix64(opt.seed, mix64(w->cut->at, w->checked));
		/* the expensive checks, for some of them */
		if (asked_for(w))
			w->bad += check_crash(&c, !w->depth ? CHECK_CONTENTS :
					      w->checked % 5 == 0 ? w->depth :
					      w->checked % 5 == 2 || w->crash->parity ||
					      w->crash->each_leg ?
					      CHECK_LEGS :
					      CHECK_CONTENTS);
		w->checked++;
		if (w->bad)
			print_replay(stderr, w->name, c.at);
	}
	for (i = 0; i < w->crash->legs + w->crash->spare; i++)
		image_free(&images[i]);
}

/* The fate of the newest write is never "dropped" unless @all. */
static void subset(u8 *fates, u32 n, u32 bits, bool all)
{
	u32 i;

	for (i = 0; i < n; i++)
		fates[i] = i < 32 && bits >> i & 1 ? FATE_KEPT : FATE_DROPPED;
	if (!all && n)
		fates[n - 1] = FATE_KEPT;
}

static void random_fates(struct walk *w, u8 *fates, u32 n, bool all)
{
	u32 i;

	for (i = 0; i < n; i++)
		fates[i] = rng_below(&w->rng, 3);
	if (!all && n && fates[n - 1] == FATE_DROPPED)
		fates[n - 1] = FATE_TORN;
}

static void choices_here(struct walk *w, bool all)
{
	u32 which[MAX_PENDING], n = cutter_majors(w->cut, which), i;
	u32 bits = all ? n : n ? n - 1 : 0, subsets, tried = 0;
	u8 fates[MAX_PENDING];

	subsets = bits <= ALL_SUBSETS ? 1u << bits : 0;
	if (subsets && subsets <= opt.images) {
		for (i = 0; !w->bad && i < subsets; i++, tried++) {
			subset(fates, n, i, all);
			check_choice(w, fates);
		}
		/* and tears */
		for (i = 0; !w->bad && n && i < 1 + opt.images / 8; i++) {
			random_fates(w, fates, n, all);
			check_choice(w, fates);
		}
		return;
	}
	/*
	 * All kept, all dropped, and any mixture. Where few are asked for they take turns, from
	 * position to position.
	 */
	for (tried = 0; !w->bad && tried < opt.images; tried++) {
		switch (opt.images < 3 ? (tried + w->turn) % 3 : tried) {
		case 0:
			memset(fates, FATE_KEPT, n);
			break;
		case 1:
			subset(fates, n, 0, all);
			break;
		default:
			random_fates(w, fates, n, all);
		}
		check_choice(w, fates);
	}
	w->turn += opt.images;
}

static bool submitted_write(const struct cutter *c)
{
	const struct trace_event *e = &c->t->events[c->at - 1];
	const struct trace_request *r = &c->t->requests[e->id];

	return e->kind == TRACE_SUBMIT && r->op != KVP_IO_FLUSH && !r->lost &&
	       !(r->block >= KVP_EVENTS_BLOCK && r->block < KVP_ORDERS_BLOCK + KVP_ORDERS_BLOCKS);
}

static void look_here(struct walk *w, bool first)
{
	u32 acks = oracle_acks_before(w->crash->o, w->cut->at);
	bool stricter = first || acks != w->acks || w->cut->at == w->cut->t->nr,
		by_order = opt.crash == w->cut->at;

	w->acks = acks;
	if (opt.crash >= 0 && opt.crash < w->cut->at)
		return;
	if (w->one_in > 1 && rng_below(&w->rng, w->one_in) && w->cut->at != w->cut->t->nr &&
	    !by_order)
		return;
	/* If nothing changed, all choices are for the caller's order: they were checked before. */
	if (stricter || submitted_write(w->cut) || by_order || w->one_in > 1)
		choices_here(w, stricter || !submitted_write(w->cut) || w->one_in > 1);
}

static u32 walk_trace(const char *name, struct crash *proto, u32 from, enum check_depth depth,
		      u32 one_in)
{
	struct trace t = disks.trace;
	struct walk w = { .name = name, .crash = proto, .depth = depth, .one_in = one_in };

	memset(&disks.trace, 0, sizeof(disks.trace));
	w.rng.s = mix64(opt.seed, 31337);
	w.cut = malloc(sizeof(*w.cut));
	w.seen.slots = calloc(1u << SEEN_BITS, sizeof(u64));
	cutter_init(w.cut, &t);
	cutter_seek(w.cut, from);
	look_here(&w, true);
	while (!w.bad && cutter_step(w.cut))
		look_here(&w, false);
	cutter_free(w.cut);
	free(w.cut);
	free(w.seen.slots);
	trace_free(&t);
	return w.bad;
}

u32 cut_everywhere(const char *name, struct crash *proto, u32 from, enum check_depth depth)
{
	return walk_trace(name, proto, from, depth, 1);
}

u32 cut_sampled(const char *name, struct crash *proto, u32 from, enum check_depth depth,
		u32 positions)
{
	u32 span = disks.trace.nr > from ? disks.trace.nr - from : 1;

	return walk_trace(name, proto, from, depth, positions == ~0u ? 1 :
			  max(2u, span / positions));
}
