/* SPDX-License-Identifier: GPL-2.0-only */
/* Which part of a pool hears what from which other. */
#ifndef KVP_WIRING_H
#define KVP_WIRING_H

struct kvp_pool;

/** kvp_wire() - register with each floor of a new pool those above that it has to tell something */
void kvp_wire(struct kvp_pool *pool);

#endif /* KVP_WIRING_H */
