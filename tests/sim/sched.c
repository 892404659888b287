// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cooperative coroutines. Every choice comes from the seed: which task runs,
 * whether a device ends a request first, whether a task is preempted where a
 * real one could be. Time is virtual; when no task can run and nothing is in
 * flight it jumps to the next timer, and if there is none, that is a deadlock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/crowd.h"
#include "sched.h"

#include <linux/percpu.h>
#include <linux/jiffies.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(a, b, c)	((void)(a), (void)(b), (void)(c))
#define __sanitizer_finish_switch_fiber(a, b, c)	((void)(a))
#define ASAN_UNPOISON_MEMORY_REGION(a, b)	((void)(a))
#endif

#define STACK_SIZE	(256 * 1024)
#define MAX_TASKS	512
#define STEP_LIMIT	20000000ull
#define NS_PER_JIFFY	(1000000000ull / HZ)
/* As the kernel: five minutes before the 32-bit counter wraps. */
#define FIRST_JIFFY	((u64)(u32)-(300 * HZ))
/* The kernel reports a task as hung that sleeps so long, and neither idle nor killable. */
#define HUNG_NS		(120ull * 1000000000ull)
/* No simulated job lasts that long; timers that only rearm themselves must not hide a deadlock. */
#define TIME_LIMIT	(3600ull * 1000000000ull)
/*
 * How often tasks are held up, per mille, and for how many jiffies at most, so that others can
 * commit meanwhile.
 */
#define HELD_UP		250
#define HELD_UP_FOR	16

struct task_sim *sim_current;
struct rng sim_rng;
bool sim_verbose;
const char *sim_slow;
bool sim_hands_over;
char sim_failure[1024];
u64 sim_switches;

static struct task_sim scheduler = { .name = "scheduler" };
static struct task_sim interrupt = { .name = "interrupt", .irq = true };
static struct task_sim *tasks[MAX_TASKS], *ready[MAX_TASKS], *root, *spare;
static u32 nr_tasks, nr_ready;
static u64 now_ns, steps;
static struct sim_config config;
static enum sim_end ending;
static bool ended;
static const void *main_bottom;
static size_t main_size;

u64 mix64(u64 a, u64 b)
{
	struct rng r = { a * 0x9e3779b97f4a7c15ull + b };

	rng_next(&r);
	return rng_next(&r);
}

/* --- switching ------------------------------------------------------------------ */

void sim_switch(void **save, void *to);

#ifdef __x86_64__
__asm__(
"	.text\n"
"	.globl sim_switch\n"
"	.type sim_switch, @function\n"
"sim_switch:\n"
"	pushq %rbp\n"
"	pushq %rbx\n"
"	pushq %r12\n"
"	pushq %r13\n"
"	pushq %r14\n"
"	pushq %r15\n"
"	movq %rsp, (%rdi)\n"
"	movq %rsi, %rsp\n"
"	popq %r15\n"
"	popq %r14\n"
"	popq %r13\n"
"	popq %r12\n"
"	popq %rbx\n"
"	popq %rbp\n"
"	ret\n"
"	.size sim_switch, .-sim_switch\n");
#elif defined(__aarch64__)
__asm__(
"	.text\n"
"	.globl sim_switch\n"
"	.type sim_switch, %function\n"
"sim_switch:\n"
"	sub sp, sp, #160\n"
"	stp x19, x20, [sp, #0]\n"
"	stp x21, x22, [sp, #16]\n"
"	stp x23, x24, [sp, #32]\n"
"	stp x25, x26, [sp, #48]\n"
"	stp x27, x28, [sp, #64]\n"
"	stp x29, x30, [sp, #80]\n"
"	stp d8, d9, [sp, #96]\n"
"	stp d10, d11, [sp, #112]\n"
"	stp d12, d13, [sp, #128]\n"
"	stp d14, d15, [sp, #144]\n"
"	mov x9, sp\n"
"	str x9, [x0]\n"
"	mov sp, x1\n"
"	ldp x19, x20, [sp, #0]\n"
"	ldp x21, x22, [sp, #16]\n"
"	ldp x23, x24, [sp, #32]\n"
"	ldp x25, x26, [sp, #48]\n"
"	ldp x27, x28, [sp, #64]\n"
"	ldp x29, x30, [sp, #80]\n"
"	ldp d8, d9, [sp, #96]\n"
"	ldp d10, d11, [sp, #112]\n"
"	ldp d12, d13, [sp, #128]\n"
"	ldp d14, d15, [sp, #144]\n"
"	add sp, sp, #160\n"
"	ret\n"
"	.size sim_switch, .-sim_switch\n");
#else
#error "teach sim_switch() this processor"
#endif

