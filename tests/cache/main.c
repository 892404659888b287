// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs all tests, or with --only those with a given part in the name. The last line is "N passed, N
 * failed". SEED=N chooses other random cases.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

uint64_t seed = 1;

bool unexpected(const char *file, int line, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	fprintf(stderr, "# %s:%d: ", file, line);
	vfprintf(stderr, why, args);
	fputc('\n', stderr);
	va_end(args);
	return false;
}

int main(int argc, char **argv)
{
	const char *only = argc == 3 && !strcmp(argv[1], "--only") ? argv[2] : NULL;
	unsigned int passed = 0, failed = 0;
	const struct test *t;
	bool good;

	if (argc != 1 && !only) {
		fprintf(stderr, "usage: %s [--only PART]\n", argv[0]);
		return 2;
	}
	if (getenv("SEED"))
		seed = strtoull(getenv("SEED"), NULL, 0);
	for (t = tests; t->name; t++) {
		if (only && !strstr(t->name, only))
			continue;
		good = t->run();
		good &= expect(!memory_bytes(), "%zu bytes were not freed", memory_bytes());
		printf("%s %s\n", good ? "ok  " : "FAIL", t->name);
		fflush(stdout);
		passed += good;
		failed += !good;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
