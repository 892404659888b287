/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries of the systemd journal, with fields: a datagram in the journal's native protocol. Without
 * a journal, or with one that takes nothing for two seconds, the message goes to standard error.
 */
#ifndef KVPOOL_MONITOR_JOURNAL_H
#define KVPOOL_MONITOR_JOURNAL_H

#include <stddef.h>

#define JOURNAL_SOCKET	"/run/systemd/journal/socket"
#define JOURNAL_ENTRY	4096	/* bytes of an entry */

/* Priorities, as of syslog(3). */
enum priority { PRI_ALERT = 1, PRI_CRIT, PRI_ERR, PRI_WARNING, PRI_NOTICE, PRI_INFO };

struct journal_entry {
	size_t len;
	char data[JOURNAL_ENTRY];
};

/** journal_open() - send all entries to the socket @path */
void journal_open(const char *path);

/** journal_begin() - begin an entry with a message for people */
void journal_begin(struct journal_entry *e, enum priority priority, const char *message);

/**
 * journal_field() - add the field KVPOOL_@key, in capitals
 *
 * A field that does not fit any more, and a @key that the journal would not take, are left out. A
 * value may have line breaks.
 */
void journal_field(struct journal_entry *e, const char *key, const char *value);

/** journal_send() - send an entry */
void journal_send(const struct journal_entry *e);

/** journal_say() - an entry with nothing but a message */
void journal_say(enum priority priority, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
