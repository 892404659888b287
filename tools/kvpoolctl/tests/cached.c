// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of check: pools with a cache of each kind, with rows, and of several vdevs. */
#include "format/logstripe.h"
#include "format/regions.h"
#include "check.h"
#include "expect.h"
#include "image.h"
#include "import.h"
#include "opened.h"
#include "silent.h"

static struct ctl ctl = { .quiet = true, .json = true };
/*
 * The cache of the running test: enum image_cache, or IMAGE_CACHES plus an index of image_shapes[].
 */
static int cache;

/* Runs check without the legs in @without, a bit each; an object to be released. */
static json_object *check(const struct image *m, unsigned int without, int *status)
{
	const char *paths[IMAGE_MAX_LEGS];
	unsigned int i, n = 0;
	struct scan s;
	struct err err;
	json_object *o;

	for (i = 0; i < m->legs; i++)
		if (!(without >> i & 1))
			paths[n++] = m->path[i];
	expect(!scan_run(paths, n, &s, &err));
	*status = -1;
	o = check_object(&ctl, &s, status, &err);
	expect(o);
	scan_free(&s);
	return o;
}

static u64 leg_number(json_object *o, size_t leg, const char *key)
{
	return json_number_at(json_object_array_get_idx(json_at(o, "legs"), leg), key);
}

static const char *leg_word_of(json_object *o, size_t leg, const char *key)
{
	return json_text_at(json_object_array_get_idx(json_at(o, "legs"), leg), key);
}

/*
 * The first fault that check reports for the log although it can do without that part; "" if none.
 */
static const char *fault(json_object *o, const char *key)
{
	json_object *list = json_at(o, "log.bad");

	return json_object_array_length(list) ? json_text_at(json_object_array_get_idx(list, 0),
							     key) : "";
}

/* A standard image without poison. */
static void make(struct image *m)
{
	image_standard_cached(m, 2, IMAGE_SMALL, (enum image_cache)cache);
	m->entries[STD_POISONED] = 0;
	image_seal(m);
}

/* The counts that image_standard() documents. */
static void expect_whole(json_object *o)
{
	expect(!strcmp(json_text_at(o, "log.state"), "sound"));
	expect(json_number_at(o, "log.entries") == 3);
	expect(json_number_at(o, "blocks.valid") == 3);		/* 2, 511, 600 */
	expect(json_number_at(o, "blocks.in_log") == 3);	/* 0, 1, 40 */
	expect(json_number_at(o, "blocks.torn") == 1);
	expect(json_number_at(o, "blocks.poisoned") == 0);
	expect(json_number_at(o, "blocks.unrepaired") == 0);
}

static unsigned int bad_parts(const struct image *m, json_object *o)
{
	unsigned int i, n = 0;

	for (i = 0; i < m->legs; i++)
		n += (unsigned int)(leg_number(o, i, "log_bad") + leg_number(o, i, "blocks_bad"));
	return n;
}

/* The payload of the second entry, of blocks 1 and 40, on one leg. */
static u64 payload_at(const struct image *m, u32 i, unsigned int *leg)
{
	const struct kvp_geometry *g = &m->sb.vdevs[m->sb.log_vdev];
	const struct kvp_log_hdr h = { .hdr_blocks = 1, .payload = 2 };
	u64 lsn = kvp_log_segment_end(g, m->sb.log_tail);

	return image_log_at(m, lsn + kvp_log_payload_at(g, &h, i), leg);
}

