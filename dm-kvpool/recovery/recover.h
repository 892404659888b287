/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recovery: the data that a log holds after a crash goes home.
 *
 * A start calls kvp_recover() after it has chosen the superblock, and before it serves a request.
 * The promise: after a power cut at any point, a start gives every acknowledged write, or is
 * refused with nothing lost. That also holds if the cut hits a recovery.
 *
 * The log of a cache may be retained instead. Then its data does not go home now, but becomes
 * spilled versions, which destage takes home later.
 *
 * These rules hold for the whole folder:
 *  - The old log counts until the last superblock of the recovery is durable. So a recovery that
 *    is cut short is done again, from the same records to the same result.
 *  - An entry counts if it verifies on any leg and names its predecessor. Legs with a different
 *    copy get the good one before anything goes home (R15). So the loss of a leg during recovery
 *    loses nothing.
 *  - A block that cannot be read is not absent (R27). If it could change the result, the start is
 *    refused, and the refusal names the device.
 *  - A refused start has written nothing but what the next start would write as well.
 *
 * Recovery runs in one thread, and nothing else runs beside it. So it takes no range locks.
 *
 * Read docs/design/recovery.md first, for the reasons. Then read recover.c, which has the list of
 * steps, and recovery.h, which says what each file does. After these come scan.c and apply.c, which
 * every recovery goes through. rows.c and chain.c matter for a parity1 only, stripes.c, retain.c
 * and discard_log.c for a cache only.
 */
#ifndef KVP_RECOVER_H
#define KVP_RECOVER_H

struct kvp_log_mark;
struct kvp_pool;
struct kvp_refusal;

/**
 * kvp_recover() - write the log's data home, take a checkpoint, and choose the place for new
 * entries
 * @head: receives that place
 * @refusal: filled if it fails
 *
 * Called once, before a request is served. Return: 0 or -errno. Context: process, waits for I/O;
 * takes checkpoint_lock and sb_lock.
 */
int __must_check kvp_recover(struct kvp_pool *pool, struct kvp_log_mark *head,
			     struct kvp_refusal *refusal);

#endif /* KVP_RECOVER_H */
