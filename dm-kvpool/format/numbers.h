/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers that count different things, and so have types that cannot be mixed.
 *
 * The pool counts its blocks, each vdev counts its own, and each leg again counts its own. All of
 * them are 64 bits wide, and a mix of two reads the wrong block. So each kind has a type of its
 * own, which sparse tells from the others and from a plain u64 (__bitwise). Counts of blocks and
 * rows of a parity1 are plain u64s, and so is where struct kvp_geometry lets an area begin.
 *
 * kvp_locate() leads from a block of the pool to a block of a vdev, kvp_pool_block() back, and
 * kvp_data_place() on to a leg: struct kvp_place is a leg and its block. Code that does arithmetic
 * on numbers of one kind uses the functions here. The compiler makes the same code of them as of a
 * plain u64. To the policies a block is a key, which is a plain u64: kvp_block_nr() leads there,
 * and kvp_block() back.
 *
 * The log counts its blocks from its begin on: a log sequence number (lsn). It never begins anew,
 * unlike the place on a leg, and it has a type of its own too. What lies @n blocks behind an lsn,
 * or how far two are apart, is a plain u64.
 *
 * format/format.h includes this header, once it knows u64.
 */
#ifndef KVP_NUMBERS_H
#define KVP_NUMBERS_H

#ifndef __bitwise
#define __bitwise
#endif
#ifndef __force
#define __force
#endif

/** typedef kvp_block_t - a block of the pool, as its users count: 4 KiB each, from 0 on */
typedef u64 __bitwise kvp_block_t;

/** kvp_block() - the pool's block with number @nr. Any context. */
static inline kvp_block_t kvp_block(u64 nr)
{
	return (__force kvp_block_t)nr;
}

/** kvp_block_nr() - the number of @block: for arithmetic, and for what is written out */
static inline u64 kvp_block_nr(kvp_block_t block)
{
	return (__force u64)block;
}

/** KVP_BLOCK_NONE - behind every block that a pool can have */
#define KVP_BLOCK_NONE kvp_block(~0ull)

/** kvp_block_add() - the block @n blocks behind @block */
static inline kvp_block_t kvp_block_add(kvp_block_t block, u64 n)
{
	return kvp_block(kvp_block_nr(block) + n);
}

/** kvp_block_back() - the block @n blocks before @block, which is not less than @n */
static inline kvp_block_t kvp_block_back(kvp_block_t block, u64 n)
{
	return kvp_block(kvp_block_nr(block) - n);
}

/** kvp_block_since() - how many blocks @block is behind @from, which is not behind @block */
static inline u64 kvp_block_since(kvp_block_t block, kvp_block_t from)
{
	return kvp_block_nr(block) - kvp_block_nr(from);
}

/** kvp_block_before() - true if @a is before @b */
static inline bool kvp_block_before(kvp_block_t a, kvp_block_t b)
{
	return kvp_block_nr(a) < kvp_block_nr(b);
}

/** kvp_block_first() - @a or @b, whichever is first */
static inline kvp_block_t kvp_block_first(kvp_block_t a, kvp_block_t b)
{
	return kvp_block_before(a, b) ? a : b;
}

/** kvp_block_last() - @a or @b, whichever is last */
static inline kvp_block_t kvp_block_last(kvp_block_t a, kvp_block_t b)
{
	return kvp_block_before(a, b) ? b : a;
}

/** typedef kvp_vblock_t - a block as its vdev counts: those that hold the pool's data, from 0 on */
typedef u64 __bitwise kvp_vblock_t;

/** kvp_vblock() - the vdev's block with number @nr. Any context. */
static inline kvp_vblock_t kvp_vblock(u64 nr)
{
	return (__force kvp_vblock_t)nr;
}

/** kvp_vblock_nr() - the number of @block: for arithmetic, and for what is written out */
static inline u64 kvp_vblock_nr(kvp_vblock_t block)
{
	return (__force u64)block;
}

/** kvp_vblock_add() - the block @n blocks behind @block */
static inline kvp_vblock_t kvp_vblock_add(kvp_vblock_t block, u64 n)
{
	return kvp_vblock(kvp_vblock_nr(block) + n);
}

/** kvp_vblock_since() - how many blocks @block is behind @from, which is not behind @block */
static inline u64 kvp_vblock_since(kvp_vblock_t block, kvp_vblock_t from)
{
	return kvp_vblock_nr(block) - kvp_vblock_nr(from);
}

