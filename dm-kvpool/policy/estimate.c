// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>

#include "policy/estimate.h"

/* Microseconds a block. */
#define READ_US		40	/* in sequence, 100 MB/s */
#define HOME_US		40	/* alone, somewhere */
#define HOME_DISK_US	5000

/*
 * How often a recovery reads the log. It reads once to know what counts, and once to write that
 * home. If headers were enough, it reads once more before that, to verify the payload.
 */
static u32 readings(const struct kvp_recovery_work *w)
{
	if (w->stays)
		return 1;
	return w->by_headers ? 3 : 2;
}

/*
 * The time to write home each block of the log alone. With parity, each row is read twice, and
 * written. A row has at least two blocks of the log: data and parity; or, if it is in a stripe that
 * a discard cuts, those that are reserved for its parity. The discard's record itself takes next to
 * no room, so there may be one row for each two blocks.
 */
static u64 home_us(const struct kvp_recovery_work *w)
{
	u64 us = w->home_rotates ? HOME_DISK_US : HOME_US;

	if (w->stays)
		return 0;
	return w->row_legs ? us * w->row_legs : us;
}

u64 kvp_recovery_worst_ms(const struct kvp_recovery_work *w)
{
	u64 read_us = w->read_us && !w->log_rotates ? w->read_us : READ_US;

	return div_u64(w->window * (readings(w) * read_us + home_us(w)) +
		       (w->intents + w->leaves) * READ_US, 1000);
}
