/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_KREF_H
#define SIM_LINUX_KREF_H

#include <linux/refcount.h>

#endif
