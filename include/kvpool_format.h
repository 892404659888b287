/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * On-disk format of a kvpool, shared by the module, kvpoolctl and the tests.
 *
 * Everything on disk is little endian. A "block" is 4096 bytes. Positions on a leg are counted in
 * blocks from its start, unless a name says bytes.
 *
 * A data leg:
 *
 *   block 0 ....... label area, 1 MiB: 64 KiB left zero, superblock ring,
 *                   event ring, order ring
 *   table_start ... checksum table: two slots for each page, level 0 first
 *   log_start ..... log: log_segments segments of segment_blocks blocks
 *   data_start .... home of the data: data_blocks blocks
 *   last 1 MiB .... label area again: same superblock ring
 *
 * A leg of a cache has labels and a log.
 *
 * docs/on-disk-format.md explains every field; tests/kunit and tests/sim check sizes and offsets.
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
/* 320 KiB into the front label area: blocks of the heartbeat */
#define KVP_BEAT_BLOCK		80u
#define KVP_BEAT_SLOTS		4u
#define KVP_EVENTS_BLOCK	128u			/* 512 KiB into the front label area */
#define KVP_EVENTS_BLOCKS	64u
#define KVP_ORDERS_BLOCK	192u			/* 768 KiB into the front label area */
#define KVP_ORDERS_BLOCKS	64u

#define KVP_SB_MAGIC		"KVPOOL\r\n\032sblk\0\0"	/* 16 bytes with its last NUL */
#define KVP_SB_MAGIC_LEN	16
#define KVP_BEAT_MAGIC		"KVPOOL\r\n\032beat\0\0"	/* 16 bytes with its last NUL */

#define KVP_MAX_VDEVS		16
#define KVP_MAX_LEGS		48			/* in the whole pool */
#define KVP_MAX_REGIONS		12
#define KVP_EXTENT_BLOCKS	64u			/* 256 KiB, or a little more */
#define KVP_MAX_MIRROR_LEGS	16
#define KVP_MAX_FORKS		16
/* of the log, older than the one that is written to */
#define KVP_MAX_GENERATIONS	3
#define KVP_MAX_ROOTS		1024
#define KVP_MAX_TUNABLES	32
#define KVP_NAME_LEN		64			/* without the NUL */
#define KVP_COMMENT_LEN		128

/* Pool flags. */
#define KVP_SB_EXPORTED		0x1u
#define KVP_SB_DESTROYED	0x2u
/* the log had no entries that count when the pool stopped */
#define KVP_SB_CLEAN		0x4u
/* On a leg that a pool was about to take in. Nothing else of the label counts. */
#define KVP_SB_JOINING		0x8u

enum kvp_vdev_kind {
	KVP_VDEV_SINGLE		= 1,
	KVP_VDEV_MIRROR		= 2,
	KVP_VDEV_PARITY1	= 3,
	KVP_VDEV_CACHE		= 4,	/* carries the log, and no blocks of the pool */
	/* The same; its entries are full stripes of three SSDs or more. */
	KVP_VDEV_CACHE_PARITY1	= 5,
};

/*
 * Incompatible features. 0x1 was for regions whose extents were whole leaves, and is not used any
 * more.
 */
#define KVP_INCOMPAT_CACHE	0x2ull	/* one of the vdevs is a cache */
#define KVP_INCOMPAT_VDEVS	0x4ull	/* regions[] say which vdev has which blocks */
#define KVP_INCOMPAT_GENERATIONS 0x10ull /* generations[] are not empty */
#define KVP_INCOMPAT_LOG_TURNS	0x20ull	/* log_others is not zero */
#define KVP_INCOMPAT_CACHE_PARITY1 0x40ull /* the cache is of kind parity1 */
#define KVP_INCOMPAT_LOG_WINDOW	0x80ull	/* log_window of the cache is not zero */
#define KVP_INCOMPAT_RESILVER	0x100ull /* some leg is resilvering */
#define KVP_INCOMPAT_TABLE_BEHIND 0x200ull /* some vdev has its table behind the data */
/*
 * Never in the superblock of a pool. It marks the label of a spare, which is in slot 0 of both
 * rings, and has nothing else.
 */
#define KVP_SPARE_INCOMPAT	0x400ull
#define KVP_INCOMPAT_HEARTBEAT	0x800ull /* the tunable heartbeat is on */
#define KVP_INCOMPAT_FOLDED_SUMS 0x1000ull /* sums of blocks contain a fold */

