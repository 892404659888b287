/* SPDX-License-Identifier: GPL-2.0-only */
/* A mirror gets one leg more, or one less; a single becomes a mirror, and a mirror a single. */
#ifndef KVPOOLCTL_LEGS_H
#define KVPOOLCTL_LEGS_H

#include <stdbool.h>

#include "ctl.h"
#include "stats.h"

#define LEGS_NONE	(~0u)

/**
 * struct legs_order - the requested change
 * @e, @s: the pool
 * @leg: a leg with data: the one that leaves, or that gets one more copy
 * @name: that leg, as the user named it
 * @new: the new device; NULL: @leg leaves
 * @force: ignore foreign signatures on @new
 * @wait: return when the new leg is in sync; with @replaces, when @leg has left
 * @replaces: @leg is to leave when the new one is in sync
 * @unseen: @leg leaves, and cannot be looked at (reused_check()): its device keeps its label
 */
struct legs_order {
	const struct dm_entry *e;
	const struct stats *s;
	unsigned int leg;
	const char *name, *new;
	bool force, wait, replaces, unseen;
};

/** legs_change() - make the change, or print the plan; returns the exit status */
int legs_change(struct ctl *ctl, const struct legs_order *o);

/** legs_copies() - is leg @leg one of a single or a mirror? */
bool legs_copies(const struct stats *s, unsigned int leg);

/** legs_detach() - let a leg leave, and say nothing of that. Return: 0 or -1 with @err. */
int legs_detach(struct ctl *ctl, const struct legs_order *o, struct err *err);

/**
 * legs_table() - a pool's table with another number of legs
 * @params: the table as it is
 * @vdev: number of the vdev that changes; LEGS_NONE: none does
 * @out: number of the leg that leaves it; LEGS_NONE: none
 * @rdev: the device that joins it; 0: none
 * @gone: is the device of this word not there any more? It is left out, as it cannot be opened
 * @buf: receives the vdevs, with a blank before them
 *
 * All legs with data are in the order of the superblock; SSDs stay as they are. If a leg leaves,
 * others without a device are named by their UUIDs. Return: false if @params is no table, or @buf
 * is too small.
 */
bool legs_table(const struct stats *s, const char *params, unsigned int vdev, unsigned int out,
		dev_t rdev, bool (*gone)(const char *word), char *buf, size_t size);

#endif
