// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "target/order.h"

static void order_work(struct work_struct *work)
{
	struct kvp_order *order = container_of(work, struct kvp_order, work);
	struct kvp_orders *orders = order->orders;
	unsigned int noio;

	/*
	 * The device may be suspended, or about to be: memory must not come free by writing to it.
	 */
	noio = memalloc_noio_save();
	order->result = order->act(order);
	memalloc_noio_restore(noio);
	smp_store_release(&order->done, true);	/* pairs with the load in is_done() */
	atomic_dec(&orders->busy);
	wake_up_all(&orders->wait);
	kvp_order_put(order);
}

static bool is_done(struct kvp_order *order)
{
	return smp_load_acquire(&order->done);	/* pairs with the store in order_work() */
}

void kvp_order_start(struct kvp_orders *orders, struct kvp_order *order)
{
	order->orders = orders;
	order->done = false;
	refcount_set(&order->refs, 2);	/* references of the waiter and of the worker */
	INIT_WORK(&order->work, order_work);
	atomic_inc(&orders->busy);
	queue_work(orders->wq, &order->work);
}

bool kvp_order_wait(struct kvp_order *order)
{
	struct kvp_orders *orders = order->orders;

	return !wait_event_killable(orders->wait, is_done(order) || READ_ONCE(orders->ending)) &&
	       is_done(order);
}

bool kvp_order_wait_killable(struct kvp_order *order)
{
	return !wait_event_killable(order->orders->wait, is_done(order));
}

void kvp_order_put(struct kvp_order *order)
{
	if (refcount_dec_and_test(&order->refs))
		order->release(order);
}

void kvp_orders_end(struct kvp_orders *orders)
{
	WRITE_ONCE(orders->ending, true);
	wake_up_all(&orders->wait);
}

void kvp_orders_drain(struct kvp_orders *orders)
{
	/* Idle: the kernel reports a task as hung that sleeps otherwise for two minutes. */
	wait_event_idle(orders->wait, !atomic_read(&orders->busy));
	/* A worker may still be about to return, and uses @orders for that. */
	flush_workqueue(orders->wq);
}

void kvp_orders_again(struct kvp_orders *orders)
{
	WRITE_ONCE(orders->ending, false);
}

int kvp_orders_init(struct kvp_orders *orders)
{
	init_waitqueue_head(&orders->wait);
	orders->ending = false;
	atomic_set(&orders->busy, 0);
	/*
	 * Any number may run at once, since one may wait for another. No reclaim of memory waits
	 * for an order.
	 */
	orders->wq = alloc_workqueue("kvpool-orders", WQ_UNBOUND, 0);
	return orders->wq ? 0 : -ENOMEM;
}

void kvp_orders_exit(struct kvp_orders *orders)
{
	if (orders->wq)
		destroy_workqueue(orders->wq);
	orders->wq = NULL;
}
