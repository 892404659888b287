/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool gets more vdevs. For the target, while the device is suspended. */
#ifndef KVP_GROW_H
#define KVP_GROW_H

#include "pool/pool.h"

/**
 * kvp_grow_plan() - what the superblock will be
 * @s: names the pool's vdevs, and behind them new ones
 * @next: result; the new legs have no UUIDs yet
 *
 * No I/O, and nothing of the pool changes. Return: 0, or -errno with @r filled in.
 */
int kvp_grow_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_sb *next,
		  struct kvp_refusal *r);

/**
 * kvp_pool_grow() - take in the new vdevs, durably
 *
 * The pool is quiesced, and its log empty. Nobody else looks into it: no
 * requests, and no messages. Return: 0; or -errno with @r filled
 * in, and then the pool is as it was: on disk too, unless it is faulted now.
 * Context: process, waits for I/O.
 */
int kvp_pool_grow(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r);

#endif /* KVP_GROW_H */
