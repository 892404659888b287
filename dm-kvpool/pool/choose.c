// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps 2 and 3 of a start: choose the superblock that counts, and check that all labels and the
 * table belong to it.
 */
#include "core/core.h"
#include "core/refusal.h"
#include "format/sbring.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/start_steps.h"

static int check_found(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].bdev && !l->legs[i].found)
			return kvp_label_missing(&pool->legs[i], &l->legs[i], r);
	return 0;
}

/*
 * True if each slot of the label was read, and none can hold a newer superblock (R27). Otherwise
 * the leg may have gone on after the newest superblock that was read.
 */
static bool all_read(const struct kvp_label *label)
{
	return !kvp_sb_rings_unreadable(&label->rings) &&
	       kvp_sb_rings_may_hold(&label->rings, label->sb->sequence) == label->sb->sequence;
}

/* The superblock that counts: the newest one, but for those that never counted (outs.h). */
static const struct kvp_sb *choose_sb(struct kvp_pool *pool, struct kvp_labels *l)
{
	u32 i, n = 0;

	for (i = 0; i < pool->nr_legs; i++)
		if (l->legs[i].found)
			l->rivals[n++] = (struct kvp_rival){ l->legs[i].sb,
								     all_read(&l->legs[i]) };
	return kvp_rivals_choose(l->rivals, n);
}

/*
 * R16: judge whether the leg of @label has parted from @best. A leg that is passed by has not:
 * nothing was done with it alone, so its history is given up without an order. It becomes stale, as
 * a leg that forked does. Returns false if the leg has parted, and no order gives its history up.
 */
static bool judge_fork(struct kvp_pool *pool, struct kvp_label *label, const struct kvp_sb *best,
		       const struct kvp_start *s)
{
	const struct kvp_rival c = { label->sb, all_read(label) };

	label->forked = kvp_sb_forked(label->sb, best, false);
	label->passed = kvp_rival_passed(&c, best);
	if (!label->passed)
		return !label->forked || s->accept_fork;
	label->forked = true;
	pool->recovery.passed_epoch = max(pool->recovery.passed_epoch, label->sb->epoch);
	return true;
}

/* Check that all labels belong together. */
int kvp_check_family(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best,
		     const struct kvp_start *s, struct kvp_refusal *r)
{
	u32 i, j;

	pool->recovery.passed_epoch = 0;
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_sb *sb = l->legs[i].sb;
		const char *path = pool->legs[i].path;

		if (!l->legs[i].found)
			continue;
		if (memcmp(sb->pool_uuid, best->pool_uuid, 16))
			return kvp_refuse(r, -EINVAL, "name the devices of one pool only",
					  "%s belongs to another pool, '%s'", path, sb->name);
		for (j = 0; j < i; j++)
			if (l->legs[j].found && !memcmp(sb->leg_uuid, l->legs[j].sb->leg_uuid, 16))
				return kvp_refuse(r, -EEXIST,
					"if both are paths to one disk: set up multipath; else disconnect the copy, or clear its label",
					"%s and %s carry the same leg UUID: one is a copy of the other",
					pool->legs[j].path, path);
		if (!judge_fork(pool, &l->legs[i], best, s))
			return kvp_refuse(r, -ESTALE,
				"accept_fork (import --accept-fork) keeps the newer history; or start the half you want alone",
				"split brain: %s was written in a history that the newest leg does not know",
				path);
	}
	return 0;
}

bool kvp_vdevs_match(const struct kvp_sb *sb, const struct kvp_start *s)
{
	bool match = sb->vdev_count == s->nr_vdevs && sb->leg_count == s->nr_legs;
	u32 i;

	for (i = 0; match && i < s->nr_vdevs; i++)
		match = sb->vdevs[i].kind == s->vdevs[i].kind &&
			sb->vdevs[i].leg_count == s->vdevs[i].nr_legs;
	return match;
}

