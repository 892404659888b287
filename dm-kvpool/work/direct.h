/* SPDX-License-Identifier: GPL-2.0-only */
/* Direct writes: large ones, under a write intent. */
#ifndef KVP_DIRECT_H
#define KVP_DIRECT_H

#include <linux/workqueue.h>

void kvp_direct_work(struct work_struct *work);

#endif /* KVP_DIRECT_H */
