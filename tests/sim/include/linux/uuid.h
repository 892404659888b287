/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_UUID_H
#define SIM_LINUX_UUID_H

#include <linux/random.h>

typedef struct {
	u8 b[16];
} uuid_t;

#define UUID_SIZE	16

static inline void generate_random_uuid(u8 *uuid)
{
	get_random_bytes(uuid, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

#endif
