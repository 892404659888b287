// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutation run over what inspect, check and import read from devices:
 *
 *	fuzz [RUNS [FIRST_SEED]]
 *
 * Each run spoils a sound image in a few places, mostly with the sums made
 * right again so that the damage gets past them, looks at it in every way, and
 * restores it. Under the sanitizers any misstep aborts; the seed is printed
 * before. A count of outcomes at the end shows that the runs reached what they
 * are meant to reach.
 */
#include <signal.h>
#include <unistd.h>

#include "format/summary.h"
#include "check.h"
#include "image.h"
#include "import.h"
#include "inspect.h"

#define MAX_UNDO	64
#define FUZZ_LARGE	8	/* one run in so many on the large image */

struct undo {
	unsigned int leg;
	u64 at;
	size_t bytes;
	u8 *old;
};

static struct undo undos[MAX_UNDO];
static unsigned int undo_count;
static u64 state;
static unsigned long current_seed;
static struct ctl ctl = { .quiet = true, .json = true };
static unsigned long usable, refused, exits[6];

const char *const *command_names(void)
{
	static const char *const none[] = { NULL };

	return none;
}

/* xorshift64*: the same on every machine. */
static u64 rnd(u64 below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ull >> 11) % below;
}

static void on_abort(int sig)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "fuzz: failed with seed %lu\n", current_seed);

	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(2);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Writes, remembering what was there. */
static void put(struct image *m, unsigned int leg, u64 at, const void *buf, size_t bytes)
{
	struct undo *u = &undos[undo_count];

	if (undo_count == MAX_UNDO)
		return;
	*u = (struct undo){ leg, at, bytes, malloc(bytes) };
	undo_count++;
	image_read(m, leg, at, u->old, bytes);
	image_write(m, leg, at, buf, bytes);
}

static void restore(struct image *m)
{
	while (undo_count) {
		struct undo *u = &undos[--undo_count];

		image_write(m, u->leg, u->at, u->old, u->bytes);
		free(u->old);
	}
}

/* Values that parsers stumble over, in the place of 1, 4 or 8 bytes. */
static void spoil(u8 *buf, size_t from, size_t to)
{
	static const u64 nasty[] = { 0, 1, 2, 3, 16, 17, 0x7f, 0xff, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xffffffff, 1ull << 56, 1ull << 63, ~0ull, ~0ull - 1 };
	static const size_t sizes[] = { 1, 4, 4, 8, 8 };
	size_t bytes = sizes[rnd(5)], at = from + rnd(to - from - bytes);
	u64 value = rnd(2) ? nasty[rnd(sizeof(nasty) / sizeof(*nasty))] : rnd(~0ull);

	if (rnd(4))
		at -= (at - from) % 4;	/* fields are aligned */
	if (!rnd(4)) {
		memcpy(&value, buf + at, bytes);
		value += rnd(2) ? 1 : ~0ull;
	}
	memcpy(buf + at, &value, bytes);
}

static void seal_superblock(struct kvp_disk_sb *d)
{
	d->csum = 0;
	d->csum = cpu_to_le32(kvp_crc32c(~0u, d, sizeof(*d)));
}

static void mutate_superblock(struct image *m)
{
	static struct kvp_disk_sb d;
	unsigned int leg = (unsigned int)rnd(m->legs), times = 1 + (unsigned int)rnd(3);
	u64 at = kvp_sb_slot_offset(m->blocks, (unsigned int)rnd(2), 1 + (unsigned int)rnd(4));

	image_read(m, leg, at, &d, sizeof(d));
	while (times--) {
		/* most fields lie in front; vdevs, legs and roots behind */
		if (rnd(2))
			spoil((u8 *)&d, 16, 1024);
		else
			spoil((u8 *)&d, 16, sizeof(d));
	}
	if (rnd(2))
		d.epoch = cpu_to_le64(100);	/* so that it wins */
	if (rnd(8))
		seal_superblock(&d);
	put(m, leg, at, &d, sizeof(d));
}

