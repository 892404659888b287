/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVPOOL_FUZZ_KERNEL_H
#define KVPOOL_FUZZ_KERNEL_H

#include "format/format.h"

/* So many allocations from now on the one that may fail does; 0: none. */
extern u32 fuzz_memory_fails_at;

#endif
