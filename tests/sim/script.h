/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scripts: the frame of a test that is one or a few lives of a pool, and their runner.
 *
 * A suite describes a case by struct script_case. script_run() runs it in several turns, each with
 * another seed. The disks are those of the base pool of that shape, or are blank, and there may be
 * blank ones beside them. A life is a start, and all that the script does after it. script_live()
 * makes a further life, on the disks in s->img. A suite has a variable of its own (@own) for all
 * else that it remembers. It is zeroed for each turn.
 */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "suite.h"

/* struct script_case.cuts: a cut at each position */
#define SCRIPT_EVERYWHERE	~0u
/* the same: one cut, where the life ended */
#define SCRIPT_AT_THE_END	(~0u - 1)

/**
 * struct script - one turn of a case
 * @c: the case
 * @host: the users of the pool, in this life or the last one
 * @start: how a life starts; a script may change that between two lives
 * @o: the contents that blocks may have
 * @crash: what the checks after a cut of the first life are told; a script adds what it did
 * @img: the disks, as the next life finds them
 * @legs: number of legs that the pool has at first
 * @disks: number of disks: these legs and the blank disks beside them
 * @seed: of this turn
 * @turn: number of this turn, from 0
 * @lives: number of lives that have begun
 * @from: the place in the trace at which the last life had started; a script that is to be cut
 *	from a later place on sets it
 * @cuts, @depth: as in the case; a script may change them in the first life
 * @power_at: the next life ends with a power cut when its trace is so long; 0: with none
 * @steps: number of steps that have begun, with @stepwise
 * @refused: the error of the last start; 0: there was none
 * @untraced: set by the script: it changed contents of disks, and the trace does not show it. So
 *	there are no cuts
 * @spoilt: set by the script: the order of events missed the situation under test, so this turn
 *	does not count
 */
struct script {
	const struct script_case *c;
	struct host host;
	struct host_start start;
	struct oracle o;
	struct crash crash;
	struct image img[MAX_DISKS];
	u32 legs, disks;
	u64 seed;
	u32 turn, lives;
	u32 from, cuts;
	enum check_depth depth;
	u32 power_at, steps;
	int refused;
	bool untraced, spoilt;
	void (*act)(struct script *s);
	bool stop;
};

/**
 * struct script_case - a case
 * @name: the whole name, which begins with the suite's
 * @shape: the shape of the pool. If @shape->blank is set, there are so many blank disks in front of
 *	those of the cache
 * @spares: number of blank disks behind all others
 * @blank: all disks are blank, and have so many blocks: the first start makes the pool; 0: the legs
 *	are those of the base pool
 * @blocks: with @blank, number of blocks whose contents are known; 0: POOL_BLOCKS
 * @set_up: called first in each turn, outside of a machine, and may change s->start; or NULL
 * @clean_up: called last in each turn; or NULL
 * @prepare: called in each life before its start, as for faults; or NULL
 * @may_refuse: a start that is refused is no failure; that life is a start only
 * @tried: called in each life after its start, also if that was refused; or NULL
 * @begin: called first in each life, when the pool has started; or NULL
 * @act: called in the first life, once the pool has started; it is that turn unless @play is set
 * @end: called last in each life, before the stop; or NULL
 * @leave: the first life ends without a stop of the pool
 * @after: called after the first life, and may call script_live(); or NULL. False: the case failed
 * @play: the whole turn, in place of @act and @after. It calls script_live(). False: it failed
 * @then: what @after or @play does in another life, if cases differ in that; or NULL
 * @turns: number of turns, unless the command line gives another one
 * @most: no more turns than that, though the command line asks for them; 0: any number
 * @salt: number that sets the seeds of turns apart from those of other suites
 * @stepwise: there is one turn, of many steps, which differ in their faults: see script_step()
 * @first_plain: the first turn has the seed of the command line
 * @life_seeds: each life of a turn has a seed of its own
 * @cuts: cut the trace of the first life at about so many positions; 0: not at all
 * @depth: how much is done with an image of a cut
 * @images: the most images at one position; 0: as the command line says
 * @own, @own_size: zeroed for each turn; or NULL
 */
struct script_case {
	const char *name;
	const struct host_start *shape;
	u32 spares, blank, blocks;
	void (*set_up)(struct script *s);
	void (*clean_up)(struct script *s);
	void (*prepare)(struct script *s);
	bool may_refuse;
	void (*tried)(struct script *s);
	void (*begin)(struct script *s);
	void (*act)(struct script *s);
	void (*end)(struct script *s);
	bool leave;
	bool (*after)(struct script *s);
	bool (*play)(struct script *s);
	void (*then)(struct script *s);
	u32 turns, most, salt;
	bool stepwise, first_plain, life_seeds;
	u32 cuts;
	enum check_depth depth;
	u32 images;
	void *own;
	size_t own_size;
};

/** script_run() - run all turns of a case, if the command line asks for it */
void script_run(const struct script_case *c);

/**
 * script_live() - run a life: start on s->img, call @act, and stop unless @leave
 * @act: or NULL
 *
 * s->img does not change.
 *
 * Return: false if it failed.
 */
bool script_live(struct script *s, void (*act)(struct script *s), bool leave);

/** script_live_on() - the same on other disks */
bool script_live_on(struct script *s, const struct image *img, void (*act)(struct script *s),
		    bool leave);

/**
 * script_step() - begin a step of a turn
 *
 * A failure prints the step as a turn. A step needs nothing that steps before it have done.
 *
 * Return: false if the command line asks for another one. Then the script leaves this one out.
 */
bool script_step(struct script *s);

/** script_all_steps() - true unless the command line asks for one step */
static inline bool script_all_steps(void)
{
	return opt.turn < 0;
}

/** script_take_trace() - the trace of the last life, which the caller frees */
struct trace script_take_trace(void);

/** script_free_disks() - free as many images as there are disks */
void script_free_disks(const struct script *s, struct image *img);

/** script_blank_disks() - put other blank disks, of @blocks, in the place of @n from @first on */
void script_blank_disks(struct script *s, u32 first, u32 n, u32 blocks);

/** script_keep() - the next life finds the disks as the last one left them */
void script_keep(struct script *s);

/**
 * script_cut() - the next life finds the disks as a power cut left them
 * @at: position in the trace of the last life
 * @turn, @rng: as in cutter_mixed()
 */
void script_cut(struct script *s, u32 at, u32 turn, struct rng *rng);

/**
 * script_check_cuts() - cut the trace of the last life, from s->from on, as the case says
 *
 * A script calls it only if it plays by itself. Return: false if an image is bad.
 */
bool script_check_cuts(struct script *s);

/** script_anew() - the contents, and what checks are told, are those of the turn's begin again */
void script_anew(struct script *s);

/** script_cut_from_here() - only what is done from now on is cut */
static inline void script_cut_from_here(struct script *s)
{
	s->from = disks.trace.nr;
}

/** script_note_lost() - legs that are not in sync are lost: checks after a cut do without them */
void script_note_lost(struct script *s);

/** script_start() - within a life: start the pool, which was stopped, as s->start says now */
void script_start(struct script *s);

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
