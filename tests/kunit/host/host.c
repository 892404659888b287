// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the suites that are linked in; the last line is "N passed, N failed". Each parameter of a
 * case counts.
 */
#include <stdlib.h>

#include <kunit/test.h>
#include <linux/sort.h>

static struct kunit_suite *suites;
static unsigned int passed, failed;

void *memchr_inv(const void *start, int c, size_t bytes)
{
	const u8 *p = start;

	for (; bytes; p++, bytes--)
		if (*p != (u8)c)
			return (void *)p;
	return NULL;
}

void sort(void *base, size_t num, size_t size, int (*cmp)(const void *, const void *),
	  void (*swap)(void *, void *, int))
{
	qsort(base, num, size, cmp);
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
	return strlen(to);
}

void host_suite(struct kunit_suite *suite)
{
	suite->next = suites;
	suites = suite;
}

void host_failed(struct kunit *test, const char *file, int line, const char *what)
{
	printf("# %s:%d: expected %s\n", file, line, what);
	test->failed++;
}

void *host_alloc(struct kunit *test, size_t size, bool zero)
{
	void *p = zero ? calloc(1, size) : malloc(size);

	if (!p || test->nr_memory == ARRAY_SIZE(test->memory))
		abort();
	test->memory[test->nr_memory++] = p;
	return p;
}

static void run_case(const struct kunit_suite *s, const struct kunit_case *c, const void *param,
		     const char *desc)
{
	struct kunit test = { .param_value = param };

	if (!setjmp(test.end) && (!s->init || !s->init(&test)))
		c->run_case(&test);
	if (s->exit)
		s->exit(&test);
	while (test.nr_memory)
		free(test.memory[--test.nr_memory]);
	if (test.skipped)
		return;
	if (test.failed)
		printf("FAIL %s: %s%s%s\n", s->name, c->name, *desc ? ": " : "", desc);
	failed += !!test.failed;
	passed += !test.failed;
}

int main(void)
{
	const struct kunit_suite *s;
	const struct kunit_case *c;

	for (s = suites; s; s = s->next) {
		for (c = s->test_cases; c->run_case; c++) {
			char desc[KUNIT_PARAM_DESC_SIZE] = "";
			const void *param = NULL;

			if (!c->generate_params) {
				run_case(s, c, NULL, desc);
				continue;
			}
			while ((param = c->generate_params(param, desc)))
				run_case(s, c, param, desc);
		}
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || !passed;
}
