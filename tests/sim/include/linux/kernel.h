/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: arithmetic and small helpers. */
#ifndef SIM_LINUX_KERNEL_H
#define SIM_LINUX_KERNEL_H

#include <stdarg.h>
#include <stdio.h>
#include <endian.h>

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/types.h>

#ifndef container_of
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))
#endif
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define min(a, b) ({ __typeof__(a) __a = (a); __typeof__(b) __b = (b); __a < __b ? __a : __b; })
#define max(a, b) ({ __typeof__(a) __a = (a); __typeof__(b) __b = (b); __a > __b ? __a : __b; })
#define min_t(t, a, b)	({ t __a = (t)(a); t __b = (t)(b); __a < __b ? __a : __b; })
#define max_t(t, a, b)	({ t __a = (t)(a); t __b = (t)(b); __a > __b ? __a : __b; })
#define min3(a, b, c)	min(min(a, b), c)
#define max3(a, b, c)	max(max(a, b), c)
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define swap(a, b) do { __typeof__(a) __t = (a); (a) = (b); (b) = __t; } while (0)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL	DIV_ROUND_UP
#define roundup(x, y)		((((x) + (y) - 1) / (y)) * (y))
#define rounddown(x, y)		((x) - (x) % (y))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))(y) - 1))
#define ALIGN(x, a)		round_up(x, a)
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define U8_MAX	UINT8_MAX
#define U16_MAX	UINT16_MAX
#define U32_MAX	UINT32_MAX
#define U64_MAX	(~0ull)
#define S64_MAX	((s64)(U64_MAX >> 1))

#define cpu_to_le16(x)	((__le16)htole16(x))
#define cpu_to_le32(x)	((__le32)htole32(x))
#define cpu_to_le64(x)	((__le64)htole64(x))
#define le16_to_cpu(x)	((u16)le16toh(x))
#define le32_to_cpu(x)	((u32)le32toh(x))
#define le64_to_cpu(x)	((u64)le64toh(x))

int kstrtou64(const char *text, unsigned int base, u64 *value);
int kstrtouint(const char *text, unsigned int base, unsigned int *value);

#define might_sleep()	sim_might_sleep(__func__)
#define might_sleep_if(c) do { if (c) might_sleep(); } while (0)
void sim_might_sleep(const char *where);
void sim_yield(void);
#define cond_resched()	sim_yield()
#define cpu_relax()	sim_yield()

#include <linux/bitops.h>

#endif
