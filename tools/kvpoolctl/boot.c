// SPDX-License-Identifier: GPL-2.0-only
/* The import that udev starts when a leg appears. */
#include <time.h>
#include <unistd.h>

#include "boot.h"
#include "format/tunables.h"

const char *boot_leaves(const struct kvp_sb *sb)
{
	if (sb->flags & KVP_SB_DESTROYED)
		return "it was destroyed";
	if (sb->flags & KVP_SB_EXPORTED)
		return "it was exported";
	if (!import_automatic(sb))
		return "its autoimport is 0";
	return NULL;
}

static int read_uuid(const char *path, char uuid[UUID_BUF], struct err *err)
{
	struct label l;
	int ret = 0;

	if (label_read_path(path, true, &l, err))
		return -1;
	if (label_fault(&l))
		ret = err_set(err, ERR_NO_LABEL, path, label_mend(&l, "see kvpoolctl inspect"),
			      "%s", label_fault(&l));
	else
		uuid_print(l.sb->pool_uuid, uuid);
	label_free(&l);
	return ret;
}

static const struct found_pool *pool_of(const struct scan *s, const char *uuid)
{
	char text[UUID_BUF];
	unsigned int i;

	for (i = 0; i < s->pool_count; i++)
		if (!strcmp(uuid_print(s->pools[i].sb->pool_uuid, text), uuid))
			return &s->pools[i];
	return NULL;
}

/* 1: start the pool; 0: with @why, leave it alone; without @why, wait; -1 with @err. */
static int look(const struct boot_request *b, const char *uuid, bool last, struct scan *s,
		const struct found_pool **p, const char **why, struct err *err)
{
	struct dm_entry e;
	int ret = 0;

	*why = NULL;
	/* without a table: another import begins, and has the lock; or it was killed */
	if (!dm_find(uuid, &e, NULL) && e.live) {
		*why = "it is active";
		return 0;
	}
	if (scan_run(b->places, b->place_count, s, err))
		return -1;
	*p = pool_of(s, uuid);
	if (!*p)
		ret = err_set(err, ERR_NOT_FOUND, b->leg, "see kvpoolctl import",
			      "it is only part of another device, or it is gone");
	else if (!(*why = boot_leaves((*p)->sb)) && (last || import_complete(*p)))
		return 1;
	scan_free(s);
	return ret;
}

int boot_find(const struct boot_request *b, struct scan *s, const struct found_pool **p,
	      const char **why, struct err *err)
{
	struct timespec now;
	char uuid[UUID_BUF];
	time_t end;
	int ret;

	if (read_uuid(b->leg, uuid, err))
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + (time_t)b->patience;
	for (;;) {
		ret = look(b, uuid, now.tv_sec >= end, s, p, why, err);
		if (ret || *why)
			return ret;
		sleep(1);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}
