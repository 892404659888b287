/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: one thread runs at a time. */
#ifndef SIM_LINUX_ATOMIC_H
#define SIM_LINUX_ATOMIC_H

#include <linux/compiler.h>

typedef struct {
	int counter;
} atomic_t;
typedef struct {
	s64 counter;
} atomic64_t;
typedef atomic64_t atomic_long_t;

#define ATOMIC_INIT(v)		{ (v) }
#define ATOMIC64_INIT(v)	{ (v) }
#define atomic_read(a)		READ_ONCE((a)->counter)
#define atomic_set(a, v)	WRITE_ONCE((a)->counter, v)
#define atomic_add(v, a)	((void)((a)->counter += (v)))
#define atomic_sub(v, a)	((void)((a)->counter -= (v)))
#define atomic_inc(a)		((void)(a)->counter++)
#define atomic_dec(a)		((void)(a)->counter--)
#define atomic_inc_return(a)	(++(a)->counter)
#define atomic_dec_return(a)	(--(a)->counter)
#define atomic_add_return(v, a)	((a)->counter += (v))
#define atomic_sub_return(v, a)	((a)->counter -= (v))
#define atomic_fetch_inc(a)	((a)->counter++)
#define atomic_fetch_add(v, a)	(((a)->counter += (v)) - (v))
#define atomic_fetch_or(v, a)	({ __typeof__((a)->counter) __o = (a)->counter;	\
				   (a)->counter |= (v); __o; })
#define atomic_or(v, a)		((void)((a)->counter |= (v)))
#define atomic_andnot(v, a)	((void)((a)->counter &= ~(v)))
#define atomic_dec_and_test(a)	(!--(a)->counter)
#define atomic_inc_not_zero(a)	((a)->counter ? (a)->counter++, true : false)
#define atomic_add_unless(a, v, u) ((a)->counter != (u) ? (a)->counter += (v), true : false)
#define atomic_cmpxchg(a, o, n)	({ __typeof__((a)->counter) __o = (a)->counter;	\
				   if (__o == (o)) (a)->counter = (n); __o; })
#define cmpxchg(p, o, n)	({ __typeof__(*(p)) __o = *(p);	\
				   if (__o == (o)) *(p) = (n); __o; })
#define atomic_xchg(a, n)	({ __typeof__((a)->counter) __o = (a)->counter;	\
				   (a)->counter = (n); __o; })
#define atomic_read_acquire	atomic_read
#define atomic_set_release	atomic_set
#define atomic64_read		atomic_read
#define atomic64_set		atomic_set
#define atomic64_add		atomic_add
#define atomic64_sub		atomic_sub
#define atomic64_inc		atomic_inc
#define atomic64_dec		atomic_dec
#define atomic64_inc_return	atomic_inc_return
#define atomic64_add_return	atomic_add_return
#define atomic64_xchg		atomic_xchg
#define atomic64_cmpxchg	atomic_cmpxchg
#define atomic_long_read	atomic_read
#define atomic_long_inc		atomic_inc
#define atomic_long_dec		atomic_dec
#define atomic_inc_return_acquire	atomic_inc_return
#define atomic64_inc_return_acquire	atomic_inc_return
#define atomic_inc_return_release	atomic_inc_return
#define atomic64_inc_return_release	atomic_inc_return
#define atomic_inc_return_relaxed	atomic_inc_return
#define atomic64_inc_return_relaxed	atomic_inc_return
#define atomic_dec_return_acquire	atomic_dec_return
#define atomic64_dec_return_acquire	atomic_dec_return
#define atomic_dec_return_release	atomic_dec_return
#define atomic64_dec_return_release	atomic_dec_return
#define atomic_dec_return_relaxed	atomic_dec_return
#define atomic64_dec_return_relaxed	atomic_dec_return
#define atomic_add_return_acquire	atomic_add_return
#define atomic64_add_return_acquire	atomic_add_return
#define atomic_add_return_release	atomic_add_return
#define atomic64_add_return_release	atomic_add_return
#define atomic_add_return_relaxed	atomic_add_return
#define atomic64_add_return_relaxed	atomic_add_return
#define atomic_sub_return_acquire	atomic_sub_return
#define atomic64_sub_return_acquire	atomic_sub_return
#define atomic_sub_return_release	atomic_sub_return
#define atomic64_sub_return_release	atomic_sub_return
#define atomic_sub_return_relaxed	atomic_sub_return
#define atomic64_sub_return_relaxed	atomic_sub_return
#define atomic_fetch_inc_acquire	atomic_fetch_inc
#define atomic_fetch_inc_release	atomic_fetch_inc
#define atomic_fetch_inc_relaxed	atomic_fetch_inc
#define atomic_fetch_add_acquire	atomic_fetch_add
#define atomic_fetch_add_release	atomic_fetch_add
#define atomic_fetch_add_relaxed	atomic_fetch_add
#define atomic_xchg_acquire	atomic_xchg
#define atomic64_xchg_acquire	atomic_xchg
#define atomic_xchg_release	atomic_xchg
#define atomic64_xchg_release	atomic_xchg
#define atomic_xchg_relaxed	atomic_xchg
#define atomic64_xchg_relaxed	atomic_xchg
#define atomic_cmpxchg_acquire	atomic_cmpxchg
#define atomic64_cmpxchg_acquire	atomic_cmpxchg
#define atomic_cmpxchg_release	atomic_cmpxchg
#define atomic64_cmpxchg_release	atomic_cmpxchg
#define atomic_cmpxchg_relaxed	atomic_cmpxchg
#define atomic64_cmpxchg_relaxed	atomic_cmpxchg
#define atomic64_read_acquire	atomic_read
#define atomic64_set_release	atomic_set
#define atomic64_dec_return	atomic_dec_return
#define atomic64_sub_return	atomic_sub_return
#define atomic64_dec_and_test	atomic_dec_and_test
#define atomic64_fetch_add	atomic_fetch_add
#define atomic64_or(v, a)		((void)((a)->counter |= (v)))
#define atomic_sub_and_test(v, a)	(!((a)->counter -= (v)))
#define atomic_dec_if_positive(a)	((a)->counter > 0 ? --(a)->counter : (a)->counter - 1)
#define atomic_try_cmpxchg(a, o, n)	((a)->counter == *(o) ? (a)->counter = (n), true : \
					 (*(o) = (a)->counter, false))
#define cmpxchg64		cmpxchg
#define cmpxchg(p, o, n)	({ __typeof__(*(p)) __o = *(p); if (__o == (o)) *(p) = (n); __o; })
#define xchg(p, n)		({ __typeof__(*(p)) __o = *(p); *(p) = (n); __o; })

#endif
