/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Legs that superblocks call out, and superblocks that never counted. Pure.
 *
 * A superblock that calls leg B out may reach leg A alone when the power goes. It did not count. If
 * the next start needs no order without A, the others go on, and call A out. When A is back, the
 * two histories call each other's legs out, as those of a split brain do. But A did not go on.
 *
 * So each superblock says of each leg that is out whether an earlier superblock that calls it out
 * has counted (struct kvp_leg_info, @out). kvp_sb_commit() records a loss in two superblocks:
 *
 * 1. The first one calls the leg out: KVP_OUT_CALLED. It counts, or it does not.
 * 2. Once it counts, a second one says so, with its number. The commit ends when that one counts.
 *
 * Before the commit ends, the pool does nothing that relies on the loss. It answers no request
 * without the lost leg, frees no log space or page, and writes nothing home that the leg lacks.
 * Suppose that the newest superblock of a leg has KVP_OUT_CALLED for B. Then the leg has had no
 * part in anything that B does not know. The others may pass such a leg by: kvp_sb_never_counted().
 *
 * A module that does not know the field writes zeros, which say nothing. Whatever is in doubt is a
 * fork, as before.
 */
#ifndef KVP_OUTS_H
#define KVP_OUTS_H

#include "format/format.h"

/* Of a leg that is out: no superblock that calls it out has counted when this one was written. */
#define KVP_OUT_CALLED	1ull

/** kvp_outs_note() - before @sb is written: a leg in sync is not called out */
void kvp_outs_note(struct kvp_sb *sb);

/**
 * kvp_outs_counted() - @sb counts: note that for each leg which it calls out
 *
 * Return: true if a leg was called out by @sb, or by superblocks before it that did not count. Then
 * a further superblock must count, too, before the loss is recorded.
 */
bool __must_check kvp_outs_counted(struct kvp_sb *sb);

/** kvp_outs_fault() - what is wrong with these fields, or NULL */
const char *kvp_outs_fault(const struct kvp_sb *sb);

/**
 * kvp_sb_never_counted() - true if @own is of a history in which nothing was done without @best
 * @own: the newest superblock of a leg; it cannot have a newer one
 * @best: the newest superblock of another leg
 *
 * Both know the same legs, and the same orders by which a history was given up. @best calls the leg
 * of @own out. @own calls legs out that @best has in sync, and none of the superblocks that did so
 * has counted. So no request was answered without the legs that @best has in sync, and these have
 * all that the leg of @own has. That would not hold if they were put back to an older state. So
 * they must not call the leg out under a lower number than that of @own, but for @behind of @own.
 *
 * @best may be of a history that was cut as well, and calls that leg out only now. Then the same
 * holds the other way round, and either may be gone on from.
 */
bool kvp_sb_never_counted(const struct kvp_sb *own, const struct kvp_sb *best);

/**
 * struct kvp_rival - the label of a leg that was found
 * @sb: its newest superblock
 * @all_read: each slot was read, and none can hold a newer superblock (R27)
 */
struct kvp_rival {
	const struct kvp_sb *sb;
	bool all_read;
};

/** kvp_rival_passed() - true if the leg with label @c is to be passed by, as @best counts */
bool kvp_rival_passed(const struct kvp_rival *c, const struct kvp_sb *best);

/**
 * kvp_rivals_choose() - the superblock that counts; NULL: there is none
 *
 * It is the newest one, but for those that are passed by for it. If some leg has parted from each
 * one that could be chosen, and is not passed by, it is the newest of all: that is a split brain.
 */
const struct kvp_sb *kvp_rivals_choose(const struct kvp_rival *c, u32 nr);

#endif /* KVP_OUTS_H */
