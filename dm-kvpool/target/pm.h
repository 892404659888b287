/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the machine sleeps.
 *
 * Sleep (to RAM, or idle): memory stays as it is, and so does the pool. Work that meets a disk
 * which sleeps waits for it, as with all of device-mapper and md. Nothing is frozen, since the
 * kernel may need memory on the way, and the pool may have to free some. Before sleep all accepted
 * data is made durable. So a battery that runs out costs no more than a power cut at that time.
 *
 * Hibernation writes memory to disk and goes on from that later. By then the pool's memory would
 * be older than its legs. This kernel writes them while it writes the image. The kernel that reads
 * the image may have started the pool before that, and so may any other in between. A pool that
 * goes on from an old image writes over newer data. So there is no hibernation while a pool runs.
 */
#ifndef KVP_PM_H
#define KVP_PM_H

/** kvp_pm_init() - register for sleep and hibernation; 0 or -errno. kvp_pm_exit() ends it. */
int __must_check kvp_pm_init(void);
void kvp_pm_exit(void);

#endif /* KVP_PM_H */
