/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_STATUS_H
#define KVP_STATUS_H

#include <linux/device-mapper.h>

#include "format/format.h"

struct kvp_point;
struct kvp_pool;

void kvp_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
		unsigned int maxlen);

/* Answers of messages: text into @result; 1, as device-mapper wants it. */
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
