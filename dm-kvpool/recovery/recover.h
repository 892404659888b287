/* SPDX-License-Identifier: GPL-2.0-only */
/* Bring home what a log holds after a crash. */
#ifndef KVP_RECOVER_H
#define KVP_RECOVER_H

struct kvp_log_mark;
struct kvp_pool;
struct kvp_refusal;

/** kvp_recover() - bring home what the log holds, checkpoint, choose the place for new entries */
int __must_check kvp_recover(struct kvp_pool *pool, struct kvp_log_mark *head,
			     struct kvp_refusal *refusal);

#endif /* KVP_RECOVER_H */
