/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generations of the log: what each activation has appended, under a nonce of its
 * own, of what may still have to be replayed. Pure.
 *
 * The log goes on over a restart where it lies on a cache and keeps what it has.
 * The entries of all generations are one chain: the first one of a generation names
 * the last one of that before it, which the superblock names as well, so that an end
 * of an older generation is not a matter of what can be read.
 */
#ifndef KVP_GENERATIONS_H
#define KVP_GENERATIONS_H

#include "format/format.h"

/**
 * kvp_generation_end() - what was written under sb->log_nonce is an older generation from now on
 * @next_lsn: where the next one begins, a segment's start
 * @last_lsn: place of the last entry that counts
 * @last_csum: its sum
 *
 * If it holds no entry, nothing has to be remembered of it. The caller has seen to it that
 * there is room (kvp_generations_full()), and gives the log a new nonce.
 */
void kvp_generation_end(struct kvp_sb *sb, kvp_lsn_t next_lsn, kvp_lsn_t last_lsn, u32 last_csum);

/**
 * kvp_generations_full() - true if there is no room for one more, whose last entry is at @last_lsn
 */
bool kvp_generations_full(const struct kvp_sb *sb, kvp_lsn_t last_lsn);

/** kvp_generations_trim() - forget those that sb->log_tail has passed */
void kvp_generations_trim(struct kvp_sb *sb);

void kvp_generations_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d);

/** kvp_generations_decode() - as they are; kvp_generations_fault() says what is wrong, or NULL */
void kvp_generations_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb);
const char *kvp_generations_fault(const struct kvp_sb *sb);

#endif /* KVP_GENERATIONS_H */
