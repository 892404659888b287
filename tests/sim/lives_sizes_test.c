// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that grow, or are cut short, and labels at ends where they have been.
 */
#include <stdio.h>
#include <string.h>

#include "lives.h"
#include "pool/online.h"
#include "super/members.h"

static void resize(struct image *img, u32 blocks)
{
	struct image new;
	u32 b;

	image_init(&new, blocks);
	for (b = 0; b < min(blocks, img->blocks); b++)
		if (image_blk(img, b))
			image_write(&new, b, image_blk(img, b), ALL_SECTORS);
	image_free(img);
	*img = new;
}

/* Its end now has no label. The old one is in its place, and answers for the other. */
static bool label_of_a_grown_leg_is_found(struct script *s)
{
	u64 made = s->img[0].blocks;

	if (!run_life(s, live_superblocks))
		return false;
	resize(&s->img[0], made + 300);
	remember(s, s->img);
	if ((hidden(s, 1, 1, own.noted[0], 1) && !has_all(s)) ||
	    (hidden(s, 0, 0, 0, 0) && !has_all(s)))
		return false;
	hidden(s, 1, 3, own.noted[0], 1);
	own.unread.made = made;
	return refused(s, -EIO, "newer superblock");
}

static void live_to_another_superblock(struct script *s)
{
	live_one_flush(s);
	host_checkpoint(&s->host);
	note(s, s->host.pool->sb->sequence);
}

/*
 * A device grows, is used, and grows again: nothing names the end where its second label lies. The
 * one at the first end has the newest superblock that can be read, and was left since. It does not
 * say that there is no newer one.
 */
static bool label_of_a_leg_that_grew_twice_is_waited_for(struct script *s)
{
	u64 made = s->img[0].blocks;

	if (!run_life(s, live_to_another_superblock))
		return false;
	resize(&s->img[0], made + 300);
	if (!run_life(s, live_to_another_superblock))
		return false;
	resize(&s->img[0], made + 600);
	remember(s, s->img);
	hidden(s, 1, 1, own.noted[0] + 1, own.noted[1] - own.noted[0]);
	/* Another leg has the newest one: this leg is as good. */
	if (s->legs > 1)
		return has_all(s);
	if (!refused(s, -EIO, "newer superblock"))
		return false;
	memset(&own.unread, 0, sizeof(own.unread));
	return has_all(s);
}

/* Its legs are larger, and say so. Then one is lost. */
static void live_larger_without_a_leg(struct script *s)
{
	struct host *h = &s->host;

	live_one_flush(s);
	note(s, h->pool->sb->sequence);
	s->start.leg_blocks = disks.img[0].blocks - 300;
	if (host_grow_ahead(h, &s->start))
		sim_fail("not copied ahead: %s", h->refusal.why);
	host_sleep(100);
	live_one_flush(s);
	if (kvp_leg_offline(h->pool, host_leg(h, 1)))
		sim_fail("leg 1 stays");
	host_write(h, 60, 5, true);
	note(s, h->pool->sb->sequence);
}

/*
 * The devices have grown once more. The newest superblocks of leg 0 are at an end that only the
 * label of leg 1 names, and they record that leg out.
 */
static bool label_at_an_end_that_another_leg_names_is_found(struct script *s)
{
	u64 made = s->img[0].blocks;
	u32 i;

	for (i = 0; i < s->legs; i++)
		resize(&s->img[i], made + 2400);
	s->start.leg_blocks = made;
	if (!run_life(s, live_larger_without_a_leg))
		return false;
	s->start.leg_blocks = 0;
	remember(s, s->img);
	hidden(s, 1, 1, own.noted[0] + 1, own.noted[1] - own.noted[0]);
	if (!starts(s))
		return false;
	memset(&own.unread, 0, sizeof(own.unread));
	return all_there(s, BIT(1));
}

static void live_larger(struct script *s)
{
	struct host *h = &s->host;

	live_one_flush(s);
	note(s, h->pool->sb->sequence);
	s->start.leg_blocks = 0;
	if (host_larger(h, &s->start))
		sim_fail("not grown: %s", h->refusal.why);
	host_write(h, 60, 5, true);
	note(s, h->pool->sb->sequence);
}

/*
 * The pool has grown, and a device has its old size again. Its label there, and what can be read at
 * the front, are of before. The other leg says what the layout is.
 */
static bool small_leg_without_its_newest_label_is_named(struct script *s)
{
	u32 made = s->img[0].blocks, i;

	for (i = 0; i < s->legs; i++)
		resize(&s->img[i], made + 2100);
	s->start.leg_blocks = made;
	s->start.grown = true;
	if (!run_life(s, live_larger))
		return false;
	resize(&s->img[0], made);
	remember(s, s->img);
	hidden(s, 1, 1, own.noted[0] + 1, own.noted[1] - own.noted[0]);
	return refused(s, -ENOSPC, "disk0 is too small");
}

