/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg of a parity1 in use is replaced: the new device is no leg until it takes the place. The
 * module tells of it as shadow.*; users see it as a leg that replaces another, as in a mirror.
 */
#ifndef KVPOOLCTL_SHADOW_H
#define KVPOOLCTL_SHADOW_H

#include <stdbool.h>

#include "ctl.h"
#include "replaced.h"
#include "replace.h"

/** shadow_is_there() - is a leg of a parity1 being replaced? */
bool shadow_is_there(const struct stats *s);

/** shadow_replaces() - is it leg @leg? */
bool shadow_replaces(const struct stats *s, unsigned int leg);

/**
 * shadow_state() - how far it is
 *
 * REPLACED_LEFT: shadow_end() may let it take the place. It has all that the leg has, or the leg is
 * out. REPLACED_WAITS: the leg resilvers, or is stale.
 */
enum replaced_state shadow_state(const struct stats *s);

/** shadow_is() - does @dev, a path or a UUID, name the device? */
bool shadow_is(const struct stats *s, const char *dev);

/**
 * shadow_mend() - the commands of @pool that end it, as far as it is
 *
 * Return: @buf.
 */
const char *shadow_mend(const char *pool, const struct stats *s, char buf[REPLACED_MEND]);

/** shadow_none() - refuse if a leg of a parity1 is being replaced; 0 or -1 with @err */
int shadow_none(const struct dm_entry *e, const struct stats *s, struct err *err);

/** shadow_check_none() - the same for a pool whose stats have not been asked for */
int shadow_check_none(const struct dm_entry *e, struct err *err);

/** shadow_replace() - let a device replace a leg in use, or print that; exit status */
int shadow_replace(struct ctl *ctl, const struct replace_order *o);

/** shadow_end() - let the device take the place, and say nothing. Return: 0 or -1 with @err. */
int shadow_end(struct ctl *ctl, const struct dm_entry *e, const struct stats *s, struct err *err);

/** shadow_stopped() - say in @err why it does not go on, and what to do. Returns -1. */
int shadow_stopped(const struct dm_entry *e, const struct stats *s, struct err *err);

/**
 * shadow_waits() - say in @err that it waits for its leg in vain, and what to do
 *
 * For a leg that is stale, and does not return by itself; or that resilvers, and gets nothing.
 * Return: -1.
 */
int shadow_waits(const struct dm_entry *e, const struct stats *s, struct err *err);

/**
 * shadow_is_lost() - has the device failed, or gone, as leg @leg has, which it is to replace?
 *
 * Then neither will have what the other lacks: another device may take the place of the leg.
 */
bool shadow_is_lost(const struct stats *s, unsigned int leg);

/** shadow_forget() - the device leaves, the leg stays, and nothing is said; 0 or -1 with @err */
int shadow_forget(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		  struct err *err);

/** shadow_cancel() - the device leaves, the leg stays, or print that; returns the exit status */
int shadow_cancel(struct ctl *ctl, const struct dm_entry *e, const struct stats *s);

#endif
