/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tunables of a pool: one table for module and tool. Pure, like the
 * codecs. The index is the place in the superblock and never changes.
 */
#ifndef KVP_TUNABLES_H
#define KVP_TUNABLES_H

#include "format/format.h"

enum kvp_tunable_id {
	KVP_T_WRITE_BUFFER,
	KVP_T_COMMIT_INTERVAL_MS,
	KVP_T_TABLE_CACHE,
	KVP_T_STRICT,
	KVP_T_FAILMODE,
	KVP_T_DEGRADED_START,
	KVP_T_AUTOIMPORT,
	KVP_T_SCRUB_RATE,
	KVP_T_SEQ_CUTOFF_WRITE,
	KVP_T_DESTAGE_IDLE_MS,
	KVP_T_RAM_CACHE,
	KVP_T_SEQ_CUTOFF_READ,
	KVP_T_CACHE_MODE,
	KVP_T_DESTAGE_MIN_RATE,
	KVP_T_FILL_DWPD,
	KVP_T_LEG_TIMEOUT,
	KVP_T_DISCARD_PASSDOWN,
	KVP_T_RESILVER_RATE,
	KVP_T_ONLINE_AUTO,
	KVP_T_RENEW_MARK,
	KVP_T_HEARTBEAT,
	KVP_T_SLOW_LEG,
	KVP_TUNABLES,
};

/* KVP_UNIT_DWPD: drive writes a day, counted in hundredths and written with a point */
enum kvp_unit {
	KVP_UNIT_BYTES, KVP_UNIT_MS, KVP_UNIT_S, KVP_UNIT_BYTES_PER_S, KVP_UNIT_WORD, KVP_UNIT_DWPD,
	KVP_UNIT_PERCENT, KVP_UNIT_TIMES,
};

enum kvp_cache_mode { KVP_CACHE_WRITEBACK, KVP_CACHE_WRITETHROUGH, KVP_CACHE_WRITEAROUND };

struct kvp_tunable {
	const char *key;
	enum kvp_unit unit;
	u64 min, max, def;
	const char *words;	/* KVP_UNIT_WORD: "a|b", value 0, 1, ... */
	const char *meaning;
	bool by_itself;		/* 0 is allowed, too, below @min */
};

extern const struct kvp_tunable kvp_tunables[KVP_TUNABLES];

/** kvp_tunable_find() - index of the tunable called @key, or -ENOENT */
int __must_check kvp_tunable_find(const char *key);

/**
 * kvp_tunable_parse() - read a value: a number, or one of the tunable's words
 *
 * Sizes may have a suffix K, M, G or T. Drive writes a day may have a point and up to two digits.
 *
 * Return: 0, -EINVAL (not of its kind; @why says what it takes), -ERANGE.
 */
int __must_check kvp_tunable_parse(unsigned int id, const char *text, u64 *value,
				   struct kvp_why *why);

/**
 * kvp_bytes_parse() - read a number of bytes, with a suffix K, M, G or T or without
 *
 * Return: 0, -EINVAL (no such number), -ERANGE (64 bits do not hold it).
 */
int __must_check kvp_bytes_parse(const char *text, u64 *bytes);

/** kvp_tunable_allows() - true if @value, a number, is in the range of the tunable */
bool kvp_tunable_allows(unsigned int id, u64 value);

/** kvp_tunable_print() - the value as text, plain bytes; returns the length as snprintf() */
int kvp_tunable_print(unsigned int id, u64 value, char *buf, size_t size);

#endif /* KVP_TUNABLES_H */
