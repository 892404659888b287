/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_UUID_H
#define SIM_LINUX_UUID_H

#include <linux/random.h>
#include <linux/string.h>

typedef struct {
	u8 b[16];
} uuid_t;

#define UUID_SIZE	16
#define UUID_STRING_LEN	36

int uuid_parse(const char *text, uuid_t *uuid);
#define export_uuid(dst, src)	memcpy(dst, (src)->b, UUID_SIZE)

static inline void generate_random_uuid(u8 *uuid)
{
	get_random_bytes(uuid, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

#endif
