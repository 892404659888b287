/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stand-in: a tree that is balanced by chance. Its shape follows the addresses of its nodes,
 * which nothing can see.
 */
#ifndef SIM_LINUX_RBTREE_H
#define SIM_LINUX_RBTREE_H

#include <linux/interval_tree.h>

struct rb_node {
	struct rb_node *up, *rb_left, *rb_right;
};

struct rb_root {
	struct rb_node *rb_node;
};

#define RB_ROOT			((struct rb_root){ NULL })
#define rb_entry(ptr, type, m)	container_of(ptr, type, m)

void rb_add(struct rb_node *n, struct rb_root *root,
	    bool (*less)(struct rb_node *a, const struct rb_node *b));
void rb_erase(struct rb_node *n, struct rb_root *root);
struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *n);
struct rb_node *rb_prev(const struct rb_node *n);

#endif
