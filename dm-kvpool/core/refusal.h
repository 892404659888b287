/* SPDX-License-Identifier: GPL-2.0-only */
/* A refusal, in words for people. Messages and starts end with one if they do not succeed. */
#ifndef KVP_REFUSAL_H
#define KVP_REFUSAL_H

#include <linux/compiler.h>

/* A refusal, in words for people: what was refused, why, and how to mend it. */
struct kvp_refusal {
	char what[96], why[512], mend[192];
};

/** kvp_refuse() - fill in why and mend; returns @error. Context: any. */
__printf(4, 5) int kvp_refuse(struct kvp_refusal *r, int error, const char *mend,
			      const char *fmt, ...);

#endif /* KVP_REFUSAL_H */
