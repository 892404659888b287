// SPDX-License-Identifier: GPL-2.0-only
/* This host, as labels name it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

#define ID_FILE		"/etc/machine-id"
#define ID_DIGITS	32
/* in an initrd the machine ID is made up at each boot */
#define INITRD_FILE	"/etc/initrd-release"

/* Each half of the digest covers half of the ID, so the ID cannot be computed from the digest. */
static u64 digest(const char *id)
{
	u32 high = kvp_crc32c(~0u, id, ID_DIGITS / 2);
	u32 low = kvp_crc32c(~0u, id + ID_DIGITS / 2, ID_DIGITS / 2);

	return ((u64)high << 32 | low) ?: 1;
}

static u64 read_id(void)
{
	FILE *f = access(INITRD_FILE, F_OK) ? fopen(ID_FILE, "re") : NULL;
	char id[ID_DIGITS + 2] = "";
	size_t n = 0;

	if (!f)
		return 0;
	if (!fgets(id, sizeof(id), f))
		*id = 0;
	fclose(f);
	while (isxdigit((unsigned char)id[n]))
		n++;
	return n == ID_DIGITS ? digest(id) : 0;
}

/* A name that would need quoting in a table is left out. */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-._", *name))
			return false;
	return true;
}

void host_self(struct host *h)
{
	memset(h, 0, sizeof(*h));
	h->id = read_id();
	if (gethostname(h->name, sizeof(h->name)) || h->name[KVP_NAME_LEN] || !is_plain(h->name))
		memset(h->name, 0, sizeof(h->name));
}

const char *host_word(const struct host *h, char buf[HOST_WORD])
{
	*buf = 0;
	if (h->id)
		snprintf(buf, HOST_WORD, "host=%016llx:%s", (unsigned long long)h->id, h->name);
	return buf;
}

const char *host_shown(const struct kvp_sb *sb, char buf[HOST_SHOWN])
{
	if (!sb->host)
		return NULL;
	if (*sb->host_name)
		snprintf(buf, HOST_SHOWN, "%s", sb->host_name);
	else
		snprintf(buf, HOST_SHOWN, "%016llx", (unsigned long long)sb->host);
	return buf;
}

bool host_has_other(const struct host *self, const struct kvp_sb *sb)
{
	return self->id && sb->host && sb->host != self->id &&
	       !(sb->flags & (KVP_SB_CLEAN | KVP_SB_EXPORTED));
}