static void test_whole(void)
{
	static const u64 clean[IMAGE_CACHES] = {
		[IMAGE_ONE_SSD] = 1, [IMAGE_TWO_SSDS] = 2, [IMAGE_THREE_SSDS] = 1,
			[IMAGE_TWO_SSDS_READ] = 2,
	};
	struct image m;
	json_object *o;
	int status;

	make(&m);
	/* Homes of blocks that the log has may be old or damaged. */
	image_flip(&m, 0, (m.sb.vdevs[0].data_start + 1) << KVP_BLOCK_SHIFT, 1);
	image_flip(&m, 1, (m.sb.vdevs[0].data_start + 1) << KVP_BLOCK_SHIFT, 1);
	o = check(&m, 0, &status);
	expect(status == EXIT_DONE && !json_at(o, "advice"));
	expect_whole(o);
	expect(!bad_parts(&m, o) && !*fault(o, "why"));
	expect(!strcmp(json_text_at(o, "cache.log_on"), cache == IMAGE_TWO_SSDS_READ ? "legs" :
		       "cache"));
	expect(json_number_at(o, "cache.clean") == clean[cache] &&
	       !json_number_at(o, "cache.clean_bad"));
	json_object_put(o);
	image_free(&m);
}

/*
 * One bit of a dirty block is wrong. The fault is named; with a second copy or a row no data is
 * lost.
 */
static void test_rotten_dirty(void)
{
	unsigned int leg;
	struct image m;
	json_object *o;
	int status;
	u64 at;

	make(&m);
	at = payload_at(&m, 0, &leg);
	image_flip(&m, leg, at + 99, 2);
	o = check(&m, 0, &status);
	if (cache == IMAGE_ONE_SSD) {
		expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "damaged"));
		expect(strstr(json_text_at(o, "log.why"), "bad payload of block 1"));
		expect(strstr(json_text_at(o, "advice"), "--discard-log"));
	} else {
		expect(status == EXIT_DEGRADED && strstr(json_text_at(o, "advice"), "scrub"));
		expect_whole(o);
		expect(bad_parts(&m, o) == 1 && leg_number(o, leg, "log_bad") == 1);
		expect(strstr(fault(o, "why"), "bad payload of block 1"));
		expect(!strcmp(fault(o, "path"), m.path[leg]));
	}
	json_object_put(o);
	image_free(&m);
}

/*
 * The same on all SSDs, in a block that a later segment names as durable. A start needs only the
 * header, so only that block is lost. If the headers differ, the start is refused with that reason.
 */
static void test_rotten_durable(void)
{
	static const struct image_rec later = { .kind = KVP_REC_DATA, .block = 77, .version = 2 };
	struct image m;
	unsigned int leg;
	json_object *o;
	int status;
	u64 at;

	if (cache != IMAGE_ONE_SSD && cache != IMAGE_TWO_SSDS)
		return;
	make(&m);
	image_skip(&m);
	image_log(&m, &later, 1);
	image_seal(&m);
	at = payload_at(&m, 0, NULL);
	for (leg = m.data_legs; leg < m.legs; leg++)
		image_flip(&m, leg, at + 99, 2);
	o = check(&m, 0, &status);
	expect(status == EXIT_DEGRADED && strstr(json_text_at(o, "advice"),
						 "some blocks are lost"));
	expect(!strcmp(json_text_at(o, "log.state"), "sound") &&
	       json_number_at(o, "log.entries") == 4);
	/*
	 * And blocks 2 and 3: the later entry does not list their intents as open, so they should
	 * be home, and are not.
	 */
	expect(json_number_at(o, "blocks.unrepaired") == 3 &&
	       json_number_at(o, "blocks.in_log") == 3);
	expect(strstr(fault(o, "why"), "bad payload of block 1"));
	json_object_put(o);
	image_flip(&m, m.data_legs, at - KVP_BLOCK_SIZE + 40, 1);
	o = check(&m, 0, &status);
	expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "damaged"));
	json_object_put(o);
	image_free(&m);
}

