/* SPDX-License-Identifier: GPL-2.0-only */
/* A place in the log from which a recovery could start. */
#ifndef KVP_LOG_MARK_H
#define KVP_LOG_MARK_H

#include "format/format.h"

/**
 * struct kvp_log_mark - a place in the log from which a recovery could start
 * @lsn: the place
 * @prev_lsn, @prev_csum: of the entry before it
 * @intents: intents recorded before it, since the pool was started or the log moved
 */
struct kvp_log_mark {
	kvp_lsn_t lsn, prev_lsn;
	u32 prev_csum;
	u64 intents;
};

#endif /* KVP_LOG_MARK_H */
