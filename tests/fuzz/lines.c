// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of text that the tool parses: the module's answers, tables, counters of the kernel,
 * settings. Input: the kind of line, and the text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uuid/uuid.h>

#include "event.h"
#include "flush_latency.h"
#include "format/tunables.h"
#include "fuzz.h"
#include "iocount.h"
#include "pool_object.h"
#include "reload.h"
#include "setting.h"
#include "spares.h"
#include "ssd_counts.h"
#include "stats.h"

const char *const *command_names(void)
{
	static const char *const names[] = { "list", NULL };

	return names;
}

static void read_stats(char *text)
{
	struct ssd_counts now, before;
	char uuid[UUID_BUF];
	unsigned int v, leg;
	struct stats s;
	struct err err;

	if (stats_parse(strdup(text), &s))
		return;
	stats_text(&s, "vdev.%u.kind", 0);
	for (v = 0; v < 3; v++) {
		struct vdev_range r = vdev_range(&s, v);

		sure(r.first <= r.end && r.end <= KVP_MAX_LEGS, "legs %u to %u", r.first, r.end);
		vdev_spares(&s, v);
		losses_without_leg(&s, v);
	}
	sure(stats_losses(&s) >= 0, "losses below 0");
	losses_without_cache(&s);
	ssd_counts_load(&s, &now);
	before = now;
	before.written[0] /= 2;
	ssd_counts_since(&now, &before);
	ssd_amplification(&now);
	reached(!leg_find("p", &s, "/dev/none", uuid, &leg, &err));
	stats_free(&s);
}

static void read_latency(char *text)
{
	struct latency l, half, diff;
	json_object *o = json_object_new_object();

	latency_parse(text, &l);
	text[strlen(text) / 2] = 0;
	latency_parse(text, &half);
	latency_since(&l, &half, &diff);
	latency_json(o, &l);
	latency_json(o, &diff);
	json_object_put(o);
	sure(l.buckets <= LATENCY_BUCKETS, "%u buckets", l.buckets);
	reached(l.count);
}

static void read_event(char *text)
{
	json_object *o = json_object_new_object();

	event_fields(o, text);
	sure(json_object_to_json_string(o), "no text of an event");
	json_object_put(o);
}

static void read_table(const char *text)
{
	const char *vdevs = table_vdevs(text);
	char word[32], again[4096];
	unsigned int leg;

	reached(vdevs);
	if (!vdevs)
		return;
	sure(vdevs >= text && vdevs <= text + strlen(text), "vdevs outside the table");
	table_cache(vdevs);
	for (leg = 0; leg < 4; leg++)
		table_leg(vdevs, leg, word, sizeof(word));
	table_again("-", text, again, sizeof(again));
}

static void read_numbers(const char *text)
{
	struct iocount c;
	char buf[SIZE_BUF];
	u64 bytes, back;

	iocount_parse(text, &c);
	if (kvp_bytes_parse(text, &bytes))
		return;
	reached(true);
	sure(!kvp_bytes_parse(size_exact(bytes, buf), &back) && back == bytes,
	     "a size, printed and read");
}

static void read_words(const char *text)
{
	char buf[UUID_BUF], words[512];
	struct setting s;
	struct err err;
	u8 uuid[16], back[16];

	if (!setting_parse(text, &s, &err))
		reached(true);
	name_fault(text, command_names());
	word_escape(text, words, sizeof(words));
	leg_path(text, words, sizeof(words));
	leg_device(text);
	if (!uuid_parse(text, uuid))
		sure(!uuid_parse(uuid_print(uuid, buf), back) && !memcmp(uuid, back, 16),
		     "a UUID, printed and read");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (*data % 6) {
	case 0:
		read_stats(text);
		break;
	case 1:
		read_latency(text);
		break;
	case 2:
		read_event(text);
		break;
	case 3:
		read_table(text);
		break;
	case 4:
		read_numbers(text);
		break;
	default:
		read_words(text);
	}
	free(text);
	return 0;
}

void fuzz_seeds(void)
{
	static const char *const texts[] = {
		"0name=p\nstate=online\nlegs=3\nvdevs=2\nvdev.0.kind=mirror\nvdev.0.first_leg=0\nvdev.0.legs=2\n"
		"leg.0.state=online\nleg.1.state=online\nvdev.1.kind=cache\nvdev.1.first_leg=2\nvdev.1.legs=1\n"
		"leg.2.state=online\nlog.on=cache\nlosses_survivable=1\nssd.written_data=100\nleg.0.path=/dev/none\n"
		"leg.0.uuid=01234567-89ab-cdef-0123-456789abcdef\n",
		("1flush sum 123456\nflush 1000 4\nflush 2000 5\nflush 4000 1\nflush "
		 "18446744073709551615 1\n"),
		"2leg_lost leg=1 path=/dev/b why=write error", "2recovered replayed=0 kept=0 ms=4",
		"301234567-89ab-cdef-0123-456789abcdef 1 host=12:h mirror 2 8:0 8:16 cache 2 8:80 -",
		"3- 0 single 1 -", "464M", "41024", "4 5 0 40 1 6 0 48 1 0 1 1 3 0 24 0 0 0",
		"5write_buffer=64M",
		"5comment=no comment", "501234567-89ab-cdef-0123-456789abcdef", "58:16", "5tank",
		"3nothing",
	};
	unsigned int i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		seed(texts[i], strlen(texts[i]));
}
