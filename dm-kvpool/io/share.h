/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device's share of the pool's reserve of bios.
 *
 * Without memory a request is sent with a bio of the reserve. A device that hangs keeps its bios,
 * also when its leg is out. So each device has at most its share, and the reserve is as large as
 * all shares together: no device waits for bios that another device keeps (R28). If a device has
 * its whole share, the sender waits until one of those bios is back, or there is memory. It stops
 * waiting when its request need not be sent any more.
 */
#ifndef KVP_SHARE_H
#define KVP_SHARE_H

#include <linux/atomic.h>
#include <linux/sched.h>	/* wait.h needs it up to 6.1 */
#include <linux/types.h>
#include <linux/wait.h>

struct kvp_io;

#define KVP_BIO_SHARE	2	/* bios of the reserve that a device may have at the same time */

/**
 * struct kvp_share - the share of one device
 * @out: bios of the reserve that the device has
 * @back: its senders wait here
 */
struct kvp_share {
	atomic_t out;
	wait_queue_head_t back;
};

/** kvp_share_init() - the device has no bios of the reserve. Context: any. */
void kvp_share_init(struct kvp_share *s);

/** kvp_share_take() - take a bio's place; false if the device has its whole share. Never waits. */
bool kvp_share_take(struct kvp_share *s);

/** kvp_share_put() - give the place back: the bio is in the reserve again. Any context. */
void kvp_share_put(struct kvp_share *s);

/** kvp_share_used() - true if the device has a bio of the reserve. Any context. */
bool kvp_share_used(const struct kvp_share *s);

/**
 * kvp_share_wait() - wait until the device may have another bio, 100 ms at most
 *
 * Return: false: @io need not be sent any more. Its leg was given up, and its waiter has gone on,
 * or must. Context: process.
 */
bool kvp_share_wait(struct kvp_share *s, const struct kvp_io *io);

#endif /* KVP_SHARE_H */