/* What this run would write must not be refused by the decoder at the next start. */
static int check_counts(const struct kvp_pool *pool, const struct kvp_sb *sb,
			struct kvp_refusal *r)
{
	const u64 last = KVP_SB_COUNT_END - KVP_SB_COUNT_ROOM;

	if (sb->epoch >= last || sb->sequence >= last || sb->checkpoint >= last)
		return kvp_refuse(r, -EOVERFLOW, "import --readonly, and copy the data to a new pool",
			"epoch %llu, sequence %llu and checkpoint %llu of the pool have no room to grow",
			(unsigned long long)sb->epoch, (unsigned long long)sb->sequence,
			(unsigned long long)sb->checkpoint);
	if (kvp_lsn_nr(sb->log_tail) >= KVP_LOG_TAIL_END - KVP_SB_COUNT_ROOM ||
	    kvp_lsn_nr(sb->cache_lsn) >= KVP_CACHE_LSN_END - KVP_SB_COUNT_ROOM)
		return kvp_refuse(r, -EOVERFLOW, "import --readonly, and copy the data to a new pool",
			"the log's tail at block %llu, or the cache at %llu, has no room to grow",
			(unsigned long long)kvp_lsn_nr(sb->log_tail),
			(unsigned long long)kvp_lsn_nr(sb->cache_lsn));
	/* The first superblock gets an epoch above this one: kvp_sb_roll_forward(). */
	if (pool->recovery.passed_epoch >= last)
		return kvp_refuse(r, -EOVERFLOW, "give '-' in place of the leg that is out",
			"a leg that is out has epoch %llu, and the pool would have no room to grow",
			(unsigned long long)pool->recovery.passed_epoch);
	return 0;
}

int kvp_check_table(struct kvp_pool *pool, const struct kvp_sb *sb,
		    const struct kvp_start *s, struct kvp_refusal *r)
{
	if (!s->any_uuid && memcmp(s->uuid, sb->pool_uuid, 16))
		return kvp_refuse(r, -EINVAL, "give the UUID that the legs carry, or '-'",
				  "the table names another pool UUID than the legs carry");
	if (sb->flags & KVP_SB_JOINING)
		return kvp_refuse(r, -ENXIO, "name the pool's own legs, or clear the label",
				  "an unfinished add or replace was to add the legs to the pool '%s', and no leg of that pool is here",
				  sb->name);
	if (!kvp_vdevs_match(sb, s))
		return kvp_refuse(r, -EINVAL, "name every vdev and leg, '-' for a missing one",
				  "the table names %u legs in %u vdevs, the pool has %u in %u, or of other kinds",
				  s->nr_legs, s->nr_vdevs, sb->leg_count, sb->vdev_count);
	if (s->pool_blocks && s->pool_blocks != sb->pool_blocks)
		return kvp_refuse(r, -EINVAL, "use the length that the refusal names",
				  "the table is %llu sectors long, the pool %llu",
				  (unsigned long long)s->pool_blocks * KVP_BLOCK_SECTORS,
				  (unsigned long long)sb->pool_blocks * KVP_BLOCK_SECTORS);
	if ((sb->flags & KVP_SB_DESTROYED) && !s->undestroy)
		return kvp_refuse(r, -ENOENT, "import --destroyed brings it back",
				  "the pool '%s' is marked destroyed", sb->name);
	if ((sb->ro_compat & ~KVP_RO_COMPAT_KNOWN) && !s->readonly)
		return kvp_refuse(r, -EOPNOTSUPP, "import --readonly, or use a newer module",
				  "the pool uses read-only compatible features %llx that this module does not know",
				  (unsigned long long)sb->ro_compat);
	return s->readonly ? 0 : check_counts(pool, sb, r);
}

int kvp_identify(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_refusal *r)
{
	const struct kvp_sb *best;
	int ret;

	ret = check_found(pool, l, r);
	if (ret)
		return ret;
	best = choose_sb(pool, l);
	if (!best)
		return kvp_refuse(r, -ENXIO, "connect at least one leg", "every leg is missing");
	*pool->sb = *best;
	return 0;
}
