/* SPDX-License-Identifier: GPL-2.0-only */
/* What `top` shows: pools, their legs, what runs in the background, and the last events. */
#ifndef KVPOOLCTL_TOP_VIEW_H
#define KVPOOLCTL_TOP_VIEW_H

#include "ctl.h"

struct top;

/** top_new() - watch the pool @name, which stays in use; NULL: all pools */
struct top *top_new(const char *name);
void top_free(struct top *t);

/**
 * top_take() - take all counters; rates are those since the last call
 *
 * Return: 0; or -1 with @err: device-mapper did not answer, and the last view stays; or the named
 * pool is not active. What a single one of several pools does not answer is shown in its place.
 */
int top_take(struct top *t, struct err *err);

/**
 * top_draw() - draw what was taken
 * @events: at most so many of the last events
 *
 * Lines of pools and titles begin in the first column, all others with a blank.
 */
void top_draw(const struct ctl *ctl, const struct top *t, unsigned int events, FILE *out);

#endif
