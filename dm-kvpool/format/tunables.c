// SPDX-License-Identifier: GPL-2.0-only
/* The table of tunables, and reading and printing of their values. */
#include "format/heartbeat.h"
#include "format/tunables.h"

#define MIB	(1ull << 20)
#define GIB	(1ull << 30)

#ifndef KVP_TABLE_CACHE_LEAST	/* simulation */
#define KVP_TABLE_CACHE_LEAST	(4 * MIB)
#endif

const struct kvp_tunable kvp_tunables[KVP_TUNABLES] = {
	[KVP_T_WRITE_BUFFER] = { "write_buffer", KVP_UNIT_BYTES, 4 * MIB, 64 * GIB, 64 * MIB, NULL,
		"RAM for blocks that are not yet home" },
	[KVP_T_COMMIT_INTERVAL_MS] = { "commit_interval_ms", KVP_UNIT_MS, 1, 600000, 1000, NULL,
		"longest time that a write without FLUSH stays in RAM only" },
	[KVP_T_TABLE_CACHE] = { "table_cache", KVP_UNIT_BYTES, KVP_TABLE_CACHE_LEAST, 1024 * GIB,
		64 * MIB, NULL,
		"RAM for pages of the checksum table; 2 MiB of data need 4 KiB" },
	[KVP_T_STRICT] = { "strict", KVP_UNIT_WORD, 0, 1, 0, "0|1",
		"1: large writes go through the log as well" },
	[KVP_T_FAILMODE] = { "failmode", KVP_UNIT_WORD, 0, 1, 0, "error|wait",
		"with no leg left, writes and flushes fail, or wait for 'clear'" },
	[KVP_T_DEGRADED_START] = { "degraded_start", KVP_UNIT_WORD, 0, 1, 0, "ask|auto",
		"auto: start without legs that may hold newer data" },
	[KVP_T_AUTOIMPORT] = { "autoimport", KVP_UNIT_WORD, 0, 1, 1, "0|1",
		"1: import at boot" },
	[KVP_T_SCRUB_RATE] = { "scrub_rate", KVP_UNIT_BYTES_PER_S, 0, 1024 * GIB, 0, NULL,
		"limit of a scrub, 0 for none" },
	[KVP_T_SEQ_CUTOFF_WRITE] = { "seq_cutoff_write", KVP_UNIT_BYTES, 64 * 1024, 1 * GIB, 0,
		NULL,
		"runs or streams of writes from this size on bypass log or cache; 0: 256K, or 4M",
		true },
	[KVP_T_DESTAGE_IDLE_MS] = { "destage_idle_ms", KVP_UNIT_MS, 100, 86400000, 5000, NULL,
		"idle time after which logged data is written home anyway" },
	[KVP_T_RAM_CACHE] = { "ram_cache", KVP_UNIT_BYTES, 0, 1024 * GIB, 64 * MIB, NULL,
		"RAM for blocks that were read or written; 0: none" },
	[KVP_T_SEQ_CUTOFF_READ] = { "seq_cutoff_read", KVP_UNIT_BYTES, 64 * 1024, 1 * GIB,
		1 * MIB, NULL, "longer streams of reads are not admitted to the caches" },
	[KVP_T_CACHE_MODE] = { "cache_mode", KVP_UNIT_WORD, 0, 2, KVP_CACHE_WRITEBACK,
		"writeback|writethrough|writearound",
		"writeback: the log is on the cache; writearound: only reads are admitted" },
	[KVP_T_DESTAGE_MIN_RATE] = { "destage_min_rate", KVP_UNIT_BYTES_PER_S, 0, 1024 * GIB, 0,
		NULL,
		"least rate of writing a cache's dirty data home; 0: a full cache in an hour" },
	[KVP_T_FILL_DWPD] = { "fill_dwpd", KVP_UNIT_DWPD, 0, 100 * 100, 100, NULL,
		"limit of admitted reads, in cache sizes a day; 0: none is admitted" },
	[KVP_T_LEG_TIMEOUT] = { "leg_timeout", KVP_UNIT_S, 1, 3600, 30, NULL,
		"a redundant leg that does not answer for this long is given up; 0: never", true },
	[KVP_T_DISCARD_PASSDOWN] = { "discard_passdown", KVP_UNIT_WORD, 0, 1, 0, "0|1",
		"1: discards are passed on to SSDs among the legs" },
	[KVP_T_RESILVER_RATE] = { "resilver_rate", KVP_UNIT_BYTES_PER_S, 0, 1024 * GIB, 0, NULL,
		"limit of a resilver, 0 for none" },
	[KVP_T_ONLINE_AUTO] = { "online_auto", KVP_UNIT_WORD, 0, 1, 1, "0|1",
		"1: a leg that was lost is brought online when it is there at a start" },
	[KVP_T_RENEW_MARK] = { "renew_mark", KVP_UNIT_PERCENT, 0, 90, 60, NULL,
		"so much of cache_dirty_max is renewed on the cache, not written home; 0: nothing" },
	[KVP_T_HEARTBEAT] = { "heartbeat", KVP_UNIT_S, KVP_HEARTBEAT_LEAST, KVP_HEARTBEAT_MOST, 0,
		NULL, "seconds between two signs of life on the legs, for other hosts; 0: none", true },
	[KVP_T_SLOW_LEG] = { "slow_leg", KVP_UNIT_TIMES, 2, 1000, 10, NULL,
		"a leg that takes so many times as long as the others is read last; 0: none is", true },
};