/** kvp_vblock_before() - true if @a is before @b */
static inline bool kvp_vblock_before(kvp_vblock_t a, kvp_vblock_t b)
{
	return kvp_vblock_nr(a) < kvp_vblock_nr(b);
}

/** kvp_vblock_first() - @a or @b, whichever is first */
static inline kvp_vblock_t kvp_vblock_first(kvp_vblock_t a, kvp_vblock_t b)
{
	return kvp_vblock_before(a, b) ? a : b;
}

/** kvp_vblock_last() - @a or @b, whichever is last */
static inline kvp_vblock_t kvp_vblock_last(kvp_vblock_t a, kvp_vblock_t b)
{
	return kvp_vblock_before(a, b) ? b : a;
}

/** typedef kvp_lblock_t - a block as its leg counts: all of the device, from 0 on */
typedef u64 __bitwise kvp_lblock_t;

/** kvp_lblock() - the leg's block with number @nr. Any context. */
static inline kvp_lblock_t kvp_lblock(u64 nr)
{
	return (__force kvp_lblock_t)nr;
}

/** kvp_lblock_nr() - the number of @block: for sectors, and for what is written out */
static inline u64 kvp_lblock_nr(kvp_lblock_t block)
{
	return (__force u64)block;
}

/** kvp_lblock_add() - the block @n blocks behind @block */
static inline kvp_lblock_t kvp_lblock_add(kvp_lblock_t block, u64 n)
{
	return kvp_lblock(kvp_lblock_nr(block) + n);
}

/** kvp_lblock_since() - how many blocks @block is behind @from, which is not behind @block */
static inline u64 kvp_lblock_since(kvp_lblock_t block, kvp_lblock_t from)
{
	return kvp_lblock_nr(block) - kvp_lblock_nr(from);
}

/** kvp_lblock_before() - true if @a is before @b */
static inline bool kvp_lblock_before(kvp_lblock_t a, kvp_lblock_t b)
{
	return kvp_lblock_nr(a) < kvp_lblock_nr(b);
}

/** typedef kvp_lsn_t - a block of the log, as the log counts since it began */
typedef u64 __bitwise kvp_lsn_t;

/** kvp_lsn() - the lsn with number @nr. Any context. */
static inline kvp_lsn_t kvp_lsn(u64 nr)
{
	return (__force kvp_lsn_t)nr;
}

/** kvp_lsn_nr() - the number of @lsn: for the place in a ring, and for what is written out */
static inline u64 kvp_lsn_nr(kvp_lsn_t lsn)
{
	return (__force u64)lsn;
}

/** KVP_LSN_MAX - behind every entry that a log can have */
#define KVP_LSN_MAX kvp_lsn(~0ull)

/** kvp_lsn_add() - the lsn @n blocks behind @lsn */
static inline kvp_lsn_t kvp_lsn_add(kvp_lsn_t lsn, u64 n)
{
	return kvp_lsn(kvp_lsn_nr(lsn) + n);
}

/** kvp_lsn_back() - the lsn @n blocks before @lsn, which is not less than @n */
static inline kvp_lsn_t kvp_lsn_back(kvp_lsn_t lsn, u64 n)
{
	return kvp_lsn(kvp_lsn_nr(lsn) - n);
}

/** kvp_lsn_down() - @lsn or the last one before it that is a multiple of @unit */
static inline kvp_lsn_t kvp_lsn_down(kvp_lsn_t lsn, u32 unit)
{
	return kvp_lsn(kvp_lsn_nr(lsn) - kvp_lsn_nr(lsn) % unit);
}

/** kvp_lsn_since() - how many blocks @lsn is behind @from, which is not behind @lsn */
static inline u64 kvp_lsn_since(kvp_lsn_t lsn, kvp_lsn_t from)
{
	return kvp_lsn_nr(lsn) - kvp_lsn_nr(from);
}

/** kvp_lsn_before() - true if @a is before @b */
static inline bool kvp_lsn_before(kvp_lsn_t a, kvp_lsn_t b)
{
	return kvp_lsn_nr(a) < kvp_lsn_nr(b);
}

/** kvp_lsn_first() - @a or @b, whichever is first */
static inline kvp_lsn_t kvp_lsn_first(kvp_lsn_t a, kvp_lsn_t b)
{
	return kvp_lsn_before(a, b) ? a : b;
}

/** kvp_lsn_last() - @a or @b, whichever is last */
static inline kvp_lsn_t kvp_lsn_last(kvp_lsn_t a, kvp_lsn_t b)
{
	return kvp_lsn_before(a, b) ? b : a;
}

#endif /* KVP_NUMBERS_H */
