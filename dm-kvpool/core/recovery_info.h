/* SPDX-License-Identifier: GPL-2.0-only */
/* What the start of a pool has found, and what its order allows. */
#ifndef KVP_RECOVERY_INFO_H
#define KVP_RECOVERY_INFO_H

#include "format/format.h"

struct kvp_recovery_info {
	u64 ms, replayed, torn_accepted;
	u64 kept;			/* blocks that the recovery left in the log */
	bool went_back;		/* by order, to an older superblock: newer ones may be lost */
	/* started by order, read-only, without legs that may hold newer data; has no fork id */
	bool parted;
	/* a leg may have the next superblock where it cannot be read: kvp_sb_roll_forward() */
	bool next_unread;
	/* The newest epoch of a leg that was passed by (outs.h), 0: none was. */
	u64 passed_epoch;
	/* A cache was missing: its log is discarded, or was empty. */
	bool log_moved;
	kvp_lsn_t discarded_lsn;	/* where the discarded log began; 0: none was discarded */
	u64 discarded_mib;		/* kvp_log_counted_mib() of it */
	u64 discarded_blocks;		/* blocks known to be lost with it, and poisoned */
	bool may_discard_log;	/* the order allows to discard the log of a cache */
	bool discard_log;	/* it is discarded */
	/* how to mend a log that is damaged, but where the scan knows better; NULL: it does */
	const char *mend;
};

#endif /* KVP_RECOVERY_INFO_H */
