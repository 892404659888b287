/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_TIMEKEEPING_H
#define SIM_LINUX_TIMEKEEPING_H

#include <linux/ktime.h>

#endif
