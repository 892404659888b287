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

/* Find the leg that has this label, if it has no device. */
static struct kvp_leg *leg_of(struct kvp_pool *pool, const struct kvp_label *label)
{
	const struct kvp_sb *own = label->sb;
	u32 i;

	if (!label->found || memcmp(own->pool_uuid, pool->sb->pool_uuid, 16))
		return NULL;
	for (i = 0; i < pool->nr_legs; i++)
		if (!pool->legs[i].bdev && kvp_vdev_needed(pool->legs[i].v) &&
		    !memcmp(own->leg_uuid, pool->sb->legs[i].uuid, 16))
			return &pool->legs[i];
	return NULL;
}

/*
 * Read the label of device @at of the table, as a leg behind the present ones. Returns the leg that
 * it is, or NULL.
 */
static struct kvp_leg *find_leg(struct kvp_pool *pool, const struct kvp_start *s, u32 at,
				struct kvp_labels *l)
{
	struct kvp_leg *leg = &pool->legs[pool->nr_legs];
	struct kvp_refusal r;
	int ret;

	memset(leg, 0, sizeof(*leg));
	leg->pool = pool;
	leg->index = pool->nr_legs;
	take_device(leg, s, at);
	ret = kvp_label_read(l, leg, 0, &r);
	memset(leg, 0, sizeof(*leg));
	return ret ? NULL : leg_of(pool, &l->legs[0]);
}

void kvp_pool_reconnect(struct kvp_pool *pool, const struct kvp_start *s)
{
	struct kvp_labels *l = NULL;
	u32 i;

	for (i = 0; i < s->nr_legs; i++) {
		struct kvp_leg *leg;

		if (!s->legs[i].bdev)
			continue;
		l = l ?: kvp_labels_alloc();
		leg = l && pool->nr_legs < KVP_MAX_LEGS ? find_leg(pool, s, i, l) : NULL;
		if (!leg) {
			kvp_event(pool, "device_ignored path=%s", s->legs[i].path);
			continue;
		}
		take_device(leg, s, i);
		kvp_return_wanted(leg, true);
	}
	kvp_labels_free(l);
}
