/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An error: its subject, its reason, and how to mend it. The code decides the exit status. Library
 * functions fill in an error and return -1; only the commands print it.
 */
#ifndef KVPOOLCTL_ERR_H
#define KVPOOLCTL_ERR_H

#include <stdbool.h>

/* The exit status of kvpoolctl. */
enum exit_status {
	EXIT_DONE	= 0,
	EXIT_FAILED	= 1,
	EXIT_USAGE	= 2,
	EXIT_REFUSED	= 3,
	EXIT_DEGRADED	= 4,
	EXIT_FAULTED	= 5,
};

enum err_code {
	ERR_NONE,
	ERR_USAGE,
	/* failed */
	ERR_FAILED,
	ERR_NOT_FOUND,
	ERR_IO,
	ERR_KERNEL,
	ERR_MODULE,
	ERR_PERMISSION,
	ERR_NO_LABEL,
	/* refused, nothing changed */
	ERR_REFUSED,
	ERR_NOT_BLOCK_DEVICE,
	ERR_READ_ONLY,
	ERR_MOUNTED,
	ERR_HELD,
	ERR_BUSY,
	ERR_LISTED_TWICE,
	ERR_MEMBER,
	ERR_SIGNATURE,
	ERR_TOO_SMALL,
	ERR_BLOCK_SIZE,
	ERR_NAME_IN_USE,
	ERR_EXISTS,
	ERR_ACTIVE,
	ERR_AMBIGUOUS,
	ERR_DESTROYED,
	ERR_MISSING_LEGS,
	ERR_FORK,
	ERR_DUPLICATE_LEG,
	ERR_UNSUPPORTED,
	ERR_NOT_CLEAN,
	ERR_LAST_LEG,
	ERR_NO_CACHE,
	ERR_OTHER_HOST,
	ERR_CODES,
};

struct err {
	enum err_code code;
	char what[256];
	char why[512];
	char mend[512];
};

/**
 * err_set() - fill in an error
 * @e: the error, or NULL when the caller does not need it
 * @what: the subject, as the user named it
 * @mend: the user's next step
 * @why: printf format of the reason
 *
 * Return: -1, always, so that a function can end in it.
 */
int err_set(struct err *e, enum err_code code, const char *what, const char *mend,
	    const char *why, ...) __attribute__((format(printf, 5, 6)));

/** err_word() - the code as it appears in JSON */
const char *err_word(enum err_code code);

/** err_exit() - the exit status that goes with a code */
enum exit_status err_exit(enum err_code code);

#endif
