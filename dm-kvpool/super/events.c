// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <linux/stdarg.h>

#include "core/core.h"
#include "io/io.h"
#include "super/events.h"

#define TRIED_MS	10000	/* how long blocks of a ring are tried on a leg that fails some */

static bool event_sound(const struct kvp_pool *pool, const struct kvp_disk_event *e, u32 slot)
{
	return kvp_event_sound(e, pool->sb->pool_uuid) &&
	       le64_to_cpu(e->seq) % KVP_EVENT_RING == slot;
}

static struct page *ring_page(struct kvp_events *ev, u32 i)
{
	return ev->pages[i];
}

static struct kvp_disk_event *slot_of(struct kvp_events *ev, u64 seq)
{
	u32 slot = seq % KVP_EVENT_RING;

	return (struct kvp_disk_event *)page_address(ring_page(ev, slot / KVP_EVENTS_PER_BLOCK)) +
	       slot % KVP_EVENTS_PER_BLOCK;
}

static u64 bit(u32 block)
{
	return 1ull << block;
}

/* Copy block @block of the ring: it may change during its write. */
static void copy_block(struct kvp_events *ev, enum kvp_events_ring ring, u32 block,
		       struct page *to)
{
	const void *from = ring == KVP_EVENTS_ALL ?
		page_address(ring_page(ev, block)) :
		ev->orders.slots + block * KVP_EVENTS_PER_BLOCK;
	unsigned long flags;

	spin_lock_irqsave(&ev->lock, flags);
	memcpy(page_address(to), from, KVP_BLOCK_SIZE);
	spin_unlock_irqrestore(&ev->lock, flags);
}

/*
 * Write @nr blocks of the ring to @leg, durably. A block that it does not take is no failure of the
 * leg. Returns true if it has taken all.
 */
static bool write_pages(struct kvp_leg *leg, enum kvp_events_ring ring, u32 first, u32 nr,
			struct page **pages)
{
	struct kvp_events *ev = leg->pool->events;
	struct kvp_io io = {
		.leg = leg, .op = KVP_IO_WRITE_FUA, .nr = nr, .pages = pages,
		.block = kvp_lblock((ring == KVP_EVENTS_ALL ? KVP_EVENTS_BLOCK :
				     KVP_ORDERS_BLOCK) + first),
	};
	u32 i;

	if (!kvp_leg_takes_writes(leg))
		return false;
	for (i = 0; i < nr; i++)
		copy_block(ev, ring, first + i, pages[i]);
	if (!kvp_io_sync(&io))
		return true;
	kvp_leg_failed_write(leg);
	return false;
}

/* Write a run of blocks by one request. Returns false also if there is no memory for it. */
static bool write_run(struct kvp_leg *leg, enum kvp_events_ring ring, u32 first, u32 nr)
{
	struct page *pages[KVP_EVENTS_BLOCKS];
	bool taken = false;
	u32 got;

	for (got = 0; got < nr; got++) {
		pages[got] = alloc_page(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
		if (!pages[got])
			break;
	}
	if (got == nr)
		taken = write_pages(leg, ring, first, nr, pages);
	while (got)
		__free_page(pages[--got]);
	return taken;
}

/*
 * Write the blocks of @mask to @leg, one request a run, or one by one if that fails. A leg that is
 * gone, and is not given up yet, fails each request after some tries. For a whole ring that would
 * take minutes. So once a block has failed, none is tried after TRIED_MS. Returns those that @leg
 * did not take.
 */
static u64 write_blocks(struct kvp_leg *leg, enum kvp_events_ring ring, u64 mask)
{
	unsigned long until = jiffies + msecs_to_jiffies(TRIED_MS);
	u64 failed = 0;
	u32 i, k, nr;

	for (i = 0; i < KVP_EVENTS_BLOCKS; i += nr + !nr) {
		for (nr = 0; i + nr < KVP_EVENTS_BLOCKS && mask & bit(i + nr);)
			nr++;
		if (nr > 1 && !(failed && time_after(jiffies, until)) &&
		    write_run(leg, ring, i, nr))
			continue;
		for (k = i; k < i + nr; k++)
			if ((failed && time_after(jiffies, until)) ||
			    !write_pages(leg, ring, k, 1, &leg->pool->events->out))
				failed |= bit(k);
	}
	return failed;
}

/* The blocks that have changed since they were written: all legs get them. */
static u64 changed_events(struct kvp_events *ev)
{
	u64 next = READ_ONCE(ev->next), seq, mask = 0;

	for (seq = ev->written; seq < next; seq = (seq | (KVP_EVENTS_PER_BLOCK - 1)) + 1)
		mask |= bit(seq % KVP_EVENT_RING / KVP_EVENTS_PER_BLOCK);
	ev->written = next;
	return mask;
}

static u64 changed_orders(struct kvp_events *ev)
{
	unsigned long flags;
	u64 mask;

	/* What is set from now on is set before the work is queued again. */
	if (!READ_ONCE(ev->orders.unwritten))
		return 0;
	spin_lock_irqsave(&ev->lock, flags);
	mask = kvp_order_ring_unwritten(&ev->orders);
	spin_unlock_irqrestore(&ev->lock, flags);
	return mask;
}

/*
 * Write @changed of the ring to each leg, and what else the leg lacks. What it does not take of the
 * latter, and orders, are tried again with the next event.
 */
static void write_ring(struct kvp_events *ev, enum kvp_events_ring ring, u64 changed)
{
	struct kvp_pool *pool = ev->pool;
	u64 lacks, failed;
	unsigned long flags;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg *leg = &pool->legs[i];

		if (!kvp_leg_takes_writes(leg) || (!changed && !READ_ONCE(leg->lacks[ring])))
			continue;
		spin_lock_irqsave(&ev->lock, flags);
		lacks = leg->lacks[ring];
		leg->lacks[ring] = 0;
		spin_unlock_irqrestore(&ev->lock, flags);
		if (ring == KVP_EVENTS_ORDERS)
			lacks = (lacks & kvp_order_ring_known(&ev->orders)) | changed;
		failed = write_blocks(leg, ring, lacks | changed) & lacks;
		if (!failed)
			continue;
		spin_lock_irqsave(&ev->lock, flags);
		leg->lacks[ring] |= failed;
		spin_unlock_irqrestore(&ev->lock, flags);
	}
}

