/* SPDX-License-Identifier: GPL-2.0-only */
/* A running pool's cache gets other SSDs, or has one begin anew: replace, attach, detach, online. */
#ifndef KVPOOLCTL_SSDS_H
#define KVPOOLCTL_SSDS_H

#include <stdbool.h>

#include "ctl.h"

/**
 * struct ssds_order - what is to be done
 * @action: word of the command
 * @pool: name or UUID
 * @leg: the SSD that it is about: a path, or its UUID
 * @new: one that takes its place, or joins it; NULL: none
 * @leaves: @leg is none of the cache's any more
 * @anew: @leg is out of use, and begins anew
 * @force: foreign signatures on @new are no matter
 */
struct ssds_order {
	const char *action, *pool, *leg, *new;
	bool leaves, anew, force;
};

/** ssds_exchange() - do it, or say what would be done; the exit status */
int ssds_exchange(struct ctl *ctl, const struct ssds_order *o);

#endif
