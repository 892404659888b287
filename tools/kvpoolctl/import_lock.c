// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "import_lock.h"
#include "watched.h"

/*
 * The lock file stays. If it were removed, two processes could hold a lock: one on the old file and
 * one on the new.
 */
int import_lock(const struct ctl *ctl, const u8 uuid[16])
{
	char path[sizeof(IMPORT_LOCK_DIR) + UUID_BUF + 32], text[UUID_BUF];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/kvpoolctl-%s.lock", IMPORT_LOCK_DIR,
		 uuid_print(uuid, text));
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	watched_private(fd);
	ret = flock(fd, LOCK_EX | LOCK_NB);
	if (!ret)
		return fd;
	ctl_busy(ctl, "waiting for another import of the pool");
	do {
		ret = flock(fd, LOCK_EX);
	} while (ret && errno == EINTR);
	ctl_busy_end();
	if (!ret)
		return fd;
	import_unlock(fd);
	return -1;
}

void import_unlock(int fd)
{
	watched_private(-1);
	if (fd >= 0)
		close(fd);
}
