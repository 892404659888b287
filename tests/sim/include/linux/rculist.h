/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_RCULIST_H
#define SIM_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#endif
