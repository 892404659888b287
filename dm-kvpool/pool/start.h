/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of a pool before it serves: labels, choice, format. Used by pool.c. */
#ifndef KVP_START_H
#define KVP_START_H

#include "format/sbring.h"
#include "pool/pool.h"

/* The label that was found on one leg, in the order of the table line. */
struct kvp_label {
	bool found, forked;
	bool hangs;		/* a request has timed out, and no more are sent */
	u32 valid, bad, unreadable;	/* slots */
	u32 pauses;		/* pauses so far for slots that could not be read */
	int error, read_error;	/* of a bad slot; of a slot that cannot be read */
	struct kvp_why why;
	struct kvp_sb_rings rings;
	u64 cut_epoch, cut_sequence;	/* of the newest whole one for a larger device; 0 */
	struct kvp_sb *sb;	/* the newest valid one */
};

/* Memory for reading labels; large, short-lived. */
struct kvp_labels {
	struct page **pages;
	struct kvp_disk_sb *slot;
	struct kvp_sb *tmp;
	struct kvp_label legs[KVP_LEGS_BESIDE];		/* the last one: of the shadow */
	struct kvp_leg ordered[KVP_MAX_LEGS];
	const struct kvp_label *ordered_label[KVP_MAX_LEGS];
};

struct kvp_labels * __must_check kvp_labels_alloc(void);
void kvp_labels_free(struct kvp_labels *l);

/**
 * kvp_labels_read() - read all rings of all legs that are present; may be repeated
 *
 * The pool starts. A leg that does not answer, and has no label so far, is refused at once; so is
 * any such leg if they are to be formatted.
 */
int __must_check kvp_labels_read(struct kvp_labels *l, struct kvp_pool *pool, bool format,
				 struct kvp_refusal *r);

/** kvp_label_read() - read all rings of one leg, if it is present, into l->legs[@at] */
int __must_check kvp_label_read(struct kvp_labels *l, struct kvp_leg *leg, u32 at,
				struct kvp_refusal *r);

/** kvp_label_missing() - refuse, with the reason why a leg that is present has no usable label */
int kvp_label_missing(const struct kvp_leg *leg, const struct kvp_label *label,
		      struct kvp_refusal *r);

/** kvp_identify() - fill in pool->sb by the newest label, which tells whose legs these are */
int __must_check kvp_identify(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r);

/**
 * kvp_choose() - decide which superblock and which legs count (R13, R16, R17)
 * @auto_start: start without legs that may hold newer data
 *
 * On success pool->sb and pool->legs[] are filled in, in the superblock's order.
 */
int __must_check kvp_choose(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
			    bool auto_start, struct kvp_refusal *r);

/** kvp_vdevs_match() - true if the table names the vdevs of the superblock */
bool kvp_vdevs_match(const struct kvp_sb *sb, const struct kvp_start *s);

/** kvp_layout_mend() - advice for error @error of kvp_layout_one() */
static inline const char *kvp_layout_mend(int error)
{
	return error == -ERANGE ? "give cache_dirty_max=, of 64 MiB to 64 GiB" :
				  "use larger devices or a smaller log";
}

/**
 * kvp_check_blank() - check that the first and the last MiB of @leg are zeros; @page: to read into
 */
int __must_check kvp_check_blank(struct kvp_leg *leg, struct page *page, struct kvp_refusal *r);

/**
 * kvp_check_unused() - the same; if @spare, the two places of the label of a spare may hold
 * anything
 */
int __must_check kvp_check_unused(struct kvp_leg *leg, struct page *page, bool spare,
				  struct kvp_refusal *r);

/** kvp_random_uuid() - a new UUID */
void kvp_random_uuid(u8 *uuid);

/** kvp_format() - a new superblock in pool->sb for blank legs; writes nothing yet */
int __must_check kvp_format(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
			    struct kvp_refusal *r);

#endif /* KVP_START_H */
