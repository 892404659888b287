/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: a stable sort. */
#ifndef SIM_LINUX_LIST_SORT_H
#define SIM_LINUX_LIST_SORT_H

#include <linux/list.h>

typedef int (*list_cmp_func_t)(void *, const struct list_head *, const struct list_head *);
void list_sort(void *priv, struct list_head *head, list_cmp_func_t cmp);

#endif
