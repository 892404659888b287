// SPDX-License-Identifier: GPL-2.0-only
#include "announce.h"
#include "device.h"
#include "protect.h"

static void announce(dev_t rdev, bool joined)
{
	char path[PATH_MAX];
	struct err ignored;
	bool done;

	protect_device(device_name(rdev, path, sizeof(path)), joined, false, &done, &ignored);
	device_announce(rdev);
}

void announce_joined(dev_t rdev)
{
	announce(rdev, true);
}

void announce_left(dev_t rdev)
{
	announce(rdev, false);
}
