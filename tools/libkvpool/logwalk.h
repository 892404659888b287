/* SPDX-License-Identifier: GPL-2.0-only */
/* Between log.c, which walks the log, and logrows.c, which knows how it lies in full stripes. */
#ifndef KVPOOLCTL_LOGWALK_H
#define KVPOOLCTL_LOGWALK_H

#include "format/logplace.h"
#include "log.h"

struct log_rows;

/* A leg of one of the vdevs that carry the log. */
struct log_leg {
	const struct offline_pool *pool;
	unsigned int place;	/* in its legs[] */
};

struct walker {
	const struct offline_pool *pool;
	struct kvp_log_track track;
	struct log_leg legs[KVP_MAX_LEGS];
	unsigned int leg_count;
	struct log_rows *rows;	/* of a log of full stripes, else NULL */
	struct log_walk *w;
	void *buf[2];		/* the entry found, or its header, and one to try with */
	u64 nonce;
	u32 generation;		/* that is being walked: index of the superblock's; behind them the newest */
	u64 lsn;		/* where the next entry is looked for */
	u64 prev_lsn;
	u32 prev_csum;
	u64 known;		/* below it everything was durable, and a header is enough; 0: it is not */
	bool near;		/* the last place looked at had something, though no sound entry that follows */
	/* lsns of copies that were not sound, to be judged when the watermark is known */
	u64 notes[KVP_MAX_LEGS][LOG_BAD_NOTES];
	unsigned int note_count[KVP_MAX_LEGS];
};

/** walker_decode() - the header in @buf, @avail blocks of it, read at @lsn; 0 or why not */
int walker_decode(const struct walker *k, const void *buf, u32 avail, u64 lsn, struct kvp_log_hdr *h,
		  struct kvp_why *why);

/** walker_follows() - does it name the entry before? */
bool walker_follows(const struct walker *k, const struct kvp_log_hdr *h, struct kvp_why *why);

/** walker_sum() - what the payload of a record sums to */
u32 walker_sum(const struct walker *k, const struct kvp_rec *r, const void *data);

/** walker_fault() - leg @leg of the walker has the entry at @lsn, but not as it should be */
void walker_fault(struct walker *k, unsigned int leg, u64 lsn, const struct kvp_why *why);

/** walker_note_bad() - count that; once for each entry */
void walker_note_bad(struct walker *k, unsigned int leg, u64 lsn);

/** walker_saw() - a header in @buf, behind the end of the log: what it says of its epoch, and of what was durable */
void walker_saw(struct walker *k, const void *buf, u32 avail, u64 lsn);

#endif
