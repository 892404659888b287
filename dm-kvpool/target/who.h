/* SPDX-License-Identifier: GPL-2.0-only */
/* Who ordered something: the user that sends a message, or resumes a table. */
#ifndef KVP_WHO_H
#define KVP_WHO_H

#include "super/events.h"

/**
 * kvp_who() - " uid=UID login=UID" of the calling task, for its events
 *
 * Device-mapper takes orders from root only. `login` is the user that logged in, before su or
 * sudo, as the kernel's audit notes it. It is left out if none is known, as for a service. Both
 * are as in the first user namespace. Return: @buf. Context: process.
 */
const char *kvp_who(char buf[KVP_EVENT_BY]);

#endif /* KVP_WHO_H */
