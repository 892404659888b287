// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device-mapper.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "io/flight.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "target/registry.h"

static LIST_HEAD(instances);
static LIST_HEAD(lingering);		/* pools of kvp_registry_linger() */
/* For instances, their refs, lingering and the refusals. No holder waits for I/O. */
static DEFINE_MUTEX(lock);
static bool barred;			/* no pool may start; by lock */
static char last_refusal[832];		/* of a table, a start, a message, hibernation */
static char last_table_refusal[832];	/* of a table or a start */

struct kvp_instance *kvp_registry_get(struct mapped_device *md)
{
	struct kvp_instance *inst, *found = NULL;

	mutex_lock(&lock);
	list_for_each_entry(inst, &instances, list)
		if (inst->md == md && inst->refs) {
			inst->refs++;
			found = inst;
		}
	mutex_unlock(&lock);
	return found;
}

int kvp_registry_check(struct mapped_device *md,
		       int (*check)(struct kvp_instance *inst, void *data), void *data)
{
	struct kvp_instance *inst;
	unsigned int noio;
	int ret = 0;

	mutex_lock(&lock);
	/*
	 * Reclaim must not write to a pool here. The pool may be suspended, and the task that
	 * resumes it may wait for this lock.
	 */
	noio = memalloc_noio_save();
	list_for_each_entry(inst, &instances, list)
		if (inst->md == md && inst->refs)
			ret = check(inst, data);
	memalloc_noio_restore(noio);
	mutex_unlock(&lock);
	return ret;
}

int kvp_registry_each(int (*fn)(struct kvp_instance *inst, void *data), void *data)
{
	struct kvp_instance *inst;
	unsigned int noio;
	int ret = 0;

	mutex_lock(&lock);
	noio = memalloc_noio_save();
	list_for_each_entry(inst, &instances, list) {
		ret = inst->refs ? fn(inst, data) : 0;
		if (ret)
			break;
	}
	memalloc_noio_restore(noio);
	mutex_unlock(&lock);
	return ret;
}

int kvp_registry_bar(char pool[KVP_NAME_LEN + 1])
{
	const struct kvp_instance *inst;

	mutex_lock(&lock);
	inst = list_first_entry_or_null(&instances, struct kvp_instance, list);
	if (inst)
		strscpy(pool, inst->pool->sb->name, KVP_NAME_LEN + 1);
	else
		barred = true;
	mutex_unlock(&lock);
	return inst ? -EBUSY : 0;
}

void kvp_registry_unbar(void)
{
	mutex_lock(&lock);
	barred = false;
	mutex_unlock(&lock);
}

void kvp_registry_started(struct kvp_instance *inst)
{
	mutex_lock(&lock);
	inst->refs = 1;
	mutex_unlock(&lock);
}

bool kvp_registry_put(struct kvp_instance *inst)
{
	bool last;

	mutex_lock(&lock);
	last = !--inst->refs;
	mutex_unlock(&lock);
	return last;
}

void kvp_registry_leave(struct kvp_instance *inst)
{
	mutex_lock(&lock);
	list_del_init(&inst->list);
	mutex_unlock(&lock);
}

void kvp_registry_linger(struct kvp_pool *pool)
{
	mutex_lock(&lock);
	list_add(&pool->leaving, &lingering);
	mutex_unlock(&lock);
}

void kvp_registry_gone(struct kvp_pool *pool)
{
	mutex_lock(&lock);
	list_del_init(&pool->leaving);
	mutex_unlock(&lock);
}

/*
 * True if a pool has a stray on the device: a request that the device has not answered, and that
 * the pool does not wait for.
 */
static bool has_strays(struct block_device *bdev)
{
	struct kvp_instance *inst;
	struct kvp_pool *pool;

	list_for_each_entry(pool, &lingering, leaving)
		if (kvp_strays_of(pool, bdev, kvp_bdevs_overlap))
			return true;
	list_for_each_entry(inst, &instances, list)
		if (kvp_strays_of(inst->pool, bdev, kvp_bdevs_overlap))
			return true;
	return false;
}