/* The last entry was not acknowledged as durable: if it is torn, the log ends before it. */
static void test_torn_end(void)
{
	struct image m;
	json_object *o;
	unsigned int i;
	int status;

	make(&m);
	for (i = 0; i < m.legs; i++) {
		const struct kvp_geometry *g = &m.sb.vdevs[m.sb.log_vdev];
		u32 at;

		for (at = 0; at < 2 && i < g->leg_count; at++) {
			struct kvp_place p = kvp_log_place(g, m.prev_lsn + at,
							   kvp_log_striped(g) ? 0 : i);

			if (!i || !kvp_log_striped(g))
				image_flip(&m, g->first_leg + p.leg,
					   (p.block << KVP_BLOCK_SHIFT) + 40, 1);
		}
	}
	o = check(&m, 0, &status);
	expect(!strcmp(json_text_at(o, "log.state"), "sound") &&
	       json_number_at(o, "log.entries") == 2);
	json_object_put(o);
	m.sb.log_commit = m.lsn;
	image_seal(&m);
	o = check(&m, 0, &status);
	expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "damaged"));
	json_object_put(o);
	image_free(&m);
}

static void test_rotten_clean(void)
{
	unsigned int leg;
	struct image m;
	json_object *o;
	int status;
	u64 at;

	make(&m);
	leg = m.sb.vdevs[1].first_leg + kvp_log_place(&m.sb.vdevs[1], m.clean, 0).leg;
	at = kvp_log_place(&m.sb.vdevs[1], m.clean, 0).block << KVP_BLOCK_SHIFT;
	image_flip(&m, leg, at + 5, 2);
	o = check(&m, 0, &status);
	expect(status == EXIT_DONE && !json_at(o, "advice"));
	expect_whole(o);
	expect(json_number_at(o, "cache.clean_bad") == 1 && leg_number(o, leg, "clean_bad") == 1);
	json_object_put(o);
	/* the log may have overwritten the segment, so its summary does not count */
	if (cache == IMAGE_TWO_SSDS_READ) {
		m.sb.cache_lsn += kvp_log_blocks(&m.sb.vdevs[1]);
		image_seal(&m);
		o = check(&m, 0, &status);
		expect(!json_number_at(o, "cache.clean_bad") && !json_number_at(o, "cache.clean"));
		json_object_put(o);
	}
	image_free(&m);
}

/*
 * The table takes precedence over a summary. If its entry has changed since, the copy is neither
 * clean nor rotten.
 */
static void test_changed_clean(void)
{
	struct image m;
	u64 entry, changed[3];
	json_object *o;
	unsigned int i;
	int status;

	make(&m);
	entry = m.entries[STD_CLEAN];
	changed[0] = kvp_entry(kvp_entry_crc(entry), m.sb.era, KVP_ENTRY_VALID);
	changed[1] = kvp_entry(kvp_entry_crc(entry) ^ 1, kvp_entry_era(entry), KVP_ENTRY_VALID);
	changed[2] = kvp_entry(0, kvp_entry_era(entry), KVP_ENTRY_UNWRITTEN);
	for (i = 0; i < 3; i++) {
		m.entries[STD_CLEAN] = changed[i];
		image_seal(&m);
		o = check(&m, 0, &status);
		expect(!json_number_at(o, "cache.clean") && !json_number_at(o, "cache.clean_bad"));
		json_object_put(o);
	}
	m.entries[STD_CLEAN] = kvp_entry(kvp_entry_crc(entry), m.sb.era - 1, KVP_ENTRY_VALID);
	image_seal(&m);
	o = check(&m, 0, &status);
	expect(json_number_at(o, "cache.clean") && !json_number_at(o, "cache.clean_bad"));
	json_object_put(o);
	image_free(&m);
}

/*
 * An intent that the last entry does not list as open was home. If its version is not there now, no
 * older version counts.
 */
static void test_closed_intent(void)
{
	static const struct image_rec recs[] = {
		{ .kind = KVP_REC_DATA, .block = 90, .version = 1 },
		{ .kind = KVP_REC_INTENT, .block = 90, .version = 2 },
		{ .kind = KVP_REC_DATA, .block = 77, .version = 2 },
	};
	struct image m;
	json_object *o;
	unsigned int i;
	int status;

	for (i = 0; i < 2; i++) {
		make(&m);
		image_home(&m, 90, 3);
		image_log(&m, &recs[0], 1);
		image_log(&m, &recs[1], 1);
		/* with no later entry the intent is open, and the older version counts */
		if (i)
			image_log(&m, &recs[2], 1);
		image_seal(&m);
		o = check(&m, 0, &status);
		/* in both cases the intents of blocks 2 and 3, which are not home, are closed */
		expect(json_number_at(o, "blocks.unrepaired") == (i ? 3 : 2));
		expect(json_number_at(o, "blocks.in_log") == 4);
		json_object_put(o);
		image_free(&m);
	}
}

