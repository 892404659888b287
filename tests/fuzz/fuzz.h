/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the targets share. A target is one file with LLVMFuzzerTestOneInput(): libFuzzer calls it,
 * or main.c with the files of a corpus. It ends the program where something is not as it has to be.
 */
#ifndef KVPOOL_FUZZ_H
#define KVPOOL_FUZZ_H

#include "format/format.h"

/* What is left of an input. Behind its end there are zeros. */
struct input {
	const u8 *at;
	size_t left;
};

/** take() - the next @bytes, at most 8, as a number in little endian */
u64 take(struct input *in, u32 bytes);

/** patch() - change @buf of @size as the rest of the input says: numbers set or added at offsets */
void patch(struct input *in, void *buf, size_t size);

/** sure() - end the program if @condition does not hold */
#define sure(condition, ...) \
	do { \
		if (!(condition)) \
			unsure(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)
void unsure(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/** reached() - the input was taken, or refused; a corpus has to have both */
void reached(bool taken);

/* A target; the second it may have, and it is called once, before all inputs. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
/** fuzz_seeds() - inputs to begin with: seed() for each */
void fuzz_seeds(void);
void seed(const void *data, size_t size);

#endif
