/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The suite lives: several lives of a pool, with changes of the disks in between. A life ends in a
 * power cut that keeps all writes. Then the test damages, rolls back, copies or removes parts, and
 * states the expected result of the next start.
 *
 * Each subject has a file of its own, lives_SUBJECT_test.c. Functions live_...() are what is done
 * in a life. The others are called between two lives.
 */
#ifndef SIM_LIVES_H
#define SIM_LIVES_H

#include "life.h"
#include "script.h"

#define MAX_NOTED 32
#define MAX_PAST 8

/* Superblocks that cannot be read: of @legs and @rings, bit each, @count from number @first on. */
struct unread {
	u32 legs, rings, count;
	u64 first;
	u32 times;		/* so often each; 0: for good */
	u64 made;		/* blocks of the legs when they were made; 0: they did not grow */
	u32 unwritable;		/* rings, bit each, in which they cannot be written over either */
};

/* What a test knows besides its script. It is zeroed for each turn. */
struct lives_own {
	const struct base *base;
	struct image old[MAX_DISKS];	/* the disks as remember() found them */
	u32 winner;
	/* bit per leg: in the next lives these blocks cannot be read there */
	u32 bad_legs;
	u64 bad_first, bad_last;
	int bad_error;			/* but end with this */
	u32 bad_after;			/* so many of these reads pass first, on each leg */
	bool bad_ring;			/* a block of each leg's ring of events cannot be read */
	struct unread unread;
	bool goes_back;			/* to a superblock before the last, which is written over */
	bool may_lose;			/* table pages were written over: blocks may read EIO */
	/*
	 * bit per leg: it takes no superblocks, in a life that ends after a while; or not the one
	 * with this number, or only not in these rings, bit each
	 */
	u32 stalled, stalled_rings;
	u64 stalled_at;
	/* leg @alone knows that leg @lost is out, by a superblock @ahead epochs ahead */
	u32 alone, lost;
	u64 ahead;
	bool second;			/* of the two superblocks of a loss, it is this one */
	/* earlier contents of the disks, and the superblock then */
	struct image past[MAX_PAST][MAX_DISKS];
	u64 past_sequence[MAX_PAST];
	u32 nr_past;
	u64 noted[MAX_NOTED];		/* for the test itself */
	u32 nr_noted;
};

extern struct lives_own own;

/* --- lives ------------------------------------------------------------------------------------ */

/**
 * run_life() - a start, then @live and a power cut that keeps all writes; NULL: a start and a stop
 *
 * The next life finds the disks as this one left them. With @live the start must succeed; without,
 * the caller looks at s->refused. Return: false if the test has failed.
 */
bool run_life(struct script *s, void (*live)(struct script *s));

/**
 * refused() - a start that must be refused, with these words in its reason
 *
 * Nothing may be written but copies of log entries that another leg has.
 */
bool refused(struct script *s, int error, const char *words);

/** starts() - a start that must succeed, and a stop */
bool starts(struct script *s);

/** all_there() - all acknowledged data is there, whatever else happens; @lost: bit per leg */
bool all_there(struct script *s, u32 lost);

/** all_there_together() - the same, but one leg alone may lack it now */
bool all_there_together(struct script *s);

/* --- at the disks ----------------------------------------------------------------------------- */

/** remember() - keep these contents of the disks for recall() */
void remember(struct script *s, const struct image *img);
void recall(struct script *s);

/** recall_labels() - restore the superblocks of @leg, at both ends */
void recall_labels(struct script *s, u32 leg);

enum damage { DAMAGE_ZEROS, DAMAGE_BIT, DAMAGE_PAYLOAD, DAMAGES };

void damage(struct image *img, u64 block, enum damage how);

/** rot_home() - damage what @leg has at home of @block */
void rot_home(struct script *s, u32 leg, u64 block);

/** cannot_read() - in the next lives reads of these blocks of @legs, bit each, end with @error */
void cannot_read(struct script *s, u32 legs, u64 first, u64 last, int error);

/* Errors with which reads end: all but the last may be gone at the next try. */
#define ANY_ERRORS 6u
extern const int any_error[ANY_ERRORS];

u64 last_of_log(const struct script *s);

/** newest_sequence() - the newest superblock, as the first ring of @img says */
u64 newest_sequence(const struct image *img);

/** slot_block() - the place of a superblock on @img, in the ring @end */
u64 slot_block(const struct image *img, u32 end, u64 sequence);

/** hidden() - recall(), with superblocks that cannot be read. Return: true */
bool hidden(struct script *s, u32 legs, u32 rings, u64 first, u32 count);

/** has_all() - it starts, and has everything; superblocks can be read again afterwards */
bool has_all(struct script *s);

/* --- in a life -------------------------------------------------------------------------------- */

/** log_head() - where the next entry goes, as a block on every leg */
u64 log_head(struct script *s);

/** note() - add to own.noted */
void note(struct script *s, u64 what);

/** remember_past() - add the disks as they are now to own.past */
void remember_past(struct script *s);

void hold_homes(struct script *s, u64 block, u32 count);

/** hold_labels() - the disk takes no superblocks until disks_release() */
void hold_labels(u32 disk);

/** told() - an event has this text */
bool told(struct kvp_pool *pool, const char *text);

/** superblock_task() - a task that writes a superblock; @arg: the script */
void superblock_task(void *arg);

void live_entries(struct script *s);
void live_one_flush(struct script *s);
void live_two_eras(struct script *s);

/** live_superblocks() - superblock after superblock, each with something new in it, also at home */
void live_superblocks(struct script *s);

/** live_look_for_state() - fail if leg 0, which missed writes, is in sync */
void live_look_for_state(struct script *s);

/* --- the cases: rows of a list ---------------------------------------------------------------- */

/** lives_test() - run the test @tell on a pool of this shape */
void lives_test(const char *name, bool (*tell)(struct script *s), struct host_start shape);

#define TEST(function, ...) lives_test(#function, function, (struct host_start){ __VA_ARGS__ })
#define ON_LEGS(function, n) TEST(function, .legs = n)
#define ON_TWO_VDEVS(function) TEST(function, .legs = 4, .second = 2)
#define ON_PARITY(function) TEST(function, .legs = 3, .parity = true)
#define ON_CACHE(function) TEST(function, .legs = 3, .cache = 1)

void run_lives_log(void);
void run_lives_intents(void);
void run_lives_losses(void);
void run_lives_forks(void);
void run_lives_unread(void);
void run_lives_slots(void);
void run_lives_putback(void);
void run_lives_alone(void);
void run_lives_sizes(void);
void run_lives_events(void);

#endif /* SIM_LIVES_H */
