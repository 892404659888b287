/* SPDX-License-Identifier: GPL-2.0-only */
/* Direct writes: large writes that go home under a write intent. */
#ifndef KVP_DIRECT_H
#define KVP_DIRECT_H

struct kvp_pool;

/**
 * kvp_direct_init() - set up the log's direct workers, after kvp_log_init()
 *
 * Return: 0 or -ENOMEM. Context: process.
 */
int __must_check kvp_direct_init(struct kvp_pool *pool);

/** kvp_direct_exit() - free the workers, which have no more work; before kvp_log_exit() */
void kvp_direct_exit(struct kvp_pool *pool);

#endif /* KVP_DIRECT_H */