/* Takes no lock: kvp_events_lack() is for a leg that has its place, and comes before the work. */
static bool some_leg_lacks(const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (READ_ONCE(pool->legs[i].lacks[KVP_EVENTS_ALL]) ||
		    READ_ONCE(pool->legs[i].lacks[KVP_EVENTS_ORDERS]))
			return true;
	return false;
}

/* Write what is new, durably: an event may tell the reason for a power cut. */
static void events_work(struct work_struct *work)
{
	struct kvp_events *ev = container_of(work, struct kvp_events, work);
	struct kvp_pool *pool = ev->pool;
	u64 events = changed_events(ev), orders = changed_orders(ev);

	if (events || orders || some_leg_lacks(pool)) {
		mutex_lock(&ev->places);
		write_ring(ev, KVP_EVENTS_ALL, events);
		write_ring(ev, KVP_EVENTS_ORDERS, orders);
		mutex_unlock(&ev->places);
	}
	if (pool->notify)
		pool->notify(pool);
}

/*
 * The last value of an event may have blanks, or be any text of a user. Returns where that begins:
 * new fields go before it.
 */
static char *before_the_last(char *text)
{
	static const char *const last[] = { " value=", " why=", " host=" };
	char *at;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(last); i++) {
		at = strstr(text, last[i]);
		if (at)
			return at;
	}
	return text + strlen(text);
}

/*
 * Name the user if this task carries out an order. An interrupt during the task does not belong to
 * it. Returns true if it is an order, also if there is no room for the user.
 */
static bool add_by(struct kvp_events *ev, char *text)
{
	const struct kvp_event_by *by;
	size_t n;
	char *at;

	lockdep_assert_held(&ev->lock);
	list_for_each_entry(by, &ev->by, list) {
		if (by->task != current || !in_task())
			continue;
		n = strlen(by->words);
		if (strlen(text) + n >= KVP_EVENT_TEXT)
			return true;
		at = before_the_last(text);
		memmove(at + n, at, strlen(at) + 1);
		memcpy(at, by->words, n);
		return true;
	}
	return false;
}

void kvp_events_by(struct kvp_pool *pool, struct kvp_event_by *by)
{
	unsigned long flags;

	by->task = current;
	spin_lock_irqsave(&pool->events->lock, flags);
	list_add(&by->list, &pool->events->by);
	spin_unlock_irqrestore(&pool->events->lock, flags);
}

void kvp_events_by_end(struct kvp_pool *pool, struct kvp_event_by *by)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->events->lock, flags);
	list_del(&by->list);
	spin_unlock_irqrestore(&pool->events->lock, flags);
}

