/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of a pool that runs, for another one that is like it. */
#ifndef KVPOOLCTL_RELOAD_H
#define KVPOOLCTL_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

/** table_vdevs() - where its vdevs begin, with a blank before them; NULL: it is unreadable */
const char *table_vdevs(const char *params);

/** table_cache() - where the cache begins behind them, with a blank before it; NULL: there is none */
const char *table_cache(const char *vdevs);

/**
 * table_leg() - the word for leg @leg of a running pool: numbers of the device that it holds, "-" if it is missing
 * @vdevs: from table_vdevs()
 *
 * Return: false if there is no such leg.
 */
bool table_leg(const char *vdevs, unsigned int leg, char *word, size_t size);

/** table_again() - the table that the pool has, so that it can be started by it: with this host's name */
void table_again(const char *uuid, const char *params, char *buf, size_t size);

#endif
