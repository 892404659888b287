/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_LOG2_H
#define SIM_LINUX_LOG2_H

#include <linux/bitops.h>

#endif
