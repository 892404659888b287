/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_STDDEF_H
#define SIM_LINUX_STDDEF_H

#include <stddef.h>

#endif
