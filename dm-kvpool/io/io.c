// SPDX-License-Identifier: GPL-2.0-only
/* Groups and synchronous requests, built on kvp_io_submit() alone; and the kinds of errors. */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/jiffies.h>

#include "core/core.h"
#include "io/flight.h"
#include "io/io.h"
#include "io/mirror.h"

enum kvp_error_kind kvp_error_kind(int error)
{
	switch (error) {
	case -ENOMEM:		/* also BLK_STS_RESOURCE */
	case -EBUSY:		/* BLK_STS_DEV_RESOURCE */
	case -EAGAIN:
	case -ENOSPC:		/* of a thin device, which may be extended */
		return KVP_ERR_RESOURCE;
	case -ENODATA:		/* BLK_STS_MEDIUM */
	case -EILSEQ:		/* BLK_STS_PROTECTION */
	case -EREMOTEIO:	/* BLK_STS_TARGET */
		return KVP_ERR_MEDIUM;
	default:
		return KVP_ERR_TRANSPORT;
	}
}

void kvp_io_note_error(struct kvp_io *io, int error)
{
	cmpxchg(&io->error, 0, error);
}

void kvp_io_group_init(struct kvp_io_group *group)
{
	group->ios = NULL;
	atomic_set(&group->pending, 1);	/* one for the waiter */
	init_completion(&group->done);
}

static void group_put(struct kvp_io_group *group)
{
	if (atomic_dec_and_test(&group->pending))
		complete(&group->done);
}

static void group_done(struct kvp_io *io)
{
	/*
	 * Do this now, and not when the group has ended: the answer of one leg must not count as
	 * one of another leg that hangs.
	 */
	if (io->chosen)
		kvp_leg_unchoose(io->leg);
	if (!io->error && io->op == KVP_IO_READ)
		kvp_leg_gives(io->leg);
	group_put(io->private);
}

void kvp_io_group_submit_all(struct kvp_io_group *group, struct kvp_io *ios, u32 nr)
{
	u32 i;

	atomic_add(nr, &group->pending);
	for (i = 0; i < nr; i++) {
		ios[i].done = group_done;
		ios[i].private = group;
		ios[i].error = 0;
		ios[i].grouped = true;
		ios[i].next = group->ios;
		group->ios = &ios[i];
	}
	kvp_io_submit_all(ios, nr);
}

void kvp_io_group_submit(struct kvp_io_group *group, struct kvp_io *io)
{
	kvp_io_group_submit_all(group, io, 1);
}

void kvp_io_group_wait(struct kvp_io_group *group)
{
	struct kvp_io *io;

	group_put(group);
	wait_for_completion(&group->done);
	for (io = group->ios; io; io = io->next)
		kvp_io_land(io);
}

int kvp_io_sync(struct kvp_io *io)
{
	struct kvp_io_group group;

	kvp_io_group_init(&group);
	kvp_io_group_submit(&group, io);
	kvp_io_group_wait(&group);
	return io->error;
}

int kvp_io_page(struct kvp_leg *leg, enum kvp_io_op op, kvp_lblock_t block, struct page *page)
{
	struct kvp_io io = {
		.leg = leg,
		.op = op,
		.block = block,
		.nr = page ? 1 : 0,
		.pages = &page,
	};

	return kvp_io_sync(&io);
}

#define READ_BACK_TRIES	3
#define RESOURCE_MS	10000	/* limit of retries while the leg refuses reads */
#define RESOURCE_PAUSE	100	/* ms */
#define IN_VAIN_MS	60000	/* how long a leg is not waited for again, after that limit */

/* True if it makes no sense to wait for a leg that refuses reads. */
static bool is_waited_for_in_vain(const struct kvp_leg *leg)
{
	unsigned long at = READ_ONCE(leg->in_vain);

	return (at && time_before(jiffies, at + msecs_to_jiffies(IN_VAIN_MS))) ||
	       !kvp_leg_takes_writes(leg) || (leg->pool && kvp_pool_faulted(leg->pool));
}

int kvp_io_ask(struct kvp_leg *leg, kvp_lblock_t block, struct page *page, struct kvp_patience *p)
{
	int error = kvp_io_page(leg, KVP_IO_READ, block, page);

	if (!kvp_io_refused(error))
		return error;
	if (!p)
		return -EBUSY;
	if (is_waited_for_in_vain(leg))
		return -EIO;
	p->until = p->until ?: (jiffies + msecs_to_jiffies(RESOURCE_MS)) | 1;
	if (!time_after(jiffies, p->until))
		return -EBUSY;
	WRITE_ONCE(leg->in_vain, jiffies | 1);
	return -EIO;
}

void kvp_patience_pause(void)
{
	msleep(RESOURCE_PAUSE);
}

int kvp_io_read_patiently(struct kvp_leg *leg, kvp_lblock_t block, struct page *page)
{
	struct kvp_patience p = { 0 };
	int error;

	while ((error = kvp_io_ask(leg, block, page, &p)) == -EBUSY)
		kvp_patience_pause();
	return error;
}

int kvp_io_read_back(struct kvp_leg *leg, kvp_lblock_t block, struct page *page)
{
	unsigned long until = jiffies + msecs_to_jiffies(RESOURCE_MS);
	u32 tries = 0;
	int error;

	while ((error = kvp_io_page(leg, KVP_IO_READ, block, page)) && kvp_leg_takes_writes(leg)) {
		bool resource = kvp_io_refused(error);

		if (resource ? time_after(jiffies, until) : tries == READ_BACK_TRIES)
			break;
		msleep(resource ? RESOURCE_PAUSE : 10u << (3 * tries++));
	}
	return error;
}
