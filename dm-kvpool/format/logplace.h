/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which vdevs carry the log. Pure.
 *
 * In the mode writeback a cache does: acknowledged writes are on its SSDs until they are home. A
 * cache that has less redundancy than the vdevs with data lowers the redundancy of the pool. Then a
 * user must have asked for that mode. Otherwise the log is on the vdev that survives the most
 * losses, and on all others that survive as many. These take the entries by log turns.
 *
 * Such a log is no larger than the smallest of them has room for. An entry lies where it would lie
 * if its vdev had all of the log. The other vdevs have nothing at that place.
 */
#ifndef KVP_LOGPLACE_H
#define KVP_LOGPLACE_H

#include "format/format.h"

/** kvp_cache_find() - index of the cache vdev, or -1 */
int kvp_cache_find(const struct kvp_sb *sb);

/** kvp_sb_with_data() - the number of vdevs with data, which come before a cache */
u32 kvp_sb_with_data(const struct kvp_sb *sb);

/* A vdev that a table line names. */
struct kvp_vdev_asked {
	u32 kind, nr_legs;
};

/** kvp_caches_asked() - the number of caches among those @nr vdevs */
u32 kvp_caches_asked(const struct kvp_vdev_asked *v, u32 nr);

/**
 * kvp_cache_lowers() - true if the pool would survive less with the log on its cache, which exists
 */
bool kvp_cache_lowers(const struct kvp_sb *sb);

#define KVP_CACHE_FEATURES	(KVP_INCOMPAT_CACHE | KVP_INCOMPAT_CACHE_PARITY1 | \
				 KVP_INCOMPAT_LOG_WINDOW)

/** kvp_cache_features() - the feature bits that a pool with these vdevs has for its cache */
u64 kvp_cache_features(const struct kvp_sb *sb);

/** kvp_cache_say() - set these bits, so that a module without such caches leaves the pool alone */
void kvp_cache_say(struct kvp_sb *sb);

/** kvp_log_on_cache() - true if a cache carries the log */
static inline bool kvp_log_on_cache(const struct kvp_sb *sb)
{
	return !kvp_has_data(&sb->vdevs[sb->log_vdev]);
}

/**
 * kvp_log_stays() - true if the log may keep its data over a restart, and write it home later
 *
 * True for the log of a cache. False for a pool with a parity1: some of its rows may be half
 * written at home. If a leg is lost then, a start would have to know which rows these are (R6).
 */
bool kvp_log_stays(const struct kvp_sb *sb);

/**
 * kvp_log_by_headers() - true if a recovery reads headers only, and readers verify the payload
 * later
 *
 * True for a log that stays, unless its entries are full stripes. With those, no SSD has a whole
 * header by itself.
 */
static inline bool kvp_log_by_headers(const struct kvp_sb *sb)
{
	return kvp_log_stays(sb) && !kvp_log_striped(&sb->vdevs[sb->log_vdev]);
}

/**
 * struct kvp_log_track - the vdevs that carry the log, by number
 * @nr: at least 1
 */
struct kvp_log_track {
	u32 nr;
	u8 vdev[KVP_MAX_VDEVS];
};

/** kvp_log_track() - fill in @track: the vdevs with the log that the superblock names */
void kvp_log_track(const struct kvp_sb *sb, struct kvp_log_track *track);

/**
 * kvp_log_turn() - the vdev that has all of the entry whose header is at @lsn
 *
 * kvp_log_place() says where on that vdev. All vdevs get small entries, large ones, and headers of
 * a long stream's intents alike. The smallest entries have one or two blocks, such a header has
 * 16, and two of the largest entries begin in each segment. Each of these moves the log turn on by
 * a prime number (1, 11, 353), or a number of them does. So no vdev is passed over. Entries of 96
 * blocks would move it on by 66 each. Then all of a segment would lie on the same one of two, three
 * or six vdevs.
 */
static inline u32 kvp_log_turn(const struct kvp_log_track *track, kvp_lsn_t lsn)
{
	u64 turn = kvp_lsn_nr(lsn) / 2 + kvp_lsn_nr(lsn) / 16 * 3 + kvp_lsn_nr(lsn) / 512;

	return track->vdev[track->nr > 1 ? turn % track->nr : 0];
}

/**
 * kvp_log_mates() - the vdevs that may carry a log together with @vdev, a bit each
 * @spare: for each vdev, the number of legs that it can lose
 *
 * No entry may be on a vdev that can lose fewer legs. The log is as large as @vdev has room for.
 */
u32 kvp_log_mates(const struct kvp_sb *sb, u32 vdev, const u32 *spare);

/** kvp_log_leader() - of the vdevs with data that can lose most by @spare, the first for a track */
u32 kvp_log_leader(const struct kvp_sb *sb, const u32 *spare);

/**
 * kvp_log_widens() - choose the vdevs that are to carry the log, now that there are more with data
 * @spare: as of kvp_log_mates()
 * @vdev, @others: result, for kvp_log_anew()
 *
 * Return: false: it stays where it is. A log on a cache does.
 */
bool kvp_log_widens(const struct kvp_sb *sb, const u32 *spare, u32 *vdev, u32 *others);

/** kvp_log_carry() - note in the superblock that the log is on @vdev and @others, by log turns */
void kvp_log_carry(struct kvp_sb *sb, u32 vdev, u32 others);

/** kvp_log_place_fault() - what is wrong with the vdevs that are to carry the log, or NULL */
const char *kvp_log_place_fault(const struct kvp_sb *sb);

/** kvp_log_counted_mib() - MiB of the log that count by the superblock, rounded up */
static inline u64 kvp_log_counted_mib(const struct kvp_sb *sb)
{
	return (kvp_lsn_since(sb->log_commit, sb->log_tail) + 255) >> (20 - KVP_BLOCK_SHIFT);
}

/**
 * kvp_log_choose() - choose the vdevs of a new pool's log
 *
 * Follows cache_mode of the tunables. If it is not set, and the cache must not carry the log, it
 * is writethrough afterwards.
 */
void kvp_log_choose(struct kvp_sb *sb);

/** kvp_logs_hold_discard() - kvp_log_holds_discard() of each vdev that may have to carry the log */
bool kvp_logs_hold_discard(const struct kvp_sb *sb, u32 chunk_blocks);

/**
 * kvp_log_anew() - note an empty log of @nonce on @vdev and @others, behind all earlier positions
 */
void kvp_log_anew(struct kvp_sb *sb, u32 vdev, u32 others, u64 nonce);

#endif /* KVP_LOGPLACE_H */
