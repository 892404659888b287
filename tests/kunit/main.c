// SPDX-License-Identifier: GPL-2.0-only
/* The module around the suites. KUnit runs them when it has been initialized. */
#include <linux/module.h>

/* The processor's crc32c, as dm-kvpool uses it. */
#include "compat/crc.c"

static int __init kvpool_kunit_init(void)
{
	return kvp_crc_init();
}

static void __exit kvpool_kunit_exit(void)
{
	kvp_crc_exit();
}

module_init(kvpool_kunit_init);
module_exit(kvpool_kunit_exit);

MODULE_DESCRIPTION("KUnit tests of dm-kvpool");
MODULE_LICENSE("GPL");
