// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block that cannot be read now is not taken as absent (R27).
 *
 * A recovery reads with patience, and notes the blocks that it could not read. Before it draws a
 * conclusion, it looks whether those blocks could change it:
 *
 * - A place in the log: a durable entry is on all legs in sync (R15). So if one of them was read,
 *   and has no part of a next entry there, there is none, whatever the other legs say. If all legs
 *   that were read have a part of it, torn or damaged, a leg that was not read may have all of it.
 *   Then it is unknown, unless the medium has lost that leg's copy. If no leg was read, it is
 *   unknown.
 * - A home under an intent: the newest version is known to be there if it is found. It is known to
 *   be absent if a leg that was read has an older version whole. A mixture shows nothing as long as
 *   a leg is silent.
 * - Blocks behind the end: they are needed only to tell damage from a torn end, and many headers
 *   show that (R10, R12). A bad sector among them may exist for years: that is no reason to refuse.
 *   If the host has no memory, or a leg does not answer, the start is refused, since trying again
 *   costs nothing. Near and far headers are counted separately, since there are many more near
 *   ones.
 * - A log that is discarded (discard_log.c): its blocks are counted for each SSD in the same way.
 * - A recovery's chain: see chain.c.
 *
 * If it is unknown, the start is refused. Until then nothing was made final, and a later start
 * finds everything.
 */
#include "core/core.h"
#include "core/refusal.h"
#include "io/io.h"
#include "recovery/recovery.h"

#define TRIES		5	/* 100 ms apart, if that may help */

/* How likely it is that a later try reads the block: least if the medium has lost it for good. */
static u32 rank(int error)
{
	if (!error)
		return 0;
	if (kvp_error_is_loss(error))
		return 1;
	return kvp_error_may_be_place(error) ? 2 : 3;
}

void kvp_unread_note(struct kvp_unread *u, const struct kvp_leg *leg, kvp_lblock_t block, int error)
{
	if (rank(error) > rank(u->error))
		*u = (struct kvp_unread){ leg, block, error };
}

bool kvp_unread_is_silent(const struct kvp_unread *u)
{
	return rank(u->error) > 1;
}

void kvp_asked_note(struct kvp_asked *a, const struct kvp_unread *u)
{
	a->asked++;
	if (!u->error)
		return;
	a->missed++;
	kvp_unread_note(&a->unread, u->leg, u->block, u->error);
}

bool kvp_asked_in_vain(const struct kvp_asked *a)
{
	if (!kvp_unread_is_silent(&a->unread))
		return false;
	return !kvp_error_may_be_place(a->unread.error) ||
	       (a->missed > 1 && a->missed > a->asked / 2);
}

int kvp_recovery_page(struct kvp_recovery *rec, struct kvp_leg *leg, kvp_lblock_t block,
		      struct page *page)
{
	bool *deaf = &rec->deaf[leg->index];
	u32 tries = 0;
	int error;

	for (;;) {
		error = kvp_io_page(leg, KVP_IO_READ, block, page);
		if (!error)
			return 0;
		tries++;
		/*
		 * Plain -EIO may come from the path to the device, so try once more. Do not wait
		 * before that, since there may be many bad sectors.
		 */
		if (kvp_error_may_be_place(error) && tries > 1)
			break;
		if (kvp_error_may_be_place(error))
			continue;
		/*
		 * After recovery has waited for a leg once in vain, it does not wait for each of
		 * its blocks.
		 */
		*deaf |= tries >= TRIES;
		if (*deaf)
			break;
		kvp_wait_for_memory();
	}
	if (kvp_error_kind(error) != KVP_ERR_RESOURCE)
		atomic64_inc(&leg->err_read);
	return error;
}

int kvp_recovery_unread(struct kvp_recovery *rec, const struct kvp_unread *u, const char *what)
{
	return kvp_refuse(rec->refusal, -EIO,
		"connect or repair it, and start again; the admin guide has advice if that block is gone for good",
		"%s does not answer for its block %llu (error %d), %s; nothing is lost",
		u->leg->path, kvp_lblock_nr(u->block), u->error, what);
}
