/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of orders: the events of what a user ordered, once more. The ring of events has them as
 * well, but a disk that fails often pushes them out there. Pure, and without locks.
 *
 * An order is a copy of its event, and has the number of it. The numbers have gaps, so they do not
 * tell the slot. The next order goes behind the one with the highest number. It passes over blocks
 * that are unread: these may hold orders, and a block is written as a whole. If all blocks are
 * unread, the order is only in the ring of events.
 *
 * A block is unread if no leg could read it. A leg may also be blank there because it joined while
 * the others could not read the block. So it is unread as well if one leg could not read it, and
 * no other leg has an order in it.
 */
#ifndef KVP_ORDER_RING_H
#define KVP_ORDER_RING_H

#include "format/format.h"

#define KVP_ORDER_RING		(KVP_ORDERS_BLOCKS * KVP_EVENTS_PER_BLOCK)

/** kvp_event_seal() - set the magic and the sum of an event */
void kvp_event_seal(struct kvp_disk_event *e);

/**
 * kvp_event_sound() - is this an event of the pool with that UUID, as read from a leg?
 *
 * Its text ends with a NUL, and its number is one that a pool can reach. Else a forged event could
 * use up all numbers.
 */
bool kvp_event_sound(const struct kvp_disk_event *e, const u8 *uuid);

/**
 * struct kvp_order_ring - the ring of orders in memory
 * @slots: KVP_ORDER_RING events, all sound, or zeros
 * @unread: bit n is set: block n is unread; before the first leg is read, all bits are set
 * @unwritten: bit n is set: block n has to be written to the legs
 */
struct kvp_order_ring {
	struct kvp_disk_event *slots;
	u64 unread, unwritten;
};

/**
 * kvp_order_ring_take() - take over what one leg has in a block, where it is newer
 * @in: block @block of the ring, as read from the leg
 *
 * The block has to be written if this leg lacks an order, or if one that was read before does.
 */
void kvp_order_ring_take(struct kvp_order_ring *r, u32 block, const struct kvp_disk_event *in,
			 const u8 *uuid);

/**
 * kvp_order_ring_taken() - all legs have been read
 * @failed: bit n is set: some leg could not read block n
 *
 * Such a block has to be written if another leg has orders in it. If none has, it is unread.
 */
void kvp_order_ring_taken(struct kvp_order_ring *r, u64 failed);

/** kvp_order_ring_next() - a number above those of all orders */
u64 kvp_order_ring_next(const struct kvp_order_ring *r);

/** kvp_order_ring_add() - note @e, which has a number above those of all orders */
void kvp_order_ring_add(struct kvp_order_ring *r, const struct kvp_disk_event *e);

/** kvp_order_ring_find() - the order with the lowest number from @seq on, or NULL */
const struct kvp_disk_event *kvp_order_ring_find(const struct kvp_order_ring *r, u64 seq);

/**
 * kvp_order_ring_known() - a bit for each block that a leg which joins gets: all but the unread
 *
 * Blank blocks as well: the leg may have orders of a history that was given up.
 */
u64 kvp_order_ring_known(const struct kvp_order_ring *r);

/**
 * kvp_order_ring_unwritten() - a bit for each block that has to be written to the legs
 *
 * They count as written from now on.
 */
u64 kvp_order_ring_unwritten(struct kvp_order_ring *r);

#endif /* KVP_ORDER_RING_H */
