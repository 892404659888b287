// SPDX-License-Identifier: GPL-2.0-only
#include "format/logplace.h"
#include "import.h"
#include "opened.h"

/* --- opening --------------------------------------------------------------------------- */

/* Each device must open, be unused, and have a label: a scan leaves out other devices silently. */
static int check_devices(char **paths, int count, struct err *err)
{
	struct device d;
	int i, ret;

	for (i = 0; i < count; i++) {
		struct label l;

		if (device_open(paths[i], true, &d, err))
			return -1;
		ret = device_unused(&d, err) || label_read(&d, &l, err);
		device_close(&d);
		if (ret)
			return -1;
		if (!l.valid && !l.bad)
			return err_set(err, ERR_NO_LABEL, paths[i], "check the path", "%s",
				       label_fault(&l));
		label_free(&l);
	}
	return 0;
}

int opened_scan(char **paths, int count, struct scan *s, struct err *err)
{
	device_ask((const char *const *)paths, (unsigned int)count);
	return check_devices(paths, count, err) ||
	       scan_offline((const char *const *)paths, (unsigned int)count, s, err) ? -1 : 0;
}

/* The devices must be different legs of one pool. */
static int check_scan(const struct scan *s, struct err *err)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (label_fault(&s->legs[i]->label))
			return err_set(err, ERR_NO_LABEL, s->legs[i]->dev.path,
				       label_mend(&s->legs[i]->label,
						  "leave it out, or see kvpoolctl inspect"), "%s",
				       label_fault(&s->legs[i]->label));
	if (!s->pool_count)
		return err_set(err, ERR_NO_LABEL, "devices", "name legs of a pool",
			       "none of the devices has a kvpool label");
	if (s->pool_count > 1)
		return err_set(err, ERR_AMBIGUOUS, "devices", "name legs of one pool",
			       "the devices belong to several pools: %s and %s",
			       s->pools[0].sb->name, s->pools[1].sb->name);
	if (s->pools[0].duplicate)
		return err_set(err, ERR_DUPLICATE_LEG, s->pools[0].duplicate->dev.path,
			       "leave out the copy", "it carries the same leg UUID as another");
	if (s->pools[0].sb->flags & KVP_SB_JOINING)
		return err_set(err, ERR_MISSING_LEGS, s->pools[0].sb->name,
			       "name the pool's own legs",
			       "the legs given are only legs that an unfinished add or replace was "
			       "to add");
	if (s->pools[0].odd)
		return err_set(err, ERR_NO_LABEL, s->pools[0].odd->dev.path, "leave it out",
			       "it is not a leg of pool %s%s", s->pools[0].sb->name,
			       s->pools[0].odd->label.sb->flags & KVP_SB_JOINING ?
			       ", but an unfinished add or replace was to add it" : " any more");
	return 0;
}

int opened_begin(const struct scan *s, struct opened *o, struct err *err)
{
	u32 v;

	memset(o, 0, sizeof(*o));
	if (check_scan(s, err))
		return -1;
	o->found = &s->pools[0];
	o->pools = calloc(o->found->sb->vdev_count, sizeof(*o->pools));
	if (!o->pools)
		return err_set(err, ERR_FAILED, o->found->sb->name, "free some memory",
			       "out of memory");
	for (v = 0; v < o->found->sb->vdev_count; v++)
		if (offline_open(&o->pools[v], o->found, v, err)) {
			opened_end(o);
			return -1;
		}
	offline_link_log(o->pools);
	return 0;
}

void opened_end(struct opened *o)
{
	u32 v;

	for (v = 0; o->pools && v < o->found->sb->vdev_count; v++)
		offline_close(&o->pools[v]);
	free(o->pools);
	o->pools = NULL;
}

/* --- what is there ----------------------------------------------------------------------- */

const struct offline_pool *opened_log(const struct opened *o)
{
	return &o->pools[o->found->sb->log_vdev];
}

bool opened_has(const struct opened *o, u32 index)
{
	unsigned int i;
	u32 v;

	for (v = 0; v < o->found->sb->vdev_count; v++)
		for (i = 0; i < o->pools[v].leg_count; i++)
			if (o->pools[v].index[i] == index)
				return true;
	return false;
}

