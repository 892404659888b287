/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generations of the log. An activation appends under a nonce of its own. Its entries are a
 * generation as long as they may have to be replayed. Pure.
 *
 * A log on a cache keeps its data over a restart, and goes on. The entries of all generations are
 * one chain. The first entry of a generation names the last one of the generation before. The
 * superblock names that one as well. So where an older generation ends does not depend on what can
 * be read.
 */
#ifndef KVP_GENERATIONS_H
#define KVP_GENERATIONS_H

#include "format/format.h"

/**
 * kvp_generation_end() - from now on, entries under sb->log_nonce are an older generation
 * @next_lsn: where the next one begins, at the start of a segment
 * @last_lsn: place of the last entry that counts
 * @last_csum: its sum
 *
 * A generation without an entry is not remembered. The caller has made sure that there is room
 * (kvp_generations_full()), and gives the log a new nonce.
 */
void kvp_generation_end(struct kvp_sb *sb, kvp_lsn_t next_lsn, kvp_lsn_t last_lsn, u32 last_csum);

/**
 * kvp_generations_full() - true if there is no room for one more, whose last entry is at @last_lsn
 */
bool kvp_generations_full(const struct kvp_sb *sb, kvp_lsn_t last_lsn);

/** kvp_generations_trim() - forget older generations that sb->log_tail has passed */
void kvp_generations_trim(struct kvp_sb *sb);

/** kvp_generations_encode() - write those of @sb into @d, which is zeros there: kvp_sb_encode() */
void kvp_generations_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d);

/**
 * kvp_generations_decode() - read older generations from @d, and check nothing
 *
 * kvp_generations_fault() checks them. It returns what is wrong, or NULL.
 */
void kvp_generations_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb);
const char *kvp_generations_fault(const struct kvp_sb *sb);

#endif /* KVP_GENERATIONS_H */
