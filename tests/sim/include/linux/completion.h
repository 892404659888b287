/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_COMPLETION_H
#define SIM_LINUX_COMPLETION_H

#include <linux/wait.h>

struct completion {
	unsigned int done;
	wait_queue_head_t wait;
};

#define DECLARE_COMPLETION_ONSTACK(x) \
	struct completion x = { .wait = { .ready = true } }

static inline void init_completion(struct completion *c)
{
	c->done = 0;
	init_waitqueue_head(&c->wait);
}

static inline void reinit_completion(struct completion *c)
{
	c->done = 0;
}

/* The waiter may free @c as soon as it runs, and it cannot run before we return. */
static inline void complete(struct completion *c)
{
	c->done++;
	wake_up_all(&c->wait);
}

static inline void complete_all(struct completion *c)
{
	c->done = U32_MAX / 2;
	wake_up_all(&c->wait);
}

static inline void wait_for_completion(struct completion *c)
{
	wait_event(c->wait, c->done);
	c->done--;
}

#define wait_for_completion_io	wait_for_completion

#define TASK_IDLE	1
#define wait_for_completion_state(c, state) ({				\
	static_assert((state) == TASK_IDLE);				\
	wait_event_idle((c)->wait, (c)->done);				\
	(c)->done--;							\
	0;								\
})
#define completion_done(c)	((c)->done != 0)
#define try_wait_for_completion(c) ((c)->done ? (c)->done--, true : false)

static inline unsigned long wait_for_completion_timeout(struct completion *c, unsigned long t)
{
	long left = wait_event_timeout(c->wait, c->done, t);

	if (left)
		c->done--;
	return left;
}

#endif
