/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: a warning of the engine is a failure of the test that runs. */
#ifndef SIM_LINUX_BUG_H
#define SIM_LINUX_BUG_H

#include <linux/compiler.h>

/* In sched.c: ends the simulated machine, not the process. */
void sim_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#define WARN_ON(c) ({							\
	bool __w = (c);							\
	if (__w)							\
		sim_fail("WARN_ON(%s) at %s:%d", #c, __FILE__, __LINE__); \
	__w;								\
})
#define WARN_ON_ONCE(c)		WARN_ON(c)
#define WARN(c, fmt, ...) ({						\
	bool __w = (c);							\
	if (__w)							\
		sim_fail(fmt, ##__VA_ARGS__);				\
	__w;								\
})
#define WARN_ONCE(c, ...)	WARN(c, __VA_ARGS__)
#define BUG_ON(c)		((void)WARN_ON(c))
#define BUG()			sim_fail("BUG at %s:%d", __FILE__, __LINE__)
#define BUILD_BUG_ON(c)		_Static_assert(!(c), #c)
#define static_assert		_Static_assert

#endif
