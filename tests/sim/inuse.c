// SPDX-License-Identifier: GPL-2.0-only
#include "inuse.h"

static void writer(void *arg)
{
	struct in_use *u = arg;
	struct host *h = &u->s->host;
	u32 i;

	for (i = 0; u->busy && (!u->most || i < u->most); i++) {
		host_write(h, 60 + i % 5, 2, true);
		if (i % 4 == 1)
			host_write(h, 128 + 24 * (i % 3), 24, false);
		host_flush(h);
		if (u->pause)
			host_sleep(u->pause);
	}
	u->writers--;
}

void in_use_begin(struct in_use *u, struct script *s, u32 victim, u32 after)
{
	if (victim != IN_USE_NO_DISK) {
		disks_fault(FAULT_DEATH, victim, 0, ~0ull)->after = after;
		s->host.may_fail = true;
	}
	script_cut_from_here(s);
	u->s = s;
	u->busy = true;
	u->writers = 1;
	sim_spawn("writer", writer, u);
}

void in_use_step(struct script *s, u32 n)
{
	struct host *h = &s->host;

	host_write(h, 21 + n, 4, true);
	host_write(h, 300, 5 + n, false);
	host_flush(h);
	host_read_check(h, 22);
}

void in_use_end(struct in_use *u)
{
	u->busy = false;
	while (u->writers)
		host_sleep(10);
}
