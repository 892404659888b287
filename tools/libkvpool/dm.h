/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libdevmapper and the module: running pools.
 *
 * Nothing here prints. Messages of libdevmapper are dropped; the last refusal of the module is
 * fetched instead.
 */
#ifndef KVPOOLCTL_DM_H
#define KVPOOLCTL_DM_H

#include <sys/types.h>

#include "err.h"
#include "text.h"

#define DM_POOL_PREFIX	"KVPOOL-"

/* One running pool. */
struct dm_entry {
	char name[KVP_NAME_LEN * 2 + 1];
	char uuid[UUID_BUF];	/* of the pool */
	dev_t rdev;
	unsigned int open_count;
	bool suspended, readonly, live;	/* live: has a table */
};

/** dm_list() - all running pools, by name; *@list is to be freed */
int dm_list(struct dm_entry **list, unsigned int *count, struct err *err);

/** dm_find() - the running pool called @name, or with the UUID @name */
int dm_find(const char *name, struct dm_entry *e, struct err *err);

/** dm_name_used() - is there a mapped device @name, of any kind? */
bool dm_name_used(const char *name);

/** dm_is_pool() - is @rdev a pool's device? */
bool dm_is_pool(dev_t rdev);

/*
 * Called when device @name was changed, and udev has not said for two minutes that its links are
 * made. The change is no failure then. NULL: nobody wants to know.
 */
extern void (*dm_udev_late)(const char *name);

/**
 * dm_start() - make the mapped device @name, load @params, resume
 *
 * Undone on failure, also if udev does not make its node in time.
 */
int dm_start(const char *name, const char *uuid, u64 sectors, const char *params, bool readonly,
	     struct err *err);

/**
 * dm_table() - the table of a mapped device; *@params, without the target's name, is to be freed
 * @sectors: 0 if the table cannot be read, or has no target
 */
int dm_table(const char *name, u64 *sectors, char **params, struct err *err);

/**
 * dm_reload() - give a running pool another table
 * @old: its present table, which is started again if the new one cannot be resumed
 *
 * Return: 0; or -1: the pool has the old table. Legs whose devices have gone meanwhile are missing.
 * If the new table was refused before anything changed, err->code says so.
 */
int dm_reload(const char *name, u64 sectors, const char *params, u64 old_sectors, const char *old,
	      struct err *err);

enum dm_above_kind {
	DM_ABOVE_NONE,		/* no device above has it */
	DM_ABOVE_LINEAR,	/* a device has it at @offset, and may be above others again */
	DM_ABOVE_OTHER,		/* a driver has it, @what, which may put it anywhere */
};

/* What is stacked on some bytes of a device. */
struct dm_above {
	enum dm_above_kind kind;
	char what[256];		/* the device above, and its target */
	dev_t rdev;
	u64 offset;		/* on the device above, in bytes */
	u64 bytes;		/* as far as this holds */
};

/** dm_above() - what is stacked on the @bytes at @offset of @rdev, or on the first of them */
void dm_above(dev_t rdev, u64 offset, u64 bytes, struct dm_above *a);

/** dm_rename() - give a mapped device another name; its users keep it */
int dm_rename(const char *name, const char *to, struct err *err);

/** dm_stop() - remove the mapped device */
int dm_stop(const char *name, struct err *err);

/** dm_resume() - let the I/O of a suspended device go on */
int dm_resume(const char *name, struct err *err);

/** dm_message() - send a message; its answer, "" if none, is to be freed, @answer may be NULL */
int dm_message(const char *name, const char *message, char **answer, struct err *err);

/** module_load() - load the module unless the target is there */
int module_load(struct err *err);

/**
 * module_starts_degraded() - does the module's parameter let pools start without all their legs?
 */
bool module_starts_degraded(void);

/** module_version() - of the target, false: not loaded */
bool module_version(char *buf, size_t size);

#endif
