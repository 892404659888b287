/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allowed results of reads. Every written block gets contents of its own: a number that is
 * never used again, in every 512-byte sector. For each block the oracle knows the accepted
 * versions. It also knows when (as a position in the disks' trace) each was acknowledged as
 * durable. After a power cut at position k a sector may hold the last version acknowledged before
 * k, or a later one that was begun before k, and nothing else.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <linux/types.h>

#define ID_ZEROS	0ull
#define ID_FOREIGN	(~0ull)
#define ID_SPECIAL	(1ull << 62)	/* contents given by the test */
#define MAX_SPECIALS	64

struct version {
	u64 id;
	u64 order;		/* its number in the order of acceptance, over all blocks */
	u32 begun;		/* position in the trace */
	/* written by intent to a parity1: until it is durable, the loss of a leg may lose it */
	bool losable;
};

struct ack {
	u32 at;			/* position in the trace */
	u32 count;		/* so many versions were durable */
};

struct oblock {
	u64 base[8];		/* what each sector held at first */
	struct version *v;
	u32 nr, room;
	struct ack *acks;
	u32 nr_acks, ack_room;
	bool mixable;		/* written by intent: sectors may be of different versions */
};

struct oracle {
	u32 blocks;
	struct oblock *b;
	u64 next_id, order;
	u32 acks_total;
	u8 *specials[MAX_SPECIALS];
	u32 nr_specials;
};

void oracle_init(struct oracle *o, u32 blocks);
void oracle_free(struct oracle *o);
/** oracle_copy() - copy it, for a history that goes another way */
void oracle_copy(struct oracle *to, const struct oracle *from);

/** oracle_write() - note that a version of @block is about to be accepted; fill @data with it */
u64 oracle_write(struct oracle *o, u64 block, u8 *data);
/** oracle_write_special() - the same; @data has contents that the caller chose */
u64 oracle_write_special(struct oracle *o, u64 block, const u8 *data);
void oracle_write_zeros(struct oracle *o, u64 block);
/** oracle_discard() - note that a discard begins; a FLUSH covers it after oracle_discarded() */
void oracle_discard(struct oracle *o, u64 block, u32 count);
void oracle_discarded(struct oracle *o, u64 block, u32 count);
/** oracle_mark() - a mark for all that was accepted so far */
u64 oracle_mark(const struct oracle *o);
void oracle_ack(struct oracle *o, u64 mark);
void oracle_ack_blocks(struct oracle *o, u64 block, u32 count, u64 mark);
void oracle_mixable(struct oracle *o, u64 block, u32 count);
/**
 * oracle_joins() - the same, if a write that is about to begin makes a run of @large blocks or more
 *
 * The run is that write, and blocks beside it whose newest versions were not acknowledged yet.
 */
void oracle_joins(struct oracle *o, u64 block, u32 count, u32 large);
/** oracle_losable() - note that the newest version of @block may be losable (struct version) */
void oracle_losable(struct oracle *o, u64 block);

/** oracle_ids() - find out of which version each sector of @data is */
void oracle_ids(const struct oracle *o, u64 block, const u8 *data, u64 ids[8]);
/**
 * oracle_allows() - true if @data may be read after a power cut at @at. Else the reason is in @why.
 */
bool oracle_allows(const struct oracle *o, u64 block, const u8 *data, u32 at, char why[160]);
/**
 * oracle_may_be_lost() - true if a power cut at @at, together with the loss of a leg, may lose the
 * block
 */
bool oracle_may_be_lost(const struct oracle *o, u64 block, u32 at);
/** oracle_is_mixture() - true if @data is no version of the block as a whole */
bool oracle_is_mixture(const struct oracle *o, u64 block, const u8 *data);
/** oracle_accepted() - number of versions of @block accepted so far */
u32 oracle_accepted(const struct oracle *o, u64 block);
/** oracle_current() - true if @data is one of the versions from number @from on (0: the base) */
bool oracle_current(const struct oracle *o, u64 block, const u8 *data, u32 from, char why[160]);
/** oracle_acks_before() - a number that changes exactly when the allowed results become stricter */
u32 oracle_acks_before(const struct oracle *o, u32 at);
/** oracle_rebase() - from now on @block holds @data, durably */
void oracle_rebase(struct oracle *o, u64 block, const u8 *data);
bool oracle_touched(const struct oracle *o, u64 block);

#endif
