// SPDX-License-Identifier: GPL-2.0-only
/* Makes devices blank before they become legs. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "plan.h"
#include "signature.h"

#define LABEL_BYTES	((size_t)KVP_LABEL_BLOCKS << KVP_BLOCK_SHIFT)

static int zero_label(int fd, u64 at, const struct device *d, struct err *err)
{
	static const char zeros[1 << 20];

	_Static_assert(sizeof(zeros) == KVP_LABEL_BLOCKS * KVP_BLOCK_SIZE, "a label area");
	if (pwrite(fd, zeros, LABEL_BYTES, (off_t)at) != (ssize_t)LABEL_BYTES)
		return err_set(err, ERR_IO, d->path, "check the device",
			       "its label area cannot be zeroed: %s", strerror(errno));
	return 0;
}

struct wiping {
	const struct plan *p;
	const struct plan_leg *leg;
};

static int wipe_leg(void *arg, struct err *err)
{
	const struct wiping *w = arg;
	const struct plan_leg *leg = w->leg;
	int fd = device_claim(&leg->dev, err), ret = 0;

	if (fd < 0)
		return -1;
	if (w->p->force)
		ret = signature_wipe(fd, leg->dev.path, err);
	if (!ret)
		ret = zero_label(fd, 0, &leg->dev, err);
	if (!ret)
		ret = zero_label(fd, (leg->dev.blocks - KVP_LABEL_BLOCKS) << KVP_BLOCK_SHIFT,
				 &leg->dev, err);
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
		if (!p->legs[i].spare)
			ret = plan_wipe_leg(p, &p->legs[i], err);
	return ret;
}
