/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A point in the history of a pool, as people name it: "57@1f2e3d4c", or "57".
 *
 * The number is the era of a checkpoint. It alone does not name a point for ever. A pool may go
 * back, and then counts the same eras again with other contents. So the tag behind the '@' tells
 * the pool, and how often it went back:
 *
 *   a start by force without legs that may hold newer data    it makes a fork id
 *   the log of a cache is discarded by order                  it is counted in log_discards
 *
 * A crash recovery does not go back: what it resolves is born in its own era. Pure.
 */
#ifndef KVP_POINT_H
#define KVP_POINT_H

#include "format/format.h"

/**
 * struct kvp_point - a point
 * @era: 0: before all that was ever written
 * @tag: kvp_history_tag(), if @tagged
 */
struct kvp_point {
	u32 era, tag;
	bool tagged;
};

#define KVP_POINT_LEN	24	/* with the NUL */

/** kvp_point_parse() - read a point. Return: 0; -EINVAL: it is none; -ERANGE: no era is so late. */
int __must_check kvp_point_parse(const char *text, struct kvp_point *p);

/** kvp_point_print() - write a point with its tag into KVP_POINT_LEN bytes */
void kvp_point_print(u32 era, u32 tag, char *text);

/** kvp_history_tag() - the tag of the history that leads to @sb */
u32 kvp_history_tag(const struct kvp_sb *sb);

/** kvp_history_straight() - true if the pool never went back: then an era alone names a point */
static inline bool kvp_history_straight(const struct kvp_sb *sb)
{
	return !sb->fork_count && !sb->log_discards;
}

#endif
