// SPDX-License-Identifier: GPL-2.0-only
#include "format/point.h"

static int digit_of(char c, u32 base)
{
	u32 d;

	if (c >= '0' && c <= '9')
		d = (u32)(c - '0');
	else if (c >= 'a' && c <= 'f')
		d = (u32)(c - 'a') + 10;
	else
		return -1;
	return d < base ? (int)d : -1;
}

/* Read a number of up to @most digits from the begin of @text. Returns how many digits it has. */
static u32 number(const char *text, u32 base, u32 most, u64 *value)
{
	u32 n;

	for (n = 0, *value = 0; n < most && digit_of(text[n], base) >= 0; n++)
		*value = *value * base + (u32)digit_of(text[n], base);
	return n;
}

int kvp_point_parse(const char *text, struct kvp_point *p)
{
	u64 era, tag = 0;
	u32 n = number(text, 10, 10, &era);
	bool tagged = n && text[n] == '@';

	if (!n)
		return -EINVAL;
	if (tagged) {
		if (number(text + n + 1, 16, 8, &tag) != 8)
			return -EINVAL;
		n += 9;
	}
	if (text[n])
		return -EINVAL;
	if (era > KVP_ERA_MAX)
		return -ERANGE;
	*p = (struct kvp_point){ .era = (u32)era, .tag = (u32)tag, .tagged = tagged };
	return 0;
}

void kvp_point_print(u32 era, u32 tag, char *text)
{
	snprintf(text, KVP_POINT_LEN, "%u@%08x", era, tag);
}

u32 kvp_history_tag(const struct kvp_sb *sb)
{
	__le64 fork = cpu_to_le64(sb->fork_count ? sb->forks[sb->fork_count - 1] : 0);
	u8 discards = sb->log_discards;
	u32 crc = kvp_crc32c(~0u, sb->pool_uuid, sizeof(sb->pool_uuid));

	return kvp_crc32c(kvp_crc32c(crc, &fork, sizeof(fork)), &discards, sizeof(discards));
}
