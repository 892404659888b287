// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "policy/ghost.h"

#define SHARE		59	/* fingerprints for a hundred blocks of the cache */
/* kvmalloc() gives less than twice that, whatever memory there is */
#define MOST_BYTES	(1u << 30)

/* A word has a fingerprint, never 0, and above it the count of sightings. */
#define PRINT		0x3ffu
#define SEEN_SHIFT	10

static_assert(KVP_GHOST_MOST < 1 << (12 - SEEN_SHIFT));

static u64 hash_of(const struct kvp_ghost *g, u64 key)
{
	u64 h = (key ^ g->seed) * GOLDEN_RATIO_64;

	h = (h ^ h >> 32) * GOLDEN_RATIO_64;
	return h ^ h >> 32;
}

static struct kvp_ghost_set *set_of(const struct kvp_ghost *g, u64 hash)
{
	return &g->set[reciprocal_scale(hash >> 32, g->sets)];
}

/* The fingerprint: bits of the hash that did not choose the set. */
static u16 print_of(u64 hash)
{
	return (hash & PRINT) ?: 1;
}

static u16 get_word(const struct kvp_ghost_set *s, u32 way)
{
	return s->low[way] | (s->high[way / 2] >> way % 2 * 4 & 0xf) << 8;
}

static void put_word(struct kvp_ghost_set *s, u32 way, u16 word)
{
	u8 *high = &s->high[way / 2], shift = way % 2 * 4;

	s->low[way] = word;
	*high = (*high & ~(0xf << shift)) | word >> 8 << shift;
}

u32 kvp_ghost_see(struct kvp_ghost *g, u64 key)
{
	u64 hash = hash_of(g, key);
	struct kvp_ghost_set *s = set_of(g, hash);
	u32 way, seen = 1;

	for (way = 0; way < KVP_GHOST_WAYS - 1; way++)
		if ((get_word(s, way) & PRINT) == print_of(hash))
			break;
	if ((get_word(s, way) & PRINT) == print_of(hash))
		seen = min(seen + (get_word(s, way) >> SEEN_SHIFT), KVP_GHOST_MOST);
	for (; way; way--)
		put_word(s, way, get_word(s, way - 1));
	put_word(s, 0, print_of(hash) | seen << SEEN_SHIFT);
	return seen;
}

void kvp_ghost_forget(struct kvp_ghost *g, u64 key)
{
	struct kvp_ghost_set *s = set_of(g, hash_of(g, key));
	u32 way;

	for (way = 0; way < KVP_GHOST_WAYS - 1; way++)
		put_word(s, way, get_word(s, way + 1));
	put_word(s, way, 0);
}

int kvp_ghost_init(struct kvp_ghost *g, u32 capacity, u64 seed, gfp_t gfp)
{
	g->seed = seed;
	g->sets = clamp_t(u64, div_u64((u64)capacity * SHARE, 100 * KVP_GHOST_WAYS), 1,
			  MOST_BYTES / sizeof(*g->set));
	g->set = kvcalloc(g->sets, sizeof(*g->set), gfp);
	return g->set ? 0 : -ENOMEM;
}

void kvp_ghost_exit(struct kvp_ghost *g)
{
	kvfree(g->set);
	g->set = NULL;
}

u64 kvp_ghost_bytes(const struct kvp_ghost *g)
{
	return (u64)g->sets * sizeof(*g->set);
}

const char *kvp_ghost_check(const struct kvp_ghost *g)
{
	u32 set, way;
	u16 word;

	for (set = 0; set < g->sets; set++)
		for (way = 0; way < KVP_GHOST_WAYS; way++) {
			word = get_word(&g->set[set], way);
			if (!(word & PRINT) != !(word >> SEEN_SHIFT))
				return "the ghost";
		}
	return NULL;
}
