// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "dm_poll.h"

int dm_poll_open(void)
{
	return open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
}

int dm_poll_arm(int fd)
{
	/* the oldest version of the interface that has this */
	struct dm_ioctl order = {
		.version = { DM_VERSION_MAJOR, 37, 0 },
		.data_size = sizeof(order),
		.data_start = offsetof(struct dm_ioctl, data),
	};

	return ioctl(fd, DM_DEV_ARM_POLL, &order);
}
