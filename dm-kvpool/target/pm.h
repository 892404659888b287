/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the machine sleeps.
 *
 * Sleep (to RAM, or idle): memory stays as it is, and so does the pool. Work that meets a disk which
 * sleeps waits for it, as with all of device-mapper and md; nothing is frozen, since memory may be
 * needed on the way, and the pool may be what gives some. Before it, what was accepted is made durable,
 * so that a battery that runs out costs no more than a power cut right then.
 *
 * Hibernation writes memory to disk and goes on from that later. What the pool knows of its legs would
 * be as of then, and the legs would not: this kernel goes on writing them while it writes the image, the
 * one that reads the image may have started the pool before, and any other may in between. A pool that
 * goes on from an old image writes over what is newer. So there is no hibernation while a pool runs.
 */
#ifndef KVP_PM_H
#define KVP_PM_H

/** kvp_pm_init() - hear of sleep and hibernation; 0 or -errno. kvp_pm_exit() ends it. */
int __must_check kvp_pm_init(void);
void kvp_pm_exit(void);

#endif /* KVP_PM_H */
