/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far the monitor has told of a pool's events, kept in a file. So it tells no event twice.
 * Events that come while no monitor runs are told when one starts.
 */
#ifndef KVPOOL_MONITOR_PLACE_H
#define KVPOOL_MONITOR_PLACE_H

#include <stdbool.h>

#include "text.h"

/** place_load() - read the number of the first event that was not told; false: it is not known */
bool place_load(const char *uuid, u64 *next);

/** place_save() - write that number; a failure goes to the journal */
void place_save(const char *uuid, u64 next);

#endif
