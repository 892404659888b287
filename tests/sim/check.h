/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for the images after a power cut: the pool starts, every block holds a version that the
 * oracle allows, and it stays so.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "cut.h"
#include "users.h"

/*
 * The state of the pool when the power went, and what a start from there may do. Masks have a bit
 * for each leg, unless another thing is named. A field whose name ends in _at is a position in the
 * trace: what it says holds for cuts from that position on.
 */
struct crash {
	const struct image *images;	/* the disks after the cut */
	/* the shape of the pool: as in struct host_start */
	u32 legs;
	bool parity;
	u32 second;
	bool second_parity;
	u32 cache;
	bool cache_parity;
	const u8 *on;
	u32 swapped;
	u32 spare;		/* number of disks that are no legs */

	struct oracle *o;	/* the allowed contents */
	u32 at;			/* where the trace was cut */
	u64 seed;

	/* Legs: */
	u32 lost;		/* died, or was taken offline before the cut */
	/* the loss is recorded, so it costs no block; 0: it may cost some (R7) */
	u32 recorded_at;
	u32 back, back_at;	/* was lost, and is in sync again; back_at 0: does not return */
	u32 leaves, left_at;	/* was replaced, and is out; leaves 0: no leg was */
	bool returns;		/* online_auto is set: legs that are out get all at a start */
	u32 unreadable;		/* cannot be a source at all */
	u32 given_up;		/* a write to it failed, and that was recorded at some time */

	/* What a look at the contents may find: */
	bool ill;		/* a start with faults came before: a refusal may give any reason */
	bool poison_allowed;	/* reads of some blocks may end with EIO */
	/* but not reads of these blocks, for cuts from sound_at on */
	u64 sound, sound_count;
	u32 sound_at;
	bool astray;		/* home writes were lost or misplaced, and no code noticed it: so */
				/* blocks in flight by intent may hold anything (R5) */
	u64 rotten;		/* bit per disk: has wrong contents that no code has noticed yet */
	bool heal_allowed;	/* the scrub may find faults */

	/* A change of the pool was under way: */
	bool growing;		/* the pool became larger, or has not the size of most pools here */
	u32 grown_at;		/* the pool must be larger */
	u64 grown_from;		/* blocks that the pool had; 0: a vdev was being added */
	/* a mirror was getting one leg more or less: its shape before that */
	const struct host_start *before;
	u32 changes_at;		/* the mirror has its new shape */
	/* number of a disk, + 1, that is to take the place of a leg of a parity1; 0: none */
	u32 shadow;
	const u8 *taken_on;	/* the disks of the legs after it has taken the place */
	/* the cache has other SSDs; ~0: it is not known from when on; 0: no SSD changes */
	u32 swaps_at;
	u32 old_cache;		/* the number of its SSDs before that */
	bool old_lost;		/* one of its old SSDs was out of use */
	u32 anew;		/* an SSD that begins anew: it has no label for a moment */
	u8 old_uuid[16];	/* the UUID that this SSD had */
	u32 joins_at, leaves_at;	/* the cache is there, or is not; 0: no such change */
	bool each_leg;		/* look at every image without each of the legs, too */
};

/** enum check_depth - how much is done with an image; each does all that the ones before do */
enum check_depth {
	CHECK_CONTENTS,		/* start, read, scrub, start again */
	CHECK_LEGS,		/* the same without each of the legs, and a second time */
	CHECK_RECRASH,		/* cut the power during the recovery, too */
};

/**
 * check_crash() - start from the images after a cut, and check the rules
 *
 * Return: the number of failures. Each is printed.
 */
u32 check_crash(const struct crash *c, enum check_depth depth);

struct check_stats {
	u64 machines, images, recrashes, duplicates, ill, ill_served;
};

extern struct check_stats check_stats;

/** check_seed_config() - derive from a seed how a machine behaves, as how often it preempts */
void check_seed_config(struct sim_config *c, u64 seed);

/**
 * run_machine() - run @main in a machine with disks @img; @seed decides how the machine behaves
 *
 * Its trace and its disks stay in @disks. Return: false if @main failed, or the power went; with
 * disks.cut_at, which @main may set, false unless the power went.
 */
bool run_machine(const struct image *img, u32 legs, u64 seed, void (*main)(void *arg), void *arg);

#endif
