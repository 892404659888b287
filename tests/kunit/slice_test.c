// SPDX-License-Identifier: GPL-2.0-only
/* The slice that a task asks the scheduler for; the kernel's own, so not in userspace. */
#include <linux/sched/prio.h>
#include <linux/time64.h>

#include "compat/slice.h"
#include "kvpool_kunit.h"

#define ABLE	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0))

/* True if the task has a slice of its own, of @ns; with 0, if it has none. */
static bool has_slice(u64 ns)
{
#if ABLE
	return ns ? current->se.custom_slice && current->se.slice == ns :
		    !current->se.custom_slice;
#else
	return !ns;
#endif
}

static void a_task_gets_its_slice_and_gives_it_back(struct kunit *test)
{
	int nice = task_nice(current);

	KUNIT_ASSERT_EQ(test, current->policy, (unsigned int)SCHED_NORMAL);
	KUNIT_EXPECT_EQ(test, kvp_compat_set_slice(500 * NSEC_PER_USEC), ABLE);
	KUNIT_EXPECT_TRUE(test, has_slice(ABLE ? 500 * NSEC_PER_USEC : 0));
	KUNIT_EXPECT_EQ(test, task_nice(current), nice);
	KUNIT_EXPECT_EQ(test, kvp_compat_set_slice(0), ABLE);
	KUNIT_EXPECT_TRUE(test, has_slice(0));
	KUNIT_EXPECT_EQ(test, task_nice(current), nice);
	KUNIT_EXPECT_EQ(test, current->policy, (unsigned int)SCHED_NORMAL);
}

static void a_nice_task_stays_nice(struct kunit *test)
{
	int nice = task_nice(current);

	set_user_nice(current, 7);
	KUNIT_EXPECT_EQ(test, kvp_compat_set_slice(NSEC_PER_MSEC), ABLE);
	KUNIT_EXPECT_EQ(test, task_nice(current), 7);
	KUNIT_EXPECT_EQ(test, kvp_compat_set_slice(0), ABLE);
	KUNIT_EXPECT_EQ(test, task_nice(current), 7);
	set_user_nice(current, nice);
}

/* An administrator may have given a worker another policy. */
static void another_policy_stays(struct kunit *test)
{
	int nice = task_nice(current);

	sched_set_fifo_low(current);
	KUNIT_EXPECT_FALSE(test, kvp_compat_set_slice(NSEC_PER_MSEC));
	KUNIT_EXPECT_EQ(test, current->policy, (unsigned int)SCHED_FIFO);
	sched_set_normal(current, nice);
	KUNIT_EXPECT_TRUE(test, has_slice(0));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_task_gets_its_slice_and_gives_it_back),
	KUNIT_CASE(a_nice_task_stays_nice),
	KUNIT_CASE(another_policy_stays),
	{}
};

static struct kunit_suite suite = {
	.name = "kvpool_slice",
	.test_cases = cases,
};
kunit_test_suite(suite);
