/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: glibc's errno.h comes through here as well. */
#ifndef SIM_LINUX_ERRNO_H
#define SIM_LINUX_ERRNO_H

#include <asm/errno.h>

#endif
