// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/time64.h>

#include "compat/slice.h"
#include "core/crowd.h"

#define STEP_NS		(200u * NSEC_PER_USEC)
/*
 * With one processor the scheduler lets a task that it has chosen go on for 0.75 ms. A worker that
 * wakes earlier does not get the processor then, but at the next tick. With more processors it may
 * be 3 ms.
 */
#define NAP_STEPS	4u
#define NAP_NS		(NAP_STEPS * STEP_NS)
/* A worker with a short slice gets the processor when it wakes. So naps and spells are shorter. */
#define SLICE_NS	(100u * NSEC_PER_USEC)
#define QUICK_STEPS	2u
#define QUICK_STEP_NS	(150u * NSEC_PER_USEC)
#define QUICK_NS	(QUICK_STEPS * QUICK_STEP_NS)
/* A late nap counts for one eighth. So one late nap among others that end in time has no effect. */
#define MEAN_OF_NAPS	8u
/* Others had the processor for so long: a new spell begins. */
#define TURN_NS		(200u * NSEC_PER_USEC)

/**
 * struct nap - a nap of a task
 * @timer: looks after each step
 * @task: the task that naps; NULL when the nap is over
 * @step: ns, the time between two looks
 * @left: how many steps are left, by the clock
 */
struct nap {
	struct hrtimer timer;
	struct task_struct *task;
	u64 step;
	u32 left;
};

/* After each step. The nap ends if the processor is idle. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct nap *n = container_of(timer, struct nap, timer);
	struct task_struct *task = n->task;

	/* A late look counts for all steps that have passed. */
	n->left -= min(n->left, (u32)hrtimer_forward_now(timer, ns_to_ktime(n->step)));
	if (n->left && !is_idle_task(current))
		return HRTIMER_RESTART;
	WRITE_ONCE(n->task, NULL);
	wake_up_process(task);
	return HRTIMER_NORESTART;
}

static void nap(bool quick)
{
	struct nap n = {
		.task = current,
		.step = quick ? QUICK_STEP_NS : STEP_NS,
		.left = quick ? QUICK_STEPS : NAP_STEPS,
	};

	hrtimer_init_on_stack(&n.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	n.timer.function = look;
	hrtimer_start(&n.timer, ns_to_ktime(n.step), HRTIMER_MODE_REL);
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (!READ_ONCE(n.task))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	hrtimer_cancel(&n.timer);
	destroy_hrtimer_on_stack(&n.timer);
}

/*
 * Where naps end late again and again, a third of the time is still the worker's: a spell then
 * lasts half as long as a nap in the mean. After one late nap alone it does not. If it were as long
 * as a nap, the scheduler would give the others as much time, and no nap would end in time again.
 */
static void note_nap(struct kvp_spell *s, u64 ns)
{
	WRITE_ONCE(*s->napped, *s->napped + ns);
	s->nap += ns / MEAN_OF_NAPS - s->nap / MEAN_OF_NAPS;
	s->least = s->nap > 2 * (s->quick ? QUICK_NS : NAP_NS) ? s->nap / 2 : 0;
}

void kvp_give_turn(void)
{
	if (!single_task_running())
		nap(false);
}

void kvp_spell_begin(struct kvp_spell *s)
{
	s->quick = s->quick || kvp_compat_set_slice(SLICE_NS);
}

void kvp_spell_end(struct kvp_spell *s)
{
	if (s->quick)
		kvp_compat_set_slice(0);
	s->quick = false;
}

static u64 spell_ns(const struct kvp_spell *s)
{
	u64 most = s->quick ? s->most / 8 * 3 : s->most;

	return max(most, s->least);
}

void kvp_give_way(struct kvp_spell *s)
{
	unsigned long switches;
	u64 now, began;

	cond_resched();
	switches = current->nvcsw + current->nivcsw;
	now = ktime_get_ns();
	/* An interruption by a short task does not count. */
	if (switches != s->switches && now - s->seen >= TURN_NS)
		s->since = now;
	else if (now - s->since >= spell_ns(s) && !single_task_running()) {
		began = now;
		nap(s->quick);
		now = ktime_get_ns();
		s->since = now;
		note_nap(s, now - began);
	}
	s->switches = current->nvcsw + current->nivcsw;
	s->seen = now;
}
