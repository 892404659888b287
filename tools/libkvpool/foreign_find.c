// SPDX-License-Identifier: GPL-2.0-only
/* Looking for signatures on many devices at once, without waiting for disks that hang. */
#include <stdio.h>
#include <stdlib.h>

#include "foreign.h"
#include "remember.h"
#include "watched.h"

#define PATIENCE	2	/* seconds */
#define MOST		(KVP_MAX_LEGS + 1)	/* a pool, and what is to replace a leg of it */

/* The path of a leg that is missing may not exist: then there is nothing to probe. */
static int probe(void *arg, FILE *out)
{
	char type[SIGNATURE_TYPE];
	struct err err;
	int ret = signature_find(arg, type, sizeof(type), &err);

	return ret < 0 || (ret && fputs(type, out) < 0);
}

/*
 * Was there no signature, and was nothing written since (remember.h)? Signatures are not
 * remembered. Else *@rdev is 0, or @before is the stamp before @path is read.
 */
static bool is_clean(const struct memory *m, const char *path, dev_t *rdev, struct stamp *before)
{
	if (device_find(path, rdev) || !stamp_take(*rdev, before))
		*rdev = 0;
	return *rdev && memory_find(m, *rdev, before);
}

/* @sure: what cannot be looked at is told */
static void probe_all(const char *const *paths, unsigned int count, struct watched *w,
		      struct memory *m, bool sure, char (*type)[SIGNATURE_TYPE])
{
	struct stamp before[MOST];
	unsigned int i, n = 0, of[MOST];
	dev_t rdev[MOST];

	for (i = 0; i < count && n < MOST; i++) {
		if (is_clean(m, paths[i], &rdev[n], &before[n]))
			continue;
		of[n] = i;
		w[n++] = (struct watched){ .work = probe, .arg = (void *)paths[i] };
	}
	watched_all(w, n, sure ? (int)device_patience : PATIENCE);
	for (i = 0; i < n; i++) {
		snprintf(type[of[i]], sizeof(type[of[i]]), "%s",
			 w[i].text ?: sure && w[i].error ? FOREIGN_UNKNOWN : "");
		if (rdev[i] && !w[i].error && !*type[of[i]])
			memory_keep(m, rdev[i], &before[i], NULL, 0);
		free(w[i].text);
	}
}

static void find(const char *const *paths, unsigned int count, bool sure,
		 char (*type)[SIGNATURE_TYPE])
{
	struct watched *w = calloc(count + 1, sizeof(*w));
	struct memory m;
	unsigned int i;

	for (i = 0; i < count; i++)
		snprintf(type[i], sizeof(type[i]), "%s", !w && sure ? FOREIGN_UNKNOWN : "");
	if (!w)
		return;
	memory_open(&m, "signatures");
	probe_all(paths, count, w, &m, sure, type);
	memory_close(&m);
	free(w);
}

void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	find(paths, count, false, type);
}

void foreign_find_sure(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	find(paths, count, true, type);
}
