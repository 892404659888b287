/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_STDARG_H
#define SIM_LINUX_STDARG_H

#include <stdarg.h>

#endif