/* SSDs are not given: with too few, check refuses clearly; otherwise nothing is missed. */
static void test_missing(void)
{
	static const unsigned int needed[IMAGE_CACHES] = {
		[IMAGE_ONE_SSD] = 1, [IMAGE_TWO_SSDS] = 1, [IMAGE_THREE_SSDS] = 2,
	};
	unsigned int ssds, without, have, i;
	char uuid[UUID_BUF];
	struct image m;
	json_object *o;
	int status;

	make(&m);
	ssds = m.legs - m.data_legs;
	for (without = 1; without < 1u << ssds; without++) {
		for (i = have = 0; i < ssds; i++)
			have += !(without >> i & 1);
		o = check(&m, without << m.data_legs, &status);
		for (i = 0; i < ssds; i++)
			if (without >> i & 1)
				expect(!strcmp(leg_word_of(o, m.data_legs + i, "state"),
					       "missing"));
		if (have >= needed[cache]) {
			expect(status == EXIT_DEGRADED &&
			       strstr(json_text_at(o, "advice"), "bring the others back"));
			expect_whole(o);
			expect(!bad_parts(&m, o));
		} else {
			i = without & 1 ? 0 : 1;
			expect(status == EXIT_FAULTED);
			expect(!strcmp(json_text_at(o, "log.state"), "unread"));
			expect(strstr(json_text_at(o, "advice"), "log is on the cache"));
			expect(strstr(json_text_at(o, "advice"),
				      uuid_print(m.sb.legs[m.data_legs + i].uuid, uuid)));
		}
		json_object_put(o);
	}
	/* after a clean stop the log holds nothing that is needed */
	m.sb.flags |= KVP_SB_CLEAN;
	m.sb.log_tail = m.sb.log_commit = m.lsn;
	m.sb.log_prev_lsn = m.prev_lsn;
	m.sb.log_prev_csum = m.prev_csum;
	image_seal(&m);
	o = check(&m, ((1u << ssds) - 1) << m.data_legs, &status);
	expect(status == EXIT_DEGRADED && !json_number_at(o, "log.entries"));
	expect(!strcmp(json_text_at(o, "log.state"), "sound"));
	json_object_put(o);
	image_free(&m);
}

/* An SSD that was recorded out is not used, even if it looks sound. */
static void test_outdated(void)
{
	struct image m;
	json_object *o;
	int status;

	make(&m);
	m.sb.legs[m.legs - 1].state = KVP_LEG_STALE;
	image_seal(&m);
	image_flip(&m, m.legs - 1, (m.sb.vdevs[1].log_start + 300) << KVP_BLOCK_SHIFT, 1);
	o = check(&m, 0, &status);
	expect(!strcmp(leg_word_of(o, m.legs - 1, "state"), "stale"));
	if (cache == IMAGE_ONE_SSD) {
		expect(status == EXIT_FAULTED);
	} else {
		expect(status == EXIT_DEGRADED);
		expect_whole(o);
	}
	json_object_put(o);
	image_free(&m);
}

/* One SSD is not given, and a block of another is rotten: the block is lost if it needs both. */
static void test_rotten_and_missing(void)
{
	unsigned int leg, other;
	struct image m;
	json_object *o;
	int status;
	u64 at;

	make(&m);
	at = payload_at(&m, 1, &leg);
	image_flip(&m, leg, at + 1, 7);
	payload_at(&m, 0, &other);
	o = check(&m, 1u << other, &status);
	if (cache == IMAGE_THREE_SSDS) {
		expect(other != leg && status == EXIT_FAULTED);
		expect(strstr(json_text_at(o, "log.why"), "bad payload of block"));
	} else {	/* with copies the first leg is blamed; without it the others are sound */
		expect(other == leg && status == (cache == IMAGE_ONE_SSD ? EXIT_FAULTED :
						  EXIT_DEGRADED));
	}
	json_object_put(o);
	image_free(&m);
}

