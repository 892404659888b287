/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: doubly linked lists, and hash lists with a single head pointer. */
#ifndef SIM_LINUX_LIST_H
#define SIM_LINUX_LIST_H

#include <linux/kernel.h>

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)
#define LIST_POISON		((struct list_head *)0x100ul)

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l->prev = l;
}

/* CONFIG_DEBUG_LIST: neighbours that disagree show misuse of a list. */
static inline void __list_check(const struct list_head *e)
{
	if (e->next->prev != e || e->prev->next != e)
		sim_fail("list corruption");
}

static inline void __list_link(struct list_head *e, struct list_head *prev, struct list_head *next)
{
	if (prev->next != next || next->prev != prev || e == prev || e == next)
		sim_fail("list_add corruption");
	next->prev = e;
	e->next = next;
	e->prev = prev;
	prev->next = e;
}

static inline void list_add(struct list_head *e, struct list_head *head)
{
	__list_link(e, head, head->next);
}

static inline void list_add_tail(struct list_head *e, struct list_head *head)
{
	__list_link(e, head->prev, head);
}

static inline void __list_unlink(struct list_head *e)
{
	if (e->next == LIST_POISON)
		sim_fail("list_del of an entry that is on no list");
	__list_check(e);
	e->next->prev = e->prev;
	e->prev->next = e->next;
}

static inline void list_del(struct list_head *e)
{
	__list_unlink(e);
	e->next = e->prev = LIST_POISON;
}

static inline void list_del_init(struct list_head *e)
{
	__list_unlink(e);
	INIT_LIST_HEAD(e);
}

static inline void list_move(struct list_head *e, struct list_head *head)
{
	__list_unlink(e);
	list_add(e, head);
}

static inline void list_move_tail(struct list_head *e, struct list_head *head)
{
	__list_unlink(e);
	list_add_tail(e, head);
}

static inline void list_replace_init(struct list_head *old, struct list_head *new)
{
	new->next = old->next;
	new->next->prev = new;
	new->prev = old->prev;
	new->prev->next = new;
	INIT_LIST_HEAD(old);
}

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

#define list_empty_careful	list_empty

static inline bool list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

static inline bool list_is_last(const struct list_head *e, const struct list_head *head)
{
	return e->next == head;
}

static inline bool list_is_first(const struct list_head *e, const struct list_head *head)
{
	return e->prev == head;
}

static inline void __list_splice(struct list_head *list, struct list_head *prev,
				 struct list_head *next)
{
	if (list_empty(list))
		return;
	list->next->prev = prev;
	prev->next = list->next;
	list->prev->next = next;
	next->prev = list->prev;
}

static inline void list_splice(struct list_head *list, struct list_head *head)
{
	__list_splice(list, head, head->next);
}

static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
	__list_splice(list, head->prev, head);
}

static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	list_splice(list, head);
	INIT_LIST_HEAD(list);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_tail(list, head);
	INIT_LIST_HEAD(list);
}

static inline size_t list_count_nodes(struct list_head *head)
{
	struct list_head *p;
	size_t n = 0;

	for (p = head->next; p != head; p = p->next)
		n++;
	return n;
}

/* Move everything up to and including @entry to @to. */
static inline void list_cut_position(struct list_head *to, struct list_head *head,
				     struct list_head *entry)
{
	INIT_LIST_HEAD(to);
	if (list_empty(head) || entry == head)
		return;
	to->next = head->next;
	to->next->prev = to;
	to->prev = entry;
	head->next = entry->next;
	head->next->prev = head;
	entry->next = to;
}

/* Move @first to @last, neighbours on another list, to the end of @head. */
static inline void list_bulk_move_tail(struct list_head *head, struct list_head *first,
				       struct list_head *last)
{
	first->prev->next = last->next;
	last->next->prev = first->prev;
	head->prev->next = first;
	first->prev = head->prev;
	last->next = head;
	head->prev = last;
}

/* Moves all entries before @entry to @to; all of them if @entry is the head. */
static inline void list_cut_before(struct list_head *to, struct list_head *head,
				   struct list_head *entry)
{
	list_cut_position(to, head, entry->prev);
}

