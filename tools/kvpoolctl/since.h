/* SPDX-License-Identifier: GPL-2.0-only */
/* The value of --since, which is a checkpoint of a pool: NUMBER or NUMBER@TAG (format/point.h). */
#ifndef KVPOOLCTL_SINCE_H
#define KVPOOLCTL_SINCE_H

#include "ctl.h"
#include "format/point.h"

/** since_usage() - 0, or if @text names no checkpoint: report that; returns the exit status */
int since_usage(struct ctl *ctl, const char *text);

#endif
