/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stand-in for the kernel's KUnit, as far as the suites of pure code use it. Each suite registers
 * itself before main() (host.c) runs all of them. A failed expectation is printed; a failed
 * assertion also ends its case.
 */
#ifndef HOST_KUNIT_TEST_H
#define HOST_KUNIT_TEST_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128

#ifndef sizeof_field
#define sizeof_field(type, member)	sizeof(((type *)NULL)->member)
#endif

struct kunit {
	const void *param_value;
	void *priv;
	unsigned int failed;		/* expectations */
	bool skipped;
	jmp_buf end;
	void *memory[64];		/* freed after the case */
	unsigned int nr_memory;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

void host_suite(struct kunit_suite *suite);
void host_failed(struct kunit *test, const char *file, int line, const char *what);
void *host_alloc(struct kunit *test, size_t size, bool zero);

#define kunit_test_suite(s) \
	static void __attribute__((constructor)) register_suite(void) { host_suite(&(s)); }
#define KUNIT_CASE(f)			{ .run_case = f, .name = #f }
#define KUNIT_CASE_PARAM(f, g)		{ .run_case = f, .name = #f, .generate_params = g }

#define KUNIT_ARRAY_PARAM(n, array, get_desc) \
	static const void *n##_gen_params(const void *prev, char *desc) \
	{ \
		typeof((array)[0]) *next = prev ? (typeof(next))prev + 1 : (array); \
		if (next - (array) >= ARRAY_SIZE(array)) \
			return NULL; \
		void (*describe)(typeof(next), char *) = get_desc; \
		if (describe) \
			describe(next, desc); \
		return next; \
	}
#define KUNIT_ARRAY_PARAM_DESC(n, array, member) \
	static void n##_describe(const typeof((array)[0]) *p, char *desc) \
	{ \
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->member); \
	} \
	KUNIT_ARRAY_PARAM(n, array, n##_describe)

#define kunit_kzalloc(test, size, gfp)		host_alloc(test, size, true)
#define kunit_kmalloc(test, size, gfp)		host_alloc(test, size, false)
#define kunit_kcalloc(test, n, size, gfp)	host_alloc(test, (size_t)(n) * (size), true)
#define kunit_skip(test, ...) \
	do { (test)->skipped = true; longjmp((test)->end, 1); } while (0)

/* Compares two values of their own types with @op; @... is a text with its arguments. */
#define HOST_CHECK(test, good, on_failure, what, ...) \
	do { \
		if (!(good)) { \
			host_failed(test, __FILE__, __LINE__, what); \
			__VA_OPT__(printf("# " __VA_ARGS__); printf("\n");) \
			on_failure; \
		} \
	} while (0)
#define HOST_END(test)	longjmp((test)->end, 1)
#define HOST_BINARY(test, a, op, b, on_failure, ...) \
	HOST_CHECK(test, (a) op (b), on_failure, #a " " #op " " #b, ##__VA_ARGS__)

#define KUNIT_EXPECT_EQ(t, a, b)	HOST_BINARY(t, a, ==, b, )
#define KUNIT_EXPECT_NE(t, a, b)	HOST_BINARY(t, a, !=, b, )
#define KUNIT_EXPECT_LT(t, a, b)	HOST_BINARY(t, a, <, b, )
#define KUNIT_EXPECT_LE(t, a, b)	HOST_BINARY(t, a, <=, b, )
#define KUNIT_EXPECT_GT(t, a, b)	HOST_BINARY(t, a, >, b, )
#define KUNIT_EXPECT_GE(t, a, b)	HOST_BINARY(t, a, >=, b, )
#define KUNIT_EXPECT_PTR_EQ		KUNIT_EXPECT_EQ
#define KUNIT_EXPECT_PTR_NE		KUNIT_EXPECT_NE
#define KUNIT_EXPECT_TRUE(t, a)		HOST_CHECK(t, a, , #a)
#define KUNIT_EXPECT_FALSE(t, a)	HOST_CHECK(t, !(a), , "!(" #a ")")
#define KUNIT_EXPECT_NULL(t, a)		HOST_CHECK(t, !(a), , #a " is NULL")
#define KUNIT_EXPECT_NOT_NULL(t, a)	HOST_CHECK(t, (a), , #a " is not NULL")
#define KUNIT_EXPECT_STREQ(t, a, b)	HOST_CHECK(t, !strcmp(a, b), , #a " is " #b)
#define KUNIT_EXPECT_MEMEQ(t, a, b, n)	HOST_CHECK(t, !memcmp(a, b, n), , #a " is the same as " #b)
#define KUNIT_EXPECT_EQ_MSG(t, a, b, ...)	HOST_BINARY(t, a, ==, b, , __VA_ARGS__)
#define KUNIT_EXPECT_NE_MSG(t, a, b, ...)	HOST_BINARY(t, a, !=, b, , __VA_ARGS__)
#define KUNIT_EXPECT_TRUE_MSG(t, a, ...)	HOST_CHECK(t, a, , #a, __VA_ARGS__)
#define KUNIT_EXPECT_NULL_MSG(t, a, ...)	HOST_CHECK(t, !(a), , #a " is NULL", __VA_ARGS__)
#define KUNIT_EXPECT_NOT_NULL_MSG(t, a, ...)	HOST_CHECK(t, (a), , #a " is not NULL", __VA_ARGS__)

#define KUNIT_ASSERT_EQ(t, a, b)	HOST_BINARY(t, a, ==, b, HOST_END(t))
#define KUNIT_ASSERT_NE(t, a, b)	HOST_BINARY(t, a, !=, b, HOST_END(t))
#define KUNIT_ASSERT_LT(t, a, b)	HOST_BINARY(t, a, <, b, HOST_END(t))
#define KUNIT_ASSERT_LE(t, a, b)	HOST_BINARY(t, a, <=, b, HOST_END(t))
#define KUNIT_ASSERT_GT(t, a, b)	HOST_BINARY(t, a, >, b, HOST_END(t))
#define KUNIT_ASSERT_GE(t, a, b)	HOST_BINARY(t, a, >=, b, HOST_END(t))
#define KUNIT_ASSERT_PTR_EQ		KUNIT_ASSERT_EQ
#define KUNIT_ASSERT_TRUE(t, a)		HOST_CHECK(t, a, HOST_END(t), #a)
#define KUNIT_ASSERT_FALSE(t, a)	HOST_CHECK(t, !(a), HOST_END(t), "!(" #a ")")
#define KUNIT_ASSERT_NOT_NULL(t, a)	HOST_CHECK(t, (a), HOST_END(t), #a " is not NULL")
#define KUNIT_ASSERT_EQ_MSG(t, a, b, ...)	HOST_BINARY(t, a, ==, b, HOST_END(t), __VA_ARGS__)

#endif
