/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices of legs that are out, which may have got another use meanwhile. */
#ifndef KVPOOLCTL_REUSED_H
#define KVPOOLCTL_REUSED_H

#include "signature.h"
#include "stats.h"

/**
 * reused_leg() - true if leg @leg is out, and its device carries a signature of another tool
 * @type: receives which one; FOREIGN_UNKNOWN if the device cannot be looked at, as one that hangs
 *
 * A disk that sleeps takes seconds to answer, and is waited for.
 * Legs in use are not looked at: the pool checked their devices before it took them, and holds
 * them since.
 */
bool reused_leg(const struct stats *s, unsigned int leg, char type[SIGNATURE_TYPE]);

/**
 * reused_check() - refuse a change after which the label of leg @leg is wiped, if reused_leg()
 *
 * @unseen: if not NULL: receives whether the device cannot be looked at
 *
 * That is no reason to refuse: a leg that is broken must be able to leave. The caller lets go of
 * the device before, so that the label stays. Else the command wipes it, if the device answers.
 */
int reused_check(const struct stats *s, unsigned int leg, bool *unseen, struct err *err);

#endif
