/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This host, as labels name it. A pool's label names the host that runs the pool, or ran it last.
 * So another host is not led to start it as well.
 */
#ifndef KVPOOLCTL_HOST_H
#define KVPOOLCTL_HOST_H

#include <stdbool.h>

#include "format/format.h"

struct host {
	u64 id;				/* 0: unknown */
	char name[KVP_NAME_LEN + 1];	/* for people; may be empty */
};

/**
 * host_self() - this host
 *
 * A host is known by a digest of /etc/machine-id, which stays when the host is renamed. The ID
 * itself is private, so labels hold only the digest. In an initial RAM disk, and without the file,
 * the host is unknown.
 */
void host_self(struct host *h);

#define HOST_WORD	(sizeof("host=0123456789abcdef:") + KVP_NAME_LEN)

/** host_word() - @h as an option of the device-mapper table; empty if it is unknown */
const char *host_word(const struct host *h, char buf[HOST_WORD]);

#define HOST_SHOWN	(KVP_NAME_LEN + 1)

/** host_shown() - the host of @sb for people: its name, else its number; NULL: unknown */
const char *host_shown(const struct kvp_sb *sb, char buf[HOST_SHOWN]);

/** host_has_other() - does a host other than @self run the pool, or did it not stop it? */
bool host_has_other(const struct host *self, const struct kvp_sb *sb);

#endif
