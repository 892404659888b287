/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_PAGEMAP_H
#define SIM_LINUX_PAGEMAP_H

#include <linux/mm.h>

#endif
