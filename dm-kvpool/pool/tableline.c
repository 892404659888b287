// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/kind.h"
#include "format/logplace.h"
#include "format/shadow.h"
#include "format/tunables.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/tableline.h"

#define MAX_OPTIONS	64

static int bad(struct kvp_line *l, const char *error)
{
	l->error = error;
	return -EINVAL;
}

static char *next_word(struct kvp_line *l)
{
	if (!l->argc)
		return NULL;
	l->argc--;
	return *l->argv++;
}

/* Read how many words follow, and check that they are there: @min to @max of them. */
static int read_count(struct kvp_line *l, u32 min, u32 max, const char *error, u32 *n)
{
	const char *word = next_word(l);

	/* dm_read_arg() would read 4294967298 as 2. */
	if (!word || kstrtouint(word, 10, n) || *n < min || *n > max)
		return bad(l, error);
	if (*n > l->argc)
		return bad(l, "the line ends too early");
	return 0;
}

/* --- options ---------------------------------------------------------------------------- */

static int parse_uuid(struct kvp_line *l, struct kvp_start *s)
{
	const char *word = next_word(l);
	uuid_t uuid;

	if (!word)
		return bad(l, "the line is empty");
	if (!strcmp(word, "-")) {
		s->any_uuid = true;
		return 0;
	}
	if (uuid_parse(word, &uuid))
		return bad(l, "UUID is neither '-' nor a UUID");
	export_uuid(s->uuid, &uuid);
	return 0;
}

bool kvp_name_valid(const char *name)
{
	const char *p;

	for (p = name; *p; p++)
		if (!isascii(*p) || (!isalnum(*p) && !strchr("_.-", *p)))
			return false;
	return isalpha(*name) && p - name <= KVP_NAME_LEN;
}

/* "ID:NAME" of this host, as kvpoolctl writes it. */
static int parse_host(struct kvp_line *l, struct kvp_start *s, char *value)
{
	char *name = strchr(value, ':');

	l->error = "host is not a hexadecimal number, ':' and a name of at most 64 characters";
	if (!name)
		return -EINVAL;
	*name++ = 0;
	if (strscpy(s->host_name, name, sizeof(s->host_name)) < 0 || !kvp_text_valid(s->host_name))
		return -EINVAL;
	return kstrtou64(value, 16, &s->host);
}

/*
 * Sizes, for format and add. 0 is refused: it would mean the default, and a number that wraps may
 * become 0. A size of less than a block is refused, since it would become 0, too.
 */
static const struct {
	const char *key;
	size_t at;
	const char *error;
} sizes[] = {
	{ "log_size", offsetof(struct kvp_start, log_bytes),
	  "log_size is no number of bytes from 4096 on; suffixes are K, M, G and T" },
	{ "size", offsetof(struct kvp_start, leg_bytes),
	  "size is no number of bytes from 4096 on; suffixes are K, M, G and T" },
	{ "chunk", offsetof(struct kvp_start, chunk_bytes),
	  "chunk is no number of bytes from 4096 on; suffixes are K, M, G and T" },
	{ "cache_dirty_max", offsetof(struct kvp_start, dirty_bytes),
	  "cache_dirty_max is no number of bytes from 4096 on; suffixes are K, M, G and T" },
};

/* Returns 1 if @key is no size. */
static int parse_size(struct kvp_line *l, struct kvp_start *s, const char *key, const char *value)
{
	u64 bytes;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (strcmp(key, sizes[i].key))
			continue;
		if (kvp_bytes_parse(value, &bytes) || bytes < KVP_BLOCK_SIZE)
			return bad(l, sizes[i].error);
		*(u64 *)((u8 *)s + sizes[i].at) = bytes;
		return 0;
	}
	return 1;
}

static int parse_tunable(struct kvp_line *l, struct kvp_start *s, const char *key,
			 const char *value)
{
	struct kvp_why why = { "" };
	int id = kvp_tunable_find(key), ret;

	if (id < 0)
		return bad(l, "unknown option");
	ret = kvp_tunable_parse(id, value, &s->tunables[id], &why);
	s->tunable_mask |= BIT_ULL(id);
	if (!ret)
		return 0;
	l->error = "value of a tunable is not of its kind or out of range";
	return kvp_refuse(l->refusal, ret, "give a value in that range", "%s", why.text);
}

/* "replaces=UUID": the leg that leaves when the new one is in sync. */
static int parse_replaces(struct kvp_line *l, struct kvp_start *s, const char *value)
{
	uuid_t uuid;

	if (strlen(value) != UUID_STRING_LEN || uuid_parse(value, &uuid))
		return bad(l, "replaces is no UUID of a leg");
	export_uuid(s->leaves, &uuid);
	s->replaces = true;
	return 0;
}

/*
 * "shadow=DEV": the device that is to take the place of a leg of a parity1. "-": the device is
 * missing; or, with replace, the order is cancelled. Allowed once: an open device must not be
 * forgotten.
 */
