/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of a kind of vdev. Each kind has one table of them, in kinds/, and each vdev
 * points to the table of its kind. Plain numbers of the geometry are in format/format.h instead.
 *
 * A cache has no homes. Its table has only the operations that loops over all vdevs call.
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
struct kvp_resilver_io;
struct kvp_resilver_step;
struct kvp_scrub_io;
struct kvp_spilled;
struct kvp_table;
struct kvp_tpage;
struct kvp_version;
struct list_head;
struct page;

/**
 * struct kvp_vdev_ops - a kind of vdev
 *
 * The pool's map of its vdevs:
 * @join: note in the vdevs what the vdev brings: homes and their order, or a cache. Return: how
 *	many roots of the table belong to the vdev. Context: process; before the pool runs, or while
 *	it is quiesced.
 * @row_legs: legs of a row at home; 0: the vdev has no rows. Context: any.
 *
 * How many legs the vdev can lose:
 * @needed: kvp_vdev_needed()
 * @survives: how many of the legs in use the vdev can lose before acknowledged blocks are lost;
 *	KVP_MAX_LEGS: it holds no such blocks. Context: any.
 *
 * @is_lost: true if all that it holds is lost, and the pool goes on without it. Context: any.
 *
 * Blocks at home. @block counts in the vdev for @choose, @only_leg and @may_be_direct, and in the
 * pool elsewhere:
 * @choose: the leg that a read of @block asks; NULL: no leg in use has it, or the only one that has
 *	it is read last (kvp_leg_is_read_last()). Context: any.
 * @only_leg: the one leg that @block lies on, in use or not; NULL: it is on all. Context: any.
 * @read: read, verify and heal a block that the table calls valid: see kvp_home_read()
 * @lose: mark a block lost in the table (R8), as no copy is good and none can be made. The caller
 *	has locked the block. Return: -EBADMSG; -EIO: the pool is read-only.
 * @poison: the same for a block that is known to be lost already
 * @take: move a version to @rows, if the vdev writes home by rows. Context: any.
 * @discard: discard the vdev's part of a discard, from *@own to before @end. Versions from @behind
 *	on are newer and stay. See kvp_home_discard().
 * @needs_flush: true if blocks on @leg may have been written without FUA. Context: any.
 * @gap: the longest gap, in blocks, that may be written along between two blocks; 0: none.
 *	Context: any.
 *
 * The log:
 * @log: the operations of a log on the vdev, in a pool of these vdevs. Context: as @join, after it
 *	was called for all of them.
 * @may_be_direct: how many of @n blocks, from @block on, may go home by intent (R7). Context: any.
 * @slice: blocks that a direct write sends to all legs at a time; 0: it is not cut. Context: any.
 * @lay: fill in one request per leg for the entry with header @h. @entry is its number, below
 *	KVP_ENTRIES. @pages has @nr blocks: the entry, and one that is joined to it. @ios has one
 *	zeroed request per leg. Return: how many legs must take theirs for the entry to count.
 *	Context: process.
 * @place_payload: note in each version where the entry has its contents, unless that is one after
 *	the other, as the builder has noted. Context: process.
 * @too_few_took: too few legs took an entry; the legs in @failed did not. Context: process.
 * @only_log_leg: the one leg that has the log's block at @at; NULL: others have it too. Context:
 *	any.
 * @read_spilled: kvp_spill_read()
 * @reserves: rows that must have their parity in the log before a record of one block goes home.
 *	Any context.
 *
 * The table:
 * @row_is_empty: for an unwritten block: true if its row is unwritten, too. Context: process.
 * @leaf_lost: set the leaf's other entries to @poison; those of its blocks have it. Context:
 *	table->lock is held.
 * @unwritten: block @own of the vdev became unwritten: follow in the leaf's other entries. Context:
 *	table->lock is held.
 * @add_page: add write @copy, of kvp_page_rounds(), of a table page in @slot to a batch. Return:
 *	false if the batch has no room.
 *
 * Scrub:
 * @verify: true if all @n blocks at home match the table. The caller has locked them. Context:
 *	process; waits for I/O.
 * @scrub_row: verify and heal the parity that belongs to a block. Return: 0; -ENOMEM: not done.
 *	Context: as @verify.
 *
 * Resilver:
 * @read_missed: begin to read what is needed for those blocks at home of a step that its legs miss.
 *	The caller has locked them. Return: false: look at each block by itself. Context: process.
 * @add_missed: the reads have ended: add what the legs miss to the batch of the step. Return:
 *	false: not all verifies. Context: as @read_missed.
 * @copy_missed_parity: rebuild the parity that belongs to a block, and write it to its leg, if that
 *	misses it. The caller has locked the block. Return: 0 or -errno. Context: process; waits
 *	for I/O.
 *
 * Recovery:
 * @segment_sets: so many sets of pages @load_segment needs to read a segment. Context: process.
 * @alloc_reader: get memory to read a log on the vdev, besides one segment's. Return: 0 or -ENOMEM.
 * @load_segment: read @blocks of the log's segment that begins at @lsn
 * @plan: note a record of one block of the vdev, and where its payload is
 * @plan_discard: note the vdev's part of a discard. Mirrors have one note for all of them.
 * @redo_discard: discard from block @own to before @end, unless @plan_discard covers it
 * @each_row: resolve all rows that the log names; call @fn whenever some have gathered
 */
