/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Renewal: what is dirty at the tail of a cache's log is appended again, so that the tail can pass
 * without a write to the disks.
 *
 * A hard disk takes some hundred blocks a second, an SSD some ten thousand. As long as all that is
 * dirty fits well into the window of the log, it is cheaper to write the oldest of it to the SSDs
 * again than to write it home. What was overwritten since is not written at all.
 *
 * How much of the window may be dirty for that is the mark (the tunable renew_mark). The log goes
 * round almost as far as it can before the oldest blocks are renewed: until then as many of them as
 * possible have been overwritten. Above the mark nothing is renewed, and destage goes as fast as it
 * can.
 *
 * Pure: no I/O, no locks.
 */
#ifndef KVP_RENEW_POLICY_H
#define KVP_RENEW_POLICY_H

#include <linux/types.h>

/**
 * kvp_renew_step() - blocks that the tail passes at a time, on its way round
 * @window, @segment: as below
 *
 * A sixteenth of the window, and of a large window less, down to a 64th. The less is freed
 * together, the later are blocks renewed, and the more of them have been overwritten by then. But
 * each step costs a checkpoint, so none is shorter than 256 MiB or a segment unless the window is
 * small. Context: any.
 */
u64 kvp_renew_step(u64 window, u32 segment);

/**
 * kvp_renew_reserve() - blocks of the log that only renewals may use
 * @window: blocks that may lie between tail and head
 * @segment: blocks of a segment; the tail frees whole ones
 *
 * Enough to renew all that lies in a step of the tail. 0: the window is too small, and nothing is
 * renewed. Context: any.
 */
u64 kvp_renew_reserve(u64 window, u32 segment);

/**
 * kvp_renew_span() - blocks behind the head that are not renewed; older ones are
 * @live: blocks that are dirty
 *
 * The window must be large enough (kvp_renew_reserve()). The span is short if little is dirty:
 * then renewals cost nothing, and clean blocks find space in the log. Context: any.
 */
u64 kvp_renew_span(u64 window, u32 segment, u64 live);

/**
 * kvp_renew_clean() - blocks of the log that may be in use when a clean block enters
 *
 * Renewals keep more than kvp_renew_span() in use. Clean blocks stop a step before users' writes
 * do. So they may make renewals come sooner, but never stop a writer. Context: any.
 */
u64 kvp_renew_clean(u64 window, u32 segment);

/**
 * kvp_renew_pays() - true if renewals free enough space
 * @mark: per cent of the window that may be dirty; 0: nothing is renewed
 *
 * True up to a tenth above the mark, but not above 66 %. In that tenth writers are slowed down,
 * step by step, to the speed of destage. Without it they would stop at once at the mark.
 */
bool kvp_renew_pays(u64 window, u32 mark, u64 live);

/**
 * kvp_renew_fullness() - how full a log of @most blocks is for its writers, if renewals make space
 *
 * Three quarters of @most at the mark: above it, writers are slowed down. Nine tenths where
 * kvp_renew_pays() ends: there they are as fast as destage. Context: any.
 */
u64 kvp_renew_fullness(u64 window, u32 mark, u64 live, u64 most);

/**
 * kvp_renew_passes() - true if streams go home past a cache, also over blocks that it has
 * @passes: they do so now
 * @most, @fullness: of kvp_renew_fullness()
 *
 * From the mark on, until a third of it is dirty. Below the mark, a stream goes around the blocks
 * that a cache has. A few of them cut it into runs that are too short to go home by intent. If that
 * began just below the mark, all of the stream would be data, and fill the log up to the mark
 * again. Context: any.
 */
bool kvp_renew_passes(bool passes, u64 most, u64 fullness);

#endif /* KVP_RENEW_POLICY_H */
