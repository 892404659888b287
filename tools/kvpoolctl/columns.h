/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables for people, laid out by libsmartcols. */
#ifndef KVPOOLCTL_COLUMNS_H
#define KVPOOLCTL_COLUMNS_H

#include <stdio.h>

#include "format/format.h"

struct column {
	const char *title;	/* NULL in the first: the table has no titles */
	bool right;		/* numbers and sizes: aligned at the right */
	unsigned int width;	/* at least, in a table without titles; 0: as wide as its cells */
};

struct columns;

/**
 * columns_new() - an empty table; like all functions here it ends the program if memory runs out
 */
struct columns *columns_new(const struct column *list, size_t count);

/** columns_row() - begin a row; cells that are not filled stay empty */
void columns_row(struct columns *c);

/** columns_text() - fill the next cell of the row, NULL: leave it empty */
void columns_text(struct columns *c, const char *text);

/** columns_number() - the same with a number */
void columns_number(struct columns *c, u64 number);

/** columns_print() - print the table, each line behind @indent, and release it */
void columns_print(struct columns *c, const char *indent, FILE *out);

#endif
