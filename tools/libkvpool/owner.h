/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which file of a mounted ext4 or XFS has some bytes of its device. The kernel says what is free
 * (GETFSMAP), and where each file lies (FIEMAP). Nothing is written: no file is flushed, and no
 * time of access changes.
 */
#ifndef KVPOOLCTL_OWNER_H
#define KVPOOLCTL_OWNER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "format/format.h"

enum owner_kind {
	OWNER_FILE,
	OWNER_DIRECTORY,
	OWNER_METADATA,		/* of the file system */
	OWNER_FREE,
	OWNER_NONE,		/* in use, by no file or directory that was found */
	OWNER_KINDS,
};

/* Bytes of a device that are asked for. */
struct owner_range {
	u64 offset, bytes;
};

/* Part of range @range of the request, with its owner. */
struct owner {
	u32 range, kind;
	u64 offset, bytes;	/* on the device */
	u64 inode;		/* 0: unknown */
	u64 at;			/* in the file */
	char path[PATH_MAX];	/* below the mount point, without "/" before it; "": unknown */
};

struct owners {
	struct owner *list;
	size_t count;
	u64 unread;		/* files and directories that could not be read */
	bool cut;		/* there are more than OWNERS_MAX */
};

#define OWNERS_MAX	10000

struct owner_mount {
	char path[PATH_MAX];
	char type[32];		/* of the file system */
	bool whole;		/* its root is mounted there, not a folder of it */
};

/** owner_mounted() - where @rdev is mounted, by its root if it is somewhere; false: nowhere */
bool owner_mounted(dev_t rdev, struct owner_mount *m);

/** owner_knows() - can the files of such a file system be asked for? */
bool owner_knows(const char *type);

/**
 * owner_find() - look for the owners of @count ranges of @rdev, mounted at @m
 * @o: to be freed by owner_free()
 *
 * Goes through all files if the file system cannot name the owner by itself. Several files may
 * share a block. Files below other mounts are not found.
 *
 * Return: 0, or -1 with @err.
 */
int owner_find(dev_t rdev, const struct owner_mount *m, const struct owner_range *ranges,
	       u32 count, struct owners *o, struct err *err);
void owner_free(struct owners *o);

#endif
