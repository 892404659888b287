// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model against what is known of such disks, in userspace, in its own time:
 * selftest.sh --model builds and runs this. Prints TAP.
 */
#include <stdio.h>

#include "model.h"

#define MS 1000000ull
#define MIB 2048u		/* sectors */
#define SIZE (4096ull * MIB)	/* 4 GiB, 2048 tracks */

static int passed, failed;

static void is(bool good, const char *name, u64 got)
{
	if (good)
		passed++;
	else
		failed++;
	printf("%sok %d - %s (%llu)\n", good ? "" : "not ", passed + failed, name,
	       (unsigned long long)got);
}

static bool within(u64 value, u64 low, u64 high)
{
	return value >= low && value <= high;
}

static u64 luck(void)
{
	static u64 state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 33;
}

static u64 one(struct sim_disk *d, u64 arrived, u64 sector, u32 nr, bool write)
{
	struct sim_disk_cmd cmd = { .sector = sector, .nr = nr, .arrived = arrived,
		.write = write };

	return sim_disk_serve(d, &cmd);
}

static struct sim_disk_cmd command(u64 k, u32 nr, bool write, bool random, u64 now)
{
	return (struct sim_disk_cmd) {
		.sector = random ? luck() % (SIZE - nr) / 8 * 8 : k * nr,
		.nr = nr, .arrived = now, .write = write,
	};
}

/* @depth commands in flight; each that is done makes room for the next. Nanoseconds a command. */
static u64 keep_busy(u32 depth, u32 total, u32 nr, bool write, bool random, u64 *longest)
{
	struct sim_disk_cmd cmd[SIM_DISK_TAGS], *tags[SIM_DISK_TAGS];
	struct sim_disk d;
	u64 now = 0, k;
	u32 i;

	sim_disk_init(&d, SIZE);
	*longest = 0;
	for (k = 0; k < depth; k++) {
		cmd[k] = command(k, nr, write, random, 0);
		tags[k] = &cmd[k];
	}
	for (; k < total + depth; k++) {
		i = sim_disk_pick(&d, tags, depth);
		now = sim_disk_serve(&d, &cmd[i]);
		if (now - cmd[i].arrived > *longest)
			*longest = now - cmd[i].arrived;
		cmd[i] = command(k, nr, write, random, now);
	}
	return now / total;
}

static void test_seek(void)
{
	struct sim_disk d;
	u64 i, sum[2] = { 0, 0 }, n = 200000, before = 0, bad = 0;

	sim_disk_init(&d, SIZE);
	for (i = 0; i < n; i++) {
		u64 a = luck() % SIZE, b = luck() % SIZE;

		sum[0] += sim_disk_seek_ns(&d, a, b, false);
		sum[1] += sim_disk_seek_ns(&d, b, a, true);
	}
	is(within(sum[0] / n, 7300000, 7500000), "an average seek to read takes 7.4 ms", sum[0] / n);
	is(within(sum[1] / n, 8100000, 8300000), "and to write 8.2 ms", sum[1] / n);
	is(sim_disk_seek_ns(&d, 0, SIM_DISK_TRACK - 1, false) == 0, "on a track there is none", 0);
	is(sim_disk_seek_ns(&d, 0, SIM_DISK_TRACK, false) == 230000, "a step takes 0.23 ms",
	   sim_disk_seek_ns(&d, 0, SIM_DISK_TRACK, false));
	for (i = 0; i < SIZE; i += SIM_DISK_TRACK) {
		u64 ns = sim_disk_seek_ns(&d, 0, i, false);

		bad += ns < before;
		before = ns;
	}
	is(!bad, "a longer way takes no less time", bad);
}

static void test_disk_rates(void)
{
	u64 longest, ns = keep_busy(1, 20000, 8, false, true, &longest), all;

	/* seek 7.4, half a turn 4.17, overhead 0.05, 8 sectors 0.016 */
	is(within(ns, 11500000, 11800000), "a random read alone takes 11.6 ms", ns);
	is(longest < 23 * MS, "and none longer than the whole stroke and a turn", longest);
	all = keep_busy(32, 20000, 8, false, true, &longest);
	is(within(all, ns / 3, ns * 2 / 3), "32 tags make it 1.5 to 3 times as fast", all);
	is(longest < 700 * MS, "the elevator comes by in time", longest);
	ns = keep_busy(4, 4000, MIB, false, false, &longest);
	is(within(MS * 1000 / ns, 228, 232), "a stream of reads has 231 MiB/s", MS * 1000 / ns);
	ns = keep_busy(4, 4000, MIB, true, false, &longest);
	is(within(MS * 1000 / ns, 228, 232), "so has one of writes", MS * 1000 / ns);
	ns = keep_busy(1, 2000, 8, true, false, &longest);
	is(within(ns, 8300000, 8500000), "a write that comes too late waits for a turn", ns);
	ns = keep_busy(1, 20000, 8, false, false, &longest);
	is(ns < 70000, "a read that comes late is in the track cache", ns);
}