/* --- import -------------------------------------------------------------------------------- */

/* Is an import with @o refused, with @text in why, or in the mend? */
static bool refused(const struct image *m, const struct import_options *o, const char *text)
{
	const char *paths[IMAGE_MAX_LEGS];
	bool found = false;
	struct refusals r;
	struct scan s;
	struct err err;
	unsigned int i;

	for (i = 0; i < m->legs; i++)
		paths[i] = m->path[i];
	expect(!scan_run(paths, m->legs, &s, &err) && s.pool_count == 1);
	import_check(&s.pools[0], o, &r);
	for (i = 0; i < r.count; i++)
		found |= strstr(r.list[i].why, text) || strstr(r.list[i].mend, text);
	scan_free(&s);
	return found;
}

/*
 * A log on a cache is given up only if it is damaged. A pool whose log holds writes cannot be
 * imported read-only.
 */
static void test_import(void)
{
	const struct import_options give_up = { .discard_log = true };
	const struct import_options readonly = { .readonly = true }, plain = { 0 };
	struct image m;
	unsigned int i;
	u64 lsn;

	make(&m);
	lsn = kvp_log_segment_end(&m.sb.vdevs[m.sb.log_vdev], m.sb.log_tail);
	expect(!refused(&m, &plain, "log"));
	expect(refused(&m, &give_up, "its log need not be given up"));
	expect(refused(&m, &readonly, "holds writes") && refused(&m, &readonly, "export --drain"));
	for (i = 0; i < 2 && cache != IMAGE_TWO_SSDS_READ; i++) {
		unsigned int leg;
		u64 at = image_log_at(&m, lsn + (cache == IMAGE_THREE_SSDS ? i : 0), &leg);

		if (cache == IMAGE_TWO_SSDS)
			leg += i;
		if (!i || cache != IMAGE_ONE_SSD)
			image_flip(&m, leg, at + 40, 1);
	}
	if (cache != IMAGE_TWO_SSDS_READ)
		expect(!refused(&m, &give_up, "its log need not be given up"));
	image_free(&m);
}

/* --- full stripes ------------------------------------------------------------------------ */

/* Damaged parity, or a damaged copy of a header, is reported; no data is lost. */
static void test_stripes(void)
{
	static const struct { u32 at; const char *what; } parts[] = {
		{ 0, "a bad copy of its header" }, { 1, "a bad copy of its header" },
		{ 2, "parity that does not fit its row" }, { 4, "bad payload of block 40" },
	};
	unsigned int i, leg;
	struct image m;
	json_object *o;
	int status;
	u64 lsn;

	make(&m);
	lsn = kvp_log_segment_end(&m.sb.vdevs[1], m.sb.log_tail);
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		u64 at = image_log_at(&m, lsn + parts[i].at, &leg);

		image_flip(&m, leg, at + 40, 4);
		o = check(&m, 0, &status);
		expect(status == EXIT_DEGRADED && leg_number(o, leg, "log_bad") == 1);
		expect_whole(o);
		expect(bad_parts(&m, o) == 1 && strstr(fault(o, "why"), parts[i].what));
		json_object_put(o);
		/* the other legs suffice */
		o = check(&m, 1u << leg, &status);
		expect(status == EXIT_DEGRADED && !bad_parts(&m, o));
		expect_whole(o);
		json_object_put(o);
		image_flip(&m, leg, at + 40, 4);
	}
	for (i = 3; i < 5; i++)
		image_flip(&m, m.data_legs + (unsigned int)((lsn + i) % 3),
			   image_log_at(&m, lsn + i, NULL) + 3, 1);
	o = check(&m, 0, &status);
	expect(status == EXIT_FAULTED && !strcmp(json_text_at(o, "log.state"), "damaged"));
	json_object_put(o);
	image_free(&m);
}

