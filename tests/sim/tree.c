// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's trees that the engine uses (include/linux/rbtree.h). */
#include <linux/bug.h>
#include <linux/rbtree.h>

/* Nearer to the root are those with more. */
static u64 weight(const struct rb_node *n)
{
	return (uintptr_t)n / sizeof(*n) * 0x9e3779b97f4a7c15ull;
}

/* The link that points to @n. */
static struct rb_node **link_of(struct rb_node *n, struct rb_root *root)
{
	struct rb_node **link = !n->up ? &root->rb_node : n->up->rb_left == n ? &n->up->rb_left :
		&n->up->rb_right;

	if (*link != n)
		sim_fail("a node that is in no tree, or in another one");
	return link;
}

/* @n takes the place of the node above it, which becomes its child. */
static void rise(struct rb_node *n, struct rb_root *root)
{
	struct rb_node *up = n->up, **link = link_of(up, root), *between;
	bool left = up->rb_left == n;

	between = left ? n->rb_right : n->rb_left;
	*(left ? &up->rb_left : &up->rb_right) = between;
	if (between)
		between->up = up;
	*(left ? &n->rb_right : &n->rb_left) = up;
	n->up = up->up;
	up->up = n;
	*link = n;
}

void rb_add(struct rb_node *n, struct rb_root *root,
	    bool (*less)(struct rb_node *a, const struct rb_node *b))
{
	struct rb_node **link = &root->rb_node, *up = NULL;

	while (*link) {
		up = *link;
		link = less(n, up) ? &up->rb_left : &up->rb_right;
	}
	*n = (struct rb_node){ .up = up };
	*link = n;
	while (n->up && weight(n) > weight(n->up))
		rise(n, root);
}

void rb_erase(struct rb_node *n, struct rb_root *root)
{
	struct rb_node **link, *child;

	link_of(n, root);
	while (n->rb_left && n->rb_right)
		rise(weight(n->rb_left) > weight(n->rb_right) ? n->rb_left : n->rb_right, root);
	link = link_of(n, root);
	child = n->rb_left ?: n->rb_right;
	*link = child;
	if (child)
		child->up = n->up;
	/* a second erase finds that it is not in a tree */
	*n = (struct rb_node){ .up = n };
}

struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *n = root->rb_node;

	while (n && n->rb_left)
		n = n->rb_left;
	return n;
}

struct rb_node *rb_next(const struct rb_node *n)
{
	struct rb_node *next = n->rb_right, *up;

	if (next) {
		while (next->rb_left)
			next = next->rb_left;
		return next;
	}
	for (up = n->up; up && up->rb_right == n; up = n->up)
		n = up;
	return up;
}

struct rb_node *rb_prev(const struct rb_node *n)
{
	struct rb_node *at;

	if (n->rb_left) {
		for (at = n->rb_left; at->rb_right; at = at->rb_right)
			;
		return at;
	}
	while (n->up && n == n->up->rb_left)
		n = n->up;
	return n->up;
}
