/* SPDX-License-Identifier: GPL-2.0-only */
/* The labels of one leg: both superblock rings. */
#ifndef KVPOOLCTL_LABEL_H
#define KVPOOLCTL_LABEL_H

#include "device.h"
#include "format/sbring.h"
#include "format/spare.h"

#define LABEL_SLOTS	(2 * KVP_SB_RING)

struct label_slot {
	u64 offset;		/* bytes */
	/* 0 valid; -ENODATA none; else bad (error of kvp_sb_decode(), or -EIO) */
	int state;
	u64 epoch, sequence;	/* of a valid one */
	struct kvp_why why;	/* of a bad one */
};

struct label {
	struct label_slot slots[LABEL_SLOTS];	/* front ring, then back ring */
	unsigned int valid, bad;
	unsigned int unreadable;	/* of those that are bad */
	/*
	 * The back ring at the end that the device had before it grew, by its newest superblock;
	 * offset 0: there is none. Only valid ones count as such: data may be there.
	 */
	struct label_slot old[KVP_SB_RING];
	/* if some slots cannot be read: the highest sequence that they may hold */
	u64 held;
	/* all slots could be read, and none can hold a newer superblock than @sb */
	bool all_read;
	bool unsupported;	/* a newer format, or features this tool does not know */
	/* if unsupported: the pool and the leg that it names there; zeros: that is not known */
	u8 newer_pool[16], newer_leg[16];
	bool ambiguous;		/* valid slots name different pools or legs */
	struct kvp_sb *sb;	/* newest valid one, NULL if none */
	/* bytes that the device lacks of its size as a leg; if not 0, no older slot counts */
	u64 short_by;
	struct kvp_sb *short_sb;	/* if short_by: the newest superblock there */
	/* the labels of a spare that are valid, 2 of a whole one; the slots count as bad */
	unsigned int spare_valid;
	struct kvp_spare spare;	/* if spare_valid, or spare_resized */
	/* the device had another size when it became a spare */
	bool spare_resized;
};

/**
 * label_read() - read both rings of a device, and the one at its old end if it has grown
 *
 * A device too small for labels has none. Slots that cannot be read count as bad. They may hold a
 * newer superblock than the readable ones; see @held and kvp_sb_rings_may_hold().
 *
 * Return: 0, or -1 with @err when out of memory.
 */
int label_read(const struct device *d, struct label *l, struct err *err);

/**
 * label_read_path() - the same of the device at @path, which is opened for that (device_open())
 *
 * Return: 0, or -1 with @err: also if it cannot be opened.
 */
int label_read_path(const char *path, bool allow_file, struct label *l, struct err *err);
void label_free(struct label *l);

/** label_silent() - make @l the label of a device that did not answer: no slot can be read */
void label_silent(struct label *l);

/**
 * label_unread() - could no slot be read, or only by a newer kvpool?
 *
 * Then the device may be a leg of any pool.
 */
bool label_unread(const struct label *l);

/**
 * label_is_newer() - may a newer kvpool have written the newest superblock?
 *
 * Then no older slot counts, and nothing here may write over it: see label_fault().
 */
bool label_is_newer(const struct label *l);

/** LABEL_NEWER_MEND, label_mend() - what to do about label_fault(); @mend: if it is not newer */
#define LABEL_NEWER_MEND	"use a newer kvpool, with its module"
const char *label_mend(const struct label *l, const char *mend);

/** label_fault() - why a label cannot be used as that of a leg, NULL if it can */
const char *label_fault(const struct label *l);

/** label_is_spare() - are these the labels of a spare, whole, and nothing else? */
bool label_is_spare(const struct label *l);

/** label_is_resized_spare() - of a spare on a device that had another size when it became one */
bool label_is_resized_spare(const struct label *l);

/** label_is_small() - of a leg on a device that is too small for it now: see label::short_by */
bool label_is_small(const struct label *l);

/** label_same() - was nothing written to the label between @a and @b, as far as was read? */
bool label_same(const struct label *a, const struct label *b);

/**
 * label_clear() - zero the protective MBR (pmbr.h), and every slot with our magic
 *
 * Does not wait for a device that hangs. Refused if the label is not @l any more: @d was not held
 * since that was read.
 */
int label_clear(const struct device *d, const struct label *l, struct err *err);

/** vdev_word(), leg_word() - names of enum kvp_vdev_kind and enum kvp_leg_state */
const char *vdev_word(u32 kind);
const char *leg_word(u32 state);

#endif
