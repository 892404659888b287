/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of a start before the pool serves: labels, choice, format. For pool.c, and for files that
 * read a label later. start.c numbers the steps; start_steps.h has what they share.
 */
#ifndef KVP_START_H
#define KVP_START_H

#include "format/outs.h"
#include "format/sbring.h"
#include "pool/pool.h"

struct kvp_refusal;

/* The label found on one leg, in the order of the table line. */
struct kvp_label {
	bool found, forked;
	bool passed;		/* forked, but nothing was done in its history */
	bool hangs;		/* a request has timed out, so no more are sent */
	u32 valid, bad, unreadable;	/* numbers of slots */
	u32 newer;		/* of those that are bad: whole, and written by a newer module */
	u32 pauses;		/* how often it has paused for slots that could not be read */
	int error, read_error;	/* of a bad slot; of an unreadable slot */
	struct kvp_why why, why_newer;
	struct kvp_sb_rings rings;
	u64 ends[KVP_RINGS];	/* blocks: the sizes at whose ends the back rings were read */
	u32 nr_ends;
	/* Of the newest whole label that was made for a larger device; 0 if there is none. */
	u64 cut_epoch, cut_sequence;
	struct kvp_sb *sb;	/* the newest valid one */
};

/* Memory for reading labels; large, and used for a short time. */
struct kvp_labels {
	struct page **pages;
	struct kvp_disk_sb *slot;
	struct kvp_sb *tmp;
	struct kvp_label legs[KVP_LEGS_BESIDE];		/* the last one: of the shadow */
	struct kvp_rival rivals[KVP_MAX_LEGS];
	struct kvp_leg ordered[KVP_MAX_LEGS];
	const struct kvp_label *ordered_label[KVP_MAX_LEGS];
};

/**
 * kvp_labels_alloc() - get memory for labels; NULL if there is none
 *
 * kvp_labels_free() - free it, with the superblocks that were read; @l may be NULL
 *
 * Context: process, may sleep.
 */
struct kvp_labels * __must_check kvp_labels_alloc(void);
void kvp_labels_free(struct kvp_labels *l);

/**
 * kvp_labels_read() - read all rings of all legs that are present; may be called again
 *
 * The pool is starting. A leg that does not answer, and has no label so far, is refused at once.
 * With @format, each leg that does not answer is refused. Return: 0, or -errno with @r filled in.
 * Context: process, waits for I/O.
 */
int __must_check kvp_labels_read(struct kvp_labels *l, struct kvp_pool *pool, bool format,
				 struct kvp_refusal *r);

/**
 * kvp_label_read() - read all rings of one leg, if it is present, into l->legs[@at]
 *
 * Return: 0, or -errno with @r filled in. Context: process, waits for I/O.
 */
int __must_check kvp_label_read(struct kvp_labels *l, struct kvp_leg *leg, u32 at,
				struct kvp_refusal *r);

/**
 * kvp_leg_note_slots() - note what @label shows of the slots of @leg, for the next superblocks
 *
 * Context: the pool is starting, or the caller holds sb_lock.
 */
void kvp_leg_note_slots(struct kvp_leg *leg, const struct kvp_label *label);

/** kvp_label_missing() - refuse, with the reason why a leg that is present has no usable label */
int __must_check kvp_label_missing(const struct kvp_leg *leg, const struct kvp_label *label,
		      struct kvp_refusal *r);

/**
 * kvp_identify() - fill in pool->sb from the newest label, which tells the pool of these legs
 *
 * Return: 0, or -errno with @r filled in.
 */
int __must_check kvp_identify(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r);

/**
 * kvp_choose() - decide which superblock and which legs count (R13, R16, R17)
 * @auto_start: start without legs that may hold newer data
 *
 * Fills in pool->sb and pool->legs[], in the superblock's order. Return: 0, or -errno with @r
 * filled in.
 */
int __must_check kvp_choose(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
			    bool auto_start, struct kvp_refusal *r);

/** kvp_vdev_named() - true if vdev @named of the table has the kind and as many legs as vdev @v */
static inline bool kvp_vdev_named(const struct kvp_sb *sb, u32 v, const struct kvp_start *s,
				  u32 named)
{
	return sb->vdevs[v].kind == s->vdevs[named].kind &&
	       sb->vdevs[v].leg_count == s->vdevs[named].nr_legs;
}

/** kvp_vdevs_match() - true if the table names the vdevs of the superblock */
bool kvp_vdevs_match(const struct kvp_sb *sb, const struct kvp_start *s);

/** kvp_layout_mend() - how to mend error @error of kvp_layout_one() */
static inline const char *kvp_layout_mend(int error)
{
	return error == -ERANGE ? "give cache_dirty_max=, of 64 MiB to 64 GiB" :
				  "use larger devices or a smaller log";
}

/**
 * kvp_check_blank() - check that the first and the last MiB of @leg are zeros
 * @page: buffer to read into
 *
 * Return: 0, or -errno with @r filled in. Context: process, waits for I/O.
 */
int __must_check kvp_check_blank(struct kvp_leg *leg, struct page *page, struct kvp_refusal *r);

/**
 * kvp_check_unused() - the same; with @spare, the two places of a spare's label may hold anything
 */
int __must_check kvp_check_unused(struct kvp_leg *leg, struct page *page, bool spare,
				  struct kvp_refusal *r);

/** kvp_random_uuid() - make a new UUID */
void kvp_random_uuid(u8 *uuid);

/**
 * kvp_format() - make a new superblock in pool->sb for blank legs; writes nothing yet
 *
 * Return: 0, or -errno with @r filled in. Context: process, waits for I/O.
 */
int __must_check kvp_format(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
			    struct kvp_refusal *r);

#endif /* KVP_START_H */
