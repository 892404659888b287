// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting a pool: decide which superblock and which legs count, or refuse with a reason. Nothing
 * is written here.
 *
 * 1. kvp_labels_read() reads the labels (labels.c). The caller calls it before.
 * 2. kvp_identify() chooses the superblock that counts, and copies it to pool->sb (choose.c).
 * 3. kvp_check_family() and kvp_check_table() check that labels and table belong to it (choose.c).
 * 4. kvp_order_legs() decides the place and the state of each leg (places.c). A leg that lacks a
 *    superblock must have the pages that this one names, or it was put back (putback.c).
 * 5. kvp_check_sizes() refuses devices that are too small by now (places.c).
 * 6. With discard_log, kvp_forget_eras() forgets what legs that are out have (away.c).
 *    kvp_next_is_unread() notes if a superblock that was cut may be in an unreadable slot (away.c).
 * 7. kvp_set_shadow_state() decides whether the shadow is there (places.c).
 * 8. kvp_check_missing() decides whether the pool may go on without what is missing (away.c).
 */
#include "core/core.h"
#include "core/refusal.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/start_steps.h"

int kvp_choose(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_start *s,
	       bool auto_start, struct kvp_refusal *r)
{
	int ret;

	ret = kvp_identify(pool, l, r);
	if (!ret)
		ret = kvp_check_family(pool, l, pool->sb, s, r);
	if (!ret)
		ret = kvp_check_table(pool, pool->sb, s, r);
	if (!ret)
		ret = kvp_order_legs(pool, l, pool->sb, r) ?: kvp_check_sizes(pool, pool->sb, r);
	if (ret)
		return ret;
	if (pool->sb->tunable_mask & BIT_ULL(KVP_T_DEGRADED_START))
		auto_start |= pool->sb->tunables[KVP_T_DEGRADED_START];
	if (s->discard_log)
		kvp_forget_eras(pool);
	pool->recovery.next_unread = kvp_next_is_unread(pool, l, pool->sb);
	kvp_set_shadow_state(pool, &l->legs[KVP_SHADOW], s->readonly);
	return kvp_check_missing(pool, pool->sb, s, auto_start, r);
}
