/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * On-disk format of a kvpool, shared by the module, kvpoolctl and the tests.
 *
 * Everything on disk is little endian. A "block" is 4096 bytes. Positions on
 * a leg are counted in blocks from its start unless a name says bytes.
 *
 * A data leg:
 *
 *   block 0 ....... label area, 1 MiB: 64 KiB left zero, superblock ring,
 *                   event ring
 *   table_start ... checksum table: two slots a page, level 0 first
 *   log_start ..... log: log_segments segments of segment_blocks blocks
 *   data_start .... home of the data: data_blocks blocks
 *   last 1 MiB .... label area again: same superblock ring
 *
 * A leg of a cache has labels and a log.
 *
 * docs/on-disk-format.md explains every field; tests/kunit and tests/sim hold
 * sizes and offsets still.
 */
#ifndef KVPOOL_FORMAT_H
#define KVPOOL_FORMAT_H

#include <linux/types.h>

#ifndef __packed
#define __packed __attribute__((packed))
#endif

#define KVP_FORMAT_VERSION	1

#define KVP_BLOCK_SHIFT		12
#define KVP_BLOCK_SIZE		(1u << KVP_BLOCK_SHIFT)
#define KVP_SECTORS_SHIFT	(KVP_BLOCK_SHIFT - 9)
#define KVP_BLOCK_SECTORS	(1u << KVP_SECTORS_SHIFT)

/* --- label area ------------------------------------------------------- */

#define KVP_LABEL_BLOCKS	256u			/* 1 MiB at each end */
#define KVP_SB_SIZE		16384u
#define KVP_SB_BLOCKS		(KVP_SB_SIZE / KVP_BLOCK_SIZE)
#define KVP_SB_RING		16u			/* slots at each end */
#define KVP_SB_FIRST_BLOCK	16u			/* 64 KiB into the label area */
#define KVP_EVENTS_BLOCK	128u			/* 512 KiB into the front label area */
#define KVP_EVENTS_BLOCKS	64u

#define KVP_SB_MAGIC		"KVPOOL\r\n\032sblk\0\0"	/* 16 bytes with its last NUL */
#define KVP_SB_MAGIC_LEN	16

#define KVP_MAX_VDEVS		16
#define KVP_MAX_LEGS		48			/* in the whole pool */
#define KVP_MAX_REGIONS		12
#define KVP_EXTENT_BLOCKS	64u			/* 256 KiB, or a little more */
#define KVP_MAX_MIRROR_LEGS	16
#define KVP_MAX_FORKS		16
#define KVP_MAX_GENERATIONS	3			/* of the log, older than the one that is written */
#define KVP_MAX_ROOTS		1024
#define KVP_MAX_TUNABLES	32
#define KVP_NAME_LEN		64			/* without the NUL */
#define KVP_COMMENT_LEN		128

/* Pool flags. */
#define KVP_SB_EXPORTED		0x1u
#define KVP_SB_DESTROYED	0x2u
#define KVP_SB_CLEAN		0x4u	/* the log held nothing when the pool stopped */
#define KVP_SB_JOINING		0x8u	/* on a leg that a pool was about to take in; nothing else counts */

enum kvp_vdev_kind {
	KVP_VDEV_SINGLE		= 1,
	KVP_VDEV_MIRROR		= 2,
	KVP_VDEV_PARITY1	= 3,
	KVP_VDEV_CACHE		= 4,	/* carries the log, and no blocks of the pool */
	KVP_VDEV_CACHE_PARITY1	= 5,	/* the same, its entries as full stripes of three SSDs or more */
};

/* Incompatible features. 0x1 was regions whose extents were whole leaves; nobody reads those any more. */
#define KVP_INCOMPAT_CACHE	0x2ull	/* one of the vdevs is a cache */
#define KVP_INCOMPAT_VDEVS	0x4ull	/* regions[] say which vdev holds what */
#define KVP_INCOMPAT_GENERATIONS 0x10ull /* generations[] are not empty */
#define KVP_INCOMPAT_LOG_TURNS	0x20ull	/* log_others is not zero */
#define KVP_INCOMPAT_CACHE_PARITY1 0x40ull /* the cache is of kind parity1 */
#define KVP_INCOMPAT_LOG_WINDOW	0x80ull	/* log_window of the cache is not zero */
#define KVP_INCOMPAT_RESILVER	0x100ull /* some leg is resilvering */
#define KVP_INCOMPAT_TABLE_BEHIND 0x200ull /* of some vdev the table lies behind the data */
/* Never in the superblock of a pool: the label of a spare, which is in slot 0 of both rings and has no more than that. */
#define KVP_SPARE_INCOMPAT	0x400ull

