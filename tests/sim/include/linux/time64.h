/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_TIME64_H
#define SIM_LINUX_TIME64_H

#include <linux/ktime.h>

#endif