static int parse_shadow(struct kvp_line *l, struct kvp_start *s, const char *value)
{
	if (s->shadow_named)
		return bad(l, "shadow is named twice");
	s->shadow_named = true;
	strscpy(s->shadow.path, value, sizeof(s->shadow.path));
	if (!strcmp(value, "-"))
		return 0;
	return *value ? l->open(l, s, KVP_SHADOW, value) : bad(l, "shadow is no device");
}

static int parse_setting(struct kvp_line *l, struct kvp_start *s, const char *key, char *value)
{
	int ret;

	if (!strcmp(key, "name")) {
		if (!kvp_name_valid(value))
			return bad(l, "name is not a letter and up to 63 letters, digits, '_', '.', '-'");
		strscpy(s->name, value, sizeof(s->name));
		return 0;
	}
	if (!strcmp(key, "comment")) {
		if (strscpy(s->comment, value, sizeof(s->comment)) < 0 ||
		    !kvp_text_valid(s->comment))
			return bad(l, "comment is longer than 128 characters, or has control characters");
		return 0;
	}
	if (!strcmp(key, "host"))
		return parse_host(l, s, value);
	if (!strcmp(key, "replaces"))
		return parse_replaces(l, s, value);
	if (!strcmp(key, "shadow"))
		return parse_shadow(l, s, value);
	ret = parse_size(l, s, key, value);
	return ret > 0 ? parse_tunable(l, s, key, value) : ret;
}

static int parse_option(struct kvp_line *l, struct kvp_start *s, char *arg)
{
	static const struct {
		const char *word;
		size_t at;
	} words[] = {
		{ "format", offsetof(struct kvp_start, format) },
		{ "readonly", offsetof(struct kvp_start, readonly) },
		{ "degraded", offsetof(struct kvp_start, degraded) },
		{ "accept_fork", offsetof(struct kvp_start, accept_fork) },
		{ "undestroy", offsetof(struct kvp_start, undestroy) },
		{ "discard_log", offsetof(struct kvp_start, discard_log) },
		{ "add", offsetof(struct kvp_start, add) },
		{ "remove", offsetof(struct kvp_start, remove) },
		{ "replace", offsetof(struct kvp_start, replace) },
		{ "grow", offsetof(struct kvp_start, grow) },
	};
	char *value = strchr(arg, '=');
	u32 i;

	if (value) {
		*value++ = 0;
		return parse_setting(l, s, arg, value);
	}
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(arg, words[i].word)) {
			*((bool *)((u8 *)s + words[i].at)) = true;
			return 0;
		}
	return bad(l, "unknown option");
}

/* --- vdevs ------------------------------------------------------------------------------- */

/* Parse a missing leg. If several legs are missing and one leaves, UUIDs tell which ones stay. */
static bool parse_missing(struct kvp_start *s, u32 i, const char *arg)
{
	uuid_t uuid;

	if (!s->replace || strlen(arg) != UUID_STRING_LEN || uuid_parse(arg, &uuid))
		return !strcmp(arg, "-");
	export_uuid(s->legs[i].uuid, &uuid);
	s->legs[i].named = true;
	strscpy(s->legs[i].path, "-", sizeof(s->legs[i].path));
	return true;
}

static int parse_leg(struct kvp_line *l, struct kvp_start *s)
{
	const char *word = next_word(l);
	u32 i = s->nr_legs++;

	strscpy(s->legs[i].path, word, sizeof(s->legs[i].path));
	return parse_missing(s, i, word) ? 0 : l->open(l, s, i, word);
}

static int parse_vdev(struct kvp_line *l, struct kvp_start *s)
{
	const char *word = next_word(l);
	u32 kind = word ? kvp_kind_find(word) : 0, n;
	int ret;

	if (!kind)
		return bad(l, "vdev is neither single, mirror, parity1, cache nor cache-parity1");
	ret = read_count(l, 1, KVP_MAX_MIRROR_LEGS, "number of legs is not 1 to 16", &n);
	if (ret)
		return ret;
	if (!kvp_kind_takes(kind, n))
		return bad(l, "number of legs does not fit");
	if (s->nr_vdevs == KVP_MAX_VDEVS || n > KVP_MAX_LEGS - s->nr_legs)
		return bad(l, "more than 16 vdevs, or 48 legs");
	s->vdevs[s->nr_vdevs].kind = kind;
	s->vdevs[s->nr_vdevs++].nr_legs = n;
	if (kvp_caches_asked(s->vdevs, s->nr_vdevs) > (s->nr_vdevs > 1))
		return bad(l, "a pool has one cache at most, behind a vdev with data");
	while (!ret && n--)
		ret = parse_leg(l, s);
	return ret;
}

int kvp_line_parse(struct kvp_line *l, struct kvp_start *s)
{
	u32 n = 0;
	int ret = parse_uuid(l, s);

	if (!ret)
		ret = read_count(l, 0, MAX_OPTIONS, "number of options is not 0 to 64", &n);
	while (!ret && n--)
		ret = parse_option(l, s, next_word(l));
	if (ret)
		return ret;
	if (s->format && s->shadow_named)
		return bad(l, "shadow is for a pool that exists");
	do
		ret = parse_vdev(l, s);
	while (!ret && l->argc);
	return ret;
}
