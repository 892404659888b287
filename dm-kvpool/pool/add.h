/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of a pool's vdevs: add vdevs, remove the cache, give the cache other SSDs, replace a leg
 * with data that is out, or give a mirror one leg more or less. The target calls this while the
 * device is suspended.
 */
#ifndef KVP_ADD_H
#define KVP_ADD_H

#include "pool/change.h"
#include "pool/pool.h"

struct kvp_refusal;

/**
 * kvp_add_plan() - plan the new superblock
 * @s: names the pool's vdevs and the new ones. New vdevs are behind those with data, and before the
 *	cache if there is one
 * @next: result; the new legs have no UUIDs yet
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in. Context:
 * any.
 */
int __must_check kvp_add_plan(const struct kvp_pool *pool, const struct kvp_start *s,
			      struct kvp_sb *next, struct kvp_refusal *r);

/** kvp_add_at() - number of the first new leg, in a table that names all legs of a pool with @sb */
u32 kvp_add_at(const struct kvp_sb *sb);

/**
 * kvp_pool_add() - add the new vdevs, durably
 *
 * The pool is quiesced, without requests and messages. If a stop has left data in the log of a
 * cache, that is written home first. Return: 0; or -errno with @r filled in. Then the pool is as
 * before, on disk too, unless it is faulted now. Context: process, waits for I/O.
 */
int __must_check kvp_pool_add(struct kvp_pool *pool, const struct kvp_start *s,
			      struct kvp_refusal *r);

/**
 * kvp_cache_without_log() - check that the log is not on the cache, which loses SSDs
 *
 * Return: 0, or -EBUSY with @r filled in. Context: any.
 */
int __must_check kvp_cache_without_log(const struct kvp_pool *pool, struct kvp_refusal *r);

/**
 * kvp_remove_plan() - plan the superblock without the cache
 * @s: names the pool's vdevs except the cache
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_remove_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_sb *next, struct kvp_refusal *r);

/**
 * kvp_pool_remove() - remove the cache, durably, and wipe its labels
 *
 * As kvp_pool_add(). The legs of the cache still have their devices.
 */
int __must_check kvp_pool_remove(struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/**
 * kvp_replace_plan() - plan the superblock with other SSDs
 * @s: names the pool's vdevs. The last is the cache, with any number of legs: the pool's own or
 *	blank ones; a missing one ('-') is a missing leg of the cache
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_replace_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				  struct kvp_sb *next, struct kvp_refusal *r);

/**
 * kvp_pool_replace_ssds() - give the cache the SSDs that @s names, durably
 *
 * Wipes the labels of the SSDs that leave; they still have their devices. As kvp_pool_add().
 */
int __must_check kvp_pool_replace_ssds(struct kvp_pool *pool, const struct kvp_start *s,
				       struct kvp_refusal *r);

/**
 * kvp_leg_replace_at() - find the leg with data that @s replaces by a new device
 *
 * Return: the number of the leg, or KVP_MAX_LEGS: @s is no such table. Context: any.
 */
u32 kvp_leg_replace_at(const struct kvp_pool *pool, const struct kvp_start *s);

/**
 * kvp_leg_replace_plan() - check whether that device may take the place of that leg
 * @s: names all vdevs as they are, except the device; legs that are out may be missing
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_leg_replace_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				      struct kvp_refusal *r);

/**
 * kvp_pool_replace_leg() - let that device take the place of that leg, durably
 *
 * The device is brought online when the pool goes on. The pool is quiesced; its log need not be
 * empty. The old leg may still have its device: its labels are wiped at the end. Return: 0; or
 * -errno with @r filled in. Then the pool is as before, on disk too, unless it is faulted now.
 * Context: process, waits for I/O.
 */
int __must_check kvp_pool_replace_leg(struct kvp_pool *pool, const struct kvp_start *s,
				      struct kvp_refusal *r);

/**
 * kvp_attach_at() - the number of the new leg, if @s names a mirror or single with one leg more
 *
 * Return: KVP_MAX_LEGS: @s is no such table. Context: any.
 */
u32 kvp_attach_at(const struct kvp_pool *pool, const struct kvp_start *s);

/**
 * kvp_attach_plan() - check whether that device may become a leg of that vdev
 * @s: names all vdevs as they are, and the device behind the other legs of its vdev; legs that are
 *	out may be missing
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_attach_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/**
 * kvp_pool_attach() - let that device become a leg, durably
 *
 * It is brought online when the pool goes on. Legs behind it get other numbers. As
 * kvp_pool_replace_leg().
 */
int __must_check kvp_pool_attach(struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/** kvp_detaches() - true if @s names a mirror with one leg less. Context: any. */
bool kvp_detaches(const struct kvp_pool *pool, const struct kvp_start *s);

/**
 * kvp_detach_at() - find the leg that @s leaves out of a mirror
 *
 * Return: its number, or KVP_MAX_LEGS: there is none, or several legs may be meant. Context: any.
 */
u32 kvp_detach_at(const struct kvp_pool *pool, const struct kvp_start *s);

/**
 * kvp_detach_plan() - check whether that leg may leave
 * @s: names all vdevs as they are, except the leg; legs that are out may be missing ('-', or their
 *	UUIDs)
 *
 * Does no I/O, and changes nothing in the pool. Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_detach_plan(const struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/**
 * kvp_pool_detach() - let that leg leave, durably, and wipe its labels
 *
 * The leg still has its device. Legs behind it get other numbers. As kvp_pool_replace_leg().
 */
int __must_check kvp_pool_detach(struct kvp_pool *pool, const struct kvp_start *s,
				 struct kvp_refusal *r);

/* --- for attach.c, cacheremove.c, cachereplace.c and legreplace.c --- */

/** kvp_take_shape() - give the pool the shape of @sb in memory. Caller holds sb_lock. */
void kvp_take_shape(struct kvp_pool *pool, const struct kvp_sb *sb);

/**
 * kvp_forget_legs() - clear the state of legs behind the pool's last one
 *
 * Waits for events that may be written to them. Context: process.
 */
void kvp_forget_legs(struct kvp_pool *pool);

#endif /* KVP_ADD_H */
