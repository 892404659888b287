// SPDX-License-Identifier: GPL-2.0-only
#include "format/heartbeat.h"
#include "format/tunables.h"

/*
 * Five heartbeats may fail before the limit. It has ten seconds more, since a heartbeat is two
 * requests, and each of them ends after five seconds at the latest.
 */
#define FAILS	5
#define REQUESTS 10

u32 kvp_beat_limit(u64 interval)
{
	return (u32)interval * FAILS + REQUESTS;
}

static u32 sum_of(const struct kvp_disk_heartbeat *d)
{
	const __le32 zero = 0;
	size_t at = offsetof(struct kvp_disk_heartbeat, csum), after = at + sizeof(zero);
	u32 crc = kvp_crc32c(~0u, d, at);

	crc = kvp_crc32c(crc, &zero, sizeof(zero));
	return kvp_crc32c(crc, (const u8 *)d + after, sizeof(*d) - after);
}

void kvp_beat_encode(const struct kvp_beat *b, void *block)
{
	struct kvp_disk_heartbeat *d = block;

	memset(block, 0, KVP_BLOCK_SIZE);
	memcpy(d->magic, KVP_BEAT_MAGIC, KVP_SB_MAGIC_LEN);
	d->version = cpu_to_le32(KVP_FORMAT_VERSION);
	memcpy(d->pool_uuid, b->pool_uuid, sizeof(d->pool_uuid));
	d->claim = cpu_to_le64(b->claim);
	d->nonce = cpu_to_le64(b->nonce);
	d->counter = cpu_to_le64(b->counter);
	d->host = cpu_to_le64(b->host);
	d->time = cpu_to_le64(b->time);
	d->interval = cpu_to_le32(b->interval);
	d->limit = cpu_to_le32(b->limit);
	memcpy(d->host_name, b->host_name, strnlen(b->host_name, KVP_NAME_LEN));
	d->csum = cpu_to_le32(sum_of(d));
}

static void take_fields(const struct kvp_disk_heartbeat *d, struct kvp_beat *b)
{
	memset(b, 0, sizeof(*b));
	memcpy(b->pool_uuid, d->pool_uuid, sizeof(b->pool_uuid));
	b->claim = le64_to_cpu(d->claim);
	b->nonce = le64_to_cpu(d->nonce);
	b->counter = le64_to_cpu(d->counter);
	b->host = le64_to_cpu(d->host);
	b->time = le64_to_cpu(d->time);
	b->interval = le32_to_cpu(d->interval);
	b->limit = le32_to_cpu(d->limit);
	memcpy(b->host_name, d->host_name, KVP_NAME_LEN);
}

/* The claim must leave room for those that follow: it goes up by one each time. */
static bool is_sound(const struct kvp_beat *b, u32 slot)
{
	return b->claim && !(b->claim >> 62) && kvp_beat_slot(b->claim) == slot &&
	       b->interval >= KVP_HEARTBEAT_LEAST && b->interval <= KVP_HEARTBEAT_MOST &&
	       b->limit >= b->interval && b->limit <= KVP_HEARTBEAT_LIMIT_MOST &&
	       kvp_text_valid(b->host_name);
}

int kvp_beat_decode(const void *block, u32 slot, const u8 *pool_uuid, struct kvp_beat *b)
{
	const struct kvp_disk_heartbeat *d = block;

	if (memcmp(d->magic, KVP_BEAT_MAGIC, KVP_SB_MAGIC_LEN))
		return -ENODATA;
	if (le32_to_cpu(d->csum) != sum_of(d))
		return -EUCLEAN;
	if (memcmp(d->pool_uuid, pool_uuid, sizeof(d->pool_uuid)))
		return -ENODATA;
	if (le32_to_cpu(d->version) != KVP_FORMAT_VERSION)
		return -EOPNOTSUPP;
	take_fields(d, b);
	return is_sound(b, slot) ? 0 : -EUCLEAN;
}

bool kvp_beat_above(const struct kvp_beat *b, const struct kvp_beat *own)
{
	return b->claim > own->claim || (b->claim == own->claim && b->nonce != own->nonce);
}

u64 kvp_sb_heartbeat(const struct kvp_sb *sb)
{
	u64 value = sb->tunables[KVP_T_HEARTBEAT];

	if (!(sb->tunable_mask >> KVP_T_HEARTBEAT & 1) ||
	    !kvp_tunable_allows(KVP_T_HEARTBEAT, value))
		return 0;
	return value;
}

void kvp_sb_note_heartbeat(struct kvp_sb *sb)
{
	if (kvp_sb_heartbeat(sb))
		sb->incompat |= KVP_INCOMPAT_HEARTBEAT;
	else
		sb->incompat &= ~KVP_INCOMPAT_HEARTBEAT;
}
