// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "oracle.h"
#include "sched.h"

void oracle_init(struct oracle *o, u32 blocks)
{
	memset(o, 0, sizeof(*o));
	o->blocks = blocks;
	o->next_id = 1;
	o->b = calloc(blocks, sizeof(*o->b));
	if (!o->b)
		abort();
}

void oracle_free(struct oracle *o)
{
	u32 i;

	for (i = 0; o->b && i < o->blocks; i++) {
		free(o->b[i].v);
		free(o->b[i].acks);
	}
	for (i = 0; i < o->nr_specials; i++)
		free(o->specials[i]);
	free(o->b);
	o->b = NULL;
}

static void *copy_of(const void *p, size_t bytes)
{
	void *n = malloc(bytes ?: 1);

	if (!n)
		abort();
	return bytes ? memcpy(n, p, bytes) : n;
}

void oracle_copy(struct oracle *to, const struct oracle *from)
{
	u32 i;

	*to = *from;
	to->b = copy_of(from->b, from->blocks * sizeof(*from->b));
	for (i = 0; i < to->blocks; i++) {
		struct oblock *b = &to->b[i];

		if (!b->v && !b->acks)
			continue;
		b->v = copy_of(b->v, b->nr * sizeof(*b->v));
		b->room = b->nr;
		b->acks = copy_of(b->acks, b->nr_acks * sizeof(*b->acks));
		b->ack_room = b->nr_acks;
	}
	for (i = 0; i < to->nr_specials; i++)
		to->specials[i] = copy_of(from->specials[i], 4096);
}

/* --- contents --------------------------------------------------------------------- */

static u64 word_of(u64 id, u64 block, u32 sector)
{
	return mix64(id, block * 8 + sector) | 1;
}

static void fill(u64 id, u64 block, u8 *data)
{
	u64 *w = (u64 *)data;
	u32 s, i;

	for (s = 0; s < 8; s++, w += 64) {
		u64 word = word_of(id, block, s);

		w[0] = id;
		for (i = 1; i < 64; i++)
			w[i] = word;
	}
}

static bool is_zeros(const u8 *sector)
{
	static const u8 zeros[512];

	return !memcmp(sector, zeros, 512);
}

static u64 special_id(const struct oracle *o, const u8 *data, u32 s)
{
	u32 i;

	for (i = 0; i < o->nr_specials; i++)
		if (!memcmp(o->specials[i] + s * 512, data + s * 512, 512))
			return ID_SPECIAL + i;
	return ID_FOREIGN;
}

static u64 sector_id(const struct oracle *o, u64 block, const u8 *data, u32 s)
{
	const u64 *w = (const u64 *)(data + s * 512);
	u64 id = w[0], word;
	u32 i;

	if (!id && is_zeros(data + s * 512))
		return ID_ZEROS;
	if (id >= o->next_id)
		return special_id(o, data, s);
	word = word_of(id, block, s);
	for (i = 1; i < 64; i++)
		if (w[i] != word)
			return special_id(o, data, s);
	return id;
}

void oracle_ids(const struct oracle *o, u64 block, const u8 *data, u64 ids[8])
{
	u32 s;

	for (s = 0; s < 8; s++)
		ids[s] = sector_id(o, block, data, s);
}

/* --- history ------------------------------------------------------------------------- */

static void add_version(struct oracle *o, u64 block, u64 id)
{
	struct oblock *b = &o->b[block];

	if (b->nr == b->room) {
		b->room = b->room ? 2 * b->room : 4;
		b->v = realloc(b->v, b->room * sizeof(*b->v));
		if (!b->v)
			abort();
	}
	b->v[b->nr++] = (struct version){ id, ++o->order, disks.trace.nr, false };
}

u64 oracle_write(struct oracle *o, u64 block, u8 *data)
{
	u64 id = o->next_id++;

	fill(id, block, data);
	add_version(o, block, id);
	return o->order;
}

u64 oracle_write_special(struct oracle *o, u64 block, const u8 *data)
{
	if (o->nr_specials == MAX_SPECIALS)
		sim_fail("too many special contents");
	o->specials[o->nr_specials] = copy_of(data, 4096);
	add_version(o, block, ID_SPECIAL + o->nr_specials++);
	return o->order;
}

void oracle_write_zeros(struct oracle *o, u64 block)
{
	add_version(o, block, ID_ZEROS);
}

void oracle_discard(struct oracle *o, u64 block, u32 count)
{
	while (count--) {
		add_version(o, block, ID_ZEROS);
		o->b[block].v[o->b[block].nr - 1].order = ~0ull;
		block++;
	}
}

void oracle_discarded(struct oracle *o, u64 block, u32 count)
{
	while (count--) {
		struct oblock *b = &o->b[block++];

		b->v[b->nr - 1].order = ++o->order;
	}
}

u64 oracle_mark(const struct oracle *o)
{
	return o->order;
}

static void add_ack(struct oracle *o, struct oblock *b, u64 mark)
{
	u32 n = b->nr;

	while (n && b->v[n - 1].order > mark)
		n--;
	if (!n || (b->nr_acks && b->acks[b->nr_acks - 1].count >= n))
		return;
	if (b->nr_acks == b->ack_room) {
		b->ack_room = b->ack_room ? 2 * b->ack_room : 4;
		b->acks = realloc(b->acks, b->ack_room * sizeof(*b->acks));
		if (!b->acks)
			abort();
	}
	b->acks[b->nr_acks++] = (struct ack){ disks.trace.nr, n };
	o->acks_total++;
}

void oracle_ack(struct oracle *o, u64 mark)
{
	u32 i;

	for (i = 0; i < o->blocks; i++)
		if (o->b[i].nr)
			add_ack(o, &o->b[i], mark);
}

