/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices of legs that are out, which may have got another use meanwhile. */
#ifndef KVPOOLCTL_REUSED_H
#define KVPOOLCTL_REUSED_H

#include "signature.h"
#include "stats.h"

/**
 * reused_leg() - true if leg @leg is out, and its device carries a signature of another tool
 * @type: receives which one
 *
 * Legs in use are not looked at: the pool checked their devices before it took them, and holds
 * them since.
 */
bool reused_leg(const struct stats *s, unsigned int leg, char type[SIGNATURE_TYPE]);

/** reused_check() - refuse a change after which the label of leg @leg is wiped, if reused_leg() */
int reused_check(const struct stats *s, unsigned int leg, struct err *err);

#endif
