/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host asks the pool for, and background work that rests meanwhile. policy/yield.h says
 * for how long.
 */
#ifndef KVP_HOST_H
#define KVP_HOST_H

#include <linux/types.h>

#include "policy/yield.h"

struct kvp_pool;

#define KVP_HOST_QUIET_MS	50u	/* without a request for so long the host is quiet */

/**
 * kvp_host_asked() - blocks that the host has asked the legs for so far; without what came from RAM
 * or an SSD cache. Any context.
 */
u64 kvp_host_asked(const struct kvp_pool *pool);

/** kvp_host_busy() - true if the host has asked for something within @ms. @y has one owner. */
bool kvp_host_busy(const struct kvp_pool *pool, struct kvp_yield *y, u32 ms);

/**
 * kvp_host_rest() - leave the legs to the host until it is quiet, for @ns at most
 * @stop: ends the rest when it returns true; it is asked at least every 50 ms
 *
 * Return: did it rest? Context: process; the caller holds no lock that a request may need.
 */
bool kvp_host_rest(const struct kvp_pool *pool, struct kvp_yield *y, u64 ns,
		   bool (*stop)(void *arg),
		   void *arg);

#endif /* KVP_HOST_H */
