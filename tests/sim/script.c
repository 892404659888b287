// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "script.h"

/* turns that may be spoilt, before the case is one that is never set up */
#define MAX_SPOILT	4

void script_note_lost(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&pool->legs[i]))
			s->crash.lost |= BIT(i);
}

void script_start(struct script *s)
{
	s->refused = host_start(&s->host, &s->o, &s->start);
	if (!s->refused)
		s->start.format = false;	/* the pool is made once */
	else if (!s->c->may_refuse)
		sim_fail("start: %s", s->host.refusal.why);
}

static void script_main(void *arg)
{
	struct script *s = arg;

	disks.cut_at = s->power_at;
	if (s->c->prepare)
		s->c->prepare(s);
	script_start(s);
	if (s->c->tried)
		s->c->tried(s);
	if (s->refused)
		return;
	s->from = disks.trace.nr;
	if (s->c->begin)
		s->c->begin(s);
	if (s->act)
		s->act(s);
	if (s->c->end)
		s->c->end(s);
	if (s->stop)
		host_stop(&s->host);
}

bool script_live_on(struct script *s, const struct image *img, void (*act)(struct script *s),
		    bool leave)
{
	s->act = act;
	s->stop = !leave;
	s->lives++;
	return run_machine(img, s->disks, s->c->life_seeds ? mix64(s->seed, s->lives) : s->seed,
			   script_main, s);
}

bool script_live(struct script *s, void (*act)(struct script *s), bool leave)
{
	return script_live_on(s, s->img, act, leave);
}

struct trace script_take_trace(void)
{
	struct trace trace = disks.trace;

	memset(&disks.trace, 0, sizeof(disks.trace));
	return trace;
}

void script_free_disks(const struct script *s, struct image *img)
{
	u32 i;

	for (i = 0; i < s->disks; i++)
		image_free(&img[i]);
}

void script_blank_disks(struct script *s, u32 first, u32 n, u32 blocks)
{
	u32 i;

	for (i = first; i < first + n; i++)
		image_free(&s->img[i]);
	blank_disks(s->img + first, n, blocks);
}

void script_keep(struct script *s)
{
	u32 i;

	script_free_disks(s, s->img);
	for (i = 0; i < s->disks; i++)
		image_copy(&s->img[i], &disks.img[i]);
}

void script_cut(struct script *s, u32 at, u32 turn, struct rng *rng)
{
	script_free_disks(s, s->img);
	cut_trace(&disks.trace, at, turn, rng, s->img);
}

/* The base pool does not know of the blank disks. */
static const struct base *base_of(const struct script_case *c)
{
	struct host_start shape = *c->shape;

	shape.blank = 0;
	return c->blank ? NULL : base_for(&shape);
}

void script_anew(struct script *s)
{
	const struct host_start *shape = s->c->shape;
	const struct base *base = base_of(s->c);

	oracle_free(&s->o);
	if (base)
		oracle_copy(&s->o, &base->o);
	else
		oracle_init(&s->o, s->c->blocks ?: POOL_BLOCKS);
	s->crash = (struct crash){ .legs = s->legs, .parity = shape->parity,
				   .second = shape->second, .second_parity = shape->second_parity,
				   .cache = shape->cache, .cache_parity = shape->cache_parity,
				   .spare = s->disks - s->legs, .o = &s->o };
}

static void get_disks(struct script *s)
{
	const struct base *base = base_of(s->c);
	u32 ssd = s->legs - s->start.cache, i;

	blank_disks(s->img, s->disks, s->c->blank ?: POOL_LEG_BLOCKS);
	for (i = 0; base && i < s->legs; i++) {
		struct image *img = &s->img[i < ssd ? i : i + s->start.blank];

		image_free(img);
		image_copy(img, &base->img[i]);
	}
}

static void set_up(struct script *s)
{
	s->start = *s->c->shape;
	s->start.format = s->c->blank != 0;
	s->legs = s->start.legs;
	s->disks = s->legs + s->start.blank + s->c->spares;
	s->cuts = s->c->cuts;
	s->depth = s->c->depth;
	if (s->c->own)
		memset(s->c->own, 0, s->c->own_size);
	script_anew(s);
	get_disks(s);
	if (s->c->set_up)
		s->c->set_up(s);
}

bool script_step(struct script *s)
{
	sim_turn = s->steps++;
	return opt.turn < 0 || opt.turn == sim_turn;
}

bool script_check_cuts(struct script *s)
{
	u32 from = s->cuts == SCRIPT_AT_THE_END ? disks.trace.nr : s->from;

	return s->spoilt || s->untraced || !s->cuts ||
	       !cut_sampled(s->c->name, &s->crash, from, s->depth, s->cuts);
}

static bool play(struct script *s)
{
	if (s->c->play)
		return s->c->play(s);
	return script_live(s, s->c->act, s->c->leave) && script_check_cuts(s) &&
	       (!s->c->after || s->c->after(s));
}

/* The command line asks for one step of the case, and it has so many. */
static bool has_step(const struct script *s)
{
	return opt.turn < (s64)s->steps || unexpected(__FILE__, __LINE__, "%u steps", s->steps);
}

static bool take_turn(const struct script_case *c, u32 turn, bool *spoilt)
{
	struct script s = { .c = c, .turn = turn };
	bool good;

	s.seed = c->first_plain && !turn ? opt.seed : mix64(opt.seed, c->salt + turn);
	sim_turn = turn;
	set_up(&s);
	good = play(&s) && (!c->stepwise || has_step(&s));
	if (!good)
		fprintf(stderr, "# %s: turn %u, life %u\n", c->name, turn, s.lives);
	*spoilt = s.spoilt;
	if (c->clean_up)
		c->clean_up(&s);
	script_free_disks(&s, s.img);
	oracle_free(&s.o);
	return good;
}

static bool take_turns(const struct script_case *c)
{
	u32 turns = opt.rounds ?: c->turns, spoilt = 0, i;
	bool good = true, again;

	if (c->most)
		turns = min(turns, c->most);
	if (!turns)
		return false;	/* it would pass without a turn */
	if (opt.turn >= 0 && !c->stepwise)
		return take_turn(c, (u32)opt.turn, &again) && !again;
	for (i = 0; good && i < turns + spoilt; i++) {
		good = take_turn(c, i, &again);
		spoilt += again;
		good &= spoilt < MAX_SPOILT;
	}
	return good;
}

void script_run(const struct script_case *c)
{
	u32 images = opt.images;
	bool good;

	if (!wanted(c->name))
		return;
	if (c->images)
		opt.images = min(opt.images, c->images);
	good = take_turns(c);
	opt.images = images;
	result(c->name, good);
	sim_turn = -1;
}
