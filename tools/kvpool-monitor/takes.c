// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "takes.h"

struct spare {
	char pool[UUID_BUF], node[TAKE_NODE];
	bool rotates;
	struct spare *next;
};

static struct lost_leg *first;
static struct spare *spares;

static struct lost_leg **find(const char *leg)
{
	struct lost_leg **at = &first;

	while (*at && strcmp((*at)->leg, leg))
		at = &(*at)->next;
	return at;
}

/* For a leg with data the tool knows more. */
static bool may_fit(const struct spare *s, const struct lost_leg *l)
{
	return !strcmp(s->pool, l->pool) && !(l->ssd && s->rotates);
}

static bool has_spare(const struct lost_leg *l)
{
	const struct spare *s;

	for (s = spares; s; s = s->next)
		if (may_fit(s, l))
			return true;
	return false;
}

void takes_lost(const char *pool, const char *leg, bool ssd, unsigned int grace, time_t now)
{
	struct lost_leg *l;

	if (!grace || *find(leg))
		return;
	l = calloc(1, sizeof(*l));
	if (!l)
		abort();
	snprintf(l->pool, sizeof(l->pool), "%s", pool);
	snprintf(l->leg, sizeof(l->leg), "%s", leg);
	l->ssd = ssd;
	l->since = now;
	l->due = now + (time_t)grace;
	l->next = first;
	first = l;
}

void takes_settled(const char *leg)
{
	struct lost_leg **at = find(leg), *l = *at;

	if (!l)
		return;
	*at = l->next;
	free(l);
}

const char *takes_spare_of(const char *node)
{
	const struct spare *s;

	for (s = spares; s; s = s->next)
		if (!strcmp(s->node, node))
			return s->pool;
	return NULL;
}

const char *takes_spare_without(bool (*there)(void *arg, const char *node), void *arg)
{
	static char node[TAKE_NODE];
	const struct spare *s;

	for (s = spares; s; s = s->next) {
		if (there(arg, s->node))
			continue;
		/* the spare may be forgotten while the name is used */
		snprintf(node, sizeof(node), "%s", s->node);
		return node;
	}
	return NULL;
}

void takes_spare_gone(const char *node)
{
	struct spare **at = &spares, *s;

	while ((s = *at)) {
		if (strcmp(s->node, node)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
	}
}

void takes_spare(const char *pool, const char *node, bool rotates, time_t now)
{
	const char *was = takes_spare_of(node);
	bool new = !was || strcmp(was, pool);
	struct spare *s = calloc(1, sizeof(*s));
	struct lost_leg *l;

	if (!s)
		abort();
	takes_spare_gone(node);
	snprintf(s->pool, sizeof(s->pool), "%s", pool);
	snprintf(s->node, sizeof(s->node), "%s", node);
	s->rotates = rotates;
	s->next = spares;
	spares = s;
	for (l = first; l; l = l->next) {
		if (!may_fit(s, l))
			continue;
		if (new && l->tries) {
			/* The tries that failed may have lacked just this spare. */
			l->tries = 0;
			l->due = now + TAKE_SETTLE;
		} else if (l->due && l->due < now + TAKE_SETTLE) {
			l->due = now + TAKE_SETTLE;
		}
	}
}

time_t takes_next(void)
{
	const struct lost_leg *l;
	time_t next = 0;

	for (l = first; l; l = l->next)
		if (l->due && has_spare(l) && (!next || l->due < next))
			next = l->due;
	return next;
}

struct lost_leg *takes_due(time_t now)
{
	struct lost_leg *l;

	for (l = first; l; l = l->next)
		if (l->due && l->due <= now && has_spare(l))
			return l;
	return NULL;
}

void takes_later(struct lost_leg *l, time_t now)
{
	l->due = now + TAKE_LATER;
}

void takes_begin(struct lost_leg *l, time_t now)
{
	l->due = ++l->tries < TAKE_TRIES ? now + ((time_t)TAKE_PAUSE << (l->tries - 1)) : 0;
}

/* Of the failures, the first and the last. */
bool takes_ended(const char *leg, bool ok)
{
	const struct lost_leg *l = *find(leg);
	bool tell = ok || (l && (l->tries == 1 || l->tries == TAKE_TRIES));

	if (ok)
		takes_settled(leg);
	return tell;
}

void takes_forget(void)
{
	struct spare *s;

	while (first)
		takes_settled(first->leg);
	while ((s = spares)) {
		spares = s->next;
		free(s);
	}
}
