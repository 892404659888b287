/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folder policy/: decisions and plans, apart from the code that carries them out. This header
 * only describes the folder; include the header of the policy that you need.
 *
 * A policy is given numbers, and answers with a decision. The folder above it does the I/O. So a
 * policy can be tested by itself, with long traces and with hostile input: tests/kunit, tests/cache
 * and tests/fuzz do that.
 *
 * What a cache keeps:
 *   s3fifo.h     which blocks the RAM cache keeps
 *   ssdpolicy.h  which blocks enter the SSD cache, and which stay; it asks ghost.h
 *   index.h      where on the SSD cache each block lies
 *   streams.h    which reads are part of a long stream, for the RAM cache
 *   runs.h       which requests are part of a sequential run
 *
 * How fast work is done:
 *   throttle.h   how much writers are slowed down as the log or the buffer fills up
 *   yield.h      how much of the disks background work gets
 *   renew.h      which dirty blocks of a cache's log are appended again
 *   slow.h       which leg is much slower than the others
 *
 * What a log means after a crash:
 *   replay.h     which record counts for each block
 *   history.h    all versions of blocks and rows, for a parity1
 *
 * What the pool or the tool tells beforehand:
 *   estimate.h   how long a recovery may take
 *   dirty.h      how much memory dirty blocks may take
 *
 * These rules hold for all of them:
 *  - No I/O, and no use of a pool, vdev or leg. Of this project, a policy includes only format/ and
 *    other policies.
 *  - Clock and random numbers come from the caller. So the same input gives the same decision.
 *  - The caller makes calls one at a time, unless the header says otherwise. index.h and runs.h
 *    have spinlocks of their own, since any processor may call them. s3fifo.h lets a reader look up
 *    without the lock of its caller.
 *  - What replay.h and history.h are given was read from a device. They must not trust it.
 *
 * Each header begins with its reasons. For the SSD cache read ssdpolicy.h, ghost.h and index.h, in
 * this order. For recovery read replay.h before history.h.
 */
#ifndef KVP_POLICY_H
#define KVP_POLICY_H

#endif /* KVP_POLICY_H */
