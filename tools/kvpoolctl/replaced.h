/* SPDX-License-Identifier: GPL-2.0-only */
/* A leg in use is being replaced: the new one is a leg, and the old one leaves then. */
#ifndef KVPOOLCTL_REPLACED_H
#define KVPOOLCTL_REPLACED_H

#include "ctl.h"
#include "dm.h"
#include "stats.h"

/**
 * struct replaced_pair - the legs of such an order, by their numbers
 * @new: it replaces
 * @old: this one
 */
struct replaced_pair {
	unsigned int new, old;
};

/** enum replaced_state - how far it is */
enum replaced_state {
	REPLACED_RUNS,		/* the new leg resilvers */
	REPLACED_WAITS,		/* it is in sync; the old one stays: another leg is out */
	REPLACED_STOPPED,	/* the new leg is out */
	REPLACED_LEFT,		/* the new leg has the place; the old one is to be detached */
};

/** replaced_find() - the first order from leg @from on; false: there is none */
bool replaced_find(const struct stats *s, unsigned int from, struct replaced_pair *pair);

enum replaced_state replaced_state(const struct stats *s, const struct replaced_pair *pair);

#define REPLACED_MEND	512

/**
 * replaced_mend() - the commands that end the replacement @pair, as far as it is
 *
 * Return: @buf.
 */
const char *replaced_mend(const struct dm_entry *e, const struct stats *s,
			  const struct replaced_pair *pair, char buf[REPLACED_MEND]);

/**
 * replaced_list() - list the replacements that replaced_end() would end now
 *
 * Adds {"old","new"} to @list for each: how to name the leg that leaves, and that in its place.
 */
void replaced_list(const struct stats *s, json_object *list);

/**
 * replaced_settle() - after a start: detach the legs of mirrors that had left before
 *
 * Of a parity1 nothing is ended: a leg that is missing may only be late. What fails is told as a
 * note; the start counts. Context: without the pool's lock.
 */
void replaced_settle(struct ctl *ctl, const char *uuid);

/**
 * replaced_end() - end all replacements that can be ended now, and wait for no other
 *
 * A leg that has left is detached; a shadow that has everything, or whose leg was lost, takes the
 * place. Takes the pool's lock (pool_lock.h), and lets go of it.
 */
int replaced_end(struct ctl *ctl, const struct dm_entry *e, struct err *err);

/**
 * replaced_wait() - wait until no leg is being replaced, and detach those that have left
 *
 * Has the pool's lock only while it ends one.
 *
 * Return: 0; or -1 with @err: a new leg is out, or another leg of its vdev.
 */
int replaced_wait(struct ctl *ctl, const struct dm_entry *e, struct err *err);

/** replaced_cancel() - new legs leave, old ones stay, or print the plan; returns the exit status */
int replaced_cancel(struct ctl *ctl, const struct dm_entry *e);

#endif