/* --- other shapes -------------------------------------------------------------------------- */

/* A valid block whose row has no record in the log; BESIDE lies in the same row. */
#define ALONE	300u
#define BESIDE	316u

static void make_shape(struct image *m)
{
	image_standard_shaped(m, &image_shapes[cache - IMAGE_CACHES], IMAGE_SMALL);
	m->entries[STD_POISONED] = 0;
	image_valid(m, ALONE, 1);
	image_valid(m, BESIDE, 1);
	image_seal(m);
}

static bool has_rows(const struct image *m)
{
	u32 v;

	for (v = 0; v < m->sb.vdev_count; v++)
		if (kvp_is_parity1(&m->sb.vdevs[v]))
			return true;
	return false;
}

/*
 * The counts that image_standard_shaped() documents. Writes in progress at the power cut may be
 * there or not.
 */
static void expect_shape(const struct image *m, json_object *o)
{
	expect(!strcmp(json_text_at(o, "log.state"), "sound"));
	expect(json_number_at(o, "log.entries") == (has_rows(m) ? 4 : 3));
	expect(json_number_at(o, "log.parity") == has_rows(m));
	/* 2, ALONE, BESIDE, 511; perhaps 3, 600 */
	expect(json_number_at(o, "blocks.valid") >= 4);
	expect(json_number_at(o, "blocks.in_log") == 3);
	expect(json_number_at(o, "blocks.poisoned") == 0);
	expect(json_number_at(o, "blocks.unrepaired") == 0);
	expect(json_number_at(o, "table.pages_lost") == 0);
	expect(!bad_parts(m, o));
}

/* With all legs, and without any one leg that its vdev can lose. */
static void test_shape_whole(void)
{
	struct image m;
	json_object *o;
	int status;
	u32 v, i;

	make_shape(&m);
	o = check(&m, 0, &status);
	expect(status == EXIT_DONE && !json_at(o, "advice"));
	expect_shape(&m, o);
	/* a torn block at home is rebuilt from its row */
	expect(json_number_at(o, "blocks.torn") ==
	       !kvp_is_parity1(&m.sb.vdevs[kvp_map_find(&m.sb.map, STD_INTENT_TORN).vdev]));
	json_object_put(o);
	for (v = 0; v < m.sb.vdev_count; v++) {
		const struct kvp_geometry *g = &m.sb.vdevs[v];

		for (i = g->first_leg; kvp_losses(g) && i < g->first_leg + g->leg_count; i++) {
			o = check(&m, 1u << i, &status);
			expect(status == EXIT_DEGRADED);
			expect_shape(&m, o);
			json_object_put(o);
		}
	}
	image_stop(&m);
	o = check(&m, 0, &status);
	expect(status == EXIT_DEGRADED || status == EXIT_DONE);
	expect(!json_number_at(o, "log.entries") && !strcmp(json_text_at(o, "log.state"), "sound"));
	json_object_put(o);
	image_free(&m);
}

/* A home block rots: another leg has it, the rest of its row gives it, or it is lost. */
static void test_shape_rotten(void)
{
	struct kvp_map_place in;
	struct kvp_place at;
	const struct kvp_geometry *g;
	struct image m;
	json_object *o;
	int status;

	make_shape(&m);
	in = kvp_map_find(&m.sb.map, ALONE);
	g = &m.sb.vdevs[in.vdev];
	at = kvp_data_place(g, in.block);
	image_flip(&m, g->first_leg + at.leg, (at.block << KVP_BLOCK_SHIFT) + 77, 3);
	o = check(&m, 0, &status);
	expect(status == EXIT_DEGRADED && leg_number(o, g->first_leg + at.leg, "blocks_bad") == 1);
	expect(json_number_at(o, "blocks.unrepaired") == (kvp_losses(g) ? 0 : 1));
	json_object_put(o);
	if (kvp_is_parity1(g)) {
		at = kvp_parity_place(g, kvp_row_of(g, in.block));
		image_flip(&m, g->first_leg + at.leg, (at.block << KVP_BLOCK_SHIFT) + 78, 3);
		o = check(&m, 0, &status);
		expect(leg_number(o, g->first_leg + at.leg, "blocks_bad") == 1);
		expect(json_number_at(o, "blocks.unrepaired") == 1);
		json_object_put(o);
	}
	image_free(&m);
}

