/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults by order: requests to a leg that end with an error, so that whoever runs
 * a pool can see what it, and those who watch it, do about that. Only for those who
 * load the module for it; nothing of it is in the engine.
 */
#ifndef KVP_INJECT_H
#define KVP_INJECT_H

#include <linux/types.h>

#include "core/core.h"

/** kvp_inject_allowed() - was the module loaded with fault_injection=1? */
bool kvp_inject_allowed(void);

/**
 * kvp_inject() - the next @count requests of a kind to @leg end with an I/O error
 * @kind: "read", "write" or "flush"
 *
 * In place of what was ordered before; 0 ends it. Nothing of such a request reaches
 * the device, but of a read that a caller's bio makes itself. Return: 0, or -EINVAL.
 */
int kvp_inject(struct kvp_leg *leg, const char *kind, u32 count);

/** kvp_injected() - is this request one of them? It is counted. Context: any. */
static inline bool kvp_injected(struct kvp_leg *leg, enum kvp_fault kind)
{
	atomic_t *left = &leg->faults[kind];

	return unlikely(atomic_read(left)) && atomic_dec_if_positive(left) >= 0;
}

#endif /* KVP_INJECT_H */
