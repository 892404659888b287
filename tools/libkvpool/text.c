// SPDX-License-Identifier: GPL-2.0-only
/* Reading and printing of sizes, UUIDs, times and names. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "text.h"

static const char suffixes[] = "KMGTPE";

int size_parse(const char *text, u64 *bytes)
{
	const char *unit;
	char *end;
	unsigned long long n;
	unsigned int shift = 0;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end) {
		unit = strchr("KMGT", *end);
		if (!unit || end[1])
			return -EINVAL;
		shift = 10 * (unsigned int)(strchr(suffixes, *end) - suffixes + 1);
	}
	if (shift && n > ~0ull >> shift)
		return -ERANGE;
	*bytes = n << shift;
	return 0;
}

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

/* The kernel takes 0xa0 for a space, and in UTF-8 it is part of a letter. */
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

const char *uuid_print(const u8 uuid[16], char buf[UUID_BUF])
{
	static const char hex[] = "0123456789abcdef";
	char *p = buf;
	int i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[uuid[i] >> 4];
		*p++ = hex[uuid[i] & 15];
	}
	*p = 0;
	return buf;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int uuid_parse(const char *text, u8 uuid[16])
{
	int i, hi, lo;

	if (strlen(text) != UUID_LEN)
		return -EINVAL;
	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return -EINVAL;
		hi = hex_digit(*text++);
		lo = hex_digit(*text++);
		if (hi < 0 || lo < 0)
			return -EINVAL;
		uuid[i] = (u8)(hi << 4 | lo);
	}
	return 0;
}

int uuid_make(u8 uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return -EIO;
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
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

/* Words that mean something else where a pool's name may stand, or in /dev/mapper. */
static const char *const reserved[] = {
	"single", "mirror", "parity1", "cache", "spare", "log", "ram", "pool", "leg", "vdev",
	"pools", "control", "kvpool", "kvpoolctl", "kvpool_member", "all", "none",
	"online", "offline", "degraded", "faulted", "suspended", "resilvering", "stale", "missing",
	"resilver", "drain", "poisoned", "recovery", "format", "checkpoint", "flush",
	/* commands to come */
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