/* --- contents: for extract ------------------------------------------------------------- */

/* What a walk has handed on. */
struct handed {
	const struct image *m;
	u64 next;			/* block that must come now */
	/* blocks with contents; of these, other data than was written */
	u64 given, wrong;
	u64 stop_at;
};

/* Has a write to the block been in progress when the power went? */
static bool in_progress(u64 block)
{
	return block == STD_INTENT_DONE || block == STD_INTENT_OLD || block == STD_INTENT_TORN;
}

static bool is_version(const struct image *m, u64 block, unsigned int version, const u8 *data)
{
	u8 want[KVP_BLOCK_SIZE];

	image_fill(m, block, version, want);
	return !memcmp(want, data, KVP_BLOCK_SIZE);
}

static int take(void *arg, const struct verify_span *s, struct err *err)
{
	struct handed *h = arg;
	const u8 *data;
	u64 i, block;

	expect(s->first == h->next && s->count);
	h->next += s->count;
	for (i = 0; s->states && i < s->count; i++) {
		if (!verify_has(s->states[i]))
			continue;
		block = s->first + i;
		data = s->data + (i << KVP_BLOCK_SHIFT);
		h->given++;
		if (in_progress(block))
			h->wrong += s->states[i] != VERIFY_TORN &&
				!is_version(h->m, block, 1, data) &&
				    !is_version(h->m, block, 2, data);
		else
			h->wrong += !is_version(h->m, block, h->m->now[block], data);
	}
	return h->next > h->stop_at ? err_set(err, ERR_IO, "copy", "mend it", "full") : 0;
}

/* Walks the legs but those in @without; returns what verify_pool() did. */
static int hand_on(const struct image *m, unsigned int without, struct handed *h, struct verify *v,
		   struct err *err)
{
	const char *paths[IMAGE_MAX_LEGS];
	struct opened legs;
	unsigned int i, n = 0;
	struct scan s;
	int ret = -1;

	*h = (struct handed){ .m = m, .stop_at = h->stop_at };
	memset(v, 0, sizeof(*v));
	v->contents = take;
	v->contents_arg = h;
	for (i = 0; i < m->legs; i++)
		if (!(without >> i & 1))
			paths[n++] = m->path[i];
	expect(!scan_run(paths, n, &s, err) && !opened_begin(&s, &legs, err));
	if (!opened_fault(&legs, err))
		ret = verify_pool(legs.pools, v, err);
	opened_end(&legs);
	scan_free(&s);
	return ret;
}

static void expect_contents(const struct image *m, unsigned int without)
{
	struct handed h = { .stop_at = ~0ull };
	struct verify v;
	struct err err;

	expect(!hand_on(m, without, &h, &v, &err));
	expect(h.next == m->sb.pool_blocks && !h.wrong);
	expect(h.given == v.blocks[VERIFY_OK] + v.blocks[VERIFY_IN_LOG] + v.blocks[VERIFY_TORN]);
	expect(v.blocks[VERIFY_IN_LOG] == 3 && h.given >= 7 && !v.blocks[VERIFY_UNREPAIRED]);
}

/* The copy has what was written, also without any one leg that can be lost. */
static void test_contents(void)
{
	struct handed h = { .stop_at = 600 };
	struct verify v;
	struct image m;
	struct err err;
	u32 i, k;

	if (cache < IMAGE_CACHES)
		make(&m);
	else
		make_shape(&m);
	expect_contents(&m, 0);
	for (i = 0; i < m.sb.vdev_count; i++) {
		const struct kvp_geometry *g = &m.sb.vdevs[i];

		for (k = g->first_leg; kvp_losses(g) && k < g->first_leg + g->leg_count; k++)
			expect_contents(&m, 1u << k);
	}
	/* a copy that cannot go on ends the walk */
	expect(hand_on(&m, 0, &h, &v, &err) == -1 && err.code == ERR_IO);
	expect(h.next > 600 && h.next < m.sb.pool_blocks);
	image_free(&m);
}

