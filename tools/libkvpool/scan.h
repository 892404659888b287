/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds legs, and groups them into pools. */
#ifndef KVPOOLCTL_SCAN_H
#define KVPOOLCTL_SCAN_H

#include "format/outs.h"
#include "label.h"
#include "signature.h"

#define MAX_SPARES	16	/* of a pool */

/* Without multipath, each path to a disk shows its label: to clear that would clear the leg. */
#define DUPLICATE_MEND	"if both are paths to one disk: set up multipath; else take away the " \
			"copy, or clear its label"

struct found_leg {
	struct device dev;	/* closed */
	struct label label;
	/*
	 * What makes it a part of another device, which has the leg; empty: nothing. That device is
	 * not there yet: see scan_run().
	 */
	char part[SIGNATURE_TYPE];
};

/* A pool as its legs describe it. The pointers lead into the scan. */
struct found_pool {
	const struct kvp_sb *sb;		/* the one that counts: the newest, as a rule */
	struct found_leg *legs[KVP_MAX_LEGS];	/* by index in sb; NULL: missing */
	struct found_leg *duplicate;		/* a second device with the UUID of a leg */
	/* a leg whose history is not part of sb's history */
	struct found_leg *fork;
	/*
	 * by index in sb: the device of a leg that is missing, if it is here and cannot be used:
	 * it is too small, or a part of another device, or has the label of a newer kvpool
	 */
	struct found_leg *unusable[KVP_MAX_LEGS];
	struct found_leg *unusable_shadow;
	struct found_leg *odd;			/* a leg that the newest superblock does not name */
	/* the device that is to take the place of a leg of a parity1 */
	struct found_leg *shadow;
	/* a leg that was put back to an older state: not in sync */
	struct found_leg *outdated;
	/* a leg with unreadable slots, which may hold a newer superblock */
	struct found_leg *doubtful;
	/*
	 * a leg, or one that sb does not name, of which a newer kvpool may have written the newest
	 * superblock. sb may be of before, so the pool must not start.
	 */
	struct found_leg *newer;
	/* if legs are missing: a device whose label cannot be read, so it may be one of them */
	struct found_leg *unread;
	/*
	 * its spares, which no superblock lists, also those whose devices have another size now;
	 * further ones are left out
	 */
	struct found_leg *spares[MAX_SPARES];
	unsigned int spare_count;
};

struct scan {
	struct found_leg **legs;	/* every device with a trace of a label */
	unsigned int leg_count;
	struct found_pool *pools;
	unsigned int pool_count;
};

/**
 * scan_run() - read the labels of many devices and group them
 * @where: folders, devices or image files; none: all block devices
 *
 * Leaves out pools' own devices, and devices that are only part of another device. Such a part has
 * a holder that is no pool, or udev knows it as a path of multipath. Reads many devices at once,
 * each in a process of its own. A device that does not answer in @device_patience is found with a
 * label that cannot be read; see label_silent().
 *
 * A part may have no holder yet: md has a leg, and one of its disks appears first. md 1.0, and the
 * RAID of a mainboard, have their own block behind the leg, at the end of the disk. So the disk
 * looks like a leg on a device that has grown. No pool has such a part as a leg: see
 * found_leg::part.
 */
int scan_run(const char *const *where, unsigned int count, struct scan *s, struct err *err);

/**
 * scan_offline() - as scan_run(), for a command that only reads, and looks at what it is given
 *
 * A part of another device counts as the leg that it shows.
 */
int scan_offline(const char *const *where, unsigned int count, struct scan *s, struct err *err);

/**
 * scan_glance() - as scan_run(), for a question that is asked again and again
 *
 * Leaves out legs in use, and reads no device again to which nothing was written (remember.h). So
 * disks can sleep. What it finds may be out of date: a caller that finds a fault scans anew.
 */
int scan_glance(const char *const *where, unsigned int count, struct scan *s, struct err *err);
void scan_free(struct scan *s);

/** scan_pool() - the pool of this UUID; NULL if none of its legs was found */
struct found_pool *scan_pool(struct scan *s, const u8 uuid[16]);

/** scan_unread() - the first device whose label cannot be read at all; NULL: there is none */
struct found_leg *scan_unread(const struct scan *s);

/**
 * scan_newer() - the first device of which a newer kvpool may have written the newest superblock
 *
 * NULL: there is none.
 */
struct found_leg *scan_newer(const struct scan *s);

/** scan_missing() - number of legs that were not found */
unsigned int scan_missing(const struct found_pool *p);

/**
 * scan_forked() - is @leg of another history than p->sb, as in a split brain?
 *
 * No, if nothing was done in that history: a start passes it by (kvp_sb_never_counted()).
 */
bool scan_forked(const struct found_pool *p, const struct found_leg *leg);

/** scan_leg_in_sync() - was leg @i of the superblock found, in sync and with this history? */
bool scan_leg_in_sync(const struct found_pool *p, u32 i);

/** scan_in_sync() - number of found legs that are in sync and have this history */
unsigned int scan_in_sync(const struct found_pool *p);

/**
 * scan_was_destroyed() - was the pool destroyed to which @sb belongs, a leg's newest superblock?
 *
 * A leg that was out or missing at that time has no mark. So this reads the labels of all devices,
 * to ask the legs that went on without it. If histories disagree, the answer is no.
 */
bool scan_was_destroyed(const struct kvp_sb *sb);

#endif