enum kvp_leg_state {
	KVP_LEG_IN_SYNC		= 1,	/* has everything up to the tail */
	KVP_LEG_STALE		= 2,	/* recorded out: it missed writes, and is never a source */
	KVP_LEG_FAULTED		= 3,	/* recorded out because of its errors */
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
	 * For a leg that is not in sync: blocks of its vdev below @cursor are in sync as of
	 * @cursor_era, all others as of @in_sync_era.
	 */
	__le64	cursor;
	/* Of the superblock that called it in sync again; 0: it was never out. */
	__le64	in_sync_epoch;
	__le32	cursor_era;
	/* Of the leg that leaves when this one is in sync: its number in the vdev, + 1; 0: none. */
	__u8	replaces;
	/* Of the pool, in all legs[], used or not: a part of the lsn log_resolved. */
	__u8	resolved[3];
	/*
	 * Of a leg that is out: a superblock with the number @out - 1 called it out, and counts. 1:
	 * none of those that did so has counted yet; 0: unknown, or the leg is in sync.
	 */
	__le64	out;
} __packed;

/* One vdev, 128 bytes. All its legs share this geometry. */
struct kvp_disk_vdev {
	__le32	kind;			/* enum kvp_vdev_kind */
	__le32	first_leg;		/* index into legs[] */
	__le32	leg_count;
	/* 1 to 3; the superblock's roots point to the top level; 0 for a cache */
	__le32	table_levels;
	__le64	table_start;		/* blocks, as all below */
	__le64	log_start;
	__le32	log_segments;
	__le32	segment_blocks;
	__le64	data_start;
	__le64	data_blocks;
	__le32	chunk_blocks;		/* of a parity1; else 0 */
	/* Of a cache: how many blocks of its log may count; 0: 1 GiB, or all of it. */
	__le32	log_window;
	__le64	table_copy;		/* a second copy of the table on the same leg; 0: none */
	/*
	 * Of a parity1: a device that is to take the place of a leg in use, and is no leg yet.
	 * Blocks of the vdev below @shadow_cursor are on it as of @shadow_era, and nothing else.
	 * That is true only if its newest label has the number @shadow_label, or the one before.
	 */
	__u8	shadow_uuid[16];
	__le64	shadow_blocks;		/* size of the device */
	__le64	shadow_cursor;
	__le32	shadow_era;
	/* Of the leg that leaves then: its number in the vdev, + 1; 0: there is no such device. */
	__u8	shadow_of;
	/* Of the pool, in all vdevs[], used or not: a part of how far its trim is. */
	__u8	trim[3];
	__le64	shadow_label;
	/* Of the pool, in all vdevs[], used or not: half of the UUID of a spare; zeros: none. */
	__u8	spare[8];
} __packed;

/*
 * A region: a part of the pool's device, behind the one before it; 40 bytes. In each round the
 * vdevs that have a share take turns, with as many extents as the share says. An extent is the
 * smallest whole part of a leaf's blocks that has at least KVP_EXTENT_BLOCKS; in a parity1, whole
 * stripes.
 */

struct kvp_disk_region {
	/* of the pool; whole rounds, if several vdevs have a share */
	__le64	blocks;
	__le16	share[KVP_MAX_VDEVS];
} __packed;

/*
 * A generation: what an older activation has appended to the log, and the tail has not passed yet;
 * 24 bytes. It reaches up to where the next generation begins, whose first entry names the last one
 * of this generation. The newest generation is that of the superblock's log_nonce.
 */
struct kvp_disk_generation {
	__le64	nonce;			/* log nonce */
	/* Where the next one begins, at the start of a segment; 0: there is no such generation. */
	__le64	next_lsn;
	__le32	last_back;		/* how many blocks before that its last entry begins */
	__le32	last_csum;		/* csum of that entry */
} __packed;

/*
 * Superblock, 16 KiB. Slot (sequence % KVP_SB_RING) of both rings is written with FUA. The highest
 * valid (epoch, sequence) wins. The superblock before it is still intact, because a write never
 * overwrites the last two.
 */
