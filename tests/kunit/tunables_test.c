// SPDX-License-Identifier: GPL-2.0-only
/* Tunables: the values that a person may write, and the printed form. */
#include "kvpool_kunit.h"
#include "format/tunables.c"

struct input {
	const char *name;
	unsigned int id;
	const char *text;
	int err;
	u64 value;
};

static const struct input inputs[] = {
	{ "plain bytes", KVP_T_WRITE_BUFFER, "8388608", 0, 8ull << 20 },
	{ "suffix K", KVP_T_WRITE_BUFFER, "8192K", 0, 8ull << 20 },
	{ "suffix M", KVP_T_WRITE_BUFFER, "64M", 0, 64ull << 20 },
	{ "suffix G", KVP_T_TABLE_CACHE, "2G", 0, 2ull << 30 },
	{ "suffix T", KVP_T_TABLE_CACHE, "1T", 0, 1ull << 40 },
	{ "leading zeros", KVP_T_WRITE_BUFFER, "0064M", 0, 64ull << 20 },
	{ "rate", KVP_T_SCRUB_RATE, "100M", 0, 100ull << 20 },
	{ "rate of none", KVP_T_SCRUB_RATE, "0", 0, 0 },
	{ "by itself", KVP_T_SEQ_CUTOFF_WRITE, "0", 0, 0 },
	{ "too small, and not 0", KVP_T_SEQ_CUTOFF_WRITE, "65535", -ERANGE, 0 },
	{ "milliseconds", KVP_T_COMMIT_INTERVAL_MS, "250", 0, 250 },
	{ "drive writes", KVP_T_FILL_DWPD, "2", 0, 200 },
	{ "a tenth of a drive write", KVP_T_FILL_DWPD, "0.1", 0, 10 },
	{ "hundredths of it", KVP_T_FILL_DWPD, "1.05", 0, 105 },
	{ "too many drive writes", KVP_T_FILL_DWPD, "100.01", -ERANGE, 0 },
	{ "drive writes beyond 64 bits", KVP_T_FILL_DWPD, "18446744073709551617", -ERANGE, 0 },
	{ "thousandths", KVP_T_FILL_DWPD, "0.125", -EINVAL, 0 },
	{ "nothing before the point", KVP_T_FILL_DWPD, ".5", -EINVAL, 0 },
	{ "nothing behind the point", KVP_T_FILL_DWPD, "1.", -EINVAL, 0 },
	{ "no digit behind the point", KVP_T_FILL_DWPD, "1.x", -EINVAL, 0 },
	{ "drive writes with suffix", KVP_T_FILL_DWPD, "1K", -EINVAL, 0 },
	{ "first word", KVP_T_FAILMODE, "error", 0, 0 },
	{ "second word", KVP_T_FAILMODE, "wait", 0, 1 },
	{ "word that is a digit", KVP_T_STRICT, "1", 0, 1 },
	{ "too small", KVP_T_WRITE_BUFFER, "4095K", -ERANGE, 0 },
	{ "too large", KVP_T_WRITE_BUFFER, "65G", -ERANGE, 0 },
	{ "zero milliseconds", KVP_T_COMMIT_INTERVAL_MS, "0", -ERANGE, 0 },
	{ "largest 64-bit number", KVP_T_SCRUB_RATE, "18446744073709551615", -ERANGE, 0 },
	{ "beyond 64 bits", KVP_T_SCRUB_RATE, "18446744073709551616", -ERANGE, 0 },
	{ "twenty nines", KVP_T_SCRUB_RATE, "99999999999999999999", -ERANGE, 0 },
	{ "suffix beyond 64 bits", KVP_T_WRITE_BUFFER, "16777216T", -ERANGE, 0 },
	{ "wraps to a fair value", KVP_T_WRITE_BUFFER, "17592186044480M", -ERANGE, 0 },
	{ "nothing", KVP_T_WRITE_BUFFER, "", -EINVAL, 0 },
	{ "only a suffix", KVP_T_WRITE_BUFFER, "M", -EINVAL, 0 },
	{ "small suffix", KVP_T_WRITE_BUFFER, "64m", -EINVAL, 0 },
	{ "unknown suffix", KVP_T_WRITE_BUFFER, "64P", -EINVAL, 0 },
	{ "two suffixes", KVP_T_WRITE_BUFFER, "64MB", -EINVAL, 0 },
	{ "minus", KVP_T_WRITE_BUFFER, "-1", -EINVAL, 0 },
	{ "plus", KVP_T_WRITE_BUFFER, "+64M", -EINVAL, 0 },
	{ "hexadecimal", KVP_T_WRITE_BUFFER, "0x4000000", -EINVAL, 0 },
	{ "fraction", KVP_T_WRITE_BUFFER, "1.5G", -EINVAL, 0 },
	{ "space before", KVP_T_WRITE_BUFFER, " 64M", -EINVAL, 0 },
	{ "space behind", KVP_T_WRITE_BUFFER, "64M ", -EINVAL, 0 },
	{ "milliseconds with suffix", KVP_T_COMMIT_INTERVAL_MS, "1K", -EINVAL, 0 },
	{ "unknown word", KVP_T_FAILMODE, "panic", -EINVAL, 0 },
	{ "part of a word", KVP_T_FAILMODE, "wai", -EINVAL, 0 },
	{ "more than a word", KVP_T_FAILMODE, "waits", -EINVAL, 0 },
	{ "all words", KVP_T_FAILMODE, "error|wait", -EINVAL, 0 },
	{ "no word", KVP_T_FAILMODE, "", -EINVAL, 0 },
	{ "number for a word", KVP_T_FAILMODE, "1", -EINVAL, 0 },
	{ "word out of 0|1", KVP_T_STRICT, "2", -EINVAL, 0 },
};
KUNIT_ARRAY_PARAM_DESC(input, inputs, name);

