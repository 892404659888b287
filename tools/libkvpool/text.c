// SPDX-License-Identifier: GPL-2.0-only
/* Prints sizes, UUIDs and times; checks names. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uuid/uuid.h>

#include "text.h"

static const char suffixes[] = "KMGTPE";

const char *size_print(u64 bytes, char buf[SIZE_BUF])
{
	int unit = -1;
	double n = (double)bytes;

	while (n >= 1024 && unit < 5) {
		n /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, SIZE_BUF, "%" PRIu64 " B", bytes);
	else
		snprintf(buf, SIZE_BUF, n < 10 ? "%.2f %ciB" : n < 100 ? "%.1f %ciB" : "%.0f %ciB",
			 n, suffixes[unit]);
	return buf;
}

const char *size_exact(u64 bytes, char buf[SIZE_BUF])
{
	int unit = 0;

	while (bytes && !(bytes & 1023) && unit < 4) {
		bytes >>= 10;
		unit++;
	}
	snprintf(buf, SIZE_BUF, "%" PRIu64 "%.*s", bytes, !!unit, unit ? &suffixes[unit - 1] : "");
	return buf;
}

/* The kernel takes 0xa0 for a space; in UTF-8 that byte is part of a letter. */
bool word_escape(const char *text, char *buf, size_t size)
{
	for (; *text; text++) {
		if (size < 3)
			return false;
		if (*text == ' ' || *text == '\\' || (unsigned char)*text > 127) {
			*buf++ = '\\';
			size--;
		}
		*buf++ = *text;
		size--;
	}
	if (!size)
		return false;
	*buf = 0;
	return true;
}

/*
 * Length of the character of UTF-8 at @s, as RFC 3629 has them: no overlong form, no surrogate,
 * nothing above U+10FFFF. 0: there is none. A byte 0 ends the text, and is never inside.
 */
static unsigned int utf8_length(const unsigned char *s)
{
	unsigned int n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 :
			 *s < 0xf5 ? 4 : 0, i;

	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Does a character of control begin at @s: of ASCII, or U+0080 to U+009F? */
static bool is_control(const unsigned char *s)
{
	return *s < ' ' || *s == 127 || (*s == 0xc2 && s[1] < 0xa0);
}

char *text_clean(char *text, const char *keep)
{
	unsigned char *s = (unsigned char *)text;
	unsigned int n;

	while (*s) {
		n = utf8_length(s);
		if (n && is_control(s) && !(n == 1 && strchr(keep, *s)))
			memset(s, '?', n);
		else if (!n)
			*s = '?';
		s += n ?: 1;
	}
	return text;
}

const char *uuid_print(const u8 uuid[16], char buf[UUID_BUF])
{
	uuid_unparse_lower(uuid, buf);
	return buf;
}

const char *time_print(u64 seconds, char buf[TIME_BUF])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	/* Four digits of year: a time read from a damaged label can be anything. */
	if (seconds > 253402300799ull || !gmtime_r(&t, &tm) ||
	    !strftime(buf, TIME_BUF, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, TIME_BUF, "9999-12-31T23:59:59Z");
	return buf;
}

const char *path_whole(const char *path, size_t max)
{
	return strlen(path) <= max ? path : "DEV";
}

/* Words with another meaning in place of a pool's name, or in /dev/mapper. */
static const char *const reserved[] = {
	"single", "mirror", "parity1", "cache", "spare", "log", "ram", "pool", "leg", "vdev",
	"pools", "control", "kvpool", "kvpoolctl", "kvpool_member", "all", "none",
	"online", "offline", "degraded", "faulted", "suspended", "resilvering", "stale", "missing",
	"resilver", "drain", "poisoned", "recovery", "format", "checkpoint", "flush",
	/* commands: a pool of such a name would be taken for one */
	"add", "remove", "attach", "detach", "replace", "grow", "cancel", "wait", "rename",
	"iostat", "top", "history", "metrics", "trim", "whois", "diff", "extract", "upgrade",
	NULL
};

static bool in_list(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

const char *name_fault(const char *name, const char *const *commands)
{
	size_t len = strlen(name);

	if (!len || len > KVP_NAME_LEN)
		return "a name has 1 to 64 characters";
	if (!isalpha((unsigned char)*name) ||
	    len != strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "0123456789_.-"))
		return "a name is a letter, then letters, digits, '_', '.' and '-'";
	if (in_list(name, reserved) || in_list(name, commands))
		return "this word is reserved";
	return NULL;
}
