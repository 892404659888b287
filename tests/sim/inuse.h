/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool is in use while something about it changes, and a disk may die meanwhile. */
#ifndef SIM_INUSE_H
#define SIM_INUSE_H

#include "script.h"

#define IN_USE_NO_DISK	6u	/* behind the disks of all pools of the suites that use this */

/**
 * struct in_use - a task that writes beside a change
 * @s: the caller's
 * @most: number of its writes at most; 0: any
 * @pause: ms between two of them
 * @busy, @writers: the state of the task
 */
struct in_use {
	struct script *s;
	u32 most, pause;
	bool busy;
	u32 writers;
};

/**
 * in_use_begin() - from here on the life is cut, and a task writes
 * @victim, @after: this disk dies after so many of its requests; IN_USE_NO_DISK: none does
 *
 * It makes small writes that are waited for, and now and then a large one by intent. Context: a
 * task of the machine, as below.
 */
void in_use_begin(struct in_use *u, struct script *s, u32 victim, u32 after);

/** in_use_step() - writes and reads behind change @n, from 0 */
void in_use_step(struct script *s, u32 n);

/** in_use_end() - let the task end, and wait for it */
void in_use_end(struct in_use *u);

#endif
