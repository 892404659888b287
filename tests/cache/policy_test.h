/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of policy_test.c. */
#ifndef CACHE_POLICY_TEST_H
#define CACHE_POLICY_TEST_H

#include <stdbool.h>

bool test_order(void);
bool test_full(void);
bool test_ghost(void);
bool test_scan(void);
bool test_adapt(void);
bool test_patience(void);
bool test_remove(void);
bool test_replace(void);
bool test_resize(void);
bool test_spread(void);
bool test_bytes(void);
bool test_no_memory(void);
bool test_random(void);

#endif
