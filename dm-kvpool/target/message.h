/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_MESSAGE_H
#define KVP_MESSAGE_H

#include <linux/device-mapper.h>

int kvp_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		unsigned int maxlen);

#endif /* KVP_MESSAGE_H */
