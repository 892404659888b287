// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table lines. Each word lies in memory of its own size, and the words are read as in the
 * simulator's test. An accepted line must mean what another reading of the words says. Input: the
 * line.
 */
#include <stdlib.h>
#include <string.h>

#include "../sim/tableline_test.c"
#include "fuzz.h"

struct options opt;

bool wanted(const char *name)
{
	return false;
}

void result(const char *name, bool good)
{
}

bool unexpected(const char *file, int line, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vfprintf(stderr, why, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

/* parse(), but into memory of its own: the legs come last there. */
static void parse_apart(struct trial *t)
{
	char **argv = malloc((t->nr ?: 1) * sizeof(*argv));
	struct kvp_start *s = calloc(1, sizeof(*s));

	memcpy(argv, t->words, t->nr * sizeof(*argv));
	t->line = (struct kvp_line){ .argc = t->nr, .argv = argv, .refusal = &t->refusal,
				     .open = open_leg };
	t->ret = kvp_line_parse(&t->line, s);
	t->s = *s;
	free(s);
	free(argv);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct trial *t = calloc(1, sizeof(*t));
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = 0;
	split(t, text);
	free(text);
	parse_apart(t);
	reached(!t->ret);
	if (t->ret)
		sure(t->line.error && *t->line.error, "refused (%d) without words", t->ret);
	else
		sure(as_said(t), "read as something else");
	forget(t);
	return 0;
}

void fuzz_seeds(void)
{
	static const char many[] = "- 0 mirror 16 a a a a a a a a a a a a a a a a mirror 16 a a a a a a a a a a a a a a a a "
		"mirror 16 a a a a a a a a a a a a a a a a mirror 2 a a";
	u32 i;

	seed(many, strlen(many));
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		seed(lines[i].line, strlen(lines[i].line));
}