struct kvp_vdev_ops {
	u32 (*join)(struct kvp_vdevs *vdevs, const struct kvp_vdev *v);
	u32 (*row_legs)(const struct kvp_vdev *v);

	u32 (*needed)(const struct kvp_vdev *v);
	u32 (*survives)(const struct kvp_vdev *v);
	bool (*is_lost)(const struct kvp_vdev *v);

	struct kvp_leg *(*choose)(const struct kvp_vdev *v, kvp_vblock_t block);
	const struct kvp_leg *(*only_leg)(const struct kvp_vdev *v, kvp_vblock_t block);
	int (*read)(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block, u64 entry,
		    struct page *page, struct page *spare);
	int (*lose)(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block);
	void (*poison)(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block);
	void (*take)(struct kvp_version *d, struct list_head *rows);
	int (*discard)(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end,
		       struct kvp_log_at behind, u32 *leaves);
	bool (*needs_flush)(const struct kvp_leg *leg);
	u32 (*gap)(const struct kvp_vdev *v);

	const struct kvp_log_ops *(*log)(const struct kvp_vdevs *vdevs);
	u32 (*may_be_direct)(const struct kvp_vdev *v, kvp_vblock_t block, u32 n);
	u32 (*slice)(const struct kvp_vdev *v);
	u32 (*reserves)(const struct kvp_vdev *v);
	u32 (*lay)(const struct kvp_log *log, u32 entry, const struct kvp_vdev *v,
		   const struct kvp_log_hdr *h, struct page **pages, u32 nr, struct kvp_io *ios);
	void (*place_payload)(const struct kvp_vdev *v, struct kvp_entry_io *e);
	void (*too_few_took)(struct kvp_vdev *v, unsigned long failed);
	const struct kvp_leg *(*only_log_leg)(const struct kvp_vdev *v, struct kvp_place at);
	int (*read_spilled)(struct kvp_log *log, const struct kvp_spilled *p, struct page *page,
			    struct page *spare);

	bool (*row_is_empty)(struct kvp_pool *pool, const struct kvp_tpage *leaf,
			     kvp_block_t block);
	void (*leaf_lost)(struct kvp_tpage *leaf, u64 poison);
	void (*unwritten)(struct kvp_table *t, struct kvp_tpage *leaf, kvp_vblock_t own);
	bool (*add_page)(struct kvp_batch *b, const struct kvp_tpage *tp, u32 slot, u32 copy,
			 struct page *page);

	bool (*verify)(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_tpage *leaf,
		       kvp_block_t block, u32 n);
	int (*scrub_row)(const struct kvp_spot *at, kvp_block_t block, struct page *page,
			 struct page *spare);

	bool (*read_missed)(struct kvp_pool *pool, struct kvp_resilver_step *step);
	bool (*add_missed)(struct kvp_pool *pool, struct kvp_resilver_step *step);
	int (*copy_missed_parity)(struct kvp_pool *pool, struct kvp_resilver_io *io,
				  struct kvp_tpage *leaf, kvp_block_t block);

	u32 (*segment_sets)(const struct kvp_recovery *rec);
	int (*alloc_reader)(struct kvp_recovery *rec);
	void (*load_segment)(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks);
	int (*plan)(struct kvp_recovery *rec, const struct kvp_spot *spot, const struct kvp_rec *r,
		    struct kvp_log_at at, kvp_lsn_t payload, u8 row);
	int (*plan_discard)(struct kvp_recovery *rec, const struct kvp_vdev *v,
			    const struct kvp_rec *r,
			    struct kvp_log_at at);
	int (*redo_discard)(struct kvp_recovery *rec, struct kvp_vdev *v, kvp_vblock_t own,
			    kvp_vblock_t end);
	int (*each_row)(struct kvp_recovery *rec, const struct kvp_vdev *v,
			int (*fn)(struct kvp_recovery *rec));
};

#endif /* KVP_VDEV_OPS_H */
