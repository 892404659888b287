/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: each running item has a coroutine of its own. */
#ifndef SIM_LINUX_WORKQUEUE_H
#define SIM_LINUX_WORKQUEUE_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/sched.h>

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
	bool pending, canceling;
	u64 ticket;			/* of the queueing that is pending */
	struct workqueue_struct *wq;
	struct list_head entry;		/* on wq->waiting */
};

struct delayed_work {
	struct work_struct work;
	struct workqueue_struct *wq;
	u64 due;			/* jiffies */
	bool armed;
	struct list_head timer;
};

#define WQ_UNBOUND		1u
#define WQ_MEM_RECLAIM		2u
#define WQ_HIGHPRI		4u
#define WQ_CPU_INTENSIVE	8u
#define WQ_SYSFS		16u
#define WQ_FREEZABLE		32u
#define WQ_PERCPU		64u

#define INIT_WORK(w, f)			sim_init_work(w, f)
#define INIT_DELAYED_WORK(w, f)		sim_init_delayed_work(w, f)
#define INIT_WORK_ONSTACK		INIT_WORK
#define INIT_DELAYED_WORK_ONSTACK	INIT_DELAYED_WORK
#define destroy_work_on_stack(w)	((void)(w))
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define alloc_ordered_workqueue(fmt, flags, ...) \
	alloc_workqueue(fmt, (flags) | 0x10000u, 1, ##__VA_ARGS__)

void sim_init_work(struct work_struct *w, work_func_t f);
void sim_init_delayed_work(struct delayed_work *w, work_func_t f);
struct workqueue_struct *alloc_workqueue(const char *fmt, unsigned int flags, int max_active, ...);
void destroy_workqueue(struct workqueue_struct *wq);
void drain_workqueue(struct workqueue_struct *wq);
void flush_workqueue(struct workqueue_struct *wq);
bool queue_work(struct workqueue_struct *wq, struct work_struct *w);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *w, unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *w, unsigned long delay);
bool flush_work(struct work_struct *w);
bool flush_delayed_work(struct delayed_work *w);
bool cancel_work(struct work_struct *w);
bool cancel_work_sync(struct work_struct *w);
bool cancel_delayed_work(struct delayed_work *w);
bool cancel_delayed_work_sync(struct delayed_work *w);
extern struct workqueue_struct *system_wq, *system_unbound_wq, *system_long_wq;

#define work_pending(w)			((w)->pending)
#define delayed_work_pending(w)		((w)->armed || (w)->work.pending)
#define schedule_work(w)		queue_work(system_wq, w)
#define schedule_delayed_work(w, d)	queue_delayed_work(system_wq, w, d)
#define WORK_BUSY_PENDING		1u
#define WORK_BUSY_RUNNING		2u
unsigned int sim_work_busy(struct work_struct *w);
#define work_busy(w)			sim_work_busy(w)

#endif