void kvp_event(struct kvp_pool *pool, const char *fmt, ...)
{
	struct kvp_events *ev = pool->events;
	struct kvp_disk_event *e;
	unsigned long flags;
	va_list args;
	bool order;

	spin_lock_irqsave(&ev->lock, flags);
	e = slot_of(ev, ev->next);
	memset(e, 0, sizeof(*e));
	va_start(args, fmt);
	vsnprintf((char *)e->text, sizeof(e->text), fmt, args);
	va_end(args);
	order = add_by(ev, (char *)e->text);
	e->seq = cpu_to_le64(ev->next);
	e->time = cpu_to_le64(ktime_get_real_seconds());
	memcpy(e->pool_uuid, pool->sb->pool_uuid, 16);
	kvp_event_seal(e);
	if (order)
		kvp_order_ring_add(&ev->orders, e);
	pr_info_ratelimited("kvpool %s: %s\n", pool->sb->name, (char *)e->text);
	WRITE_ONCE(ev->next, ev->next + 1);
	spin_unlock_irqrestore(&ev->lock, flags);
	if (test_bit(KVP_POOL_RUNNING, &pool->flags) && !kvp_pool_readonly(pool))
		queue_work(pool->work_wq, &ev->work);
}

const char *kvp_leg_words(const struct kvp_leg *leg, char buf[KVP_LEG_WORDS])
{
	const struct kvp_sb *sb = leg->pool->sb;
	const u8 *uuid = kvp_leg_is_shadow(leg) ? sb->shadow.uuid : sb->legs[leg->index].uuid;
	const char *path = leg->path[0] && strlen(leg->path) <= 64 && !strchr(leg->path, ' ') ?
		leg->path : "-";
	int n = scnprintf(buf, KVP_LEG_WORDS, " uuid="), i;

	/* Not by %pUb: in the simulator scnprintf() is that of libc, which does not know it. */
	for (i = 0; i < 16; i++)
		n += scnprintf(buf + n, KVP_LEG_WORDS - n, i == 4 || i == 6 || i == 8 || i == 10 ?
			       "-%02x" : "%02x", uuid[i]);
	scnprintf(buf + n, KVP_LEG_WORDS - n, " path=%s", path);
	return buf;
}

bool kvp_event_get(struct kvp_pool *pool, u64 seq, struct kvp_disk_event *e)
{
	struct kvp_events *ev = pool->events;
	unsigned long flags;

	spin_lock_irqsave(&ev->lock, flags);
	*e = *slot_of(ev, seq);
	spin_unlock_irqrestore(&ev->lock, flags);
	return le32_to_cpu(e->magic) == KVP_EVENT_MAGIC && le64_to_cpu(e->seq) == seq;
}

bool kvp_event_order(struct kvp_pool *pool, u64 from, struct kvp_disk_event *e)
{
	struct kvp_events *ev = pool->events;
	const struct kvp_disk_event *order;
	unsigned long flags;

	spin_lock_irqsave(&ev->lock, flags);
	order = kvp_order_ring_find(&ev->orders, from);
	if (order)
		*e = *order;
	spin_unlock_irqrestore(&ev->lock, flags);
	return order;
}

/* Take over the events of @in, block @block of one leg's ring, where they are newer. */
static void merge_block(struct kvp_pool *pool, u32 block, const struct kvp_disk_event *in)
{
	struct kvp_events *ev = pool->events;
	u32 i;

	for (i = 0; i < KVP_EVENTS_PER_BLOCK; i++) {
		u32 slot = block * KVP_EVENTS_PER_BLOCK + i;
		u64 seq = le64_to_cpu(in[i].seq);

		if (!event_sound(pool, &in[i], slot) ||
		    (le64_to_cpu(slot_of(ev, slot)->seq) > seq && seq))
			continue;
		*slot_of(ev, slot) = in[i];
		ev->next = max(ev->next, seq + 1);
	}
}

static void merge_orders(struct kvp_pool *pool, u32 block, const struct kvp_disk_event *in)
{
	kvp_order_ring_take(&pool->events->orders, block, in, pool->sb->pool_uuid);
}

/*
 * Read the ring at block @first of a leg into @ring by one request: a disk takes as long for one
 * block. Read block by block if that fails, or without memory (@ring is NULL). Returns a bit for
 * each block that the leg could not read.
 */
