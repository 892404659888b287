// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lost leg is back on another device, which a new table of the pool names.
 *
 * The label tells which leg a device is. So the order in the table does not matter, and a device
 * that is not a lost leg is not touched. The pool is suspended, and a wrong device is no reason to
 * fail: all I/O would wait for yet another table. An event names the device.
 */
#include "core/core.h"
#include "core/refusal.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "super/events.h"

/* Give @leg the device that the table names as leg @at. */
static void take_device(struct kvp_leg *leg, const struct kvp_start *s, u32 at)
{
	leg->bdev = s->legs[at].bdev;
	leg->size_blocks = s->legs[at].size_blocks;
	leg->rotational = s->legs[at].rotational;
	memcpy(leg->path, s->legs[at].path, sizeof(leg->path));
	WRITE_ONCE(leg->queue, NULL);
	WRITE_ONCE(leg->flush_lost, false);
	WRITE_ONCE(leg->late, false);
	WRITE_ONCE(leg->left_at, 0);
}

static bool is_lost(const struct kvp_leg *leg)
{
	return !leg->bdev && kvp_vdev_needed(leg->v);
}

/* Find the lost leg that has this label. */
static struct kvp_leg *leg_of(struct kvp_pool *pool, const struct kvp_label *label)
{
	const struct kvp_sb *own = label->sb;
	u32 i;

	if (!label->found || memcmp(own->pool_uuid, pool->sb->pool_uuid, 16))
		return NULL;
	for (i = 0; i < pool->nr_legs; i++)
		if (is_lost(&pool->legs[i]) &&
		    !memcmp(own->leg_uuid, pool->sb->legs[i].uuid, 16))
			return &pool->legs[i];
	return NULL;
}

static struct kvp_leg *first_lost(struct kvp_pool *pool)
{
	u32 i = 0;

	while (i < pool->nr_legs && !is_lost(&pool->legs[i]))
		i++;
	return i < pool->nr_legs ? &pool->legs[i] : NULL;
}

/* Let a lost leg be as it was, whose device was only looked at. */
static void put_back(struct kvp_leg *leg, const struct kvp_leg *was)
{
	WRITE_ONCE(leg->bdev, NULL);
	WRITE_ONCE(leg->queue, NULL);
	leg->size_blocks = was->size_blocks;
	leg->rotational = was->rotational;
	memcpy(leg->path, was->path, sizeof(leg->path));
	WRITE_ONCE(leg->flush_lost, was->flush_lost);
	WRITE_ONCE(leg->late, was->late);
	WRITE_ONCE(leg->left_at, was->left_at);
}

/*
 * Read the label of device @at of the table in the place of some lost leg, @was: a pool may have no
 * place more. A lost leg is out in memory, so nothing is written to the device, and it is given up
 * if it hangs. Returns the leg that it is, or NULL.
 */
static struct kvp_leg *find_leg(struct kvp_pool *pool, const struct kvp_start *s, u32 at,
				struct kvp_labels *l, struct kvp_leg *was)
{
	struct kvp_leg *place = first_lost(pool);
	struct kvp_refusal r;
	int ret;

	if (!place)
		return NULL;
	*was = *place;
	take_device(place, s, at);
	ret = kvp_label_read(l, place, 0, &r);
	put_back(place, was);
	return ret ? NULL : leg_of(pool, &l->legs[0]);
}

void kvp_pool_reconnect(struct kvp_pool *pool, const struct kvp_start *s)
{
	struct kvp_leg *was = kzalloc(sizeof(*was), GFP_KERNEL);
	struct kvp_labels *l = NULL;
	u32 i;

	for (i = 0; i < s->nr_legs; i++) {
		struct kvp_leg *leg;

		if (!s->legs[i].bdev)
			continue;
		l = l ?: kvp_labels_alloc();
		leg = l && was ? find_leg(pool, s, i, l, was) : NULL;
		if (!leg) {
			kvp_event(pool, "device_ignored path=%s", s->legs[i].path);
			continue;
		}
		take_device(leg, s, i);
		kvp_return_wanted(leg, true);
	}
	kvp_labels_free(l);
	kfree(was);
}
