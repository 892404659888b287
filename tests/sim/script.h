/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scripts: the frame of a test that is one or a few lives of a pool with a cache, and their runner.
 *
 * A suite describes a case by struct script_case. script_run() runs it in several turns, each with
 * another seed, on the disks of the base pool of that shape. A life is a start, and all that the
 * script does after it. script_live() makes a further life, on the disks as the last one left them.
 * A suite has a variable of its own (@own) for all else that it remembers. It is zeroed for each
 * turn.
 */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "suite.h"

/**
 * struct script - one turn of a case
 * @host: the users of the pool, in this life or the last one
 * @start: how a life starts; a script may change that between two lives
 * @o: the contents that blocks may have
 * @img: the disks, as the next life finds them
 * @legs: number of disks
 * @seed: of this turn
 * @served: the place in the trace at which the last life had started
 */
struct script {
	struct host host;
	struct host_start start;
	struct oracle o;
	struct image img[MAX_DISKS];
	u32 legs;
	u64 seed;
	u32 served;
	void (*begin)(struct script *s);
	void (*act)(struct script *s);
	bool stop;
};

/**
 * struct script_case - a case
 * @name: the whole name, which begins with the suite's
 * @shape: the shape of the pool
 * @begin: called first in each life; or NULL
 * @act: called in the first life, once the pool has started
 * @leave: the first life ends without a stop of the pool
 * @after: called after the first life, and may call script_live(); or NULL. False: the case failed
 * @turns: number of turns, unless the command line gives another one
 * @cuts: cut the trace of the first life at about so many positions; 0: not at all
 * @images: the most images at one position; 0: as the command line says
 * @own, @own_size: zeroed for each turn; or NULL
 */
struct script_case {
	const char *name;
	const struct host_start *shape;
	void (*begin)(struct script *s);
	void (*act)(struct script *s);
	bool leave;
	bool (*after)(struct script *s);
	u32 turns, cuts, images;
	void *own;
	size_t own_size;
};

/** script_run() - run all turns of a case, if the command line asks for it */
void script_run(const struct script_case *c);

/**
 * script_live() - run a life: start on s->img, call @act, and stop unless @leave
 *
 * s->img does not change.
 *
 * Return: false if it failed.
 */
bool script_live(struct script *s, void (*act)(struct script *s), bool leave);

/** script_first_ssd() - the number of the cache's first leg */
static inline u32 script_first_ssd(const struct script *s)
{
	return s->legs - s->start.cache;
}

/** script_ssd() - leg @n of the cache */
static inline struct kvp_leg *script_ssd(struct script *s, u32 n)
{
	return host_leg(&s->host, script_first_ssd(s) + n);
}

#endif
