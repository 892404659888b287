// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring of events over several lives, and finds of bad blocks in it.
 */
#include <stdlib.h>
#include <string.h>

#include "lives.h"
#include "super/events.h"
#include "super/finds.h"
#include "work/destage.h"

static void live_told(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;

	note(s, pool->events->next);
	kvp_event(pool, "told");
	kvp_events_flush(pool);
}

static void live_remembering(struct script *s)
{
	struct kvp_disk_event e;

	if (!kvp_event_get(s->host.pool, own.noted[0], &e) || strcmp((char *)e.text, "told"))
		sim_fail("an event of an earlier life is forgotten");
}

/* One block of the ring hides no more than itself. */
static bool events_outlive_a_bad_block(struct script *s)
{
	if (!run_life(s, live_told) || !run_life(s, live_remembering))
		return false;
	own.bad_ring = true;
	return run_life(s, live_remembering);
}

/*
 * The number of finds in events from @seq on whose text begins with @begin; *@lines: the number of
 * these events.
 */
static u64 finds_of(struct script *s, u64 seq, const char *begin, u32 *lines)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_disk_event e;
	const char *many;
	u64 n = 0;

	for (*lines = 0; seq < pool->events->next; seq++) {
		if (!kvp_event_get(pool, seq, &e) || strncmp((char *)e.text, begin, strlen(begin)))
			continue;
		(*lines)++;
		many = strstr((char *)e.text, "blocks=");
		n += many ? strtoull(many + 7, NULL, 10) : 1;
	}
	return n;
}

/*
 * Twenty thousand bad blocks of two kinds in three minutes, with a pause that ends the first half.
 */
static void live_rotting(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	char name[KVP_LEG_WORDS], text[KVP_EVENT_TEXT];
	struct kvp_disk_event e;
	u32 i, lines;
	u64 n;

	note(s, pool->events->next);
	kvp_event(pool, "told");
	kvp_found(pool, KVP_FIND_HEALED, host_leg(&s->host, 0), 0, 1000);
	snprintf(text, sizeof(text), "healed leg=0 block=1000%s",
		 kvp_leg_words(host_leg(&s->host, 0), name));
	if (!kvp_event_get(pool, own.noted[0] + 1, &e) || strcmp((char *)e.text, text) ||
	    !strstr(text, " path=disk0"))
		sim_fail("the first find is '%s', not '%s'", (char *)e.text, text);
	for (i = 1; i < 20000; i++) {
		kvp_found(pool, KVP_FIND_HEALED, host_leg(&s->host, 0), 0, 1000 + 3 * i);
		kvp_found(pool, KVP_FIND_LOST, NULL, 0, i);
		if (i % 200 == 0)
			host_sleep(i == 10000 ? 100000 : 1000);
	}
	kvp_finds_report(pool);
	if (!kvp_event_get(pool, own.noted[0], &e) || strcmp((char *)e.text, "told"))
		sim_fail("older events are pushed out of the ring");
	n = finds_of(s, own.noted[0], "healed leg=0 block=", &lines);
	if (n != 20000 || lines > 24)
		sim_fail("%llu of 20000 in %u events", n, lines);
	if (finds_of(s, own.noted[0], "unrepaired block=", &lines) != 19999 || lines > 24)
		sim_fail("lost blocks make no event, or %u events", lines);
	kvp_events_flush(pool);
}

/* The disks have bad blocks, and a scrub mends them: two events. */
static void live_mended(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 seq = pool->events->next, healed, unrepaired;
	u8 zeros[KVP_BLOCK_SIZE] = { 0 };
	u32 lines, i;

	host_write(&s->host, 0, 200, true);
	if (kvp_destage_all(pool))
		sim_fail("not home");
	for (i = 0; i < 200; i++)
		image_write_data(&disks.img[0], own.base->data_start + i, zeros);
	host_scrub(&s->host, &healed, &unrepaired);
	if (healed < 200 || unrepaired || finds_of(s, seq, "healed leg=0 block=",
						   &lines) != healed || lines > 3)
		sim_fail("%llu healed, in %u events", healed, lines);
}

static bool rot_leaves_the_ring_its_lines(struct script *s)
{
	return run_life(s, live_rotting) && run_life(s, live_remembering) &&
	       run_life(s, live_mended);
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_events(void)
{
	ON_LEGS(events_outlive_a_bad_block, 1);
	ON_LEGS(events_outlive_a_bad_block, 2);
	ON_LEGS(rot_leaves_the_ring_its_lines, 2);
}
