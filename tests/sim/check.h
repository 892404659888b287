/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for the images after a power cut: the pool starts, every block holds a version that the
 * oracle allows, and it stays so.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "cut.h"
#include "users.h"

/* The state of the legs when the power went. */
struct crash {
	const struct image *images;
	u32 legs;		/* of all vdevs */
	bool parity;
	u32 second;		/* as struct host_start has them */
	bool second_parity;
	u32 cache;
	bool cache_parity;
	struct oracle *o;
	u32 at;			/* position in the oracle's trace */
	u32 lost;		/* bit per leg: died or was taken offline before the cut */
	/* from this position on their loss is recorded, and costs nothing; 0: it may (R7) */
	u32 recorded_at;
	/* bit per leg: was lost, and from this position on is in sync again; 0: does not return */
	u32 back, back_at;
	/* bit per leg: was replaced, and from this position on is out; 0: none */
	u32 leaves, left_at;
	/* online_auto is set: legs that are out return at a start, and have all then */
	bool returns;
	u32 unreadable;		/* bit per leg: cannot be given as a source at all */
	/* bit per leg: a write to it failed, and at some time that was recorded */
	u32 given_up;
	/* a start with faults came before: any reason is good for a refusal */
	bool ill;
	u64 seed;
	bool poison_allowed;	/* EIO on some blocks is no failure */
	u64 sound, sound_count;	/* but on these from that position of the trace on: */
	u32 sound_at;
	bool growing;		/* the second vdev was being added: */
	u32 grown_at;		/* from this position on it must be there */
	u64 grown_from;		/* and then it has more blocks than that; 0: a vdev was added */
	/* from which on the cache has other SSDs; ~0: not known; 0: it does not */
	u32 swaps_at;
	/* a mirror gets one leg more or less: as it was; from this position on it is not */
	const struct host_start *before;
	u32 changes_at;
	const u8 *on;		/* struct host_start */
	/*
	 * Number of a disk, + 1, that is to take the place of a leg of a parity1, or 0; and the
	 * disks of the legs when it has.
	 */
	u32 shadow;
	const u8 *taken_on;
	/* so many it had; struct host_start; disks that are no legs */
	u32 old_cache, swapped, spare;
	/* bit per leg: an SSD that was out of use, and has no label for a moment */
	u32 anew;
	u8 old_uuid[16];	/* of that one */
	bool old_lost;		/* one of the SSDs that it had was out of use */
	/* position from which on a cache must be there, or not; 0: it does not change */
	u32 joins_at, leaves_at;
	bool each_leg;		/* look at every image without each of the legs, too */
	bool astray;		/* home writes were lost or went elsewhere, unnoticed: */
				/* blocks in flight by intent may hold anything (R5) */
	u64 rotten;		/* bit per disk: has blocks with wrong contents, not noticed yet */
	bool heal_allowed;	/* the scrub may find something: faults were about */
};

enum check_depth {
	CHECK_CONTENTS,		/* start, read, scrub, start again */
	CHECK_LEGS,		/* and without each of the legs, and twice */
	CHECK_RECRASH,		/* and with cuts during the recovery */
};

/** check_crash() - 0, or the number of failures; each is printed. */
u32 check_crash(const struct crash *c, enum check_depth depth);

struct check_stats {
	u64 machines, images, recrashes, duplicates, ill, ill_served;
};

extern struct check_stats check_stats;

/** check_seed_config() - a machine's habits from a seed */
void check_seed_config(struct sim_config *c, u64 seed);

/**
 * run_machine() - a machine: @main runs on the disks @img, with habits from @seed
 *
 * Its trace and its disks stay in @disks. Return: false if @main failed, or the power went.
 */
bool run_machine(const struct image *img, u32 legs, u64 seed, void (*main)(void *arg), void *arg);

#endif
