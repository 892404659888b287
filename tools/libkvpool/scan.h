/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding legs, and putting them together to pools. */
#ifndef KVPOOLCTL_SCAN_H
#define KVPOOLCTL_SCAN_H

#include "label.h"

struct found_leg {
	struct device dev;	/* closed */
	struct label label;
};

/* A pool as its legs describe it. Pointers into the scan. */
struct found_pool {
	const struct kvp_sb *sb;		/* the newest */
	struct found_leg *legs[KVP_MAX_LEGS];	/* by its topology; NULL: missing */
	struct found_leg *duplicate;		/* a second device with the UUID of a leg */
	struct found_leg *fork;			/* a leg whose history is not part of sb's */
	struct found_leg *small;		/* a leg on a device that is smaller than it was; it counts as missing */
	struct found_leg *odd;			/* a leg that the newest superblock does not name */
	struct found_leg *outdated;		/* a leg that was put back to an older state: it is not in sync */
	struct found_leg *doubtful;		/* a leg that may have a newer superblock, which cannot be read */
};

struct scan {
	struct found_leg **legs;	/* everything with a trace of a label */
	unsigned int leg_count;
	struct found_pool *pools;
	unsigned int pool_count;
};

/**
 * scan_run() - read the labels of many devices and group them
 * @where: folders, devices or image files; none: all block devices
 *
 * Leaves out devices that are only part of another (a holder other than a pool
 * is stacked on them), and pools themselves.
 */
int scan_run(const char *const *where, unsigned int count, struct scan *s, struct err *err);
void scan_free(struct scan *s);

/** scan_missing() - number of legs that were not found */
unsigned int scan_missing(const struct found_pool *p);

/** scan_leg_in_sync() - was leg @i of the superblock found, in sync and of this history? */
bool scan_leg_in_sync(const struct found_pool *p, u32 i);

/** scan_in_sync() - number of legs found that are in sync and of this history */
unsigned int scan_in_sync(const struct found_pool *p);

/**
 * scan_was_destroyed() - was the pool destroyed that @sb, the newest superblock of a leg, is of?
 *
 * A leg that was out, or missing, did not hear of it. So the legs that went on without it are asked, if they
 * are here: this reads the labels of all devices. Where histories disagree the answer is no.
 */
bool scan_was_destroyed(const struct kvp_sb *sb);

/** scan_is_fork() - was @leg used after it parted from @sb, the newest superblock? */
bool scan_is_fork(const struct kvp_sb *leg, const struct kvp_sb *sb);

#endif
