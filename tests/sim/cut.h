/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of the disks after a power cut. This code walks along a trace. At each position it
 * knows which writes are durable for certain, and which may be there in whole, in part or not at
 * all. It makes images of any such choice.
 */
#ifndef SIM_CUT_H
#define SIM_CUT_H

#include "disk.h"

#define MAX_PENDING 8192

enum fate { FATE_DROPPED, FATE_KEPT, FATE_TORN };

struct pending {
	u32 request;
	bool ended, suspect;	/* suspect: a failed flush or write; no later flush covers it */
	bool minor;		/* an event line: of no importance to anything else */
	u8 *mask;		/* of each block: sectors that nothing newer has replaced */
};

struct cutter {
	const struct trace *t;
	u32 at;			/* so many events have happened */
	struct image durable[MAX_DISKS];
	u64 hash;		/* of the durable images */
	struct pending p[MAX_PENDING];
	u32 nr;
};

void cutter_init(struct cutter *c, const struct trace *t);
void cutter_free(struct cutter *c);
/** cutter_step() - one event further; false at the end */
bool cutter_step(struct cutter *c);
void cutter_seek(struct cutter *c, u32 at);
/** cutter_majors() - indices into p[] of the writes that matter */
u32 cutter_majors(const struct cutter *c, u32 *which);
/**
 * cutter_images() - images after a cut here
 * @fates: one for each of the majors
 * @rng: for tears, and for the fate of the minor ones
 *
 * Returns a hash of what matters of them.
 */
u64 cutter_images(const struct cutter *c, const u8 *fates, struct rng *rng, struct image *out);
/**
 * cutter_mixed() - images after a cut here, for a caller that makes one after the other
 * @turn: of four turns one has all kept, one all dropped, and two any mixture, with tears
 */
void cutter_mixed(const struct cutter *c, u32 turn, struct rng *rng, struct image *out);
/** cut_trace() - the same after a cut of @t at @at */
void cut_trace(const struct trace *t, u32 at, u32 turn, struct rng *rng, struct image *out);

#endif
