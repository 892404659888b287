/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: wait queues. Code that changes a condition must wake, or the simulation deadlocks. */
#ifndef SIM_LINUX_WAIT_H
#define SIM_LINUX_WAIT_H

#include <linux/kernel.h>
#include <linux/spinlock.h>

/* @wakes counts wake-ups: one between the look at the condition and the sleep is not lost. */
typedef struct wait_queue_head {
	u64 wakes;
	bool ready;
} wait_queue_head_t;

#define DECLARE_WAIT_QUEUE_HEAD(x)	wait_queue_head_t x = { .ready = true }
#define DECLARE_WAIT_QUEUE_HEAD_ONSTACK	DECLARE_WAIT_QUEUE_HEAD

void init_waitqueue_head(wait_queue_head_t *wq);
void wake_up_all(wait_queue_head_t *wq);
void sim_wait(wait_queue_head_t *wq, u64 seen, const char *why);
/* What the current task waits for from now on may take minutes, as the kernel sees it; or not. */
void sim_idle(bool idle);
/* Returns false when the time is over. */
bool sim_wait_until(wait_queue_head_t *wq, u64 seen, u64 until, const char *why);
u64 sim_wakes(const wait_queue_head_t *wq);
bool waitqueue_active(wait_queue_head_t *wq);

#define wq_has_sleeper		waitqueue_active
#define wake_up(wq)		wake_up_all(wq)
#define wake_up_interruptible(wq) wake_up_all(wq)
#define wake_up_nr(wq, n)	wake_up_all(wq)

#define wait_event(wq, cond) do {					\
	for (;;) {							\
		u64 __seen = sim_wakes(&(wq));				\
		might_sleep();						\
		if (cond)						\
			break;						\
		sim_wait(&(wq), __seen, #cond);				\
	}								\
} while (0)

#define wait_event_idle(wq, cond) do {					\
	sim_idle(true);							\
	wait_event(wq, cond);						\
	sim_idle(false);						\
} while (0)

#define wait_event_interruptible(wq, cond)	({ wait_event_idle(wq, cond); 0; })
#define wait_event_killable(wq, cond)		({ wait_event_idle(wq, cond); 0; })

#define wait_event_timeout(wq, cond, timeout) ({			\
	u64 __until = jiffies + (timeout);				\
	bool __ok = true;						\
	for (;;) {							\
		u64 __seen = sim_wakes(&(wq));				\
		if ((cond) || !__ok)					\
			break;						\
		__ok = sim_wait_until(&(wq), __seen, __until, #cond);	\
	}								\
	(long)((cond) ? (__until > jiffies ? __until - jiffies : 1) : 0); \
})
#define wait_event_interruptible_timeout	wait_event_timeout
#define wait_event_idle_timeout(wq, cond, timeout) ({			\
	long __left;							\
									\
	sim_idle(true);							\
	__left = wait_event_timeout(wq, cond, timeout);			\
	sim_idle(false);						\
	__left;								\
})

#include <linux/jiffies.h>

#endif