enum kvp_leg_state {
	KVP_LEG_IN_SYNC		= 1,	/* holds everything up to the tail */
	KVP_LEG_STALE		= 2,	/* recorded out: missed writes, never a source */
	KVP_LEG_FAULTED		= 3,	/* recorded out for its errors */
	KVP_LEG_OFFLINE		= 4,	/* recorded out by the administrator */
	KVP_LEG_RESILVERING	= 5,	/* takes writes, and gets what it missed; never a source */
};

/* One leg of the pool, 96 bytes. Every superblock names them all. */
struct kvp_disk_leg {
	__u8	uuid[16];
	__le32	state;			/* enum kvp_leg_state */
	__le32	in_sync_era;		/* last era in which it was in sync */
	__le64	size_blocks;		/* of the device when it was added */
	__le64	err_read;
	__le64	err_write;
	__le64	err_checksum;
	__le64	healed;
	/*
	 * Of a leg that is not in sync: blocks of its vdev below @cursor are in sync as of
	 * @cursor_era, all others as of @in_sync_era.
	 */
	__le64	cursor;
	__le64	in_sync_epoch;		/* of the superblock that called it in sync again; 0: never out */
	__le32	cursor_era;
	__u8	replaces;		/* number, in its vdev, of the leg that leaves when this is in sync, + 1; 0: none */
	__u8	reserved[11];
} __packed;

/* One vdev, 128 bytes. All its legs share this geometry. */
struct kvp_disk_vdev {
	__le32	kind;			/* enum kvp_vdev_kind */
	__le32	first_leg;		/* index into legs[] */
	__le32	leg_count;
	__le32	table_levels;		/* 1..3; the superblock's roots point at the top level; a cache 0 */
	__le64	table_start;		/* blocks, as all below */
	__le64	log_start;
	__le32	log_segments;
	__le32	segment_blocks;
	__le64	data_start;
	__le64	data_blocks;
	__le32	chunk_blocks;		/* parity1; 0 for the others */
	__le32	log_window;		/* of a cache: blocks of its log that may count; 0: 1 GiB, or all of it */
	__le64	table_copy;		/* a second copy of the table on the same leg; 0: none */
	/*
	 * parity1: a device that is to take the place of a leg in use, and is no leg yet. Blocks of
	 * the vdev below @shadow_cursor are on it as of @shadow_era, and nothing else. That holds
	 * only if its newest label has the number @shadow_label, or the one before.
	 */
	__u8	shadow_uuid[16];
	__le64	shadow_blocks;		/* size of the device */
	__le64	shadow_cursor;
	__le32	shadow_era;
	__u8	shadow_of;		/* number, in the vdev, of the leg that leaves then, + 1; 0: there is no such device */
	__u8	reserved1[3];
	__le64	shadow_label;
	__u8	reserved[8];
} __packed;

/*
 * A stretch of the pool's device, 40 bytes: behind the one before it. In each
 * round the vdevs that have a share take turns, with so many extents as that
 * says; an extent is the smallest whole part of what a leaf of the vdev's table
 * covers that has KVP_EXTENT_BLOCKS, of a parity1 in whole stripes.
 */

struct kvp_disk_region {
	__le64	blocks;			/* of the pool; whole rounds, if it has several vdevs */
	__le16	share[KVP_MAX_VDEVS];
} __packed;

/*
 * What an older activation has appended to the log, and the tail has not passed
 * yet, 24 bytes: up to where the next generation begins, whose first entry names
 * this one's last. The newest generation is the superblock's log_nonce.
 */
