/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits for events of all device-mapper devices at once. libdevmapper can wait only for those of
 * one device, in a thread of its own.
 */
#ifndef KVPOOL_MONITOR_DM_POLL_H
#define KVPOOL_MONITOR_DM_POLL_H

/** dm_poll_open() - a descriptor for poll(2), or -1 with errno */
int dm_poll_open(void);

/** dm_poll_arm() - from now on, an event makes it readable; 0 or -1 with errno */
int dm_poll_arm(int fd);

#endif
