// SPDX-License-Identifier: GPL-2.0-only
/* Makes devices blank before they become legs. */
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/spare.h"
#include "marks.h"
#include "plan.h"
#include "signature.h"

#define LABEL_BYTES	((size_t)KVP_LABEL_BLOCKS << KVP_BLOCK_SHIFT)

static int zero(int fd, u64 at, u64 end, const struct device *d, struct err *err)
{
	static const char zeros[LABEL_BYTES];

	if (pwrite(fd, zeros, end - at, (off_t)at) != (ssize_t)(end - at))
		return err_set(err, ERR_IO, d->path, "check the device",
			       "its label area cannot be zeroed: %s", strerror(errno));
	return 0;
}

/*
 * Zeroes the label area at @end. A spare keeps its label there until the module takes it, so that a
 * command that is interrupted leaves a spare.
 */
static int zero_label(int fd, unsigned int end, const struct plan_leg *leg, struct err *err)
{
	u64 at = end ? (leg->dev.blocks - KVP_LABEL_BLOCKS) << KVP_BLOCK_SHIFT : 0;
	u64 label = kvp_spare_offset(leg->dev.blocks, end);

	if (!leg->spare)
		return zero(fd, at, at + LABEL_BYTES, &leg->dev, err);
	return zero(fd, at, label, &leg->dev, err) ||
	       zero(fd, label + KVP_SB_SIZE, at + LABEL_BYTES, &leg->dev, err) ? -1 : 0;
}

struct wiping {
	const struct plan *p;
	const struct plan_leg *leg;
};

/*
 * Nothing held the device since it was checked, and hours may have passed. Now it is held: what is
 * seen here stays.
 */
static int check_again(const struct plan_leg *leg, struct err *err)
{
	struct plan_leg *now = calloc(1, sizeof(*now));
	struct label l;
	int ret;

	if (!now)
		return err_set(err, ERR_FAILED, leg->dev.path, "free some memory", "out of memory");
	ret = device_open_now(leg->dev.path, true, &now->dev, err);
	if (!ret) {
		ret = label_read(&now->dev, &l, err);
		if (!ret) {
			plan_note_label(now, &l);
			label_free(&l);
			ret = signature_find(leg->dev.path, now->signature,
					     sizeof(now->signature), err) < 0 ? -1 : 0;
			plan_note_former(now);
			if (!ret)
				ret = plan_leg_same(leg, now, err);
		}
		device_close(&now->dev);
	}
	free(now);
	return ret;
}

static int wipe_leg(void *arg, struct err *err)
{
	const struct wiping *w = arg;
	const struct plan_leg *leg = w->leg;
	int fd = device_claim(&leg->dev, err), ret;

	if (fd < 0)
		return -1;
	ret = check_again(leg, err);
	if (!ret && w->p->force)
		ret = signature_wipe(fd, leg->dev.path, err);
	if (!ret)
		ret = zero_label(fd, 0, leg, err);
	if (!ret)
		ret = zero_label(fd, 1, leg, err);
	if (!ret && fsync(fd))
		ret = err_set(err, ERR_IO, leg->dev.path, "check the device", "%s",
			      strerror(errno));
	/* forget the partitions; a device that is not a whole disk has none */
	if (!ret && *leg->signature && ioctl(fd, BLKRRPART))
		errno = 0;
	close(fd);
	return ret;
}

int plan_wipe_leg(const struct plan *p, const struct plan_leg *leg, struct err *err)
{
	struct wiping w = { p, leg };

	return device_apart(leg->dev.path, wipe_leg, &w, NULL, 0, err);
}

int plan_wipe(const struct plan *p, struct err *err)
{
	unsigned int i;
	int ret = 0;

	for (i = p->first_leg; !ret && i < p->leg_count; i++)
		ret = plan_wipe_leg(p, &p->legs[i], err);
	return ret ?: marks_check(p, err);
}
