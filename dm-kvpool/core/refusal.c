// SPDX-License-Identifier: GPL-2.0-only
#include <linux/stdarg.h>

#include "core/core.h"
#include "core/refusal.h"

__printf(4, 5) int kvp_refuse(struct kvp_refusal *r, int error, const char *mend,
			      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, args);
	va_end(args);
	snprintf(r->mend, sizeof(r->mend), "%s", mend);
	return error;
}
