/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_MODULE_H
#define SIM_LINUX_MODULE_H

#include <linux/kernel.h>

#define MODULE_LICENSE(x)
#define EXPORT_SYMBOL_GPL(x)
#define THIS_MODULE	NULL

#endif
