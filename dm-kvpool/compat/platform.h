/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the module cannot be built for.
 *
 * A page is a block everywhere: in buffers, in vectors of bios, in sums and comparisons. With
 * larger pages several blocks would be one, and data would be wrong without any error. Table
 * entries and counters of 64 bits are read without a lock, in one piece, which a processor of 32
 * bits cannot do. tests/platform checks that neither builds.
 */
#ifndef KVP_PLATFORM_H
#define KVP_PLATFORM_H

#if PAGE_SHIFT != 12
#error "dm-kvpool needs a kernel with pages of 4 KiB: with others it would corrupt data"
#endif

#ifndef CONFIG_64BIT
#error "dm-kvpool needs a 64 bit kernel"
#endif

#endif /* KVP_PLATFORM_H */