void oracle_ack_blocks(struct oracle *o, u64 block, u32 count, u64 mark)
{
	while (count--)
		add_ack(o, &o->b[block++], mark);
}

void oracle_mixable(struct oracle *o, u64 block, u32 count)
{
	while (count--)
		o->b[block++].mixable = true;
}

void oracle_losable(struct oracle *o, u64 block)
{
	o->b[block].v[o->b[block].nr - 1].losable = true;
}

u32 oracle_acks_before(const struct oracle *o, u32 at)
{
	u32 i, j, n = 0;

	for (i = 0; i < o->blocks; i++)
		for (j = 0; j < o->b[i].nr_acks; j++)
			n += o->b[i].acks[j].at <= at;
	return n;
}

bool oracle_touched(const struct oracle *o, u64 block)
{
	return o->b[block].nr;
}

void oracle_rebase(struct oracle *o, u64 block, const u8 *data)
{
	struct oblock *b = &o->b[block];

	oracle_ids(o, block, data, b->base);
	b->nr = 0;
	b->nr_acks = 0;
	b->mixable = false;
}

/* --- judging ---------------------------------------------------------------------------- */

/* True if sector @s, which has version @got, is as in version @id. */
static bool sector_is(const struct oracle *o, u64 id, u64 got, const u8 *data, u32 s)
{
	if (id != ID_FOREIGN && id & ID_SPECIAL)
		return !memcmp(o->specials[id - ID_SPECIAL] + s * 512, data + s * 512, 512);
	return got == id && got != ID_FOREIGN;
}

/* The sectors of @data that are of version number @n of the block (0: the base). */
static u8 sectors_of(const struct oracle *o, const struct oblock *b, u32 n, const u64 ids[8],
		     const u8 *data)
{
	u8 mask = 0;
	u32 s;

	for (s = 0; s < 8; s++)
		if (sector_is(o, n ? b->v[n - 1].id : b->base[s], ids[s], data, s))
			mask |= 1u << s;
	return mask;
}

/* Every sector is of version @first (0: the base, 1: v[0], ...) or later. */
static bool sectors_allowed(const struct oracle *o, u64 block, const u8 *data, u32 first, u32 at,
			    char why[160])
{
	const struct oblock *b = &o->b[block];
	u64 ids[8];
	u8 mask = 0;
	u32 n, s;

	oracle_ids(o, block, data, ids);
	for (n = first; n <= b->nr; n++) {
		u8 these = n && n > first && b->v[n - 1].begun > at ? 0 :
			   sectors_of(o, b, n, ids, data);

		if (these == ALL_SECTORS)
			return true;
		mask |= these;
	}
	if (mask == ALL_SECTORS && b->mixable)
		return true;
	if (mask == ALL_SECTORS) {
		snprintf(why, 160, "block %llu is a mixture of versions, %lld and %lld among them",
			 (u64)block, (s64)ids[0], (s64)ids[7]);
		return false;
	}
	for (s = 0; mask >> s & 1; s++)
		;
	snprintf(why, 160, "block %llu sector %u holds version %lld; allowed: %s%lld and later, "
			   "%u versions, newest %lld",
		 (u64)block, s, (s64)ids[s], first ? "" : "base ",
		 (s64)(first ? b->v[first - 1].id : b->base[s]), b->nr,
		 (s64)(b->nr ? b->v[b->nr - 1].id : 0));
	return false;
}

bool oracle_is_mixture(const struct oracle *o, u64 block, const u8 *data)
{
	const struct oblock *b = &o->b[block];
	u64 ids[8];
	u32 n;

	oracle_ids(o, block, data, ids);
	for (n = 0; n <= b->nr; n++)
		if (sectors_of(o, b, n, ids, data) == ALL_SECTORS)
			return false;
	return true;
}

/* The number of versions of the block that were acknowledged before @at. */
static u32 acked(const struct oblock *b, u32 at)
{
	u32 i, first = 0;

	for (i = 0; i < b->nr_acks; i++)
		if (b->acks[i].at <= at)
			first = max(first, b->acks[i].count);
	return first;
}

/* The newest version is of no FLUSH yet. */
static bool is_open(const struct oracle *o, u64 block)
{
	return block < o->blocks && acked(&o->b[block], ~0u) < o->b[block].nr;
}

void oracle_joins(struct oracle *o, u64 block, u32 count, u32 large)
{
	u64 first = block, end = block + count;

	while (first && is_open(o, first - 1))
		first--;
	while (is_open(o, end))
		end++;
	if (end - first >= large)
		oracle_mixable(o, first, (u32)(end - first));
}

bool oracle_allows(const struct oracle *o, u64 block, const u8 *data, u32 at, char why[160])
{
	return sectors_allowed(o, block, data, acked(&o->b[block], at), at, why);
}

bool oracle_may_be_lost(const struct oracle *o, u64 block, u32 at)
{
	const struct oblock *b = &o->b[block];
	u32 n;

	for (n = acked(b, at); b->mixable && n < b->nr; n++)
		if (b->v[n].losable && b->v[n].begun <= at)
			return true;
	return false;
}

u32 oracle_accepted(const struct oracle *o, u64 block)
{
	const struct oblock *b = &o->b[block];
	u32 n = b->nr;

	/* A discard that is not over yet may or may not be seen. */
	while (n && b->v[n - 1].order == ~0ull)
		n--;
	return n;
}

bool oracle_current(const struct oracle *o, u64 block, const u8 *data, u32 from, char why[160])
{
	return sectors_allowed(o, block, data, from, ~0u, why);
}
