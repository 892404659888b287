/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The place in a pool's events up to which people were told, in a file: so that no event is told
 * twice, and those that come while no monitor runs are told later.
 */
#ifndef KVPOOL_MONITOR_PLACE_H
#define KVPOOL_MONITOR_PLACE_H

#include <stdbool.h>

#include "text.h"

/** place_load() - number of the first event not told; false: none is known */
bool place_load(const char *uuid, u64 *next);

/** place_save() - remember it; a failure goes to the journal */
void place_save(const char *uuid, u64 next);

#endif
