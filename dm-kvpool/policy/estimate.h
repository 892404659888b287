/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a recovery may take at worst. The pool tells that before there is one. Pure.
 *
 * The estimate takes the largest amount of work that there may be. The speed is unknown. The
 * estimate takes that of devices that are slow for their kind: about half as fast as those of
 * docs/benchmarks.md.
 */
#ifndef KVP_ESTIMATE_H
#define KVP_ESTIMATE_H

#include <linux/types.h>

/**
 * struct kvp_recovery_work - what a recovery may find, and where
 * @window: blocks of the log that may count
 * @intents: blocks that may have gone home by intent: a recovery reads them there
 * @leaves: leaves of the table with any entry. The log may have discards of all of them, and a
 *	recovery reads each leaf for that
 * @row_legs: legs of the widest parity1; 0: there is none
 * @stays: nothing goes home, as kvp_log_stays() is true and a generation is left
 * @by_headers: headers are enough, kvp_log_by_headers()
 * @read_us: to read a block of the log, unless @log_rotates; 0: as of any leg
 * @log_rotates: a leg that has the log rotates
 * @home_rotates: a leg with data rotates
 */
struct kvp_recovery_work {
	u64 window, intents, leaves;
	u32 row_legs, read_us;
	bool stays, by_headers, log_rotates, home_rotates;
};

/*
 * Microseconds for a block of a cache, at 250 MB/s. All of it is verified and indexed while the
 * next is read.
 */
#define KVP_READ_SSD_US	16

/**
 * kvp_recovery_worst_ms() - milliseconds that a recovery may take at most
 *
 * The log counts as read once even where headers are enough. Entries may be so small that most of
 * the log is headers, and each segment is read as a whole. Clean blocks of a cache are found after
 * the start, and cost it nothing. Context: any.
 */
u64 kvp_recovery_worst_ms(const struct kvp_recovery_work *w);

#endif /* KVP_ESTIMATE_H */