static int refuse_strays(struct kvp_refusal *refusal, const char *path)
{
	return kvp_refuse(refusal, -EBUSY, "wait until it answers, or go on without it",
			  "%s has not yet answered requests from the time when it was given up",
			  path);
}

int kvp_registry_answered(const struct kvp_start *s, struct kvp_refusal *refusal)
{
	int ret = 0;
	u32 i;

	mutex_lock(&lock);
	for (i = 0; !ret && i < s->nr_legs; i++)
		if (s->legs[i].bdev && has_strays(s->legs[i].bdev))
			ret = refuse_strays(refusal, s->legs[i].path);
	if (!ret && s->shadow.bdev && has_strays(s->shadow.bdev))
		ret = refuse_strays(refusal, s->shadow.path);
	mutex_unlock(&lock);
	return ret;
}

/* A pool that is being formatted has no UUID yet. */
static bool same_pool(const struct kvp_sb *a, const struct kvp_sb *b)
{
	return a->leg_count && b->leg_count && !memcmp(a->pool_uuid, b->pool_uuid, 16);
}

static bool share_a_leg(const struct kvp_sb *a, const struct kvp_sb *b)
{
	u32 i, j;

	for (i = 0; i < a->leg_count; i++)
		for (j = 0; j < b->leg_count; j++)
			if (!memcmp(a->legs[i].uuid, b->legs[j].uuid, 16))
				return true;
	return false;
}

static bool overlap(struct block_device *a, struct block_device *b)
{
	return a && b && kvp_bdevs_overlap(a, b);
}

/* True if the device overlaps a leg of the pool, its shadow, or a device that may become one. */
static bool has_device(const struct kvp_instance *inst, struct block_device *bdev)
{
	const struct kvp_start *joining = inst->joining;
	const struct kvp_pool *pool = inst->pool;
	u32 i;

	if (overlap(pool->shadow.bdev, bdev) || (joining && overlap(joining->shadow.bdev, bdev)))
		return true;
	for (i = 0; i < pool->nr_legs; i++)
		if (overlap(pool->legs[i].bdev, bdev))
			return true;
	/* The pool may have some of these legs by now. */
	for (i = 0; joining && i < joining->nr_legs; i++)
		if (overlap(joining->legs[i].bdev, bdev))
			return true;
	return false;
}

/*
 * True if they have a device in common. Two pools that are about to format the same blank legs have
 * no UUID in common.
 */
static bool share_a_device(const struct kvp_instance *inst, const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev && has_device(inst, pool->legs[i].bdev))
			return true;
	return pool->shadow.bdev && has_device(inst, pool->shadow.bdev);
}

/*
 * After kvp_registry_answered() another start may have claimed these devices, and left strays on
 * them. Their writes would come during this start.
 */
static int check_answered(const struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev && has_strays(pool->legs[i].bdev))
			return refuse_strays(refusal, pool->legs[i].path);
	if (pool->shadow.bdev && has_strays(pool->shadow.bdev))
		return refuse_strays(refusal, pool->shadow.path);
	return 0;
}

int kvp_registry_claim(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	struct kvp_instance *inst;
	int ret = 0;

	mutex_lock(&lock);
	if (barred)
		ret = kvp_refuse(refusal, -EBUSY, "start it when the machine is back",
				 "the machine is about to hibernate");
	list_for_each_entry(inst, &instances, list) {
		const struct kvp_sb *sb = inst->pool->sb;

		if (!same_pool(sb, pool->sb) && !share_a_leg(sb, pool->sb) &&
		    !share_a_device(inst, pool))
			continue;
		ret = kvp_refuse(refusal, -EBUSY, "remove that device first",
				 "the pool '%s' is in use by another device", sb->name);
		break;
	}
	if (!ret)
		ret = check_answered(pool, refusal);
	/*
	 * Enter it under the same lock: two devices that start at the same time must see each
	 * other.
	 */
	if (!ret) {
		struct kvp_instance *mine = pool->owner;

		list_add(&mine->list, &instances);
	}
	mutex_unlock(&lock);
	return ret;
}

/*
 * The path of a leg that @s names, the pool does not use, and that has strays; or NULL. The leg may
 * be about to begin anew.
 */
