// SPDX-License-Identifier: GPL-2.0-only
/* KEY=VALUE: tunables, and the comment. */
#include "setting.h"

const char *tunable_unit(unsigned int id)
{
	switch (kvp_tunables[id].unit) {
	case KVP_UNIT_BYTES:		return "bytes";
	case KVP_UNIT_MS:		return "ms";
	case KVP_UNIT_S:		return "s";
	case KVP_UNIT_BYTES_PER_S:	return "bytes/s";
	case KVP_UNIT_DWPD:		return "drive writes/day";
	case KVP_UNIT_PERCENT:		return "%";
	case KVP_UNIT_TIMES:		return "times";
	default:			return "word";
	}
}

void tunable_show(const struct ctl *ctl, unsigned int id, const char *value, char *buf,
		  size_t size)
{
	enum kvp_unit unit = kvp_tunables[id].unit;
	char exact[SIZE_BUF];

	if (!ctl->plain && (unit == KVP_UNIT_BYTES || unit == KVP_UNIT_BYTES_PER_S))
		value = size_exact(strtoull(value, NULL, 10), exact);
	snprintf(buf, size, "%s", value);
}

static int parse_comment(const char *text, struct setting *s, struct err *err)
{
	const char *p;

	if (strlen(text) > KVP_COMMENT_LEN)
		return err_set(err, ERR_USAGE, KEY_COMMENT, "shorten it",
			       "a comment has at most %d bytes", KVP_COMMENT_LEN);
	for (p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			return err_set(err, ERR_USAGE, KEY_COMMENT, "leave them out",
				       "a comment cannot have control characters");
	if (!word_escape(text, s->value, sizeof(s->value)))
		return err_set(err, ERR_USAGE, KEY_COMMENT, "shorten it", "it is too long");
	return 0;
}

static int parse_dirty_max(const char *value, struct setting *s, struct err *err)
{
	u64 bytes = 0;

	if (kvp_bytes_parse(value, &bytes) ||
	    bytes >> KVP_BLOCK_SHIFT < KVP_LOG_WINDOW_LEAST ||
	    bytes >> KVP_BLOCK_SHIFT > KVP_LOG_WINDOW_MOST)
		return err_set(err, ERR_USAGE, KEY_DIRTY_MAX, "give 64M to 64G",
			       "not a size from 64 MiB to 64 GiB");
	snprintf(s->value, sizeof(s->value), "%" PRIu64, bytes);
	return 0;
}

int setting_parse(const char *text, struct setting *s, struct err *err)
{
	const char *value = strchr(text, '=');
	struct kvp_why why;
	int id, ret;
	u64 number;

	if (!value || value == text)
		return err_set(err, ERR_USAGE, text, "give it as KEY=VALUE", "not KEY=VALUE");
	if ((size_t)snprintf(s->key, sizeof(s->key), "%.*s", (int)(value - text), text) >=
	    sizeof(s->key))
		*s->key = 0;
	value++;
	if (!strcmp(s->key, KEY_COMMENT))
		return parse_comment(value, s, err);
	if (!strcmp(s->key, KEY_DIRTY_MAX))
		return parse_dirty_max(value, s, err);
	if (!strcmp(s->key, "log_size") || !strcmp(s->key, "size") || !strcmp(s->key, "chunk"))
		return err_set(err, ERR_USAGE, text, "make a pool with it: kvpoolctl create -o",
			       "it can be given only when a pool is made");
	id = kvp_tunable_find(s->key);
	if (id < 0)
		return err_set(err, ERR_USAGE, text, "kvpoolctl get lists the tunables",
			       "not a tunable");
	why.text[0] = 0;
	ret = kvp_tunable_parse((unsigned int)id, value, &number, &why);
	if (ret)
		return err_set(err, ERR_USAGE, text, why.text, "%s", ret == -ERANGE ?
			       "the value is out of range" : "not a value of this tunable");
	kvp_tunable_print((unsigned int)id, number, s->value, sizeof(s->value));
	return 0;
}

int setting_apply(const char *pool, const struct setting *s, struct err *err)
{
	char message[sizeof(*s) + 16];

	snprintf(message, sizeof(message), "set %s %s", s->key, s->value);
	return dm_message(pool, message, NULL, err);
}
