/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_MM_TYPES_H
#define SIM_LINUX_MM_TYPES_H

#include <linux/mm.h>

#endif