static const char *stray_among_new(const struct kvp_instance *mine, const struct kvp_start *s)
{
	u32 i, k;

	for (i = 0; i < s->nr_legs; i++) {
		struct block_device *bdev = s->legs[i].bdev;
		bool has = !bdev;

		for (k = 0; k < mine->pool->nr_legs; k++)
			has |= mine->pool->legs[k].bdev == bdev &&
			       kvp_leg_in_sync(&mine->pool->legs[k]);
		if (!has && has_strays(bdev))
			return s->legs[i].path;
	}
	return s->shadow.bdev && has_strays(s->shadow.bdev) ? s->shadow.path : NULL;
}

/* Another instance that has one of the devices that @s names, or NULL. */
static const struct kvp_instance *holder_of_new(const struct kvp_instance *mine,
						const struct kvp_start *s)
{
	const struct kvp_instance *inst;
	u32 i;

	list_for_each_entry(inst, &instances, list) {
		if (inst == mine)
			continue;
		if (s->shadow.bdev && has_device(inst, s->shadow.bdev))
			return inst;
		for (i = 0; i < s->nr_legs; i++)
			if (s->legs[i].bdev && has_device(inst, s->legs[i].bdev))
				return inst;
	}
	return NULL;
}

int kvp_registry_reserve(struct kvp_instance *inst, const struct kvp_start *s,
			 struct kvp_refusal *refusal)
{
	const struct kvp_instance *other;
	const char *stray;
	int ret = 0;

	mutex_lock(&lock);
	other = holder_of_new(inst, s);
	stray = stray_among_new(inst, s);
	if (stray)
		ret = refuse_strays(refusal, stray);
	else if (other)
		ret = kvp_refuse(refusal, -EBUSY, "use other devices, or remove that one first",
				 "a new leg is in use by the pool '%s'", other->pool->sb->name);
	else
		inst->joining = s;
	mutex_unlock(&lock);
	return ret;
}

void kvp_registry_reserved(struct kvp_instance *inst)
{
	mutex_lock(&lock);
	inst->joining = NULL;
	mutex_unlock(&lock);
}

/*
 * Put one of the three parts of a refusal at @at; returns where it ends. A table or a message that
 * it repeats may have any bytes: none of them may end the line or the part.
 */
static unsigned int put_part(unsigned int at, const char *before, const char *text)
{
	char *c;

	at += scnprintf(last_refusal + at, sizeof(last_refusal) - at, "%s", before);
	c = last_refusal + at;
	at += scnprintf(last_refusal + at, sizeof(last_refusal) - at, "%s", text);
	for (; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127 || !strncmp(c, " | ", 3))
			*c = '?';
	return at;
}

void kvp_registry_refused(const struct kvp_refusal *r, bool table)
{
	unsigned int at;

	pr_err("dm-kvpool: %s: %s; %s\n", r->what, r->why, r->mend);
	mutex_lock(&lock);
	at = put_part(0, "", r->what);
	at = put_part(at, " | ", r->why);
	put_part(at, " | ", r->mend);
	if (table)
		memcpy(last_table_refusal, last_refusal, sizeof(last_refusal));
	mutex_unlock(&lock);
}

static int get_refusal(char *buffer, const struct kernel_param *kp)
{
	int n;

	mutex_lock(&lock);
	n = sysfs_emit(buffer, "%s\n", (const char *)kp->arg);
	mutex_unlock(&lock);
	return n;
}

/* Writing anything clears the refusal, so that a tool knows that the next one is its own. */
static int clear_refusal(const char *val, const struct kernel_param *kp)
{
	mutex_lock(&lock);
	*(char *)kp->arg = 0;
	mutex_unlock(&lock);
	return 0;
}

static const struct kernel_param_ops refusal_ops = { .set = clear_refusal, .get = get_refusal };
module_param_cb(last_refusal, &refusal_ops, last_refusal, 0644);
MODULE_PARM_DESC(last_refusal, "what was refused last: what | why | mend; write to clear");
module_param_cb(last_table_refusal, &refusal_ops, last_table_refusal, 0644);
MODULE_PARM_DESC(last_table_refusal, "the same, of tables and starts alone");