unsigned int opened_count(const struct opened *o)
{
	unsigned int n = 0;
	u32 v;

	for (v = 0; v < o->found->sb->vdev_count; v++)
		n += o->pools[v].leg_count;
	return n;
}

/* The first vdev with too few legs for the pool to run; -1: none. */
static int incomplete(const struct opened *o)
{
	u32 v;

	for (v = 0; v < o->found->sb->vdev_count; v++)
		if (o->pools[v].leg_count < offline_needed(o->pools[v].g))
			return (int)v;
	return -1;
}

bool opened_readable(const struct opened *o)
{
	return incomplete(o) < 0 && !import_log_lost(o->found);
}

/* Names the missing SSDs, for a cache whose log is needed. */
static int log_lost(const struct opened *o, struct err *err)
{
	const struct kvp_sb *sb = o->found->sb;
	const struct kvp_geometry *g = &sb->vdevs[sb->log_vdev];
	char uuid[UUID_BUF], mend[sizeof(err->mend)] = "name";
	unsigned int named = 0;
	size_t len = 4;
	u32 i;

	for (i = g->first_leg; i < g->first_leg + g->leg_count && named < 3; i++) {
		if (sb->legs[i].state != KVP_LEG_IN_SYNC || scan_leg_in_sync(o->found, i))
			continue;
		len += (size_t)snprintf(mend + len, sizeof(mend) - len, "%s the SSD with UUID %s",
					named++ ? ", or" : "", uuid_print(sb->legs[i].uuid, uuid));
	}
	snprintf(mend + len, sizeof(mend) - len, "%s", named ? " too" : " another");
	return err_set(err, ERR_MISSING_LEGS, sb->name, mend,
		       "its log is on the cache and may have the only copy of data: %u of %u SSDs "
		       "that are in sync were given, and it needs %u",
		       opened_log(o)->leg_count, g->leg_count, kvp_log_needs(g));
}

int opened_fault(const struct opened *o, struct err *err)
{
	const char *pool = o->found->sb->name;
	int vdev = incomplete(o);

	if (!opened_count(o))
		return err_set(err, ERR_MISSING_LEGS, pool, "find one",
			       "no leg that is in sync was given");
	if (vdev >= 0)
		return err_set(err, ERR_MISSING_LEGS, pool, "find another",
			       "vdev %d, a %s: %u of %u legs that are in sync were given, and it "
			       "needs %u", vdev, vdev_word(o->pools[vdev].g->kind),
			       o->pools[vdev].leg_count, o->pools[vdev].g->leg_count,
			       offline_needed(o->pools[vdev].g));
	if (import_log_lost(o->found))
		return log_lost(o, err);
	if (o->found->fork)
		return err_set(err, ERR_FORK, pool,
			       "name those of one side, or see kvpoolctl import --accept-fork",
			       "the legs disagree about their history");
	return 0;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Has the label of leg @index been written since the scan? */
static int same_label(const struct opened *o, const struct device *d, u32 index, struct err *err)
{
	const struct kvp_sb *then = o->found->legs[index]->label.sb;
	struct label now;
	bool same;

	if (label_read(d, &now, err))
		return -1;
	/* without it the leg may just have become unreadable */
	same = now.sb ? now.sb->sequence == then->sequence && now.sb->epoch == then->epoch :
		now.unreadable;
	label_free(&now);
	return same ? 0 : err_set(err, ERR_ACTIVE, d->path, "export the pool, then again",
				  "its kvpool label was written while it was read: what was read "
				  "is of no one state of the pool");
}

int opened_verify(const struct opened *o, struct verify *v, struct err *err)
{
	unsigned int i;
	u32 n;

	if (verify_pool(o->pools, v, err))
		return -1;
	for (n = 0; n < o->found->sb->vdev_count; n++)
		for (i = 0; i < o->pools[n].leg_count; i++)
			if (same_label(o, o->pools[n].legs[i], o->pools[n].index[i], err))
				return -1;
	return 0;
}
