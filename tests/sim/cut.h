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
	bool ended;
	bool suspect;		/* it, or a flush of it, failed: no later flush covers it */
	bool minor;		/* an event line: nothing else depends on it */
	u8 *mask;		/* by block: its sectors that no newer write has replaced */
};

struct cutter {
	const struct trace *t;
	u32 at;			/* number of events that have happened */
	struct image durable[MAX_DISKS];
	u64 hash;		/* a hash of the durable images */
	struct pending p[MAX_PENDING];
	u32 nr;
};

void cutter_init(struct cutter *c, const struct trace *t);
void cutter_free(struct cutter *c);
/** cutter_step() - go on by one event; false at the end of the trace */
bool cutter_step(struct cutter *c);
void cutter_seek(struct cutter *c, u32 at);
/** cutter_majors() - list the pending writes that are not minor, by their places in p[] */
u32 cutter_majors(const struct cutter *c, u32 *which);
/**
 * cutter_images() - make the images after a cut at this position
 * @fates: the fate of each write that cutter_majors() lists
 * @rng: decides the fate of minor writes, and where writes are torn
 *
 * Return: a hash of the images, without minor writes.
 */
u64 cutter_images(const struct cutter *c, const u8 *fates, struct rng *rng, struct image *out);
/**
 * cutter_mixed() - make images after a cut at this position, others with each @turn
 * @turn: of four turns in a row, one keeps all writes, one drops all, and two mix and tear them
 */
void cutter_mixed(const struct cutter *c, u32 turn, struct rng *rng, struct image *out);
/** cut_trace() - cutter_mixed() after a cut of @t at position @at */
void cut_trace(const struct trace *t, u32 at, u32 turn, struct rng *rng, struct image *out);

#endif
