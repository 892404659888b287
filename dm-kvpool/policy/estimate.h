/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a recovery may take at worst, told before there is one. Pure.
 *
 * The work of a recovery is known, and the amount is taken as the largest possible. The speed is
 * unknown, and is taken as that of devices that are slow for their kind: about half as fast as
 * those of docs/benchmarks.md.
 */
#ifndef KVP_ESTIMATE_H
#define KVP_ESTIMATE_H

#include <linux/types.h>

/**
 * struct kvp_recovery_work - what a recovery may find, and where
 * @window: blocks of the log that may count
 * @intents: blocks whose newest version may have gone home by intent: they are read there
 * @leaves: of the table, with anything in them: discards of all of that may be in the log, and each is read for it
 * @row_legs: of the widest parity1; 0: there is none
 * @stays: nothing goes home, kvp_log_stays() with a generation left
 * @by_headers: headers are enough, kvp_log_by_headers()
 * @on_cache: the log is on a cache
 * @log_rotates: a leg that has the log does
 * @home_rotates: a leg with data does
 */
struct kvp_recovery_work {
	u64 window, intents, leaves;
	u32 row_legs;
	bool stays, by_headers, on_cache, log_rotates, home_rotates;
};

/**
 * kvp_recovery_worst_ms() - milliseconds that it may take
 *
 * Also where headers are enough the log counts as read once, since its entries may be so small that each segment is
 * read as a whole: then most of it is headers. What is clean on a cache is known again only after the start, and costs it nothing.
 * Context: any.
 */
u64 kvp_recovery_worst_ms(const struct kvp_recovery_work *w);

#endif /* KVP_ESTIMATE_H */
