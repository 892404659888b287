/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was seen of the rings of superblocks of one leg, and what that says of the slots that
 * cannot be read (R13, R27). Pure.
 *
 * The superblocks of a leg have consecutive sequences, and each goes into slot (sequence %
 * KVP_SB_RING) of both rings, one superblock at a time. So with the newest that can be read known,
 * the place of the next one is known, and of the one after that. A slot there that can be read, and
 * has something older, says that there is no next one. A slot that cannot be read says nothing, and
 * its twin in the other ring answers for it. If that cannot be read either the next superblock may be
 * there, and the question goes on to the one after it.
 *
 * A ring answers only if it was written with the others: it has the newest superblock, or the one
 * before, which is as much as a power cut may leave it behind. One that lies where the end of the
 * device was before it got another size does not.
 *
 * A slot with a magic and no right sum in both rings is a superblock that was being written when the
 * power went. There is one such at most: behind it a second one was written, and has rotted.
 */
#ifndef KVP_SBRING_H
#define KVP_SBRING_H

#include "format/format.h"

/* Front, back, and back as the leg was when it was made, if the device has grown since. */
enum { KVP_RING_FRONT, KVP_RING_BACK, KVP_RING_OLD_BACK, KVP_RINGS };

enum kvp_slot_state {
	KVP_SLOT_NONE,		/* not read yet, or there is no superblock */
	KVP_SLOT_VALID,
	KVP_SLOT_BAD,		/* a superblock that does not verify */
	KVP_SLOT_UNREADABLE,
};

struct kvp_sb_rings {
	u8 state[KVP_RINGS][KVP_SB_RING];	/* enum kvp_slot_state */
	u64 sequence[KVP_RINGS][KVP_SB_RING];	/* of those that are valid */
};

/**
 * kvp_sb_rings_may_hold() - the highest sequence that this leg may have
 * @newest: of the newest superblock that can be read
 *
 * Return: @newest, if nothing newer can be there.
 */
u64 kvp_sb_rings_may_hold(const struct kvp_sb_rings *r, u64 newest);

/** kvp_sb_rings_unread() - true if superblock @sequence may be in a slot that cannot be read */
bool kvp_sb_rings_unread(const struct kvp_sb_rings *r, u64 sequence);

/** kvp_sb_rings_unreadable() - number of slots that cannot be read */
u32 kvp_sb_rings_unreadable(const struct kvp_sb_rings *r);

/**
 * kvp_sb_lag() - how many superblocks a leg is behind, more than one in sync can be (R29)
 * @best: the superblock that counts
 * @sb: the newest that was read of the leg, which @best says is in sync
 * @held: the highest sequence that the leg may have, see kvp_sb_rings_may_hold()
 *
 * A leg in sync has the same superblock, or the one before, which a power cut leaves between the
 * writes to two legs. @best says if it may be more, because not all legs took the ones before
 * (kvp_sb.behind); an older module does not say, and then nothing is concluded.
 *
 * A superblock with the number of @best and an older epoch was cut: it is on this leg. The next
 * start, of an older module, could not read it, and gave its number to another superblock. No
 * request was answered because of it, since not all legs had it, and the leg has all that came
 * before it. So it is as good as the one before @best. Or @best was cut, and torn: the next start
 * did not know it, its own first superblock was torn as well, and the parts that @best lacked are
 * alike in both. A start writes nothing but copies of entries before all legs have its first
 * superblock. A leg that was used by itself shows that by its fork ids, and by the legs that it
 * says are out. A higher number under an older epoch is more than a cut leaves: the leg has gone
 * its own way.
 *
 * Return: 0 if it may be in sync; else by how many superblocks it is behind, at least 1.
 */
u64 kvp_sb_lag(const struct kvp_sb *best, const struct kvp_sb *sb, u64 held);

#endif /* KVP_SBRING_H */
