// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "script.h"

static void script_main(void *arg)
{
	struct script *s = arg;

	if (host_start(&s->host, &s->o, &s->start))
		sim_fail("start: %s", s->host.refusal.why);
	s->served = disks.trace.nr;
	if (s->begin)
		s->begin(s);
	s->act(s);
	if (s->stop)
		host_stop(&s->host);
}

bool script_live(struct script *s, void (*act)(struct script *s), bool leave)
{
	s->act = act;
	s->stop = !leave;
	return run_machine(s->img, s->legs, s->seed, script_main, s);
}

static bool cut_first_life(const struct script_case *c, struct script *s)
{
	struct crash crash = { .legs = s->legs, .parity = s->start.parity, .cache = s->start.cache,
			       .cache_parity = s->start.cache_parity, .o = &s->o };

	return !cut_sampled(c->name, &crash, s->served, CHECK_RECRASH, c->cuts);
}

static bool take_turn(const struct script_case *c, const struct base *base, u64 seed)
{
	struct script s = { .start = *c->shape, .legs = base->legs, .seed = seed,
		.begin = c->begin };
	bool good;
	u32 i;

	if (c->own)
		memset(c->own, 0, c->own_size);
	oracle_copy(&s.o, &base->o);
	for (i = 0; i < s.legs; i++)
		image_copy(&s.img[i], &base->img[i]);
	good = script_live(&s, c->act, c->leave);
	if (good && c->cuts)
		good = cut_first_life(c, &s);
	if (good && c->after)
		good = c->after(&s);
	for (i = 0; i < s.legs; i++)
		image_free(&s.img[i]);
	oracle_free(&s.o);
	return good;
}

void script_run(const struct script_case *c)
{
	u32 images = opt.images, i;
	const struct base *base;
	bool good = true;

	if (!wanted(c->name))
		return;
	base = base_cache(c->shape);
	if (c->images)
		opt.images = min(opt.images, c->images);
	for (i = 0; good && i < (opt.rounds ?: c->turns); i++)
		good = take_turn(c, base, mix64(opt.seed, i));
	opt.images = images;
	result(c->name, good);
}