struct kvp_disk_generation {
	__le64	nonce;			/* log nonce */
	__le64	next_lsn;		/* where the next one begins, a segment's start; 0: there is no such generation */
	__le32	last_back;		/* its last entry lies so many blocks before that */
	__le32	last_csum;		/* csum of that entry */
} __packed;

/*
 * Superblock, 16 KiB. Slot (sequence % KVP_SB_RING) of both rings is written
 * with FUA. The highest valid (epoch, sequence) wins; the one before it is
 * still intact, because an update never touches the last two.
 */
struct kvp_disk_sb {
	__u8	magic[KVP_SB_MAGIC_LEN];
	__le32	csum;			/* crc32c(~0) of all 16 KiB, this field zero */
	__le32	version;
	__le64	compat;
	__le64	ro_compat;
	__le64	incompat;
	__u8	pool_uuid[16];
	__u8	leg_uuid[16];		/* of the leg this copy lies on */
	__le64	self_offset;		/* bytes: where this copy lies */
	__le64	epoch;			/* raised at each activation and loss of a leg */
	__le64	sequence;		/* raised at each superblock write */
	__le64	write_time;		/* seconds since 1970, for people only */
	__le64	create_time;
	__le32	leg_index;
	__le32	flags;			/* KVP_SB_* */
	__le64	nonce;			/* seeds every checksum of table and data */

	/* log: identity and tail */
	__le64	log_nonce;		/* seeds every checksum of the log */
	__le64	log_tail;		/* lsn of the oldest entry that may be replayed */
	__le64	log_prev_lsn;		/* of the entry before it, 0 if none */
	__le32	log_prev_csum;
	__le32	era;			/* of the newest checkpoint */
	__le64	log_commit;		/* every entry below this lsn is durable */

	/* checkpoint */
	__le64	checkpoint;		/* number of checkpoints taken */
	__le64	written_blocks;		/* blocks in state valid */
	__le64	poisoned_blocks;
	__le64	pool_blocks;		/* size of the device */

	__le32	vdev_count;
	__le32	leg_count;
	__le32	fork_count;
	__le32	root_count;		/* used entries of roots[] */
	__le64	forks[KVP_MAX_FORKS];	/* oldest first */
	__le64	tunable_mask;		/* bit i: tunables[i] was set */
	__le64	tunables[KVP_MAX_TUNABLES];

	/* scrub that was running, and the last that ended */
	__le64	scrub_cursor;		/* next block; 0 with scrub_state idle */
	__le64	scrub_started;		/* seconds since 1970 */
	__le64	scrub_finished;
	__le64	scrub_healed;
	__le64	scrub_unrepaired;
	__le32	scrub_state;		/* enum kvp_scrub_state */
	__le32	event_seq;		/* number of the next event */

	__u8	name[KVP_NAME_LEN];	/* NUL padded */
	__u8	comment[KVP_COMMENT_LEN];
	__le64	host;			/* digest of the host that runs the pool, or did last; 0: unknown */
	__u8	host_name[KVP_NAME_LEN];	/* for people */

	/* parity1: chain of parity records that a recovery wrote, behind the log's end */
	__le64	redo_nonce;		/* log nonce of that chain; 0: none */
	__le64	redo_lsn;		/* where it begins */
	__le64	checkpoint_time;	/* of the newest checkpoint, seconds since 1970; 0: unknown */
	struct kvp_disk_generation generations[KVP_MAX_GENERATIONS];	/* of the log, oldest first */

	struct kvp_disk_vdev vdevs[KVP_MAX_VDEVS];
	/* KVP_INCOMPAT_VDEVS; without it, the only vdev is all of the pool */
	struct kvp_disk_region regions[KVP_MAX_REGIONS];
	__le32	region_count;
	__le32	log_vdev;		/* whose legs carry the log */
	__le64	cache_lsn;		/* of a cache without the log: nothing was written there from this place on */
	__le32	log_others;		/* other vdevs that carry it by turns, a bit each */
	__le32	behind;			/* legs in sync may lack one superblock less than that beside this one; 0: not known */
	__le32	uncounted_leaves;	/* discarded as if they were full: written_blocks may be too low by what they were not */
	__u8	log_discards;		/* how often the log of a cache was given up by order; wraps */
	__u8	reserved1[2];
	__u8	redo_state;		/* enum kvp_redo_state */
	struct kvp_disk_leg legs[KVP_MAX_LEGS];
	__le64	roots[KVP_MAX_ROOTS];	/* table pointers, of one vdev behind those of the other */
} __packed;

