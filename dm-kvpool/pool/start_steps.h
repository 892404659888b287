/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of a start, shared by the files that carry them out. start.h is for all others.
 *
 *   start.c ──► choose.c ──► labels.c     chooses; tells why a leg has no label
 *      ├──────► places.c ──► labels.c     finds the leg of a label; refuses a device that shrank
 *      │           └───────► putback.c    finds legs that were put back; reads as labels.c does
 *      └──────► away.c ────► places.c     forgets what a leg has
 *
 * pool.c reads labels and makes new pools: labels.c and create.c. create.c calls none of these.
 */
#ifndef KVP_START_STEPS_H
#define KVP_START_STEPS_H

#include "pool/start.h"

struct kvp_io;
struct kvp_refusal;

/* --- labels.c --- */

/** kvp_refuse_small() - refuse since the device of @leg is too small; @why says for what */
int __must_check kvp_refuse_small(const struct kvp_leg *leg, const struct kvp_why *why,
				  struct kvp_refusal *r);

/**
 * kvp_label_place() - find the leg of @label in superblock @best
 *
 * Return: the number of the leg; best->leg_count: @best does not list it.
 */
u32 kvp_label_place(const struct kvp_sb *best, const struct kvp_label *label);

/**
 * kvp_label_may_be_newer() - true if a newer module may have written a newer superblock to a leg
 *
 * It is not true of slots that are older than the newest superblock of @label. There must be one.
 */
bool kvp_label_may_be_newer(const struct kvp_label *label);

/**
 * kvp_start_read() - read with patience what a start must know (R27)
 * @pauses: how often a caller has paused already for this leg; counted on
 *
 * An error that may pass is waited for: a second in all, if @pauses began at 0. Return: 0 or the
 * error. Context: process, waits for I/O.
 */
int __must_check kvp_start_read(struct kvp_io *io, u32 *pauses);

/* --- choose.c. Each returns 0, or -errno with @r filled in. --- */

/** kvp_check_family() - check that all labels belong to @best; note which have parted from it */
int __must_check kvp_check_family(struct kvp_pool *pool, struct kvp_labels *l,
				  const struct kvp_sb *best, const struct kvp_start *s,
				  struct kvp_refusal *r);

/** kvp_check_table() - check that the table is one of the pool of @sb, which may start so */
int __must_check kvp_check_table(struct kvp_pool *pool, const struct kvp_sb *sb,
				 const struct kvp_start *s, struct kvp_refusal *r);

/* --- places.c --- */

/** kvp_leg_info_forget() - note that the leg may lack any block */
void kvp_leg_info_forget(struct kvp_leg_info *info);

/**
 * kvp_order_legs() - put pool->legs[] into the order of @best, with places for missing ones
 *
 * Decides the state of each leg, too. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_order_legs(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_sb *best,
				struct kvp_refusal *r);

/** kvp_check_sizes() - refuse if a device is too small for the layout that counts */
int __must_check kvp_check_sizes(struct kvp_pool *pool, const struct kvp_sb *best,
				 struct kvp_refusal *r);

/** kvp_set_shadow_state() - decide whether the device that the table names is the shadow */
void kvp_set_shadow_state(struct kvp_pool *pool, const struct kvp_label *label, bool readonly);

/* --- putback.c --- */

/**
 * kvp_find_put_back() - find legs that lack the newest superblock, and the pages that it names, too
 * @best: the superblock that counts; pool->legs[] and l->ordered_label[] are in its order
 *
 * Such a leg was put back to an older state: it becomes stale, with its lag. Context: process,
 * waits for I/O.
 */
void kvp_find_put_back(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best);

/* --- away.c --- */

/** kvp_next_is_unread() - true if a superblock after @sb may be in one ring, and unreadable */
bool kvp_next_is_unread(const struct kvp_pool *pool, const struct kvp_labels *l,
			const struct kvp_sb *sb);

/** kvp_forget_eras() - forget what legs that are out have: this start gives up a history */
void kvp_forget_eras(struct kvp_pool *pool);

/**
 * kvp_check_missing() - decide whether the pool may go on without the legs that are away
 *
 * If so, they are left out. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_check_missing(struct kvp_pool *pool, struct kvp_sb *sb,
				   const struct kvp_start *s, bool auto_start,
				   struct kvp_refusal *r);

#endif /* KVP_START_STEPS_H */
