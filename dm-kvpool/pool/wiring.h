/* SPDX-License-Identifier: GPL-2.0-only */
/* Connect each floor of a pool with the clients above it. */
#ifndef KVP_WIRING_H
#define KVP_WIRING_H

struct kvp_pool;
struct kvp_table_client;

/** kvp_wire() - register the clients of each floor of a new pool: the floors above */
void kvp_wire(struct kvp_pool *pool);

/** kvp_wire_log() - fill in the client of the log of @pool */
void kvp_wire_log(struct kvp_pool *pool, struct kvp_log_given *given);

/** kvp_wire_table() - fill in the calls of the table of @pool */
void kvp_wire_table(struct kvp_pool *pool, struct kvp_table_client *client);

#endif /* KVP_WIRING_H */
