// SPDX-License-Identifier: GPL-2.0-only
/* Which reads are part of a long stream: policy/streams.c. Part of the golden suite. */
#include "suite.h"

#include "policy/streams.h"

/* Requests of all sizes, in sequence; a gap, a repetition and a step back begin a new stream. */
bool streams_length_test(void)
{
	struct kvp_streams s = { { 0 } };
	u64 at = 1000;
	u32 i, length = 0;
	bool good = true;

	for (i = 1; i < 200; i++) {
		length += i;
		good &= expect(kvp_streams_read(&s, at, i) == length, "request %u", i);
		at += i;
	}
	good &= expect(kvp_streams_read(&s, at + 1, 4) == 4, "after a gap");
	good &= expect(kvp_streams_read(&s, at + 1, 4) == 4, "again");
	good &= expect(kvp_streams_read(&s, at, 4) == length + 4, "where it went on");
	good &= expect(kvp_streams_read(&s, at - 4, 4) == 4, "a step back");
	for (i = 0, at = 1ull << 40; i < 3000; i++, at += 1024)
		length = kvp_streams_read(&s, at, 1024);
	return good & expect(length == (1u << 20) - 1, "no end: %u", length);
}

/* With random reads between, a stream is soon known again; and they are never taken for one. */
bool streams_crowd_test(void)
{
	struct kvp_streams s = { { 0 } };
	struct rng rng = { 5 };
	u32 i, j, known = 0, taken = 0;

	for (i = 0; i < 2000; i++) {
		known += kvp_streams_read(&s, 8 * i, 8) > 32;
		for (j = 0; j < 8; j++)
			taken += kvp_streams_read(&s, (1ull << 32) + rng_below(&rng, 1u << 30),
						  1) > 1;
	}
	return expect(known > 1000, "known %u times of 2000", known) &
	       expect(!taken, "%u random reads were taken for a stream", taken);
}
