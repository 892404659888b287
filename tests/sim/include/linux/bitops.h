/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: bits, bit maps and their counts. */
#ifndef SIM_LINUX_BITOPS_H
#define SIM_LINUX_BITOPS_H

#include <linux/compiler.h>

#define BITS_PER_LONG	64
#define BIT(n)		(1ul << (n))
#define BIT_ULL(n)	(1ull << (n))
#define GENMASK(h, l)	((~0ul << (l)) & (~0ul >> (63 - (h))))
#define BITS_TO_LONGS(n) (((n) + 63) / 64)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

static inline u32 rol32(u32 word, unsigned int bits)
{
	return word << (bits & 31) | word >> (-bits & 31);
}

static inline u64 rol64(u64 word, unsigned int bits)
{
	return word << (bits & 63) | word >> (-bits & 63);
}

static inline u64 ror64(u64 word, unsigned int bits)
{
	return rol64(word, -bits);
}

static inline bool test_bit(long n, const volatile unsigned long *p)
{
	return p[n / 64] >> (n % 64) & 1;
}

static inline void __set_bit(long n, volatile unsigned long *p)
{
	p[n / 64] |= 1ul << (n % 64);
}

static inline void __clear_bit(long n, volatile unsigned long *p)
{
	p[n / 64] &= ~(1ul << (n % 64));
}

static inline bool test_and_set_bit(long n, volatile unsigned long *p)
{
	bool was = test_bit(n, p);

	__set_bit(n, p);
	return was;
}

static inline bool test_and_clear_bit(long n, volatile unsigned long *p)
{
	bool was = test_bit(n, p);

	__clear_bit(n, p);
	return was;
}

#define set_bit			__set_bit
#define clear_bit		__clear_bit
#define clear_bit_unlock	__clear_bit
#define test_and_set_bit_lock	test_and_set_bit
#define __test_and_set_bit	test_and_set_bit
#define __test_and_clear_bit	test_and_clear_bit
#define assign_bit(n, p, v)	((v) ? __set_bit(n, p) : __clear_bit(n, p))

#define hweight_long(w)	((unsigned int)__builtin_popcountl(w))
#define hweight32(w)	((unsigned int)__builtin_popcount(w))
#define hweight64(w)	((unsigned int)__builtin_popcountll(w))
#define __ffs(w)	((unsigned long)__builtin_ctzl(w))
#define ffs64(w)	__builtin_ffsll(w)
#define fls64(w)	((w) ? 64 - __builtin_clzll(w) : 0)
#define fls(w)		((w) ? 32 - __builtin_clz(w) : 0)
#define ilog2(w)	(fls64(w) - 1)

static inline unsigned long find_next_bit(const unsigned long *p, unsigned long n, unsigned long i)
{
	while (i < n && !test_bit(i, p))
		i++;
	return i < n ? i : n;
}

static inline unsigned long find_next_zero_bit(const unsigned long *p, unsigned long n,
					       unsigned long i)
{
	while (i < n && test_bit(i, p))
		i++;
	return i < n ? i : n;
}

#define find_first_bit(p, n)		find_next_bit(p, n, 0)
#define find_first_zero_bit(p, n)	find_next_zero_bit(p, n, 0)
#define for_each_set_bit(i, p, n) \
	for ((i) = find_first_bit(p, n); (i) < (n); (i) = find_next_bit(p, n, (i) + 1))

static inline void bitmap_zero(unsigned long *p, unsigned long n)
{
	__builtin_memset(p, 0, BITS_TO_LONGS(n) * sizeof(*p));
}

static inline void bitmap_fill(unsigned long *p, unsigned long n)
{
	__builtin_memset(p, 0xff, BITS_TO_LONGS(n) * sizeof(*p));
}

static inline unsigned long bitmap_weight(const unsigned long *p, unsigned long n)
{
	unsigned long i, w = 0;

	for (i = 0; i < n; i++)
		w += test_bit(i, p);
	return w;
}

#define bitmap_empty(p, n)	(find_first_bit(p, n) >= (n))

#endif
