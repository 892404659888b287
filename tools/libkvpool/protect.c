// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <unistd.h>

#include "label.h"
#include "pmbr.h"
#include "protect.h"

/* Labels that are there and say nothing sound are neither. */
static bool is_member(const struct label *l)
{
	return !l->ambiguous &&
	       (l->sb ? !(l->sb->flags & KVP_SB_DESTROYED) : l->spare_valid > 0);
}

static bool is_no_member(const struct label *l)
{
	return !l->ambiguous &&
	       (l->sb ? !!(l->sb->flags & KVP_SB_DESTROYED) : !l->valid && !l->bad);
}

struct protecting {
	const char *path;
	bool write, dry_run, done;
};

static int change_block(struct protecting *p, int fd)
{
	int state;

	if (!p->dry_run)
		return p->write ? pmbr_write(fd) : pmbr_clear(fd);
	state = pmbr_look(fd);
	return state < 0 ? -1 : state == (p->write ? PMBR_NONE : PMBR_OURS);
}

static int change(struct protecting *p, const struct device *d, struct err *err)
{
	int fd = device_again(d, !p->dry_run, err), ret;

	if (fd < 0)
		return -1;
	ret = change_block(p, fd);
	if (ret < 0)
		err_set(err, ERR_IO, p->path, "check the device",
			"its block 0 cannot be read or written: %s", strerror(errno));
	p->done = ret > 0;
	close(fd);
	return ret < 0 ? -1 : 0;
}

static int protect(void *arg, struct err *err)
{
	struct protecting *p = arg;
	struct device d;
	struct label l;
	int ret;

	if (device_open_now(p->path, false, &d, err))
		return -1;
	ret = label_read(&d, &l, err);
	if (!ret) {
		if (p->write ? is_member(&l) : is_no_member(&l))
			ret = change(p, &d, err);
		label_free(&l);
	}
	device_close(&d);
	return ret;
}

int protect_device(const char *path, bool write, bool dry_run, bool *done, struct err *err)
{
	struct protecting p = { path, write, dry_run, false };
	int ret = device_apart_soon(path, protect, &p, &p, sizeof(p), err);

	*done = !ret && p.done;
	return ret;
}

bool protect_is_there(const struct device *d)
{
	void *block = blocks_alloc(1);
	bool is = block && !device_read(d, 0, 1, block) && pmbr_is_ours(block);

	free(block);
	return is;
}
