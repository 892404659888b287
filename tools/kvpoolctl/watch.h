/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches the heartbeat of a pool before it is imported: another host may be alive. Then claims the
 * pool, and watches once more: two hosts may import it at once. docs/design/heartbeat.md says why
 * that is enough.
 */
#ifndef KVPOOLCTL_WATCH_H
#define KVPOOLCTL_WATCH_H

#include "ctl.h"
#include "import.h"

/**
 * watch_seconds() - how long each of the two watches takes; 0: nothing is to be watched
 *
 * Nothing is watched if the pool has no heartbeat, was exported, or ran on this host last, unless
 * --takeover asks for it. An initial RAM disk does not know its host.
 */
unsigned int watch_seconds(const struct found_pool *p, const struct import_options *o);

/**
 * watch_run() - watch the legs, claim the pool, and watch again
 *
 * A read-only import claims nothing, and watches once. Return: 0; -1 with @err: a heartbeat moved,
 * or a leg in sync cannot be read or written, which is not the same as silence.
 */
int watch_run(struct ctl *ctl, const struct found_pool *p, const struct import_options *o,
	      struct err *err);

/* waits a second between two looks; only tests change it */
extern void (*watch_wait)(void);

#endif
