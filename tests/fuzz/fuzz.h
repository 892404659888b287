/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the targets. A target is one file with LLVMFuzzerTestOneInput(). libFuzzer calls it, or
 * main.c does with the files of a corpus. It ends the program on a fault.
 */
#ifndef KVPOOL_FUZZ_H
#define KVPOOL_FUZZ_H

#include "format/format.h"

/* The rest of an input. Beyond its end there are zeros. */
struct input {
	const u8 *at;
	size_t left;
};

/** take() - the next @bytes, at most 8, as a number in little endian */
u64 take(struct input *in, u32 bytes);

/** patch() - change @buf of @size by the rest of the input: numbers set or added at offsets */
void patch(struct input *in, void *buf, size_t size);

/** sure() - end the program if @condition does not hold */
#define sure(condition, ...) \
	do { \
		if (!(condition)) \
			unsure(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)
void unsure(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/** reached() - count an input as accepted or refused; a corpus must have both */
void reached(bool taken);

/* A target. The second function is optional, and called once, before all inputs. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
/** fuzz_seeds() - call seed() for each first input */
void fuzz_seeds(void);
void seed(const void *data, size_t size);

#endif
