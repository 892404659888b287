/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_BUILD_BUG_H
#define SIM_LINUX_BUILD_BUG_H

#include <linux/kernel.h>

#endif
