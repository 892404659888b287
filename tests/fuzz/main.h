/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by common.c and main.c. */
#ifndef KVPOOL_FUZZ_MAIN_H
#define KVPOOL_FUZZ_MAIN_H

struct counts {
	unsigned long taken, refused;
};

extern struct counts *counts;		/* NULL: not counted */
extern const char *seed_folder;		/* for seed() */

#endif
