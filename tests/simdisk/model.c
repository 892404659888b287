// SPDX-License-Identifier: GPL-2.0-only
/* Service times; model.h is the manual. Also built in userspace: see selftest.sh. */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include "model.h"

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* The root of @x, rounded down, one bit of it at a time. */
static u64 root(u64 x)
{
	u64 r = 0, bit = 1ull << 31;

	for (; bit; bit >>= 1)
		if ((r | bit) * (r | bit) <= x)
			r |= bit;
	return r;
}

static u64 track_of(u64 sector)
{
	return sector / SIM_DISK_TRACK;
}

void sim_disk_init(struct sim_disk *d, u64 sectors)
{
	memset(d, 0, sizeof(*d));
	d->tracks = later(track_of(sectors + SIM_DISK_TRACK - 1), 1);
}

u64 sim_disk_seek_ns(const struct sim_disk *d, u64 from, u64 to, bool write)
{
	u64 a = track_of(from), b = track_of(to), far = a > b ? a - b : b - a;
	u64 step = write ? SIM_DISK_STEP_WRITE_NS : SIM_DISK_STEP_READ_NS;
	u64 us = write ? SIM_DISK_SEEK_WRITE_US : SIM_DISK_SEEK_READ_US;

	if (far <= 1)
		return far * step;
	return step + 1000 * root(us * us * far / d->tracks);
}

/* When in a turn the sector passes the head. */
static u64 angle_of(u64 sector)
{
	return (sector % SIM_DISK_TRACK * SIM_DISK_SECTOR_NS +
		track_of(sector) * SIM_DISK_SKEW_NS) %
	       SIM_DISK_TURN_NS;
}

/* Over @nr sectors from @from on. A step to the next track takes its skew. */
static u64 pass_ns(u64 from, u64 nr)
{
	return nr * SIM_DISK_SECTOR_NS +
	       (track_of(from + nr - 1) - track_of(from)) * SIM_DISK_SKEW_NS;
}

u32 sim_disk_pick(const struct sim_disk *d, struct sim_disk_cmd *const *cmd, u32 nr)
{
	u32 next = nr, first = 0, old = 0, best, i;

	for (i = 0; i < nr; i++) {
		if (cmd[i]->sector >= d->head && (next == nr || cmd[i]->sector < cmd[next]->sector))
			next = i;
		if (cmd[i]->sector < cmd[first]->sector)
			first = i;
		if (cmd[i]->overtaken > cmd[old]->overtaken)
			old = i;
	}
	best = next < nr ? next : first;
	if (cmd[old]->overtaken >= SIM_DISK_OVERTAKEN)
		best = old;
	for (i = 0; i < nr; i++)
		cmd[i]->overtaken += cmd[i]->arrived < cmd[best]->arrived;
	return best;
}

/* Up to where the track cache has read by then, if nothing has moved the arm. */
static u64 cached_to(const struct sim_disk *d, u64 now)
{
	u64 left = (SIM_DISK_TRACK - d->cache_to % SIM_DISK_TRACK) % SIM_DISK_TRACK, took, more;

	if (!d->cache_at || now <= d->cache_at)
		return d->cache_to;
	took = now - d->cache_at;
	more = took / SIM_DISK_SECTOR_NS;
	if (more > left) { /* over the end of the track */
		took -= took < SIM_DISK_SKEW_NS ? took : SIM_DISK_SKEW_NS;
		more = later(left, took / SIM_DISK_SECTOR_NS);
	}
	return d->cache_to + (more < SIM_DISK_TRACK ? more : SIM_DISK_TRACK);
}

/*
 * A read that begins in the track cache, or where that is reading now. What is
 * there takes the wire; what is not there yet comes as it passes the head.
 */
static u64 serve_cached(struct sim_disk *d, const struct sim_disk_cmd *cmd, u64 start, u64 to)
{
	u64 end = cmd->sector + cmd->nr, done = start + (u64)cmd->nr * SIM_DISK_WIRE_NS;

	if (end > to) {
		/* less the sector before, which has passed */
		done = later(done, d->cache_at - SIM_DISK_SECTOR_NS +
				   pass_ns(d->cache_to - 1, end - d->cache_to + 1));
		d->cache_at = done;
		d->cache_to = end;
		d->cache_from = later(d->cache_from,
				      end > SIM_DISK_TRACK ? end - SIM_DISK_TRACK : 0);
		d->head = end;
	}
	d->free_at = done;
	return done;
}

/* Whether the arm is on its way over the first sector that is missing. */
static bool reading_on(const struct sim_disk *d, u64 to)
{
	return d->cache_at && to < d->cache_to + SIM_DISK_TRACK;
}

/* What becomes of the track cache: a read fills it anew, a write stops it and is not kept. */
static void cache_after(struct sim_disk *d, const struct sim_disk_cmd *cmd, u64 to, u64 done)
{
	u64 end = cmd->sector + cmd->nr;

	if (!cmd->write) {
		d->cache_from = cmd->sector;
		d->cache_to = end;
		d->cache_at = done;
		return;
	}
	d->cache_to = to;
	d->cache_at = 0;
	if (cmd->sector < to && end > d->cache_from)
		d->cache_from = to;
}

u64 sim_disk_serve(struct sim_disk *d, const struct sim_disk_cmd *cmd)
{
	/* The overhead of a command that waited for the arm is over by then. */
	u64 start = later(d->free_at, cmd->arrived + SIM_DISK_OVERHEAD_NS);
	u64 to = cached_to(d, start), end = cmd->sector + cmd->nr, at, wait, done;

	if (!cmd->write && cmd->sector >= d->cache_from && cmd->sector <= to &&
	    (end <= to || reading_on(d, to)))
		return serve_cached(d, cmd, start, to);
	at = start + sim_disk_seek_ns(d, d->head, cmd->sector, cmd->write);
	wait = (angle_of(cmd->sector) + SIM_DISK_TURN_NS - at % SIM_DISK_TURN_NS) %
		SIM_DISK_TURN_NS;
	done = at + wait + pass_ns(cmd->sector, cmd->nr);
	cache_after(d, cmd, to, done);
	d->head = end;
	d->free_at = done;
	return done;
}

void sim_flash_init(struct sim_flash *f)
{
	memset(f, 0, sizeof(*f));
}

u64 sim_flash_serve(struct sim_flash *f, u64 now, u32 bytes, bool write)
{
	u64 mbs = write ? SIM_FLASH_WRITE_MBS : SIM_FLASH_READ_MBS, done;
	u32 best = 0, i;

	for (i = 1; i < SIM_FLASH_UNITS; i++)
		if (f->unit[i] < f->unit[best])
			best = i;
	done = later(later(now, f->paused), f->unit[best]);
	done += write ? SIM_FLASH_WRITE_NS : SIM_FLASH_READ_NS;
	/* A thousand nanoseconds for as many bytes as there are megabytes a second. */
	done = later(done, f->wire[write]) + (u64)bytes * 1000 / mbs;
	f->wire[write] = done;
	f->unit[best] = done;
	if (write) {
		f->written += bytes;
		if (f->written >= SIM_FLASH_COLLECT) {
			f->written -= SIM_FLASH_COLLECT;
			f->paused = done + SIM_FLASH_PAUSE_NS;
		}
	}
	return done;
}
