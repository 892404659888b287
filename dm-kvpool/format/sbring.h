/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was seen of the rings of superblocks of one leg, and what follows for slots that cannot be
 * read (R13, R27). Pure.
 *
 * The superblocks of a leg have consecutive sequences. Each goes into slot (sequence % KVP_SB_RING)
 * of both rings, one superblock at a time. So the newest one that can be read tells the slot of the
 * next one, and of the one after that. If that slot can be read, and has something older, there is
 * no next one. If it cannot be read, its twin in the other ring answers for it. If the twin cannot
 * be read either, the next superblock may be there, and the same question is asked for the one
 * after it.
 *
 * A leg may lack superblocks: a power cut came before it got them, it failed them, or it was out.
 * Then it has later ones behind a slot that has something older. If these could not be read, that
 * slot would say that they are not there. So once the next superblock is on all legs, such slots
 * get it as well, under the numbers that they lack: kvp_sb_rings_gaps().
 *
 * A ring answers only if it was written along with the other one. Then it has the newest
 * superblock, or the one before, as a power cut may leave it. The front ring never moves. The back
 * ring lies at the end of the device, and moves when that gets another size. So a ring at a former
 * end of the device says nothing of the next superblock: that may have been the first one at the
 * new end. If no ring answers by itself, there is no next superblock only if all rings show
 * something older.
 *
 * A slot with a magic and a wrong sum in both rings is a superblock that was being written when the
 * power went. There are no two of these in a row: the first was complete when the second was begun,
 * so it has rotted. But another leg may have the superblock that was cut. Then the next start
 * writes the slot behind it, and may be cut as well. So a superblock beside such a slot goes to one
 * ring after the other. The ring that was not cut tells that it is not there.
 */
#ifndef KVP_SBRING_H
#define KVP_SBRING_H

#include "format/format.h"

/*
 * Front, back, and where the back ring was before the device grew: at a size that the newest
 * superblock of the leg names, or that of another leg.
 */
enum {
	KVP_RING_FRONT,
	KVP_RING_BACK,
	KVP_RING_OLD_BACK,
	KVP_RINGS = KVP_RING_OLD_BACK + 3,
};

enum kvp_slot_state {
	KVP_SLOT_NONE,		/* not read yet, or there is no superblock */
	KVP_SLOT_VALID,
	KVP_SLOT_BAD,		/* a superblock that does not verify */
	KVP_SLOT_UNREADABLE,
};

struct kvp_sb_rings {
	u8 state[KVP_RINGS][KVP_SB_RING];	/* enum kvp_slot_state */
	u64 epoch[KVP_RINGS][KVP_SB_RING];	/* of the valid ones */
	u64 sequence[KVP_RINGS][KVP_SB_RING];	/* the same */
};

/**
 * kvp_sb_rings_may_hold() - the highest sequence that this leg may have
 * @newest: sequence of the newest superblock that can be read
 *
 * Return: @newest, if nothing newer can be there.
 */
u64 kvp_sb_rings_may_hold(const struct kvp_sb_rings *r, u64 newest);

/** kvp_sb_rings_unread() - true if superblock @sequence may be in a slot that cannot be read */
bool kvp_sb_rings_unread(const struct kvp_sb_rings *r, u64 sequence);

/** kvp_sb_rings_unreadable() - number of slots that cannot be read */
u32 kvp_sb_rings_unreadable(const struct kvp_sb_rings *r);

/**
 * kvp_sb_rings_next() - the first number from @sequence on that overwrites none of the newest two
 * of a ring (R13)
 *
 * Numbers of one leg are consecutive, so only a label whose numbers are not has to ask.
 */
u64 kvp_sb_rings_next(const struct kvp_sb_rings *r, u64 sequence);

/** kvp_sb_rings_torn() - bit per slot: it has a superblock that does not verify, in some ring */
u32 kvp_sb_rings_torn(const struct kvp_sb_rings *r);

/**
 * kvp_sb_rings_gaps() - the slots of a ring that show no superblock, though there are newer ones
 * @ring: KVP_RING_FRONT or KVP_RING_BACK
 * @newest: sequence of the newest superblock that can be read
 *
 * If the newer ones could not be read, such a slot would hide them from a start that can read the
 * one before that slot.
 *
 * Return: bit per slot.
 */
u32 kvp_sb_rings_gaps(const struct kvp_sb_rings *r, u32 ring, u64 newest);

/**
 * kvp_sb_gaps_between() - the slots that a leg leaves out if its newest superblock is @had, and
 * @sequence is the next one that it gets
 *
 * These are the slots between that of @had and that of @sequence. If they are a whole round, the
 * slot of @had - 1 is not among them: that superblock is still there (R13).
 *
 * Return: bit per slot.
 */
u32 kvp_sb_gaps_between(u64 had, u64 sequence);

/**
 * kvp_sb_rings_missed() - how many numbers the newest superblock of a ring is behind @newest
 * @ring: KVP_RING_FRONT or KVP_RING_BACK
 * @newest: the newest superblock of the leg that can be read
 *
 * The newest is that of the highest epoch, then of the highest number. A history that was discarded
 * may have higher numbers in lower epochs.
 *
 * Return: up to 255. That also stands for a ring without a superblock. And it stands for a ring
 * whose newest superblock has a lower epoch, and no lower number.
 */
u8 kvp_sb_rings_missed(const struct kvp_sb_rings *r, u32 ring, const struct kvp_sb *newest);

/**
 * kvp_sb_rings_last_two() - the slots of the newest two superblocks of a ring
 * @ring: KVP_RING_FRONT or KVP_RING_BACK
 *
 * The newest are those of the highest epochs, then of the highest numbers.
 *
 * Return: bit per slot.
 */
u32 kvp_sb_rings_last_two(const struct kvp_sb_rings *r, u32 ring);

/** kvp_sb_beside_torn() - true if the slot of superblock @sequence is beside one of @torn */
bool kvp_sb_beside_torn(u32 torn, u64 sequence);

/**
 * kvp_sb_lag() - how many superblocks a leg is behind, beyond what one in sync may be (R29)
 * @best: the superblock that counts
 * @sb: the newest that was read of the leg, which @best says is in sync
 * @held: the highest sequence that the leg may have, see kvp_sb_rings_may_hold()
 *
 * A leg in sync has the same superblock, or the one before: a power cut may come between the
 * writes to two legs. @best says if it may be more behind, as not all legs took the ones before
 * (kvp_sb.behind). An older module does not say so, and then nothing is concluded.
 *
 * The leg may have a superblock with the number of @best and an older epoch. That one was cut: the
 * next start, of an older module, could not read it, and gave its number to another superblock. No
 * request was answered because of it, since not all legs had it. The leg has all that came before
 * it. So it is as good as the one before @best. Or @best was cut, and torn: the next start did not
 * know it, its own first superblock was torn as well, and the parts that @best lacked are alike in
 * both. A start writes nothing but copies of entries before all legs have its first superblock. A
 * leg that was used by itself shows that by its fork ids, and by the legs that it says are out. A
 * higher number under an older epoch is more than a cut leaves: the leg has gone its own way.
 *
 * Return: 0 if it may be in sync; else by how many superblocks it is behind, at least 1.
 */
u64 kvp_sb_lag(const struct kvp_sb *best, const struct kvp_sb *sb, u64 held);

#endif /* KVP_SBRING_H */
