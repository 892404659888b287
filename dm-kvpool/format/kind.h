/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of vdev as a table line and status name them. Pure. */
#ifndef KVP_KIND_H
#define KVP_KIND_H

#include "format/format.h"
#include "format/logplace.h"

/**
 * kvp_kind_word() - the name of a kind, by its number on disk; "unknown": there is none of that
 * number
 */
const char *kvp_kind_word(u32 kind);

/** kvp_kind_find() - the kind of that name; 0: there is none */
u32 kvp_kind_find(const char *word);

/** kvp_kind_takes() - true if a vdev of that kind, which must exist, may have this many legs */
bool kvp_kind_takes(u32 kind, u32 nr_legs);

/** kvp_kind_copies() - true if every leg of a vdev of that kind has every block */
bool kvp_kind_copies(u32 kind);

/** kvp_asked_word() - the kind of vdev that a table line asks for */
const char *kvp_asked_word(const struct kvp_vdev_asked *asked);

/** kvp_geometry_word() - the kind of a vdev that there is */
const char *kvp_geometry_word(const struct kvp_geometry *g);

/** kvp_asked_as_is() - true if a table line asks for a vdev just as it is */
bool kvp_asked_as_is(const struct kvp_geometry *g, const struct kvp_vdev_asked *asked);

/**
 * kvp_asked_copy() - true if a table line asks for a single or mirror with one leg more than @g
 * @more: false: with one less
 */
bool kvp_asked_copy(const struct kvp_geometry *g, const struct kvp_vdev_asked *asked, bool more);

/** kvp_copies_resize() - let @g, a single or mirror, have @legs legs, 1 or more */
void kvp_copies_resize(struct kvp_geometry *g, u32 legs);

#endif /* KVP_KIND_H */
