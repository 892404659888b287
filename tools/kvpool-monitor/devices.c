// SPDX-License-Identifier: GPL-2.0-only
#include <libudev.h>
#include <stdbool.h>
#include <string.h>

#include "devices.h"
#include "pools.h"
#include "returns.h"
#include "takes.h"

#define RECEIVE_BUFFER	(8 << 20)

static struct udev *udev;
static struct udev_monitor *monitor;

/*
 * A device appears when udev first finds a label on it: some are added before they have contents
 * (device-mapper, loop). Of one that is there already, udev may tell again: `udevadm trigger` adds
 * all devices anew. It has appeared anew only if it was gone in between.
 */
void devices_event(const char *action, const char *node, const char *type, const char *pool,
		   const char *leg, time_t now)
{
	if (!node)
		return;
	if ((action && !strcmp(action, "remove")) || !type || strcmp(type, "kvpool_member") ||
	    !pool || !leg) {
		returns_gone(node);
		return;
	}
	if (!returns_known(leg, node))
		returns_appeared(pool, leg, node, action, now);
}

void devices_spare(const char *action, const char *node, const char *pool, const char *spare,
		   bool rotates, time_t now)
{
	bool gone = action && !strcmp(action, "remove");

	if (!node)
		return;
	if (gone && takes_spare_of(node))
		pools_spare_missing(takes_spare_of(node), node);
	if (gone || !pool || !spare)
		takes_spare_gone(node);
	else
		takes_spare(pool, node, rotates, now);
}

/* Does the device, or the disk of a partition, rotate? What is unknown is taken for no SSD. */
static bool rotates(struct udev_device *d)
{
	const char *type = udev_device_get_devtype(d), *value;
	struct udev_device *disk = type && !strcmp(type, "partition") ?
		udev_device_get_parent(d) : d;

	value = disk ? udev_device_get_sysattr_value(disk, "queue/rotational") : NULL;
	return !value || strcmp(value, "0");
}

static void take(struct udev_device *d, const char *action, time_t now)
{
	if (!d)
		return;
	devices_spare(action, udev_device_get_devnode(d),
		      udev_device_get_property_value(d, "ID_FS_UUID"),
		      udev_device_get_property_value(d, "KVPOOL_SPARE"), rotates(d), now);
	devices_event(action, udev_device_get_devnode(d),
		      udev_device_get_property_value(d, "ID_FS_TYPE"),
		      udev_device_get_property_value(d, "ID_FS_UUID"),
		      udev_device_get_property_value(d, "ID_FS_UUID_SUB"), now);
	udev_device_unref(d);
}

static void note_all(time_t now)
{
	struct udev_enumerate *all = udev_enumerate_new(udev);
	struct udev_list_entry *at;

	if (!all)
		return;
	udev_enumerate_add_match_subsystem(all, "block");
	udev_enumerate_add_match_property(all, "ID_FS_TYPE", "kvpool_member");
	udev_enumerate_scan_devices(all);
	udev_list_entry_foreach(at, udev_enumerate_get_list_entry(all))
		take(udev_device_new_from_syspath(udev, udev_list_entry_get_name(at)), NULL, now);
	udev_enumerate_unref(all);
}

int devices_open(time_t now)
{
	udev = udev_new();
	monitor = udev ? udev_monitor_new_from_netlink(udev, "udev") : NULL;
	/* Many events may come at once, and a device must not go unnoticed. */
	if (monitor)
		udev_monitor_set_receive_buffer_size(monitor, RECEIVE_BUFFER);
	if (!monitor ||
	    udev_monitor_filter_add_match_subsystem_devtype(monitor, "block", NULL) < 0 ||
	    udev_monitor_enable_receiving(monitor) < 0)
		return -1;
	note_all(now);
	return udev_monitor_get_fd(monitor);
}

void devices_read(time_t now)
{
	struct udev_device *d = udev_monitor_receive_device(monitor);

	take(d, d ? udev_device_get_action(d) : NULL, now);
}