static void a_value_is_read(struct kunit *test)
{
	const struct input *in = test->param_value;
	struct kvp_why why = {};
	u64 value = 0;

	KUNIT_EXPECT_EQ(test, kvp_tunable_parse(in->id, in->text, &value, &why), in->err);
	if (in->err)
		EXPECT_WHY(test, &why, kvp_tunables[in->id].key);
	else
		KUNIT_EXPECT_EQ(test, value, in->value);
}

struct output {
	const char *name;
	unsigned int id;
	u64 value;
	const char *text;
};

static const struct output outputs[] = {
	{ "bytes without suffix", KVP_T_WRITE_BUFFER, 64 * MIB, "67108864" },
	{ "milliseconds", KVP_T_COMMIT_INTERVAL_MS, 1000, "1000" },
	{ "rate of none", KVP_T_SCRUB_RATE, 0, "0" },
	{ "drive writes", KVP_T_FILL_DWPD, 300, "3" },
	{ "tenths", KVP_T_FILL_DWPD, 30, "0.3" },
	{ "hundredths", KVP_T_FILL_DWPD, 105, "1.05" },
	{ "first word", KVP_T_FAILMODE, 0, "error" },
	{ "second word", KVP_T_FAILMODE, 1, "wait" },
	{ "digit word", KVP_T_AUTOIMPORT, 1, "1" },
	{ "value from a device that has no word", KVP_T_FAILMODE, ~0ull, "" },
};
KUNIT_ARRAY_PARAM_DESC(output, outputs, name);

static void a_value_is_printed(struct kunit *test)
{
	const struct output *out = test->param_value;
	char text[32];
	int length = kvp_tunable_print(out->id, out->value, text, sizeof(text));

	KUNIT_EXPECT_STREQ(test, text, out->text);
	KUNIT_EXPECT_EQ(test, length, strlen(out->text));
}

static void tunable_desc(const struct kvp_tunable *t, char *desc)
{
	strscpy(desc, t->key, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(tunable, kvp_tunables, tunable_desc);

static unsigned int id_of(struct kunit *test)
{
	return (const struct kvp_tunable *)test->param_value - kvp_tunables;
}

static void a_tunable_is_found_by_its_key(struct kunit *test)
{
	const struct kvp_tunable *t = test->param_value;

	KUNIT_EXPECT_EQ(test, kvp_tunable_find(t->key), id_of(test));
	KUNIT_EXPECT_NOT_NULL(test, t->meaning);
}

static void what_is_printed_can_be_read(struct kunit *test)
{
	const struct kvp_tunable *t = test->param_value;
	const u64 values[] = { t->min, t->def, t->max };
	struct kvp_why why;
	char text[32];
	u64 value;
	int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		kvp_tunable_print(id_of(test), values[i], text, sizeof(text));
		KUNIT_EXPECT_EQ(test, kvp_tunable_parse(id_of(test), text, &value, &why), 0);
		KUNIT_EXPECT_EQ(test, value, values[i]);
	}
}

static void limits_are_exact(struct kunit *test)
{
	const struct kvp_tunable *t = test->param_value;
	struct kvp_why why;
	char text[32];
	u64 value;

	if (t->unit == KVP_UNIT_WORD)
		kunit_skip(test, "takes words");
	kvp_tunable_print(id_of(test), t->max + 1, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, kvp_tunable_parse(id_of(test), text, &value, &why), -ERANGE);
	if (!t->min)
		return;
	/* 0 may be a value below the smallest one. */
	kvp_tunable_print(id_of(test), t->min - 1, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, kvp_tunable_parse(id_of(test), text, &value, &why),
			t->by_itself && t->min == 1 ? 0 : -ERANGE);
}

static void an_unknown_key_is_not_found(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kvp_tunable_find("write_buffe"), -ENOENT);
	KUNIT_EXPECT_EQ(test, kvp_tunable_find("write_buffer2"), -ENOENT);
	KUNIT_EXPECT_EQ(test, kvp_tunable_find("WRITE_BUFFER"), -ENOENT);
	KUNIT_EXPECT_EQ(test, kvp_tunable_find(""), -ENOENT);
}

/* The number of a tunable is its place in the superblock. */
static void numbers_of_tunables_stay(struct kunit *test)
{
	static const char * const keys[] = {
		"write_buffer", "commit_interval_ms", "table_cache", "strict", "failmode",
		"degraded_start", "autoimport", "scrub_rate",
		"seq_cutoff_write", "destage_idle_ms", "ram_cache", "seq_cutoff_read",
		"cache_mode", "destage_min_rate", "fill_dwpd", "leg_timeout", "discard_passdown",
	};
	int i;

	KUNIT_EXPECT_LE(test, KVP_TUNABLES, KVP_MAX_TUNABLES);
	KUNIT_ASSERT_GE(test, KVP_TUNABLES, ARRAY_SIZE(keys));
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		KUNIT_EXPECT_STREQ(test, kvp_tunables[i].key, keys[i]);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(a_value_is_read, input_gen_params),
	KUNIT_CASE_PARAM(a_value_is_printed, output_gen_params),
	KUNIT_CASE_PARAM(a_tunable_is_found_by_its_key, tunable_gen_params),
	KUNIT_CASE_PARAM(what_is_printed_can_be_read, tunable_gen_params),
	KUNIT_CASE_PARAM(limits_are_exact, tunable_gen_params),
	KUNIT_CASE(an_unknown_key_is_not_found),
	KUNIT_CASE(numbers_of_tunables_stay),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_tunables",
	.test_cases = cases,
};
kunit_test_suite(suite);
