/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulated machine: tasks that run one at a time, a virtual clock, and a
 * seed that decides everything. A machine lives from sim_run() until its
 * first task returns, a check fails, or the power is cut; then all its memory
 * and all its tasks are gone.
 */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H

#include <stdio.h>
#include <linux/kernel.h>

struct blk;
struct page;

struct rng {
	u64 s;
};

static inline u64 rng_next(struct rng *r)
{
	u64 z = r->s += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline u32 rng_below(struct rng *r, u32 n)
{
	return n ? (u32)((rng_next(r) >> 32) * n >> 32) : 0;
}

static inline bool rng_chance(struct rng *r, u32 per_mille)
{
	return rng_below(r, 1000) < per_mille;
}

u64 mix64(u64 a, u64 b);

#define TASK_LOCKS 40

enum task_state { TASK_READY, TASK_RUNNING, TASK_BLOCKED, TASK_DEAD };

struct task_sim {
	void *sp, *stack;
	void *fake_stack;
	const char *name;
	enum task_state state;
	u32 slot;		/* in the list of ready tasks */
	bool irq;
	struct workqueue_struct *serves;	/* it carries out an item of this queue */
	u32 spins, rcu;		/* held, nested */
	const void *channel;	/* BLOCKED on what */
	const char *why, *where;
	u64 until;		/* jiffies; 0: for ever */
	bool timed_out;
	bool idle;		/* it waits as wait_event_idle() does, or killable */
	/* what it waited for, in any other sleep, for two minutes at a stretch; NULL: nothing */
	const char *hung;
	void (*fn)(void *arg);
	void *arg;
	u32 nr_locks;
	const void *locks[TASK_LOCKS];
	const char *lock_places[TASK_LOCKS];
	struct task_sim *next;
};

struct sim_config {
	u64 seed;
	u32 preempt;		/* per mille, at each place where it is possible */
	u32 io_bias;		/* per mille: rather end a request than run a task */
	u32 oom;		/* per mille of allocations that may fail do */
};

/** sim_set_oom() - from now on let so many per mille of allocations fail that may fail */
void sim_set_oom(u32 per_mille);

/* What the machine asks of the devices; see disk.c. */
u32 sim_io_pending(void);
void sim_io_end_one(void);
/** sim_io_due() - when the first request ends that a disk delays, ns; 0: there is none */
u64 sim_io_due(void);

extern struct task_sim *sim_current;
extern struct rng sim_rng;		/* of the machine that runs */
extern bool sim_verbose;
/* tasks of this name are held up now and then, while others get far */
extern const char *sim_slow;
/* a mutex that a task has waited for in vain goes to it next, as the kernel's does */
extern bool sim_hands_over;

/** sim_count_takings() - begin to count how often locks are taken of which a pool has only one */
void sim_count_takings(void);
/** sim_takings() - how often that was, by all tasks; ends the counting */
u32 sim_takings(void);
/** sim_takings_in() - how often that was in the function @place */
u32 sim_takings_in(const char *place);
/** sim_print_takings() - which they were, and where, a line each */
void sim_print_takings(FILE *to);
extern char sim_failure[1024];		/* why the last machine failed */
extern u64 sim_switches;

enum sim_end { SIM_RETURNED, SIM_FAILED, SIM_POWER_CUT };

/** sim_run() - a machine's life; @fn is its first task */
enum sim_end sim_run(const struct sim_config *c, void (*fn)(void *arg), void *arg);

/** sim_power_cut() - from a task: everything stops here */
void sim_power_cut(void) __attribute__((noreturn));

/** sim_freeze() - nothing runs for @ns, and the clock goes on: a machine that was paused */
void sim_freeze(u64 ns);
void sim_spawn(const char *name, void (*fn)(void *arg), void *arg);
void sim_block(const void *channel, const char *why);
bool sim_block_until(const void *channel, const char *why, u64 until);
void sim_wake(const void *channel);
/** sim_slept() - the task sleeps since @since (ns), whatever woke it: does it look hung? */
void sim_slept(u64 since, const char *why);
void sim_maybe_preempt(void);
u32 sim_memory_in_use(void);

/* memory.c */
void sim_memory_reset(void);
/**
 * sim_lend() - @p belongs to a flight, and stands for the contents of @b: kvp_io_land() copies
 * those
 */
void sim_lend(struct page *p, struct blk *b);
/**
 * sim_map() - memory of zeros that no machine frees, in huge pages if the host has them: that saves
 * misses of the TLB
 */
void *sim_map(size_t bytes);
bool sim_atomic(void);
extern u32 sim_many_intents;	/* KVP_MANY_INTENTS */
/* per mille of allocations on the I/O path (GFP_NOIO and less) that fail now */
extern u32 sim_memory_short;
/* those with these numbers fail, whatever their flags, as with failslab; sim_allocations counts */
extern u32 sim_refused_from, sim_refused_until, sim_allocations;

/* work.c */
void sim_work_reset(void);
/** sim_work_takes() - the task takes a mutex, for which it may have to wait */
void sim_work_takes(const void *mutex, const char *where);
bool sim_timers_next(u64 *due);
void sim_timers_run(u64 now);

#endif
