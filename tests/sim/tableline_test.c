// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table lines: good ones, bad ones with the key that must be named, and random hostile ones, each
 * word in memory of its own size. An accepted line must mean what its words mean when they are read
 * in another way, with numbers that do not wrap. A refused line gets a reason.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>

#include "core/refusal.h"
#include "format/shadow.h"
#include "pool/tableline.h"
#include "suite.h"

#define MAX_WORDS	200
#define UUID		"01234567-89ab-cdef-0123-456789abcdef"

struct trial {
	struct kvp_start s;
	struct kvp_refusal refusal;
	struct kvp_line line;
	char *words[MAX_WORDS];
	u32 nr, opened;
	int ret;
};

static int open_leg(struct kvp_line *line, struct kvp_start *s, u32 leg, const char *path)
{
	struct trial *t = container_of(line, struct trial, line);

	t->opened++;
	if (!*path || (leg != KVP_SHADOW && (leg >= KVP_MAX_LEGS || s->nr_legs != leg + 1))) {
		line->error = "no such leg";
		return -ENODEV;
	}
	return 0;
}

static void add_word(struct trial *t, const char *word, size_t len)
{
	char *copy = malloc(len + 1);

	memcpy(copy, word, len);
	copy[len] = 0;
	t->words[t->nr++] = copy;
}

static void split(struct trial *t, const char *text)
{
	size_t len;

	for (; *text && t->nr < MAX_WORDS; text += len + !!text[len]) {
		len = strcspn(text, " ");
		if (len)
			add_word(t, text, len);
	}
}

/* The words as an array of their own size, too. */
static void parse(struct trial *t)
{
	char **argv = malloc((t->nr ?: 1) * sizeof(*argv));
	u32 i;

	for (i = 0; i < t->nr; i++)
		argv[i] = t->words[i];
	t->line = (struct kvp_line) {
		.argc = t->nr, .argv = argv, .refusal = &t->refusal, .open = open_leg,
	};
	t->ret = kvp_line_parse(&t->line, &t->s);
	free(argv);
}

static void forget(struct trial *t)
{
	while (t->nr)
		free(t->words[--t->nr]);
	free(t);
}

/* --- lines by hand ---------------------------------------------------------------------- */

static const struct {
	const char *line;
	const char *error;	/* NULL: it is good */
	u64 log, leg, chunk, dirty;
} lines[] = {
	{ "- 0 single 1 /dev/a" },
	{ UUID " 1 readonly mirror 2 /dev/a -" },
	{ "- 2 format log_size=8M mirror 2 /dev/a /dev/b", NULL, 8 << 20 },
	{ "- 2 format size=4096 mirror 2 /dev/a /dev/b", NULL, 0, 4096 },
	{ "- 3 format chunk=64K size=1T parity1 3 a b c", NULL, 0, 1ull << 40, 65536 },
	{ "- 1 cache_dirty_max=2G mirror 2 a b cache 1 c", NULL, 0, 0, 0, 2ull << 30 },
	{ UUID " 1 shadow=/dev/d parity1 3 a b c" },
	{ UUID " 2 replace shadow=- parity1 3 a b c" },
	{ UUID " 3 replace replaces=" UUID " shadow=8:1 parity1 3 a - c" },
	{ "- 2 shadow=a shadow=b parity1 3 a b c", "shadow is named twice" },
	{ "- 2 shadow=- shadow=b parity1 3 a b c", "shadow is named twice" },
	{ "- 1 shadow= parity1 3 a b c", "shadow is no device" },
	{ "- 1 shadow parity1 3 a b c", "unknown option" },
	{ "- 2 format shadow=d parity1 3 a b c", "shadow is for a pool that exists" },
	{ "- 2 shadow=- format parity1 3 a b c", "shadow is for a pool that exists" },
	{ "- 1 size=18446744073709551609 single 1 a", NULL, 0, 18446744073709551609ull },
	{ "- 1 size=18446744073709551615 single 1 a", NULL, 0, 18446744073709551615ull },
	{ "- 1 size=17592186044415M single 1 a", NULL, 0, 17592186044415ull << 20 },
	{ "- 1 size=17592186044416M single 1 a", "size " },
	{ "- 1 size=18446744073709551616 single 1 a", "size " },
	{ "- 1 size=184467440737095516150 single 1 a", "size " },
	{ "- 1 log_size=1M1 single 1 a", "log_size " },
	{ "- 1 chunk=4096.5 parity1 3 a b c", "chunk " },
	{ "- 1 leg_timeout=18446744073709551617 single 1 a", "tunable" },
	{ "- 1 destage_idle_ms=4294972296 single 1 a", "tunable" },
	{ "- 2 size=1M size=K single 1 a", "size " },
	{ "- 1 size=K single 1 a", "size " },
	{ "- 1 size= single 1 a", "size " },
	{ "- 1 size=0 single 1 a", "size " },
	{ "- 1 size=4095 single 1 a", "size " },
	{ "- 1 size=0K single 1 a", "size " },
	{ "- 1 size=+4096 single 1 a", "size " },
	{ "- 1 size=0x10000000 single 1 a", "size " },
	{ "- 1 size=16m single 1 a", "size " },
	{ "- 1 size=16777217T single 1 a", "size " },
	{ "- 1 log_size=18446744073709551616 single 1 a", "log_size " },
	{ "- 1 log_size=18446744073717940224 single 1 a", "log_size " },
	{ "- 1 log_size=-1 single 1 a", "log_size " },
	{ "- 1 chunk=18446744073709617152 parity1 3 a b c", "chunk " },
	{ "- 1 chunk=1E parity1 3 a b c", "chunk " },
	{ "- 1 cache_dirty_max=18014398509481985K mirror 2 a b cache 1 c", "cache_dirty_max " },
	{ "- 1 cache_dirty_max=4000 mirror 2 a b cache 1 c", "cache_dirty_max " },
	{ "- 1 write_buffer=17592186044480M single 1 a", "tunable" },
	{ "- 1 frob=1 single 1 a", "unknown option" },
	{ "- 1 frob single 1 a", "unknown option" },
	{ "- 1 host=10000000000000000:h single 1 a", "host " },
	{ "- 1 host=12 single 1 a", "host " },
	{ "- 1 name=../x single 1 a", "name " },
	{ "- 4294967296 single 1 a", "number of options" },
	{ "- 65 single 1 a", "number of options" },
	{ "- -1 single 1 a", "number of options" },
	{ "- x single 1 a", "number of options" },
	{ "- 9 format single 1 a", "too early" },
	{ "- 0 mirror 4294967298 a b", "number of legs" },
	{ "- 0 mirror 18446744073709551618 a b", "number of legs" },
	{ "- 0 mirror 0 a b", "number of legs" },
	{ "- 0 mirror 17 a b", "number of legs" },
	{ "- 0 mirror 3 a b", "too early" },
	{ "- 0 mirror 1 a", "does not fit" },
	{ "- 0 single 2 a b", "does not fit" },
	{ "- 0 parity1 2 a b", "does not fit" },
	{ "- 0 mirror 2 a b cache-parity1 2 c d", "does not fit" },
	{ "- 0 cache 1 a", "one cache" },
	{ "- 0 single 1 a cache 1 b cache 1 c", "one cache" },
	{ "- 0 single 1 a spare 1 b", "neither" },
	{ "- 0 single 1 a b", "neither" },
	{ "- 0", "neither" },
	{ "-", "number of options" },
	{ "", "empty" },
	{ "01234567-89ab-cdef-0123-456789abcde 0 single 1 a", "UUID" },
};

