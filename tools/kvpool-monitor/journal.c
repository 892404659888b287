// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <ctype.h>
#include <endian.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal.h"

#define KEY_MAX		64	/* of the journal */
#define PATIENCE	2	/* seconds, with a journal that takes nothing */

static struct sockaddr_un to = { .sun_family = AF_UNIX };
static int fd = -1;

void journal_open(const char *path)
{
	struct timeval limit = { .tv_sec = PATIENCE };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/*
 * "KEY=value\n"; or if the value has line breaks "KEY\n", its length as 64 bits, little endian, the
 * value, "\n".
 */
static void add(struct journal_entry *e, const char *key, const char *value)
{
	size_t key_len = strlen(key), len = strlen(value);
	uint64_t size = htole64(len);
	char *at = e->data + e->len;
	int lines = !!strchr(value, '\n');

	if (e->len + key_len + len + 2 + (lines ? sizeof(size) : 0) > sizeof(e->data))
		return;
	at = mempcpy(at, key, key_len);
	*at++ = lines ? '\n' : '=';
	if (lines)
		at = mempcpy(at, &size, sizeof(size));
	at = mempcpy(at, value, len);
	*at++ = '\n';
	e->len = (size_t)(at - e->data);
}

void journal_begin(struct journal_entry *e, enum priority priority, const char *message)
{
	char digit[2] = { (char)('0' + priority), 0 };

	e->len = 0;
	add(e, "PRIORITY", digit);
	add(e, "SYSLOG_IDENTIFIER", "kvpool-monitor");
	add(e, "MESSAGE", message);
}

void journal_field(struct journal_entry *e, const char *key, const char *value)
{
	char name[KEY_MAX + 1];
	size_t i, n = (size_t)snprintf(name, sizeof(name), "KVPOOL_%s", key);

	if (n >= sizeof(name))
		return;
	for (i = 0; i < n; i++) {
		name[i] = (char)toupper((unsigned char)name[i]);
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return;
	}
	add(e, name, value);
}

/* The message is the third field. */
static void print(const struct journal_entry *e)
{
	const char *message = memmem(e->data, e->len, "MESSAGE", 7);
	const char *end = message ? memchr(message + 8, '\n',
					   e->len - (size_t)(message + 8 - e->data))
				  : NULL;

	if (end)
		fprintf(stderr, "kvpool-monitor: %.*s\n", (int)(end - message - 8), message + 8);
}

void journal_send(const struct journal_entry *e)
{
	if (fd < 0 || sendto(fd, e->data, e->len, MSG_NOSIGNAL, (const struct sockaddr *)&to,
			     sizeof(to)) < 0)
		print(e);
}

void journal_say(enum priority priority, const char *format, ...)
{
	struct journal_entry e;
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	text[strcspn(text, "\n")] = 0;
	journal_begin(&e, priority, text);
	journal_send(&e);
}