/* The sum of kvp_log_seal(), over what is in the buffer already. */
static void seal_entry(const struct image *m, u8 *buf, size_t size)
{
	struct kvp_disk_log_hdr *d = (struct kvp_disk_log_hdr *)buf;
	__le64 seed[2] = { cpu_to_le64(m->sb.nonce), d->nonce };
	size_t bytes = KVP_LOG_HDR_SIZE +
		(size_t)le32_to_cpu(d->rec_count) * sizeof(struct kvp_disk_rec);

	d->csum = 0;
	d->csum = cpu_to_le32(kvp_crc32c(kvp_crc32c(~0u, seed, sizeof(seed)), buf,
					 bytes < size ? bytes : size));
}

static void mutate_log(struct image *m)
{
	static u8 buf[KVP_BLOCK_SIZE];
	const struct kvp_geometry *g = &m->sb.vdevs[m->sb.log_vdev];
	unsigned int times = 1 + (unsigned int)rnd(3), leg, from;
	u64 lsns[] = { m->sb.log_tail, kvp_log_segment_end(g, m->sb.log_tail), m->prev_lsn, m->lsn };
	u64 lsn = lsns[rnd(4)], second = kvp_log_striped(g) ? rnd(2) : 0;
	u64 at = image_log_at(m, lsn + second, &leg), last = image_log_at(m, m->prev_lsn, &from);

	/* Of copies any; in full stripes the header is there twice, on different legs. */
	if (!kvp_log_striped(g))
		leg = from = g->first_leg + (unsigned int)rnd(g->leg_count);

	image_read(m, leg, at, buf, sizeof(buf));
	if (lsn == m->lsn)	/* behind the end: a copy of the last entry */
		image_read(m, from, last, buf, sizeof(buf));
	while (times--)
		spoil(buf, 8, KVP_LOG_HDR_SIZE + 5 * sizeof(struct kvp_disk_rec));
	if (lsn == m->lsn)
		((struct kvp_disk_log_hdr *)buf)->lsn = cpu_to_le64(lsn);
	if (rnd(8))
		seal_entry(m, buf, sizeof(buf));
	put(m, leg, at, buf, sizeof(buf));
}

/* Replaces root 0 in the newest superblocks of a leg. */
static void put_root(struct image *m, unsigned int leg, u64 ptr)
{
	static struct kvp_disk_sb d;
	unsigned int end;

	for (end = 0; end < 2; end++) {
		u64 at = kvp_sb_slot_offset(m->blocks, end, (unsigned int)m->sb.sequence);

		image_read(m, leg, at, &d, sizeof(d));
		d.roots[0] = cpu_to_le64(ptr);
		d.epoch = cpu_to_le64(99);
		seal_superblock(&d);
		put(m, leg, at, &d, sizeof(d));
	}
}

/* Spoils the page that root 0 names, and makes the root right again. */
static void mutate_table(struct image *m)
{
	static u8 page[KVP_BLOCK_SIZE];
	const struct kvp_geometry *g = &m->sb.vdevs[0];
	unsigned int leg = (unsigned int)rnd(m->legs), times = 1 + (unsigned int)rnd(8);
	u64 at = kvp_page_block(g, g->levels - 1, 0, 1) << KVP_BLOCK_SHIFT;

	image_read(m, leg, at, page, sizeof(page));
	while (times--)
		spoil(page, 0, rnd(2) ? 64 : sizeof(page));
	put(m, leg, at, page, sizeof(page));
	if (rnd(8))
		put_root(m, leg, kvp_ptr(kvp_page_sum(m->seed, g->levels - 1, 0, page), 5, 1,
					 rnd(2)));
}

/* The sum of kvp_summary_seal() comes out right again, or does not. */
static void mutate_summary(struct image *m)
{
	static struct kvp_disk_summary d;
	const struct kvp_geometry *g = &m->sb.vdevs[1];
	struct kvp_place at;
	unsigned int leg, times = 1 + (unsigned int)rnd(3);

	if (!m->clean)
		return;
	at = kvp_summary_place(g, m->clean, (u32)rnd(kvp_summary_copies(g)));
	leg = g->first_leg + at.leg;
	image_read(m, leg, at.block << KVP_BLOCK_SHIFT, &d, sizeof(d));
	while (times--)
		spoil((u8 *)&d, 8, rnd(2) ? 64 : sizeof(d));
	if (rnd(8))
		kvp_summary_seal(&d, m->sb.nonce, m->sb.legs[leg].uuid);
	put(m, leg, at.block << KVP_BLOCK_SHIFT, &d, sizeof(d));
}

