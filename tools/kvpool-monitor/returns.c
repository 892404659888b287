// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "returns.h"

static struct leg_device *first;

static struct leg_device *find(const char *leg)
{
	struct leg_device *d;

	for (d = first; d; d = d->next)
		if (!strcmp(d->leg, leg))
			return d;
	return NULL;
}

static struct leg_device *find_or_make(const char *leg)
{
	struct leg_device *d = find(leg);

	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		abort();
	snprintf(d->leg, sizeof(d->leg), "%s", leg);
	d->next = first;
	first = d;
	return d;
}

/* The pause after so many tries. */
static time_t pause_after(unsigned int tries)
{
	time_t pause = RETURN_PAUSE;

	while (--tries && pause < RETURN_PAUSE_MAX)
		pause *= 2;
	return pause < RETURN_PAUSE_MAX ? pause : RETURN_PAUSE_MAX;
}

/* The earliest time for a try, if one is wanted now. */
static time_t allowed(struct leg_device *d, time_t now)
{
	time_t soon = now + RETURN_SETTLE, then;

	if (!d->tries)
		return soon;
	if (now - d->tried >= RETURN_FORGET) {
		d->tries = 0;
		return soon;
	}
	then = d->tried + pause_after(d->tries);
	return then > soon ? then : soon;
}

void returns_appeared(const char *pool, const char *leg, const char *node, u64 seq, bool anew,
		      time_t now)
{
	struct leg_device *d;

	returns_gone(node);	/* another leg may have had that name */
	d = find_or_make(leg);
	snprintf(d->pool, sizeof(d->pool), "%s", pool);
	snprintf(d->node, sizeof(d->node), "%s", node);
	d->seq = seq;
	d->present = true;
	if (!anew)
		return;
	d->fresh = true;
	d->failed = 0;
	d->due = allowed(d, now);
}

void returns_gone(const char *node)
{
	struct leg_device *d;

	for (d = first; d; d = d->next) {
		if (!d->present || strcmp(d->node, node))
			continue;
		d->present = d->fresh = false;
		d->due = 0;
	}
}

void returns_keep(bool (*there)(void *arg, const char *node), void *arg)
{
	struct leg_device *d;

	for (d = first; d; d = d->next)
		if (d->present && !there(arg, d->node))
			returns_gone(d->node);
}

bool returns_known(const char *leg, const char *node, u64 seq)
{
	struct leg_device *d = find(leg);

	return d && d->present && !strcmp(d->node, node) && (!seq || !d->seq || d->seq == seq);
}

void returns_lost(const char *leg, time_t now)
{
	struct leg_device *d = find(leg);

	if (d && d->present && d->fresh && !d->due)
		d->due = allowed(d, now);
}

void returns_started(const char *leg, bool missing, time_t now)
{
	struct leg_device *d = find(leg);

	if (!d || !d->present)
		return;
	d->fresh = missing;
	d->failed = 0;
	d->due = missing ? allowed(d, now) : 0;
}

void returns_settled(const char *leg)
{
	struct leg_device *d = find(leg);

	if (!d)
		return;
	d->fresh = false;
	d->due = 0;
}

void returns_wait(struct leg_device *d)
{
	d->due = 0;
}

void returns_later(struct leg_device *d, time_t now)
{
	d->due = now + RETURN_PAUSE;
}

struct leg_device *returns_due(time_t now)
{
	struct leg_device *d;

	for (d = first; d; d = d->next)
		if (d->due && d->due <= now)
			return d;
	return NULL;
}

time_t returns_next(void)
{
	const struct leg_device *d;
	time_t next = 0;

	for (d = first; d; d = d->next)
		if (d->due && (!next || d->due < next))
			next = d->due;
	return next;
}

/* A try that fails is repeated after the pause, if the device is still there. */
void returns_begin(struct leg_device *d, time_t now)
{
	d->tried = now;
	d->tries++;
	d->due = now + pause_after(d->tries);
}

bool returns_ended(const char *leg, bool ok)
{
	struct leg_device *d = find(leg);

	if (ok)
		returns_settled(leg);
	if (ok || !d || !d->present || !d->fresh || ++d->failed < RETURN_TRIES)
		return true;
	returns_settled(leg);
	return false;
}

void returns_follow(const char *was, const char *leg)
{
	struct leg_device *d = find_or_make(leg), *old = find(was);

	if (!old)
		return;
	d->tried = old->tried;
	d->tries = old->tries;
	returns_settled(was);
	returns_settled(leg);
}

unsigned int returns_ssd(const char *leg)
{
	const struct leg_device *d = find(leg);

	return d ? d->ssd : 0;
}

void returns_forget(void)
{
	struct leg_device *d;

	while ((d = first)) {
		first = d->next;
		free(d);
	}
}
