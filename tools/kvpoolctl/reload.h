/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of a running pool, as a base for a changed table. */
#ifndef KVPOOLCTL_RELOAD_H
#define KVPOOLCTL_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ctl.h"

/** table_vdevs() - the start of the vdevs, with a blank before them; NULL: unreadable */
const char *table_vdevs(const char *params);

/**
 * table_cache() - the start of the cache after them, with a blank before it; NULL: there is none
 */
const char *table_cache(const char *vdevs);

/**
 * table_leg() - the word of leg @leg: numbers of the device that the pool holds, "-" if it is
 * missing
 * @vdevs: from table_vdevs(), which may not find them
 *
 * Return: false if there is no such leg.
 */
bool table_leg(const char *vdevs, unsigned int leg, char *word, size_t size);

/**
 * table_shadow() - the device that is to take the place of a leg of a parity1; 0: the table has
 * none, or it has gone
 */
dev_t table_shadow(const char *params);

/**
 * table_options() - number and words of a changed table's options
 * @options: separated by single blanks; the option for table_shadow() of @params comes behind them
 */
void table_options(const char *params, const char *options, char *buf, size_t size);

/** table_again() - the pool's present table, fit to start the pool again: with this host's name */
void table_again(const char *uuid, const char *params, char *buf, size_t size);

/**
 * table_holds() - does the pool's table name the device @rdev? It may name a vdev's legs in any
 * order
 */
bool table_holds(const char *params, dev_t rdev);

/** table_device_gone() - is the device of this word of a table not there any more? */
bool table_device_gone(const char *word);

/** struct table_change - the table of pool @name is to change from @old to @table */
struct table_change {
	const char *name, *old;
	const char *without;	/* first to this one, which lets go of devices; NULL: not needed */
	const char *table;
	u64 sectors;
};

/** table_switch() - write memory home, and change the table; signals wait until that is done */
int table_switch(struct ctl *ctl, const struct table_change *c, struct err *err);

#endif
