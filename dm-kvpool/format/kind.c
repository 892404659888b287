// SPDX-License-Identifier: GPL-2.0-only
#include "format/kind.h"
#include "format/stripe.h"

static const struct {
	const char *word;
	u32 least, most;	/* legs */
} kinds[] = {
	[KVP_VDEV_SINGLE] = { "single", 1, 1 },
	[KVP_VDEV_MIRROR] = { "mirror", 2, KVP_MAX_LEGS },
	[KVP_VDEV_PARITY1] = { "parity1", KVP_STRIPE_MIN_LEGS, KVP_MAX_LEGS },
	[KVP_VDEV_CACHE] = { "cache", 1, KVP_MAX_LEGS },
	[KVP_VDEV_CACHE_PARITY1] = { "cache-parity1", KVP_STRIPE_MIN_LEGS, KVP_MAX_LEGS },
};

#define NR_KINDS	(sizeof(kinds) / sizeof(*kinds))

const char *kvp_kind_word(u32 kind)
{
	return kind < NR_KINDS && kinds[kind].word ? kinds[kind].word : "unknown";
}

u32 kvp_kind_find(const char *word)
{
	u32 kind;

	for (kind = 0; kind < NR_KINDS; kind++)
		if (kinds[kind].word && !strcmp(word, kinds[kind].word))
			return kind;
	return 0;
}

bool kvp_kind_takes(u32 kind, u32 nr_legs)
{
	return nr_legs >= kinds[kind].least && nr_legs <= kinds[kind].most;
}

const char *kvp_asked_word(const struct kvp_vdev_asked *asked)
{
	return kvp_kind_word(asked->kind);
}

const char *kvp_geometry_word(const struct kvp_geometry *g)
{
	return kvp_kind_word(g->kind);
}

bool kvp_asked_as_is(const struct kvp_geometry *g, const struct kvp_vdev_asked *asked)
{
	return asked->kind == g->kind && asked->nr_legs == g->leg_count;
}

bool kvp_kind_copies(u32 kind)
{
	return kind == KVP_VDEV_SINGLE || kind == KVP_VDEV_MIRROR;
}

bool kvp_asked_copy(const struct kvp_geometry *g, const struct kvp_vdev_asked *asked, bool more)
{
	return kvp_kind_copies(g->kind) && kvp_kind_copies(asked->kind) &&
	       (more ? asked->nr_legs == g->leg_count + 1 : asked->nr_legs + 1 == g->leg_count);
}

void kvp_copies_resize(struct kvp_geometry *g, u32 legs)
{
	g->leg_count = legs;
	g->kind = legs == 1 ? KVP_VDEV_SINGLE : KVP_VDEV_MIRROR;
}
