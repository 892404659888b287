/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_TABLE_SHRINKER_H
#define KVP_TABLE_SHRINKER_H

#include "compat/shrinker.h"

struct kvp_table;

/**
 * kvp_table_shrinker_add() - let the kernel free clean table pages when memory is short
 *
 * Return: 0 or -ENOMEM. Context: process.
 */
int __must_check kvp_table_shrinker_add(struct kvp_shrinker *s, struct kvp_table *t);
/**
 * kvp_table_shrinker_remove() - wait until the kernel frees no page, and let it free no more
 *
 * Does nothing if @s is zeros, or was removed. Context: process, may sleep.
 */
void kvp_table_shrinker_remove(struct kvp_shrinker *s);

#endif /* KVP_TABLE_SHRINKER_H */
