/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of a running pool, as a base for a changed table. */
#ifndef KVPOOLCTL_RELOAD_H
#define KVPOOLCTL_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

/** table_vdevs() - the start of the vdevs, with a blank before them; NULL: unreadable */
const char *table_vdevs(const char *params);

/**
 * table_cache() - the start of the cache after them, with a blank before it; NULL: there is none
 */
const char *table_cache(const char *vdevs);

/**
 * table_leg() - the word of leg @leg: numbers of the device that the pool holds, "-" if it is
 * missing
 * @vdevs: from table_vdevs()
 *
 * Return: false if there is no such leg.
 */
bool table_leg(const char *vdevs, unsigned int leg, char *word, size_t size);

/** table_again() - the pool's present table, fit to start the pool again: with this host's name */
void table_again(const char *uuid, const char *params, char *buf, size_t size);

#endif
