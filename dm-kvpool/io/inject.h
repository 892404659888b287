/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults by order: requests to a leg end with an error, so that an administrator can see how a pool
 * and its monitoring react. That is possible only if the module was loaded with fault_injection=1.
 * The engine treats such an error as one of the device.
 */
#ifndef KVP_INJECT_H
#define KVP_INJECT_H

#include <linux/types.h>

#include "core/core.h"

/** kvp_inject_allowed() - true if the module was loaded with fault_injection=1 */
bool kvp_inject_allowed(void);

/**
 * kvp_inject() - let the next @count requests of a kind to @leg end with an I/O error
 * @kind: "read", "write" or "flush"
 * @count: replaces that of an earlier order; 0 ends it
 *
 * Such a request does not reach the device, except a read by a user's bio. Return: 0, or -EINVAL.
 * Context: any.
 */
int __must_check kvp_inject(struct kvp_leg *leg, const char *kind, u32 count);

/** kvp_injected() - true if this request must fail: counts it as one of the order. Context: any. */
static inline bool kvp_injected(struct kvp_leg *leg, enum kvp_fault kind)
{
	atomic_t *left = &leg->faults[kind];

	return unlikely(atomic_read(left)) && atomic_dec_if_positive(left) >= 0;
}

#endif /* KVP_INJECT_H */
