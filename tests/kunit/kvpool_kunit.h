/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the suites. */
#ifndef KVPOOL_KUNIT_H
#define KVPOOL_KUNIT_H

#include <kunit/test.h>
#include <linux/string.h>

#include "format/format.h"

/* A reason names the fault in words that include @words. */
#define EXPECT_WHY(test, why, words) \
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr((why)->text, words), \
				  "expected \"%s\", it says \"%s\"", words, (why)->text)

/* One change of a structure in its form on disk. */
struct poke {
	size_t at, size;
	u64 value;
};

#define POKE(type, field, v) \
	{ offsetof(struct type, field), sizeof_field(struct type, field), (v) }

static inline void poke(void *disk, const struct poke *p)
{
	__le64 value = cpu_to_le64(p->value);

	memcpy((u8 *)disk + p->at, &value, min(p->size, sizeof(value)));
}

#endif /* KVPOOL_KUNIT_H */
