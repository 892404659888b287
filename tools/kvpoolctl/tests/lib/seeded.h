/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers that a seed repeats on every machine, for a program of tests with many runs. A run
 * that aborts prints its seed. A fuzzer takes its numbers from its input instead (FUZZ_INPUT).
 */
#ifndef TESTS_SEEDED_H
#define TESTS_SEEDED_H

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char *seeded_program;
static u64 state;
static unsigned long current_seed;

/* xorshift64*: the same on every machine. */
static u64 rnd(u64 below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ull >> 11) % below;
}

static void print_seed(int sig)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s: failed with seed %lu\n", seeded_program,
			 current_seed);

	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(2);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* @program: with its name the message of a run that aborts, or hangs, begins. */
static void print_seed_on_failure(const char *program)
{
	seeded_program = program;
	signal(SIGABRT, print_seed);
	signal(SIGALRM, print_seed);
}

static void seed(unsigned long n)
{
	current_seed = n;
	state = n * 0x9e3779b97f4a7c15ull | 1;
}

#endif
