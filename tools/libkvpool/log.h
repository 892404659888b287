/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log, read from the legs: walked from the tail, each entry taken from
 * the first leg whose copy is sound.
 */
#ifndef KVPOOLCTL_LOG_H
#define KVPOOLCTL_LOG_H

#include "offline.h"

#define LOG_BAD_NOTES	64

struct log_walk {
	u64 entries, data, intents, discards;
	u64 head;		/* lsn after the last entry */
	u64 watermark;		/* every entry below was durable */
	u64 max_epoch;		/* of all entries of this pool; above the superblock's: that is old */
	struct kvp_log_hdr last;	/* newest entry, if entries > 0 */
	u64 bad[KVP_MAX_MIRROR_LEGS];	/* by leg: copies below the watermark that are not sound */
	bool damaged;		/* ends below the watermark */
	struct kvp_why end;	/* why it ends, if damaged */
};

enum log_state {
	LOG_SOUND,
	LOG_NEWER,	/* written under a superblock newer than any that is at hand */
	LOG_DAMAGED,
};

/*
 * Called for each entry in order. @buf holds the header with its records, then
 * the payload, all verified. Nonzero ends the walk and is returned.
 */
typedef int (*log_entry_fn)(void *arg, const struct kvp_log_hdr *h, const void *buf);

/**
 * log_walk() - walk the log from the tail to its end
 * @fn: may be NULL
 *
 * Return: 0, -ENOMEM, or what @fn returned.
 */
int log_walk(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg);

/** log_state() - what a walk found */
enum log_state log_state(const struct offline_pool *pool, const struct log_walk *w);

/** log_rec() - record @i of a verified entry */
void log_rec(const void *buf, u32 i, struct kvp_rec *r);

#endif
