// SPDX-License-Identifier: GPL-2.0-only
#include "format/spare.h"

u64 kvp_spare_offset(u64 blocks, unsigned int end)
{
	return kvp_sb_slot_offset(blocks, end, 0);
}

void kvp_spare_encode(const struct kvp_spare *s, u64 offset, struct kvp_disk_sb *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN);
	d->version = cpu_to_le32(KVP_FORMAT_VERSION);
	d->incompat = cpu_to_le64(KVP_SPARE_INCOMPAT);
	memcpy(d->pool_uuid, s->pool_uuid, sizeof(d->pool_uuid));
	memcpy(d->leg_uuid, s->uuid, sizeof(d->leg_uuid));
	d->self_offset = cpu_to_le64(offset);
	d->create_time = cpu_to_le64(s->create_time);
	memcpy(d->name, s->name, strnlen(s->name, KVP_NAME_LEN));
	d->legs[0].size_blocks = cpu_to_le64(s->size_blocks);
	d->csum = cpu_to_le32(kvp_crc32c(~0u, d, sizeof(*d)));
}

/* The bytes that a label of a spare has; all others are zeros. */
#define FIELD(f)	{ offsetof(struct kvp_disk_sb, f), sizeof(((struct kvp_disk_sb *)0)->f) }
static const struct {
	u32 at, size;
} fields[] = {
	FIELD(magic), FIELD(csum), FIELD(version), FIELD(incompat), FIELD(pool_uuid),
	FIELD(leg_uuid), FIELD(self_offset), FIELD(create_time), FIELD(name),
	FIELD(legs[0].size_blocks),
};

/* In the order of @fields, which is that of the struct. */
static bool rest_is_zero(const struct kvp_disk_sb *d)
{
	const u8 *bytes = (const u8 *)d;
	u32 at = 0, i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (; at < fields[i].at; at++)
			if (bytes[at])
				return false;
		at += fields[i].size;
	}
	for (; at < sizeof(*d); at++)
		if (bytes[at])
			return false;
	return true;
}

static u32 sum_of(const struct kvp_disk_sb *d)
{
	const __le32 zero = 0;
	size_t at = offsetof(struct kvp_disk_sb, csum), after = at + sizeof(zero);
	u32 crc = kvp_crc32c(~0u, d, at);

	crc = kvp_crc32c(crc, &zero, sizeof(zero));
	return kvp_crc32c(crc, (const u8 *)d + after, sizeof(*d) - after);
}

static void take_fields(const struct kvp_disk_sb *d, struct kvp_spare *s)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->pool_uuid, d->pool_uuid, sizeof(s->pool_uuid));
	memcpy(s->uuid, d->leg_uuid, sizeof(s->uuid));
	s->size_blocks = le64_to_cpu(d->legs[0].size_blocks);
	s->create_time = le64_to_cpu(d->create_time);
	memcpy(s->name, d->name, KVP_NAME_LEN);
}

void kvp_spares_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d)
{
	u32 i;

	for (i = 0; i < KVP_MAX_SPARES; i++) {
		memcpy(d->vdevs[2 * i].spare, sb->spares[i], 8);
		memcpy(d->vdevs[2 * i + 1].spare, sb->spares[i] + 8, 8);
	}
}

void kvp_spares_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < KVP_MAX_SPARES; i++) {
		memcpy(sb->spares[i], d->vdevs[2 * i].spare, 8);
		memcpy(sb->spares[i] + 8, d->vdevs[2 * i + 1].spare, 8);
	}
}

u32 kvp_spares_find(const struct kvp_sb *sb, const u8 uuid[16])
{
	u32 i = 0;

	while (i < KVP_MAX_SPARES && memcmp(sb->spares[i], uuid, 16))
		i++;
	return i;
}

static int bad_spare(struct kvp_why *why, int err, const char *what)
{
	snprintf(why->text, sizeof(why->text), "label of a spare: %s", what);
	return err;
}

int kvp_spare_decode(const struct kvp_disk_sb *d, u64 offset, u64 blocks, struct kvp_spare *s,
		     struct kvp_why *why)
{
	if (memcmp(d->magic, KVP_SB_MAGIC, KVP_SB_MAGIC_LEN) ||
	    !(le64_to_cpu(d->incompat) & KVP_SPARE_INCOMPAT))
		return bad_spare(why, -ENODATA, "there is none");
	if (le32_to_cpu(d->csum) != sum_of(d))
		return bad_spare(why, -EUCLEAN, "bad sum");
	if (le32_to_cpu(d->version) != KVP_FORMAT_VERSION ||
	    le64_to_cpu(d->incompat) != KVP_SPARE_INCOMPAT)
		return bad_spare(why, -EOPNOTSUPP, "of a newer version");
	if (!rest_is_zero(d))
		return bad_spare(why, -EOPNOTSUPP, "it says more than this version knows");
	take_fields(d, s);
	if (le64_to_cpu(d->self_offset) != offset)
		return bad_spare(why, -EUCLEAN, "it lies at another place than it says");
	if (s->size_blocks != blocks)
		return bad_spare(why, -EUCLEAN, "the device has another size than when it was added");
	if (!kvp_text_valid(s->name))
		return bad_spare(why, -EUCLEAN, "control characters in the pool's name");
	return 0;
}