struct kvp_disk_sb {
	__u8	magic[KVP_SB_MAGIC_LEN];
	__le32	csum;			/* crc32c(~0) of all 16 KiB, this field zero */
	__le32	version;
	__le64	compat;
	__le64	ro_compat;
	__le64	incompat;
	__u8	pool_uuid[16];
	__u8	leg_uuid[16];		/* of the leg that this copy is on */
	__le64	self_offset;		/* bytes: place of this copy */
	__le64	epoch;			/* raised at each activation and loss of a leg */
	__le64	sequence;		/* raised at each superblock write */
	__le64	write_time;		/* seconds since 1970, only for people */
	__le64	create_time;
	__le32	leg_index;
	__le32	flags;			/* KVP_SB_* */
	__le64	nonce;			/* seeds every checksum of table and data */

	/* log: identity and tail */
	__le64	log_nonce;		/* seeds every checksum of the log */
	__le64	log_tail;		/* lsn of the oldest entry that may be redone */
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

	/* the scrub that runs, or the last one */
	__le64	scrub_cursor;		/* next block; 0 with scrub_state idle */
	__le64	scrub_started;		/* seconds since 1970 */
	__le64	scrub_finished;
	__le64	scrub_healed;
	__le64	scrub_unrepaired;
	__le32	scrub_state;		/* enum kvp_scrub_state */
	__le32	event_seq;		/* number of the next event */

	__u8	name[KVP_NAME_LEN];	/* NUL padded */
	__u8	comment[KVP_COMMENT_LEN];
	/* Digest of the host that runs the pool, or did last; 0: unknown. */
	__le64	host;
	__u8	host_name[KVP_NAME_LEN];	/* only for people */

	/* Of a parity1: the chain of parity records that a recovery wrote behind the log's end. */
	__le64	redo_nonce;		/* log nonce of that chain; 0: none */
	__le64	redo_lsn;		/* where it begins */
	/* Of the newest checkpoint, seconds since 1970; 0: unknown. */
	__le64	checkpoint_time;
	/* Of the log, oldest first. */
	struct kvp_disk_generation generations[KVP_MAX_GENERATIONS];

	struct kvp_disk_vdev vdevs[KVP_MAX_VDEVS];
	/* KVP_INCOMPAT_VDEVS; without it, the only vdev has all of the pool */
	struct kvp_disk_region regions[KVP_MAX_REGIONS];
	__le32	region_count;
	__le32	log_vdev;		/* whose legs carry the log */
	/* Of a cache without the log: nothing was written there from this place on. */
	__le64	cache_lsn;
	__le32	log_others;		/* other vdevs that carry it by turns, a bit each */
	/* How many superblocks a leg in sync may lack, besides this one, + 1; 0: unknown. */
	__le32	behind;
	/*
	 * Leaves that were discarded as if they were full. So written_blocks may be too low, by the
	 * unwritten blocks of these leaves.
	 */
	__le32	uncounted_leaves;
	/* How often the log of a cache was discarded by order; wraps. */
	__u8	log_discards;
	__u8	trim_state;		/* enum kvp_trim_state */
	__u8	reserved1;
	__u8	redo_state;		/* enum kvp_redo_state */
	struct kvp_disk_leg legs[KVP_MAX_LEGS];
	__le64	roots[KVP_MAX_ROOTS];	/* pointers of the tables, of one vdev after the other */
} __packed;

/* The progress of the recovery that wrote the chain of redo_nonce. */
enum kvp_redo_state {
	/* An older module wrote it: if its last entry is there, it is complete. */
	KVP_REDO_UNKNOWN	= 0,
	KVP_REDO_BEGUN		= 1,	/* No row of it has been written home: it does not count. */
	KVP_REDO_COMPLETE	= 2,	/* rows may be half written: all of it counts */
	/*
	 * Begun instead of a complete chain that is damaged: rows may be half written, and this one
	 * does not count.
	 */
	KVP_REDO_AGAIN		= 3,
};

enum kvp_scrub_state {
	KVP_SCRUB_NONE		= 0,
	KVP_SCRUB_RUNNING	= 1,
	KVP_SCRUB_PAUSED	= 2,
	KVP_SCRUB_FINISHED	= 3,
	KVP_SCRUB_STOPPED	= 4,
};

/* The trim that runs, or the last one. */
enum kvp_trim_state {
	KVP_TRIM_NONE		= 0,
	KVP_TRIM_RUNNING	= 1,
	KVP_TRIM_FINISHED	= 2,
	KVP_TRIM_STOPPED	= 3,
	KVP_TRIM_FAILED		= 4,
};

/* --- checksum table ---------------------------------------------------- */

#define KVP_PTRS_SHIFT		9
#define KVP_PTRS_PER_PAGE	(1u << KVP_PTRS_SHIFT)	/* entries and pointers alike */
#define KVP_MAX_LEVELS		3

