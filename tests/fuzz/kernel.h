/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVPOOL_FUZZ_KERNEL_H
#define KVPOOL_FUZZ_KERNEL_H

#include "format/format.h"

/* The number of the next allocation that fails; 0: none. */
extern u32 fuzz_memory_fails_at;

#endif
