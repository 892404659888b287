// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/regions.h"

static u32 reserves(const struct kvp_vdev *v)
{
	return v->ops->reserves(v);
}

void kvp_vdevs_make(struct kvp_vdevs *vdevs, const struct kvp_sb *sb, struct kvp_pool *pool,
		    struct kvp_leg *legs, kvp_vdev_ops_of_t ops_of)
{
	u32 i, k, root = 0;

	vdevs->nr = sb->vdev_count;
	vdevs->pool = pool;
	vdevs->sb = sb;
	vdevs->nr_with_data = 0;
	vdevs->nr_by_rows = 0;
	vdevs->widest_row = 0;
	vdevs->most_reserved = 0;
	vdevs->order = NULL;
	vdevs->cache_client = NULL;
	vdevs->spill_window = 0;
	vdevs->max_legs = 0;
	vdevs->max_chunk = 0;
	for (i = 0; i < vdevs->nr; i++) {
		struct kvp_vdev *v = &vdevs->v[i];

		v->pool = pool;
		v->all = vdevs;
		v->index = i;
		v->g = &sb->vdevs[i];
		v->ops = ops_of(v->g);
		v->legs = &legs[v->g->first_leg];
		v->nr_legs = v->g->leg_count;
		v->seed = kvp_sum_seed(sb->nonce, i, sb->incompat);
		v->first_root = root;
		root += v->ops->join(vdevs, v);
		vdevs->nr_by_rows += v->ops->row_legs(v) > 0;
		vdevs->widest_row = max(vdevs->widest_row, v->ops->row_legs(v));
		vdevs->most_reserved = max(vdevs->most_reserved, reserves(v));
		vdevs->max_legs = max(vdevs->max_legs, v->nr_legs);
		vdevs->max_chunk = max(vdevs->max_chunk, v->g->chunk_blocks);
		for (k = 0; k < v->nr_legs; k++)
			v->legs[k].v = v;
	}
	vdevs->least_reserved = vdevs->most_reserved;
	for (i = 0; i < vdevs->nr_with_data; i++)
		vdevs->least_reserved = min(vdevs->least_reserved, reserves(vdevs->with_data[i]));
	for (i = 0; i < vdevs->nr; i++)
		vdevs->v[i].log = vdevs->v[i].ops->log(vdevs);
	kvp_log_take_place(vdevs);
}

void kvp_vdevs_init(struct kvp_pool *pool)
{
	kvp_vdevs_make(&pool->vdevs, pool->sb, pool, pool->legs, pool->ops_of);
}

struct kvp_spot kvp_vdevs_find(struct kvp_vdevs *vdevs, kvp_block_t block)
{
	struct kvp_map_place at = kvp_map_find(&vdevs->sb->map, block);

	return (struct kvp_spot){ &vdevs->v[at.vdev], at.block, at.left };
}

kvp_vblock_t kvp_vdev_from(const struct kvp_vdev *v, kvp_block_t block)
{
	return kvp_map_from(&v->all->sb->map, v->index, block);
}

kvp_block_t kvp_pool_block(const struct kvp_vdev *v, kvp_vblock_t block)
{
	return kvp_block_first(kvp_map_block(&v->all->sb->map, v->index, block),
			       kvp_vdevs_end(v->all));
}

kvp_vblock_t kvp_vdev_stretch(const struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t *end)
{
	return kvp_map_stretch(&v->all->sb->map, v->index, own, end);
}

u32 kvp_vdev_usable(const struct kvp_vdev *v)
{
	u32 i, n = 0;

	for (i = 0; i < v->nr_legs; i++)
		n += kvp_leg_in_sync(&v->legs[i]);
	return n;
}

bool kvp_vdev_begin_stripes(struct kvp_vdev *v)
{
	atomic_inc(&v->homing);
	/* Pairs with the one in kvp_vdev_half_home(). */
	smp_mb__after_atomic();
	if (kvp_vdev_usable(v) == v->nr_legs) {
		WRITE_ONCE(v->unflushed, true);
		return true;
	}
	kvp_vdev_end_stripes(v);
	return false;
}

void kvp_vdev_end_stripes(struct kvp_vdev *v)
{
	if (atomic_dec_and_test(&v->homing))
		wake_up_all(&v->pool->stripes_wait);
}

bool kvp_vdev_half_home(const struct kvp_vdev *v)
{
	/*
	 * A batch that began before the leg was out is counted by now. One that begins later finds
	 * that leg out.
	 */
	smp_mb();
	if (atomic_read(&v->homing))
		return true;
	smp_rmb();	/* a batch that has ended has set this before */
	return READ_ONCE(v->unflushed);
}

u32 kvp_vdev_needed(const struct kvp_vdev *v)
{
	return v->ops->needed(v);
}

bool kvp_vdev_has_log(const struct kvp_vdev *v)
{
	return kvp_vdev_usable(v) >= kvp_log_needs(v->g);
}

u32 kvp_vdev_spare(const struct kvp_vdev *v)
{
	u32 usable = kvp_vdev_usable(v), needed = kvp_vdev_needed(v);

	return usable > needed ? usable - needed : 0;
}

u32 kvp_legs_usable(const struct kvp_pool *pool)
{
	u32 i, n = 0;

	for (i = 0; i < pool->nr_legs; i++)
		n += kvp_leg_in_sync(&pool->legs[i]);
	return n;
}

/* Fill in how many legs each vdev can lose now. */
static void count_spare(const struct kvp_vdevs *vdevs, u32 *spare)
{
	u32 i;

	for (i = 0; i < vdevs->nr; i++)
		spare[i] = kvp_vdev_spare(&vdevs->v[i]);
}

struct kvp_vdev *kvp_log_refuge(struct kvp_vdevs *vdevs)
{
	u32 spare[KVP_MAX_VDEVS] = { 0 };

	count_spare(vdevs, spare);
	return &vdevs->v[kvp_log_leader(vdevs->sb, spare)];
}

u32 kvp_log_others(const struct kvp_vdevs *vdevs, const struct kvp_vdev *v)
{
	u32 spare[KVP_MAX_VDEVS] = { 0 };

	count_spare(vdevs, spare);
	return kvp_log_mates(vdevs->sb, v->index, spare);
}

void kvp_log_take_place(struct kvp_vdevs *vdevs)
{
	kvp_log_track(vdevs->sb, &vdevs->log_track);
	WRITE_ONCE(vdevs->log_vdev, &vdevs->v[vdevs->sb->log_vdev]);
}
