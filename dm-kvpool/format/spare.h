/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The label of a spare: a blank device that waits for a leg of its pool to be lost. Pure.
 *
 * It has the form of a superblock, in the first slot of both rings. The spare has no vdev, no
 * geometry and no epoch, and nothing of the pool lies on it. No superblock of a pool may have its
 * feature bit. So kvp_sb_decode() refuses it, as an older module does, and no start ever takes it
 * for a leg.
 *
 * The pool's superblocks have the UUIDs of its spares, so that one that has gone is missed. Nothing
 * else follows from that list: what makes a device a spare is its label. A module that does not
 * know the list writes zeros in its place. Then none is missed, and no harm is done.
 */
#ifndef KVP_SPARE_H
#define KVP_SPARE_H

#include "format/format.h"

struct kvp_spare {
	u8 pool_uuid[16];
	u8 uuid[16];			/* of the spare itself */
	u64 size_blocks;		/* of the device */
	u64 create_time;		/* seconds since 1970 */
	char name[KVP_NAME_LEN + 1];	/* of the pool when the spare was added; for people */
};

/** kvp_spare_offset() - byte offset of the label at end @end (0 front, 1 back) of a spare */
u64 kvp_spare_offset(u64 blocks, unsigned int end);

/** kvp_spare_encode() - write the label that lies at byte @offset, sealed with its sum */
void kvp_spare_encode(const struct kvp_spare *s, u64 offset, struct kvp_disk_sb *d);

/**
 * kvp_spare_decode() - read the label at byte @offset of a device of @blocks blocks
 *
 * Return: 0; -ENODATA: no label of a spare; -EOPNOTSUPP: of a newer version; -EUCLEAN: damaged, at
 * another place, or of a device that had another size. @why is set if not 0.
 */
int __must_check kvp_spare_decode(const struct kvp_disk_sb *d, u64 offset, u64 blocks,
				  struct kvp_spare *s, struct kvp_why *why);

/** kvp_spares_encode() - write sb->spares into the vdevs of @d, two parts each: kvp_sb_encode() */
void kvp_spares_encode(const struct kvp_sb *sb, struct kvp_disk_sb *d);

/** kvp_spares_decode() - take @sb->spares from @d. Any contents are valid. */
void kvp_spares_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb);

/** kvp_spares_find() - place of @uuid (zeros: a free one) in the list; KVP_MAX_SPARES: none */
u32 kvp_spares_find(const struct kvp_sb *sb, const u8 uuid[16]);

#endif
