/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints sizes, UUIDs and times; checks names. */
#ifndef KVPOOLCTL_TEXT_H
#define KVPOOLCTL_TEXT_H

#include <stdbool.h>

#include "format/format.h"

#define UUID_LEN	36
#define UUID_BUF	(UUID_LEN + 1)
#define TIME_BUF	32
#define SIZE_BUF	32

/** size_print() - bytes for people: "1.5 GiB" */
const char *size_print(u64 bytes, char buf[SIZE_BUF]);

/** size_exact() - bytes without loss, as kvp_bytes_parse() reads them: "64M" */
const char *size_exact(u64 bytes, char buf[SIZE_BUF]);

/**
 * word_escape() - a word of a message to device-mapper: backslashes keep white space
 *
 * Return: false if the word does not fit.
 */
bool word_escape(const char *text, char *buf, size_t size);

/**
 * text_clean() - let text from outside be printed, and be a string of JSON
 * @keep: control characters that may stay, as "\n"; or ""
 *
 * Labels, names of devices and of pools may have any bytes, and so has what the module repeats of a
 * table or a message. Each other control character, those above ASCII included, and each byte that
 * is no part of a character of UTF-8 becomes '?'. Quotes and backslashes stay. Returns @text.
 */
char *text_clean(char *text, const char *keep);

/** uuid_print() - the usual text form, in lower case */
const char *uuid_print(const u8 uuid[16], char buf[UUID_BUF]);

/** time_print() - seconds since 1970 as RFC 3339 UTC */
const char *time_print(u64 seconds, char buf[TIME_BUF]);

/**
 * path_whole() - the path of a device for a command that is printed
 *
 * Return: @path; or "DEV", if it is longer than @max. A path that is cut may be that of another
 * device, as of another partition.
 */
const char *path_whole(const char *path, size_t max);

/**
 * name_fault() - why a pool cannot be called @name
 * @commands: names of the tool's commands, NULL at the end: they are reserved
 *
 * Return: the reason, or NULL when the name is fine.
 */
const char *name_fault(const char *name, const char *const *commands);

#endif