static bool by_hand(u32 i)
{
	struct trial *t = calloc(1, sizeof(*t));
	bool good;

	split(t, lines[i].line);
	parse(t);
	if (lines[i].error)
		good = expect(t->ret && t->line.error && strstr(t->line.error, lines[i].error),
			      "'%s': %d, %s", lines[i].line, t->ret, t->line.error ?: "taken");
	else
		good = expect(!t->ret && t->s.log_bytes == lines[i].log &&
			      t->s.leg_bytes == lines[i].leg &&
			      t->s.chunk_bytes == lines[i].chunk &&
			      t->s.dirty_bytes == lines[i].dirty,
			      "'%s': %d, %s; %llu %llu %llu %llu", lines[i].line, t->ret,
			      t->line.error ?: "-",
			      t->s.log_bytes, t->s.leg_bytes, t->s.chunk_bytes, t->s.dirty_bytes);
	forget(t);
	return good;
}

/* --- and by chance ------------------------------------------------------------------------- */

static const char *const numbers[] = {
	"0", "1", "2", "3", "4", "16", "17", "47", "48", "64", "65", "4096", "65536", "64K", "8M",
	"1G", "K",
	"-1", "+2", "", "4294967295", "4294967296", "4294967297", "4294967298",
	"9223372036854775808",
	"18446744073709551615", "18446744073709551616", "18446744073709617152", "16777216T",
	"17179869184G",
	"18014398509481984K", "18014398509481985K", "99999999999999999999999999", "0x10", "1.5",
	"1E",
};

static const char *const keys[] = {
	"log_size", "size", "chunk", "cache_dirty_max", "name", "comment", "host", "write_buffer",
	"fill_dwpd", "shadow",
	"commit_interval_ms", "strict", "failmode", "nonsense", "", "sizes", "siz",
};

static const char *const others[] = {
	"-", UUID, "format", "readonly", "replace", "add", "single", "mirror", "parity1", "cache",
	"cache-parity1",
	"/dev/a", "/dev/b", "8:1", "=", "a=", "\\", "\x80\xff", "\n",
};

#define any_of(rng, list)	((list)[rng_below(rng, ARRAY_SIZE(list))])

static void some_word(struct trial *t, struct rng *rng)
{
	char word[400];
	size_t len;

	switch (rng_below(rng, 8)) {
	case 0:
	case 1:
		snprintf(word, sizeof(word), "%s", any_of(rng, numbers));
		break;
	case 2:
	case 3:
		snprintf(word, sizeof(word), "%s=%s", any_of(rng, keys), any_of(rng, numbers));
		break;
	case 4:
		len = rng_below(rng, sizeof(word) - 10);
		snprintf(word, sizeof(word), "%s", rng_below(rng, 2) ? "name=" : "host=1:");
		memset(word + strlen(word), 'a', len);
		word[strcspn(word, "a") + len] = 0;
		break;
	default:
		snprintf(word, sizeof(word), "%s", any_of(rng, others));
	}
	add_word(t, word, strlen(word));
}

