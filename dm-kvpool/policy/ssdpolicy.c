// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "policy/ghost.h"
#include "policy/index.h"
#include "policy/ssdpolicy.h"

/* Shares of the capacity, in percent. */
#define ROOM		20	/* while so much is unused, everything enters */
#define META_MOST	10
#define DESTAGE_MORE	10	/* dirty; from here on faster than the floor */
#define DESTAGE_FULL	50

#define REINSERT_SHARE	25	/* of a segment, in percent */
#define DRAIN_SECONDS	3600
#define SMALL_BLOCKS	16u
#define CUTOFF_WRITE	1024u	/* 4 MiB of a stream are worth an SSD's time */
#define CUTOFF_SLOW	64u	/* where the disks are what all wait for */
#define LEAST_RUN	16u	/* blocks: no writer waits for a larger write */
#define MOST_PIECES	4u	/* of a MiB of a stream, each a request to a disk */
#define WANTED_RUN	64u

/* Sightings: where less than a quarter of what enters is hit, three; from a half on, two. */
#define NEED_LEAST	2
#define NEED_MOST	3
#define JUDGE_SHARE	8	/* judged after so much of the cache was reclaimed: an eighth */

static_assert(NEED_MOST <= KVP_GHOST_MOST);

/* Credit is in such parts of a block that a second adds a whole number: capacity x percent. */
#define DAY		86400ull
#define CREDIT_UNIT	(100 * DAY)

static bool is_over(u64 part, u32 whole, u32 percent)
{
	return part * 100 > (u64)whole * percent;
}

/* --- what enters ------------------------------------------------------------------ */

static u64 most_credit(const struct kvp_ssd_policy *p)
{
	return DAY * p->capacity * p->fill_percent;
}

bool kvp_ssd_may_bypass(u32 ask, bool write, u32 blocks)
{
	if (ask & KVP_ASK_META)
		return false;
	if (write && ask & KVP_ASK_SYNC && blocks <= SMALL_BLOCKS)
		return false;
	return true;
}

bool kvp_ssd_bypass(u32 ask, bool write, u32 blocks, u32 run, u32 cutoff)
{
	return kvp_ssd_may_bypass(ask, write, blocks) && run > cutoff;
}

u32 kvp_ssd_cutoff_write(u32 set, bool slow)
{
	return set ?: slow ? CUTOFF_SLOW : CUTOFF_WRITE;
}

u32 kvp_ssd_least_run(u32 set, bool wanted)
{
	return min(kvp_ssd_cutoff_write(set, false), wanted ? WANTED_RUN : LEAST_RUN);
}

bool kvp_ssd_stream_passes(u32 blocks, u32 cached, u32 pieces)
{
	return pieces > MOST_PIECES && cached < blocks / 2;
}

/* At most a day's budget is saved up. */
static void raise_credit(struct kvp_ssd_policy *p, u64 now)
{
	u64 each = (u64)p->capacity * p->fill_percent;

	p->credit = min(p->credit + min(now - p->credited, DAY) * each, most_credit(p));
	p->credited = now;
}

static bool spend(struct kvp_ssd_policy *p, u64 now)
{
	raise_credit(p, now);
	if (p->credit < CREDIT_UNIT)
		return false;
	p->credit -= CREDIT_UNIT;
	return true;
}

void kvp_ssd_refund(struct kvp_ssd_policy *p)
{
	p->credit = min(p->credit + CREDIT_UNIT, most_credit(p));
}

void kvp_ssd_set_budget(struct kvp_ssd_policy *p, u32 fill_percent)
{
	p->fill_percent = fill_percent;
	p->credit = min(p->credit, most_credit(p));
}