static u64 merge_ring(struct kvp_leg *leg, u64 first, void *ring,
		      void (*merge)(struct kvp_pool *, u32, const struct kvp_disk_event *))
{
	struct kvp_events *ev = leg->pool->events;
	struct page *pages[KVP_EVENTS_BLOCKS];
	struct kvp_io io = {
		.leg = leg, .op = KVP_IO_READ, .block = kvp_lblock(first),
		.nr = KVP_EVENTS_BLOCKS, .pages = pages,
	};
	u64 failed = 0;
	bool whole;
	u32 i;

	for (i = 0; ring && i < KVP_EVENTS_BLOCKS; i++)
		pages[i] = vmalloc_to_page(ring + i * KVP_BLOCK_SIZE);
	whole = ring && !kvp_io_sync(&io);
	for (i = 0; i < KVP_EVENTS_BLOCKS; i++) {
		if (whole)
			merge(leg->pool, i, ring + i * KVP_BLOCK_SIZE);
		else if (!kvp_io_page(leg, KVP_IO_READ, kvp_lblock(first + i), ev->out))
			merge(leg->pool, i, page_address(ev->out));
		else
			failed |= 1ull << i;
	}
	return failed;
}

void kvp_events_load(struct kvp_pool *pool)
{
	void *ring = vmalloc(KVP_EVENTS_BLOCKS * KVP_BLOCK_SIZE);
	struct kvp_events *ev = pool->events;
	u64 failed = 0;
	u32 i;

	BUILD_BUG_ON(KVP_ORDERS_BLOCKS != KVP_EVENTS_BLOCKS || KVP_ORDERS_BLOCKS > 64);
	ev->orders.unread = ~0ull;
	for (i = 0; i < pool->nr_legs; i++) {
		if (!kvp_leg_in_sync(&pool->legs[i]))
			continue;
		merge_ring(&pool->legs[i], KVP_EVENTS_BLOCK, ring, merge_block);
		failed |= merge_ring(&pool->legs[i], KVP_ORDERS_BLOCK, ring, merge_orders);
	}
	kvp_order_ring_taken(&ev->orders, failed);
	vfree(ring);
	ev->next = max3(ev->next, (u64)pool->sb->event_seq, kvp_order_ring_next(&ev->orders));
	ev->written = ev->next;
}

void kvp_events_kick(struct kvp_pool *pool)
{
	queue_work(pool->work_wq, &pool->events->work);
}

void kvp_events_lack(struct kvp_leg *leg)
{
	struct kvp_events *ev = leg->pool->events;
	unsigned long flags;

	spin_lock_irqsave(&ev->lock, flags);
	leg->lacks[KVP_EVENTS_ALL] = ~0ull;
	leg->lacks[KVP_EVENTS_ORDERS] = ~0ull;
	spin_unlock_irqrestore(&ev->lock, flags);
}

void kvp_events_give(struct kvp_pool *pool)
{
	struct kvp_events *ev = pool->events;

	mutex_lock(&ev->places);
	write_ring(ev, KVP_EVENTS_ALL, 0);
	write_ring(ev, KVP_EVENTS_ORDERS, 0);
	mutex_unlock(&ev->places);
}

void kvp_events_flush(struct kvp_pool *pool)
{
	flush_work(&pool->events->work);
}

void kvp_events_hold(struct kvp_pool *pool)
{
	mutex_lock(&pool->events->places);
}

void kvp_events_go_on(struct kvp_pool *pool)
{
	mutex_unlock(&pool->events->places);
}

int kvp_events_init(struct kvp_pool *pool)
{
	struct kvp_events *ev = pool->events;
	u32 i;

	ev->pool = pool;
	spin_lock_init(&ev->lock);
	mutex_init(&ev->places);
	INIT_LIST_HEAD(&ev->by);
	INIT_WORK(&ev->work, events_work);
	for (i = 0; i < KVP_EVENTS_BLOCKS; i++) {
		ev->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!ev->pages[i])
			goto fail;
	}
	ev->out = alloc_page(GFP_KERNEL);
	ev->orders.slots = vzalloc(KVP_ORDER_RING * sizeof(struct kvp_disk_event));
	if (ev->out && ev->orders.slots)
		return 0;
fail:
	kvp_events_exit(pool);
	return -ENOMEM;
}

void kvp_events_exit(struct kvp_pool *pool)
{
	struct kvp_events *ev = pool->events;
	u32 i;

	for (i = 0; i < KVP_EVENTS_BLOCKS; i++)
		if (ev->pages[i])
			__free_page(ev->pages[i]);
	if (ev->out)
		__free_page(ev->out);
	vfree(ev->orders.slots);
	memset(ev->pages, 0, sizeof(ev->pages));
	ev->out = NULL;
	ev->orders.slots = NULL;
}