/* Mostly as a line should be, with some word replaced or left out. */
static void some_line(struct trial *t, struct rng *rng)
{
	static const char *const good[] = {
		"- 2 format size=1G mirror 2 a b", UUID " 0 parity1 3 a - c cache-parity1 3 d e f",
		"- 3 log_size=8M chunk=64K name=p parity1 4 a b c d mirror 2 e f cache 2 g h",
		UUID " 1 replace mirror 2 a b cache 2 " UUID " c",
		"- 2 replace shadow=8:1 parity1 3 a b c", "- 1 host=ff:name single 1 a",
	};
	u32 n = rng_below(rng, 3), at;

	if (!rng_below(rng, 4)) {
		for (n = rng_below(rng, 80); n; n--)
			some_word(t, rng);
		return;
	}
	split(t, any_of(rng, good));
	while (n--) {
		at = rng_below(rng, t->nr);
		free(t->words[at]);
		t->words[at] = t->words[--t->nr];
		if (rng_below(rng, 4)) {
			some_word(t, rng);
			swap(t->words[at], t->words[t->nr - 1]);
		}
		if (!t->nr)
			break;
	}
}

/* A number with its suffix, however large; -1: it is none. */
static __int128 number_of(const char *text)
{
	static const char units[] = "KMGT";
	__int128 n = 0;
	const char *u;

	if (*text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9'; text++)
		if (n < (__int128)1 << 100)
			n = 10 * n + (*text - '0');
	/* As kstrtouint(). A word has a newline if a backslash is before it. */
	if (!strcmp(text, "\n"))
		return n;
	u = *text ? strchr(units, *text) : NULL;
	if (*text && (!u || text[1]))
		return -1;
	return u ? n << (10 * (u - units + 1)) : n;
}

/*
 * Compares a good line with its words again. They were cut at their '='; keys and values still lie
 * there.
 */
static bool as_said(const struct trial *t)
{
	const u64 *at[] = { &t->s.log_bytes, &t->s.leg_bytes, &t->s.chunk_bytes,
			    &t->s.dirty_bytes };
	u32 options = (u32)number_of(t->words[1] + (*t->words[1] == '+')), i, k, vdev = 0, legs = 0;
	const char *shadow = NULL;
	__int128 want[4] = { 0 };

	for (i = 2; i < 2 + options; i++) {
		if (!strcmp(t->words[i], "shadow"))
			shadow = t->words[i] + strlen("shadow") + 1;
		for (k = 0; k < 4; k++)
			if (!strcmp(t->words[i], keys[k]))
				want[k] = number_of(t->words[i] + strlen(keys[k]) + 1);
	}
	if (!expect(t->s.shadow_named == !!shadow && !strcmp(t->s.shadow.path, shadow ?: ""),
		    "the shadow is '%s'", t->s.shadow.path))
		return false;
	for (k = 0; k < 4; k++)
		if (!expect(*at[k] == want[k], "%s is %llu", keys[k], *at[k]))
			return false;
	while (i < t->nr) {
		__int128 n = number_of(t->words[i + 1] + (*t->words[i + 1] == '+'));

		if (!expect(vdev < t->s.nr_vdevs && t->s.vdevs[vdev].nr_legs == n,
			    "vdev %u has other legs", vdev))
			return false;
		legs += t->s.vdevs[vdev++].nr_legs;
		i += 2 + (u32)n;
	}
	return expect(i == t->nr && vdev == t->s.nr_vdevs && legs == t->s.nr_legs &&
		      legs <= KVP_MAX_LEGS &&
		      t->opened <= legs + !!shadow, "%u vdevs, %u legs", vdev, legs);
}

static bool by_chance(struct rng *rng, u32 *taken)
{
	struct trial *t = calloc(1, sizeof(*t));
	bool good;

	some_line(t, rng);
	parse(t);
	*taken += !t->ret;
	good = t->ret ? expect(t->line.error && *t->line.error,
			       "refused with %d, but without words", t->ret) :
			as_said(t);
	forget(t);
	return good;
}

void run_tableline(void)
{
	u32 n = opt.rounds ?: opt.thorough ? 2000000 : 100000, i, taken = 0;
	struct rng rng = { mix64(opt.seed, 1234) };
	bool good = true;

	if (wanted("tableline_by_hand")) {
		for (i = 0; i < ARRAY_SIZE(lines); i++)
			good &= by_hand(i);
		result("tableline_by_hand", good);
	}
	if (!wanted("tableline_by_chance"))
		return;
	for (i = 0, good = true; good && i < n; i++)
		good = by_chance(&rng, &taken);
	result("tableline_by_chance", good && expect(taken > n / 50 && taken < n,
						     "%u of %u were taken", taken, n));
}