static void switch_to(struct task_sim *to)
{
	struct task_sim *from = sim_current;
	const void *bottom = to == &scheduler ? main_bottom : to->stack;
	size_t size = to == &scheduler ? main_size : STACK_SIZE;

	sim_switches++;
	sim_current = to;
	__sanitizer_start_switch_fiber(&from->fake_stack, bottom, size);
	sim_switch(&from->sp, to->sp);
	__sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
}

static void finish_task(struct task_sim *t);

static void task_main(void)
{
	struct task_sim *t = sim_current;

	__sanitizer_finish_switch_fiber(NULL, &main_bottom, &main_size);
	t->fn(t->arg);
	finish_task(t);
}

static struct task_sim *new_task(void)
{
	struct task_sim *t = spare;
	void *stack;

	if (t) {
		spare = t->next;
		stack = t->stack;
		/* Its last user may have been cut off in the middle of a function. */
		ASAN_UNPOISON_MEMORY_REGION(stack, STACK_SIZE);
	} else {
		t = malloc(sizeof(*t));
		stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (!t || stack == MAP_FAILED)
			abort();
	}
	memset(t, 0, sizeof(*t));
	t->stack = stack;
	return t;
}

static void make_ready(struct task_sim *t)
{
	t->state = TASK_READY;
	t->channel = NULL;
	t->slot = nr_ready;
	ready[nr_ready++] = t;
}

void sim_spawn(const char *name, void (*fn)(void *arg), void *arg)
{
	struct task_sim *t;
	u64 *sp;

	if (nr_tasks == MAX_TASKS)
		sim_fail("too many tasks");
	t = new_task();
	t->name = name;
	t->fn = fn;
	t->arg = arg;
	sp = (u64 *)((char *)t->stack + STACK_SIZE - 64);
#ifdef __x86_64__
	*--sp = 0;			/* alignment as after a call */
	*--sp = (u64)task_main;
	sp -= 6;
#else
	sp -= 20;
	sp[11] = (u64)task_main;
#endif
	t->sp = sp;
	tasks[nr_tasks++] = t;
	make_ready(t);
}

static void finish_task(struct task_sim *t)
{
	u32 i;

	if (t->spins || t->nr_locks || t->rcu)
		sim_fail("task %s ended with locks held", t->name);
	t->state = TASK_DEAD;
	for (i = 0; tasks[i] != t; i++)
		;
	tasks[i] = tasks[--nr_tasks];
	if (t == root) {
		ending = SIM_RETURNED;
		ended = true;
	}
	t->next = spare;
	spare = t;
	switch_to(&scheduler);
	abort();
}

/* --- failing ---------------------------------------------------------------------- */

static void dump_task(const struct task_sim *t)
{
	u32 i;

	fprintf(stderr, "  %-16s %s", t->name, t->state == TASK_BLOCKED ? "waits: " : "runs");
	if (t->state == TASK_BLOCKED)
		fprintf(stderr, "%s", t->why);
	for (i = 0; i < t->nr_locks; i++)
		fprintf(stderr, "%s%s", i ? ", " : "; holds locks taken in ", t->lock_places[i]);
	fputc('\n', stderr);
}

