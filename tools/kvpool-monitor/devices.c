// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libudev.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "journal.h"
#include "pools.h"
#include "returns.h"
#include "takes.h"

#define RECEIVE_BUFFER	(8 << 20)

static struct udev *udev;
static struct udev_monitor *monitor;

/*
 * A device appears when udev first finds a label on it: some are added before they have contents
 * (device-mapper, loop). Of one that is there already, udev may tell again: `udevadm trigger` adds
 * all devices anew. It has appeared anew only if it was gone in between: that was told, or the disk
 * has another number.
 */
void devices_event(const char *action, const char *node, const char *type, const char *pool,
		   const char *leg, u64 seq, time_t now)
{
	if (!node)
		return;
	if ((action && !strcmp(action, "remove")) || !type || strcmp(type, "kvpool_member") ||
	    !pool || !leg) {
		returns_gone(node);
		return;
	}
	if (!returns_known(leg, node, seq))
		returns_appeared(pool, leg, node, seq, action, now);
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

/* An attribute of the device, or of the disk of a partition; NULL: it has none. */
static const char *disk_value(struct udev_device *d, const char *name)
{
	const char *type = udev_device_get_devtype(d);
	struct udev_device *disk = type && !strcmp(type, "partition") ?
		udev_device_get_parent(d) : d;

	return disk ? udev_device_get_sysattr_value(disk, name) : NULL;
}

/* What is unknown is taken for no SSD. */
static bool rotates(struct udev_device *d)
{
	const char *value = disk_value(d, "queue/rotational");

	return !value || strcmp(value, "0");
}

/* Linux gives each disk a number of its own whenever it is connected. 0: it has none. */
static u64 diskseq(struct udev_device *d)
{
	const char *value = disk_value(d, "diskseq");

	return value ? strtoull(value, NULL, 10) : 0;
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
		      udev_device_get_property_value(d, "ID_FS_UUID_SUB"), diskseq(d), now);
	udev_device_unref(d);
}

/* All legs and spares that udev knows; NULL: it cannot be asked. */
static struct udev_enumerate *find_all(void)
{
	struct udev_enumerate *all = udev_enumerate_new(udev);

	if (!all)
		return NULL;
	if (udev_enumerate_add_match_subsystem(all, "block") >= 0 &&
	    udev_enumerate_add_match_property(all, "ID_FS_TYPE", "kvpool_member") >= 0 &&
	    udev_enumerate_scan_devices(all) >= 0)
		return all;
	udev_enumerate_unref(all);
	return NULL;
}

/* @action: NULL: they were there before */
static void take_all(struct udev_enumerate *all, const char *action, time_t now)
{
	struct udev_list_entry *at;

	udev_list_entry_foreach(at, udev_enumerate_get_list_entry(all))
		take(udev_device_new_from_syspath(udev, udev_list_entry_get_name(at)), action, now);
}

static void note_all(time_t now)
{
	struct udev_enumerate *all = find_all();

	if (!all)
		return;
	take_all(all, NULL, now);
	udev_enumerate_unref(all);
}

/* Is the device @node among those that udev knows? */
static bool is_among(void *arg, const char *node)
{
	struct udev_list_entry *at;
	struct udev_device *d;
	bool found = false;
	const char *name;

	udev_list_entry_foreach(at, udev_enumerate_get_list_entry(arg)) {
		d = udev_device_new_from_syspath(udev, udev_list_entry_get_name(at));
		name = d ? udev_device_get_devnode(d) : NULL;
		found |= name && !strcmp(name, node);
		if (d)
			udev_device_unref(d);
	}
	return found;
}

/*
 * Events were lost, as too many came at once. So all devices are looked at: those that are there,
 * and were not, have appeared; those that were, and are not, have gone. One that has come loose and
 * is back under its name is another disk by its number.
 */
static void look_again(time_t now)
{
	struct udev_enumerate *all;
	const char *node;

	journal_say(PRI_WARNING, "events of udev were lost: looking at all devices");
	if (!udev)
		udev = udev_new();
	all = udev ? find_all() : NULL;
	if (!all) {
		journal_say(PRI_ERR, "udev cannot be asked for its devices");
		return;
	}
	while ((node = takes_spare_without(is_among, all)))
		devices_spare("remove", node, NULL, NULL, true, now);
	returns_keep(is_among, all);
	take_all(all, "add", now);
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
	struct udev_device *d;

	errno = 0;
	d = udev_monitor_receive_device(monitor);
	if (!d && errno == ENOBUFS)
		look_again(now);
	else
		take(d, d ? udev_device_get_action(d) : NULL, now);
}
