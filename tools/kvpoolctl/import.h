/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pools can be imported, and the reasons against it. */
#ifndef KVPOOLCTL_IMPORT_H
#define KVPOOLCTL_IMPORT_H

#include "ctl.h"
#include "foreign.h"
#include "host.h"
#include "scan.h"

struct import_options {
	bool readonly, degraded, takeover, destroyed, discard_log, accept_fork;
	const char *new_name;		/* NULL: keep it */
	struct host self;		/* the importing host */
};

#define PARAMS_MAX	4096	/* of a table line */
#define MAX_REFUSALS	12

struct refusals {
	struct err list[MAX_REFUSALS];
	unsigned int count;
};

/** import_check() - find all reasons against importing @p with these options */
void import_check(const struct found_pool *p, const struct import_options *o,
		  struct refusals *r);

/** import_check_devices() - after import_check(): find legs that are there and cannot be used */
void import_check_devices(const struct found_pool *p, const struct import_options *o,
			  struct refusals *r);

/**
 * struct import_without - a pool without legs that are read-only, or have got another use
 * @pool: the rest of it; those legs are in pool.unusable
 * @reused: the signature that another tool left on each leg while it was out; FOREIGN_UNKNOWN if
 *	that cannot be looked for; or ""
 */
struct import_without {
	struct found_pool pool;
	char reused[KVP_MAX_LEGS][SIGNATURE_TYPE];
};

/**
 * import_leave_out() - can @p be imported without legs that are read-only, or reused?
 * @without: receives @p without those that may be left out
 *
 * A read-only leg counts as missing if it is out anyway, if the pool is to start degraded, or if a
 * missing leg is no reason to ask: an SSD of a cache, or a leg of a parity1. A leg that is out is
 * probed for signatures, once: a resilver would write over what it holds now. Legs in sync have all
 * that the pool has, so they are never called reused. False: no leg may be left out, or the others
 * do not suffice; then import_check_devices() names the leg.
 */
bool import_leave_out(const struct found_pool *p, const struct import_options *o,
		      struct import_without *without);

/** import_log_lost() - is the log on a cache that is missing, and not empty? */
bool import_log_lost(const struct found_pool *p);

/** import_log_damaged() - is the log there, and damaged on every SSD? Reads all of it. */
bool import_log_damaged(const struct found_pool *p);

/** import_losses() - number of legs that may still be lost, whichever they are */
int import_losses(const struct found_pool *p);

/**
 * import_complete() - is no leg missing that may hold newer data, nor a device that replaces a leg?
 */
bool import_complete(const struct found_pool *p);

/**
 * import_may_lack() - may missing legs hold data that those found lack?
 *
 * Only if they could have run the pool alone: enough legs of every vdev are missing.
 */
bool import_may_lack(const struct found_pool *p);

/** import_has_shadow() - is a device there, and usable, that is to take the place of a leg? */
bool import_has_shadow(const struct found_pool *p);

/**
 * import_word() - what to call the pool @p in an order to import it
 *
 * Return: its name; or its UUID, in @uuid, if another pool of @s has that name.
 */
const char *import_word(const struct scan *s, const struct found_pool *p, char uuid[UUID_BUF]);

/** import_automatic() - may the pool start without its name being given? */
bool import_automatic(const struct kvp_sb *sb);

/** import_params() - the device-mapper table of @p; false if it does not fit */
bool import_params(const struct found_pool *p, const struct import_options *o, char *buf,
		   size_t size);

/** import_plan() - the pool that importing @p as @name would start, as JSON */
json_object *import_plan(const struct found_pool *p, const char *name, const char *params);

/** import_object() - a pool that was found, as JSON */
json_object *import_object(const struct found_pool *p, const struct refusals *r);

#endif
