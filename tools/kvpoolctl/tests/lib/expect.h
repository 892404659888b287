/* SPDX-License-Identifier: GPL-2.0-only */
/* Expectations of the unit tests: they are counted, and each that is not true says where it is. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include <stdio.h>

static unsigned int passed, failed;

#define expect(cond) do {						\
	if (cond) {							\
		passed++;						\
	} else {							\
		failed++;						\
		fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #cond); \
	}								\
} while (0)

#endif /* TESTS_EXPECT_H */
