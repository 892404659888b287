/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host asks the pool for. Background work rests while it does. policy/yield.h says for how
 * long.
 */
#ifndef KVP_HOST_H
#define KVP_HOST_H

#include <linux/types.h>

#include "policy/yield.h"

struct kvp_pool;

#define KVP_HOST_QUIET_MS	50u	/* the host is quiet after so long without a request */

/**
 * kvp_host_asked() - how many blocks the host has asked the legs for so far. Any context.
 *
 * Blocks that came from RAM or from an SSD cache do not count.
 */
u64 kvp_host_asked(const struct kvp_pool *pool);

/**
 * kvp_host_read_home() - how many blocks reads of users have asked the legs for so far: blocks that
 * are home, and that came from no cache. Any context.
 */
u64 kvp_host_read_home(const struct kvp_pool *pool);

/**
 * kvp_host_busy() - true if the host has asked for blocks within @ms. @y has one owner.
 *
 * Context: any.
 */
bool kvp_host_busy(const struct kvp_pool *pool, struct kvp_yield *y, u32 ms);

/**
 * kvp_host_rest() - leave the legs to the host until it is quiet, for @ns at most
 * @stop: ends the rest when it returns true; it is called at least every 50 ms
 *
 * Return: true if it rested. Context: process; the caller holds no lock that a request may need.
 */
bool kvp_host_rest(const struct kvp_pool *pool, struct kvp_yield *y, u64 ns,
		   bool (*stop)(void *arg),
		   void *arg);

#endif /* KVP_HOST_H */
