/* SPDX-License-Identifier: GPL-2.0-only */
/* A part of the suite discards. */
#ifndef SIM_TRIM_TEST_H
#define SIM_TRIM_TEST_H

/** run_trims() - trims that go on after a restart */
void run_trims(void);

#endif