/* How long a command takes that arrives @idle after the last one was done. */
static u64 takes(struct sim_disk *d, u64 idle, u64 sector, bool write)
{
	u64 arrived = d->free_at + idle;

	return one(d, arrived, sector, 8, write) - arrived;
}

static void test_track_cache(void)
{
	struct sim_disk d;
	u64 t;

	sim_disk_init(&d, SIZE);
	takes(&d, 0, 1000, false);
	t = takes(&d, 0, 1000, false);
	is(t < MS / 10, "what was read is there", t);
	t = takes(&d, 20 * MS, 1000 + SIM_DISK_TRACK, false);
	is(t < MS / 10, "and a track behind it", t);
	t = takes(&d, 0, 1000 + SIM_DISK_TRACK + 8, false);
	is(t > MS / 5, "but no more", t);
	takes(&d, 0, 1000 + SIM_DISK_TRACK + 8, true);
	t = takes(&d, 0, 1000 + SIM_DISK_TRACK + 8, false);
	is(t > 8 * MS, "nor what was written since", t);
	takes(&d, 0, SIZE / 2, false);
	takes(&d, 0, 0, true);
	t = takes(&d, 20 * MS, SIZE / 2 + 64, false);
	is(t > 5 * MS, "an arm that has gone reads no more", t);
}

static void test_elevator(void)
{
	struct sim_disk_cmd cmd[4] = {
		{ .sector = 500 }, { .sector = 100 }, { .sector = 300 }, { .sector = 200 },
	};
	struct sim_disk_cmd *tags[4] = { &cmd[0], &cmd[1], &cmd[2], &cmd[3] };
	struct sim_disk_cmd far = { .sector = SIZE - 8 }, near, *two[2] = { &far, &near };
	struct sim_disk d;
	u64 order = 0, n;
	u32 i, nr, best;

	sim_disk_init(&d, SIZE);
	d.head = 250;
	for (nr = 4; nr; nr--) {
		best = sim_disk_pick(&d, tags, nr);
		order = order * 10 + tags[best]->sector / 100;
		d.head = tags[best]->sector + 8;
		tags[best] = tags[nr - 1];
	}
	is(order == 3512, "upwards from the head, then from the start", order);

	for (n = 1, i = 1; i; n++) {
		near = (struct sim_disk_cmd) { .sector = d.head, .nr = 8, .arrived = n };
		i = sim_disk_pick(&d, two, 2);
		d.head = two[i]->sector + 8;
		if (n > 1000)
			break;
	}
	is(n == SIM_DISK_OVERTAKEN + 2, "a stream overtakes others 64 times, no more", n - 2);
}

static void test_flash(void)
{
	struct sim_flash f;
	u64 t, last = 0, worst = 0, i, n = 4096;

	sim_flash_init(&f);
	for (i = 0; i < SIM_FLASH_UNITS; i++)
		last = sim_flash_serve(&f, 0, 4096, false);
	is(within(last, 80000, 80000 + 64 * 700), "64 reads at once take little longer than one", last);
	last = sim_flash_serve(&f, 0, 4096, false);
	is(last >= 160000, "the next waits for one of them", last);
	sim_flash_init(&f);
	last = sim_flash_serve(&f, 0, 1 << 20, false);
	is(within(last, 230000, 240000), "1 MiB costs its bytes: 234 us", last);

	sim_flash_init(&f);
	for (i = 0, t = 0; i < n; i++, t = last) {
		last = sim_flash_serve(&f, t, 1 << 20, true);
		worst = last - t > worst ? last - t : worst;
	}
	is(within(worst, 10 * MS, 11 * MS), "a write waits for a collection", worst);
	/* 749 us a MiB on the wire, 15 us of latency, 10 ms a 32 MiB */
	is(within(t / n, 1060000, 1090000), "which is once every 32 MiB", t / n);
	sim_flash_init(&f);
	sim_flash_serve(&f, 0, SIM_FLASH_COLLECT, true);
	t = sim_flash_serve(&f, f.paused - MS, 4096, false) - (f.paused - MS);
	is(within(t, MS + 80000, MS + 90000), "and a read waits as well", t);
}

int main(void)
{
	test_seek();
	test_disk_rates();
	test_track_cache();
	test_elevator();
	test_flash();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
