// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "marks.h"

struct mark {
	char text[48];
	u8 command[16];		/* random: the marks of one command */
	u32 leg;
};

static const char text[] = "kvpoolctl: is this a disk of its own?";

/* What block MARK_BLOCK has. */
enum seen {
	SEEN_ZEROS,
	SEEN_MARK,		/* one of this command */
	SEEN_OTHER,
};

struct marking {
	const struct device *d;
	struct mark own;
	struct {
		enum seen seen;
		u32 leg;	/* of SEEN_MARK */
	} found;
};

static enum seen take_apart(const struct marking *m, const void *block, u32 *leg)
{
	static const u8 zeros[KVP_BLOCK_SIZE];
	struct mark mark;

	memcpy(&mark, block, sizeof(mark));
	*leg = mark.leg;
	if (!memcmp(block, zeros, sizeof(zeros)))
		return SEEN_ZEROS;
	return memcmp(mark.text, m->own.text, sizeof(mark.text)) ||
	       memcmp(mark.command, m->own.command, sizeof(mark.command)) ? SEEN_OTHER : SEEN_MARK;
}

/* The path may lead elsewhere by now, but then it could not be claimed. */
static int look(void *arg, struct err *err)
{
	struct marking *m = arg;
	void *block = blocks_alloc(1);
	struct device d;
	int ret;

	if (!block)
		return err_set(err, ERR_FAILED, m->d->path, "free some memory", "out of memory");
	ret = device_open_now(m->d->path, true, &d, err);
	if (!ret) {
		ret = device_read(&d, MARK_BLOCK, 1, block);
		if (ret)
			ret = err_set(err, ERR_IO, m->d->path, "check the device",
				      "its label area cannot be read: %s", strerror(-ret));
		else
			m->found.seen = take_apart(m, block, &m->found.leg);
		device_close(&d);
	}
	free(block);
	return ret;
}

static int put(const struct marking *m, int fd, const struct mark *mark, struct err *err)
{
	u8 block[KVP_BLOCK_SIZE] = { 0 };

	if (mark)
		memcpy(block, mark, sizeof(*mark));
	if (pwrite(fd, block, sizeof(block), (off_t)MARK_BLOCK << KVP_BLOCK_SHIFT) ==
	    sizeof(block) && !fsync(fd))
		return 0;
	return err_set(err, ERR_IO, m->d->path, "check the device",
		       "its label area cannot be written: %s", strerror(errno));
}

/* Writes nothing if something is there. */
static int mark_leg(void *arg, struct err *err)
{
	struct marking *m = arg;
	int fd = device_claim(m->d, err), ret;

	if (fd < 0)
		return -1;
	ret = look(m, err);
	if (!ret && m->found.seen == SEEN_ZEROS)
		ret = put(m, fd, &m->own, err);
	close(fd);
	return ret;
}

static int clear_leg(void *arg, struct err *err)
{
	struct marking *m = arg;
	int fd = device_claim(m->d, err), ret;

	if (fd < 0)
		return -1;
	ret = look(m, err);
	if (!ret && m->found.seen == SEEN_MARK)
		ret = put(m, fd, NULL, err);
	close(fd);
	return ret;
}

static int do_leg(const struct plan *p, struct marking *m, u32 leg,
		  int (*work)(void *arg, struct err *err), struct err *err)
{
	m->d = &p->legs[leg].dev;
	m->own.leg = leg;
	return device_apart(m->d->path, work, m, &m->found, sizeof(m->found), err);
}

/* @m has looked at leg @i, where @expected should be. */
static int refuse_other(const struct plan *p, const struct marking *m, u32 i, enum seen expected,
			struct err *err)
{
	if (m->found.seen == expected && (expected == SEEN_ZEROS || m->found.leg == i))
		return 0;
	if (m->found.seen == SEEN_MARK && m->found.leg != i && m->found.leg < p->leg_count)
		return err_set(err, ERR_LISTED_TWICE, m->d->path,
			       "name each disk once; if it has several paths, set up multipath, "
			       "and name its device",
			       "it is the same disk as %.200s: what is written there is read here",
			       p->legs[m->found.leg].dev.path);
	return err_set(err, ERR_IO, m->d->path, "see what else writes there, and check the device",
		       "what is read there is not what was written");
}

static int check(const struct plan *p, struct marking *m, u32 *marked, struct err *err)
{
	u32 i;

	for (i = p->first_leg; i < p->leg_count; i++) {
		*marked = i + 1;
		if (do_leg(p, m, i, mark_leg, err) || refuse_other(p, m, i, SEEN_ZEROS, err))
			return -1;
	}
	/* a loop device may have read the second path before, and remember that */
	for (i = p->first_leg; i < p->leg_count; i++)
		if (do_leg(p, m, i, look, err) || refuse_other(p, m, i, SEEN_MARK, err))
			return -1;
	return 0;
}

int marks_check(const struct plan *p, struct err *err)
{
	struct marking m = { .d = NULL };
	u32 i, marked = p->first_leg;
	struct err ignored;
	int ret;

	if (p->leg_count - p->first_leg < 2)
		return 0;
	memcpy(m.own.text, text, sizeof(text));
	uuid_generate_random(m.own.command);
	ret = check(p, &m, &marked, err);
	for (i = p->first_leg; i < marked; i++)
		if (do_leg(p, &m, i, clear_leg, ret ? &ignored : err))
			ret = -1;
	return ret;
}
