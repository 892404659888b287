/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#include <linux/mm.h>
