// SPDX-License-Identifier: GPL-2.0-only
/*
 * What cannot be read now is not absent (R27).
 *
 * A recovery reads with patience, and notes the places that it could not read. Before it concludes
 * something, it looks what that rests on:
 *
 *   a place in the log   Durable is what all legs in sync have (R15). So one of them that was read, and has
 *                        nothing there of an entry that would come next, is an answer, whatever the others say
 *                        or do not say. If all that were read have it in part, torn or rotten, one that was not
 *                        read may have it whole: no answer, unless its medium has lost it. If none was read
 *                        there is no answer.
 *   a home under an intent  The newest version that is found is an answer. That it is not there is one if a leg
 *                        that was read has an older one whole; a mixture shows nothing as long as a leg is silent.
 *   what lies behind the end  Only tells damage from a torn end, and by many headers (R10, R12). A bad sector
 *                        among them, which may be there for years, is no reason to refuse. A host without
 *                        memory, or a leg that does not answer, is: it costs nothing to ask again. Headers that
 *                        are near and those that are far are counted apart: the near ones are many more.
 *   a log that is given up   discard_log.c. Counted by SSD, as what lies behind the end
 *   a recovery's chain   chain.c
 *
 * Where there is no answer the start is refused. Nothing was made final then, and a later one finds all of it.
 */
#include "core/core.h"
#include "io/io.h"
#include "recovery/recovery.h"

#define TRIES		5	/* 100 ms apart, where that may help */

/* How much a later try may bring: what is lost nothing. */
static u32 rank(int error)
{
	if (!error)
		return 0;
	if (kvp_error_is_loss(error))
		return 1;
	return kvp_error_may_be_place(error) ? 2 : 3;
}

void kvp_unread_note(struct kvp_unread *u, const struct kvp_leg *leg, u64 block, int error)
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
	return !kvp_error_may_be_place(a->unread.error) || (a->missed > 1 && a->missed > a->asked / 2);
}

int kvp_recovery_page(struct kvp_recovery *rec, struct kvp_leg *leg, u64 block, struct page *page)
{
	bool *deaf = &rec->deaf[leg->index];
	u32 tries = 0;
	int error;

	for (;;) {
		error = kvp_io_page(leg, KVP_IO_READ, block, page);
		if (!error)
			return 0;
		tries++;
		/* Plain -EIO may have been the way there: once more, and at once, as there may be many bad sectors. */
		if (kvp_error_may_be_place(error) && tries > 1)
			break;
		if (kvp_error_may_be_place(error))
			continue;
		/*
		 * If a leg has used up its patience, the recovery does not wait for each of its
		 * blocks.
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
		"connect or repair it, and start again; the admin guide has advice if that block "
		"is gone for good",
		"%s does not answer for its block %llu (error %d), %s; nothing is lost", u->leg->path,
		(unsigned long long)u->block, u->error, what);
}
