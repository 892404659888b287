// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list_sort.h>
#include <linux/slab.h>

#include "policy/replay.h"

void kvp_replay_init(struct kvp_replay *r)
{
	xa_init(&r->blocks);
	INIT_LIST_HEAD(&r->data);
	INIT_LIST_HEAD(&r->intents);
	INIT_LIST_HEAD(&r->discards);
	r->ranges = RB_ROOT_CACHED;
	r->records = 0;
}

static void free_chain(struct kvp_replay_rec *rec)
{
	while (rec) {
		struct kvp_replay_rec *older = rec->older;

		list_del(&rec->list);
		kfree(rec);
		rec = older;
	}
}

/*
 * Free them one by one. There may be millions, and xa_destroy() keeps interrupts off all the time.
 */
void kvp_replay_exit(struct kvp_replay *r)
{
	struct kvp_replay_discard *d, *next;
	struct kvp_replay_rec *rec;
	unsigned long block;

	xa_for_each(&r->blocks, block, rec) {
		xa_erase(&r->blocks, block);
		free_chain(rec);
		cond_resched();
	}
	xa_destroy(&r->blocks);
	list_for_each_entry_safe(d, next, &r->discards, list) {
		list_del(&d->list);
		kfree(d);
		cond_resched();
	}
}

/* Drop the records of blocks in the range: a discard supersedes them. */
static void forget_range(struct kvp_replay *r, const struct kvp_rec *rec)
{
	unsigned long block = kvp_block_nr(kvp_rec_block(rec)), last = block + rec->count - 1;
	struct kvp_replay_rec *old;

	for (old = xa_find(&r->blocks, &block, last, XA_PRESENT); old;
	     old = xa_find_after(&r->blocks, &block, last, XA_PRESENT)) {
		xa_erase(&r->blocks, block);
		free_chain(old);
		cond_resched();
	}
}

/* Set the range of @d, which is in no tree. If nothing is left of it, it is freed. */
static void set_range(struct kvp_replay *r, struct kvp_replay_discard *d, kvp_block_t block,
		      kvp_block_t end)
{
	if (!kvp_block_before(block, end)) {
		list_del(&d->list);
		kfree(d);
		return;
	}
	d->block = block;
	d->end = end;
	d->range.start = kvp_block_nr(block);
	d->range.last = kvp_block_nr(end) - 1;
	interval_tree_insert(&d->range, &r->ranges);
}

static int new_discard(struct kvp_replay *r, kvp_block_t block, kvp_block_t end)
{
	struct kvp_replay_discard *d = kmalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	list_add_tail(&d->list, &r->discards);
	set_range(r, d, block, end);
	return 0;
}

static int add_discard(struct kvp_replay *r, const struct kvp_rec *rec)
{
	kvp_block_t block = kvp_rec_block(rec);
	int ret = new_discard(r, block, kvp_block_add(block, rec->count));

	if (!ret)
		forget_range(r, rec);
	return ret;
}

/*
 * Cut [@block, @end) out of all discards so far. A stream cuts them at one end, so their number
 * does not grow with each of its blocks.
 */
static int cut_discards(struct kvp_replay *r, kvp_block_t block, kvp_block_t end)
{
	unsigned long first = kvp_block_nr(block), last = kvp_block_nr(end) - 1;
	struct interval_tree_node *n;
	int ret = 0;

	while (!ret && (n = interval_tree_iter_first(&r->ranges, first, last))) {
		struct kvp_replay_discard *d = container_of(n, struct kvp_replay_discard, range);
		kvp_block_t behind = d->end;

		if (kvp_block_before(d->block, block) && kvp_block_before(end, behind))
			ret = new_discard(r, end, behind);
		interval_tree_remove(&d->range, &r->ranges);
		if (kvp_block_before(d->block, block))
			set_range(r, d, d->block, block);
		else
			set_range(r, d, end, behind);
	}
	return ret;
}

int kvp_replay_resolved(struct kvp_replay *r, const struct kvp_rec *rec)
{
	kvp_block_t block = kvp_rec_block(rec);

	r->records++;
	forget_range(r, rec);
	return cut_discards(r, block, kvp_block_add(block, rec->count));
}

int kvp_replay_add(struct kvp_replay *r, const struct kvp_rec *rec, struct kvp_log_at at,
		   kvp_lsn_t payload, u8 row)
{
	struct kvp_replay_rec *n, *old;
	void *ret;

	r->records++;
	if (rec->kind == KVP_REC_DISCARD)
		return add_discard(r, rec);
	n = kmalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		return -ENOMEM;
	n->block = kvp_rec_block(rec);
	n->lsn = at.lsn;
	n->rec = at.rec;
	n->payload = payload;
	n->crc = rec->crc;
	n->kind = rec->kind;
	n->row = row;
	old = xa_load(&r->blocks, kvp_block_nr(n->block));
	/* Data supersedes all before it. An intent does so only if a recovery finds it at home. */
	n->older = rec->kind == KVP_REC_INTENT ? old : NULL;
	ret = xa_store(&r->blocks, kvp_block_nr(n->block), n, GFP_KERNEL);
	if (xa_is_err(ret)) {
		kfree(n);
		return xa_err(ret);
	}
	if (n->older)
		list_del_init(&old->list);
	else
		free_chain(old);
	list_add_tail(&n->list, rec->kind == KVP_REC_INTENT ? &r->intents : &r->data);
	return 0;
}

static int by_place(void *priv, const struct list_head *a, const struct list_head *b)
{
	const struct kvp_replay_discard *x = list_entry(a, struct kvp_replay_discard, list);
	const struct kvp_replay_discard *y = list_entry(b, struct kvp_replay_discard, list);

	return kvp_block_before(y->block, x->block);
}

void kvp_replay_join(struct kvp_replay *r)
{
	struct kvp_replay_discard *d, *next, *last = NULL;

	r->ranges = RB_ROOT_CACHED;
	list_sort(NULL, &r->discards, by_place);
	list_for_each_entry_safe(d, next, &r->discards, list) {
		if (last && !kvp_block_before(last->end, d->block)) {
			last->end = kvp_block_last(last->end, d->end);
			list_del(&d->list);
			kfree(d);
		} else {
			last = d;
		}
		cond_resched();
	}
}

struct kvp_replay_rec *kvp_replay_newest(struct kvp_replay *r, kvp_block_t block)
{
	return xa_load(&r->blocks, kvp_block_nr(block));
}
