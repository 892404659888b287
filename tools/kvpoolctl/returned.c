// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "foreign.h"
#include "format/logplace.h"
#include "format/outs.h"
#include "returned.h"

/* The SSD of the pool that has this UUID, or NULL. */
static const struct kvp_leg_info *find_ssd(const struct kvp_sb *pool, const char *ssd)
{
	int cache = kvp_cache_find(pool);
	char uuid[UUID_BUF];
	u32 i = cache < 0 ? pool->leg_count : pool->vdevs[cache].first_leg;

	for (; i < pool->leg_count; i++)
		if (!strcasecmp(uuid_print(pool->legs[i].uuid, uuid), ssd))
			return &pool->legs[i];
	return NULL;
}

int returned_no_label(const char *path, struct err *err)
{
	return err_set(err, ERR_MEMBER, path, "name the device that is the SSD; or kvpoolctl "
		       "replace POOL UUID DEV", "it has no label of the pool");
}

/* Whose the label is, and whether all that it may say is known. */
static int check_label(const char *path, const struct label *l, const struct kvp_sb *pool,
		       const struct kvp_leg_info *ssd, struct err *err)
{
	static const char clear[] = "if nothing on it is needed: kvpoolctl labelclear -f DEV, then "
				    "kvpoolctl replace POOL UUID DEV";

	if (!ssd || memcmp(l->sb->pool_uuid, pool->pool_uuid, 16) ||
	    memcmp(l->sb->leg_uuid, ssd->uuid, 16))
		return err_set(err, ERR_MEMBER, path, "name the device that is the SSD",
			       "it has not the label of the SSD that is to return");
	if (!l->all_read)
		return err_set(err, ERR_REFUSED, path, clear,
			       "its label cannot be read as a whole, and may have something newer");
	if (l->sb->epoch >= pool->epoch || kvp_sb_forked(l->sb, pool, true))
		return err_set(err, ERR_FORK, path, clear,
			       "it went on in another history of the pool, which may need it");
	return 0;
}

int returned_check(const char *path, const struct label *l, const char *uuid,
		   const struct kvp_sb *pool, struct err *err)
{
	static const char lost[] = "to give that up: kvpoolctl labelclear -f DEV, then kvpoolctl "
				   "replace POOL UUID DEV";
	const struct kvp_leg_info *ssd = find_ssd(pool, uuid);

	if (check_label(path, l, pool, ssd, err))
		return -1;
	if (ssd->state == KVP_LEG_IN_SYNC || ssd->out <= KVP_OUT_CALLED)
		return err_set(err, ERR_REFUSED, path, "ask for it again in a moment",
			       "the pool has not recorded yet that it goes on without this SSD");
	if (l->sb->log_discards != pool->log_discards)
		return err_set(err, ERR_REFUSED, path, lost,
			       "the pool discarded its log without this SSD, which may have it");
	if (pool->poisoned_blocks)
		return err_set(err, ERR_REFUSED, path, lost,
			       "the pool has lost %" PRIu64 " block(s), which this SSD may have",
			       pool->poisoned_blocks);
	return 0;
}

/* It may have got another use while it was out, which may have left its label or not. */
static int check_not_reused(const char *path, struct err *err)
{
	char type[1][SIGNATURE_TYPE];

	foreign_find_sure(&path, 1, type);
	if (!strcmp(type[0], FOREIGN_UNKNOWN))
		return err_set(err, ERR_IO, path, "-", FOREIGN_UNSEEN);
	return *type[0] ? err_set(err, ERR_SIGNATURE, path, "-", "it carries a signature of %.60s",
				  type[0]) : 0;
}

/* A label that cannot be used may be anybody's. A blank device has nothing that is needed. */
static int check_held(const char *path, const struct label *l, const char *uuid,
		      const struct kvp_sb *pool, struct err *err)
{
	if (!l->valid && !l->bad && !l->unreadable)
		return 0;
	if (label_fault(l))
		return err_set(err, ERR_MEMBER, path, label_mend(l, "-"),
			       "its label cannot be used: %s", label_fault(l));
	return returned_check(path, l, uuid, pool, err);
}

int returned_check_held(const char *path, const char *uuid, const struct kvp_sb *pool,
			struct err *err)
{
	struct label l;
	int ret;

	if (label_read_path(path, true, &l, err))
		return -1;
	ret = check_held(path, &l, uuid, pool, err) ?: check_not_reused(path, err);
	label_free(&l);
	if (ret)
		snprintf(err->mend, sizeof(err->mend), "if nothing on it is needed: kvpoolctl "
			 "online -f POOL DEV; or kvpoolctl replace it by another one");
	return ret;
}

/* The links in this folder have the names of the devices that the pool holds. */
int returned_name(const struct dm_entry *e, const char *path, dev_t rdev, struct err *err)
{
	char link[PATH_MAX], held[PATH_MAX + 64], name[64];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(rdev), minor(rdev));
	n = readlink(link, held, PATH_MAX - 1);
	if (n <= 0)
		return 0;
	held[n] = 0;
	snprintf(name, sizeof(name), "%.63s", basename(held));
	snprintf(held, sizeof(held), "/sys/dev/block/%u:%u/slaves/%s", major(e->rdev),
		 minor(e->rdev), name);
	if (lstat(held, &st))
		return 0;
	return err_set(err, ERR_REFUSED, path, "kvpoolctl export POOL, kvpoolctl import POOL, then "
		       "kvpoolctl online POOL UUID", "the pool holds a device that has gone, and "
		       "had the same name (%s)", name);
}
