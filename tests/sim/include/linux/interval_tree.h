/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: a list does; there are never many. */
#ifndef SIM_LINUX_INTERVAL_TREE_H
#define SIM_LINUX_INTERVAL_TREE_H

#include <linux/list.h>

struct interval_tree_node {
	unsigned long start, last;
	struct interval_tree_node *next;
};

struct rb_root_cached {
	struct interval_tree_node *first;
};

#define RB_ROOT_CACHED	((struct rb_root_cached){ NULL })
#define RB_EMPTY_ROOT(r)	(!(r)->first)

void interval_tree_insert(struct interval_tree_node *n, struct rb_root_cached *root);
void interval_tree_remove(struct interval_tree_node *n, struct rb_root_cached *root);
struct interval_tree_node *interval_tree_iter_first(struct rb_root_cached *root,
						    unsigned long start, unsigned long last);
struct interval_tree_node *interval_tree_iter_next(struct interval_tree_node *n,
						   unsigned long start, unsigned long last);

#endif
