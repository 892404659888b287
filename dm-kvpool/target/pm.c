// SPDX-License-Identifier: GPL-2.0-only
#include <linux/completion.h>
#include <linux/slab.h>
#include <linux/suspend.h>

#include "core/core.h"
#include "core/refusal.h"
#include "log/log.h"
#include "pool/start.h"
#include "target/order.h"
#include "target/pm.h"
#include "target/registry.h"

/* --- before sleep: all accepted data is durable --------------------------------------- */

/* Waits for all pools. The waiting task may be killed, so the last reference frees this. */
struct waiter {
	refcount_t refs;		/* one of the task, one of each order */
	atomic_t left;			/* orders not done, and one for the task */
	struct completion done;
};

struct sync_order {
	struct kvp_order order;
	struct kvp_pool *pool;
	struct waiter *waiter;
};

static void put_waiter(struct waiter *w)
{
	if (refcount_dec_and_test(&w->refs))
		kfree(w);
}

static void one_less(struct waiter *w)
{
	if (atomic_dec_and_test(&w->left))
		complete(&w->done);
}

static int act_sync(struct kvp_order *order)
{
	struct sync_order *s = container_of(order, struct sync_order, order);
	int ret = kvp_commit_sync(s->pool->log);

	one_less(s->waiter);
	return ret;
}

static void release_sync(struct kvp_order *order)
{
	struct sync_order *s = container_of(order, struct sync_order, order);

	put_waiter(s->waiter);
	kfree(s);
}

/* Without memory for an order, the pool stays as durable as it is at any other time. */
static int begin_sync(struct kvp_instance *inst, void *data)
{
	struct sync_order *s = kvp_pool_readonly(inst->pool) ? NULL :
			       kzalloc(sizeof(*s), GFP_KERNEL);
	struct waiter *w = data;

	if (!s)
		return 0;
	s->pool = inst->pool;
	s->waiter = w;
	s->order.act = act_sync;
	s->order.release = release_sync;
	refcount_inc(&w->refs);
	atomic_inc(&w->left);
	kvp_order_start(&inst->orders, &s->order);
	kvp_order_put(&s->order);	/* the task waits for all orders together */
	return 0;
}

static void sync_all(void)
{
	struct waiter *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return;
	refcount_set(&w->refs, 1);
	atomic_set(&w->left, 1);
	init_completion(&w->done);
	kvp_registry_each(begin_sync, w);
	one_less(w);
	/* A leg may hang. To sleep nevertheless, the user kills the task that waits here. */
	if (wait_for_completion_killable(&w->done))
		pr_warn("dm-kvpool: not all pools were flushed before sleep\n");
	put_waiter(w);
}

/* --- hibernation --------------------------------------------------------------------------- */

/*
 * Refuse hibernation while a pool runs. Let no pool start until it is over: udev may still start
 * pools.
 */
static int begin_hibernation(void)
{
	struct kvp_refusal r = { .what = "hibernation" };
	char name[KVP_NAME_LEN + 1];
	int ret = kvp_registry_bar(name);

	if (!ret)
		return 0;
	kvp_refuse(&r, ret, "export it before, or let the machine sleep (suspend to RAM)",
		   "the pool '%s' runs, and its disks would be newer than the image that it resumes from", name);
	kvp_registry_refused(&r, false);
	return ret;
}

/* --- both ------------------------------------------------------------------------------------- */

static int pm_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
		sync_all();
		return NOTIFY_OK;
	case PM_HIBERNATION_PREPARE:
		return notifier_from_errno(begin_hibernation());
	case PM_POST_HIBERNATION:
		kvp_registry_unbar();
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block pm_notifier = { .notifier_call = pm_event };

int kvp_pm_init(void)
{
	return register_pm_notifier(&pm_notifier);
}

void kvp_pm_exit(void)
{
	unregister_pm_notifier(&pm_notifier);
}
