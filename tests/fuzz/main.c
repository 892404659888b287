// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target without libFuzzer:
 *
 *	TARGET FOLDER			the files there, each in a process of its own; counts
 *					them at the end
 *	TARGET FILE			one input, in this process: for a debugger
 *	TARGET --seeds FOLDER		write the inputs to begin with
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "main.h"

#define INPUT_MAX	16384	/* bytes; larger files do not belong in a corpus */
#define SECONDS_MAX	60	/* of processor time, for endless loops */

static unsigned int passed, failed;

/*
 * Reads a file into memory of its exact size, so that the sanitizers notice a read beyond the end.
 */
static void run_file(const char *path)
{
	static u8 buf[INPUT_MAX + 1];
	FILE *f = fopen(path, "rb");
	size_t size = f ? fread(buf, 1, sizeof(buf), f) : sizeof(buf);
	u8 *exact;

	if (size > INPUT_MAX) {
		fprintf(stderr, "%s cannot be read, or is larger than %d bytes\n", path, INPUT_MAX);
		exit(2);
	}
	fclose(f);
	exact = malloc(size ? size : 1);
	memcpy(exact, buf, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void result(bool good, const char *what)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("FAIL %s\n", what);
}

static void run_apart(const char *path)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		alarm(SECONDS_MAX);
		run_file(path);
		exit(0);
	}
	result(waitpid(pid, &status, 0) == pid && !status, path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dot(const struct dirent *e)
{
	return *e->d_name != '.';
}

static void run_folder(const char *folder, struct dirent **files, int n)
{
	char path[4096];
	int i;

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]->d_name);
		run_apart(path);
		free(files[i]);
	}
	free(files);
	printf("%s: %d inputs, %lu taken and %lu refused\n", folder, n, counts->taken,
	       counts->refused);
	result(counts->taken && counts->refused, "the corpus does not get both in and refused");
	printf("%u passed, %u failed\n", passed, failed);
}

int main(int argc, char **argv)
{
	struct dirent **files;
	int n;

	if (argc == 3 && !strcmp(argv[1], "--seeds")) {
		seed_folder = argv[2];
		fuzz_seeds();
		return 0;
	}
	if (argc != 2)
		return 2;
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	n = scandir(argv[1], &files, no_dot, by_name);
	if (n < 0) {
		run_file(argv[1]);
		return 0;
	}
	run_folder(argv[1], files, n);
	return failed || !passed;
}
