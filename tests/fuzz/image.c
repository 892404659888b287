// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images of pools, spoilt and sealed again, read by inspect, check and import. Input: the choices
 * that tools/kvpoolctl/tests/fuzz.c makes by chance.
 */
#define FUZZ_INPUT
#include "../../tools/kvpoolctl/tests/fuzz.c"
#include "choices.h"

static u64 rnd(u64 below)
{
	return choose(&state, below);
}

static struct image images[IMAGES];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	make_images(images);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	unsigned long usable_before, refused_before;

	all = (struct input){ data, size };
	state = 0;
	usable_before = usable;
	refused_before = refused;
	run_one(images);
	if (usable > usable_before)
		reached(true);
	if (refused > refused_before)
		reached(false);
	return 0;
}

void fuzz_seeds(void)
{
	seed_choices(40, 120);
}
