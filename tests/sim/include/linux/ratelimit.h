/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_RATELIMIT_H
#define SIM_LINUX_RATELIMIT_H

#include <linux/printk.h>

#endif
