// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of the tool that need neither root nor the module. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "advice.h"
#include "around.h"
#include "cache_lines.h"
#include "check.h"
#include "columns.h"
#include "copies.h"
#include "event.h"
#include "expect.h"
#include "flush_latency.h"
#include "foreign.h"
#include "format/heartbeat.h"
#include "format/tunables.h"
#include "image.h"
#include "import.h"
#include "inspect.h"
#include "iocount.h"
#include "layout_tree.h"
#include "opened.h"
#include "plan.h"
#include "pmbr.h"
#include "pool_object.h"
#include "remember.h"
#include "replay.h"
#include "resilver.h"
#include "setting.h"
#include "silent.h"
#include "spare_kind.h"
#include "spares.h"
#include "stats.h"
#include "target.h"
#include "verify.h"
#include "watch.h"
#include "watched.h"

static struct ctl ctl = { .quiet = true, .json = true };

/* main.c is not linked in. */
const char *const *command_names(void)
{
	static const char *const names[] = { "create", "list", NULL };

	return names;
}

/* --- texts ------------------------------------------------------------------------ */

/*
 * Long data is summed in lanes. The sum equals that of single bytes, for any length and alignment.
 */
static void test_crc32c_lanes(void)
{
	static const u32 lengths[] = { 4079, 4080, 4081, 4096, 8160, 12300 };
	static u8 data[12300 + 8];
	u32 i, from, n, sum;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 2654435761u >> 13);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (from = 0; from < 8; from++) {
			sum = lengths[i];
			for (n = 0; n < lengths[i]; n++)
				sum = kvp_crc32c(sum, data + from + n, 1);
			expect(kvp_crc32c(lengths[i], data + from, lengths[i]) == sum);
		}
}

static void test_crc32c(void)
{
	const char *check = "123456789";
	u8 zeros[32] = { 0 };

	expect((kvp_crc32c(~0u, check, 9) ^ ~0u) == 0xe3069283);
	expect((kvp_crc32c(~0u, zeros, 32) ^ ~0u) == 0x8a9136aa);
	expect(kvp_crc32c(kvp_crc32c(~0u, check, 4), check + 4, 5) == kvp_crc32c(~0u, check, 9));
	test_crc32c_lanes();
}

static void test_size(void)
{
	char buf[SIZE_BUF];
	u64 n = 1;

	expect(!kvp_bytes_parse("0", &n) && n == 0);
	expect(!kvp_bytes_parse("4096", &n) && n == 4096);
	expect(!kvp_bytes_parse("64M", &n) && n == 64 << 20);
	expect(!kvp_bytes_parse("3T", &n) && n == 3ull << 40);
	expect(kvp_bytes_parse("", &n) == -EINVAL);
	expect(kvp_bytes_parse("-1", &n) == -EINVAL);
	expect(kvp_bytes_parse(" 1", &n) == -EINVAL);
	expect(kvp_bytes_parse("1KB", &n) == -EINVAL);
	expect(kvp_bytes_parse("1x", &n) == -EINVAL);
	expect(kvp_bytes_parse("1.5G", &n) == -EINVAL);
	expect(kvp_bytes_parse("18446744073709551616", &n) == -ERANGE);
	expect(kvp_bytes_parse("18446744073709551615K", &n) == -ERANGE);
	expect(!strcmp(size_exact(64 << 20, buf), "64M"));
	expect(!strcmp(size_exact(1000, buf), "1000"));
	expect(!strcmp(size_exact(0, buf), "0"));
	expect(!strcmp(size_print(512, buf), "512 B"));
	expect(!strcmp(size_print(1536 << 10, buf), "1.50 MiB"));
}

static void test_features(void)
{
	char text[KVP_FEATURES_LEN];

	kvp_features_print(KVP_INCOMPAT_KNOWN, text);
	expect(!strcmp(text, "vdevs,cache,cache-parity1,log-window,log-turns,generations,resilver,table-behind,heartbeat,folded-sums"));
	kvp_features_print(KVP_INCOMPAT_VDEVS | KVP_INCOMPAT_CACHE | KVP_INCOMPAT_LOG_WINDOW, text);
	expect(!strcmp(text, "vdevs,cache,log-window"));
	kvp_features_print(0, text);
	expect(!*text);
}

static void test_uuid(void)
{
	u8 a[16], b[16];
	char text[UUID_BUF];

	uuid_generate_random(a);
	expect(!uuid_parse(uuid_print(a, text), b) && !memcmp(a, b, 16));
	expect(text[14] == '4' && strlen(text) == UUID_LEN);
	expect(!uuid_parse("01234567-89AB-CDEF-0123-456789abcdef", a));
	expect(!strcmp(uuid_print(a, text), "01234567-89ab-cdef-0123-456789abcdef"));
}

static void test_name(void)
{
	char longest[66];

	memset(longest, 'a', 65);
	longest[64] = 0;
	expect(!name_fault("tank", command_names()));
	expect(!name_fault("t.a-n_k9", command_names()));
	expect(!name_fault(longest, command_names()));
	longest[64] = 'a';
	longest[65] = 0;
	expect(name_fault(longest, command_names()));
	expect(name_fault("", command_names()));
	expect(name_fault("9tank", command_names()));
	expect(name_fault("-tank", command_names()));
	expect(name_fault("ta nk", command_names()));
	expect(name_fault("ta/nk", command_names()));
	expect(name_fault("mirror", command_names()));
	expect(name_fault("create", command_names()));
	expect(name_fault("control", command_names()));
}

static void test_time(void)
{
	char buf[TIME_BUF];

	expect(!strcmp(time_print(1700000000, buf), "2023-11-14T22:13:20Z"));
	expect(!strcmp(time_print(~0ull, buf), "9999-12-31T23:59:59Z"));
}

