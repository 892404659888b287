// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "sched.h"

#define BLKS_AT_ONCE	1024u

static const u8 zeros[4096];
struct blk blk_zeros = { .ref = 1 };
static struct blk *free_blks;
static struct chunk *free_chunks;

/* --- blocks ---------------------------------------------------------------------- */

static void make_blks(void)
{
	struct blk *b = sim_map(BLKS_AT_ONCE * sizeof(*b));
	u32 i;

	for (i = 0; i < BLKS_AT_ONCE; i++) {
		b[i].next = free_blks;
		free_blks = &b[i];
	}
}

struct blk *blk_new(const void *data)
{
	struct blk *b;

	if (!free_blks)
		make_blks();
	b = free_blks;
	free_blks = b->next;
	b->ref = 1;
	memset(b->sum, 0, sizeof(b->sum));
	if (data)
		memcpy(b->data, data, sizeof(b->data));
	return b;
}

struct blk *blk_get(struct blk *b)
{
	if (b)
		b->ref++;
	return b;
}

void blk_put(struct blk *b)
{
	if (!b || --b->ref)
		return;
	b->next = free_blks;
	free_blks = b;
}

u64 blk_sector_sum(struct blk *b, u32 s)
{
	const u64 *w;
	u64 h = 0x1234567;
	u32 i;

	if (!b)
		return 0;
	if (b->sum[s])
		return b->sum[s] == 1 ? 0 : b->sum[s];
	w = (const u64 *)(b->data + s * 512);
	if (!memcmp(w, zeros, 512)) {
		b->sum[s] = 1;
		return 0;
	}
	for (i = 0; i < 64; i++)
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15ull + (h >> 29);
	b->sum[s] = h | 2;
	return b->sum[s];
}

/* --- chunks ------------------------------------------------------------------------ */

static struct chunk *chunk_new(void)
{
	struct chunk *c = free_chunks;

	if (c)
		free_chunks = c->next;
	else
		c = malloc(sizeof(*c));
	if (!c)
		abort();
	c->ref = 1;
	memset(c->blk, 0, sizeof(c->blk));
	return c;
}

static void chunk_put(struct chunk *c)
{
	u32 i;

	if (!c || --c->ref)
		return;
	for (i = 0; i < CHUNK_BLOCKS; i++)
		blk_put(c->blk[i]);
	c->next = free_chunks;
	free_chunks = c;
}

static struct chunk *own_chunk(struct image *img, u64 block)
{
	struct chunk **p = &img->chunk[block / CHUNK_BLOCKS], *c = *p;
	u32 i;

	if (c && c->ref == 1)
		return c;
	*p = chunk_new();
	for (i = 0; c && i < CHUNK_BLOCKS; i++)
		(*p)->blk[i] = blk_get(c->blk[i]);
	chunk_put(c);
	return *p;
}

/* --- images -------------------------------------------------------------------------- */

void image_init(struct image *img, u32 blocks)
{
	img->blocks = blocks;
	img->nr_chunks = DIV_ROUND_UP(blocks, CHUNK_BLOCKS);
	img->chunk = calloc(img->nr_chunks, sizeof(*img->chunk));
	if (!img->chunk)
		abort();
}

void image_copy(struct image *to, const struct image *from)
{
	u32 i;

	image_init(to, from->blocks);
	for (i = 0; i < from->nr_chunks; i++) {
		to->chunk[i] = from->chunk[i];
		if (to->chunk[i])
			to->chunk[i]->ref++;
	}
}

void image_free(struct image *img)
{
	u32 i;

	for (i = 0; img->chunk && i < img->nr_chunks; i++)
		chunk_put(img->chunk[i]);
	free(img->chunk);
	img->chunk = NULL;
}

struct blk *image_blk(const struct image *img, u64 block)
{
	struct chunk *c = img->chunk[block / CHUNK_BLOCKS];

	return c ? c->blk[block % CHUNK_BLOCKS] : NULL;
}

void image_read(const struct image *img, u64 block, void *data)
{
	struct blk *b = image_blk(img, block);

	if (b)
		memcpy(data, b->data, sizeof(b->data));
	else
		memset(data, 0, sizeof(b->data));
}

void image_write(struct image *img, u64 block, struct blk *b, u8 mask)
{
	struct blk **slot, *mixed;
	u32 s;

	if (!mask)
		return;
	slot = &own_chunk(img, block)->blk[block % CHUNK_BLOCKS];
	if (mask == ALL_SECTORS) {
		blk_get(b);
		blk_put(*slot);
		*slot = b;
		return;
	}
	mixed = blk_new(*slot ? (*slot)->data : zeros);
	for (s = 0; s < 8; s++)
		if (mask >> s & 1)
			memcpy(mixed->data + s * 512, b ? b->data + s * 512 : zeros, 512);
	blk_put(*slot);
	*slot = mixed;
}

void image_write_data(struct image *img, u64 block, const void *data)
{
	struct blk *b = blk_new(data);

	image_write(img, block, b, ALL_SECTORS);
	blk_put(b);
}

bool image_same(const struct image *a, const struct image *b, u64 first, u64 count, u64 *where)
{
	u64 i;

	for (i = first; i < first + count; i++) {
		struct blk *x = image_blk(a, i), *y = image_blk(b, i);

		if (x != y && memcmp(x ? x->data : zeros, y ? y->data : zeros, 4096)) {
			*where = i;
			return false;
		}
	}
	return true;
}
