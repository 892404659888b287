/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_STATUS_H
#define KVP_STATUS_H

#include <linux/device-mapper.h>

#include "format/format.h"

struct kvp_point;
struct kvp_pool;

/**
 * kvp_status() - print what `dmsetup status` or `dmsetup table` is to show: docs/dm-interface.md
 * @type: which one; device-mapper measures the table, too (STATUSTYPE_IMA)
 * @result: receives the line
 * @maxlen: bytes of @result; what has no room is left out
 *
 * Context: process; waits neither for I/O nor for a lock that is held over I/O.
 */
void kvp_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
		unsigned int maxlen);

/**
 * kvp_print_stats() - the answer to the message `stats`; -ENOMEM; -EINTR: the caller was killed
 *
 * It waits for sb_lock while a new table changes the legs, and only then.
 *
 * kvp_print_latency() - to `latency`
 *
 * kvp_print_poisoned() - to `poisoned`: ranges of poisoned blocks at or behind @from. -EINTR: the
 * pool is about to be suspended; -EIO: the table cannot be read
 *
 * kvp_print_skipped() - to `skipped`: ranges at or behind @from that a resilver skips; or -EINTR
 *
 * kvp_print_point() - to `point`
 *
 * kvp_print_changed() - to `changed`: ranges that changed in era @since or later, at or behind
 * @from, and where to go on; or an error of kvp_changed_next()
 *
 * kvp_print_events() - to `events`: those with seq @from or a later one
 *
 * kvp_print_orders() - to `orders`: those with seq @from or a later one
 *
 * Each writes lines into @result, of @maxlen bytes; what has no room is left out. One call looks at
 * a limited part of the pool, so that a message ends. Blocks are of 4 KiB.
 *
 * Return: 1, as device-mapper wants it, or an error that is named here. Context: process;
 * kvp_print_poisoned() and kvp_print_changed() wait for I/O.
 */
int kvp_print_stats(struct kvp_pool *pool, char *result, unsigned int maxlen);
int kvp_print_latency(struct kvp_pool *pool, char *result, unsigned int maxlen);
int kvp_print_poisoned(struct kvp_pool *pool, kvp_block_t from, char *result, unsigned int maxlen);
int kvp_print_skipped(struct kvp_pool *pool, kvp_block_t from, char *result, unsigned int maxlen);
int kvp_print_point(const struct kvp_point *point, char *result, unsigned int maxlen);
int kvp_print_changed(struct kvp_pool *pool, u32 since, kvp_block_t from, char *result,
		      unsigned int maxlen);
int kvp_print_events(struct kvp_pool *pool, u64 from, char *result, unsigned int maxlen);
int kvp_print_orders(struct kvp_pool *pool, u64 from, char *result, unsigned int maxlen);

#endif /* KVP_STATUS_H */
