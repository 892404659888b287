/* SPDX-License-Identifier: GPL-2.0-only */
/* Verifies a whole pool without the module. */
#ifndef KVPOOLCTL_CHECK_H
#define KVPOOLCTL_CHECK_H

#include "ctl.h"
#include "scan.h"
#include "verify.h"

/**
 * check_object() - verify the pool @p, whose devices are in @legs
 * @s: a scan of the devices, which must be of one pool
 * @status: receives the exit status
 *
 * Return: an object, NULL with @err.
 */
json_object *check_object(struct ctl *ctl, struct scan *s, int *status, struct err *err);

/** check_blocks() - add "blocks" and "damage" of a walk, as counts and ranges */
void check_blocks(json_object *parent, const struct verify *v);

/** check_print_damage() - print "damage", a line for each range */
void check_print_damage(json_object *o);

#endif
