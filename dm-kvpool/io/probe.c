// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "io/flight.h"
#include "io/probe.h"

static void put(struct kvp_probes *p)
{
	if (atomic_dec_and_test(&p->pending))
		complete(&p->ended);
}

static void probe_done(struct kvp_io *io)
{
	struct kvp_probes *p = io->private;

	clear_bit(io - p->ios, p->out);
	put(p);		/* from here on, the pool may be freed */
}

static void probe(struct kvp_leg *leg)
{
	struct kvp_probes *p = kvp_flights_probes(leg->pool->flights);
	struct kvp_io *io = &p->ios[leg->index];

	*io = (struct kvp_io) {
		.leg = leg,
		.op = KVP_IO_READ,
		.block = kvp_lblock(kvp_sb_slot_offset(leg->size_blocks, 0, 0) >> KVP_BLOCK_SHIFT),
		.nr = 1,
		.pages = p->nowhere,
		.done = probe_done,
		.private = p,
		.on_purpose = true,
		.probe = true,
	};
	set_bit(leg->index, p->out);
	atomic_inc(&p->pending);
	if (kvp_io_probe(io))
		return;
	clear_bit(leg->index, p->out);
	put(p);
}

/* True if the start may ask the leg. Before it has read the labels, it may ask any leg. */
static bool is_asked(const struct kvp_leg *leg)
{
	return leg->bdev && !READ_ONCE(leg->silent) && leg->size_blocks > 2 * KVP_LABEL_BLOCKS &&
	       (!leg->v || kvp_leg_takes_writes(leg));
}

void kvp_probes_look(struct kvp_pool *pool, u64 late, u64 busy)
{
	struct kvp_probes *p = kvp_flights_probes(pool->flights);
	u32 i;

	for (i = 0; late && READ_ONCE(p->on) && i < pool->nr_legs; i++)
		if (!(busy >> i & 1) && !test_bit(i, p->out) && is_asked(&pool->legs[i]))
			probe(&pool->legs[i]);
}

void kvp_probes_begin(struct kvp_pool *pool)
{
	struct kvp_probes *p = kvp_flights_probes(pool->flights);

	if (READ_ONCE(p->on))
		return;
	atomic_set(&p->pending, 1);
	init_completion(&p->ended);
	WRITE_ONCE(p->on, true);
}

void kvp_probes_end(struct kvp_pool *pool)
{
	struct kvp_probes *p = kvp_flights_probes(pool->flights);

	if (!READ_ONCE(p->on))
		return;
	WRITE_ONCE(p->on, false);
	/* The watch may be about to send a probe. */
	kvp_flights_wait_watch(pool);
	put(p);
	wait_for_completion(&p->ended);
}
