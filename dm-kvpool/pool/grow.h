/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Growth: a pool becomes larger because all legs of a vdev have become larger. The head of grow.c
 * has the steps.
 */
#ifndef KVP_POOL_GROW_H
#define KVP_POOL_GROW_H

#include "format/grow.h"
#include "pool/pool.h"

struct kvp_refusal;

/**
 * kvp_pool_grow_plan() - check whether the pool can use more of the legs that @s names
 * @next: receives the superblock, except the roots of vdevs that grow
 *
 * Context: process, no I/O. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_pool_grow_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				    struct kvp_sb *next, struct kvp_refusal *r);

/**
 * kvp_pool_grow_ahead() - copy the checksum table to its new place, while the pool is in use
 * @w: leg_blocks has the present sizes of all legs
 *
 * Begins with step 1: from then on the legs have these sizes, also if the pool does not grow.
 *
 * Context: process, waits for a superblock. Return: 0: the copy runs (kvp_ahead_written()); or
 * -errno with @r filled in.
 */
int __must_check kvp_pool_grow_ahead(struct kvp_pool *pool, struct kvp_grow *w,
				     struct kvp_refusal *r);

/**
 * kvp_pool_grow() - use more of the legs that @s names, durably
 *
 * The pool is quiesced. Return: 0, or -errno with @r filled in. After an error the pool is as
 * before, except the sizes of its legs; or it is faulted. Context: process, for long: copies all
 * pages of the tables that were not copied ahead.
 */
int __must_check kvp_pool_grow(struct kvp_pool *pool, const struct kvp_start *s,
			       struct kvp_refusal *r);

#endif /* KVP_POOL_GROW_H */
