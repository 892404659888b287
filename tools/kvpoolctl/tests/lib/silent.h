/* SPDX-License-Identifier: GPL-2.0-only */
/* Images that do not answer, or answer with an error; and a disk with two paths. */
#ifndef KVPOOL_TEST_SILENT_H
#define KVPOOL_TEST_SILENT_H

#include "image.h"

/** image_hangs_at() - reads of leg @leg from byte @from to @to hang, until image_answers() */
void image_hangs_at(const struct image *m, u32 leg, off_t from, off_t to);

/** image_hangs() - the same for all of the leg */
void image_hangs(const struct image *m, u32 leg);

/**
 * image_fails_at() - the block at byte @at cannot be read
 *
 * All images that hang or fail do so in the same place, and in the same way.
 */
void image_fails_at(const struct image *m, u32 leg, u64 at, int error);

/** image_fails_from() - the same for all from byte @from to @to */
void image_fails_from(const struct image *m, u32 leg, u64 from, u64 to, int error);

/** image_answers() - all images can be read again */
void image_answers(void);

/**
 * file_two_paths() - pread() and pwrite() of @other are those of @file; NULL: not any more
 *
 * As with a disk that has two paths. Neither name nor number shows that they are one.
 */
void file_two_paths(const char *file, const char *other);

#endif