static void mutate_anywhere(struct image *m)
{
	unsigned int leg = (unsigned int)rnd(m->legs);
	u64 regions[] = { 0, m->sb.vdevs[0].table_start, m->sb.vdevs[0].log_start,
		m->sb.vdevs[0].data_start, m->blocks - KVP_LABEL_BLOCKS };
	u64 at = (regions[rnd(5)] << KVP_BLOCK_SHIFT) + rnd(256 << KVP_BLOCK_SHIFT);
	u8 byte = (u8)rnd(256);

	put(m, leg, at, &byte, 1);
}

static void mutate(struct image *m)
{
	unsigned int times = 1 + (unsigned int)rnd(3);

	while (times--)
		switch (rnd(6)) {
		case 0:
		case 1:
			mutate_superblock(m);
			break;
		case 2:
			mutate_log(m);
			break;
		case 3:
			mutate_table(m);
			break;
		case 4:
			mutate_summary(m);
			break;
		default:
			mutate_anywhere(m);
		}
}

static void look_at_leg(const struct image *m, unsigned int leg)
{
	struct device d;
	struct label l;
	struct err err;
	json_object *o;

	if (device_open(m->path[leg], true, &d, &err) || label_read(&d, &l, &err))
		abort();
	o = inspect_object(&d, &l, &err);
	if (o && !json_object_to_json_string(o))
		abort();
	json_object_put(o);
	label_free(&l);
	device_close(&d);
}

static void look_at_pool(const struct image *m)
{
	struct import_options options = { .degraded = rnd(2), .accept_fork = rnd(2) };
	const char *paths[IMAGE_MAX_LEGS];
	unsigned int without = rnd(4) ? ~0u : (unsigned int)rnd(m->legs), n = 0;
	struct refusals r;
	char params[4096];
	struct scan s;
	struct err err;
	json_object *o;
	unsigned int i;
	int status;

	for (i = 0; i < m->legs; i++)
		if (i != without || m->legs == 1)
			paths[n++] = m->path[i];
	if (scan_run(paths, n, &s, &err))
		abort();
	for (i = 0; i < s.pool_count; i++) {
		import_check(&s.pools[i], &options, &r);
		json_object_put(import_object(&s.pools[i], &r));
		import_params(&s.pools[i], &options, params, sizeof(params));
	}
	o = check_object(&ctl, &s, &status, &err);
	usable += !!o;
	refused += !o;
	if (o)
		exits[status]++;
	json_object_put(o);
	scan_free(&s);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, i;
	unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	struct image images[3 + IMAGE_CACHES - 1];
	unsigned int cache;

	signal(SIGABRT, on_abort);
	signal(SIGALRM, on_abort);
	image_standard(&images[0], 1, IMAGE_SMALL);
	image_standard(&images[1], 2, IMAGE_SMALL);
	image_standard(&images[2], 2, IMAGE_LARGE);
	images[1].entries[STD_POISONED] = 0;
	image_seal(&images[1]);
	for (cache = 1; cache < IMAGE_CACHES; cache++)
		image_standard_cached(&images[2 + cache], 2, IMAGE_SMALL, (enum image_cache)cache);
	for (i = 0; i < runs; i++) {
		struct image *m = &images[2];

		current_seed = first + i;
		if (current_seed % FUZZ_LARGE)
			m = current_seed & 2 ? &images[current_seed & 1] :
					       &images[3 + current_seed / 4 % (IMAGE_CACHES - 1)];
		state = current_seed * 0x9e3779b97f4a7c15ull | 1;
		alarm(60);	/* a parser that hangs is broken too */
		mutate(m);
		if (rnd(4))
			look_at_pool(m);
		else
			look_at_leg(m, (unsigned int)rnd(m->legs));
		restore(m);
	}
	for (i = 0; i < sizeof(images) / sizeof(*images); i++)
		image_free(&images[i]);
	printf("fuzz: %lu runs: checked %lu (sound %lu, degraded %lu, faulted %lu), refused %lu\n",
	       runs, usable, exits[0], exits[EXIT_DEGRADED], exits[EXIT_FAULTED], refused);
	return runs >= 1000 && (!exits[EXIT_DEGRADED] || !exits[EXIT_FAULTED] || !refused);
}
