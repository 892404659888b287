/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_BITS_H
#define SIM_LINUX_BITS_H

#include <linux/bitops.h>

#endif
