// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "host.h"
#include "reload.h"

/* the words before the vdevs: UUID, number of options, options */
const char *table_vdevs(const char *params)
{
	unsigned int n;
	int at = 0;

	if (sscanf(params, "%*s %u%n", &n, &at) != 1)
		return NULL;
	while (n-- && params[at])
		at += 1 + (int)strcspn(params + at + 1, " ");
	return params + at;
}

const char *table_cache(const char *vdevs)
{
	const char *cache = strstr(vdevs, " cache ");

	return cache ?: strstr(vdevs, " cache-parity1 ");
}

bool table_leg(const char *vdevs, unsigned int leg, char *word, size_t size)
{
	unsigned int legs;
	int at;

	while (sscanf(vdevs, " %*s %u%n", &legs, &at) == 1) {
		vdevs += at;
		for (; legs && *vdevs; legs--) {
			at = 1 + (int)strcspn(vdevs + 1, " ");
			if (!leg--)
				return snprintf(word, size, "%.*s", at - 1, vdevs + 1) < (int)size;
			vdevs += at;
		}
	}
	return false;
}

void table_again(const char *uuid, const char *params, char *buf, size_t size)
{
	char word[HOST_WORD];
	struct host self;

	host_self(&self);
	host_word(&self, word);
	snprintf(buf, size, "%s %u%s%s%s", uuid, !!*word, *word ? " " : "", word,
		 table_vdevs(params));
}
