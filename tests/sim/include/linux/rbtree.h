/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_RBTREE_H
#define SIM_LINUX_RBTREE_H

#include <linux/interval_tree.h>

#endif
