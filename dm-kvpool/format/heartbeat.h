/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The heartbeat: a block in the label area of each leg that says which activation has the pool.
 * Pure.
 *
 * An activation is one life of the pool on one host, from its start to its stop. It has a claim, a
 * number above all claims that it found, and a random nonce. It writes the slot of its claim and no
 * other. So two activations that follow one another never overwrite each other's block. And a late
 * write of the older one does not hide the newer one. docs/design/heartbeat.md has the protocol.
 */
#ifndef KVP_HEARTBEAT_FORMAT_H
#define KVP_HEARTBEAT_FORMAT_H

#include "format/format.h"

/* Seconds. The largest limit bounds how long an import has to watch. */
#define KVP_HEARTBEAT_LEAST	1
#define KVP_HEARTBEAT_MOST	60
#define KVP_HEARTBEAT_LIMIT_MOST 600

/**
 * struct kvp_beat - what a heartbeat block says
 * @claim: number of the activation, from 1 on
 * @nonce: random, of the activation
 * @counter: how many blocks the activation wrote before
 * @host, @host_name: as in the superblock
 * @interval: seconds between two heartbeats
 * @limit: seconds: the activation writes nothing more when its last heartbeat is older
 * @time: seconds since 1970; for people
 */
struct kvp_beat {
	u8 pool_uuid[16];
	u64 claim, nonce, counter, host, time;
	u32 interval, limit;
	char host_name[KVP_NAME_LEN + 1];
};

/** kvp_beat_limit() - the limit that goes with an interval; both in seconds */
u32 kvp_beat_limit(u64 interval);

/** kvp_beat_slot() - the slot in which the block of @claim lies, below KVP_BEAT_SLOTS */
static inline u32 kvp_beat_slot(u64 claim)
{
	return (u32)(claim % KVP_BEAT_SLOTS);
}

/** kvp_beat_encode() - write the block, sealed with its sum. @block: KVP_BLOCK_SIZE bytes */
void kvp_beat_encode(const struct kvp_beat *b, void *block);

/**
 * kvp_beat_decode() - read the block in @slot of a leg of the pool @pool_uuid
 * @block: KVP_BLOCK_SIZE bytes
 *
 * Return: 0; -ENODATA: there is none, or it is of another pool; -EUCLEAN: damaged, or in another
 * place than it says; -EOPNOTSUPP: of a newer version.
 */
int __must_check kvp_beat_decode(const void *block, u32 slot, const u8 *pool_uuid,
				 struct kvp_beat *b);

/** kvp_beat_above() - true if @b says that an activation other than @own took the pool after it */
bool kvp_beat_above(const struct kvp_beat *b, const struct kvp_beat *own);

/** kvp_sb_heartbeat() - seconds between two heartbeats, as the superblock orders; 0: none */
u64 kvp_sb_heartbeat(const struct kvp_sb *sb);

/** kvp_sb_note_heartbeat() - set the feature bit that this order needs. Pure. */
void kvp_sb_note_heartbeat(struct kvp_sb *sb);

#endif /* KVP_HEARTBEAT_FORMAT_H */
