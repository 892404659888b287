// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foreign.h"

#define PATIENCE_MS	2000

static bool inside(u64 offset, u64 bytes, u64 first_block, u64 end_block)
{
	return offset >= first_block << KVP_BLOCK_SHIFT && bytes <= end_block << KVP_BLOCK_SHIFT &&
	       offset <= (end_block << KVP_BLOCK_SHIFT) - bytes;
}

/*
 * A slot that holds no label belongs to the tool that wrote over it. A slot that cannot be read may
 * hold a label.
 */
static bool in_dead_slot(const struct label *l, u64 offset, u64 bytes)
{
	unsigned int i;

	for (i = 0; i < LABEL_SLOTS; i++) {
		u64 slot = l->slots[i].offset >> KVP_BLOCK_SHIFT;

		if (inside(offset, bytes, slot, slot + KVP_SB_BLOCKS))
			return l->slots[i].state && l->slots[i].state != -EIO &&
			       l->slots[i].state != -EOPNOTSUPP;
	}
	return false;
}

bool foreign_free(const struct device *d, const struct label *l, u64 offset, u64 bytes, bool in_use)
{
	u64 ring = kvp_sb_slot_offset(d->blocks, 0, 0) >> KVP_BLOCK_SHIFT;
	u64 ring_end = ring + KVP_SB_RING * KVP_SB_BLOCKS;
	u64 back = d->blocks - KVP_LABEL_BLOCKS;

	if (d->blocks < 2 * KVP_LABEL_BLOCKS || !bytes || offset > d->bytes ||
	    bytes > d->bytes - offset)
		return false;
	if (inside(offset, bytes, 0, ring) || inside(offset, bytes, ring_end, KVP_EVENTS_BLOCK) ||
	    inside(offset, bytes, KVP_EVENTS_BLOCK + KVP_EVENTS_BLOCKS, KVP_LABEL_BLOCKS))
		return true;
	/* On a device that is larger than the leg was, the leg ends before the device does. */
	if (!l->sb || l->sb->legs[l->sb->leg_index].size_blocks != d->blocks)
		return false;
	if (inside(offset, bytes, back, back + ring) ||
	    offset >= (back + ring_end) << KVP_BLOCK_SHIFT)
		return true;
	return !in_use && in_dead_slot(l, offset, bytes);
}

/* --- without waiting for disks that hang -------------------------------------------- */

/*
 * Probes in a process of its own, which can be abandoned. The path of a leg that is missing may not
 * exist: then there is nothing to probe.
 */
static int ask(const char *path, pid_t *pid)
{
	char type[SIGNATURE_TYPE];
	int ends[2];
	struct err err;

	*pid = -1;
	if (access(path, F_OK) || pipe2(ends, O_CLOEXEC))
		return -1;
	*pid = fork();
	if (!*pid) {
		if (signature_find(path, type, sizeof(type), &err) > 0 &&
		    write(ends[1], type, strlen(type) + 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (*pid < 0) {
		close(ends[0]);
		return -1;
	}
	return ends[0];
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void hear(int fd, pid_t pid, long deadline, char type[SIGNATURE_TYPE])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long left = deadline - now_ms();
	ssize_t n;

	*type = 0;
	if (fd < 0)
		return;
	if (poll(&p, 1, left > 0 ? (int)left : 0) == 1) {
		n = read(fd, type, SIGNATURE_TYPE - 1);
		type[n < 0 ? 0 : n] = 0;
		waitpid(pid, NULL, 0);
	}
	close(fd);
}

void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	int fds[KVP_MAX_LEGS];
	pid_t pids[KVP_MAX_LEGS];
	unsigned int i;
	long deadline;

	for (i = 0; i < count && i < KVP_MAX_LEGS; i++)
		fds[i] = ask(paths[i], &pids[i]);
	deadline = now_ms() + PATIENCE_MS;
	for (i = 0; i < count; i++) {
		if (i < KVP_MAX_LEGS)
			hear(fds[i], pids[i], deadline, type[i]);
		else
			*type[i] = 0;
	}
}

/* --- wiping ----------------------------------------------------------------------------- */

struct wiping {
	const struct device *d;
	const struct label *l;
	bool in_use;
	struct signature_list *done, *left;
};

static bool may_go(void *arg, const struct signature *s)
{
	struct wiping *w = arg;
	bool ours = !foreign_free(w->d, w->l, s->offset, s->bytes, w->in_use);
	struct signature_list *list = ours ? w->left : w->done;

	if (list->count < SIGNATURES_MAX)
		list->list[list->count++] = *s;
	return !ours;
}

int foreign_wipe(const struct device *d, const struct label *l, int fd, bool in_use,
		 struct signature_list *done, struct signature_list *left, struct err *err)
{
	struct wiping w = { d, l, in_use, done, left };

	done->count = left->count = 0;
	return signature_each(d->path, fd, may_go, &w, err);
}