int kvp_tunable_find(const char *key)
{
	int i;

	for (i = 0; i < KVP_TUNABLES; i++)
		if (!strcmp(key, kvp_tunables[i].key))
			return i;
	return -ENOENT;
}

bool kvp_tunable_allows(unsigned int id, u64 value)
{
	const struct kvp_tunable *t = &kvp_tunables[id];

	return (value >= t->min && value <= t->max) || (!value && t->by_itself);
}

/* Index of @text among "a|b|c", or -1. */
static int word_index(const char *words, const char *text)
{
	size_t len = strlen(text);
	int i = 0;

	for (; *words; i++) {
		size_t n = strcspn(words, "|");

		if (n == len && !memcmp(words, text, n))
			return i;
		words += n + !!words[n];
	}
	return -1;
}

static int parse_number(const char *text, bool suffix, u64 *value)
{
	static const char units[] = "KMGT";
	const char *p = text, *u;
	u64 n = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		u64 digit = (u64)(*p - '0');

		if (n > (~0ull - digit) / 10)
			return -ERANGE;
		n = n * 10 + digit;
	}
	if (p == text)
		return -EINVAL;
	if (*p && suffix) {
		u = strchr(units, *p);
		if (!u || p[1])
			return -EINVAL;
		if (n > ~0ull >> (10 * (u - units + 1)))
			return -ERANGE;
		n <<= 10 * (u - units + 1);
	} else if (*p) {
		return -EINVAL;
	}
	*value = n;
	return 0;
}

int kvp_bytes_parse(const char *text, u64 *bytes)
{
	return parse_number(text, true, bytes);
}

/* "1", "0.3", "2.25": in hundredths. */
static int parse_hundredths(const char *text, u64 *value)
{
	const char *p = text;
	u64 n = 0;
	int digits;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (n > ~0ull / 10000)
			return -ERANGE;
		n = n * 10 + (u64)(*p - '0');
	}
	if (p == text || (*p && *p != '.') || (*p == '.' && !p[1]))
		return -EINVAL;
	p += *p == '.';
	for (digits = 0; digits < 2; digits++) {
		n *= 10;
		if (*p >= '0' && *p <= '9')
			n += (u64)(*p++ - '0');
	}
	if (*p)
		return -EINVAL;
	*value = n;
	return 0;
}

static int print_hundredths(u64 value, char *buf, size_t size)
{
	unsigned long long whole = value / 100, part = value % 100;

	if (!part)
		return snprintf(buf, size, "%llu", whole);
	return part % 10 ? snprintf(buf, size, "%llu.%02llu", whole, part) :
			   snprintf(buf, size, "%llu.%llu", whole, part / 10);
}

static bool is_size(enum kvp_unit unit)
{
	return unit == KVP_UNIT_BYTES || unit == KVP_UNIT_BYTES_PER_S;
}

int kvp_tunable_parse(unsigned int id, const char *text, u64 *value, struct kvp_why *why)
{
	const struct kvp_tunable *t = &kvp_tunables[id];
	int ret;

	if (t->unit == KVP_UNIT_WORD) {
		int i = word_index(t->words, text);

		snprintf(why->text, sizeof(why->text), "%s takes %s", t->key, t->words);
		if (i < 0)
			return -EINVAL;
		*value = (u64)i;
		return 0;
	}
	ret = t->unit == KVP_UNIT_DWPD ? parse_hundredths(text, value) :
					 parse_number(text, is_size(t->unit), value);
	if (!ret && !kvp_tunable_allows(id, *value))
		ret = -ERANGE;
	if (t->unit == KVP_UNIT_DWPD) {
		snprintf(why->text, sizeof(why->text),
			 "%s takes %llu to %llu, with a point and two digits at most (drive writes a day)", t->key,
			 (unsigned long long)t->min / 100, (unsigned long long)t->max / 100);
		return ret;
	}
	snprintf(why->text, sizeof(why->text), "%s takes %s%llu to %llu%s", t->key,
		 t->by_itself ? "0, or " : "", (unsigned long long)t->min,
		 (unsigned long long)t->max,
		 t->unit == KVP_UNIT_MS ? " (milliseconds)" : t->unit == KVP_UNIT_S ? " (seconds)" :
		 t->unit == KVP_UNIT_PERCENT ? " (per cent)" :
		 t->unit == KVP_UNIT_TIMES ? " (times)" : " (bytes; suffix K, M, G or T)");
	return ret;
}

int kvp_tunable_print(unsigned int id, u64 value, char *buf, size_t size)
{
	const struct kvp_tunable *t = &kvp_tunables[id];
	const char *w = t->words;

	if (t->unit == KVP_UNIT_DWPD)
		return print_hundredths(value, buf, size);
	if (t->unit != KVP_UNIT_WORD)
		return snprintf(buf, size, "%llu", (unsigned long long)value);
	for (; value && *w; value--) {
		w += strcspn(w, "|");
		w += *w == '|';
	}
	return snprintf(buf, size, "%.*s", (int)strcspn(w, "|"), w);
}