#define list_entry(p, type, member)		container_of(p, type, member)
#define list_first_entry(h, type, member)	list_entry((h)->next, type, member)
#define list_last_entry(h, type, member)	list_entry((h)->prev, type, member)
#define list_first_entry_or_null(h, type, member) \
	(list_empty(h) ? NULL : list_first_entry(h, type, member))
#define list_next_entry(p, member)	list_entry((p)->member.next, __typeof__(*(p)), member)
#define list_prev_entry(p, member)	list_entry((p)->member.prev, __typeof__(*(p)), member)
#define list_entry_is_head(p, h, member)	(&(p)->member == (h))
#define list_for_each(p, h)	for (p = (h)->next; p != (h); p = p->next)
#define list_for_each_safe(p, n, h) \
	for (p = (h)->next, n = p->next; p != (h); p = n, n = p->next)
#define list_for_each_entry(p, h, member)				\
	for (p = list_first_entry(h, __typeof__(*p), member);		\
	     !list_entry_is_head(p, h, member); p = list_next_entry(p, member))
#define list_for_each_entry_reverse(p, h, member)			\
	for (p = list_last_entry(h, __typeof__(*p), member);		\
	     !list_entry_is_head(p, h, member); p = list_prev_entry(p, member))
#define list_for_each_entry_from(p, h, member)				\
	for (; !list_entry_is_head(p, h, member); p = list_next_entry(p, member))
#define list_for_each_entry_continue(p, h, member)			\
	for (p = list_next_entry(p, member);				\
	     !list_entry_is_head(p, h, member); p = list_next_entry(p, member))
#define list_for_each_entry_safe(p, n, h, member)			\
	for (p = list_first_entry(h, __typeof__(*p), member),		\
	     n = list_next_entry(p, member);				\
	     !list_entry_is_head(p, h, member); p = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_from(p, n, h, member)			\
	for (n = list_next_entry(p, member);				\
	     !list_entry_is_head(p, h, member); p = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(p, n, h, member)		\
	for (p = list_last_entry(h, __typeof__(*p), member),		\
	     n = list_prev_entry(p, member);				\
	     !list_entry_is_head(p, h, member); p = n, n = list_prev_entry(n, member))
#define list_for_each_entry_rcu		list_for_each_entry
#define list_add_rcu			list_add
#define list_add_tail_rcu		list_add_tail
#define list_del_rcu			list_del

#define HLIST_HEAD(name)	struct hlist_head name = { NULL }
#define INIT_HLIST_HEAD(h)	((h)->first = NULL)

static inline void INIT_HLIST_NODE(struct hlist_node *n)
{
	n->next = NULL;
	n->pprev = NULL;
}

static inline bool hlist_unhashed(const struct hlist_node *n)
{
	return !n->pprev;
}

static inline bool hlist_empty(const struct hlist_head *h)
{
	return !READ_ONCE(h->first);
}

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	if (h->first)
		h->first->pprev = &n->next;
	h->first = n;
	n->pprev = &h->first;
}

static inline void __hlist_del(struct hlist_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
}

static inline void hlist_del(struct hlist_node *n)
{
	__hlist_del(n);
	n->next = (void *)0x100;
	n->pprev = (void *)0x122;
}

static inline void hlist_add_behind(struct hlist_node *n, struct hlist_node *prev)
{
	n->next = prev->next;
	prev->next = n;
	n->pprev = &prev->next;
	if (n->next)
		n->next->pprev = &n->next;
}

static inline void hlist_del_init(struct hlist_node *n)
{
	if (hlist_unhashed(n))
		return;
	__hlist_del(n);
	INIT_HLIST_NODE(n);
}

#define hlist_entry(p, type, member)	container_of(p, type, member)
#define hlist_entry_safe(p, type, member) ({				\
	struct hlist_node *__p = (p);					\
	__p ? hlist_entry(__p, type, member) : NULL;			\
})
#define hlist_for_each_entry(p, h, member)				\
	for (p = hlist_entry_safe((h)->first, __typeof__(*p), member); p; \
	     p = hlist_entry_safe((p)->member.next, __typeof__(*p), member))
#define hlist_for_each_entry_safe(p, n, h, member)			\
	for (p = hlist_entry_safe((h)->first, __typeof__(*p), member);	\
	     p && ({ n = p->member.next; 1; });				\
	     p = hlist_entry_safe(n, __typeof__(*p), member))

#endif