static void stop_machine(enum sim_end how)
{
	ending = how;
	ended = true;
	if (sim_current == &scheduler || sim_current == &interrupt)
		return;
	switch_to(&scheduler);
	abort();
}

static jmp_buf in_scheduler;

void sim_fail(const char *fmt, ...)
{
	va_list args;
	u32 i;

	va_start(args, fmt);
	vsnprintf(sim_failure, sizeof(sim_failure), fmt, args);
	va_end(args);
	if (!sim_current) {
		fprintf(stderr, "outside of a machine: %s\n", sim_failure);
		abort();
	}
	fprintf(stderr, "# %s (in %s)\n", sim_failure, sim_current->name);
	for (i = 0; i < nr_tasks; i++)
		dump_task(tasks[i]);
	stop_machine(SIM_FAILED);
	longjmp(in_scheduler, 1);
}

void sim_power_cut(void)
{
	stop_machine(SIM_POWER_CUT);
	abort();
}

/* --- running -------------------------------------------------------------------------- */

u64 sim_jiffies(void)
{
	return FIRST_JIFFY + now_ns / NS_PER_JIFFY;
}

u64 sim_now_ns(void)
{
	return now_ns;
}

void sim_freeze(u64 ns)
{
	now_ns += ns;
}

static void run_task(struct task_sim *t)
{
	t->state = TASK_RUNNING;
	switch_to(t);
}

static struct task_sim *take_ready(void)
{
	u32 i = rng_below(&sim_rng, nr_ready);
	struct task_sim *t = ready[i];

	ready[i] = ready[--nr_ready];
	return t;
}

static void wake_timed_out(void)
{
	u64 jiffy = sim_jiffies();
	u32 i;

	for (i = 0; i < nr_tasks; i++)
		if (tasks[i]->state == TASK_BLOCKED && tasks[i]->until &&
		    tasks[i]->until <= jiffy) {
			tasks[i]->timed_out = true;
			make_ready(tasks[i]);
		}
	sim_timers_run(jiffy);
}

static bool next_timer(u64 *due)
{
	bool any = sim_timers_next(due);
	u64 io = sim_io_due();
	u32 i;

	if (io) {
		io = FIRST_JIFFY + io / NS_PER_JIFFY + 1;
		*due = any ? min(*due, io) : io;
		any = true;
	}

	for (i = 0; i < nr_tasks; i++) {
		struct task_sim *t = tasks[i];

		if (t->state != TASK_BLOCKED || !t->until)
			continue;
		if (!any || t->until < *due)
			*due = t->until;
		any = true;
	}
	return any;
}

/* No task can run: let the time pass. */
static void advance_clock(void)
{
	u64 due;

	if (!next_timer(&due))
		sim_fail("deadlock: no task can run, nothing is in flight");
	if (due > sim_jiffies())
		now_ns = (due - FIRST_JIFFY) * NS_PER_JIFFY;
	if (now_ns > TIME_LIMIT)
		sim_fail("hang: an hour of virtual time is over");
	wake_timed_out();
}

static void end_request(void)
{
	sim_current = &interrupt;
	sim_io_end_one();
	if (!ended && (interrupt.spins || interrupt.nr_locks))
		sim_fail("an interrupt ended with locks held");
	sim_current = &scheduler;
}

static void step(void)
{
	u64 before = sim_jiffies();

	if (++steps > STEP_LIMIT)
		sim_fail("hang: %llu steps without an end", (u64)STEP_LIMIT);
	now_ns += 1000 + rng_below(&sim_rng, 20000);
	if (sim_jiffies() != before)
		wake_timed_out();
	if (sim_io_pending() && (!nr_ready || rng_chance(&sim_rng, config.io_bias)))
		end_request();
	else if (nr_ready)
		run_task(take_ready());
	else
		advance_clock();
}

