/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection of the SSD cache with the pool.
 *
 * scache.h, admission.h, reinsert.h and rebuild.h know no pool. client.c has what needs both them
 * and other parts:
 *
 *  - the calls of the lower floors (core/cache_client.h);
 *  - the answers to what the cache asks of log, table and superblock (struct kvp_scache_client);
 *  - the functions below.
 */
#ifndef KVP_CACHE_CLIENT_TABLE_H
#define KVP_CACHE_CLIENT_TABLE_H

#include "core/cache_client.h"

struct kvp_on_ssd;
struct kvp_tpage;

/** kvp_cache_client_calls - the SSD cache as a client of the floors below it */
extern const struct kvp_cache_client kvp_cache_client_calls;

/**
 * kvp_cache_connect() - begin to note which blocks lie on the cache, if there is one
 *
 * Return: 0, or -ENOMEM: the pool runs without the index. Context: process, may sleep; takes
 * build_lock.
 */
int __must_check kvp_cache_connect(struct kvp_pool *pool);

/** kvp_cache_renumber() - the vdevs of the pool have other numbers. Context: it is quiesced. */
void kvp_cache_renumber(struct kvp_pool *pool);

/**
 * kvp_cache_current() - true if the blocks at @at are the newest at home, by the entries in the
 * table
 * @leaf: has the entries of all @count blocks
 *
 * Call it before reading them. It forgets blocks that are not the newest. Context: process.
 */
bool kvp_cache_current(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
		       u32 count, const struct kvp_on_ssd *at);

/** kvp_cache_mistrust() - forget blocks that did not verify. Context: process. */
void kvp_cache_mistrust(struct kvp_pool *pool, kvp_block_t block, u32 count);

/**
 * kvp_cache_write_rest() - write the last things of the cache: summaries, and in the superblock how
 * far the ring has come
 *
 * Call it when the cache is stopped, nothing is in flight, and nothing changes. Context: process,
 * waits for I/O.
 */
void kvp_cache_write_rest(struct kvp_pool *pool);

#endif /* KVP_CACHE_CLIENT_TABLE_H */
