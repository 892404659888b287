/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_STRING_H
#define SIM_LINUX_STRING_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <linux/types.h>

void *memchr_inv(const void *p, int c, size_t bytes);
ssize_t strscpy(char *dst, const char *src, size_t size);
#define strscpy_pad(d, s, n)	(memset(d, 0, n), strscpy(d, s, n))
int scnprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define memzero_explicit(p, n)	memset(p, 0, n)

#endif
