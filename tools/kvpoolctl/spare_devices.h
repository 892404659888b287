/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spares of a pool: their labels, and the search for them. The pool lists them, and does not
 * hold them. (How many losses a pool survives is in spares.h.)
 */
#ifndef KVPOOLCTL_SPARE_DEVICES_H
#define KVPOOLCTL_SPARE_DEVICES_H

#include "plan.h"

/**
 * spares_write() - make the plan's spares those of its pool, and tell udev
 *
 * Each is wiped, and then labelled at both ends. Return: 0, or -1 with @err.
 */
int spares_write(struct plan *p, struct err *err);

/** spares_clear() - clear the label of @d, a spare, and tell udev */
int spares_clear(const struct device *d, const struct label *l, struct err *err);

/** spares_forget() - clear the labels of all spares of a pool that are here; tells of failures */
void spares_forget(struct ctl *ctl, const char *pool_uuid);

/**
 * spares_choose() - the smallest spare of a running pool that fits leg @leg
 * @path: receives its device, PATH_MAX bytes
 *
 * It is free, large enough, and of the right kind (spare_kind.h).
 */
int spares_choose(const struct dm_entry *e, const struct stats *s, unsigned int leg, char *path,
		  struct err *err);

/**
 * spares_find() - a spare of a running pool, by its UUID
 * @path: receives its device, PATH_MAX bytes; empty: the pool lists it, and it is missing
 */
int spares_find(const struct dm_entry *e, const u8 uuid[16], char *path, struct err *err);

/** spares_unlist() - take a spare off the list of a running pool, if it is there */
int spares_unlist(const char *pool, const u8 uuid[16], struct err *err);

/**
 * spares_note() - fill in what stands beside the running pools in @pools, made by pool_object()
 * @where: where to search, as of scan_glance()
 *
 * That is "spares" of each pool, and "found" of each leg that it lacks (found.h). Spares that the
 * pool lists and that were not found are missing, if the search was everywhere. A search that fails
 * leaves them empty.
 */
void spares_note(json_object *pools, const char *const *where, unsigned int count);

/** spares_add_found() - the spares that a search has found, as JSON */
void spares_add_found(json_object *o, const struct found_pool *p);

/** spares_add_missing() - those that the superblock lists, and that were not found, as JSON */
void spares_add_missing(json_object *o, const struct found_pool *p);

/** spares_advise() - the advice of a pool that has none yet, if a spare is missing */
void spares_advise(json_object *pool);

#endif
