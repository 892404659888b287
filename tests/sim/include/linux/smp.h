/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: see percpu.h. */
#include <linux/percpu.h>
