/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dry runs of commands that only send an order to the module: scrub, trim, clear, giveup, set. What
 * the module would refuse is refused here, as far as its answers tell.
 */
#ifndef KVPOOLCTL_ORDER_PLAN_H
#define KVPOOLCTL_ORDER_PLAN_H

#include "ctl.h"
#include "stats.h"

/** order_plan() - a plan, to be filled in: the member "plan" of *@root, with action, pool, UUID */
json_object *order_plan(const struct dm_entry *e, const char *action, json_object **root);

/**
 * order_plan_print() - print the plan: @root, which is released, or for people the lines of @format
 *
 * Return: the exit status.
 */
int order_plan_print(struct ctl *ctl, json_object *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** order_writable() - refuse a pool that was imported read-only */
int order_writable(const struct dm_entry *e, struct err *err);

/** order_state() - the value of "@work.state", "none" if the module does not tell */
const char *order_state(const struct stats *s, const char *work);

/** order_bytes() - the bytes of @blocks, with a unit, unless @ctl wants plain bytes */
const char *order_bytes(const struct ctl *ctl, u64 blocks, char buf[SIZE_BUF]);

#endif