/*
 * Sixteen pages of a level are neighbours: first their slots 0, then their slots 1. So pages of a
 * sequential stream, which change together, are written by one request.
 */
#define KVP_SLOT_GROUP		16u

/*
 * Entry of a leaf page, one a block:
 *   bits  0..31  sum of the block: crc32c over (nonce, vdev, block), then the data. With
 *                KVP_INCOMPAT_FOLDED_SUMS: crc32c of the data, and its fold, and a hash of
 *                (nonce, vdev, block), all XORed
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
	/* Payload is the parity of a row, as of the header's limit. */
	KVP_REC_PARITY		= 4,
	/* Payload is a block that is at home anyway: only a cache of reads uses it. */
	KVP_REC_CLEAN		= 5,
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
	/* crc32c(~0) over pool nonce, log_nonce, header and records, with this field 0. */
	__le32	csum;
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
	/*
	 * Of parity records: they count versions before this place in the log, and none from there
	 * on.
	 */
	__le64	limit_lsn;
	__le32	limit_rec;		/* number of the record in the entry at limit_lsn */
	__u8	reserved[36];
} __packed;

#define KVP_LOG_HDR_SIZE	256u

/* --- summaries of a cache's segments ----------------------------------- */

#define KVP_SUMMARY_MAGIC	0x5350564bu	/* "KVPS" */
/* At the end of each segment of a cache's log: kvp_log_kept(). */
#define KVP_SUMMARY_BLOCKS	2u
#define KVP_SUMMARY_RECORDS	510u

/* One block of the segment, 16 bytes. */
struct kvp_disk_summary_rec {
	/* Block of the pool; bit 62: metadata; bit 63: there is such a block. */
	__le64	addr;
	__le32	crc;			/* block sum, as in the table */
	__u8	reserved[4];
} __packed;

#define KVP_SUMMARY_META	(1ull << 62)
#define KVP_SUMMARY_LIVE	(1ull << 63)

/*
 * Which blocks of the pool are in a segment of a cache, and also at home; 8 KiB. Only a cache of
 * reads uses it. It is true for a block as long as the block's entry in the table is older than
 * @era.
 */
struct kvp_disk_summary {
	__le32	magic;
	/* crc32c(~0) over pool nonce, UUID of the leg, and this summary, with this field 0. */
	__le32	csum;
	__le64	lsn;			/* of the segment's first block */
	__le32	era;			/* all later changes have at least this era */
	__u8	reserved[12];
	struct kvp_disk_summary_rec recs[KVP_SUMMARY_RECORDS];	/* by place in the segment */
} __packed;

/* --- events ------------------------------------------------------------ */

#define KVP_EVENT_SIZE		256u
#define KVP_EVENTS_PER_BLOCK	(KVP_BLOCK_SIZE / KVP_EVENT_SIZE)
#define KVP_EVENT_MAGIC		0x4556504bu	/* "KVPE" */
#define KVP_EVENT_SEQ_END	(1ull << 47)		/* events from here on do not count */

/*
 * One line of the event ring; event n lies in slot n % ring. An event that a user ordered has a
 * copy in the order ring, in any slot.
 */
struct kvp_disk_event {
	__le32	magic;
	__le32	csum;			/* crc32c(~0), this field 0 */
	__le64	seq;
	__le64	time;			/* seconds since 1970 */
	__u8	pool_uuid[16];
	__u8	text[216];		/* "name key=value ...", NUL padded */
} __packed;

/* --- heartbeat ---------------------------------------------------------- */

/* Which activation has the pool: the first 512 bytes of a block, the rest is zeros. */
struct kvp_disk_heartbeat {
	__u8	magic[KVP_SB_MAGIC_LEN];
	__le32	csum;			/* crc32c(~0), this field 0 */
	__le32	version;
	__u8	pool_uuid[16];
	__le64	claim;			/* the block lies in slot claim % KVP_BEAT_SLOTS */
	__le64	nonce;			/* of the activation */
	__le64	counter;		/* of its heartbeats */
	__le64	host;			/* as in the superblock */
	__le64	time;			/* seconds since 1970 */
	__le32	interval;		/* seconds between two heartbeats */
	/* seconds: it writes nothing more once its last heartbeat is older */
	__le32	limit;
	__u8	host_name[KVP_NAME_LEN];
	__u8	reserved[360];
} __packed;

#endif /* KVPOOL_FORMAT_H */