/* How far the recovery came that wrote the chain that redo_nonce names. */
enum kvp_redo_state {
	KVP_REDO_UNKNOWN	= 0,	/* an older module wrote it: if its last entry is there, it is complete */
	KVP_REDO_BEGUN		= 1,	/* nothing has gone home that it is for: it does not count */
	KVP_REDO_COMPLETE	= 2,	/* rows may be half written: all of it counts */
	KVP_REDO_AGAIN		= 3,	/* begun in place of one that was complete, and is damaged: rows may be half written, and it does not count */
};

enum kvp_scrub_state {
	KVP_SCRUB_NONE		= 0,
	KVP_SCRUB_RUNNING	= 1,
	KVP_SCRUB_PAUSED	= 2,
	KVP_SCRUB_FINISHED	= 3,
	KVP_SCRUB_STOPPED	= 4,
};

/* --- checksum table ---------------------------------------------------- */

#define KVP_PTRS_SHIFT		9
#define KVP_PTRS_PER_PAGE	(1u << KVP_PTRS_SHIFT)	/* entries and pointers alike */
#define KVP_MAX_LEVELS		3

/*
 * Sixteen pages of a level lie together: their slots 0, then their slots 1.
 * Pages of a sequential stream that change together are written in one go.
 */
#define KVP_SLOT_GROUP		16u

/*
 * Entry of a leaf page, one a block:
 *   bits  0..31  crc32c over (nonce, vdev, block), then the data
 *   bits 32..61  birth: era of the checkpoint that first holds it
 *   bits 62..63  state
 * Unwritten entries keep a birth when the block was discarded.
 */
#define KVP_ENTRY_ERA_SHIFT	32
#define KVP_ENTRY_STATE_SHIFT	62
#define KVP_ERA_BITS		30
#define KVP_ERA_MAX		((1u << KVP_ERA_BITS) - 1)

enum kvp_entry_state {
	KVP_ENTRY_UNWRITTEN	= 0,	/* reads as zeros, without I/O */
	KVP_ENTRY_VALID		= 1,
	KVP_ENTRY_POISONED	= 2,	/* EIO until overwritten */
};

/*
 * Pointer to a table page:
 *   bits  0..31  crc32c over (nonce, vdev, level, index), then the page;
 *                a sum of 0 is stored as 1
 *   bits 32..61  newest era below
 *   bit  62      slot the page lies in
 *   bit  63      a poisoned block lies below
 * A pointer with a sum of 0 is null: everything below is unwritten.
 */
#define KVP_PTR_ERA_SHIFT	32
#define KVP_PTR_SLOT_SHIFT	62
#define KVP_PTR_POISON_SHIFT	63

struct kvp_disk_page {
	__le64	slot[KVP_PTRS_PER_PAGE];
} __packed;

/* --- log --------------------------------------------------------------- */

#define KVP_LOG_MAGIC		0x4c50564bu	/* "KVPL" */
#define KVP_MAX_OPEN_INTENTS	16
#define KVP_MAX_ENTRY_BLOCKS	256u		/* 1 MiB, header and payload */
#define KVP_MAX_HDR_BLOCKS	16u		/* of an entry: a recovery reads no more */
#define KVP_SEGMENT_BLOCKS	512u		/* 2 MiB; smaller on tiny legs */
#define KVP_MIN_SEGMENTS	4u

enum kvp_rec_kind {
	KVP_REC_DATA		= 1,	/* payload block follows; crc as in the table */
	KVP_REC_INTENT		= 2,	/* crc of what goes straight home */
	KVP_REC_DISCARD		= 3,	/* range becomes unwritten; crc is 0 */
	KVP_REC_PARITY		= 4,	/* payload is the parity of a row, as of the header's limit */
	KVP_REC_CLEAN		= 5,	/* payload is what is at home anyway: of use to a cache of reads only */
};

