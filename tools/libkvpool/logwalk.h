/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by log.c, which walks the log, and logrows.c, which reads full stripes. */
#ifndef KVPOOLCTL_LOGWALK_H
#define KVPOOLCTL_LOGWALK_H

#include "format/logplace.h"
#include "log.h"

struct log_rows;

/* A leg of one of the vdevs that carry the log. */
struct log_leg {
	const struct offline_pool *pool;
	unsigned int place;	/* its index in legs[] */
};

struct walker {
	const struct offline_pool *pool;
	struct kvp_log_track track;
	struct log_leg legs[KVP_MAX_LEGS];
	unsigned int leg_count;
	struct log_rows *rows;	/* of a log in full stripes, else NULL */
	struct log_walk *w;
	void *buf[2];		/* [0]: the entry found, or its header; [1]: scratch */
	u64 nonce;
	/* index of the walked generation in the superblock; after the last one the newest */
	u32 generation;
	u64 lsn;		/* where the next entry is expected */
	u64 prev_lsn;
	u32 prev_csum;
	/* everything below was durable, so a header is enough; 0: unknown */
	u64 known;
	bool near;		/* the last place had an entry, but no sound one that follows */
	bool unread;		/* the last place may have the next entry: no leg could be read */
	/* lsns of damaged copies; judged once the watermark is known */
	u64 notes[KVP_MAX_LEGS][LOG_BAD_NOTES];
	unsigned int note_count[KVP_MAX_LEGS];
};

/**
 * walker_decode() - decode the header in @buf, @avail blocks read at @lsn; 0 or an error with @why
 */
int walker_decode(const struct walker *k, const void *buf, u32 avail, u64 lsn,
		  struct kvp_log_hdr *h,
		  struct kvp_why *why);

/** walker_may_be_entry() - does a header of this log that names @lsn start here? */
bool walker_may_be_entry(const struct walker *k, const void *block, u64 lsn);

/** walker_follows() - does the header name the entry before? */
bool walker_follows(const struct walker *k, const struct kvp_log_hdr *h, struct kvp_why *why);

/** walker_sum() - the sum that the payload of a record must have */
u32 walker_sum(const struct walker *k, const struct kvp_rec *r, const void *data);

/** walker_fault() - leg @leg of the walker has a damaged copy of the entry at @lsn */
void walker_fault(struct walker *k, unsigned int leg, u64 lsn, const struct kvp_why *why);

/** walker_note_bad() - count a damaged copy; once for each entry */
void walker_note_bad(struct walker *k, unsigned int leg, u64 lsn);

/** walker_saw() - note the epoch and the watermark that a header beyond the log's end names */
void walker_saw(struct walker *k, const void *buf, u32 avail, u64 lsn);

#endif
