/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Background work gives way to other tasks that want its processor.
 *
 * The kernel lets a worker go on until a tick of its timer, which may be 4 or 8 ms away. A task
 * that sends requests gets none done meanwhile, where an SSD would have answered after 0.1 ms. So
 * a worker that has had its processor for a spell naps, if another task waits for the processor.
 * The nap ends when that processor is idle. Where no other task waits, the worker goes on.
 */
#ifndef KVP_CROWD_H
#define KVP_CROWD_H

#include <linux/types.h>

/**
 * struct kvp_spell - how long a worker has had its processor. Zeros to begin with.
 * @most: ns, how long a spell may be; U64_MAX: the worker takes no naps
 * @least: ns, how long this one is at least, since the last naps took long
 * @nap: ns, how long naps take: a moving average
 * @napped: where the worker counts the ns of all its naps
 * @since: ns, when this one began
 * @seen: ns, when the worker looked last
 * @quick: the worker has a short slice
 * @switches: how often the task had been switched out by then
 */
struct kvp_spell {
	u64 most, least, nap, since, seen;
	u64 *napped;
	bool quick;
	unsigned long switches;
};

/**
 * kvp_spell_begin() - the worker will give way, with short naps if the kernel can do that
 *
 * kvp_spell_end() - it will not any more: its task is as before
 *
 * Context: process; the worker itself. The first may be called again without the second.
 */
void kvp_spell_begin(struct kvp_spell *s);
void kvp_spell_end(struct kvp_spell *s);

/**
 * kvp_give_way() - nap if others have waited long enough for the processor
 *
 * A nap lasts 0.8 ms, and until the worker gets the processor again. It ends by itself, and needs
 * no memory. So what waits for the worker waits longer, but never for ever. Context: process; a
 * worker calls it often, with no spinlock and no lock of the table held. Range locks may be held,
 * and checkpoint_lock.
 */
void kvp_give_way(struct kvp_spell *s);

/**
 * kvp_give_turn() - nap, if another task waits for the processor
 *
 * Context: process; with no lock held that a request waits for.
 */
void kvp_give_turn(void);

#endif /* KVP_CROWD_H */
