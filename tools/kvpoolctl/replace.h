/* SPDX-License-Identifier: GPL-2.0-only */
/* A new device takes the place of a leg with data that is out. */
#ifndef KVPOOLCTL_REPLACE_H
#define KVPOOLCTL_REPLACE_H

#include <stdbool.h>

#include "ctl.h"
#include "stats.h"

/**
 * struct replace_order - the requested change
 * @e, @s: the pool
 * @leg: the leg that leaves, which is no SSD
 * @old, @new: that leg, and the new device, as the user named them
 * @force: ignore foreign signatures on @new
 * @wait: return when the new leg is in sync
 */
struct replace_order {
	const struct dm_entry *e;
	const struct stats *s;
	unsigned int leg;
	const char *old, *new;
	bool force, wait;
};

/** replace_check() - may the leg be replaced in its state? 0, or -1 with @err */
int replace_check(const struct replace_order *o, struct err *err);

/** replace_out() - make the change, or print the plan; returns the exit status */
int replace_out(struct ctl *ctl, const struct replace_order *o);

/**
 * replace_table() - a pool's table with the device @rdev, 0: none, as leg @leg
 * @params: the table as it is
 * @gone: is the device of this word not there any more? It is left out, as it cannot be opened
 * @buf: receives its vdevs, with a blank before them
 *
 * All legs with data are in the order of the superblock; SSDs stay as they are.
 * Return: false if @params is no table, or @buf is too small.
 */
bool replace_table(const struct stats *s, unsigned int leg, dev_t rdev, const char *params,
		   bool (*gone)(const char *word), char *buf, size_t size);

/**
 * replace_leg_word() - the word of leg @leg, which has data and stays, in a new table
 *
 * The numbers of its device if @params holds that; "-": it is out, and has none.
 */
void replace_leg_word(const struct stats *s, unsigned int leg, const char *params,
		      bool (*gone)(const char *word), char word[64]);

/**
 * replace_bring_online() - bring leg @leg online, which @pool has since its last table
 * @dev: its device, for a refusal, as is @done: what was done so far
 * @uuid: receives its UUID
 */
int replace_bring_online(const char *pool, unsigned int leg, const char *dev, const char *done,
			 char uuid[UUID_BUF], struct err *err);

#endif
