/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: attributes, and accesses that cannot be torn. One thread runs at a time. */
#ifndef SIM_LINUX_COMPILER_H
#define SIM_LINUX_COMPILER_H

#include <linux/types.h>

#define __iomem
#define __user
#define __force
#define __percpu
#define __rcu
#define __read_mostly
#define __init
#define __exit
#define __bitwise
#define ____cacheline_aligned_in_smp
#define ____cacheline_aligned
#ifndef __packed
#define __packed	__attribute__((packed))
#endif
#ifndef __must_check
#define __must_check	__attribute__((warn_unused_result))
#endif
#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif
#define OPTIMIZER_HIDE_VAR(var)	__asm__("" : "=r"(var) : "0"(var))
#define noinline	__attribute__((noinline))
#define __maybe_unused	__attribute__((unused))
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define __aligned(x)	__attribute__((aligned(x)))
#define fallthrough	__attribute__((fallthrough))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define __acquires(x)
#define __releases(x)

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define data_race(x)	(x)
#define barrier()	__asm__ __volatile__("" ::: "memory")
#define smp_mb()	barrier()
#define smp_rmb()	barrier()
#define smp_wmb()	barrier()
#define smp_mb__before_atomic()	barrier()
#define smp_mb__after_atomic()	barrier()
#define smp_load_acquire(p)	READ_ONCE(*(p))
#define smp_store_release(p, v)	WRITE_ONCE(*(p), v)
#define smp_store_mb(x, v)	WRITE_ONCE(x, v)

#endif
