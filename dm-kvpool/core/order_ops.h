/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of an order: in which order versions go home.
 *
 * Usually each block has an order of its own: the newest version counts, and it does not matter
 * what happens to other blocks meanwhile (kinds/copies.c). In a pool with a parity1, the parity of
 * a row counts all versions in the order of the log (kinds/parity1.c). The kind of vdev brings its
 * table along, as a cache brings its client.
 */
#ifndef KVP_ORDER_OPS_H
#define KVP_ORDER_OPS_H

#include "core/vdev.h"

struct kvp_log_ops;

/**
 * struct kvp_order_ops - in which order versions go home
 * @on_legs, @on_cache: how a log on legs, or on a cache, is used
 */
struct kvp_order_ops {
	const struct kvp_log_ops *on_legs, *on_cache;
};

#endif /* KVP_ORDER_OPS_H */