static void clear_machine(void)
{
	u32 i;

	for (i = 0; i < nr_tasks; i++) {
		tasks[i]->next = spare;
		spare = tasks[i];
	}
	nr_tasks = 0;
	nr_ready = 0;
	sim_work_reset();
	sim_memory_reset();
}

enum sim_end sim_run(const struct sim_config *c, void (*fn)(void *arg), void *arg)
{
	config = *c;
	sim_rng.s = c->seed;
	now_ns = 0;
	steps = 0;
	ended = false;
	sim_failure[0] = 0;
	memset(&interrupt, 0, sizeof(interrupt));
	interrupt.name = "interrupt";
	interrupt.irq = true;
	sim_current = &scheduler;
	sim_spawn("main", fn, arg);
	root = tasks[0];
	if (!setjmp(in_scheduler))
		while (!ended)
			step();
	sim_current = NULL;
	clear_machine();
	return ending;
}

/* --- blocking -------------------------------------------------------------------------- */

bool sim_atomic(void)
{
	return sim_current->spins || sim_current->irq || sim_current->rcu;
}

void sim_might_sleep(const char *where)
{
	if (sim_current && sim_current != &scheduler && sim_atomic())
		sim_fail("%s: may sleep in atomic context (%s, %u spinlocks, last in %s)", where,
			 sim_current->irq ? "interrupt" : sim_current->name, sim_current->spins,
			 sim_current->nr_locks ?
			 sim_current->lock_places[sim_current->nr_locks - 1] : "-");
}

void sim_slept(u64 since, const char *why)
{
	if (!sim_current->idle && now_ns - since >= HUNG_NS)
		sim_current->hung = why;
}

bool sim_block_until(const void *channel, const char *why, u64 until)
{
	struct task_sim *t = sim_current;
	u64 begin = now_ns;

	sim_might_sleep(why);
	t->channel = channel;
	t->why = why;
	t->until = until;
	t->timed_out = false;
	t->state = TASK_BLOCKED;
	switch_to(&scheduler);
	t->until = 0;
	sim_slept(begin, why);
	return !t->timed_out;
}

void sim_idle(bool idle)
{
	sim_current->idle = idle;
}

void sim_block(const void *channel, const char *why)
{
	sim_block_until(channel, why, 0);
}

void sim_wake(const void *channel)
{
	u32 i;

	for (i = 0; i < nr_tasks; i++)
		if (tasks[i]->state == TASK_BLOCKED && tasks[i]->channel == channel)
			make_ready(tasks[i]);
}

void sim_yield(void)
{
	if (!sim_current || sim_current == &scheduler)
		return;
	sim_might_sleep("cond_resched");
	make_ready(sim_current);
	switch_to(&scheduler);
}

/* A nap of a worker: the other tasks may run as long as it lasts. */
void kvp_give_way(struct kvp_spell *s)
{
	sim_yield();
}

void kvp_give_turn(void)
{
	sim_yield();
}

void kvp_spell_begin(struct kvp_spell *s)
{
}

void kvp_spell_end(struct kvp_spell *s)
{
}

/* Where tasks are preempted they also move. With a lock held there is no switch, so they stay. */
u32 sim_processor(void)
{
	return config.preempt ? (u32)(sim_switches % SIM_PROCESSORS) : 0;
}

void sim_maybe_preempt(void)
{
	if (sim_current == &scheduler || sim_atomic())
		return;
	if (sim_slow && !strcmp(sim_current->name, sim_slow) && rng_chance(&sim_rng, HELD_UP))
		sim_block_until(&sim_slow, "held up", jiffies + 1 + rng_below(&sim_rng, HELD_UP_FOR));
	else if (rng_chance(&sim_rng, config.preempt))
		sim_yield();
}

void sim_set_oom(u32 per_mille)
{
	config.oom = per_mille;
}

/* True: this allocation must fail. */
bool sim_out_of_memory(void);
bool sim_out_of_memory(void)
{
	return config.oom && rng_chance(&sim_rng, config.oom);
}
