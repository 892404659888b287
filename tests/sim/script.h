/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scripts: the frame of a test that is one or a few lives of a pool with a cache, and their runner.
 *
 * A suite describes a case by struct script_case, and script_run() runs it: as often as that says,
 * with another seed each time, on the disks of the base pool of that shape. A life is a start, and
 * what the script does; script_live() may be called again for the next life, on what the last one
 * left. What a suite has to remember besides, it keeps in a variable of its own (@own), which is
 * zeroed for each turn.
 */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "suite.h"

/**
 * struct script - one turn of a case
 * @host: of the life that goes on, or went on last
 * @start: how it starts; a script may change that between two lives
 * @o: what blocks may hold
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
 * @name: all of it, with the suite's
 * @shape: of the pool
 * @begin: what is done first in each life; or NULL
 * @act: what is done in the first life, once the pool has started
 * @leave: the first life ends as @act leaves it; else the pool is stopped then
 * @after: goes on after the first life, with script_live() perhaps; or NULL. False: it failed
 * @turns: so many, unless the command line says another number
 * @cuts: cut the trace of the first life at about so many positions; 0: not at all
 * @images: at one position, at most; 0: as the command line says
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

/** script_run() - all turns of a case, if it is wanted */
void script_run(const struct script_case *c);

/**
 * script_live() - a life: start on s->img, @act, and a stop unless @leave; s->img does not change
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
