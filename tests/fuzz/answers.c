// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of the tool, and spoilt answers of device-mapper. Input: the choices that
 * tools/kvpoolctl/tests/answers.c makes by chance.
 */
#define FUZZ_INPUT
#include "../../tools/kvpoolctl/tests/answers.c"
#include "choices.h"

static u64 position;

static u64 rnd(u64 below)
{
	return choose(&position, below);
}

static void remove_empty(void)
{
	rmdir(empty);
}

/* The output of the commands is dropped; the sanitizers and unsure() keep the descriptor. */
static void begin(void)
{
	int null = open("/dev/null", O_WRONLY);

	if (!mkdtemp(empty))
		abort();
	atexit(remove_empty);
	dup2(null, STDOUT_FILENO);
	stderr = fdopen(null, "w");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static bool begun;

	if (!begun)
		begin();
	begun = true;
	all = (struct input){ data, size };
	position = 0;
	reached(run_one() != EXIT_FAILED);
	return 0;
}

void fuzz_seeds(void)
{
	seed_choices(40, 60);
}
