/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices of legs, as udev knows them by 64-kvpool.rules: fills in returns.h. A udev monitor; it
 * asks no device.
 */
#ifndef KVPOOL_MONITOR_DEVICES_H
#define KVPOOL_MONITOR_DEVICES_H

#include <stdbool.h>
#include <time.h>

#include "text.h"

/** devices_open() - listen, and note all legs that are there; a descriptor for poll(2), or -1 */
int devices_open(time_t now);

/** devices_read() - take what udev has told */
void devices_read(time_t now);

/**
 * devices_event() - what udev says of a device; NULL for what it does not say
 * @seq: as in returns_appeared()
 */
void devices_event(const char *action, const char *node, const char *type, const char *pool,
		   const char *leg, u64 seq, time_t now);

/** devices_spare() - the same, of spares; @spare: UUID of the spare; @rotates: it is no SSD */
void devices_spare(const char *action, const char *node, const char *pool, const char *spare,
		   bool rotates, time_t now);

#endif
