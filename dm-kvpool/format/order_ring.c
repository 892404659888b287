// SPDX-License-Identifier: GPL-2.0-only
#include "format/order_ring.h"

static u32 event_sum(const struct kvp_disk_event *e)
{
	struct kvp_disk_event copy = *e;

	copy.csum = 0;
	return kvp_crc32c(~0u, &copy, sizeof(copy));
}

void kvp_event_seal(struct kvp_disk_event *e)
{
	e->magic = cpu_to_le32(KVP_EVENT_MAGIC);
	e->csum = cpu_to_le32(event_sum(e));
}

bool kvp_event_sound(const struct kvp_disk_event *e, const u8 *uuid)
{
	return le32_to_cpu(e->magic) == KVP_EVENT_MAGIC &&
	       le64_to_cpu(e->seq) < KVP_EVENT_SEQ_END &&
	       !memcmp(e->pool_uuid, uuid, sizeof(e->pool_uuid)) &&
	       event_sum(e) == le32_to_cpu(e->csum) && !e->text[sizeof(e->text) - 1];
}

static u64 bit(u32 block)
{
	return 1ull << block;
}

/* The number of an order, plus 1; 0: the slot is free. */
static u64 age(const struct kvp_disk_event *e)
{
	return e->magic ? le64_to_cpu(e->seq) + 1 : 0;
}

void kvp_order_ring_take(struct kvp_order_ring *r, u32 block, const struct kvp_disk_event *in,
			 const u8 *uuid)
{
	struct kvp_disk_event *to = r->slots + block * KVP_EVENTS_PER_BLOCK;
	bool newer = false, lacks = false;
	u32 i;

	for (i = 0; i < KVP_EVENTS_PER_BLOCK; i++) {
		if (kvp_event_sound(&in[i], uuid) && age(&in[i]) > age(&to[i])) {
			to[i] = in[i];
			newer = true;
		}
		lacks |= age(&to[i]) && memcmp(&in[i], &to[i], sizeof(in[i]));
	}
	/* Legs that were read before lack what is newer. */
	if (lacks || (newer && !(r->unread & bit(block))))
		r->unwritten |= bit(block);
	r->unread &= ~bit(block);
}

static bool has_orders(const struct kvp_order_ring *r, u32 block)
{
	u32 i;

	for (i = 0; i < KVP_EVENTS_PER_BLOCK; i++)
		if (age(&r->slots[block * KVP_EVENTS_PER_BLOCK + i]))
			return true;
	return false;
}

void kvp_order_ring_taken(struct kvp_order_ring *r, u64 failed)
{
	u32 i;

	for (i = 0; i < KVP_ORDERS_BLOCKS; i++) {
		if (!(failed & bit(i)))
			continue;
		if (has_orders(r, i))
			r->unwritten |= bit(i);
		else
			r->unread |= bit(i);
	}
}

/* The slot of the newest order, or of any free one if there is none. */
static u32 newest(const struct kvp_order_ring *r)
{
	u32 i, best = KVP_ORDER_RING - 1;

	for (i = 0; i < KVP_ORDER_RING; i++)
		if (age(&r->slots[i]) > age(&r->slots[best]))
			best = i;
	return best;
}

u64 kvp_order_ring_next(const struct kvp_order_ring *r)
{
	return age(&r->slots[newest(r)]);
}

void kvp_order_ring_add(struct kvp_order_ring *r, const struct kvp_disk_event *e)
{
	u32 first = newest(r) + 1, i, slot;

	for (i = 0; i < KVP_ORDER_RING; i++) {
		slot = (first + i) % KVP_ORDER_RING;
		if (r->unread & bit(slot / KVP_EVENTS_PER_BLOCK))
			continue;
		r->slots[slot] = *e;
		r->unwritten |= bit(slot / KVP_EVENTS_PER_BLOCK);
		return;
	}
}

const struct kvp_disk_event *kvp_order_ring_find(const struct kvp_order_ring *r, u64 seq)
{
	const struct kvp_disk_event *best = NULL;
	u32 i;

	for (i = 0; i < KVP_ORDER_RING; i++)
		if (age(&r->slots[i]) > seq && (!best || age(&r->slots[i]) < age(best)))
			best = &r->slots[i];
	return best;
}

u64 kvp_order_ring_known(const struct kvp_order_ring *r)
{
	return ~r->unread;
}

u64 kvp_order_ring_unwritten(struct kvp_order_ring *r)
{
	u64 unwritten = r->unwritten;

	r->unwritten = 0;
	return unwritten;
}