static void live_in_a_large_pool(struct script *s)
{
	host_write(&s->host, 10, 20, true);
	host_checkpoint(&s->host);
}

static void live_and_read(struct script *s)
{
	host_read_each(&s->host, 10, 20);
	host_write(&s->host, 15, 3, true);
	host_stop(&s->host);
}

static void live_larger_and_out(struct script *s)
{
	live_larger(s);
	if (kvp_leg_offline(s->host.pool, host_leg(&s->host, 1)))
		sim_fail("leg 1 stays");
	host_write(&s->host, 20, 7, true);
}

static void live_returns_small(struct script *s)
{
	struct host *h = &s->host;

	if (host_online(h, 1) != -ENOSPC || !strstr(h->refusal.why, "disk1 is too small"))
		sim_fail("leg 1 is an old copy on a small device, and returns: %s", h->refusal.why);
	host_read_each(h, 10, 70);
}

/*
 * The pool has grown, and a leg was taken out. On a device of the old size there is a copy of that
 * leg, from before the growth. Its own label is sound.
 */
static bool small_copy_of_a_leg_that_is_out_stays_out(struct script *s)
{
	u32 made = s->img[0].blocks, i;

	for (i = 0; i < s->legs; i++)
		resize(&s->img[i], made + 2100);
	s->start.leg_blocks = made;
	s->start.grown = true;
	if (!run_life(s, live_one_flush))
		return false;
	remember(s, s->img);
	if (!run_life(s, live_larger_and_out))
		return false;
	image_free(&s->img[1]);
	image_copy(&s->img[1], &own.old[1]);
	resize(&s->img[1], made);
	return run_life(s, live_returns_small);
}

static void live_resized(struct script *s)
{
	struct host *h = &s->host;
	struct kvp_leg *leg = host_leg(h, 1);
	u64 made = leg->size_blocks;

	live_one_flush(s);
	kvp_leg_resized(leg, made - 1);
	if (leg->size_blocks != made)
		sim_fail("the second label of a leg in use has moved");
	if (kvp_leg_offline(h->pool, leg))
		sim_fail("leg 1 stays");
	host_write(h, 20, 7, true);
	kvp_leg_resized(leg, made - 1);
	if (host_online(h, 1) != -ENOSPC || !strstr(h->refusal.why, "disk1 is too small"))
		sim_fail("leg 1 is too small, and returns: %s", h->refusal.why);
	kvp_leg_resized(leg, made);
	if (host_online(h, 1))
		sim_fail("leg 1 does not return: %s", h->refusal.why);
	host_wait_resilver(h);
	host_read_each(h, 10, 70);
}

/* A device has another size while its leg is out, under the same number. */
static bool leg_that_is_out_may_be_resized(struct script *s)
{
	return run_life(s, live_resized) && all_there(s, BIT(0));
}

/* A dock takes the last MiB, or returns it: all of the layout is still there. */
static bool large_leg_may_lose_some_of_its_end(struct script *s)
{
	const u32 blocks = KVP_SLACK_FROM + 77;
	u32 i;

	for (i = 0; i < s->legs; i++) {
		image_free(&s->img[i]);
		image_init(&s->img[i], blocks);
	}
	s->start.format = true;
	if (!run_life(s, live_in_a_large_pool))
		return false;
	s->start.format = false;
	for (i = 0; i < 3; i++) {
		resize(&s->img[0], i == 1 ? blocks : blocks - KVP_SLACK_BLOCKS);
		if (!run_life(s, live_and_read))
			return false;
	}
	resize(&s->img[0], blocks - 2 * KVP_SLACK_BLOCKS);
	return refused(s, -ENOSPC, "disk0 is too small");
}

/* Its last block is cut off, and with it the place of the label there. */
static bool shortened_leg_is_named(struct script *s)
{
	struct image *img = &s->img[s->legs - 1];
	char words[32];

	resize(img, img->blocks - 1);
	snprintf(words, sizeof(words), "disk%u is too small", s->legs - 1);
	return refused(s, -ENOSPC, words);
}

/* --- the cases -------------------------------------------------------------------------------- */

void run_lives_sizes(void)
{
	ON_LEGS(label_of_a_grown_leg_is_found, 1);
	ON_LEGS(label_of_a_leg_that_grew_twice_is_waited_for, 1);
	ON_LEGS(label_of_a_leg_that_grew_twice_is_waited_for, 2);
	ON_LEGS(label_at_an_end_that_another_leg_names_is_found, 2);
	ON_LEGS(small_leg_without_its_newest_label_is_named, 2);
	ON_LEGS(small_copy_of_a_leg_that_is_out_stays_out, 2);
	ON_LEGS(leg_that_is_out_may_be_resized, 2);
	ON_LEGS(large_leg_may_lose_some_of_its_end, 1);
	ON_LEGS(large_leg_may_lose_some_of_its_end, 2);
	ON_LEGS(shortened_leg_is_named, 1);
	ON_LEGS(shortened_leg_is_named, 2);
	ON_CACHE(shortened_leg_is_named);
}
