/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: the kernel's integer types, and what every file expects to be there. */
#ifndef SIM_LINUX_TYPES_H
#define SIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __le16, __be16;
typedef __u32 __le32, __be32, __wsum;
typedef __u64 __le64, __be64;
typedef unsigned int gfp_t;
typedef u64 sector_t;

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node;
struct hlist_head {
	struct hlist_node *first;
};
struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct rcu_head {
	void *next;
};

#endif
