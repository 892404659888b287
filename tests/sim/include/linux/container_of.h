/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_CONTAINER_OF_H
#define SIM_LINUX_CONTAINER_OF_H

#include <linux/kernel.h>

#endif
