/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_MESSAGE_H
#define KVP_MESSAGE_H

#include <linux/device-mapper.h>

/**
 * kvp_message() - carry out a message of `dmsetup message`: docs/dm-interface.md lists them
 * @argv: @argc words, at least one
 * @result: receives the answer, if there is one
 * @maxlen: bytes of @result
 *
 * Return: 1: there is an answer in @result; 0; or -errno, and the kernel log has the reason in
 * words, unless the sender was killed. Context: process. For messages that wait, it waits for a
 * worker (target/order.h).
 */
int kvp_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		unsigned int maxlen);

#endif /* KVP_MESSAGE_H */
