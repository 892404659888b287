/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of vdev as a table line and status name them. Pure. */
#ifndef KVP_KIND_H
#define KVP_KIND_H

#include "format/format.h"

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

/** kvp_kind_of_copies() - the kind of such a vdev with this many legs */
u32 kvp_kind_of_copies(u32 nr_legs);

#endif /* KVP_KIND_H */
