/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Orders: work that a message or a suspend starts, and waits for.
 *
 * A message holds the device's live table. A suspend waits for that table with all I/O
 * stopped. So a message that waited for minutes would stop all I/O of the device, and its
 * sender could not stop waiting. A worker does such work instead. The sender waits until the
 * work is done, the sender is killed, or the device is about to be suspended. The worker
 * goes on after that. The pool waits for the worker when it is quiesced, and before it is
 * freed.
 */
#ifndef KVP_ORDER_H
#define KVP_ORDER_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/**
 * struct kvp_orders - the orders of a pool
 * @wait: waiters for an order that is done, for @ending, and for @busy to fall to 0
 * @ending: waiters return at once, and new ones do not wait
 * @busy: orders that were begun, and that no worker has done yet
 */
struct kvp_orders {
	struct workqueue_struct *wq;
	wait_queue_head_t wait;
	bool ending;
	atomic_t busy;
};

/**
 * struct kvp_order - one order
 * @act: the work, called by a worker; its result is the result of the order
 * @release: frees the order; called once, when the last reference is put
 * @done: set after @result
 */
struct kvp_order {
	struct kvp_orders *orders;
	struct work_struct work;
	refcount_t refs;
	int (*act)(struct kvp_order *order);
	void (*release)(struct kvp_order *order);
	int result;
	bool done;
};

/** kvp_orders_init() - 0 or -ENOMEM */
int __must_check kvp_orders_init(struct kvp_orders *orders);

/**
 * kvp_orders_exit() - wait for all orders, and free; none may be started any more. Does nothing if
 * all is zero.
 */
void kvp_orders_exit(struct kvp_orders *orders);

/** kvp_order_start() - begin with @order, whose act and release are set, for kvp_order_wait() */
void kvp_order_start(struct kvp_orders *orders, struct kvp_order *order);

/**
 * kvp_order_wait() - wait until @order is done; then kvp_order_put() it
 *
 * Return: true if it is done: @order->result is valid. False if the waiter was killed or had to
 * return (@ending): the worker goes on. Context: process; killable.
 */
bool kvp_order_wait(struct kvp_order *order);
void kvp_order_put(struct kvp_order *order);

/**
 * kvp_orders_end() - make all waiters return, also new ones, until kvp_orders_again()
 *
 * kvp_orders_drain() waits until no worker works on an order. That may take minutes, so the task
 * counts as idle meanwhile. It cannot be killed. Context: process.
 */
void kvp_orders_end(struct kvp_orders *orders);
void kvp_orders_drain(struct kvp_orders *orders);
void kvp_orders_again(struct kvp_orders *orders);

/**
 * kvp_order_wait_killable() - kvp_order_wait() for the caller of kvp_orders_end(): ignores @ending
 */
bool kvp_order_wait_killable(struct kvp_order *order);

#endif /* KVP_ORDER_H */
