/* SPDX-License-Identifier: GPL-2.0-only */
/* KEY=VALUE: tunables, and the comment. */
#ifndef KVPOOLCTL_SETTING_H
#define KVPOOLCTL_SETTING_H

#include "ctl.h"
#include "format/tunables.h"

#define KEY_COMMENT	"comment"
#define KEY_DIRTY_MAX	"cache_dirty_max"
#define VALUE_LEN	(2 * KVP_COMMENT_LEN + 3)

struct setting {
	char key[32];
	char value[VALUE_LEN];		/* in the module's form: plain bytes, words escaped */
};

/** setting_parse() - check KEY=VALUE; -1 with @err (wrong usage) */
int setting_parse(const char *text, struct setting *s, struct err *err);

/**
 * setting_apply() - send it to the module; durable at the return. For cache_mode use
 * drain_set_mode(), for cache_dirty_max drain_set_dirty_max()
 */
int setting_apply(const char *pool, const struct setting *s, struct err *err);

/** tunable_show() - the module's value, for people: sizes with a suffix */
void tunable_show(const struct ctl *ctl, unsigned int id, const char *value, char *buf,
		  size_t size);

/** tunable_unit() - "bytes", "ms", "bytes/s" or "word" */
const char *tunable_unit(unsigned int id);

#endif
