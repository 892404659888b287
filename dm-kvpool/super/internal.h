/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of super/ that write superblocks and keep the states of legs.
 *
 *   joins.c ──► members.c ──► commit.c ──► sb_write.c
 *      │                          ▲             ▲
 *      ├──────────────────────────┘             │
 *      └──► label.c ────────────────────────────┘
 *
 * A superblock records a loss, and a leg that returns. A leg that took it in neither ring is given
 * up through the leg client (kvp_members_hear), so sb_write.c calls none of the others.
 */
#ifndef KVP_SUPER_INTERNAL_H
#define KVP_SUPER_INTERNAL_H

#include "core/core.h"

/* --- members.c: the loss of legs --- */

/** __kvp_leave_shadow() - stop writing to the shadow; caller holds members_lock */
void __kvp_leave_shadow(struct kvp_pool *pool, u32 state);

/** kvp_leg_lost() - tell that @leg was given up, and have that recorded. Context: any. */
void kvp_leg_lost(struct kvp_leg *leg, const char *why);

#endif /* KVP_SUPER_INTERNAL_H */
