// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "main.h"

struct counts *counts;
const char *seed_folder;

u64 take(struct input *in, u32 bytes)
{
	u64 value = 0;
	u32 i;

	for (i = 0; i < bytes && in->left; i++, in->at++, in->left--)
		value |= (u64)*in->at << 8 * i;
	return value;
}

void patch(struct input *in, void *buf, size_t size)
{
	while (in->left) {
		u32 how = (u32)take(in, 1), bytes = 1u << (how & 3);
		size_t at = take(in, 2) % size;
		u64 value = take(in, bytes), old = 0;

		if (how & 8)
			at -= at % bytes;
		if (at + bytes > size)
			at = size - bytes;
		memcpy(&old, (u8 *)buf + at, bytes);
		value += how & 4 ? old : 0;
		memcpy((u8 *)buf + at, &value, bytes);
	}
}

void unsure(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	/* not stderr: a target may have turned it off */
	dprintf(STDERR_FILENO, "%s:%d: ", file, line);
	va_start(args, fmt);
	vdprintf(STDERR_FILENO, fmt, args);
	va_end(args);
	dprintf(STDERR_FILENO, "\n");
	abort();
}

void reached(bool taken)
{
	if (!counts)
		return;
	if (taken)
		counts->taken++;
	else
		counts->refused++;
}

void seed(const void *data, size_t size)
{
	static unsigned int n;
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-%02u", seed_folder, n++);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(2);
	}
}
