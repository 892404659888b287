/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of a test binary. */
#ifndef CACHE_SUITE_H
#define CACHE_SUITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** struct test - a member of a list that ends with one without a name */
struct test {
	const char *name;
	bool (*run)(void);
};

/** tests - the list of this binary; main.c runs it */
extern const struct test tests[];

/** seed - the seed of all random cases: SEED=, or 1 */
extern uint64_t seed;

/**
 * expect() - print a message if the condition is false
 *
 * Return: the condition. A test must use it: dropping it would make the test pass always, and does
 * not compile.
 */
#define expect(c, ...) as_expected((c) || unexpected(__FILE__, __LINE__, __VA_ARGS__))
static inline bool __attribute__((warn_unused_result)) as_expected(bool good)
{
	return good;
}
/** unexpected() - for expect(); prints, and returns false */
bool __attribute__((format(printf, 3, 4))) unexpected(const char *file, int line, const char *why,
						      ...);

/* memory.c */
/** memory_fail_at - the number of the next allocation that fails, 1 being the next; 0: none */
extern unsigned int memory_fail_at;
/** memory_bytes() - allocated and not freed */
size_t memory_bytes(void);

/* locks.c */
/** after_unlock - called after a spinlock was released, like a waiter that gets it */
extern void (*after_unlock)(void);

#endif
