/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_VMALLOC_H
#define SIM_LINUX_VMALLOC_H

#include <linux/slab.h>

#endif