/* Flags of an entry. */
#define KVP_LOG_LAST	0x1u	/* the last of a chain that a recovery wrote */

/*
 * One line of an entry, 16 bytes. Bits 0..47 of addr: first block, or the row
 * of a parity; bits 48..55: the vdev of a parity; bits 56..63: kind. count is
 * 1 for all but a discard.
 */
struct kvp_disk_rec {
	__le64	addr;
	__le32	count;
	__le32	crc;
} __packed;

#define KVP_REC_ADDR_BITS	48
#define KVP_REC_VDEV_SHIFT	48
#define KVP_REC_KIND_SHIFT	56

/*
 * Entry header. Records follow it at once; the header with its records is
 * padded with zeros to whole blocks, the payload of the data records follows
 * in record order. An entry never crosses the end of its segment.
 *
 * lsn: position of the header in blocks since the log began. It lies at
 * log_start + lsn % (log_segments * segment_blocks).
 */
struct kvp_disk_log_hdr {
	__le32	magic;
	__le32	csum;			/* crc32c(~0) over pool nonce, log_nonce, header, records; this field 0 */
	__le64	nonce;			/* log_nonce of the activation */
	__le64	epoch;
	__le64	lsn;
	__le64	prev_lsn;		/* 0: the first entry of this nonce */
	__le32	prev_csum;		/* csum of the entry before */
	__le32	blocks;			/* header and payload */
	__le64	durable;		/* every entry below this lsn is durable */
	__le32	hdr_blocks;
	__le32	rec_count;
	__le32	open_count;
	__le32	flags;
	__le64	open[KVP_MAX_OPEN_INTENTS]; /* lsns of entries whose intents are not all home */
	__le64	write_time;
	/* of parity records: they count versions before this place in the log, and none from it on */
	__le64	limit_lsn;
	__le32	limit_rec;		/* number of the record in the entry at limit_lsn */
	__u8	reserved[36];
} __packed;

#define KVP_LOG_HDR_SIZE	256u

/* --- summaries of a cache's segments ----------------------------------- */

#define KVP_SUMMARY_MAGIC	0x5350564bu	/* "KVPS" */
#define KVP_SUMMARY_BLOCKS	2u		/* at the end of each segment of a cache's log: kvp_log_kept() */
#define KVP_SUMMARY_RECORDS	510u

/* What one block of the segment holds, 16 bytes. */
struct kvp_disk_summary_rec {
	__le64	addr;			/* block of the pool; bit 62: metadata; bit 63: there is one */
	__le32	crc;			/* block sum, as in the table */
	__u8	reserved[4];
} __packed;

#define KVP_SUMMARY_META	(1ull << 62)
#define KVP_SUMMARY_LIVE	(1ull << 63)

/*
 * Which blocks of the pool a segment of a cache holds that are home, 8 KiB. Of
 * use to a cache of reads only, and true of a block for as long as its entry in
 * the table was born before @era.
 */
struct kvp_disk_summary {
	__le32	magic;
	__le32	csum;			/* crc32c(~0) over pool nonce, UUID of the leg, and this, this field 0 */
	__le64	lsn;			/* of the segment's first block */
	__le32	era;			/* whatever changed since has at least this era */
	__u8	reserved[12];
	struct kvp_disk_summary_rec recs[KVP_SUMMARY_RECORDS];	/* by place in the segment */
} __packed;

/* --- events ------------------------------------------------------------ */

#define KVP_EVENT_SIZE		256u
#define KVP_EVENTS_PER_BLOCK	(KVP_BLOCK_SIZE / KVP_EVENT_SIZE)
#define KVP_EVENT_MAGIC		0x4556504bu	/* "KVPE" */

/* One line of the event ring; event n lies in slot n % ring. */
struct kvp_disk_event {
	__le32	magic;
	__le32	csum;			/* crc32c(~0), this field 0 */
	__le64	seq;
	__le64	time;			/* seconds since 1970 */
	__u8	pool_uuid[16];
	__u8	text[216];		/* "name key=value ...", NUL padded */
} __packed;

#endif /* KVPOOL_FORMAT_H */
