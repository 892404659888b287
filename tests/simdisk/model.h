/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a request takes on a hard disk, and on an SSD: pure arithmetic. It
 * knows no I/O, no lock and no clock. The caller says when a command arrived,
 * and gets the time at which it is done. Times are nanoseconds on any clock
 * that only goes forward, places are sectors of 512 bytes.
 *
 * Where the constants come from
 *   [1] Western Digital, Ultrastar DC HC310 (3.5 inch, 7200 rpm, SATA) OEM
 *	 specification 1.4, 4.5.1: seek read 7.4 ms and write 8.2 ms on average,
 *	 single track 0.23 and 0.32 ms, 8.33 ms a revolution.
 *   [2] Ruemmler and Wilkes, An Introduction to Disk Drive Modeling, 1994: the
 *	 time of a seek grows with the root of its distance, and a constant for
 *	 settling.
 *   [3] Micron 7450 SSD, as announced: 80 us a read, 15 us a write, 6.8 GB/s
 *	 read, 1.4 GB/s written by the models below 1 TB.
 *   [4] Cho et al., AERO, ASPLOS 2024: 3.5 ms to erase a block of TLC flash.
 *   [5] Ours; the comment there says why.
 */
#ifndef SIMDISK_MODEL_H
#define SIMDISK_MODEL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
#endif

/* --- the disk --- */

/* [5] 2 MiB: 231 MiB/s with the steps from track to track. The same on all
 * tracks, although inner ones of a real disk hold half as much.
 */
#define SIM_DISK_TRACK		4096u		/* sectors */
/* A revolution takes 8.331 ms, 7202 rpm [1], in whole nanoseconds a sector. */
#define SIM_DISK_SECTOR_NS	2034u
#define SIM_DISK_TURN_NS	((u64)SIM_DISK_TRACK * SIM_DISK_SECTOR_NS)
#define SIM_DISK_STEP_READ_NS	230000u		/* to the next track [1] */
#define SIM_DISK_STEP_WRITE_NS	320000u		/* [1] */
/* Each track starts so much later in the turn that a step of either kind loses
 * no revolution [5].
 */
#define SIM_DISK_SKEW_NS	SIM_DISK_STEP_WRITE_NS
/*
 * A seek over the part d of all tracks: step + this * sqrt(d) [2]. Between two
 * places of equal chance sqrt(d) is 8/15 on average, so these are the averages
 * of [1] less a step, times 15/8.
 */
#define SIM_DISK_SEEK_READ_US	13444u
#define SIM_DISK_SEEK_WRITE_US	14775u
#define SIM_DISK_TAGS		32u		/* NCQ has no more */
#define SIM_DISK_OVERHEAD_NS	50000u		/* of a command [5] */
#define SIM_DISK_WIRE_NS	854u		/* a sector at 600 MB/s, SATA */
/* Commands that may overtake another one: as many as two sweeps of all tags [5].
 * Without a limit one stream would keep all others waiting.
 */
#define SIM_DISK_OVERTAKEN	(2 * SIM_DISK_TAGS)

/**
 * struct sim_disk_cmd - a command that has a tag
 * @sector:	where it begins
 * @nr:		how many sectors
 * @arrived:	when
 * @overtaken:	how many later ones were served before it
 * @write:	a write; otherwise a read
 */
struct sim_disk_cmd {
	u64 sector;
	u32 nr;
	u32 overtaken;
	u64 arrived;
	bool write;
};

/**
 * struct sim_disk - the arm, and the track cache
 * @tracks:	of the device. They stand for all tracks of a large disk: a
 *		request for the other end is a seek over the whole stroke
 * @head:	the sector behind the last one that the arm went over
 * @free_at:	when the arm is done with what it was told so far
 * @cache_from:	the track cache holds sectors from here,
 * @cache_to:	to here; since @cache_at it reads on, up to a track more,
 * @cache_at:	unless that is 0
 */
struct sim_disk {
	u64 tracks;
	u64 head;
	u64 free_at;
	u64 cache_from;
	u64 cache_to;
	u64 cache_at;
};

/**
 * sim_disk_init() - a disk that has not moved yet
 * @sectors:	its size
 */
void sim_disk_init(struct sim_disk *d, u64 sectors);

/**
 * sim_disk_seek_ns() - the time for the arm to move and settle
 * @from: @to:	sectors; nothing on the same track
 * @write:	writes settle longer
 */
u64 sim_disk_seek_ns(const struct sim_disk *d, u64 from, u64 to, bool write);

/**
 * sim_disk_pick() - which command is served next: the elevator
 * @cmd:	pointers to the commands with tags
 * @nr:		how many, at least one
 *
 * The nearest at or behind the head, else the first on the disk; but first one
 * that too many have overtaken. Counts for those that are overtaken now.
 *
 * Return: an index of @cmd.
 */
u32 sim_disk_pick(const struct sim_disk *d, struct sim_disk_cmd *const *cmd, u32 nr);

/**
 * sim_disk_serve() - serve a command: seek, rotation, transfer, or the track cache
 *
 * Writes go to the platter, as with the write cache off.
 *
 * Return: when it is done, at least @cmd->arrived.
 */
u64 sim_disk_serve(struct sim_disk *d, const struct sim_disk_cmd *cmd);

/* --- the SSD --- */

#define SIM_FLASH_UNITS		64u		/* at a time, as null_blk's ssd [5] */
#define SIM_FLASH_READ_NS	80000u		/* [3] */
#define SIM_FLASH_WRITE_NS	15000u		/* into a protected buffer [3] */
#define SIM_FLASH_READ_MBS	6800u		/* [3] */
#define SIM_FLASH_WRITE_MBS	1400u		/* [3] */
/* After so many written bytes a block is collected, and everything waits for it. [5] */
#define SIM_FLASH_COLLECT	(32u << 20)
/* To erase it [4], and to write ten pages of it elsewhere, 0.65 ms each [5]. */
#define SIM_FLASH_PAUSE_NS	10000000u

/**
 * struct sim_flash - the units that work side by side, and the wires
 * @unit:	when each is free
 * @wire:	when the wire is free, for reads and for writes
 * @paused:	nothing begins before
 * @written:	bytes since the last pause
 */
struct sim_flash {
	u64 unit[SIM_FLASH_UNITS];
	u64 wire[2];
	u64 paused;
	u64 written;
};

void sim_flash_init(struct sim_flash *f);

/**
 * sim_flash_serve() - serve a command, in the order of arrival
 * @now:	when it arrived
 * @bytes:	its length
 *
 * Return: when it is done.
 */
u64 sim_flash_serve(struct sim_flash *f, u64 now, u32 bytes, bool write);

#endif
