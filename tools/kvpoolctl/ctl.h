/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by all commands: options, output, errors. Each command is one file cmd_NAME.c with one
 * struct command, named in commands.def.
 */
#ifndef KVPOOLCTL_H
#define KVPOOLCTL_H

#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "dm.h"
#include "err.h"
#include "text.h"

#define JSON_VERSION	1

struct ctl;

/*
 * An option. The list for getopt(), the help, the manual page and the completions are all made from
 * it.
 */
struct ctl_option {
	/* returned by ctl_getopt(): its letter, or a number that is no letter */
	int val;
	const char *name;	/* its long name, or NULL */
	const char *arg;	/* the name of its value; NULL: it takes none */
	const char *text;	/* its effect; NULL at the end of a list */
};

/* Texts have no line breaks except between paragraphs of @more, and lines of @example. */
struct command {
	const char *name;
	const char *purpose;		/* its purpose, in one line */
	const char *args;		/* of the usage line */
	const char *about;		/* what it does */
	const char *more;		/* only in the manual page, or NULL */
	const char *example;		/* a command line, or several */
	const struct ctl_option *options;	/* of its own, or NULL */
	bool dry_run;			/* takes -n */
	int (*run)(struct ctl *ctl, int argc, char **argv);
};

extern const struct ctl_option common_options[];

/* One run of the tool. */
struct ctl {
	const struct command *cmd;
	bool json, plain, quiet, dry_run;
};

/** command_names() - of all commands, NULL at the end */
const char *const *command_names(void);

/**
 * ctl_getopt() - next option of the command's own, -1 at the end
 *
 * Handles the common options; does not return for --help, --version and
 * wrong usage. Arguments are argv[optind] and on.
 */
int ctl_getopt(struct ctl *ctl, int argc, char **argv);

/** ctl_help() - print usage and options of a command */
void ctl_help(const struct command *cmd);

/** ctl_print_options() - a list of options for a help text, -n only with @dry_run */
void ctl_print_options(const struct ctl_option *options, bool dry_run);

/** ctl_args() - the number of arguments; exits if it is not within @min and @max */
int ctl_args(struct ctl *ctl, int argc, int min, int max);

/** ctl_usage() - report wrong usage; returns the exit status */
int ctl_usage(struct ctl *ctl, const char *why, ...) __attribute__((format(printf, 2, 3)));

/** ctl_fail() - report an error; returns the exit status */
int ctl_fail(struct ctl *ctl, const struct err *err);

/**
 * ctl_fail_on() - the same of a command that goes on, and whose JSON is one object
 * @failed: false before the first failure. JSON has that one alone
 */
int ctl_fail_on(struct ctl *ctl, const struct err *err, bool *failed);

/** ctl_say() - a line for people: not with -q, not with -j */
void ctl_say(const struct ctl *ctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** ctl_json() - print an object made by json_root(), and release it */
void ctl_json(json_object *obj);

/** ctl_done() - end a command that has no object to print; with -j an empty one is printed */
int ctl_done(const struct ctl *ctl);

/** ctl_progress() - draw a progress bar, on a terminal, after two seconds; @total 0 clears it */
void ctl_progress(const struct ctl *ctl, const char *what, u64 done, u64 total);

/**
 * ctl_busy() - show the time that @what takes until ctl_busy_end(), on a terminal, after two
 * seconds
 */
void ctl_busy(const struct ctl *ctl, const char *what);
void ctl_busy_end(void);

/** ctl_size() - a size for people, or plain bytes with -p */
const char *ctl_size(const struct ctl *ctl, u64 bytes, char buf[SIZE_BUF]);

/** ctl_find() - the running pool @name; reports a failure */
int ctl_find(struct ctl *ctl, const char *name, struct dm_entry *e);

/* --- JSON --------------------------------------------------------------------- */

/** json_root() - a new object with the version in it */
json_object *json_root(void);
/** json_string() - a string of a text with any bytes; see text_clean() */
json_object *json_string(const char *text);
void json_text(json_object *o, const char *key, const char *value);	/* NULL: null */
void json_number(json_object *o, const char *key, u64 value);
void json_flag(json_object *o, const char *key, bool value);
void json_time(json_object *o, const char *key, u64 seconds);		/* 0: null */
json_object *json_child(json_object *o, const char *key);		/* adds an object */
json_object *json_list(json_object *o, const char *key);		/* adds an array */
json_object *json_item(json_object *list);				/* appends an object */

/** json_at() - the value at "key.key"; NULL if it is missing or null */
json_object *json_at(json_object *o, const char *path);
const char *json_text_at(json_object *o, const char *path);	/* "-" if not there */
u64 json_number_at(json_object *o, const char *path);		/* 0 if not there */
bool json_flag_at(json_object *o, const char *path);

/** json_redundancy() - add losses survivable, before and after; -1: no pool is left */
void json_redundancy(json_object *plan, int before, int after);

/** json_error() - add code, what, why and mend */
void json_error(json_object *o, const struct err *err);

#endif
