/* SPDX-License-Identifier: GPL-2.0-only */
/* The log of a pool leaves its cache, which may last. */
#ifndef KVPOOLCTL_DRAIN_H
#define KVPOOLCTL_DRAIN_H

#include "ctl.h"

/** drain_wait() - until none runs any more, with progress; -1 with @err: it was cancelled, or failed */
int drain_wait(struct ctl *ctl, const char *pool, struct err *err);

#endif