/* A home that rots: another leg or the row gives the block, or it is named as lost. */
static void test_contents_rotten(void)
{
	struct handed h = { .stop_at = ~0ull };
	struct kvp_map_place in;
	struct kvp_place at;
	const struct kvp_geometry *g;
	struct verify v;
	struct image m;
	struct err err;

	make_shape(&m);
	in = kvp_map_find(&m.sb.map, ALONE);
	g = &m.sb.vdevs[in.vdev];
	at = kvp_data_place(g, in.block);
	image_flip(&m, g->first_leg + at.leg, (at.block << KVP_BLOCK_SHIFT) + 77, 3);
	if (kvp_losses(g)) {
		expect_contents(&m, 0);
	} else {
		expect(!hand_on(&m, 0, &h, &v, &err) && !h.wrong);
		expect(v.blocks[VERIFY_UNREPAIRED] == 1 && v.ranges[0].block == ALONE);
	}
	image_free(&m);
}

/* Nothing is handed on if durable entries are damaged: later writes would be missing. */
static void test_contents_of_damaged_log(void)
{
	struct handed h = { .stop_at = ~0ull };
	struct verify v;
	struct image m;
	struct err err;
	unsigned int i;
	u64 at;

	make(&m);
	m.sb.log_commit = m.lsn;
	image_seal(&m);
	/*
	 * the header; of a cache-parity1 also its second copy, not in step, as parity would mend it
	 */
	for (i = 0; i < 2 * m.legs; i++) {
		at = image_log_at(&m, m.sb.log_tail + (i & 1 && cache == IMAGE_THREE_SSDS), NULL);
		image_flip(&m, i / 2, at + 3, i % 8);
	}
	expect(hand_on(&m, 0, &h, &v, &err) == -1 && err.code == ERR_NOT_CLEAN);
	expect(!h.next);
	image_free(&m);
}

/* R27: no SSD can read the newest entry, so the log may go on. One SSD is enough to tell. */
static void test_unread_end(void)
{
	const struct kvp_geometry *g;
	struct image m;
	json_object *o;
	const char *state;
	unsigned int i;
	int status;
	u64 at;

	make(&m);
	g = image_log_vdev(&m, m.prev_lsn);
	at = image_log_at(&m, m.prev_lsn, NULL);
	for (i = 0; i < g->leg_count; i++) {
		image_fails_at(&m, g->first_leg + i, at, EIO);
		o = check(&m, 0, &status);
		state = json_text_at(o, "log.state");
		if (i + 1 < g->leg_count)
			expect(status != EXIT_FAULTED || cache == IMAGE_THREE_SSDS);
		else
			expect(status == EXIT_FAULTED && !strcmp(state, "unknown") &&
			       strstr(json_text_at(o, "log.why"), "cannot be read"));
		json_object_put(o);
	}
	image_answers();
	image_free(&m);
}

int main(void)
{
	for (cache = IMAGE_ONE_SSD; cache < IMAGE_CACHES; cache++) {
		test_whole();
		test_rotten_dirty();
		test_rotten_durable();
		test_torn_end();
		test_unread_end();
		test_rotten_clean();
		test_changed_clean();
		test_closed_intent();
		test_missing();
		test_outdated();
		test_rotten_and_missing();
		test_import();
		test_contents();
		test_contents_of_damaged_log();
	}
	cache = IMAGE_THREE_SSDS;
	test_stripes();
	for (cache = IMAGE_CACHES; cache < IMAGE_CACHES + IMAGE_SHAPES; cache++) {
		image_old_sums = cache % 2;
		test_shape_whole();
		test_shape_rotten();
		test_contents();
		test_contents_rotten();
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
