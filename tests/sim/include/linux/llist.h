/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: lists that take elements without a lock. One thread runs at a time. */
#ifndef SIM_LINUX_LLIST_H
#define SIM_LINUX_LLIST_H

#include <linux/kernel.h>

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

#define llist_entry(p, type, member)	container_of(p, type, member)
#define llist_empty(l)			(!READ_ONCE((l)->first))

static inline void init_llist_head(struct llist_head *l)
{
	l->first = NULL;
}

static inline bool llist_add(struct llist_node *e, struct llist_head *l)
{
	e->next = l->first;
	l->first = e;
	return !e->next;
}

static inline struct llist_node *llist_del_all(struct llist_head *l)
{
	struct llist_node *e = l->first;

	l->first = NULL;
	return e;
}

static inline struct llist_node *llist_reverse_order(struct llist_node *e)
{
	struct llist_node *behind = NULL;

	while (e) {
		struct llist_node *next = e->next;

		e->next = behind;
		behind = e;
		e = next;
	}
	return behind;
}

#endif
