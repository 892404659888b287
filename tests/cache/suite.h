/* SPDX-License-Identifier: GPL-2.0-only */
/* What a binary of tests is made of. */
#ifndef CACHE_SUITE_H
#define CACHE_SUITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** struct test - of a list that ends with one without a name */
struct test {
	const char *name;
	bool (*run)(void);
};

/** tests - of this binary; main.c runs them */
extern const struct test tests[];

/** seed - of everything random: SEED=, or 1 */
extern uint64_t seed;

/**
 * expect() - print what is not as it should be
 *
 * Return: whether it is. A test that drops that passes whatever was expected, and is not compiled.
 */
#define expect(c, ...) as_expected((c) || unexpected(__FILE__, __LINE__, __VA_ARGS__))
static inline bool __attribute__((warn_unused_result)) as_expected(bool good)
{
	return good;
}
/** unexpected() - of expect(); false */
bool __attribute__((format(printf, 3, 4))) unexpected(const char *file, int line, const char *why, ...);

/* memory.c */
/** memory_fail_at - which allocation from now on is to fail, 1 being the next; 0: none */
extern unsigned int memory_fail_at;
/** memory_bytes() - allocated and not freed */
size_t memory_bytes(void);

/* locks.c */
/** after_unlock - called when a spinlock was given back, as if somebody had waited for it */
extern void (*after_unlock)(void);

#endif