static void test_setting(void)
{
	struct setting s;
	struct err err;

	expect(!setting_parse("write_buffer=128M", &s, &err));
	expect(!strcmp(s.key, "write_buffer") && !strcmp(s.value, "134217728"));
	expect(!setting_parse("failmode=wait", &s, &err) && !strcmp(s.value, "wait"));
	expect(!setting_parse("comment=two words", &s, &err) && !strcmp(s.value, "two\\ words"));
	/* a letter whose second byte the kernel takes for a space */
	expect(!setting_parse("comment=\xc3\xa0\\", &s, &err) &&
	       !strcmp(s.value, "\\\xc3\\\xa0\\\\"));
	expect(!setting_parse("comment=", &s, &err) && !*s.value);
	expect(setting_parse("failmode=maybe", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("write_buffer=1", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("write_buffer", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("=1", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("no_such=1", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("comment=a\nb", &s, &err) && err.code == ERR_USAGE);
	expect(!setting_parse("cache_dirty_max=8G", &s, &err) && !strcmp(s.value, "8589934592"));
	expect(setting_parse("cache_dirty_max=63M", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("cache_dirty_max=65G", &s, &err) && err.code == ERR_USAGE);
	expect(setting_parse("cache_dirty_max=much", &s, &err) && err.code == ERR_USAGE);
}

/* Texts from outside may have any bytes. */
static void test_text_clean(void)
{
	static const struct {
		const char *text, *keep, *clean;
	} texts[] = {
		{ "tank", "", "tank" }, { "", "", "" }, { "a\"b\\c", "", "a\"b\\c" },
		{ "a\nb\tc\x1b[2J\x7f", "\n", "a\nb?c?[2J?" }, { "a\nb", "", "a?b" },
		{ "\xc3\xbc\xe2\x82\xac\xf0\x9f\x92\xbe", "", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x92\xbe" },
		/* U+009B is what ESC [ is; bytes on their own, and cut off */
		{ "\xc2\x9b" "2J", "", "??2J" }, { "\xff\xfe", "", "??" }, { "\xe2\x82", "", "??" },
		{ "\xc3", "", "?" }, { "\xbc" "a", "", "?a" }, { "\xc3" "a", "", "?a" },
		/* too long for its letter, a surrogate, beyond the last */
		{ "\xc0\xaf", "", "??" }, { "\xe0\x80\xaf", "", "???" }, { "\xed\xa0\x80", "", "???" },
		{ "\xf0\x80\x80\xaf", "", "????" }, { "\xf4\x90\x80\x80", "", "????" },
		{ "\xf5\x80\x80\x80", "", "????" },
	};
	char buf[32], big[600];
	json_object *o = json_object_new_object();
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		strcpy(buf, texts[i].text);
		expect(!strcmp(text_clean(buf, texts[i].keep), texts[i].clean));
	}
	json_text(o, "a", "x\xff\"\x01");
	expect(!strcmp(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
		       "{\"a\":\"x?\\\"?\"}"));
	json_object_put(o);
	err_set(&err, ERR_FAILED, "a\nb", "\x1b[2J", "why %s", "\xff");
	expect(!strcmp(err.what, "a?b") && !strcmp(err.mend, "?[2J") && !strcmp(err.why, "why ?"));
	/* cut off inside a character */
	for (i = 0; i + 2 < sizeof(big); i += 2)
		memcpy(big + i, "\xc3\xbc", 3);
	err_set(&err, ERR_FAILED, big, "", "%s", "");
	expect(strlen(err.what) == sizeof(err.what) - 1 && err.what[sizeof(err.what) - 2] == '?');
}

static void test_word_escape(void)
{
	char buf[8];

	expect(word_escape("a b", buf, sizeof(buf)) && !strcmp(buf, "a\\ b"));
	expect(word_escape("", buf, 1) && !*buf);
	expect(word_escape("123456", buf, sizeof(buf)) && !strcmp(buf, "123456"));
	expect(!word_escape("12345678", buf, sizeof(buf)));
	expect(!word_escape("     ", buf, sizeof(buf)));
}

static void test_device_word(void)
{
	struct device d = { .fd = -1 };
	char buf[DEVICE_WORD], name[64];

	/* no such device: the word is its numbers, whatever the path */
	d.rdev = device_make(4095, 7);
	snprintf(d.path, sizeof(d.path), "/dev/null");
	expect(!strcmp(device_word(&d, buf), "4095:7"));
	if (device_find("/dev/vda", &d.rdev) && device_find("/dev/sda", &d.rdev))
		return;
	/* a path outside /dev may go away: the word is the node's path */
	device_name(d.rdev, name, sizeof(name));
	snprintf(d.path, sizeof(d.path), "/tmp/link");
	expect(!strcmp(device_word(&d, buf), name));
	snprintf(d.path, sizeof(d.path), "%s", name);
	expect(!strcmp(device_word(&d, buf), name));
	/* too long for a word */
	snprintf(d.path, sizeof(d.path), "/dev/disk/by-id/%090d", 1);
	expect(!strcmp(device_word(&d, buf), name));
}

static void test_stats(void)
{
	struct stats s;

	expect(!stats_parse(strdup("name=tank\nsize=4096\nrubbish\nleg.1.path=8:16\nx=a=b"), &s));
	expect(!strcmp(stats_text(&s, "name"), "tank"));
	expect(stats_number(&s, "size") == 4096);
	expect(!strcmp(stats_text(&s, "leg.%d.path", 1), "8:16"));
	expect(!strcmp(stats_text(&s, "x"), "a=b"));
	expect(!stats_text(&s, "rubbish") && !stats_number(&s, "missing"));
	stats_free(&s);
	expect(!stats_parse(strdup(""), &s) && !stats_text(&s, "name"));
	stats_free(&s);
}

/*
 * The losses without one SSD: a mirror of two, and a cache of @ssds with @used in use. The last
 * used SSD is taken out.
 */
static int losses_without_ssd(const char *kind, const char *log, unsigned int ssds,
			      unsigned int used, int now)
{
	char text[512];
	struct stats s;
	unsigned int i;
	int at, n;

	at = snprintf(text, sizeof(text),
		      "losses_survivable=%d\nlog.on=%s\nvdev.0.kind=mirror\nvdev.0.first_leg=0\n"
		      "vdev.0.legs=2\nleg.0.state=online\nleg.1.state=online\nvdev.1.kind=%s\nvdev.1.first_leg=2\n"
		      "vdev.1.legs=%u\n", now, log, kind, ssds);
	for (i = 0; i < ssds; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "leg.%u.state=%s\n", 2 + i,
			       i < used ? "online" : "faulted");
	expect(!stats_parse(strdup(text), &s));
	expect(!used || leg_has_log(&s, 1 + used) == !strcmp(log, "cache"));
	expect(log_stays_without(&s, 1 + used) ==
	       (!strcmp(log, "cache") && used > (strcmp(kind, "cache") ? ssds - 1 : 1)));
	n = losses_without_leg(&s, 1 + used);
	stats_free(&s);
	return n;
}

static void test_spares(void)
{
	expect(losses_without_ssd("cache", "cache", 2, 2, 1) == 0);
	/* the log goes to the mirror */
	expect(losses_without_ssd("cache", "cache", 2, 1, 0) == 1);
	expect(losses_without_ssd("cache", "cache", 1, 1, 0) == 1);
	expect(losses_without_ssd("cache", "legs", 1, 1, 1) == 1);
	expect(losses_without_ssd("cache-parity1", "cache", 3, 3, 1) == 0);
	expect(losses_without_ssd("cache-parity1", "cache", 3, 2, 0) == 1);
	/* a leg of the mirror is taken out */
	expect(losses_without_ssd("cache", "cache", 1, 0, 1) == 0);
}

/* @arg: for each leg, '1', '0' or '?' */
static int rotates_in(unsigned int leg, void *arg)
{
	const char *legs = arg;

	return legs[leg] == '?' ? -1 : legs[leg] == '1';
}

/* What leg @leg needs: a mirror of legs 0 and 1, and SSDs 2 and 3 if @cache. */
static enum spare_kind kind_for(bool cache, const char *states, const char *rotate,
				unsigned int leg)
{
	char text[512], legs[8];
	enum spare_kind kind;
	struct stats s;
	unsigned int i;
	int at = snprintf(text, sizeof(text),
			  "vdev.0.kind=mirror\nvdev.0.first_leg=0\nvdev.0.legs=2\n%s", cache ?
			  "vdev.1.kind=cache\nvdev.1.first_leg=2\nvdev.1.legs=2\ncache.vdev=1\n" : "");

	snprintf(legs, sizeof(legs), "%s", rotate);
	for (i = 0; states[i]; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "leg.%u.state=%s\n", i,
			       states[i] == 'o' ? "online" : "faulted");
	expect(!stats_parse(strdup(text), &s));
	kind = spare_kind(&s, leg, rotates_in, legs);
	stats_free(&s);
	return kind;
}

/* The leg that is out is not asked: its path may lead to another device. */
static void test_spare_kind(void)
{
	expect(kind_for(true, "oofo", "1100", 2) == SPARE_SSD);
	expect(kind_for(true, "oofo", "1111", 2) == SPARE_SSD);
	expect(kind_for(true, "ofoo", "1000", 1) == SPARE_DISK);
	expect(kind_for(true, "ofoo", "1100", 1) == SPARE_DISK);
	expect(kind_for(true, "ofoo", "0100", 1) == SPARE_ANY);
	expect(kind_for(true, "ofoo", "?100", 1) == SPARE_ANY);
	/* a leg in use is one of its vdev */
	expect(kind_for(true, "ooff", "1100", 0) == SPARE_DISK);
	expect(kind_for(true, "ooff", "0000", 0) == SPARE_ANY);
	/* no SSD waits for anything else */
	expect(kind_for(false, "of", "11", 1) == SPARE_ANY);
	expect(spare_is_of(SPARE_SSD, 0) && !spare_is_of(SPARE_SSD, 1) &&
	       !spare_is_of(SPARE_SSD, -1));
	expect(!spare_is_of(SPARE_DISK, 0) && spare_is_of(SPARE_DISK, 1) &&
	       spare_is_of(SPARE_DISK, -1));
	expect(spare_is_of(SPARE_ANY, 0) && spare_is_of(SPARE_ANY, 1));
	expect(device_rotates(device_make(0, 0)) == -1);
	expect(device_rotates(device_make(4095, 1)) == -1);
}

/* May leg 0 of two vdevs be taken out? A mirror of two before, or a parity1 of three. */
static bool is_needed(const char *kind, unsigned int legs, const char *states)
{
	static const char *const words[] = { "online", "offline" };
	char text[512];
	struct stats s;
	unsigned int i;
	bool needed;
	int at = snprintf(text, sizeof(text),
			  "vdev.0.kind=%s\nvdev.0.first_leg=0\nvdev.0.legs=%u\nvdev.1.kind=mirror\n"
			  "vdev.1.first_leg=%u\nvdev.1.legs=2\nleg.%u.state=online\nleg.%u.state=online\n",
			  kind, legs, legs, legs, legs + 1);

	for (i = 0; i < legs; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "leg.%u.state=%s\n", i,
			       words[states[i] == 'O']);
	expect(!stats_parse(strdup(text), &s));
	needed = leg_is_needed(&s, 0);
	stats_free(&s);
	return needed;
}

/* What the other vdev could lose does not count. */
static void test_needed(void)
{
	expect(!is_needed("mirror", 2, "AA"));
	expect(is_needed("mirror", 2, "AO"));
	expect(!is_needed("mirror", 2, "OA"));
	expect(is_needed("single", 1, "A"));
	expect(!is_needed("parity1", 3, "AAA"));
	expect(is_needed("parity1", 3, "AOA"));
	expect(!is_needed("parity1", 3, "OAA"));
	expect(!is_needed("cache", 1, "A"));
}

/* --- events ---------------------------------------------------------------------------- */

/* Is the event @text printed as @want? */
static bool event_is(const char *text, const char *want)
{
	json_object *o = json_object_new_object();
	char *copy = strdup(text);
	bool same;

	event_fields(o, copy);
	same = !strcmp(json_object_to_json_string_ext(o,
						      JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE),
		       want);
	free(copy);
	json_object_put(o);
	return same;
}

static void test_events(void)
{
	expect(event_is("scrub_stopped", "{\"event\":\"scrub_stopped\",\"fields\":{}}"));
	expect(event_is("healed leg=1 block=77",
			"{\"event\":\"healed\",\"fields\":{\"leg\":\"1\",\"block\":\"77\"}}"));
	/* the last value may contain blanks, and text that only looks like a key */
	expect(event_is("leg_lost leg=2 why=a log write failed",
			"{\"event\":\"leg_lost\",\"fields\":{\"leg\":\"2\",\"why\":\"a log write "
			"failed\"}}"));
	expect(event_is("commit_failed why=no leg took the log entry",
			"{\"event\":\"commit_failed\",\"fields\":{\"why\":\"no leg took the log "
			"entry\"}}"));
	expect(event_is("drain_ended error=-5 why=it took 5 = five",
			"{\"event\":\"drain_ended\",\"fields\":{\"error\":\"-5\",\"why\":\"it "
			"took 5 = five\"}}"));
	expect(event_is("log_moved why=the cache is missing vdev=0",
			"{\"event\":\"log_moved\",\"fields\":{\"why\":\"the cache is "
			"missing\",\"vdev\":\"0\"}}"));
	expect(event_is("", "{\"event\":\"\",\"fields\":{}}"));
}

/* --- counters ------------------------------------------------------------------------ */

static void test_latency(void)
{
	struct latency l, later, diff;
	unsigned int i;
	char *text, *p;

	/* 99 flushes took 896 to 1024 us, one took a second */
	latency_parse("flush sum 1099000000\nflush 1048576 99\nread 1 7\nflush 1073741824 1\n", &l);
	expect(l.count == 100 && l.buckets == 2 && l.sum == 1099000000);
	expect(latency_quantile(&l, 500) > 917504 && latency_quantile(&l, 500) < 1048576);
	expect(latency_quantile(&l, 990) == 1048576);
	expect(latency_quantile(&l, 999) > 939524096 && latency_quantile(&l, 1000) == 1073741824);
	latency_parse("flush sum 1200000000\nflush 1048576 99\nflush 5242880 3\nflush 1073741824 "
		      "2\n",
		      &later);
	latency_since(&later, &l, &diff);
	expect(diff.count == 4 && diff.sum == 101000000);
	expect(latency_quantile(&diff, 500) > 4194304 && latency_quantile(&diff, 500) < 5242880);
	/* the pool was started again */
	latency_since(&l, &later, &diff);
	expect(diff.count == 100 && diff.sum == l.sum);
	/* no bucket, no bound, nonsense, too many buckets */
	latency_parse("", &l);
	expect(!l.count && !latency_quantile(&l, 500));
	latency_parse("flush 18446744073709551615 5", &l);
	expect(l.count == 5 && !latency_quantile(&l, 500));
	latency_parse("flush 0 3\nflush 0 2\nflush -\nflush\n", &l);
	expect(l.buckets == 1 && !latency_quantile(&l, 500));
	text = p = calloc(LATENCY_BUCKETS + 50, 32);
	for (i = 0; i < LATENCY_BUCKETS + 50; i++)
		p += sprintf(p, "flush %u 1\n", i + 1);
	latency_parse(text, &l);
	expect(l.buckets == LATENCY_BUCKETS && l.count == LATENCY_BUCKETS);
	free(text);
}

static void test_iocount(void)
{
	struct iocount c;

	expect(iocount_parse("  10 1 80 5 20 2 320 7 0 12 13 4 0 64 1 9 3\n", &c));
	expect(c.reads == 10 && c.read_bytes == 40960 && c.writes == 20);
	expect(c.write_bytes == 163840 && c.discards == 4);
	expect(c.read_ms == 5 && c.write_ms == 7 && c.busy_ms == 12);
	expect(!iocount_parse("10 1 80 5", &c) && !c.reads && !c.read_bytes);
	expect(!iocount_load(device_make(4095, 7), &c) && !c.writes);
}

static void test_errors(void)
{
	struct err err;
	int code;

	expect(err_set(&err, ERR_MOUNTED, "what", "mend", "why %d", 1) == -1);
	expect(!strcmp(err.why, "why 1") && err_exit(err.code) == EXIT_REFUSED);
	expect(err_exit(ERR_USAGE) == EXIT_USAGE && err_exit(ERR_IO) == EXIT_FAILED);
	for (code = 0; code < ERR_CODES; code++)
		expect(err_word((enum err_code)code));
}

/* --- the vdevs of create ----------------------------------------------------------- */

static int vdevs(int count, ...)
{
	struct plan *p = calloc(1, sizeof(*p));
	char *words[24];
	struct err err;
	va_list ap;
	int i, ret;

	va_start(ap, count);
	for (i = 0; i < count; i++)
		words[i] = va_arg(ap, char *);
	va_end(ap);
	ret = plan_vdevs(p, count, words, &err) ? (int)err_exit(err.code) : 0;
	free(p);
	return ret;
}

static void test_vdevs(void)
{
	expect(vdevs(2, "single", "/dev/a") == 0);
	expect(vdevs(3, "mirror", "/dev/a", "/dev/b") == 0);
	expect(vdevs(1, "/dev/a") == EXIT_USAGE);
	expect(vdevs(1, "single") == EXIT_USAGE);
	expect(vdevs(3, "single", "/dev/a", "/dev/b") == EXIT_USAGE);
	expect(vdevs(2, "mirror", "/dev/a") == EXIT_USAGE);
	expect(vdevs(4, "parity1", "/dev/a", "/dev/b", "/dev/c") == 0);
	expect(vdevs(3, "parity1", "/dev/a", "/dev/b") == EXIT_USAGE);
	expect(vdevs(2, "cache", "/dev/a") == EXIT_USAGE);
	expect(vdevs(4, "single", "/dev/a", "cache", "/dev/b") == 0);
	expect(vdevs(5, "single", "/dev/a", "cache", "/dev/b", "/dev/c") == EXIT_USAGE);
	expect(vdevs(6, "single", "/dev/a", "cache", "mirror", "/dev/b", "/dev/c") == 0);
	expect(vdevs(5, "single", "/dev/a", "cache", "mirror", "/dev/b") == EXIT_USAGE);
	expect(vdevs(6, "single", "/dev/a", "cache", "/dev/b", "cache", "/dev/c") == EXIT_USAGE);
	expect(vdevs(7, "single", "/dev/a", "cache", "parity1", "/dev/b", "/dev/c", "/dev/d") == 0);
	expect(vdevs(6, "single", "/dev/a", "cache", "parity1", "/dev/b", "/dev/c") == EXIT_USAGE);
	expect(vdevs(20, "single", "/dev/a", "cache", "parity1", "1", "2", "3", "4", "5", "6", "7",
		     "8", "9", "10",
		     "11", "12", "13", "14", "15", "16") == 0);
	expect(vdevs(21, "single", "/dev/a", "cache", "parity1", "1", "2", "3", "4", "5", "6", "7",
		     "8", "9", "10",
		     "11", "12", "13", "14", "15", "16", "17") == EXIT_USAGE);
	expect(vdevs(18, "mirror", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12",
		     "13", "14", "15", "16", "17") == EXIT_USAGE);
}

/*
 * An option of -o must apply to a named vdev, or it is refused. For a cache alone, as for add,
 * there is no log_size.
 */
static int add_cache_with(const char *option, const char *said)
{
	char *cache[] = { (char *)"cache", (char *)"/dev/b" };
	struct plan *p = calloc(1, sizeof(*p));
	struct err err;
	int ret;

	p->sb.vdev_count = p->first_vdev = 1;
	p->sb.leg_count = p->first_leg = p->leg_count = 1;
	p->sb.vdevs[0].kind = KVP_VDEV_SINGLE;
	p->sb.vdevs[0].leg_count = 1;
	expect(!plan_option(p, option, &err));
	ret = plan_vdevs(p, 2, cache, &err) ? (int)err_exit(err.code) : 0;
	expect(!ret || (!strcmp(err.what, said) && strstr(err.mend, "leave it out")));
	free(p);
	return ret;
}

static void test_cache_options(void)
{
	expect(add_cache_with("size=100M", "size") == EXIT_USAGE);
	expect(add_cache_with("log_size=1G", "log_size") == EXIT_USAGE);
	expect(add_cache_with("chunk=64K", "chunk") == EXIT_USAGE);
	expect(add_cache_with("cache_dirty_max=1G", "") == 0);
}

/* A parity1 of three legs with chunks of 512 KiB: a discard needs five segments of a log. */
static void test_logs_hold_chunks(void)
{
	struct kvp_geometry none = { 0 }, small = { 0 }, large = { 0 };
	struct plan *p = calloc(1, sizeof(*p));
	struct kvp_geometry *g = p->sb.vdevs;
	struct kvp_why why;
	struct err err;

	g[0].chunk_blocks = 128;
	expect(!kvp_layout_one(KVP_VDEV_PARITY1, 3, 1 << 18, 0, 5 << 20, KVP_MAX_ROOTS, &g[0],
			       &why));
	expect(!kvp_layout_one(KVP_VDEV_CACHE, 1, 6 << 8, 0, 0, KVP_MAX_ROOTS, &small, &why));
	expect(!kvp_layout_one(KVP_VDEV_CACHE, 1, 1 << 18, 0, 0, KVP_MAX_ROOTS, &large, &why));
	p->sb.vdev_count = 1;
	expect(!plan_check_logs(p, &none, &err));
	expect(!plan_check_logs(p, &large, &err));
	expect(plan_check_logs(p, &small, &err));
	expect(strstr(err.why, "chunks of 512 KiB") && err_exit(err.code) == EXIT_USAGE);
	/* A new cache would get the log. */
	g[1] = large;
	p->sb.vdev_count = 2;
	expect(!plan_check_logs(p, &none, &err));
	g[1] = small;
	expect(plan_check_logs(p, &none, &err));
	/* The log stays with the parity1, unless a cache goes; or it goes to what survives more. */
	memset(&g[1], 0, sizeof(g[1]));
	expect(!kvp_layout_one(KVP_VDEV_SINGLE, 1, 1 << 18, 0, 4 << 20, KVP_MAX_ROOTS, &g[1],
			       &why));
	expect(!plan_check_logs(p, &none, &err));
	expect(plan_check_logs(p, &large, &err));
	memset(&g[1], 0, sizeof(g[1]));
	expect(!kvp_layout_one(KVP_VDEV_MIRROR, 3, 1 << 18, 0, 4 << 20, KVP_MAX_ROOTS, &g[1],
			       &why));
	expect(plan_check_logs(p, &none, &err));
	free(p);
}

/* --- labels and import --------------------------------------------------------------- */

static void scan(const struct image *m, struct scan *s)
{
	const char *paths[IMAGE_MAX_LEGS];
	struct err err;
	unsigned int i;

	for (i = 0; i < m->legs; i++)
		paths[i] = m->path[i];
	expect(!scan_run(paths, m->legs, s, &err));
}

/*
 * The plan for a cache of @kind shows the same capacity as a pool with it: all that its log can
 * hold.
 */
static void cache_counts(u32 kind, u32 legs, u64 leg_mib, u64 ask_mib, u64 dirty_mib)
{
	struct plan *p = calloc(1, sizeof(*p));
	struct kvp_geometry *g = &p->sb.vdevs[1];
	struct kvp_why why;

	p->sb.vdev_count = 2;
	p->sb.vdevs[0].kind = KVP_VDEV_SINGLE;
	expect(!plan_cache_bytes(p) && !plan_cache_dirty(p));
	g->log_window = kvp_log_window_asked(ask_mib << 20);
	expect(!kvp_layout_one(kind, legs, leg_mib << 8, 0, 0, KVP_MAX_ROOTS, g, &why));
	expect(plan_cache_bytes(p) == kvp_log_blocks(g) << KVP_BLOCK_SHIFT);
	expect(plan_cache_dirty(p) == (dirty_mib ? dirty_mib << 20 : plan_cache_bytes(p)));
	expect(plan_cache_dirty(p) <= plan_cache_bytes(p));
	free(p);
}

static void test_cache_counts(void)
{
	cache_counts(KVP_VDEV_CACHE, 1, 3072, 0, 1024);
	cache_counts(KVP_VDEV_CACHE, 2, 3072, 2048, 2048);
	cache_counts(KVP_VDEV_CACHE, 1, 64, 0, 0);
	/* all of it may be dirty; the limit does not exceed the capacity */
	cache_counts(KVP_VDEV_CACHE_PARITY1, 3, 64, 0, 0);
	cache_counts(KVP_VDEV_CACHE_PARITY1, 3, 3072, 0, 1024);
	cache_counts(KVP_VDEV_CACHE_PARITY1, 4, 3072, 9000, 9000);
}

/* Create and add tell an invalid window from a device that is too small by this error. */
static void test_window_refused(void)
{
	struct kvp_geometry g = { .log_window = (64 << 8) - 1 };
	struct kvp_why why;

	expect(kvp_layout_one(KVP_VDEV_CACHE, 1, 3072 << 8, 0, 0, KVP_MAX_ROOTS, &g,
			      &why) == -ERANGE);
	g.log_window = 64 << 8;
	expect(!kvp_layout_one(KVP_VDEV_CACHE, 1, 3072 << 8, 0, 0, KVP_MAX_ROOTS, &g, &why));
	expect(kvp_layout_one(KVP_VDEV_CACHE, 1, 3 << 8, 0, 0, KVP_MAX_ROOTS, &g, &why) == -ENOSPC);
}

/* A chunk that was cut to 32 bits could become 0, which means the default. */
static bool chunk_refused(u64 bytes)
{
	struct kvp_geometry g = { .chunk_blocks = kvp_chunk_asked(bytes) };
	struct kvp_why why = { "" };

	return kvp_layout_one(KVP_VDEV_PARITY1, 3, 3072 << 8, 0, 0, KVP_MAX_ROOTS, &g,
			      &why) == -EINVAL &&
	       strstr(why.text, "a chunk must be a power of two, of 4 KiB to 680 KiB for 3 legs");
}

static void test_chunk(void)
{
	expect(!chunk_refused(0) && !chunk_refused(4096) && !chunk_refused(512 << 10));
	expect(chunk_refused(1) && chunk_refused(4097) && chunk_refused(12288) &&
	       chunk_refused(1 << 20));
	expect(chunk_refused(16ull << 40) && chunk_refused(~0ull) && chunk_refused(~0ull << 12));
}

static void test_label(void)
{
	struct image m;
	struct device d;
	struct label l;
	struct err err;
	u64 newest;

	image_standard(&m, 2, IMAGE_SMALL);
	expect(!device_open(m.path[0], true, &d, &err));
	expect(!label_read(&d, &l, &err));
	expect(l.valid == 6 && !l.bad && l.sb && l.sb->sequence == 3);
	expect(!label_fault(&l));
	label_free(&l);
	/* the newest superblock is damaged in front: the ring at the end has it too */
	newest = kvp_sb_slot_offset(m.blocks, 0, 3);
	image_flip(&m, 0, newest + 5000, 1);
	expect(!label_read(&d, &l, &err));
	expect(l.valid == 5 && l.bad == 1 && l.sb->sequence == 3);
	label_free(&l);
	/* and there: the one before it counts */
	image_flip(&m, 0, kvp_sb_slot_offset(m.blocks, 1, 3) + 5000, 1);
	expect(!label_read(&d, &l, &err));
	expect(l.valid == 4 && l.bad == 2 && l.sb->sequence == 2);
	label_free(&l);
	device_close(&d);
	image_free(&m);
}

static bool around_label(const struct image *m)
{
	struct device d;
	struct label l;
	bool member;

	expect(!device_open(m->path[0], true, &d, NULL) && !label_read(&d, &l, NULL));
	member = around_has_member(&l);
	label_free(&l);
	device_close(&d);
	return member;
}

/*
 * What a command would refuse of a device itself, it refuses of that device's disk and partitions.
 * A bad sector where a blank disk has no label is none.
 */
static void test_label_around(void)
{
	static u8 ring[KVP_SB_SIZE * KVP_SB_RING];
	const u64 front = kvp_sb_slot_offset(IMAGE_SMALL, 0, 0);
	const u64 back = kvp_sb_slot_offset(IMAGE_SMALL, 1, 0);
	const u64 end = IMAGE_SMALL << KVP_BLOCK_SHIFT;
	struct image m;

	image_standard(&m, 2, IMAGE_SMALL);
	/* one end of another leg */
	image_read(&m, 1, back, ring, sizeof(ring));
	image_write(&m, 0, back, ring, sizeof(ring));
	expect(around_label(&m));
	/* neither ring can be read: it may be a leg of any pool */
	image_fails_from(&m, 0, 0, end, EIO);
	expect(around_label(&m));
	image_answers();
	/* the only superblock is damaged */
	memset(ring, 0, sizeof(ring));
	image_write(&m, 0, front, ring, 3 * KVP_SB_SIZE);
	image_write(&m, 0, back, ring, sizeof(ring));
	image_flip(&m, 0, front + 3 * KVP_SB_SIZE + 5000, 1);
	expect(around_label(&m));
	/* blank, and blank with a bad sector */
	image_write(&m, 0, front, ring, sizeof(ring));
	expect(!around_label(&m));
	image_fails_from(&m, 0, back, back + KVP_BLOCK_SIZE, EIO);
	expect(!around_label(&m));
	image_answers();
	image_free(&m);
	/* a dock hides the end of the leg */
	image_standard(&m, 2, IMAGE_SMALL);
	expect(!ftruncate(m.fd[0], (off_t)(end - 8 * KVP_BLOCK_SIZE)));
	expect(around_label(&m));
	image_free(&m);
	/* destroyed */
	image_standard(&m, 2, IMAGE_SMALL);
	m.sb.flags |= KVP_SB_DESTROYED;
	image_seal(&m);
	expect(!around_label(&m));
	image_free(&m);
}

/* The device has grown: its second label lies where it ended. */
static void test_label_at_old_end(void)
{
	struct image m;
	struct device d;
	struct label l;
	struct err err;

	image_standard(&m, 2, IMAGE_SMALL);
	expect(!ftruncate(m.fd[0], (off_t)((m.blocks + 300) << KVP_BLOCK_SHIFT)));
	image_flip(&m, 0, kvp_sb_slot_offset(m.blocks, 0, 3) + 5000, 1);
	expect(!device_open(m.path[0], true, &d, &err));
	expect(!label_read(&d, &l, &err));
	expect(l.valid == 5 && l.bad == 1 && l.sb->sequence == 3 && l.held == 3);
	label_free(&l);
	/* what is not of this leg is data of users */
	image_flip(&m, 0, kvp_sb_slot_offset(m.blocks, 1, 3), 1);
	expect(!label_read(&d, &l, &err));
	expect(l.valid == 4 && l.bad == 1 && l.sb->sequence == 2);
	label_free(&l);
	device_close(&d);
	image_free(&m);
}

static bool refused(const struct scan *s, const struct import_options *o, enum err_code code)
{
	struct refusals r;
	unsigned int i;

	import_check(&s->pools[0], o, &r);
	for (i = 0; i < r.count; i++)
		if (r.list[i].code == code)
			return true;
	return code == ERR_NONE && !r.count;
}

static void test_import_whole(void)
{
	struct import_options o = { .readonly = false };
	char params[512], *want = "50505050-5050-5050-5050-505050505050 0 mirror 2 0:0 0:0";
	struct refusals r = { .count = 0 };
	char uuid[UUID_BUF];
	struct image m;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	scan(&m, &s);
	expect(s.pool_count == 1 && !scan_missing(&s.pools[0]) && scan_in_sync(&s.pools[0]) == 2);
	expect(refused(&s, &o, ERR_NONE));
	expect(import_params(&s.pools[0], &o, params, sizeof(params)) && !strcmp(params, want));
	expect(!import_params(&s.pools[0], &o, params, 40));
	o.readonly = true;
	expect(refused(&s, &o, ERR_NOT_CLEAN));
	o = (struct import_options){ .new_name = "mirror" };
	expect(refused(&s, &o, ERR_REFUSED));
	scan_free(&s);
	m.sb.flags = KVP_SB_DESTROYED | KVP_SB_CLEAN;
	image_seal(&m);
	scan(&m, &s);
	o = (struct import_options){ .new_name = "lake" };
	expect(refused(&s, &o, ERR_DESTROYED));
	o.destroyed = o.degraded = true;
	expect(refused(&s, &o, ERR_NONE));
	expect(import_params(&s.pools[0], &o, params, sizeof(params)) &&
	       strstr(params, " 3 name=lake degraded undestroy mirror 2 "));
	strcpy(s.pools[0].legs[1]->dev.path, "/nowhere/leg");
	import_check_devices(&s.pools[0], &o, &r);
	expect(r.count && r.list[0].code == ERR_IO && strstr(r.list[0].what, "/nowhere/leg"));
	scan_free(&s);
	/* what a label calls itself is no part of a command that a user copies */
	strcpy(m.sb.name, "lake;halt");
	image_seal(&m);
	scan(&m, &s);
	expect(!strcmp(import_word(&s, &s.pools[0], uuid), "50505050-5050-5050-5050-505050505050"));
	scan_free(&s);
	image_free(&m);
}

/* A boot waits for the device that is to replace a leg. An image file is not taken for it. */
static void test_import_shadow(void)
{
	struct import_options o = { .readonly = false };
	struct kvp_sb *sb = malloc(sizeof(*sb));
	struct found_pool with;
	struct refusals r = { .count = 0 };
	json_object *found, *vdev;
	char params[512];
	struct image m;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	scan(&m, &s);
	expect(import_complete(&s.pools[0]));
	with = s.pools[0];
	*sb = *with.sb;
	sb->shadow.of = 1;
	with.sb = sb;
	expect(!import_complete(&with) && !import_has_shadow(&with));
	found = import_object(&with, &r);
	expect(json_object_array_length(json_at(found, "vdevs")) == 1);
	vdev = json_object_array_get_idx(json_at(found, "vdevs"), 0);
	expect(json_object_array_length(json_at(vdev, "legs")) == 3);
	json_object_put(found);
	with.shadow = with.legs[0];
	expect(import_complete(&with) && !import_has_shadow(&with));
	expect(import_params(&with, &o, params, sizeof(params)) && !strstr(params, "shadow="));
	free(sb);
	scan_free(&s);
	image_free(&m);
}

/* The question is asked only about other known hosts that did not stop the pool. */
static void test_import_host(void)
{
	static const struct {
		u64 self, host;
		u32 flags;
		bool takeover;
		enum err_code code;
	} cases[] = {
		{ 7, 8, 0, false, ERR_OTHER_HOST },
		{ 7, 8, KVP_SB_DESTROYED, false, ERR_OTHER_HOST },
		{ 7, 8, 0, true, ERR_NONE },
		{ 7, 8, KVP_SB_CLEAN, false, ERR_NONE },
		{ 7, 8, KVP_SB_EXPORTED, false, ERR_NONE },
		{ 7, 7, 0, false, ERR_NONE },
		{ 7, 0, 0, false, ERR_NONE },
		{ 0, 8, 0, false, ERR_NONE },
	};
	char params[512];
	struct image m;
	struct scan s;
	size_t i;

	image_standard(&m, 2, IMAGE_SMALL);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct import_options o = { .destroyed = true, .takeover = cases[i].takeover };

		o.self.id = cases[i].self;
		m.sb.host = cases[i].host;
		m.sb.flags = cases[i].flags;
		image_seal(&m);
		scan(&m, &s);
		expect(refused(&s, &o, cases[i].code));
		strcpy(o.self.name, "me");
		expect(import_params(&s.pools[0], &o, params, sizeof(params)) &&
		       !strstr(params, "host=") == !o.self.id);
		expect(!o.self.id || strstr(params, " host=0000000000000007:me "));
		scan_free(&s);
	}
	image_free(&m);
}

/* --- the watch before an import: another host writes to the images between two looks --- */

static struct {
	struct image m;
	unsigned int looks, at;		/* at this look, 0: never */
	u64 claim;			/* the other host writes this claim */
	bool breaks;			/* it leaves a block that does not verify */
} other;

static void other_host_writes(void)
{
	struct kvp_beat b = { .claim = other.claim, .nonce = 5, .counter = other.looks,
			      .interval = 2, .limit = 20, .host_name = "beta" };
	u8 block[KVP_BLOCK_SIZE];
	u32 slot = kvp_beat_slot(other.claim);

	memcpy(b.pool_uuid, other.m.sb.pool_uuid, sizeof(b.pool_uuid));
	kvp_beat_encode(&b, block);
	block[200] ^= other.breaks;
	image_write(&other.m, 1, (KVP_BEAT_BLOCK + slot) * KVP_BLOCK_SIZE, block, sizeof(block));
}

static void other_host_waits(void)
{
	if (++other.looks == other.at)
		other_host_writes();
}

/* Claims on leg @leg: the highest that verifies, and its host. */
static u64 claimed(unsigned int leg, char host[KVP_NAME_LEN + 1])
{
	u8 block[KVP_BLOCK_SIZE];
	struct kvp_beat b;
	u64 top = 0;
	u32 s;

	*host = 0;
	for (s = 0; s < KVP_BEAT_SLOTS; s++) {
		image_read(&other.m, leg, (KVP_BEAT_BLOCK + s) * KVP_BLOCK_SIZE, block,
			   sizeof(block));
		if (kvp_beat_decode(block, s, other.m.sb.pool_uuid, &b) || b.claim <= top)
			continue;
		top = b.claim;
		memcpy(host, b.host_name, sizeof(b.host_name));
	}
	return top;
}

/* A pool of host 8 with a heartbeat of 2 s, whose newest claim is 6; this is host 7. */
static int watch(unsigned int at, u64 claim, bool breaks, struct import_options *o,
		 struct err *err)
{
	struct scan s;
	int ret;

	o->self.id = 7;
	strcpy(o->self.name, "me");
	image_standard(&other.m, 2, IMAGE_SMALL);
	other.m.sb.host = 8;
	other.m.sb.tunable_mask |= 1ull << KVP_T_HEARTBEAT;
	other.m.sb.tunables[KVP_T_HEARTBEAT] = 2;
	kvp_sb_note_heartbeat(&other.m.sb);
	image_seal(&other.m);
	other.breaks = false;
	other.claim = 6;
	other_host_writes();
	other.looks = 0;
	other.at = at;
	other.claim = claim;
	other.breaks = breaks;
	scan(&other.m, &s);
	expect(s.pool_count == 1 && watch_seconds(&s.pools[0], o));
	err->code = ERR_NONE;
	ret = watch_run(&ctl, &s.pools[0], o, err);
	scan_free(&s);
	return ret;
}

#define WATCHED	26u	/* seconds: the limit is 20, and six more */

static void test_watch(void)
{
	struct import_options o = { .takeover = true };
	char host[KVP_NAME_LEN + 1];
	struct err err;

	watch_wait = other_host_waits;
	/* silence: this host has a claim above, on both legs */
	expect(!watch(0, 0, false, &o, &err) && other.looks == 2 * WATCHED);
	expect(claimed(0, host) == 7 && !strcmp(host, "me"));
	expect(claimed(1, host) == 7 && !strcmp(host, "me"));
	image_free(&other.m);
	/* it moves, early or at the last look: nothing was written */
	expect(watch(3, 6, false, &o, &err) && err.code == ERR_OTHER_HOST && other.looks == 3);
	expect(strstr(err.why, "host beta is alive") && claimed(0, host) == 0);
	image_free(&other.m);
	expect(watch(WATCHED, 6, false, &o, &err) && err.code == ERR_OTHER_HOST);
	expect(claimed(0, host) == 0 && claimed(1, host) == 6);
	image_free(&other.m);
	/* what cannot be understood moves as well */
	expect(watch(5, 6, true, &o, &err) && err.code == ERR_OTHER_HOST);
	expect(strstr(err.why, "another host is alive"));
	image_free(&other.m);
	/* two imports at once: the same claim, or a late sign of life */
	expect(watch(WATCHED + 1, 7, false, &o, &err) && err.code == ERR_OTHER_HOST);
	expect(strstr(err.why, "host beta claims it, too"));
	image_free(&other.m);
	expect(watch(2 * WATCHED, 6, false, &o, &err) && err.code == ERR_OTHER_HOST);
	image_free(&other.m);
	/* read-only: one watch, and no claim */
	o.readonly = true;
	expect(!watch(0, 0, false, &o, &err) && other.looks == WATCHED && claimed(0, host) == 0);
	image_free(&other.m);
}

static void other_use(void)
{
	static const u8 zeros[KVP_SB_RING * KVP_SB_SIZE];
	unsigned int end;

	if (++other.looks != WATCHED)
		return;
	for (end = 0; end < 2; end++)
		image_write(&other.m, 1, kvp_sb_slot_offset(other.m.blocks, end, 0), zeros,
			    sizeof(zeros));
}

static void another_leg(void)
{
	if (++other.looks != WATCHED)
		return;
	memset(other.m.sb.legs[1].uuid, 0x66, 16);
	for (u32 i = 0; i < KVP_SB_RING; i++)
		image_seal(&other.m);
}

/*
 * While import watches a leg, another tool may take the device. Then it is no leg any more, and
 * import writes no claim to it.
 */
static void test_watch_reused(void)
{
	struct import_options o = { .takeover = true };
	char host[KVP_NAME_LEN + 1];
	struct err err;

	watch_wait = other_use;
	expect(watch(0, 0, false, &o, &err) && err.code == ERR_MEMBER);
	expect(strstr(err.why, "not the leg any more") && claimed(1, host) == 6);
	image_free(&other.m);
	watch_wait = another_leg;
	expect(watch(0, 0, false, &o, &err) && err.code == ERR_MEMBER && claimed(1, host) == 6);
	image_free(&other.m);
	watch_wait = other_host_waits;
}

/* When there is something to watch. */
static void test_watch_when(void)
{
	static const struct {
		u64 self, host, heartbeat;
		u32 flags;
		bool takeover, watches;
	} cases[] = {
		{ 7, 8, 2, 0, true, true },
		{ 7, 8, 0, 0, true, false },
		{ 7, 8, 61, 0, true, false },
		{ 7, 8, 2, KVP_SB_CLEAN, false, true },
		{ 7, 8, 2, KVP_SB_EXPORTED, true, false },
		{ 7, 7, 2, 0, false, false },
		{ 7, 7, 2, 0, true, true },
		{ 0, 8, 2, 0, false, false },
		{ 7, 0, 2, 0, false, false },
	};
	struct kvp_sb sb = { .tunable_mask = 1ull << KVP_T_HEARTBEAT };
	struct found_pool p = { .sb = &sb };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct import_options o = { .takeover = cases[i].takeover };

		o.self.id = cases[i].self;
		sb.host = cases[i].host;
		sb.flags = cases[i].flags;
		sb.tunables[KVP_T_HEARTBEAT] = cases[i].heartbeat;
		expect(!watch_seconds(&p, &o) == !cases[i].watches);
	}
}

/* A leg in sync that cannot be read may be the one that moves. */
static void test_watch_unread(void)
{
	struct import_options o = { .takeover = true };
	struct found_pool p;
	struct err err;
	struct scan s;

	expect(!watch(0, 0, false, &o, &err));
	scan(&other.m, &s);
	p = s.pools[0];
	snprintf(p.legs[1]->dev.path, sizeof(p.legs[1]->dev.path), "/nonexistent");
	expect(watch_run(&ctl, &p, &o, &err) && err.code != ERR_NONE);
	scan_free(&s);
	image_free(&other.m);
}

static void test_import_missing(void)
{
	struct import_options o = { .readonly = false };
	char params[512];
	struct image m;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	m.legs = 1;
	scan(&m, &s);
	expect(scan_missing(&s.pools[0]) == 1);
	expect(refused(&s, &o, ERR_MISSING_LEGS));
	o.degraded = true;
	expect(refused(&s, &o, ERR_NONE));
	expect(import_params(&s.pools[0], &o, params, sizeof(params)) &&
	       strstr(params, " 1 degraded mirror 2 0:0 -"));
	scan_free(&s);
	/* recorded out: it holds nothing newer */
	o.degraded = false;
	m.legs = 2;
	m.sb.legs[1].state = KVP_LEG_STALE;
	image_seal(&m);
	m.legs = 1;
	scan(&m, &s);
	expect(refused(&s, &o, ERR_NONE));
	scan_free(&s);
	/* only the one that is out */
	m.path[0][0] = 0;
	snprintf(m.path[0], sizeof(m.path[0]), "/proc/self/fd/%d", m.fd[1]);
	scan(&m, &s);
	o.degraded = true;
	expect(refused(&s, &o, ERR_MISSING_LEGS));
	scan_free(&s);
	m.legs = 2;
	image_free(&m);
}

/* What does not answer is named, and never absent; what answers is found. */
static void test_import_silent(void)
{
	struct import_options o = { .readonly = false };
	const struct found_leg *leg;
	struct refusals r;
	struct image m;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	image_hangs(&m, 1);
	scan(&m, &s);
	leg = scan_unread(&s);
	expect(s.leg_count == 2 && leg == s.legs[1] && !strcmp(leg->dev.path, m.path[1]));
	expect(leg && strstr(label_fault(&leg->label), "does not answer"));
	expect(s.pool_count == 1 && scan_missing(&s.pools[0]) == 1 && s.pools[0].unread == leg);
	import_check(&s.pools[0], &o, &r);
	expect(r.count && r.list[0].code == ERR_MISSING_LEGS);
	expect(strstr(r.list[0].why, m.path[1]) && strstr(r.list[0].why, "does not answer"));
	scan_free(&s);
	image_answers();
	scan(&m, &s);
	expect(!scan_unread(&s) && !scan_missing(&s.pools[0]) && !s.pools[0].unread);
	scan_free(&s);
	image_free(&m);
}

static void test_open_silent(void)
{
	struct image m;
	struct device d;
	struct err err;

	image_standard(&m, 1, IMAGE_SMALL);
	image_hangs(&m, 0);
	expect(device_open(m.path[0], true, &d, &err) == -1 && d.fd == -1);
	expect(err.code == ERR_IO && strstr(err.why, "does not answer"));
	image_answers();
	device_note(m.path[0], false);
	expect(!device_open(m.path[0], true, &d, &err));
	device_close(&d);
	image_free(&m);
}

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* It answers, and later it does not: one read waits, and what it had before is there. */
static void test_read_silent(void)
{
	void *buf = blocks_alloc(300);
	struct device d, other;
	struct image m;
	struct err err;
	time_t since;

	image_standard(&m, 1, IMAGE_SMALL);
	expect(buf && !device_open(m.path[0], true, &d, &err) && d.blocks > 300);
	/* more than a reader reads at once */
	expect(!device_read(&d, 0, 300, buf) && device_read(&d, d.blocks, 1, buf) == -EINVAL);
	image_hangs(&m, 0);
	expect(device_read(&d, 0, 1, buf) == -ETIMEDOUT);
	since = seconds();
	expect(device_read(&d, 0, 1, buf) == -ETIMEDOUT &&
	       device_read(&d, 9, 2, buf) == -ETIMEDOUT);
	/* nor is it asked in another way */
	expect(device_open(m.path[0], true, &other, &err) == -1);
	expect(seconds() - since < 3);
	device_close(&d);
	image_answers();
	device_note(m.path[0], false);
	free(buf);
	image_free(&m);
}

/* Several that hang are waited for at once, and an error names all. */
static void test_ask_silent(void)
{
	const char *paths[4];
	struct device d;
	struct image m;
	struct err err;
	unsigned int i;
	time_t since;

	image_standard(&m, 4, IMAGE_SMALL);
	for (i = 0; i < 4; i++)
		paths[i] = m.path[i];
	for (i = 0; i < 3; i++)
		image_hangs(&m, i);
	since = seconds();
	device_ask(paths, 4);
	expect(device_open(paths[1], true, &d, &err) == -1 && strstr(err.why, "does not answer"));
	expect(strstr(err.why, paths[0]) && strstr(err.why, paths[2]) &&
	       !strstr(err.why, paths[3]));
	expect(device_open(paths[0], true, &d, &err) == -1);
	expect(device_open(paths[2], true, &d, &err) == -1);
	expect(!device_open(paths[3], true, &d, &err));
	device_close(&d);
	/* three times as long, one after the other */
	expect(seconds() - since < 2 * (time_t)device_patience);
	image_answers();
	device_ask(paths, 4);
	for (i = 0; i < 4; i++) {
		expect(!device_open(paths[i], true, &d, &err));
		device_close(&d);
	}
	image_free(&m);
}

struct errand {
	bool hangs, fails;
	int result;
};

static int run_errand(void *arg, struct err *err)
{
	struct errand *e = arg;

	e->result = 7;
	while (e->hangs)
		pause();
	return e->fails ? err_set(err, ERR_BUSY, "it", "wait", "it is busy") : 0;
}

static void test_apart(void)
{
	struct errand e = { .fails = true };
	struct image m;
	struct err err;

	image_standard(&m, 1, IMAGE_SMALL);
	device_patience = 2;
	expect(device_apart(m.path[0], run_errand, &e, &e.result, sizeof(e.result), &err) == -1);
	expect(err.code == ERR_BUSY && !strcmp(err.why, "it is busy"));
	e = (struct errand){ 0 };
	expect(!device_apart(m.path[0], run_errand, &e, NULL, 0, &err) && !e.result);
	expect(!device_apart(m.path[0], run_errand, &e, &e.result, sizeof(e.result), &err));
	expect(e.result == 7);
	e.hangs = true;
	expect(device_apart(m.path[0], run_errand, &e, NULL, 0, &err) == -1);
	expect(err.code == ERR_IO && strstr(err.why, "does not answer"));
	/* not asked again */
	e.hangs = false;
	expect(device_apart(m.path[0], run_errand, &e, NULL, 0, &err) == -1);
	device_patience = WATCHED_PATIENCE;
	device_note(m.path[0], false);
	image_free(&m);
}

/* Block 0 of a leg, byte by byte: nothing of others is overwritten, or cleared. */
static void test_pmbr(void)
{
	unsigned char ours[PMBR_BYTES], block[KVP_BLOCK_SIZE];
	struct image m;
	unsigned int i;
	int fd;

	image_standard(&m, 1, IMAGE_SMALL);
	fd = open(m.path[0], O_RDWR);
	expect(pmbr_look(fd) == PMBR_NONE && pmbr_clear(fd) == 0);
	expect(pmbr_write(fd) == 1 && pmbr_look(fd) == PMBR_OURS && pmbr_write(fd) == 0);
	pmbr_make(ours);
	for (i = 0; i < PMBR_BYTES; i++) {
		ours[i] ^= 1;
		expect(pwrite(fd, ours, sizeof(ours), 0) == sizeof(ours));
		expect(pmbr_look(fd) == PMBR_OTHER && !pmbr_write(fd) && !pmbr_clear(fd));
		expect(pread(fd, block, sizeof(ours), 0) == sizeof(ours));
		expect(!memcmp(block, ours, sizeof(ours)));
		ours[i] ^= 1;
	}
	expect(pwrite(fd, ours, sizeof(ours), 0) == sizeof(ours) && pmbr_clear(fd) == 1);
	expect(pmbr_look(fd) == PMBR_NONE);
	/* a byte behind the first sector is not ours either */
	expect(pwrite(fd, "x", 1, 4095) == 1);
	expect(pmbr_look(fd) == PMBR_OTHER && !pmbr_write(fd));
	/* where a GPT begins: the sector before it is ours all the same */
	expect(pwrite(fd, ours, sizeof(ours), 0) == sizeof(ours) && pmbr_clear(fd) == 1);
	expect(pread(fd, block, 4096, 0) == 4096 && block[4095] == 'x' && !block[510]);
	/* too short, or not for writing */
	expect(!ftruncate(fd, 1000) && pmbr_look(fd) == -1 && pmbr_write(fd) == -1);
	close(fd);
	fd = open(m.path[0], O_RDONLY);
	expect(pmbr_write(fd) == -1 && pmbr_clear(fd) == -1);
	close(fd);
	image_free(&m);
}

static void test_import_fork(void)
{
	struct import_options o = { .readonly = false };
	struct image m;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	/* each half was started alone once, by force */
	m.sb.fork_count = 1;
	m.sb.forks[0] = 111;
	m.sb.epoch = 4;
	image_seal(&m);
	m.legs = 1;
	m.sb.forks[0] = 222;
	m.sb.epoch = 5;
	image_seal(&m);
	m.legs = 2;
	scan(&m, &s);
	expect(s.pools[0].sb->epoch == 5 && s.pools[0].fork);
	expect(refused(&s, &o, ERR_FORK));
	o.accept_fork = true;
	expect(refused(&s, &o, ERR_NONE));
	scan_free(&s);
	image_free(&m);
}

/*
 * One leg has an older superblock than the other. One step behind it is in sync; more than one
 * means that it was put back.
 */
static void test_import_put_back(void)
{
	struct import_options o = { .readonly = false };
	u64 behind;
	struct image m;
	struct scan s;

	for (behind = 1; behind < 4; behind++) {
		bool in_sync = behind < 2 || behind == 3;

		image_standard(&m, 2, IMAGE_SMALL);
		m.legs = 1;
		m.sb.sequence += behind - 1;
		/* as if superblocks had reported that writes to the other leg failed */
		m.sb.behind = behind == 3 ? 2 : 0;
		m.sb.behind_known = true;
		image_seal(&m);
		m.legs = 2;
		scan(&m, &s);
		expect(!s.pools[0].outdated == in_sync && !s.pools[0].fork);
		expect(scan_in_sync(&s.pools[0]) == (in_sync ? 2 : 1));
		expect(refused(&s, &o, ERR_NONE));
		scan_free(&s);
		image_free(&m);
	}
}

/* Each leg went on without the other, and no start was forced. */
static void test_import_parted(void)
{
	struct import_options o = { .readonly = false };
	struct image m;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	m.sb.legs[0].state = KVP_LEG_FAULTED;
	m.sb.epoch = 4;
	image_seal(&m);
	m.legs = 1;
	m.sb.legs[0].state = KVP_LEG_IN_SYNC;
	m.sb.legs[1].state = KVP_LEG_STALE;
	m.sb.epoch = 5;
	image_seal(&m);
	m.legs = 2;
	scan(&m, &s);
	expect(s.pools[0].sb->epoch == 5 && s.pools[0].fork);
	expect(refused(&s, &o, ERR_FORK));
	scan_free(&s);
	image_free(&m);
}

/* The same, but leg 0, which has the newest superblock, may say that nothing was done with it. */
static void test_import_never_counted(void)
{
	struct import_options o = { .readonly = false };
	struct image m;
	struct scan s;
	u64 out;

	for (out = 0; out < 3; out++) {
		bool pass = out == 1;

		image_standard(&m, 2, IMAGE_SMALL);
		m.sb.legs[0].state = KVP_LEG_FAULTED;
		m.sb.legs[0].out = m.sb.sequence + 2;
		m.sb.epoch = 4;
		image_seal(&m);
		/* Leg 0 has another one, of the same number. */
		m.sb.sequence--;
		m.legs = 1;
		m.sb.legs[0].state = KVP_LEG_IN_SYNC;
		m.sb.legs[0].out = 0;
		m.sb.legs[1].state = KVP_LEG_STALE;
		m.sb.legs[1].out = out;
		m.sb.epoch = 5;
		image_seal(&m);
		m.legs = 2;
		scan(&m, &s);
		expect(s.pools[0].sb->epoch == (pass ? 4 : 5) && !s.pools[0].fork == pass);
		expect(scan_leg_in_sync(&s.pools[0], 1) == pass);
		expect(scan_forked(&s.pools[0], s.pools[0].legs[!pass]) == !pass);
		expect(refused(&s, &o, pass ? ERR_NONE : ERR_FORK));
		scan_free(&s);
		image_free(&m);
	}
}

/* After an unclean stop with an empty log the pool can be read. */
static void test_import_readonly(void)
{
	struct import_options o = { .readonly = true };
	struct image m;
	struct scan s;

	image_make(&m, 2, IMAGE_SMALL);
	m.sb.flags &= ~KVP_SB_CLEAN;
	image_seal(&m);
	scan(&m, &s);
	expect(refused(&s, &o, ERR_NONE));
	scan_free(&s);
	image_log(&m, (struct image_rec[]){ { KVP_REC_DATA, 9, 1, 2 } }, 1);
	scan(&m, &s);
	expect(refused(&s, &o, ERR_NOT_CLEAN));
	scan_free(&s);
	image_free(&m);
}

/* Is a pool of two legs, one of them read-only, imported without that? @out: it was out before. */
static bool left_out(bool out, u64 degraded_start, const struct import_options *o, bool both)
{
	struct import_without without;
	struct image m;
	struct scan s;
	bool left;

	image_standard(&m, 2, IMAGE_SMALL);
	m.sb.legs[1].state = out ? KVP_LEG_STALE : KVP_LEG_IN_SYNC;
	m.sb.tunable_mask |= 1ull << KVP_T_DEGRADED_START;
	m.sb.tunables[KVP_T_DEGRADED_START] = degraded_start;
	image_seal(&m);
	scan(&m, &s);
	s.pools[0].legs[1]->dev.readonly = true;
	s.pools[0].legs[0]->dev.readonly = both;
	left = import_leave_out(&s.pools[0], o, &without);
	expect(!left || (without.pool.legs[0] && !without.pool.legs[1]));
	scan_free(&s);
	image_free(&m);
	return left;
}

static void test_import_leave_out(void)
{
	struct import_options none = { .readonly = false }, degraded = { .degraded = true },
			      readonly = { .readonly = true, .degraded = true };

	expect(!left_out(false, 0, &none, false));
	expect(left_out(false, 0, &degraded, false));
	expect(left_out(false, 1, &none, false));
	/* it would get nothing anyway */
	expect(left_out(true, 0, &none, false));
	expect(!left_out(false, 1, &readonly, false));
	expect(!left_out(false, 0, &degraded, true));
}

/* A missing leg is no reason to ask: so neither is one that is read-only. @leg: its number */
static bool left_out_of(const struct image_shape *shape, unsigned int leg)
{
	struct import_options o = { .readonly = false };
	struct import_without without;
	struct image m;
	struct scan s;
	bool left;

	image_standard_shaped(&m, shape, IMAGE_SMALL);
	scan(&m, &s);
	s.pools[0].legs[leg]->dev.readonly = true;
	left = import_leave_out(&s.pools[0], &o, &without);
	expect(!left || (!without.pool.legs[leg] &&
			 without.pool.unusable[leg] == s.pools[0].legs[leg]));
	scan_free(&s);
	image_free(&m);
	return left;
}

static void test_import_leave_out_unasked(void)
{
	struct image_shape parity = { .vdevs = { { KVP_VDEV_PARITY1, 3 } } },
			   cached = { .vdevs = { { KVP_VDEV_MIRROR, 2 } },
				      .cache = IMAGE_TWO_SSDS };

	expect(left_out_of(&parity, 1));
	expect(left_out_of(&cached, 3));
	expect(!left_out_of(&cached, 1));
}

static void test_import_duplicate(void)
{
	struct import_options o = { .degraded = true };
	const char *paths[3];
	struct image a, b;
	struct scan s;
	struct err err;

	image_standard(&a, 2, IMAGE_SMALL);
	image_standard(&b, 2, IMAGE_SMALL);
	paths[0] = a.path[0];
	paths[1] = b.path[0];
	paths[2] = a.path[0];	/* the same file again is not a duplicate */
	expect(!scan_run(paths, 3, &s, &err) && s.leg_count == 2);
	expect(refused(&s, &o, ERR_DUPLICATE_LEG));
	scan_free(&s);
	image_free(&a);
	image_free(&b);
}

/* --- what is remembered of devices ------------------------------------------------ */

#define DISK	device_make(4095, 7)
#define VOLUME	device_make(4095, 8)

static char sys[64];	/* a made-up /sys/dev/block, and beside it what is remembered */

static void sys_put(const char *device, const char *file, const char *text)
{
	char path[256], *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", sys, device, file);
	for (p = path + strlen(sys); (p = strchr(p + 1, '/')); *p = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
	f = fopen(path, "we");
	if (f)
		fputs(text, f);
	expect(f && !fclose(f));
}

static void sys_counts(const char *device, unsigned int reads, unsigned int writes,
		       unsigned int discards)
{
	char text[256];

	snprintf(text, sizeof(text), "%u 0 0 0 %u 0 0 0 0 0 0 %u 0 0 0 0 0\n", reads, writes,
		 discards);
	sys_put(device, "stat", text);
}

static void sys_make(void)
{
	snprintf(sys, sizeof(sys), "%s/kvpool-sys.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	expect(mkdtemp(sys));
	remember_sys = remember_dir = sys;
	sys_put("4095:7", "diskseq", "5\n");
	sys_put("4095:7", "size", "2048\n");
	sys_put("4095:7", "queue/iostats", "1\n");
	sys_counts("4095:7", 10, 20, 30);
	sys_put("4095:8", "diskseq", "6\n");
	sys_put("4095:8", "size", "1024\n");
	sys_put("4095:8", "queue/iostats", "1\n");
	sys_put("4095:8", "slaves/disk/dev", "4095:7\n");
	sys_counts("4095:8", 1, 2, 3);
}

static void sys_remove(void)
{
	char order[128];

	snprintf(order, sizeof(order), "rm -rf '%s'", sys);
	expect(!system(order));
	remember_sys = "/sys/dev/block";
	remember_dir = "/run";
}

/* Is it remembered of @rdev by the next process? */
static bool is_remembered(dev_t rdev, const char *text)
{
	const struct remembered *r;
	struct memory m;
	struct stamp now;
	bool is;

	memory_open(&m, "test");
	r = stamp_take(rdev, &now) ? memory_find(&m, rdev, &now) : NULL;
	is = r && r->size == strlen(text) && !memcmp(r->text ?: "", text, r->size);
	memory_close(&m);
	return is;
}

/* @rdev, whose folder is @device, is read and then remembered. */
static void read_it(dev_t rdev, const char *device, const char *text)
{
	struct stamp before;
	struct memory m;

	memory_open(&m, "test");
	sys_counts(device, 10, 20, 30);
	expect(stamp_take(rdev, &before));
	sys_counts(device, 11, 20, 30);
	memory_keep(&m, rdev, &before, text, strlen(text));
	memory_close(&m);
}

static void test_remember(void)
{
	struct stamp before;
	struct memory m;

	sys_make();
	expect(!is_remembered(DISK, "label"));
	read_it(DISK, "4095:7", "label");
	expect(is_remembered(DISK, "label"));
	sys_counts("4095:7", 99, 20, 30);
	expect(is_remembered(DISK, "label"));	/* reads change nothing */
	read_it(VOLUME, "4095:8", "");
	expect(is_remembered(VOLUME, "") && is_remembered(DISK, "label"));

	/* written, or discarded; and past the volume */
	sys_counts("4095:7", 99, 21, 30);
	expect(!is_remembered(DISK, "label") && !is_remembered(VOLUME, ""));
	sys_counts("4095:7", 99, 20, 31);
	expect(!is_remembered(DISK, "label") && !is_remembered(VOLUME, ""));
	sys_counts("4095:7", 99, 20, 30);
	expect(is_remembered(DISK, "label") && is_remembered(VOLUME, ""));

	/* another disk under this number, or of another size */
	sys_put("4095:7", "diskseq", "7\n");
	expect(!is_remembered(DISK, "label"));
	sys_put("4095:7", "diskseq", "5\n");
	sys_put("4095:7", "size", "4096\n");
	expect(!is_remembered(DISK, "label"));
	sys_put("4095:7", "size", "2048\n");

	/* the kernel does not count, or others may write */
	sys_put("4095:7", "queue/iostats", "0\n");
	expect(!is_remembered(DISK, "label") && !is_remembered(VOLUME, ""));
	sys_put("4095:7", "queue/iostats", "1\n");
	sys_put("4095:7", "loop/backing_file", "/x\n");
	expect(!stamp_take(DISK, &before) && !stamp_take(VOLUME, &before));
	sys_remove();

	/* a read that was not counted; a write meanwhile; a device without counters */
	sys_make();
	memory_open(&m, "test");
	expect(stamp_take(DISK, &before));
	memory_keep(&m, DISK, &before, "label", 5);
	memory_close(&m);
	expect(!is_remembered(DISK, "label"));
	memory_open(&m, "test");
	sys_counts("4095:7", 11, 21, 30);
	memory_keep(&m, DISK, &before, "label", 5);
	memory_close(&m);
	expect(!is_remembered(DISK, "label"));
	expect(!stamp_take(device_make(4095, 9), &before) && !stamp_take(0, &before));
	sys_remove();
}

/* A file that is damaged, or of another build, is as none. */
static void test_remember_damaged(void)
{
	struct memory m;
	char path[128];
	size_t size;
	int fd;

	sys_make();
	read_it(DISK, "4095:7", "label");
	snprintf(path, sizeof(path), "%s/kvpoolctl-test", sys);
	for (size = 5 + sizeof(struct stamp) + 16 + 40; size--; ) {
		read_it(DISK, "4095:7", "label");
		expect(!truncate(path, (off_t)size) && !is_remembered(DISK, "label"));
	}
	read_it(DISK, "4095:7", "label");
	fd = open(path, O_RDWR | O_CLOEXEC);
	expect(fd >= 0 && pwrite(fd, "x", 1, 8) == 1 && !close(fd));
	expect(!is_remembered(DISK, "label"));
	/* no size of an entry is believed */
	read_it(DISK, "4095:7", "label");
	fd = open(path, O_RDWR | O_CLOEXEC);
	expect(fd >= 0 && pwrite(fd, "\377\377\377\377\377", 5, 48) == 5 && !close(fd));
	expect(!is_remembered(DISK, "label"));
	/* a disk that has gone is forgotten with the next write */
	read_it(DISK, "4095:7", "label");
	sys_put("4095:7", "diskseq", "9\n");
	read_it(VOLUME, "4095:8", "");
	sys_put("4095:7", "diskseq", "5\n");
	memory_open(&m, "test");
	expect(m.count == 1 && m.list[0].rdev == VOLUME);
	memory_close(&m);
	sys_remove();
}

/* --- replay against a simple model ------------------------------------------------- */

#define MODEL_BLOCKS	64

/* The lsn of the newest record, and of the newest discard, of each block; 0: it has none. */
struct model {
	u64 newest[MODEL_BLOCKS], discard[MODEL_BLOCKS];
};

/* @nr entries of one record each, at random places. */
static bool model_fill(struct model *m, struct replay *r, u64 nr, unsigned int seed)
{
	static struct { struct kvp_log_hdr h; u8 recs[KVP_BLOCK_SIZE]; } entry;
	bool same = true;
	u64 lsn, b;

	memset(m, 0, sizeof(*m));
	for (lsn = 1; lsn <= nr; lsn++) {
		u8 buf[KVP_LOG_HDR_SIZE + sizeof(struct kvp_disk_rec)] = { 0 };
		struct kvp_rec rec = { .block = (u64)rand_r(&seed) % MODEL_BLOCKS, .count = 1,
			.kind = 1 + (unsigned int)rand_r(&seed) % 3 };

		if (rec.kind == KVP_REC_DISCARD)
			rec.count = 1 + (u32)rand_r(&seed) % (u32)(MODEL_BLOCKS - rec.block);
		kvp_rec_encode(&rec, (struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE));
		entry.h = (struct kvp_log_hdr){ .lsn = lsn, .rec_count = 1 };
		same &= !replay_add(r, &entry.h, buf);
		for (b = rec.block; b < rec.block + rec.count; b++)
			*(rec.kind == KVP_REC_DISCARD ? &m->discard[b] : &m->newest[b]) = lsn;
	}
	return same & !replay_sort(r);
}

static const struct kvp_geometry model_mirror = { .kind = KVP_VDEV_MIRROR, .leg_count = 2 };

static void test_replay(void)
{
	struct replay r = { .g = &model_mirror };
	struct model m;
	bool same = model_fill(&m, &r, 399, 1);
	u64 b;

	for (b = 0; b < MODEL_BLOCKS; b++) {
		const struct replay_rec *recs, *d;
		size_t n = replay_get(&r, b, &recs, &d);

		same &= m.newest[b] ? n && recs[0].lsn == m.newest[b] : !n;
		same &= m.discard[b] ? d && d->lsn == m.discard[b] : !d;
	}
	expect(same);
	replay_free(&r);
}

/* Several parities of a row in one entry: the last one counts, as in a recovery. */
static void test_replay_row(void)
{
	static u8 buf[KVP_LOG_HDR_SIZE + 600 * sizeof(struct kvp_disk_rec)];
	const struct kvp_log_hdr h = { .lsn = 7, .rec_count = 600, .hdr_blocks = 1 };
	struct kvp_disk_rec *d = (struct kvp_disk_rec *)(buf + KVP_LOG_HDR_SIZE);
	struct replay r = { .g = &model_mirror };
	bool right = true;
	u64 row;
	u32 i;

	for (i = 0; i < h.rec_count; i++)
		kvp_rec_encode(&(struct kvp_rec){ .kind = KVP_REC_PARITY, .block = i % 200,
						  .count = 1, .crc = i / 200 }, &d[i]);
	expect(!replay_add(&r, &h, buf) && !replay_sort(&r) && r.parity_count == 600);
	for (row = 0; row < 200; row++) {
		const struct replay_parity *p = replay_row(&r, 0, row);

		right &= p && p->row == row && p->crc == 2;
	}
	expect(right && !replay_row(&r, 0, 200) && !replay_row(&r, 1, 0));
	replay_free(&r);
}

/* All ranges of the model, with few records: most ranges have none. */
static void test_replay_touches(void)
{
	unsigned int seed;

	for (seed = 1; seed < 200; seed++) {
		struct replay r = { .g = &model_mirror };
		struct model m;
		bool same = model_fill(&m, &r, seed % 8, seed), touched;
		u64 first, end;

		for (first = 0; first < MODEL_BLOCKS; first++) {
			touched = false;
			for (end = first + 1; end <= MODEL_BLOCKS; end++) {
				touched |= m.newest[end - 1] || m.discard[end - 1];
				same &= replay_touches(&r, first, end) == touched;
			}
		}
		expect(same);
		replay_free(&r);
	}
}

/* --- check ----------------------------------------------------------------------------- */

/* Runs check on the image; an object to be released. */
static json_object *check(const struct image *m, int *status)
{
	struct scan s;
	struct err err;
	json_object *o;

	scan(m, &s);
	o = check_object(&ctl, &s, status, &err);
	expect(o);
	scan_free(&s);
	return o;
}

static u64 leg_number(json_object *o, size_t leg, const char *key)
{
	return json_number_at(json_object_array_get_idx(json_at(o, "legs"), leg), key);
}

static void test_check_standard(u64 blocks)
{
	struct image m;
	json_object *o;
	int status;

	image_standard(&m, 2, blocks);
	o = check(&m, &status);
	/* it has a poisoned block */
	expect(status == EXIT_DEGRADED);
	expect(!strcmp(json_text_at(o, "log.state"), "sound"));
	expect(json_number_at(o, "log.entries") == 3);
	expect(json_number_at(o, "blocks.valid") == 3);		/* 2, 511, 600 */
	expect(json_number_at(o, "blocks.in_log") == 3);	/* 0, 1, 40 */
	expect(json_number_at(o, "blocks.torn") == 1);
	expect(json_number_at(o, "blocks.poisoned") == 1);
	expect(json_number_at(o, "blocks.unrepaired") == 0);
	expect(json_number_at(o, "blocks.unwritten") == m.sb.pool_blocks - 8);
	expect(!leg_number(o, 0, "blocks_bad") && !leg_number(o, 1, "blocks_bad"));
	expect(!leg_number(o, 0, "log_bad") && !leg_number(o, 0, "pages_bad"));
	expect(json_number_at(json_object_array_get_idx(json_at(o, "damage"), 0), "lba") ==
	       STD_POISONED);
	json_object_put(o);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	o = check(&m, &status);
	expect(status == EXIT_DONE && !json_at(o, "advice"));
	json_object_put(o);
	image_free(&m);
}

/* Clean records of old versions, one with a rotten payload, are skipped. */
static void test_check_clean(void)
{
	const struct image_rec recs[] = {
		{ KVP_REC_CLEAN, 2, 0, 7 }, { KVP_REC_CLEAN, 40, 0, 1 },
			{ KVP_REC_CLEAN, 900, 0, 1 },
		{ KVP_REC_DATA, 700, 0, 3 },
	};
	struct image m;
	json_object *o;
	unsigned int i;
	int status;

	image_make(&m, 2, IMAGE_SMALL);
	m.sb.flags &= ~KVP_SB_CLEAN;
	image_valid(&m, 2, 1);
	image_log(&m, (struct image_rec[]){ { KVP_REC_DATA, 40, 0, 2 } }, 1);
	image_skip(&m);
	image_log(&m, recs, sizeof(recs) / sizeof(*recs));
	image_log(&m, (struct image_rec[]){ { KVP_REC_DATA, 701, 0, 3 } }, 1);
	image_seal(&m);
	for (i = 0; i < 2; i++)
		image_flip(&m, i, ((m.sb.vdevs[0].log_start + kvp_log_pos(&m.sb.vdevs[0],
			m.prev_lsn)) <<
				   KVP_BLOCK_SHIFT) - 3 * KVP_BLOCK_SIZE + 9, 1);
	o = check(&m, &status);
	expect(status == EXIT_DONE && !strcmp(json_text_at(o, "log.state"), "sound"));
	expect(json_number_at(o, "log.entries") == 3 && json_number_at(o, "log.clean") == 3);
	expect(json_number_at(o, "blocks.valid") == 1 && json_number_at(o, "blocks.in_log") == 3);
	expect(!leg_number(o, 0, "log_bad") && !leg_number(o, 0, "blocks_bad"));
	json_object_put(o);
	image_free(&m);
}

static u64 home_at(const struct image *m, u64 block)
{
	return (m->sb.vdevs[0].data_start + block) << KVP_BLOCK_SHIFT;
}

static void test_check_home_damage(void)
{
	struct image m;
	json_object *o;
	int status;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	image_flip(&m, 1, home_at(&m, 511) + 77, 3);
	image_flip(&m, 0, home_at(&m, 1) + 77, 3);	/* newer in the log: no matter */
	image_flip(&m, 0, home_at(&m, 900) + 77, 3);	/* unwritten: no matter */
	o = check(&m, &status);
	expect(status == EXIT_DEGRADED);
	expect(leg_number(o, 1, "blocks_bad") == 1 && leg_number(o, 0, "blocks_bad") == 0);
	expect(json_number_at(o, "blocks.unrepaired") == 0);
	json_object_put(o);
	image_flip(&m, 0, home_at(&m, 511) + 4000, 3);
	o = check(&m, &status);
	expect(status == EXIT_DEGRADED && json_number_at(o, "blocks.unrepaired") == 1);
	expect(json_number_at(json_object_array_get_idx(json_at(o, "damage"), 0), "lba") == 511);
	json_object_put(o);
	image_free(&m);
}

static void test_check_table_damage(void)
{
	struct image m;
	json_object *o;
	u64 page;
	int status;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	page = kvp_page_block(&m.sb.vdevs[0], 0, 0, 1) << KVP_BLOCK_SHIFT;
	image_flip(&m, 0, page + 9, 1);
	o = check(&m, &status);
	expect(status == EXIT_DEGRADED && leg_number(o, 0, "pages_bad") == 1);
	expect(json_number_at(o, "table.pages_lost") == 0);
	json_object_put(o);
	image_flip(&m, 1, page + 9, 1);
	o = check(&m, &status);
	expect(status == EXIT_DEGRADED && json_number_at(o, "table.pages_lost") == 1);
	/* the whole leaf except blocks in the log and two blocks under open intents */
	expect(json_number_at(o, "blocks.unrepaired") == 512 - 5);
	expect(json_number_at(o, "blocks.in_log") == 3);
	json_object_put(o);
	image_free(&m);
}

static u64 log_at(const struct image *m, u64 lsn)
{
	return (m->sb.vdevs[0].log_start + kvp_log_pos(&m->sb.vdevs[0], lsn)) << KVP_BLOCK_SHIFT;
}

static void test_check_log_damage(void)
{
	struct image m;
	json_object *o;
	int status;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	image_flip(&m, 0, log_at(&m, m.sb.log_tail) + 40, 1);
	o = check(&m, &status);
	expect(status == EXIT_DEGRADED && leg_number(o, 0, "log_bad") == 1);
	expect(json_number_at(o, "log.entries") == 3);
	json_object_put(o);
	/* both copies: later entries name it as durable */
	image_flip(&m, 1, log_at(&m, m.sb.log_tail) + KVP_BLOCK_SIZE + 40, 1);
	o = check(&m, &status);
	expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "damaged"));
	json_object_put(o);
	image_free(&m);
	/* the last entry is torn on all legs: it was not acknowledged as durable */
	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	image_flip(&m, 0, log_at(&m, m.prev_lsn) + 40, 1);
	image_flip(&m, 1, log_at(&m, m.prev_lsn) + 40, 1);
	o = check(&m, &status);
	expect(json_number_at(o, "log.entries") == 2);
	expect(!strcmp(json_text_at(o, "log.state"), "sound"));
	/* unless the superblock says that it was durable */
	json_object_put(o);
	m.sb.log_commit = m.lsn;
	image_seal(&m);
	o = check(&m, &status);
	expect(status == EXIT_FAULTED);
	json_object_put(o);
	image_free(&m);
}

static void expect_log(const struct image *m, const char *state, u64 entries)
{
	json_object *o;
	int status;

	o = check(m, &status);
	expect(!strcmp(json_text_at(o, "log.state"), state));
	expect(json_number_at(o, "log.entries") == entries);
	expect((status == EXIT_FAULTED) == !!strcmp(state, "sound"));
	expect(!strcmp(state, "unknown") == !!strstr(json_text_at(o, "log.why") ?: "",
						     "cannot be read"));
	json_object_put(o);
}

/* A name may be that of another disk since the scan. Two legs of a mirror have the same numbers. */
static void test_check_renamed(void)
{
	struct opened o;
	struct image m;
	struct scan s;
	struct err err;

	image_standard(&m, 2, IMAGE_SMALL);
	scan(&m, &s);
	expect(!opened_begin(&s, &o, &err));
	opened_end(&o);
	strcpy(s.legs[0]->dev.path, m.path[1]);
	strcpy(s.legs[1]->dev.path, m.path[0]);
	expect(opened_begin(&s, &o, &err) && err.code == ERR_HELD);
	expect(!strcmp(err.what, m.path[1]) && strstr(err.why, "another device"));
	scan_free(&s);
	image_free(&m);
}

static int ignore_contents(void *arg, const struct verify_span *span, struct err *err)
{
	(void)arg, (void)span, (void)err;
	return 0;
}

/* Why extract would refuse; NULL: it would copy. */
static const char *extract_fault(const struct image *m, char why[sizeof(((struct err *)0)->why)])
{
	struct verify *v = calloc(1, sizeof(*v));
	struct offline_pool pool;
	struct scan s;
	struct err err;
	int ret;

	scan(m, &s);
	expect(v && s.pool_count == 1 && !offline_open(&pool, &s.pools[0], 0, &err));
	v->contents = ignore_contents;
	ret = verify_pool(&pool, v, &err);
	snprintf(why, sizeof(err.why), "%s", ret ? err.why : "");
	offline_close(&pool);
	scan_free(&s);
	free(v);
	return ret ? why : NULL;
}

extern const struct command cmd_extract;

/* The exit status of extract, with both legs of @m. */
static int run_extract(const struct image *m)
{
	struct ctl quiet = { .cmd = &cmd_extract, .quiet = true };
	char copy[64], *argv[] = { (char *)"extract", (char *)m->path[0], (char *)m->path[1],
				   (char *)"-o", copy, NULL };
	int ret;

	snprintf(copy, sizeof(copy), "/tmp/kvpool-unit-copy.%d", getpid());
	optind = 0;
	ret = cmd_extract.run(&quiet, 5, argv);
	expect(!unlink(copy));
	return ret;
}

/*
 * R27: the last entry, or the place behind it, cannot be read. A durable entry is on all legs, so
 * one leg that has none there is enough.
 */
static void test_check_unread_log(void)
{
	char why[sizeof(((struct err *)0)->why)];
	struct image m;
	u32 leg;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	m.sb.flags &= ~KVP_SB_CLEAN;
	image_seal(&m);
	expect_log(&m, "sound", 3);
	expect(run_extract(&m) == EXIT_DONE);
	for (leg = 0; leg < 2; leg++) {
		image_fails_at(&m, leg, log_at(&m, m.lsn), EIO);
		expect_log(&m, leg ? "unknown" : "sound", 3);
	}
	image_answers();
	for (leg = 0; leg < 2; leg++) {
		image_fails_at(&m, leg, log_at(&m, m.prev_lsn), EIO);
		expect_log(&m, leg ? "unknown" : "sound", leg ? 2 : 3);
	}
	/* a copy may be made, and extract tells what it may lack */
	expect(run_extract(&m) == EXIT_DEGRADED);
	/* the superblock says that there is more */
	m.sb.log_commit = m.lsn;
	image_answers();
	image_seal(&m);
	for (leg = 0; leg < 2; leg++)
		image_fails_at(&m, leg, log_at(&m, m.prev_lsn), EIO);
	expect_log(&m, "unknown", 2);
	expect(extract_fault(&m, why) && strstr(why, "cannot be read"));
	image_answers();
	image_free(&m);
}

/* One leg has the last entry torn, and the other one cannot read it, now or ever. */
static void test_check_unread_and_torn(void)
{
	struct image m;
	u32 leg;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	m.sb.flags &= ~KVP_SB_CLEAN;
	image_seal(&m);
	image_flip(&m, 0, log_at(&m, m.prev_lsn) + 40, 1);
	image_fails_at(&m, 1, log_at(&m, m.prev_lsn), EIO);
	expect_log(&m, "unknown", 2);
	image_fails_at(&m, 1, log_at(&m, m.prev_lsn), ENODATA);
	expect_log(&m, "sound", 2);
	/* after a clean stop there is nothing in the log */
	image_fails_at(&m, 0, log_at(&m, m.prev_lsn), EIO);
	expect_log(&m, "unknown", 2);
	image_answers();
	m.sb.flags |= KVP_SB_CLEAN;
	image_seal(&m);
	for (leg = 0; leg < 2; leg++)
		image_fails_at(&m, leg, log_at(&m, m.prev_lsn), EIO);
	expect_log(&m, "sound", 2);
	image_answers();
	image_free(&m);
}

/*
 * The places of the next entry can be read, and most of what is behind them cannot. An entry there
 * may show that more was durable, so a start is refused. A few bad sectors are no reason.
 */
static void test_check_unread_beyond(void)
{
	struct image m;
	u64 from, to;
	u32 leg;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	m.sb.flags &= ~KVP_SB_CLEAN;
	image_seal(&m);
	from = log_at(&m, kvp_log_segment_end(&m.sb.vdevs[0], m.lsn)) + KVP_BLOCK_SIZE;
	to = m.sb.vdevs[0].data_start << KVP_BLOCK_SHIFT;
	expect(from < to);
	image_fails_from(&m, 0, from, to, EIO);
	expect_log(&m, "sound", 3);
	image_fails_from(&m, 1, from, to, EIO);
	expect_log(&m, "unknown", 3);
	expect(run_extract(&m) == EXIT_DEGRADED);
	image_answers();
	for (leg = 0; leg < 2; leg++)
		image_fails_from(&m, leg, from, to, ENODATA);
	expect_log(&m, "sound", 3);
	image_answers();
	for (leg = 0; leg < 2; leg++)
		image_fails_from(&m, leg, from, from + 9 * KVP_BLOCK_SIZE, EIO);
	expect_log(&m, "sound", 3);
	image_answers();
	image_free(&m);
}

/* The block @block cannot be read from its home on leg @leg: what is said of it? */
static void expect_home(const struct image *m, u32 leg, u64 block, int error, const char *state)
{
	const struct kvp_geometry *g = &m->sb.vdevs[0];
	struct kvp_place at = kvp_data_place(g, block);
	json_object *o, *list;
	bool unread = !strcmp(state, "unread");
	char key[32];
	int status;

	image_fails_at(m, kvp_is_parity1(g) ? at.leg : leg, at.block << KVP_BLOCK_SHIFT, error);
	o = check(m, &status);
	snprintf(key, sizeof(key), "blocks.%s", state);
	expect(json_number_at(o, key) == 1 && json_number_at(o, "blocks.unread") == unread);
	expect(status == (unread ? EXIT_FAULTED : EXIT_DEGRADED));
	list = json_at(o, "damage");
	expect(!unread || (json_object_array_length(list) == 1 &&
			   json_number_at(json_object_array_get_idx(list, 0), "lba") == block));
	expect(!unread || strstr(json_text_at(o, "advice"), "nothing is lost"));
	json_object_put(o);
	image_answers();
}

/*
 * Makes a pool with one block, 50, below intents: first @table in the table, then the records, an
 * entry each. The last one is followed by nothing, so its intent may have been cut short.
 */
static void make_intents(struct image *m, const struct image_shape *shape, unsigned int table,
			 const struct image_rec *recs, unsigned int count)
{
	unsigned int i;

	image_make_shaped(m, shape, IMAGE_SMALL);
	if (table)
		image_valid(m, 50, table);
	m->sb.flags &= ~KVP_SB_CLEAN;
	for (i = 0; i < count; i++)
		image_log(m, &recs[i], 1);
	image_seal(m);
}

static const struct image_shape two = { .vdevs = { { KVP_VDEV_MIRROR, 2 } } };
static const struct image_rec data_50 = { KVP_REC_DATA, 50, 0, 2 };
static const struct image_rec intent_50 = { KVP_REC_INTENT, 50, 0, 3 };

/*
 * R27: a leg does not give a home that may have the only newest version. A start is refused then,
 * and an older version is no contents. A home that the medium has lost has nothing.
 */
static void test_check_unread_home(void)
{
	const struct image_rec over[] = { data_50, intent_50 },
		closed[] = { intent_50, { KVP_REC_DATA, 9, 0, 2 } },
		gone[] = { { KVP_REC_DISCARD, 50, 1, 0 }, intent_50 };
	struct image m;

	/* nothing in the table */
	make_intents(&m, &two, 0, &intent_50, 1);
	expect_home(&m, 0, 50, EIO, "unread");
	image_fails_at(&m, 0, (m.sb.vdevs[0].data_start + 50) << KVP_BLOCK_SHIFT, EIO);
	expect(run_extract(&m) == EXIT_DEGRADED);
	image_answers();
	expect(run_extract(&m) == EXIT_DONE);
	image_free(&m);
	/* the other leg has the version of the table whole, or a mixture */
	make_intents(&m, &two, 1, &intent_50, 1);
	expect_home(&m, 0, 50, EIO, "valid");
	image_flip(&m, 1, (m.sb.vdevs[0].data_start + 50) << KVP_BLOCK_SHIFT, 1);
	expect_home(&m, 0, 50, EIO, "unread");
	expect_home(&m, 0, 50, ENODATA, "torn");
	image_free(&m);
	/* data below the intent: at home, or only in the log */
	make_intents(&m, &two, 1, over, 2);
	expect_home(&m, 0, 50, EIO, "unread");
	expect_home(&m, 0, 50, ENODATA, "in_log");
	image_home(&m, 50, 2);
	expect_home(&m, 0, 50, EIO, "valid");
	image_free(&m);
	make_intents(&m, &two, 1, gone, 2);
	expect_home(&m, 0, 50, EIO, "unread");
	image_free(&m);
	/* a write that was durable at home */
	make_intents(&m, &two, 1, closed, 2);
	expect_home(&m, 0, 50, EIO, "unread");
	expect_home(&m, 0, 50, ENODATA, "unrepaired");
	image_free(&m);
}

/* The same in rows: a row has one home for each block. */
static void test_check_unread_row(void)
{
	const struct image_shape shape = { .vdevs = { { KVP_VDEV_PARITY1, 3 } } };
	const struct image_rec over[] = { data_50, intent_50 },
		closed[] = { intent_50, { KVP_REC_DATA, 200, 0, 2 } };
	struct image m;

	make_intents(&m, &shape, 0, &intent_50, 1);
	expect_home(&m, 0, 50, EIO, "unread");
	image_free(&m);
	/* the table's version is made from the others */
	make_intents(&m, &shape, 1, &intent_50, 1);
	expect_home(&m, 0, 50, EIO, "valid");
	image_free(&m);
	make_intents(&m, &shape, 1, over, 2);
	expect_home(&m, 0, 50, EIO, "unread");
	expect_home(&m, 0, 50, ENODATA, "in_log");
	image_free(&m);
	make_intents(&m, &shape, 1, closed, 2);
	expect_home(&m, 0, 50, EIO, "unread");
	expect_home(&m, 0, 50, ENODATA, "unrepaired");
	image_free(&m);
}

static void seal_now(void *image, u64 done, u64 total)
{
	(void)done, (void)total;
	image_seal(image);
}

/* The pool is started while it is read: what was read is of no one state. */
static void test_check_changing(void)
{
	struct verify *v = calloc(1, sizeof(*v));
	struct opened legs;
	struct image m;
	struct scan s;
	struct err err;

	image_standard(&m, 2, IMAGE_SMALL);
	scan(&m, &s);
	expect(v && !opened_begin(&s, &legs, &err));
	expect(!opened_verify(&legs, v, &err));
	memset(v, 0, sizeof(*v));
	v->progress = seal_now;
	v->progress_arg = &m;
	expect(opened_verify(&legs, v, &err) && err.code == ERR_ACTIVE);
	expect(strstr(err.why, "while it was read"));
	opened_end(&legs);
	scan_free(&s);
	image_free(&m);
	free(v);
}

/* May the copy of @of go to @path, which changes after the check? It must not. */
static void copy_meanwhile(const struct image *of, const char *path, void (*meanwhile)(void *arg),
			   void *arg, enum err_code code)
{
	const struct verify_span span = { .count = 1 };
	struct target t = { .path = path, .force = true, .bytes = 1 << 20 };
	struct err err = { 0 };
	struct scan s;

	scan(of, &s);
	expect(!target_check(&t, &s, &err));
	meanwhile(arg);
	expect(target_take(&t, &span, &err) && err.code == code);
	target_end(&t, true, &err);
	scan_free(&s);
}

static void become_leg(void *image)
{
	image_seal(image);
}

static char copy_path[64];

static void lead_to_leg(void *image)
{
	const struct image *m = image;

	expect(!unlink(copy_path) && !symlink(m->path[0], copy_path));
}

/* What is at the place of the copy is not held while the log is read, and may be a leg then. */
static void test_target_again(void)
{
	struct image m, other;
	struct scan s;
	int fd;

	image_standard(&m, 2, IMAGE_SMALL);
	image_make(&other, 1, IMAGE_SMALL);
	copy_meanwhile(&m, other.path[0], become_leg, &other, ERR_MEMBER);
	snprintf(copy_path, sizeof(copy_path), "/tmp/kvpool-unit-target.%d", getpid());
	fd = open(copy_path, O_CREAT | O_WRONLY, 0600);
	expect(fd >= 0 && !close(fd));
	copy_meanwhile(&m, copy_path, lead_to_leg, &other, ERR_HELD);
	expect(!unlink(copy_path));
	scan(&other, &s);
	expect(s.pool_count == 1 && !s.pools[0].legs[0]->label.short_by);
	scan_free(&s);
	image_free(&m);
	image_free(&other);
}

static void test_check_stale_root(void)
{
	const struct image_rec rec = { KVP_REC_DATA, 5, 0, 1 };
	struct image m;
	json_object *o;
	int status;
	u64 at;

	image_standard(&m, 1, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	o = check(&m, &status);
	expect(status == EXIT_DONE);
	json_object_put(o);
	/* an entry of a later activation, whose superblocks are lost */
	m.sb.epoch++;
	m.sb.log_nonce++;
	image_skip(&m);
	image_log(&m, &rec, 1);
	o = check(&m, &status);
	expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "newer"));
	json_object_put(o);
	image_free(&m);
	/*
	 * or one at the very end, whose payload was torn: it does not count, but its header tells
	 */
	image_standard(&m, 1, IMAGE_SMALL);
	image_seal(&m);
	m.sb.epoch++;
	at = image_log_at(&m, m.lsn, NULL);
	image_log(&m, &rec, 1);
	image_flip(&m, 0, at + KVP_BLOCK_SIZE + 9, 1);
	o = check(&m, &status);
	expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "newer"));
	json_object_put(o);
	image_free(&m);
}

/* The last entry ends a generation; a new one begins at a segment's start. */
static void end_generation(struct image *m, struct kvp_generation *g)
{
	*g = (struct kvp_generation){
		.nonce = m->sb.log_nonce, .last_lsn = m->prev_lsn, .last_csum = m->prev_csum,
	};
	image_skip(m);
	g->next_lsn = m->lsn;
	m->sb.log_commit = m->lsn;
	m->sb.log_nonce += 0x1111;
}

/*
 * Walks the log of @m as if the superblock named @count of its generations. The labels do not, as
 * the log is not on a cache.
 */
static enum log_state walk_as(const struct image *m, u32 count, struct verify *v)
{
	struct offline_pool pool;
	struct kvp_sb sb;
	struct log_walk w;
	struct scan s;
	struct err err;

	scan(m, &s);
	expect(s.pool_count == 1 && !offline_open(&pool, &s.pools[0], 0, &err));
	sb = *pool.sb;
	memcpy(sb.generations, m->sb.generations, sizeof(sb.generations));
	sb.generation_count = count;
	pool.sb = &sb;
	pool.g = &sb.vdevs[0];
	memset(v, 0, sizeof(*v));
	expect(!log_walk(&pool, &w, NULL, NULL) && !verify_pool(&pool, v, &err));
	expect(v->log.entries == w.entries && v->log.head == w.head);
	offline_close(&pool);
	scan_free(&s);
	return log_state(&pool, &w);
}

static void test_log_generations(void)
{
	/*
	 * 10: data, then an intent of which the table has the version before; 20: a discard, not in
	 * the table.
	 */
	const struct image_rec first[] = {
		{ KVP_REC_DATA, 10, 0, 2 }, { KVP_REC_DATA, 11, 0, 2 }, { KVP_REC_DATA, 30, 0, 2 },
		{ KVP_REC_INTENT, 10, 0, 3 }, { KVP_REC_DISCARD, 20, 2, 0 },
			{ KVP_REC_DATA, 21, 0, 2 },
	};
	const struct image_rec second = { KVP_REC_DATA, 12, 0, 2 };
	const struct image_rec third = { KVP_REC_DISCARD, 30, 1, 0 };
	struct verify v;
	struct image m;

	image_make(&m, 1, IMAGE_SMALL);
	image_valid(&m, 10, 1);
	image_valid(&m, 20, 4);
	image_skip(&m);
	image_log(&m, first, sizeof(first) / sizeof(*first));
	end_generation(&m, &m.sb.generations[0]);
	image_log(&m, &second, 1);
	end_generation(&m, &m.sb.generations[1]);
	image_log(&m, &third, 1);
	image_seal(&m);
	expect(walk_as(&m, 2, &v) == LOG_SOUND && v.log.entries == 3 && v.log.head == m.lsn);
	expect(v.blocks[VERIFY_IN_LOG] == 3);	/* 11, 12, 21 */
	expect(v.blocks[VERIFY_OK] == 2 && !v.blocks[VERIFY_UNREPAIRED]);
	/* the generation ends exactly where the superblock says; another end is damage */
	m.sb.generations[0].last_csum++;
	expect(walk_as(&m, 2, &v) == LOG_DAMAGED && v.log.entries == 1);
	expect(walk_as(&m, 0, &v) == LOG_DAMAGED && !v.log.entries);
	image_free(&m);
}

static void test_check_missing(void)
{
	struct image m;
	json_object *o;
	int status;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	m.legs = 1;
	o = check(&m, &status);
	expect(status == EXIT_DEGRADED);
	expect(!strcmp(json_text_at(json_object_array_get_idx(json_at(o, "legs"), 1), "state"),
		       "missing"));
	json_object_put(o);
	m.legs = 2;
	image_free(&m);
}

/* A leg answers until its data is read: the other one has all of it, and the check ends. */
static void test_check_hangs(void)
{
	time_t since = seconds();
	struct image m;
	json_object *o;
	off_t data;
	int status;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	image_seal(&m);
	data = (off_t)(m.sb.vdevs[0].data_start << KVP_BLOCK_SHIFT);
	image_hangs_at(&m, 1, data, data + KVP_BLOCK_SIZE);
	o = check(&m, &status);
	/* it may have the newest version of the block that the other one has torn */
	expect(status == EXIT_FAULTED && json_number_at(o, "blocks.unread") == 1);
	expect(json_number_at(o, "blocks.valid") == 3 && !json_number_at(o, "blocks.unrepaired"));
	expect(leg_number(o, 1, "read_errors") && !leg_number(o, 0, "read_errors"));
	json_object_put(o);
	expect(seconds() - since < 3 * (time_t)device_patience);
	image_answers();
	device_note(m.path[1], false);
	image_free(&m);
}

/* A device is the leg that its label names, if the label is of this pool. */
static void test_label_leg(void)
{
	struct dm_entry e = { .name = "tank" };
	char text[256], uuid[2][UUID_BUF];
	struct image m;
	struct stats s;

	image_standard(&m, 2, IMAGE_SMALL);
	uuid_print(m.sb.pool_uuid, e.uuid);
	snprintf(text, sizeof(text), "leg.0.uuid=%s\nleg.1.uuid=%s\n",
		 uuid_print(m.sb.legs[0].uuid, uuid[0]), uuid_print(m.sb.legs[1].uuid, uuid[1]));
	expect(!stats_parse(strdup(text), &s));
	expect(resilver_label_leg(&e, &s, m.path[0]) == 0 &&
	       resilver_label_leg(&e, &s, m.path[1]) == 1);
	expect(resilver_label_leg(&e, &s, "/dev/null") == -1);
	e.uuid[0] ^= 1;
	expect(resilver_label_leg(&e, &s, m.path[1]) == -1);
	e.uuid[0] ^= 1;
	stats_free(&s);
	/* a leg that the pool does not have any more */
	text[strcspn(text, "\n")] = 0;
	expect(!stats_parse(strdup(text), &s) && resilver_label_leg(&e, &s, m.path[1]) == -1);
	stats_free(&s);
	image_free(&m);
}

/* The words of a refusal by the label of leg @i of @m; NULL: none. */
static const char *copy_refused(const struct image *m, unsigned int i, u64 in_sync_era,
				bool all_read, const struct scan *s)
{
	static struct err err;
	struct device d;
	struct label l;
	int ret;

	expect(!device_open(m->path[i], true, &d, &err) && !label_read(&d, &l, &err));
	expect(l.all_read);
	l.all_read = all_read;
	ret = s ? copies_check_scan(s, &d, &l, &err) :
		  copies_check_label(m->path[i], &l, in_sync_era, &err);
	label_free(&l);
	device_close(&d);
	return ret ? err.why : NULL;
}

/*
 * A snapshot, or a clone, shows the label of its leg. It is no leg that returns if it is older than
 * what the leg had, or if the leg itself is there.
 */
static void test_copies(void)
{
	const char *paths[3], *why;
	struct image m, copy;
	struct scan s;
	struct err err;

	image_standard(&m, 2, IMAGE_SMALL);
	image_standard(&copy, 2, IMAGE_SMALL);
	expect(!copy_refused(&m, 1, m.sb.era, true, NULL) &&
	       !copy_refused(&m, 1, 0, true, NULL));
	why = copy_refused(&m, 1, m.sb.era + 1, true, NULL);
	expect(why && strstr(why, "an older copy of the leg"));
	expect(!copy_refused(&m, 1, m.sb.era + 1, false, NULL));
	paths[0] = m.path[0];
	paths[1] = m.path[1];
	paths[2] = copy.path[1];
	expect(!scan_run(paths, 2, &s, &err));
	expect(!copy_refused(&m, 0, 0, true, &s) && !copy_refused(&m, 1, 0, true, &s));
	scan_free(&s);
	expect(!scan_run(paths, 3, &s, &err));
	why = copy_refused(&m, 1, 0, true, &s);
	expect(why && strstr(why, "one of the two is a copy") && strstr(why, copy.path[1]));
	expect(!copy_refused(&m, 0, 0, true, &s));
	scan_free(&s);
	image_free(&m);
	image_free(&copy);
}

/* A leg that resilvers is there, and no source: what only it has wrong is no fault. */
static void test_check_resilvering(void)
{
	struct kvp_leg_info *leg;
	struct image m;
	struct label l;
	struct device d;
	struct err err;
	json_object *o, *second;
	struct scan s;
	int status;

	image_standard(&m, 2, IMAGE_SMALL);
	m.entries[STD_POISONED] = 0;
	leg = &m.sb.legs[1];
	leg->state = KVP_LEG_RESILVERING;
	leg->in_sync_era = 3;
	leg->cursor = 200;
	leg->cursor_era = 6;
	kvp_sb_note_resilver(&m.sb);
	image_seal(&m);
	image_flip(&m, 1, (m.sb.vdevs[0].data_start + 1) << KVP_BLOCK_SHIFT, 5);
	o = check(&m, &status);
	second = json_object_array_get_idx(json_at(o, "legs"), 1);
	expect(status == EXIT_DEGRADED && !strcmp(json_text_at(second, "state"), "resilvering"));
	expect(!json_flag_at(second, "verified") && !json_number_at(o, "blocks.unrepaired"));
	expect(strstr(json_text_at(o, "advice"), "not every leg holds it"));
	json_object_put(o);
	scan(&m, &s);
	expect(scan_in_sync(&s.pools[0]) == 1 && !import_losses(&s.pools[0]));
	scan_free(&s);
	expect(!device_open(m.path[0], true, &d, &err) && !label_read(&d, &l, &err));
	o = inspect_object(&d, &l, &err);
	second = json_object_array_get_idx(json_at(o, "superblock.legs"), 1);
	expect(json_number_at(second, "in_sync_era") == 3 && json_number_at(second, "cursor") == 200 &&
	       json_number_at(second, "cursor_era") == 6);
	json_object_put(o);
	label_free(&l);
	device_close(&d);
	image_free(&m);
}

static void test_inspect(void)
{
	struct image m;
	struct device d;
	struct label l;
	struct err err;
	json_object *o;

	image_standard(&m, 1, IMAGE_LARGE);
	expect(!device_open(m.path[0], true, &d, &err) && !label_read(&d, &l, &err));
	o = inspect_object(&d, &l, &err);
	expect(o && !strcmp(json_text_at(o, "superblock.name"), "tank"));
	expect(json_number_at(o, "log.entries") == 3);
	expect(json_number_at(o, "table.valid") == 7);
	expect(json_number_at(o, "table.poisoned") == 1);
	expect(json_number_at(o, "table.pages_good") == 3);
	expect(json_number_at(o, "table.unwritten") == m.sb.pool_blocks - 8);
	json_object_put(o);
	label_free(&l);
	device_close(&d);
	image_free(&m);
}

/* --- advice ------------------------------------------------------------------------- */

#define GOOD_LEG	"{\"path\":\"/dev/a\",\"uuid\":\"uuid-a\",\"state\":\"online\"}"
#define LEG(path, state, errors) "{\"path\":" path ",\"uuid\":\"uuid-b\",\"state\":\"" state	\
	"\",\"errors\":{" errors "}}"
#define POOL(state, more, legs)	"{\"name\":\"tank\",\"losses_survivable\":1,\"state\":\"" state	\
	"\"" more ",\"vdevs\":[{\"legs\":[" GOOD_LEG legs "]}]}"
#define WITH_SSD(path, state)	",\"cache\":{\"legs\":[" LEG(path, state, "") "]}"
#define IDLE(mode, on, drain, more)	",\"log\":{\"on\":\"" on "\"},\"cache\":{\"mode\":\"" mode "\",\"state\":\"online\","	\
	"\"drain\":{\"state\":\"" drain "\"},\"legs\":[" LEG("\"/dev/c\"", "online", more) "]}"
#define REPLACES(state)	",{\"path\":\"/dev/n\",\"uuid\":\"uuid-n\",\"state\":\"" state	\
	"\",\"replaces\":\"uuid-o\",\"errors\":{}}"
#define LEFT	",{\"path\":\"/dev/o\",\"uuid\":\"uuid-o\",\"state\":\"offline\",\"by_order\":true,"	\
	"\"replaced_by\":\"uuid-n\",\"errors\":{}}"
#define B_IS(state)	"," LEG("\"/dev/b\"", state, "")
#define SLOW_LEG(state, errors)	"{\"path\":\"/dev/b\",\"uuid\":\"uuid-b\",\"state\":\"online\",\"errors\":{"	\
	errors "},\"slow\":{\"state\":\"" state "\",\"by\":\"write\",\"p99_us\":805306,"	\
	"\"others_us\":12583}}"
#define BAD_LEG		LEG("\"/dev/b\"", "online", "\"read\":1")
#define FOUR_LEGS	GOOD_LEG "," GOOD_LEG "," GOOD_LEG "," GOOD_LEG ","
#define FIFTEEN_LEGS	"," FOUR_LEGS FOUR_LEGS FOUR_LEGS GOOD_LEG "," GOOD_LEG "," GOOD_LEG
/* Two vdevs: a single, and one of @kind. */
#define VDEVS(kind, more, legs)	"{\"name\":\"tank\",\"state\":\"online\"" more ",\"vdevs\":["	\
	"{\"kind\":\"single\",\"legs\":[" GOOD_LEG "]},{\"kind\":\"" kind "\",\"legs\":[" legs "]}]}"
/* Of a parity1: /dev/o is replaced by /dev/n. */
#define SHADOWED(state, old, new)	SHADOWED_WITH("", state, old, new)
#define SHADOWED_WITH(more, state, old, new)	"{\"name\":\"tank\",\"losses_survivable\":1,\"state\":\"" state	\
	"\"" more ",\"resilver\":{\"done\":1,\"total\":4},\"vdevs\":[{\"kind\":\"parity1\",\"legs\":["	\
	GOOD_LEG ",{\"path\":\"/dev/o\",\"uuid\":\"uuid-o\",\"state\":\"" old	\
	"\",\"replaced_by\":\"uuid-n\",\"errors\":{}}," GOOD_LEG REPLACES(new) "]}]}"
#define SIZED(state, more)	",{\"path\":\"/dev/b\",\"uuid\":\"uuid-b\",\"size\":4096,\"state\":\"" state "\"" more "}"
#define SPARE(state, size, foreign)	",\"spares\":[{\"path\":\"/dev/s\",\"state\":\"" state	\
	"\",\"foreign\":" foreign ",\"size\":" size "}]"
#define KIND(rotates)	",\"spares\":[{\"path\":\"/dev/s\",\"state\":\"available\",\"foreign\":null,"	\
	"\"size\":4096,\"rotates\":" rotates "}]"
#define SIZED_SSD(state)	",\"cache\":{\"legs\":[{\"path\":\"/dev/c\",\"uuid\":\"uuid-c\",\"size\":4096,"	\
	"\"state\":\"" state "\",\"errors\":{}}]}"
#define FOUND(why, mend)	",{\"path\":null,\"uuid\":\"uuid-b\",\"state\":\"missing\",\"found\":{"	\
	"\"path\":\"/dev/f\",\"why\":" why ",\"mend\":" mend "}}"
#define FOUND_SSD(why)	"{\"path\":null,\"uuid\":\"uuid-b\",\"state\":\"missing\",\"found\":{"	\
	"\"path\":\"/dev/f\",\"why\":" why ",\"mend\":null}}"
#define LEAVE	"kvpoolctl export tank, then kvpoolctl import tank without --readonly; then "

static const struct {
	const char *pool;
	int status;
	const char *says, *command;
} advised[] = {
	{ POOL("suspended", "", ""), 5, "all I/O waits", "kvpoolctl clear tank" },
	{ "{\"name\":\"tank\",\"state\":\"suspended\",\"vdevs\":null}", 5, "the pool does not run",
	  "kvpoolctl clear tank; if that fails, dmsetup resume tank" },
	{ POOL("faulted", ",\"log\":{\"failed\":true}", ""), 5,
	  "were not flushed are only in memory", "kvpoolctl clear tank" },
	{ POOL("faulted", "", ""), 5, "no leg can be written", "kvpoolctl clear tank" },
	{ POOL("faulted", ",\"heartbeat\":{\"age_ms\":20000,\"left_ms\":0}", ""), 5,
	  "another host has taken over the pool, or may have",
	  "dmsetup remove tank and kvpoolctl import tank" },
	{ POOL("faulted", ",\"heartbeat\":{\"age_ms\":400,\"left_ms\":14600}", ""), 5,
	  "no leg can be written", "kvpoolctl clear tank" },
	{ POOL("faulted", ",\"poisoned_total\":3", B_IS("faulted")), 5, "no leg can be written",
	  "dmsetup remove tank and kvpoolctl import tank" },
	{ POOL("online", ",\"poisoned_total\":1", ""), 4, "1 block is lost:",
	  "kvpoolctl status -v tank" },
	{ POOL("degraded", ",\"poisoned_total\":5", B_IS("stale")), 4, "5 blocks are lost:",
	  "kvpoolctl scrub --wait tank" },
	/*
	 * They may have been written since, or a leg did not answer: nothing is known to be lost.
	 */
	{ POOL("online", ",\"scrub\":{\"unrepaired\":2}", ""), 4,
	  "no good copy of 2 blocks, but no block is known to be lost", "then kvpoolctl scrub --wait tank" },
	/* A pool that was imported read-only refuses all changes. */
	{ POOL("online", ",\"readonly\":true,\"poisoned_total\":1", ""), 4, "1 block is lost:", LEAVE
	  "write them anew" },
	{ POOL("online", ",\"readonly\":true,\"scrub\":{\"unrepaired\":1}", ""), 4,
	  "no good copy of 1 block,", LEAVE "kvpoolctl scrub --wait tank" },
	{ POOL("degraded", ",\"readonly\":true", B_IS("stale")), 4, "leg /dev/b is stale: it missed",
	  LEAVE "kvpoolctl online tank /dev/b" },
	{ POOL("degraded", ",\"readonly\":true", B_IS("resilvering")), 4,
	  "leg /dev/b is not in sync: its resilver goes on once the pool takes writes",
	  "kvpoolctl import tank without --readonly" },
	{ POOL("degraded", ",\"readonly\":true" WITH_SSD("\"/dev/c\"", "stale"), ""), 4,
	  "SSD /dev/c of the cache is stale", LEAVE "kvpoolctl replace tank /dev/c NEW" },
	{ POOL("degraded", ",\"readonly\":true" WITH_SSD("null", "missing"), ""), 4,
	  "SSD uuid-b of the cache is missing", LEAVE "kvpoolctl replace tank uuid-b NEW" },
	{ POOL("online", ",\"readonly\":true", "," LEG("\"/dev/b\"", "online", "\"read\":1")), 0,
	  "(1 read,", LEAVE "kvpoolctl scrub --wait tank" },
	{ POOL("degraded", "", B_IS("faulted")), 4,
	  "leg /dev/b is faulted: it failed", "Check its cable; then kvpoolctl online tank /dev/b brings it back" },
	{ POOL("degraded", "", B_IS("faulted")), 4, "if it fails again",
	  "kvpoolctl replace tank /dev/b NEW puts another in its place" },
	{ POOL("degraded", "", B_IS("offline")), 4, "is offline: it was taken out",
	  "kvpoolctl online tank /dev/b brings it back, and copies only what it missed" },
	{ POOL("degraded", "", B_IS("stale")), 4, "is stale: it missed",
	  "kvpoolctl online tank /dev/b" },
	{ POOL("degraded", "", "," LEG("null", "missing", "")), 4,
	  "leg uuid-b is missing: it is not connected",
	  "Connect it, then kvpoolctl online tank DEV brings it back" },
	{ POOL("degraded", "", "," LEG("null", "missing", "")), 4, "If it is gone for good",
	  "kvpoolctl replace tank uuid-b NEW puts another in its place" },
	{ POOL("degraded", "", ",{\"path\":null,\"uuid\":\"uuid-b\",\"state\":\"missing\",\"by_order\":true}"),
	  4, "leg uuid-b is missing: it was taken out, and is not connected;",
	  "Connect it, then kvpoolctl online tank DEV brings it back" },
	/* Its device is here: "connect it" would be no help. */
	{ POOL("degraded", "", FOUND("\"it is read-only\"", "\"make it writable: blockdev --setrw\"")), 4,
	  "leg uuid-b is missing: its device /dev/f is there, but it is read-only, and lacks later writes",
	  "To use it, make it writable: blockdev --setrw; then kvpoolctl online tank /dev/f brings it back" },
	{ POOL("degraded", "", FOUND("null", "null")), 4,
	  "leg uuid-b is missing: its device /dev/f is there, and not in use",
	  "more. kvpoolctl online tank /dev/f brings it back" },
	{ "{\"name\":\"tank\",\"state\":\"online\",\"vdevs\":[{\"kind\":\"parity1\",\"legs\":[" GOOD_LEG
	  ",{\"path\":null,\"uuid\":\"uuid-n\",\"state\":\"missing\",\"replaces\":\"uuid-a\",\"found\":{"
	  "\"path\":\"/dev/f\",\"why\":\"it is read-only\",\"mend\":\"mend it\"}}]}]}", 0,
	  "leg uuid-n, which is to replace another, is missing (/dev/f, but it is read-only). The other",
	  "To go on: mend it, then kvpoolctl export tank and kvpoolctl import tank; or" },
	/* A spare is named if it is surely free and large enough. */
	{ POOL("degraded", SPARE("available", "4096", "null"), SIZED("faulted", "")), 4,
	  "if it fails again, kvpoolctl replace tank /dev/b NEW",
	  ". Spare /dev/s is free: kvpoolctl replace tank /dev/b puts it there, and kvpool-monitor does" },
	{ POOL("degraded", SPARE("available", "4096", "null"), SIZED("offline", ",\"by_order\":true")), 4,
	  "is offline", ". Spare /dev/s is free: kvpoolctl replace tank /dev/b puts it there" },
	{ POOL("degraded", KIND("true") SIZED_SSD("online"), SIZED("faulted", "")), 4,
	  "leg /dev/b is faulted", ". Spare /dev/s is free: kvpoolctl replace tank /dev/b puts it there" },
	{ POOL("degraded", KIND("false") SIZED_SSD("faulted"), ""), 4, "SSD /dev/c of the cache is faulted",
	  ". Spare /dev/s is free: kvpoolctl replace tank /dev/c puts it there, and kvpool-monitor does" },
	{ POOL("degraded", "", B_IS("stale") B_IS("missing")), 4,
	  "leg /dev/b is stale (and 1 more)", "the loss of 1 more" },
	/* A leg that is coming back is no news beside one that is out. */
	{ POOL("degraded", ",\"resilver\":{\"state\":\"running\",\"done\":3,\"total\":12}",
	       B_IS("resilvering")), 4, "leg /dev/b is resilvering, 25 % done; until then",
	  "kvpoolctl wait -t resilver tank" },
	{ POOL("degraded", "", B_IS("resilvering") B_IS("resilvering")), 4,
	  "leg /dev/b is resilvering (and 1 more), 0 % done", "the loss of 1 more" },
	{ POOL("degraded", ",\"resilver\":{\"unread\":8192}", B_IS("resilvering")), 4,
	  "leg /dev/b is resilvering", "It cannot end until a leg in sync gives 2 block(s)" },
	/* A leg in use is being replaced: all places are filled. */
	{ POOL("online", ",\"resilver\":{\"done\":1,\"total\":4}", REPLACES("resilvering")), 0,
	  "leg /dev/n is resilvering, 25 % done, to replace another, which is in use",
	  "kvpoolctl cancel tank replace" },
	{ POOL("online", "", REPLACES("faulted")), 0, "leg /dev/n, which is to replace another, is faulted",
	  "kvpoolctl online tank /dev/n goes on with it" },
	{ POOL("online", "", REPLACES("online") LEFT), 0, "leg /dev/o has left, since /dev/n took its place",
	  "kvpoolctl wait -t replace tank" },
	{ SHADOWED("online", "online", "resilvering"), 0,
	  "leg /dev/n is resilvering, 25 % done, to replace another, which is in use",
	  "kvpoolctl cancel tank replace" },
	{ SHADOWED("online", "online", "stale"), 0, "leg /dev/n is resilvering", "kvpoolctl wait -t replace tank" },
	{ SHADOWED("online", "online", "online"), 0, "leg /dev/n has all data of the leg that it is to replace",
	  "kvpoolctl wait -t replace tank lets it take its place" },
	{ SHADOWED("online", "online", "faulted"), 0, "leg /dev/n, which is to replace another, is faulted",
	  "kvpoolctl export tank and kvpoolctl import tank; or" },
	{ SHADOWED("online", "online", "missing"), 0, "leg /dev/n, which is to replace another, is missing",
	  "kvpoolctl cancel tank replace undoes it" },
	{ SHADOWED("degraded", "faulted", "stale"), 4,
	  "leg /dev/o is faulted, and /dev/n, which is to replace it, has part of its data",
	  "kvpoolctl wait -t replace tank lets it take that place now" },
	{ SHADOWED("degraded", "missing", "faulted"), 4,
	  "leg /dev/o is missing, and /dev/n, which is to replace it, is out, too",
	  "kvpoolctl cancel tank replace" },
	{ SHADOWED("degraded", "resilvering", "stale"), 4, "leg /dev/o is resilvering",
	  "kvpoolctl wait -t resilver tank" },
	{ SHADOWED_WITH(",\"readonly\":true", "online", "online", "missing"), 0,
	  "leg /dev/n is to replace another, which stays in use; the replacement goes on once",
	  "kvpoolctl import tank without --readonly" },
	{ SHADOWED_WITH(",\"readonly\":true", "degraded", "faulted", "missing"), 4,
	  "leg /dev/o is faulted, and /dev/n, which is to replace it, waits until the pool takes writes",
	  LEAVE "kvpoolctl status tank" },
	/* Changes of the cache are refused until that has ended. */
	{ SHADOWED_WITH(WITH_SSD("\"/dev/c\"", "faulted"), "degraded", "online", "resilvering"), 4,
	  "SSD /dev/c of the cache is faulted",
	  "kvpoolctl wait -t replace tank completes that; then kvpoolctl replace tank /dev/c NEW" },
	{ SHADOWED_WITH(WITH_SSD("\"/dev/c\"", "faulted"), "degraded", "online", "missing"), 4,
	  "the replacement of a leg has stopped",
	  "kvpoolctl cancel tank replace undoes it; then kvpoolctl replace tank /dev/c NEW" },
	{ SHADOWED_WITH(",\"readonly\":true" WITH_SSD("\"/dev/c\"", "faulted"), "degraded", "online", "missing"), 4,
	  "SSD /dev/c of the cache is faulted", LEAVE "kvpoolctl status tank" },
	{ POOL("degraded", "", REPLACES("resilvering") B_IS("faulted")), 4, "leg /dev/b is faulted",
	  "kvpoolctl online tank /dev/b" },
	{ POOL("degraded", "", B_IS("resilvering") "," LEG("\"/dev/c\"", "offline", "")), 4,
	  "leg /dev/c is offline: it was taken out", "kvpoolctl online tank /dev/c" },
	{ POOL("degraded", ",\"readonly\":true", "," LEG("null", "missing", "")), 4,
	  "leg uuid-b is missing: kvpoolctl export tank", "kvpoolctl import tank" },
	{ POOL("degraded", WITH_SSD("\"/dev/c\"", "faulted"), ""), 4,
	  "SSD /dev/c of the cache is faulted: it failed",
	  "kvpoolctl replace tank /dev/c NEW" },
	{ POOL("degraded", WITH_SSD("\"/dev/c\"", "stale"), ""), 4, "if it works again",
	  "kvpoolctl online tank /dev/c" },
	{ POOL("degraded", WITH_SSD("\"/dev/c\"", "offline"), ""), 4,
	  "/dev/c NEW puts another in its place, ",
	  "kvpoolctl remove tank cache" },
	{ POOL("degraded", WITH_SSD("null", "missing"), ""), 4,
	  "SSD uuid-b of the cache is missing",
	  "kvpoolctl replace tank uuid-b NEW" },
	{ POOL("degraded", ",\"cache\":{\"legs\":[" FOUND_SSD("null") "]}", ""), 4,
	  "its device /dev/f is there, and not in use",
	  "kvpoolctl online tank /dev/f starts it empty" },
	{ POOL("degraded", ",\"cache\":{\"legs\":[" FOUND_SSD("\"it is read-only\"") "]}", ""), 4,
	  "its device /dev/f is there, but it is read-only",
	  "kvpoolctl replace tank uuid-b NEW" },
	{ POOL("degraded", "", ""), 4, "the pool is degraded", "kvpoolctl events tank" },
	{ POOL("online", "", "," LEG("\"/dev/b\"", "online", "\"checksum\":7,\"healed\":7")), 0,
	  "leg /dev/b had errors (0 read, 0 write, 7 checksum)", "kvpoolctl scrub --wait tank" },
	{ POOL("online", "", "," LEG("\"/dev/b\"", "online", "\"read\":1")), 0, "(1 read,",
	  "kvpoolctl clear tank" },
	/* No command that would be refused. What another vdev could lose does not count. */
	{ VDEVS("single", ",\"losses_survivable\":0", BAD_LEG), 0, "(1 read,",
	  "if errors return, kvpoolctl replace --wait tank /dev/b NEW" },
	{ VDEVS("mirror", "", GOOD_LEG "," BAD_LEG), 0, "(1 read,",
	  "if errors return, kvpoolctl replace --wait tank /dev/b NEW" },
	{ VDEVS("mirror", "", BAD_LEG FIFTEEN_LEGS), 0, "(1 read,",
	  "if errors return, kvpoolctl offline tank /dev/b, then kvpoolctl replace tank /dev/b NEW" },
	{ VDEVS("parity1", ",\"losses_survivable\":0", GOOD_LEG "," BAD_LEG "," GOOD_LEG), 0, "(1 read,",
	  "if errors return, kvpoolctl replace --wait tank /dev/b NEW" },
	{ VDEVS("single", "", BAD_LEG "]},{\"kind\":\"mirror\",\"legs\":[" GOOD_LEG FIFTEEN_LEGS
		"]},{\"kind\":\"mirror\",\"legs\":[" GOOD_LEG FIFTEEN_LEGS
		"]},{\"kind\":\"mirror\",\"legs\":[" FOUR_LEGS FOUR_LEGS FOUR_LEGS GOOD_LEG "," GOOD_LEG), 0,
	  "(1 read,", "the pool cannot be without it: keep a backup" },
	{ POOL("online", IDLE("writeback", "legs", "none", "\"read\":1"), ""), 0,
	  "leg /dev/c had errors",
	  "if errors return, kvpoolctl replace tank /dev/c NEW" },
	{ POOL("online", IDLE("writeback", "legs", "none", ""), ""), 0,
	  "the log belongs on the cache",
	  "kvpoolctl set tank cache_mode=writeback" },
	{ POOL("online", IDLE("writeback", "legs", "none", "\"read\":1"), ""), 0,
	  "leg /dev/c had errors",
	  "kvpoolctl scrub --wait tank" },
	{ POOL("online", IDLE("writeback", "cache", "none", ""), ""), 0, NULL, NULL },
	{ POOL("online", IDLE("writeback", "legs", "running", ""), ""), 0, NULL, NULL },
	{ POOL("online", IDLE("writethrough", "legs", "none", ""), ""), 0, NULL, NULL },
	{ POOL("online", ",\"readonly\":true" IDLE("writeback", "legs", "none", ""), ""), 0, NULL,
	  NULL },
	{ POOL("online", ",\"log\":{\"on\":\"legs\"},\"cache\":null", ""), 0, NULL, NULL },
	{ POOL("online", "", B_IS("online")), 0, NULL, NULL },
	/* A slow leg is no fault, and comes behind all others. */
	{ VDEVS("mirror", "", GOOD_LEG "," SLOW_LEG("yes", "")), 0,
	  "leg /dev/b is slow (99 % of writes take up to 805.3 ms, of the fastest other leg 12.6 ms)",
	  "if it is, kvpoolctl replace --wait tank /dev/b NEW" },
	{ VDEVS("mirror", "", GOOD_LEG "," SLOW_LEG("expected", "")), 0, NULL, NULL },
	{ VDEVS("mirror", "", GOOD_LEG "," SLOW_LEG("yes", "\"read\":1")), 0, "leg /dev/b had errors",
	  "kvpoolctl scrub --wait tank" },
};

/* Each fault has its own advice, with a command, in one line. */
static void test_advice(void)
{
	char text[ADVICE_BUF];
	json_object *pool;
	bool any;
	size_t i;

	for (i = 0; i < sizeof(advised) / sizeof(*advised); i++) {
		pool = json_tokener_parse(advised[i].pool);
		any = advice_text(pool, text, sizeof(text));
		expect((int)advice_exit(pool) == advised[i].status);
		expect(any == !!advised[i].says);
		if (advised[i].says && any) {
			expect(strstr(text, advised[i].says));
			expect(strstr(text, advised[i].command));
			expect(!strchr(text, '\n') && strlen(text) < sizeof(text) - 1);
		}
		json_object_put(pool);
	}
}

/* "@" stands for a path that is long, and ends in "-part12". */
static const char *const long_paths[] = {
	POOL("degraded", "", ",{\"path\":\"@\",\"uuid\":\"uuid-b\",\"size\":4096,\"state\":\"faulted\"}"),
	POOL("degraded", ",\"spares\":[{\"path\":\"@\",\"state\":\"available\",\"foreign\":null,\"size\":4096}]",
	     SIZED("faulted", "")),
	POOL("degraded", "", ",{\"path\":null,\"uuid\":\"uuid-b\",\"state\":\"missing\",\"found\":{"
	     "\"path\":\"@\",\"why\":null,\"mend\":null}}"),
	POOL("degraded", ",\"cache\":{\"legs\":[{\"path\":null,\"uuid\":\"uuid-b\",\"state\":\"missing\","
	     "\"found\":{\"path\":\"@\",\"why\":null,\"mend\":null}}]}", ""),
};

/* Advice names whole paths only: a path that is cut may be that of another partition. */
static void test_advice_long_paths(void)
{
	char path[122], json[2048], text[ADVICE_BUF], *p;
	const char *at, *s;
	json_object *pool;
	size_t i, n;

	/* its first 120 characters end in "-part1" */
	memset(path, 'x', sizeof(path));
	memcpy(path, "/dev/disk/by-id/", 16);
	strcpy(path + sizeof(path) - 8, "-part12");
	for (i = 0; i < sizeof(long_paths) / sizeof(*long_paths); i++) {
		s = long_paths[i];
		at = strchr(s, '@');
		n = (size_t)snprintf(json, sizeof(json), "%.*s%s%s", (int)(at - s), s, path, at + 1);
		expect(n < sizeof(json));
		pool = json_tokener_parse(json);
		expect(pool && advice_text(pool, text, sizeof(text)));
		for (p = text; (p = strstr(p, "-part1")); p += 6)
			expect(p[6] == '2');
		json_object_put(pool);
	}
	expect(!strcmp(path_whole(path, 120), "DEV") && path_whole(path, 121) == path);
}

/* What cannot take the place of a leg is not advised. */
static void test_advice_no_spare(void)
{
	static const char *const pools[] = {
		POOL("degraded", SPARE("available", "4095", "null"), SIZED("faulted", "")),
		POOL("degraded", SPARE("held", "4096", "null"), SIZED("faulted", "")),
		POOL("degraded", SPARE("resized", "4096", "null"), SIZED("faulted", "")),
		POOL("degraded", SPARE("readonly", "4096", "null"), SIZED("faulted", "")),
		POOL("degraded", SPARE("available", "4096", "\"ext4\""), SIZED("faulted", "")),
		POOL("degraded", ",\"readonly\":true" SPARE("available", "4096", "null"),
		     SIZED("faulted", "")),
		POOL("degraded", SPARE("available", "4096", "null") WITH_SSD("\"/dev/c\"", "faulted"), ""),
		/* of the wrong kind, or perhaps */
		POOL("degraded", KIND("true") SIZED_SSD("faulted"), ""),
		POOL("degraded", KIND("null") SIZED_SSD("faulted"), ""),
		POOL("degraded", KIND("false") SIZED_SSD("online"), SIZED("faulted", "")),
	};
	char text[ADVICE_BUF];
	json_object *pool;
	size_t i;

	for (i = 0; i < sizeof(pools) / sizeof(*pools); i++) {
		pool = json_tokener_parse(pools[i]);
		expect(advice_text(pool, text, sizeof(text)) && !strstr(text, "/dev/s"));
		json_object_put(pool);
	}
}

/* The status of a suspended pool that cannot be asked shows the known facts and advice. */
static void test_unasked(void)
{
	static const struct dm_entry e = { .name = "tank", .uuid = "uuid", .suspended = true,
					   .readonly = true };
	json_object *pool = pool_unasked(&e), *legs = pool_legs(pool);

	expect(!strcmp(json_text_at(pool, "name"), "tank") &&
	       !strcmp(json_text_at(pool, "uuid"), "uuid"));
	expect(!strcmp(json_text_at(pool, "state"), "suspended") && json_flag_at(pool, "readonly"));
	expect(advice_exit(pool) == EXIT_FAULTED && strstr(json_text_at(pool, "advice"),
							   "kvpoolctl clear tank"));
	expect(!json_at(pool, "size") && json_object_object_get_ex(pool, "size", NULL));
	expect(!json_object_array_length(legs));
	json_object_put(legs);
	json_object_put(pool);
}

/* --- tables ---------------------------------------------------------------------------- */

static bool printed(struct columns *c, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool same;

	columns_print(c, " ", f);
	fclose(f);
	same = !strcmp(text, want);
	if (!same)
		printf("printed:\n%s", text);
	free(text);
	return same;
}

/*
 * Widths count letters, not bytes. Control characters cannot break a line, and no line ends in
 * spaces.
 */
static void test_columns(void)
{
	static const struct column titles[] = { { .title = "NAME" }, { "SIZE", true, 0 },
						{ .title = "NOTE" } };
	static const struct column none[] = { { NULL, false, 6 }, { NULL, true, 6 } };
	struct columns *c = columns_new(titles, 3);

	columns_row(c);
	columns_text(c, "  m\xc3\xbcll");
	columns_number(c, 123456);
	columns_text(c, "last");
	columns_row(c);
	columns_text(c, "a\nb\xc3");
	columns_text(c, NULL);
	columns_row(c);
	columns_text(c, "c");
	columns_text(c, "7");
	expect(printed(c, " NAME          SIZE  NOTE\n   m\xc3\xbcll      123456  last\n"
		       " a\\x0ab\\xc3\n c                7\n"));
	expect(printed(columns_new(titles, 3), " NAME  SIZE  NOTE\n"));
	c = columns_new(none, 2);
	columns_row(c);
	columns_text(c, "a");
	columns_number(c, 1);
	expect(printed(c, " a            1\n"));
}

/* --- the drawing of status ------------------------------------------------------------- */

#define TREE_LEG(path, uuid, state, healed) "{\"path\":" path ",\"uuid\":\"" uuid	\
	"\",\"state\":\"" state "\",\"size\":1048576,\"errors\":{\"read\":1,"	\
	"\"write\":2,\"checksum\":3,\"healed\":" healed "}}"
#define SLOW_TREE_LEG	"{\"path\":\"/dev/d\",\"uuid\":\"uuid-d\",\"state\":\"online\",\"size\":1048576,\"errors\":{"	\
	"\"read\":0,\"write\":0,\"checksum\":0,\"healed\":0},\"slow\":{\"state\":\"yes\",\"by\":\"read\"}}"

static const char tree_pool[] =
	"{\"name\":\"tank\",\"state\":\"degraded\",\"size\":3145728,\"vdevs\":["
	"{\"kind\":\"mirror\",\"state\":\"online\",\"size\":1048576,\"log\":true,\"legs\":["
	TREE_LEG("\"/dev/a\"", "uuid-a", "online", "4") ","
	TREE_LEG("\"/dev/b\"", "uuid-b", "online", "123456") "," SLOW_TREE_LEG "]},"
	"{\"kind\":\"single\",\"state\":\"degraded\",\"size\":2097152,\"log\":false,"
	"\"legs\":[" TREE_LEG("null", "uuid-c", "missing", "0") "]}]}";

static const char tree_short[] =
	"  LAYOUT      STATE     READ  WRITE  CHECKSUM  HEALED\n"
	"  tank        degraded\n"
	"    mirror-0  online\n"
	"      /dev/a  online       1      2         3       4\n"
	"      /dev/b  online       1      2         3  123456\n"
	"      /dev/d  online       0      0         0       0  slow\n"
	"    single-1  degraded\n"
	"      uuid-c  missing      1      2         3       0\n";

static const char tree_long[] =
	"  LAYOUT        STATE         SIZE  READ  WRITE  CHECKSUM  HEALED\n"
	"  tank          degraded  3.00 MiB\n"
	"    mirror-0    online    1.00 MiB                                 has the log\n"
	"      /dev/a    online    1.00 MiB     1      2         3       4\n"
	"        uuid-a\n"
	"      /dev/b    online    1.00 MiB     1      2         3  123456\n"
	"        uuid-b\n"
	"      /dev/d    online    1.00 MiB     0      0         0       0  slow\n"
	"        uuid-d\n"
	"    single-1    degraded  2.00 MiB\n"
	"      uuid-c    missing   1.00 MiB     1      2         3       0\n";

/* A cache has a size whether it carries the log or not. */
#define TREE_CACHE(on) "{\"name\":\"tank\",\"state\":\"online\",\"size\":1048576,\"vdevs\":[],"	\
	"\"log\":{\"on\":\"" on "\"},\"cache\":{\"kind\":\"cache\",\"state\":\"online\",\"size\":2097152,"	\
	"\"legs\":[" TREE_LEG("\"/dev/s\"", "uuid-s", "online", "0") "]}}"

static const char tree_cache[] =
	"  LAYOUT        STATE       SIZE  READ  WRITE  CHECKSUM  HEALED\n"
	"  tank          online  1.00 MiB\n"
	"    cache       online  2.00 MiB%s\n"
	"      /dev/s    online  1.00 MiB     1      2         3       0\n"
	"        uuid-s\n";

static bool drawn(json_object *pool, bool verbose, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool same;

	layout_tree(&ctl, pool, verbose, f);
	fclose(f);
	same = !strcmp(text, want);
	if (!same)
		printf("drawn:\n%s", text);
	free(text);
	return same;
}

/*
 * The layouts of @kind with so many MiB of each leg: at first, then larger, then that again with
 * @least more.
 */
static void larger_layouts(u32 kind, u32 legs, u64 mib, u64 more, u64 again, u64 least)
{
	struct kvp_geometry g = { .first_leg = 0 }, h, i;
	struct kvp_why why;

	expect(!kvp_layout_one(kind, legs, mib << 8, 0, 0, KVP_MAX_ROOTS, &g, &why));
	expect(!kvp_table_behind(&g) && kvp_layout_larger(&g, mib << 8, KVP_MAX_ROOTS, &h) ==
	       -ENOSPC);
	expect(!kvp_layout_larger(&g, more << 8, KVP_MAX_ROOTS, &h));
	expect(kvp_table_behind(&h) && !kvp_geometry_check(&h, more << 8, &why));
	expect(kvp_geometry_check(&h, (more << 8) - 256, &why));
	expect(kvp_leg_least(&h) <= more << 8 && kvp_leg_least(&h) > h.table_start);
	expect(h.data_start == g.data_start && h.log_start == g.log_start && h.levels >= g.levels);
	/* Not before the whole new table lies behind the old one. */
	expect(kvp_layout_larger(&h, (more + least - 1) << 8, KVP_MAX_ROOTS, &i) == -ENOSPC);
	expect(!kvp_layout_larger(&h, again << 8, KVP_MAX_ROOTS, &i));
	expect(i.table_start >= (h.table_copy ?: h.table_start) + kvp_table_blocks(&h));
	expect(!kvp_geometry_check(&i, again << 8, &why));
}

static void test_larger_layouts(void)
{
	larger_layouts(KVP_VDEV_MIRROR, 2, 1 << 20, 2 << 20, 3 << 20, 8000);
	larger_layouts(KVP_VDEV_SINGLE, 1, 1 << 20, 2 << 20, 3 << 20, 16000);
	larger_layouts(KVP_VDEV_PARITY1, 5, 1 << 20, 2 << 20, 3 << 20, 8 << 10);
	larger_layouts(KVP_VDEV_MIRROR, 2, 16, 64, 128, 2);
}

static void test_layout_tree(void)
{
	json_object *pool = json_tokener_parse(tree_pool);

	expect(drawn(pool, false, tree_short));
	expect(drawn(pool, true, tree_long));
	json_object_put(pool);
}

static void test_layout_of_cache(void)
{
	json_object *carries = json_tokener_parse(TREE_CACHE("cache"));
	json_object *idle = json_tokener_parse(TREE_CACHE("legs"));
	char want[sizeof(tree_cache) + 64];

	snprintf(want, sizeof(want), tree_cache, "                                 has the log");
	expect(drawn(carries, true, want));
	snprintf(want, sizeof(want), tree_cache, "");
	expect(drawn(idle, true, want));
	json_object_put(carries);
	json_object_put(idle);
}

#define MOVING_CACHE(on, drain) "{\"name\":\"tank\",\"log\":{\"on\":\"" on "\"},\"cache\":{\"state\":\"online\","	\
	"\"mode\":\"writeback\",\"drain\":{\"state\":\"" drain "\",\"left\":1048576,\"total\":2097152,\"rate\":1024}}}"

#define BUSY_CACHE(rate, ms) "{\"name\":\"tank\",\"log\":{\"on\":\"cache\"},\"cache\":{\"state\":\"online\"," \
	"\"mode\":\"writeback\",\"destage_rate\":" rate ",\"drain_ms\":" ms ",\"drain\":{\"state\":\"none\"}}}"

/* Do the lines of status about the cache of @pool contain @text? */
static bool says(const char *pool, const char *text)
{
	json_object *o = json_tokener_parse(pool);
	char *buf = NULL;
	size_t size;
	FILE *f = open_memstream(&buf, &size);
	bool found;

	cache_lines(&ctl, o, f);
	fclose(f);
	found = strstr(buf, text);
	free(buf);
	json_object_put(o);
	return found;
}

static void test_cache_lines(void)
{
	expect(says(MOVING_CACHE("cache", "running"),
		    "the log leaves it: 1.00 MiB of 2.00 MiB left, 1.00 KiB/s\n"));
	expect(says(MOVING_CACHE("legs", "running"),
		    "the log moves onto it: 1.00 MiB of 2.00 MiB left"));
	expect(!says(MOVING_CACHE("legs", "done"), "the log moves") &&
	       !says(MOVING_CACHE("cache", "none"), "leaves"));
	expect(says(MOVING_CACHE("cache", "none"), "cache: write-back: carries the log;"));
	/* without a rate there is no estimate of the time */
	expect(says(MOVING_CACHE("cache", "none"), "no recent writes home\n") &&
	       !says(MOVING_CACHE("cache", "none"), "0 B/s") &&
	       !says(MOVING_CACHE("cache", "none"), "all in"));
	expect(says(BUSY_CACHE("1024", "0"), "1.00 KiB/s written home\n"));
	expect(says(BUSY_CACHE("1024", "2500"), "1.00 KiB/s written home; all in 3 s\n"));
}

/* A used disk of a ZFS pool: each uberblock is a signature, and there are hundreds. */
static void test_many_signatures(void)
{
	static const u64 uberblock[2] = { 0x00bab10c, 5000 };
	const u64 size = 64ull << 20, label = 256 << 10;
	const u64 at[4] = { 0, label, size - 2 * label, size - label };
	char path[] = "/tmp/kvpool-unit-XXXXXX", type[SIGNATURE_TYPE];
	int fd = mkstemp(path), i;
	struct err err;

	expect(fd >= 0 && !ftruncate(fd, (off_t)size));
	for (i = 0; i < 4 * 128; i++)
		expect(pwrite(fd, uberblock, sizeof(uberblock),
			      (off_t)(at[i / 128] + label / 2 + (u64)(i % 128) * 1024)) == 16);
	expect(signature_find(path, type, sizeof(type), &err) == 1 && !strcmp(type, "zfs_member"));
	expect(!signature_wipe(fd, path, &err));
	expect(!signature_find(path, type, sizeof(type), &err));
	unlink(path);
	close(fd);
}

/* What cannot be looked at is clean for a report, and not for an order that would write there. */
static void test_foreign_unknown(void)
{
	const char *path = "/nowhere/leg";
	char type[1][SIGNATURE_TYPE];

	foreign_find(&path, 1, type);
	expect(!*type[0]);
	foreign_find_sure(&path, 1, type);
	expect(!strcmp(type[0], FOREIGN_UNKNOWN));
}

/* Where a foreign signature may be wiped: only where the pool has no data. */
static void test_foreign_places(void)
{
	const u64 kib = 1024, back = 10000 - KVP_LABEL_BLOCKS, end = 10000 * 4 * kib;
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	struct device d = { .blocks = 10000, .bytes = end };
	struct label l = { .sb = sb };
	unsigned int i;

	sb->legs[0].size_blocks = d.blocks;
	for (i = 0; i < LABEL_SLOTS; i++)
		l.slots[i].offset = kvp_sb_slot_offset(d.blocks, i / KVP_SB_RING, i % KVP_SB_RING);
	expect(foreign_free(&d, &l, 0, 512, true) && foreign_free(&d, &l, 64 * kib - 8, 8, true));
	expect(!foreign_free(&d, &l, 64 * kib - 8, 9, false) &&
	       !foreign_free(&d, &l, 64 * kib + 64, 8, false));
	expect(!foreign_free(&d, &l, 320 * kib - 1, 2, false) &&
	       foreign_free(&d, &l, 320 * kib, 8, true));
	expect(!foreign_free(&d, &l, 512 * kib - 4, 8, false) &&
	       !foreign_free(&d, &l, 600 * kib, 8, false));
	expect(!foreign_free(&d, &l, 768 * kib, 8, false) &&
	       !foreign_free(&d, &l, 1024 * kib - 8, 8, false));
	expect(!foreign_free(&d, &l, 5000 * kib, 8, false) &&
	       !foreign_free(&d, &l, (back << 12) - 1, 2, false));
	expect(foreign_free(&d, &l, back << 12, 8, true) &&
	       !foreign_free(&d, &l, (back + 16) << 12, 8, true));
	expect(foreign_free(&d, &l, end - 8, 8, true) && !foreign_free(&d, &l, end - 8, 9, true));
	expect(!foreign_free(&d, &l, ~0ull - 3, 8, false) &&
	       !foreign_free(&d, &l, 0, ~0ull, false) &&
	       !foreign_free(&d, &l, 0, 0, false));
	/*
	 * A slot that is no label any more, while no pool may write it; one that cannot be read may
	 * be one.
	 */
	l.slots[0].state = -ENODATA;
	expect(foreign_free(&d, &l, 64 * kib + 64, 8, false) &&
	       !foreign_free(&d, &l, 64 * kib + 64, 8, true));
	expect(!foreign_free(&d, &l, 80 * kib - 4, 8, false));
	l.slots[0].state = -EIO;
	expect(!foreign_free(&d, &l, 64 * kib + 64, 8, false));
	/* the device differs from the one that the leg was made on, so its end is unknown */
	sb->legs[0].size_blocks = 9999;
	expect(!foreign_free(&d, &l, end - 8, 8, false) && foreign_free(&d, &l, 512, 8, false));
	free(sb);
}

/* --- work that may hang ------------------------------------------------------------ */

static int hang(void *arg, FILE *out)
{
	(void)arg;
	fputs("some of it", out);
	fflush(out);
	return pause();
}

static int give(void *arg, FILE *out)
{
	return fputs(arg, out) < 0;
}

/* Has it the descriptor at @arg? */
static int has(void *arg, FILE *out)
{
	const int *fd = arg;

	return fputs(fcntl(*fd, F_GETFD) < 0 ? "no" : "yes", out) < 0;
}

static int give_up(void *arg, FILE *out)
{
	(void)arg, (void)out;
	return 1;
}

/* Also shows that it has no way to the caller's output. */
static int is_output_gone(void *arg, FILE *out)
{
	struct stat null, st;

	(void)arg;
	if (stat("/dev/null", &null) || fstat(STDOUT_FILENO, &st) || st.st_rdev != null.st_rdev ||
	    fstat(STDERR_FILENO, &st) || st.st_rdev != null.st_rdev)
		return 1;
	return fputs("gone", out) < 0;
}

/* More than run at once, and some of them hang. */
static void test_watched_many(void)
{
	struct watched w[150];
	unsigned int i, given = 0, silent = 0, failures = 0;

	memset(w, 0, sizeof(w));
	for (i = 0; i < 150; i++) {
		w[i].work = i % 50 == 1 ? hang : i % 50 == 2 ? give_up : is_output_gone;
		w[i].arg = NULL;
	}
	watched_all(w, 150, 3);
	for (i = 0; i < 150; i++) {
		given += !w[i].error && w[i].size == 4 && !strcmp(w[i].text, "gone");
		silent += w[i].work == hang && w[i].error == ETIMEDOUT && !w[i].text;
		failures += w[i].work == give_up && w[i].error == ECANCELED && !w[i].text;
		free(w[i].text);
	}
	expect(given == 144 && silent == 3 && failures == 3);
}

static void test_watched(void)
{
	int lock = open("/dev/null", O_RDONLY | O_CLOEXEC);
	static char long_text[200001];
	struct err err;
	size_t size;
	char *text;

	memset(long_text, 'x', sizeof(long_text) - 1);
	expect(!watched_run(give, long_text, 30, "it", &text, &size, &err));
	expect(size == sizeof(long_text) - 1 && !strcmp(text, long_text));
	free(text);
	expect(watched_run(hang, NULL, 1, "it", &text, &size, &err) == -1);
	expect(!text && err.code == ERR_IO && strstr(err.why, "not answered for 1 s"));
	expect(watched_run(give_up, NULL, 30, "it", &text, &size, &err) == -1);
	expect(!text && err.code == ERR_FAILED);
	/* a lock is not kept by what is given up */
	watched_private(lock);
	expect(!watched_run(has, &lock, 30, "it", &text, &size, &err) && !strcmp(text, "no"));
	free(text);
	watched_private(-1);
	expect(!watched_run(has, &lock, 30, "it", &text, &size, &err) && !strcmp(text, "yes"));
	free(text);
	close(lock);
}

/* Prints the status of a pool that does not run, for schema.py. */
static void print_unasked(void)
{
	static const struct dm_entry e = { .name = "tank", .suspended = true,
					   .uuid = "85ee7ac4-4661-4655-a262-12162eefcaf4" };
	json_object *pool = pool_unasked(&e);

	printf("{\"version\":1,\"pools\":[%s]}\n", json_object_to_json_string_ext(pool,
		JSON_C_TO_STRING_PLAIN));
	json_object_put(pool);
}

static void test_check_standard_small(void)
{
	test_check_standard(IMAGE_SMALL);
}

static void test_check_standard_large(void)
{
	test_check_standard(IMAGE_LARGE);
}

static void (*const tests[])(void) = {
	test_crc32c,
	test_size,
	test_features,
	test_uuid,
	test_name,
	test_time,
	test_setting,
	test_word_escape,
	test_text_clean,
	test_watched,
	test_watched_many,
	test_device_word,
	test_stats,
	test_spares,
	test_spare_kind,
	test_needed,
	test_events,
	test_latency,
	test_iocount,
	test_errors,
	test_vdevs,
	test_cache_options,
	test_logs_hold_chunks,
	test_cache_counts,
	test_window_refused,
	test_chunk,
	test_label,
	test_label_around,
	test_label_at_old_end,
	test_import_whole,
	test_import_shadow,
	test_import_host,
	test_watch,
	test_watch_reused,
	test_watch_when,
	test_watch_unread,
	test_import_missing,
	test_import_silent,
	test_open_silent,
	test_read_silent,
	test_ask_silent,
	test_apart,
	test_pmbr,
	test_import_fork,
	test_import_never_counted,
	test_import_put_back,
	test_import_parted,
	test_import_readonly,
	test_import_leave_out,
	test_import_leave_out_unasked,
	test_import_duplicate,
	test_remember,
	test_remember_damaged,
	test_replay,
	test_replay_row,
	test_replay_touches,
	test_check_standard_small,
	test_check_standard_large,
	test_check_clean,
	test_check_home_damage,
	test_check_table_damage,
	test_check_log_damage,
	test_check_unread_log,
	test_check_unread_and_torn,
	test_check_unread_beyond,
	test_check_changing,
	test_check_renamed,
	test_target_again,
	test_check_unread_home,
	test_check_unread_row,
	test_check_stale_root,
	test_log_generations,
	test_check_missing,
	test_check_hangs,
	test_label_leg,
	test_copies,
	test_check_resilvering,
	test_inspect,
	test_advice,
	test_advice_long_paths,
	test_advice_no_spare,
	test_unasked,
	test_columns,
	test_larger_layouts,
	test_layout_tree,
	test_layout_of_cache,
	test_cache_lines,
	test_many_signatures,
	test_foreign_unknown,
	test_foreign_places,
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "unasked")) {
		print_unasked();
		return 0;
	}
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		tests[i]();
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
