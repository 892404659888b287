/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which spares may take the place of a leg: a spare is a disk or an SSD by what the kernel says of
 * it. An SSD waits for the cache; a disk, for legs with data. The device of the leg that is out is
 * not asked: its path may lead to another device by now.
 */
#ifndef KVPOOLCTL_SPARE_KIND_H
#define KVPOOLCTL_SPARE_KIND_H

#include "stats.h"

enum spare_kind { SPARE_ANY, SPARE_DISK, SPARE_SSD };

/**
 * spare_kind() - the kind of spare that leg @leg needs
 * @rotates: does the device of leg @i, which is in use, rotate? 1: yes; 0: no; -1: unknown
 *
 * An SSD of a cache needs an SSD. In a pool with a cache, a leg with data needs a disk if a leg in
 * use of its vdev rotates. In all other cases any spare will do.
 */
enum spare_kind spare_kind(const struct stats *s, unsigned int leg,
			   int (*rotates)(unsigned int i, void *arg), void *arg);

/** spare_is_of() - is a spare that rotates (1), does not (0), or may (-1), of the kind? */
bool spare_is_of(enum spare_kind kind, int rotates);

/** spare_kind_words() - " and does not rotate" and the like, for refusals; "" for any kind */
const char *spare_kind_words(enum spare_kind kind);

#endif
