/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What somebody orders and waits for, by a message or a suspend.
 *
 * A message holds the device's live table, and a suspend waits for that with all I/O
 * stopped: so whoever waits inside a message for minutes would stop everybody. And a
 * user who waits must be able to give up. So what takes long is done by a worker, and
 * he who ordered it only waits until it is done, or somebody kills him, or the device is
 * about to be suspended. The worker goes on then, if nobody tells it otherwise, and is
 * waited for where nothing may go on: when the pool is quiesced, and before it is freed.
 */
#ifndef KVP_ORDER_H
#define KVP_ORDER_H

#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/**
 * struct kvp_orders - those of a pool
 * @wait: for an order that is done, and for @ending
 * @ending: who waits is sent away, and nobody else is let in
 */
struct kvp_orders {
	struct workqueue_struct *wq;
	wait_queue_head_t wait;
	bool ending;
};

/**
 * struct kvp_order - one
 * @act: what is to be done, by a worker; its result is that of the order
 * @release: frees it; called once, by whoever is the last to let go of it
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
int kvp_orders_init(struct kvp_orders *orders);

/** kvp_orders_exit() - wait for all, and free; nobody orders anything any more. All zeros: nothing to do. */
void kvp_orders_exit(struct kvp_orders *orders);

/** kvp_order_start() - begin with @order, whose act and release are set, for kvp_order_wait() */
void kvp_order_start(struct kvp_orders *orders, struct kvp_order *order);

/**
 * kvp_order_wait() - until it is done; kvp_order_put() then ends the waiter's use of it
 *
 * Return: true: it is done, and @order->result says how. False: it is not, as the waiter was killed
 * or sent away, and goes on. Context: process; killable.
 */
bool kvp_order_wait(struct kvp_order *order);
void kvp_order_put(struct kvp_order *order);

/**
 * kvp_orders_end() - send away who waits, and let in nobody, until kvp_orders_again()
 *
 * kvp_orders_settle() waits until no worker does anything for one. Context: process.
 */
void kvp_orders_end(struct kvp_orders *orders);
void kvp_orders_settle(struct kvp_orders *orders);
void kvp_orders_again(struct kvp_orders *orders);

/** kvp_order_wait_killable() - kvp_order_wait(), but he who sends others away is not sent away himself */
bool kvp_order_wait_killable(struct kvp_order *order);

#endif /* KVP_ORDER_H */
