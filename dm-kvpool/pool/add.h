/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool gets more vdevs, loses its cache, or gets other SSDs for it. For the target, while the device is suspended. */
#ifndef KVP_ADD_H
#define KVP_ADD_H

#include "pool/pool.h"

/**
 * kvp_add_plan() - what the superblock will be
 * @s: names the pool's vdevs, and new ones: behind those with data, and before the cache if there is one
 * @next: result; the new legs have no UUIDs yet
 *
 * No I/O, and nothing of the pool changes. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_add_plan(const struct kvp_pool *pool, const struct kvp_start *s,
			      struct kvp_sb *next, struct kvp_refusal *r);

/** kvp_add_at() - number of the first leg that a pool of @sb gets, in a table that names it and all others */
u32 kvp_add_at(const struct kvp_sb *sb);

/**
 * kvp_pool_add() - take in the new vdevs, durably
 *
 * The pool is quiesced, without requests and messages. What a stop has left in the log of a cache
 * is written back first. Return: 0; or -errno with @r filled in, and then the pool is as it was, on
 * disk too, unless it is faulted now. Context: process, waits for I/O.
 */
int __must_check kvp_pool_add(struct kvp_pool *pool, const struct kvp_start *s,
			      struct kvp_refusal *r);

/**
 * kvp_remove_plan() - what the superblock will be without the cache
 * @s: names the pool's vdevs but for that
 *
 * No I/O, and nothing of the pool changes. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_remove_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_sb *next, struct kvp_refusal *r);

/**
 * kvp_pool_remove() - let go of the cache, durably, and wipe its labels
 *
 * As kvp_pool_add(). The legs of the cache still have their devices.
 */
int __must_check kvp_pool_remove(struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/**
 * kvp_replace_plan() - what the superblock will be with other SSDs
 * @s: names the pool's vdevs, the last of which is the cache, of any number of legs: the pool's own or
 *	blank ones; a missing one ('-') is a missing leg of the cache
 *
 * No I/O, and nothing of the pool changes. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_replace_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				  struct kvp_sb *next, struct kvp_refusal *r);

/**
 * kvp_pool_replace() - the SSDs of the cache are those that @s names, durably; labels of others are wiped
 *
 * As kvp_pool_add(). Those that leave still have their devices.
 */
int __must_check kvp_pool_replace(struct kvp_pool *pool, const struct kvp_start *s,
				  struct kvp_refusal *r);

/* --- for remove.c and replace.c --- */

/** kvp_label_wipe() - at both ends, whether or not the SSD was in use; false, and an event, if that fails */
bool kvp_label_wipe(struct kvp_pool *pool, struct kvp_leg *leg);

/** kvp_change_able() - could the pool take in or let go of anything, as it is? 0 or -errno */
int __must_check kvp_change_able(const struct kvp_pool *pool, struct kvp_refusal *r);

/** kvp_change_ready() - is it quiesced, and all home? 0 or -errno */
int __must_check kvp_change_ready(struct kvp_pool *pool, struct kvp_refusal *r);

/** kvp_take_shape() - from here on the pool has the shape that @sb says, in memory; under sb_lock */
void kvp_take_shape(struct kvp_pool *pool, const struct kvp_sb *sb);

/** kvp_forget_legs() - of those behind the last leg nothing is known any more */
void kvp_forget_legs(struct kvp_pool *pool);

#endif /* KVP_ADD_H */
