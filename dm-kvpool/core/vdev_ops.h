/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a kind of vdev does in its own way. Each kind has one table of these, in kinds/; a vdev
 * points to that of its kind. What is a number of the geometry is in format/format.h instead.
 *
 * A cache has no homes. It has those operations only that loops over all vdevs call.
 */
#ifndef KVP_VDEV_OPS_H
#define KVP_VDEV_OPS_H

#include "core/vdev.h"

struct kvp_batch;
struct kvp_entry_io;
struct kvp_home;
struct kvp_io;
struct kvp_log;
struct kvp_rec;
struct kvp_recovery;
struct kvp_scrub_io;
struct kvp_spilled;
struct kvp_tpage;
struct kvp_version;
struct list_head;
struct page;

/**
 * struct kvp_vdev_ops - a kind of vdev
 *
 * The pool's map of its vdevs:
 * @join: tell it what the vdev brings: homes, and whether a log must have room for parity. Returns how many of
 *	the table's roots are of the vdev. Context: process; before the pool runs, or while it is quiet.
 * @row_legs: legs that a row at home has; 0: it has no rows. Context: any.
 *
 * How many legs it can lose:
 * @needed: kvp_vdev_needed()
 * @survives: so many of the legs in use it could lose before acknowledged blocks are lost; KVP_MAX_LEGS:
 *	it has none of them. Context: any.
 *
 * Blocks at home:
 * @choose: the leg that a read of @block of the vdev is to ask; NULL: no leg in use has it. Context: any.
 * @only_leg: the one leg that @block lies on, in use or not; NULL: it is on all. Context: any.
 * @read: a block that the table calls valid, from its home, verified and healed: kvp_home_read()
 * @lose: no copy of the block is good, and none can be made: the table is to say so (R8). The block is
 *	locked. Return: -EBADMSG; -EIO: the pool is read-only.
 * @poison: the table is to say that the block is lost, which is known already; as @lose
 * @take: a version that goes home: to @rows, if that is by rows. Context: any.
 * @discard: what a discard covers of the vdev, as kvp_home_discard(), from *@own to before @end. Versions
 *	from @behind on are newer.
 * @gap: so many blocks between two that go home may be written with them; 0: none. Context: any.
 *
 * The log:
 * @may_be_direct: of @n blocks from @block of the vdev on so many may go home by intent (R7). Context: any.
 * @slice: blocks that one request to all legs has of a direct write; 0: such a write is not cut. Context: any.
 * @lay: what each leg is to write of an entry whose header is @h. @entry is its number, below KVP_ENTRIES; @nr
 *	blocks of it, and of what goes with it, are in @pages. @ios are one a leg, of zeros. Returns how many legs
 *	must take theirs for the entry to count. Context: process.
 * @place_payload: note in the versions of an entry where their contents lie; NULL: one behind the other
 * @too_few_took: an entry did not get on as many legs as it needs; those in @failed did not take it. Context: process.
 * @only_log_leg: the one leg that has what lies at @at in the log; NULL: others have it as well. Context: any.
 * @read_spilled: kvp_spill_read()
 * @owes: rows whose parity is to go into the log before a record of one block comes home. Context: any.
 *
 * The table:
 * @row_is_empty: the block is unwritten; is all that goes with it? Context: process.
 * @leaf_lost: all of a leaf is @poison, its blocks are so already: so is what else the leaf has. Context:
 *	table->lock is held.
 * @unwritten: block @own of the vdev became unwritten in @leaf: so does what goes with it. Context: as @leaf_lost.
 * @add_page: into a batch one of kvp_page_rounds() writes of a table page, where @slot is; false: there is no room
 *
 * Scrub:
 * @verify: is all at home of @n blocks, which are locked, what the table says? Context: process; waits for I/O.
 * @scrub_row: verify what goes with a block, and heal it; -ENOMEM: that is not done. Context: as @verify.
 *
 * Recovery:
 * @alloc_reader: memory to read a log on the vdev with, besides that for one segment. Return: 0 or -ENOMEM.
 * @load_segment: read @blocks of the segment of the log that begins at @lsn
 * @plan: what a record says of a block of the vdev, and where its payload is
 * @plan_discard: the same of a discard, of the part of the vdev; one of all mirrors together is planned already
 * @redo_discard: from block @own to before @end, unless @plan_discard did it
 * @each_row: all rows that the log knows of are resolved, and @fn is called when some have gathered
 */
struct kvp_vdev_ops {
	u32 (*join)(struct kvp_pool *pool, const struct kvp_vdev *v);
	u32 (*row_legs)(const struct kvp_vdev *v);

	u32 (*needed)(const struct kvp_vdev *v);
	u32 (*survives)(const struct kvp_vdev *v);

	struct kvp_leg *(*choose)(const struct kvp_vdev *v, u64 block);
	const struct kvp_leg *(*only_leg)(const struct kvp_vdev *v, u64 block);
	int (*read)(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 block, u64 entry, struct page *page,
		    struct page *spare);
	int (*lose)(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 block);
	void (*poison)(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 block);
	void (*take)(struct kvp_version *d, struct list_head *rows);
	int (*discard)(struct kvp_home *h, struct kvp_vdev *v, u64 *own, u64 end, struct kvp_log_at behind,
		       u32 *leaves);
	u32 (*gap)(const struct kvp_vdev *v);

	u32 (*may_be_direct)(const struct kvp_vdev *v, u64 block, u32 n);
	u32 (*slice)(const struct kvp_vdev *v);
	u32 (*owes)(const struct kvp_vdev *v);
	u32 (*lay)(const struct kvp_log *log, u32 entry, const struct kvp_vdev *v, const struct kvp_log_hdr *h,
		   struct page **pages, u32 nr, struct kvp_io *ios);
	void (*place_payload)(const struct kvp_vdev *v, struct kvp_entry_io *e);
	void (*too_few_took)(struct kvp_vdev *v, unsigned long failed);
	const struct kvp_leg *(*only_log_leg)(const struct kvp_vdev *v, struct kvp_place at);
	int (*read_spilled)(struct kvp_pool *pool, const struct kvp_spilled *p, struct page *page,
			    struct page *spare);

	bool (*row_is_empty)(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 block);
	void (*leaf_lost)(struct kvp_tpage *leaf, u64 poison);
	void (*unwritten)(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 own);
	bool (*add_page)(struct kvp_batch *b, const struct kvp_tpage *tp, u32 slot, u32 copy, struct page *page);

	bool (*verify)(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_tpage *leaf, u64 block, u32 n);
	int (*scrub_row)(const struct kvp_spot *at, u64 block, struct page *page, struct page *spare);

	int (*alloc_reader)(struct kvp_recovery *rec);
	void (*load_segment)(struct kvp_recovery *rec, u64 lsn, u32 blocks);
	int (*plan)(struct kvp_recovery *rec, const struct kvp_spot *spot, const struct kvp_rec *r,
		    struct kvp_log_at at, u64 payload, u8 row);
	int (*plan_discard)(struct kvp_recovery *rec, const struct kvp_vdev *v, const struct kvp_rec *r,
			    struct kvp_log_at at);
	int (*redo_discard)(struct kvp_recovery *rec, struct kvp_vdev *v, u64 own, u64 end);
	int (*each_row)(struct kvp_recovery *rec, const struct kvp_vdev *v, int (*fn)(struct kvp_recovery *rec));
};

#endif /* KVP_VDEV_OPS_H */
