// SPDX-License-Identifier: GPL-2.0-only
/* Tables for people, laid out by libsmartcols. */
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "err.h"

struct columns {
	struct libscols_table *table;
	struct libscols_line *line;	/* the current row */
	size_t next;			/* its next cell */
};

static void *need(void *p)
{
	if (!p) {
		fputs("kvpoolctl: a table: no memory -- free some\n", stderr);
		exit(EXIT_FAILED);
	}
	return p;
}

struct columns *columns_new(const struct column *list, size_t count)
{
	struct columns *c = need(calloc(1, sizeof(*c)));
	size_t i;

	c->table = need(scols_new_table());
	/* the library measures characters, so UTF-8 must be known as such */
	setlocale(LC_CTYPE, "C.UTF-8");
	/* nothing is cut off on any terminal */
	scols_table_set_termforce(c->table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_column_separator(c->table, "  ");
	scols_table_enable_noheadings(c->table, !list[0].title);
	for (i = 0; i < count; i++)
		need(scols_table_new_column(c->table, list[i].title ?: "", list[i].width,
					    list[i].right ? SCOLS_FL_RIGHT : 0));
	return c;
}

void columns_row(struct columns *c)
{
	c->line = need(scols_table_new_line(c->table, NULL));
	c->next = 0;
}

void columns_text(struct columns *c, const char *text)
{
	if (text && scols_line_set_data(c->line, c->next, text))
		need(NULL);
	c->next++;
}

void columns_number(struct columns *c, u64 number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	columns_text(c, text);
}

/* The library pads the last column; here no line ends in spaces. */
static void print_line(const char *indent, const char *line, FILE *out)
{
	int len = (int)strlen(line);

	while (len && line[len - 1] == ' ')
		len--;
	fprintf(out, "%s%.*s\n", len ? indent : "", len, line);
}

void columns_print(struct columns *c, const char *indent, FILE *out)
{
	/*
	 * Without rows the library prints no titles either. So it gets an empty row, which is not
	 * printed.
	 */
	bool empty = !scols_table_get_nlines(c->table);
	char *text = NULL, *rest, *line;

	if (empty)
		columns_row(c);
	if (scols_print_table_to_string(c->table, &text))
		need(NULL);
	rest = text;
	for (line = strsep(&rest, "\n"); line && (rest || *line); line = strsep(&rest, "\n")) {
		print_line(indent, line, out);
		if (empty)
			break;
	}
	free(text);
	scols_unref_table(c->table);
	free(c);
}
