/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces a leg of a parity1 that is in use. A new device, its shadow, gets all that the leg has,
 * and then takes its place. The leg is a source until that moment.
 *
 * 1. kvp_pool_shadow(): the device is blank. It gets a label that says JOINING, and one superblock
 *    names it (format/shadow.h). It is no leg.
 * 2. When the pool goes on, home writes and table pages of the leg go to the shadow, too. The
 *    resilver copies what was there before, verified, from the leg (work/resilver.c).
 * 3. The shadow is complete when all of that is flushed. From then on it has what the leg has,
 *    except the log.
 * 4. kvp_pool_take_place(): the pool is quiesced, and the log is empty. One superblock under a new
 *    epoch lists the device in the place of the leg, in sync. It goes to the device as well. Then
 *    the label of the leg is wiped.
 *
 * If the leg is lost before 4, the shadow is given up, too: it would miss what is not written to
 * the leg. It then takes the place as a leg that is out, and has what its cursor says. The resilver
 * goes on.
 *
 * If the power goes before the superblock of 1, the device is no part of the pool. In 2 and 3 it
 * may lack anything, or be torn: it is not read, and the superblock's cursor says what was flushed.
 * If only some legs get the superblock of 4, both states are right: all is home, on the leg and on
 * the device, and the pool is quiesced.
 *
 * Why not as a mirror does it (attach.c): the legs of a parity1 have different contents, and their
 * number is that of pieces in a row. All code that goes through the legs would take another leg in
 * the list for another piece.
 */
#ifndef KVP_POOL_SHADOW_H
#define KVP_POOL_SHADOW_H

#include "pool/pool.h"

struct kvp_refusal;

/**
 * kvp_shadow_table_fits() - check that @s names all vdevs as they are, and is as long as the pool
 *
 * A longer device would take requests for blocks that the pool does not have. 0 blocks: any length.
 * Return: 0, or -EINVAL with @r filled in. Context: any.
 */
int __must_check kvp_shadow_table_fits(const struct kvp_pool *pool, const struct kvp_start *s,
				       struct kvp_refusal *r);

/**
 * kvp_shadow_plan() - check whether @s->shadow may become the shadow of the leg @s->leaves
 * @s: names all vdevs as they are; legs that are out may be missing
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in. Context:
 * any.
 */
int __must_check kvp_shadow_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/**
 * kvp_pool_shadow() - make that device the shadow of that leg, durably (1)
 *
 * The pool is quiesced; its log need not be empty. Return: 0; or -errno with @r filled in. Then the
 * pool is as before, on disk too, unless it is faulted now. Context: process, waits for I/O.
 */
int __must_check kvp_pool_shadow(struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/**
 * kvp_take_place_plan() - check whether the shadow may take the place of its leg
 *
 * It may if it is complete, or if the leg is out. Return: 0, or -errno with @r filled in. Context:
 * any.
 */
int __must_check kvp_take_place_plan(const struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_pool_take_place() - let the shadow take the place of its leg, durably (4)
 *
 * As kvp_pool_shadow().
 */
int __must_check kvp_pool_take_place(struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_shadow_let_go() - the table leaves out the shadow's device: stop using it
 *
 * The order waits for a start with the device. The pool is quiesced. Without a shadow it does
 * nothing. Context: process.
 */
void kvp_shadow_let_go(struct kvp_pool *pool);

/**
 * kvp_forget_shadow_plan() - check whether the order may be cancelled
 * @s: names all vdevs as they are
 *
 * Return: 0, or -errno with @r filled in. Context: any.
 */
int __must_check kvp_forget_shadow_plan(const struct kvp_pool *pool, const struct kvp_start *s,
					struct kvp_refusal *r);

/**
 * kvp_pool_forget_shadow() - cancel the order, durably
 *
 * Wipes the label of the device, if it is there. As kvp_pool_shadow().
 */
int __must_check kvp_pool_forget_shadow(struct kvp_pool *pool, struct kvp_refusal *r);

#endif /* KVP_POOL_SHADOW_H */
