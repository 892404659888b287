// SPDX-License-Identifier: GPL-2.0-only
/* Errors: their codes, words and exit status. */
#include <stdarg.h>
#include <stdio.h>

#include "err.h"
#include "text.h"

static const struct {
	const char *word;
	enum exit_status exit;
} codes[ERR_CODES] = {
	[ERR_NONE]		= { "none", EXIT_DONE },
	[ERR_USAGE]		= { "usage", EXIT_USAGE },
	[ERR_FAILED]		= { "failed", EXIT_FAILED },
	[ERR_NOT_FOUND]		= { "not_found", EXIT_FAILED },
	[ERR_IO]		= { "io", EXIT_FAILED },
	[ERR_KERNEL]		= { "kernel", EXIT_FAILED },
	[ERR_MODULE]		= { "module", EXIT_FAILED },
	[ERR_PERMISSION]	= { "permission", EXIT_FAILED },
	[ERR_NO_LABEL]		= { "no_label", EXIT_FAILED },
	[ERR_REFUSED]		= { "refused", EXIT_REFUSED },
	[ERR_NOT_BLOCK_DEVICE]	= { "not_block_device", EXIT_REFUSED },
	[ERR_READ_ONLY]		= { "read_only", EXIT_REFUSED },
	[ERR_MOUNTED]		= { "mounted", EXIT_REFUSED },
	[ERR_HELD]		= { "held", EXIT_REFUSED },
	[ERR_BUSY]		= { "busy", EXIT_REFUSED },
	[ERR_LISTED_TWICE]	= { "listed_twice", EXIT_REFUSED },
	[ERR_MEMBER]		= { "member", EXIT_REFUSED },
	[ERR_SIGNATURE]		= { "signature", EXIT_REFUSED },
	[ERR_TOO_SMALL]		= { "too_small", EXIT_REFUSED },
	[ERR_BLOCK_SIZE]	= { "block_size", EXIT_REFUSED },
	[ERR_EXISTS]		= { "exists", EXIT_REFUSED },
	[ERR_NAME_IN_USE]	= { "name_in_use", EXIT_REFUSED },
	[ERR_ACTIVE]		= { "active", EXIT_REFUSED },
	[ERR_AMBIGUOUS]		= { "ambiguous", EXIT_REFUSED },
	[ERR_DESTROYED]		= { "destroyed", EXIT_REFUSED },
	[ERR_MISSING_LEGS]	= { "missing_legs", EXIT_REFUSED },
	[ERR_FORK]		= { "fork", EXIT_REFUSED },
	[ERR_DUPLICATE_LEG]	= { "duplicate_leg", EXIT_REFUSED },
	[ERR_UNSUPPORTED]	= { "unsupported", EXIT_REFUSED },
	[ERR_NOT_CLEAN]		= { "not_clean", EXIT_REFUSED },
	[ERR_LAST_LEG]		= { "last_leg", EXIT_REFUSED },
	[ERR_NO_CACHE]		= { "no_cache", EXIT_REFUSED },
	[ERR_OTHER_HOST]	= { "other_host", EXIT_REFUSED },
};

int err_set(struct err *e, enum err_code code, const char *what, const char *mend,
	    const char *why, ...)
{
	va_list ap;

	if (!e)
		return -1;
	e->code = code;
	snprintf(e->what, sizeof(e->what), "%s", what);
	snprintf(e->mend, sizeof(e->mend), "%s", mend);
	va_start(ap, why);
	vsnprintf(e->why, sizeof(e->why), why, ap);
	va_end(ap);
	/* A text that was cut off may end inside a character. */
	text_clean(e->what, "");
	text_clean(e->mend, "");
	text_clean(e->why, "");
	return -1;
}

const char *err_word(enum err_code code)
{
	return codes[code].word;
}

enum exit_status err_exit(enum err_code code)
{
	return codes[code].exit;
}
