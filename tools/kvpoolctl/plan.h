/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plan of a create, an add, or a change of SSDs or of a leg. All reasons for a refusal are
 * checked while the plan is made. The run does what the plan says, and nothing else.
 */
#ifndef KVPOOLCTL_PLAN_H
#define KVPOOLCTL_PLAN_H

#include "device.h"
#include "label.h"
#include "scan.h"
#include "setting.h"
#include "stats.h"

struct plan_leg {
	struct device dev;
	char signature[64];	/* a signature that will be wiped; empty: none */
	char old_pool[KVP_NAME_LEN + 1];	/* the former pool of a label; empty: none */
	bool spare;		/* a spare of this pool: the module makes it blank */
	/* its superblock when it was checked: it had @labels, and these were the newest numbers */
	unsigned int labels;
	u64 epoch, sequence;
	u8 label_pool[16], label_uuid[16];	/* of a leg or a spare */
};

struct plan {
	const char *name;
	char uuid[UUID_BUF];
	struct kvp_sb sb;	/* vdevs and regions, as the module will lay them out */
	/* the legs, vdev by vdev; there is room for a device that takes the place of a leg */
	struct plan_leg legs[KVP_MAX_LEGS + 1];
	unsigned int leg_count;
	struct plan_leg spares[MAX_SPARES];	/* new spares */
	unsigned int spare_count;
	bool in_spares;		/* the words that follow are spares */
	bool takes_spare;	/* in a replace: the new device may be a spare of the pool */
	/* UUID of the SSD that the new device is, as that is back (returned.h); NULL: it is new */
	const char *takes_back;
	struct kvp_sb whole;	/* after plan_pool(): the pool's superblock, with its cache */
	u32 first_vdev, first_leg, roots;	/* in an add: how many the pool has already */
	u32 max_roots;		/* the most roots of each new vdev */
	struct setting settings[KVP_MAX_TUNABLES];
	unsigned int setting_count;
	struct setting comment;	/* in the module's form; empty key: none */
	char comment_text[KVP_COMMENT_LEN + 1];
	u64 log_bytes, chunk_bytes;	/* 0: the default */
	u64 use_bytes;		/* of each leg; 0: all */
	u64 dirty_bytes;	/* what may be dirty in a new cache; 0: the default */
	bool force;
	char params[8192];	/* the device-mapper table */
};

/** plan_option() - take in one KEY=VALUE of -o */
int plan_option(struct plan *p, const char *text, struct err *err);

/**
 * plan_pool() - begin with the data vdevs of a running pool
 * @cache: receives its cache, which stays out of the plan; without legs: the pool has none
 * @logs_there: receives whether the cache carries the log
 */
int plan_pool(struct plan *p, const struct stats *s, struct kvp_geometry *cache, bool *logs_there,
	      struct err *err);

/**
 * plan_check_logs() - refuse if a discard of some vdev's chunks has no room in a log of the pool
 *
 * The module refuses the same. In a pool with a cache the log may move to any vdev. In a pool
 * without one it goes to the vdev that survives most losses.
 * @cache: the cache that is not in the plan; no legs: there is none
 */
int plan_check_logs(const struct plan *p, const struct kvp_geometry *cache, struct err *err);

/** plan_vdevs() - take in the words after the pool's name */
int plan_vdevs(struct plan *p, int count, char **words, struct err *err);

/** plan_make() - check everything, lay out, write the table line; opens the devices */
int plan_make(struct plan *p, struct err *err);

/** plan_devices() - open and check the new devices, and lay them out; a part of plan_make() */
int plan_devices(struct plan *p, struct err *err);

/**
 * plan_replace() - open and check @dev, a new device for leg @leg with data of a running pool
 *
 * After plan_pool(). It is the plan's only leg.
 */
int plan_replace(struct plan *p, unsigned int leg, const char *dev, struct err *err);

/**
 * plan_spares() - a part of plan_devices(): open and check the new spares, for its vdevs
 * @cache: the cache that is not in the plan; no legs: there is none
 */
int plan_spares(struct plan *p, const struct kvp_geometry *cache, struct err *err);

/**
 * plan_leg_same() - is @now what was planned with before? -1 with @err
 *
 * For a plan that is made again: another device, or other contents, were not asked for.
 */
int plan_leg_same(const struct plan_leg *was, const struct plan_leg *now, struct err *err);

/** plan_note_label() - note the superblock in @l */
void plan_note_label(struct plan_leg *leg, const struct label *l);

/**
 * plan_note_former() - note the protective MBR of a device that has no label any more
 *
 * It stands for a signature. Call it once label and signature are noted.
 */
void plan_note_former(struct plan_leg *leg);

/** plan_write() - append to the table line */
void plan_write(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** plan_write_sizes(), plan_write_vdevs() - append the options for sizes, and the new vdevs */
void plan_write_sizes(struct plan *p);
void plan_write_vdevs(struct plan *p);

/**
 * plan_wipe() - make the new devices blank, as the module demands
 *
 * Each is held, and looked at once more before: it must be the device that was planned with, with
 * the contents that it had then. Several that are one disk are refused (marks.h).
 */
int plan_wipe(const struct plan *p, struct err *err);

/** plan_wipe_leg() - the same for one of them */
int plan_wipe_leg(const struct plan *p, const struct plan_leg *leg, struct err *err);

/** plan_print_vdevs() - the new vdevs, for people */
void plan_print_vdevs(const struct ctl *ctl, const struct plan *p);

/** plan_add_vdev() - a new vdev as JSON */
void plan_add_vdev(json_object *vdevs, const struct plan *p, const struct kvp_geometry *g);

/** plan_add_leg() - a new device as JSON */
void plan_add_leg(json_object *legs, const struct plan_leg *l);

/** plan_blocks() - size of the device */
u64 plan_blocks(const struct plan *p);

/** plan_cache_size() - refuse SSDs of a new cache that are too small; -f skips the check */
int plan_cache_size(const struct plan *p, struct err *err);

/** plan_sizes() - number of options that plan_write_sizes() writes */
unsigned int plan_sizes(const struct plan *p);

/**
 * plan_cache_bytes() - capacity of the cache's log; 0: no cache
 * plan_cache_dirty() - the part of it that may be dirty
 *
 * Both count headers, and the parity of a parity1, like the module's ssd.size and cache.dirty_max.
 */
u64 plan_cache_bytes(const struct plan *p);
u64 plan_cache_dirty(const struct plan *p);

/** plan_losses() - number of legs that may be lost, whichever they are */
int plan_losses(const struct plan *p);

/** plan_shares_disk() - are two legs, *@a and *@b, partitions of one disk? After plan_make(). */
bool plan_shares_disk(const struct plan *p, unsigned int *a, unsigned int *b);

/** plan_note_alignment() - name the new devices that begin inside a block of their disk */
void plan_note_alignment(const struct ctl *ctl, const struct plan *p);

/** plan_object() - the plan as JSON */
json_object *plan_object(const struct plan *p);
void plan_close(struct plan *p);

#endif
