/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: saturation is a failure. */
#ifndef SIM_LINUX_REFCOUNT_H
#define SIM_LINUX_REFCOUNT_H

#include <linux/bug.h>

typedef struct {
	int refs;
} refcount_t;

#define REFCOUNT_INIT(n)	{ (n) }
#define refcount_set(r, n)	((r)->refs = (n))
#define refcount_read(r)	READ_ONCE((r)->refs)

static inline void refcount_inc(refcount_t *r)
{
	WARN_ON(r->refs <= 0);
	r->refs++;
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	if (!r->refs)
		return false;
	refcount_inc(r);
	return true;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	WARN_ON(r->refs <= 0);
	return !--r->refs;
}

static inline void refcount_dec(refcount_t *r)
{
	WARN_ON(refcount_dec_and_test(r));
}

static inline bool refcount_dec_if_one(refcount_t *r)
{
	if (r->refs != 1)
		return false;
	r->refs = 0;
	return true;
}

#endif
