// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctl.h"
#include "host.h"
#include "interrupts.h"
#include "pool_object.h"
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

	while (vdevs && sscanf(vdevs, " %*s %u%n", &legs, &at) == 1) {
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

/* Options stand before the vdevs. */
dev_t table_shadow(const char *params)
{
	const char *at = strstr(params, " shadow="), *vdevs = table_vdevs(params);
	char word[64];

	if (!at || !vdevs || at >= vdevs)
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(at + 8, " "), at + 8);
	return table_device_gone(word) ? 0 : leg_device(word);
}

void table_options(const char *params, const char *options, char *buf, size_t size)
{
	dev_t shadow = table_shadow(params);
	char word[64] = "";
	const char *p;
	unsigned int n = 0;

	if (shadow)
		snprintf(word, sizeof(word), " shadow=%u:%u", major(shadow), minor(shadow));
	for (p = options; *p; p += strcspn(p, " "), p += strspn(p, " "))
		n++;
	snprintf(buf, size, "%u%s%s%s", n + !!shadow, n ? " " : "", options, word);
}

void table_again(const char *uuid, const char *params, char *buf, size_t size)
{
	char word[HOST_WORD], options[HOST_WORD + 80];
	struct host self;

	host_self(&self);
	host_word(&self, word);
	table_options(params, word, options, sizeof(options));
	snprintf(buf, size, "%s %s%s", uuid, options, table_vdevs(params));
}

bool table_holds(const char *params, dev_t rdev)
{
	const char *vdevs = table_vdevs(params);
	char word[64];
	unsigned int i;

	for (i = 0; vdevs && i < KVP_MAX_LEGS && table_leg(vdevs, i, word, sizeof(word)); i++)
		if (leg_device(word) == rdev)
			return true;
	return false;
}

/* A device that was pulled out is still in the table, and could not be opened again. */
bool table_device_gone(const char *word)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%.40s", word);
	return strcmp(word, "-") && access(path, F_OK);
}

/* Not to be interrupted: the pool must not stay suspended. */
int table_switch(struct ctl *ctl, const struct table_change *c, struct err *err)
{
	sigset_t before;
	int ret = 0;

	interrupts_hold(&before);
	ctl_busy(ctl, "writing memory home");
	dm_message(c->name, "checkpoint", NULL, NULL);
	if (c->without)
		ret = dm_reload(c->name, c->sectors, c->without, c->sectors, c->old, err);
	if (!ret)
		ret = dm_reload(c->name, c->sectors, c->table, c->sectors, c->without ?: c->old,
				err);
	ctl_busy_end();
	interrupts_release(&before);
	return ret;
}