enum kvp_ssd_verdict kvp_ssd_admit(struct kvp_ssd_policy *p, u64 key, u32 ask,
				   const struct kvp_ssd_state *st)
{
	bool meta = ask & KVP_ASK_META && !is_over(st->count.meta + 1, p->capacity, META_MOST);
	bool proven = false;

	if (!meta && !is_over(st->unused, p->capacity, ROOM)) {
		if (ask & KVP_ASK_AHEAD)
			return KVP_SSD_AHEAD;
		proven = kvp_ghost_see(&p->ghost, key) >= p->need;
		if (!proven)
			return KVP_SSD_UNPROVEN;
	}
	/* What is not written for want of credit stays known. */
	if (!spend(p, st->now))
		return KVP_SSD_BUDGET;
	if (proven)
		kvp_ghost_forget(&p->ghost, key);
	return KVP_SSD_ADMIT;
}

/* --- what stays ------------------------------------------------------------------- */

/* See whether letting blocks in was worth it. */
static void judge(struct kvp_ssd_policy *p, const struct kvp_index_entry *e)
{
	if (e->dirty || e->meta)
		return;
	p->left++;
	p->left_hit += e->hits > 0;
	if (p->left < p->capacity / JUDGE_SHARE + 1)
		return;
	if (is_over(p->left_hit, p->left, 50))
		p->need = NEED_LEAST;
	else if (!is_over(p->left_hit, p->left, 25))
		p->need = NEED_MOST;
	p->left = p->left_hit = 0;
}

u32 kvp_ssd_reinsert(struct kvp_ssd_policy *p, const struct kvp_index_entry *e, u32 n,
		     const struct kvp_ssd_state *st, bool *keep)
{
	bool meta = !is_over(st->count.meta, p->capacity, META_MOST);
	u32 room = p->segment * REINSERT_SHARE / 100, kept = 0, hits, i;

	for (i = 0; i < n; i++) {
		judge(p, &e[i]);
		keep[i] = e[i].dirty || (e[i].meta && meta);
		kept += keep[i];
	}
	for (hits = KVP_INDEX_MAX_HITS; hits; hits--)
		for (i = 0; i < n && room; i++)
			if (!keep[i] && e[i].hits == hits) {
				keep[i] = true;
				kept++;
				room--;
			}
	return kept;
}

/* --- how fast it is made clean ------------------------------------------------------ */

/*
 * A proportional control, without an integral part: the dirty blocks are themselves the
 * integral of what comes in and does not go out. If the data vdevs can take a steady load,
 * the dirty blocks come to rest below DESTAGE_FULL. Nothing can wind up or overshoot.
 */
u64 kvp_ssd_destage(u64 capacity, u64 floor, u64 dirty, u64 full)
{
	u64 rate = floor ?: DIV_ROUND_UP_ULL(capacity, DRAIN_SECONDS);
	u64 from = div_u64(capacity * DESTAGE_MORE, 100);
	u64 to = div_u64(capacity * DESTAGE_FULL, 100);

	if (!dirty)
		return 0;
	if (dirty >= to)
		return max(full, 1ull);
	if (dirty > from)
		rate = max(rate, div64_u64((dirty - from) * full, to - from));
	return min(rate, max(full, 1ull));
}

/* --- life ------------------------------------------------------------------------- */

int kvp_ssd_init(struct kvp_ssd_policy *p, u32 capacity, u32 segment, u32 fill_percent, u64 now,
		 u64 seed, gfp_t gfp)
{
	memset(p, 0, sizeof(*p));
	if (!segment || segment > capacity || capacity > KVP_INDEX_MAX_PLACES ||
	    fill_percent > KVP_SSD_MAX_FILL)
		return -EINVAL;
	p->capacity = capacity;
	p->segment = segment;
	p->fill_percent = fill_percent;
	p->credit = most_credit(p);
	p->credited = now;
	p->need = NEED_MOST;
	return kvp_ghost_init(&p->ghost, capacity, seed, gfp);
}

void kvp_ssd_exit(struct kvp_ssd_policy *p)
{
	kvp_ghost_exit(&p->ghost);
}

const char *kvp_ssd_check(const struct kvp_ssd_policy *p)
{
	if (p->credit > most_credit(p))
		return "the budget";
	if (p->need < NEED_LEAST || p->need > NEED_MOST)
		return "the sightings needed";
	return kvp_ghost_check(&p->ghost);
}
