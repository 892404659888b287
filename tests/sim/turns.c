// SPDX-License-Identifier: GPL-2.0-only
/* A log that several vdevs carry by turns: whose turn it is. */
#include "format/logplace.h"
#include "suite.h"

/* Entries of one length, as the builder places them: each vdev has its share. */
static bool shared(const struct kvp_log_track *track, u32 length)
{
	u32 entries = 1000 * track->nr, count[KVP_MAX_VDEVS] = { 0 }, i;
	u64 lsn = 8192, end = 8704;
	bool good = true;

	for (i = 0; i < entries; i++) {
		u32 v = kvp_log_turn(track, lsn), blocks = length;

		count[v]++;
		if (end - lsn < blocks)
			blocks = (u32)(end - lsn);
		lsn += blocks;
		if (end - lsn < min(length, 32u)) {
			lsn = end;
			end += 512;
		}
	}
	for (i = 0; i < track->nr; i++)
		good &= expect(count[track->vdev[i]] >= 900 && count[track->vdev[i]] <= 1100,
			       "of %u vdevs number %u has %u of %u entries of %u blocks", track->nr,
			       track->vdev[i], count[track->vdev[i]], entries, length);
	return good;
}

bool turns_share_test(void)
{
	static const u32 lengths[] = { 1, 2, 3, 5, 9, 15, 16, 17, 33, 65, 239, 254 };
	struct kvp_log_track track = { .nr = 0 };
	bool good = true;
	u32 i, n;

	for (n = 1; good && n < KVP_MAX_VDEVS; n++) {
		track.vdev[track.nr++] = (u8)n;
		for (i = 0; good && i < ARRAY_SIZE(lengths); i++)
			good = shared(&track, lengths[i]);
	}
	/* For ever: it is a format. */
	track = (struct kvp_log_track){ .nr = 3, .vdev = { 0, 2, 5 } };
	return good && expect(kvp_log_turn(&track, 0) == 0 && kvp_log_turn(&track, 2) == 2 &&
			      kvp_log_turn(&track, 16) == 5 && kvp_log_turn(&track, 512) == 5 &&
			      kvp_log_turn(&track, 1000001) == 5, "other turns");
}
