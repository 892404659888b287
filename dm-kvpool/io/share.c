// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>

#include "io/flight.h"
#include "io/share.h"

void kvp_share_init(struct kvp_share *s)
{
	atomic_set(&s->out, 0);
	init_waitqueue_head(&s->back);
}

bool kvp_share_take(struct kvp_share *s)
{
	return atomic_add_unless(&s->out, 1, KVP_BIO_SHARE);
}

void kvp_share_put(struct kvp_share *s)
{
	atomic_dec(&s->out);
	wake_up(&s->back);
}

bool kvp_share_used(const struct kvp_share *s)
{
	return atomic_read(&s->out);
}

/* Ask @stray first: the leg of a stray may have another device by now. */
static bool is_wanted(const struct kvp_io *io)
{
	return !READ_ONCE(io->stray) && !kvp_io_too_late(io);
}

bool kvp_share_wait(struct kvp_share *s, const struct kvp_io *io)
{
	wait_event_timeout(s->back, atomic_read(&s->out) < KVP_BIO_SHARE || !is_wanted(io),
			   HZ / 10);
	return is_wanted(io);
}
