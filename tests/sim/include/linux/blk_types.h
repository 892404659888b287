/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: the engine does not look into block devices. */
#ifndef SIM_LINUX_BLK_TYPES_H
#define SIM_LINUX_BLK_TYPES_H

#include <linux/kernel.h>

struct block_device;

#endif
