// SPDX-License-Identifier: GPL-2.0-only
/* Walking the log. */
#include <stdlib.h>

#include "logrows.h"
#include "logwalk.h"

enum log_state log_state(const struct offline_pool *pool, const struct log_walk *w)
{
	if (w->unread && !(pool->sb->flags & KVP_SB_CLEAN))
		return LOG_UNKNOWN;
	if (w->damaged)
		return LOG_DAMAGED;
	return w->max_epoch > pool->sb->epoch ? LOG_NEWER : LOG_SOUND;
}

void log_rec(const void *buf, u32 i, struct kvp_rec *r)
{
	const struct kvp_disk_rec *d =
		(const struct kvp_disk_rec *)((const u8 *)buf + KVP_LOG_HDR_SIZE);

	kvp_rec_decode(&d[i], r);
}

/* The sum that the payload of a record must have; parity sums with its vdev's seed. */
static u32 payload_sum(const struct kvp_sb *sb, const struct kvp_rec *r, const void *data)
{
	bool parity = r->kind == KVP_REC_PARITY;
	struct kvp_seed seed = kvp_sum_seed(sb->nonce, parity ? r->vdev : 0, sb->incompat);

	return kvp_block_sum(seed, parity ? kvp_parity_addr(r->block) : r->block, data);
}

u32 walker_sum(const struct walker *k, const struct kvp_rec *r, const void *data)
{
	return payload_sum(k->pool->sb, r, data);
}

/*
 * True if the leg has a place for the log's @lsn; @at receives the place. The rotation of vdevs
 * decides whether the entry is there.
 */
static bool on_leg(const struct offline_pool *p, unsigned int leg, u64 lsn, u64 *at)
{
	u32 copy;

	for (copy = 0; copy < kvp_log_copies(p->g); copy++) {
		struct kvp_place place = kvp_log_place(p->g, lsn, copy);

		*at = place.block;
		if (p->g->first_leg + place.leg == p->index[leg])
			return true;
	}
	return false;
}

/* The same for a leg of the walker. */
static bool room_on(const struct walker *k, unsigned int leg, u64 lsn, u64 *at)
{
	return on_leg(k->legs[leg].pool, k->legs[leg].place, lsn, at);
}

static int leg_read(const struct walker *k, unsigned int leg, u64 at, u32 count, void *buf)
{
	const struct log_leg *l = &k->legs[leg];

	return device_read(l->pool->legs[l->place], at, count, buf);
}

/* Payload of clean blocks is not checked: no reader needs it. */
static int payload_check(const struct walker *k, const struct kvp_log_hdr *h, const void *buf,
			 struct kvp_why *why)
{
	const u8 *data = (const u8 *)buf + ((size_t)h->hdr_blocks << KVP_BLOCK_SHIFT);
	struct kvp_rec r;
	u32 i;

	for (i = 0; i < h->rec_count; i++) {
		log_rec(buf, i, &r);
		if (!kvp_rec_has_payload(&r))
			continue;
		if (kvp_rec_counts(&r) && payload_sum(k->pool->sb, &r, data) != r.crc) {
			snprintf(why->text, sizeof(why->text),
				 "log entry %llu: bad payload of block %llu",
				 (unsigned long long)h->lsn, (unsigned long long)r.block);
			return -EUCLEAN;
		}
		data += KVP_BLOCK_SIZE;
	}
	return 0;
}

/* Blocks that the header claims, before anything is verified; at least 1, at most @most. */
static u32 claimed_blocks(const struct kvp_disk_log_hdr *d, u64 nonce, u32 most)
{
	u32 blocks = le32_to_cpu(d->blocks);

	if (le32_to_cpu(d->magic) != KVP_LOG_MAGIC || le64_to_cpu(d->nonce) != nonce || !blocks)
		return 1;
	return blocks < most ? blocks : most;
}

int walker_decode(const struct walker *k, const void *buf, u32 avail, u64 lsn,
		  struct kvp_log_hdr *h,
		  struct kvp_why *why)
{
	const struct kvp_sb *sb = k->pool->sb;
	int ret = kvp_log_decode(k->pool->g, buf, avail, sb->nonce, k->nonce, lsn, sb->pool_blocks,
				 h, why);

	if (ret || kvp_log_rows_known(sb, buf, h))
		return ret;
	snprintf(why->text, sizeof(why->text), "log entry %llu: bad row of a record",
		 (unsigned long long)lsn);
	return -EUCLEAN;
}

bool walker_follows(const struct walker *k, const struct kvp_log_hdr *h, struct kvp_why *why)
{
	if (h->prev_lsn == k->prev_lsn && h->prev_csum == k->prev_csum)
		return true;
	snprintf(why->text, sizeof(why->text), "log entry %llu: does not follow entry %llu",
		 (unsigned long long)h->lsn, (unsigned long long)k->prev_lsn);
	return false;
}

/* An error of a device, apart from what a header that was read may say. -EILSEQ: it is lost. */
static int no_answer(int error)
{
	return device_lost(error) ? -EILSEQ : -EIO;
}

/* Some of the entry cannot be read: its header alone may tell that it is no next entry. */
static int judge_header(const struct walker *k, unsigned int leg, u64 lsn, u64 at, u32 most,
			int error, void *buf, struct kvp_log_hdr *h, struct kvp_why *why)
{
	const struct kvp_disk_log_hdr *d = buf;
	u32 blocks = le32_to_cpu(d->hdr_blocks);
	int ret;

	blocks = blocks < 1 ? 1 : blocks < most ? blocks : most;
	if (leg_read(k, leg, at, blocks, buf))
		return no_answer(error);
	ret = walker_decode(k, buf, blocks, lsn, h, why);
	if (ret)
		h->blocks = 0;
	return ret ?: no_answer(error);
}

/*
 * Reads and verifies the entry at @lsn from one leg, where it lies at @at; with payload if @whole.
 * -EIO or -EILSEQ: the device could not read all of it; @h has its header if that was sound.
 */
static int read_entry(const struct walker *k, unsigned int leg, u64 lsn, u64 at, bool whole,
		      void *buf, struct kvp_log_hdr *h, struct kvp_why *why)
{
	const struct offline_pool *p = k->pool;
	u64 room = kvp_log_segment_end(p->g, lsn) - lsn;
	u32 blocks = 1;
	int ret = leg_read(k, leg, at, 1, buf), error;

	h->blocks = 0;
	if (!ret) {
		blocks = claimed_blocks(buf, k->nonce, room < KVP_MAX_ENTRY_BLOCKS ?
					(u32)room : KVP_MAX_ENTRY_BLOCKS);
		if (blocks > 1)
			ret = leg_read(k, leg, at, blocks, buf);
	}
	if (ret) {
		error = ret;
		ret = no_answer(error);
		if (blocks > 1 && !leg_read(k, leg, at, 1, buf))
			ret = judge_header(k, leg, lsn, at, blocks, error, buf, h, why);
		if (ret == no_answer(error))
			snprintf(why->text, sizeof(why->text), "log entry %llu: cannot be read: %s",
				 (unsigned long long)lsn, strerror(-error));
		return ret;
	}
	ret = walker_decode(k, buf, blocks, lsn, h, why);
	if (ret)
		h->blocks = 0;
	if (!ret && h->blocks > blocks) {
		snprintf(why->text, sizeof(why->text), "log entry %llu: bad length",
			 (unsigned long long)lsn);
		ret = -EUCLEAN;
	}
	return !ret && whole ? payload_check(k, h, buf, why) : ret;
}

void walker_fault(struct walker *k, unsigned int leg, u64 lsn, const struct kvp_why *why)
{
	struct log_walk *w = k->w;

	if (w->fault_count < LOG_FAULTS)
		w->faults[w->fault_count++] = (struct log_fault){
			k->legs[leg].pool->index[k->legs[leg].place], lsn, *why };
}

void walker_note_bad(struct walker *k, unsigned int leg, u64 lsn)
{
	unsigned int n = k->note_count[leg]++;

	/* many entries follow one that is pushed out: it was durable */
	if (n >= LOG_BAD_NOTES)
		k->w->bad[k->legs[leg].pool->index[k->legs[leg].place]]++;
	k->notes[leg][n % LOG_BAD_NOTES] = lsn;
}

/*
 * The durable entry at @lsn, of which no leg has all. It counts if all legs have the same header,
 * as in a recovery (kvp_log_by_headers()). Readers of its blocks find out which of them are lost.
 */
static bool find_header(struct walker *k, u64 lsn, struct kvp_log_hdr *found)
{
	struct kvp_log_hdr h;
	struct kvp_why why;
	unsigned int i;
	u64 at;

	for (i = 0; lsn < k->known && i < k->leg_count; i++) {
		if (!room_on(k, i, lsn, &at) || read_entry(k, i, lsn, at, false, k->buf[0], &h,
							   &why) ||
		    !walker_follows(k, &h, &why) || (i && h.csum != found->csum) ||
		    h.lsn + h.blocks > k->known)
			return false;
		*found = h;
	}
	return lsn < k->known && k->leg_count;
}

/*
 * What the legs that have no next entry at a place say, as in a recovery (recovery/unread.c). A
 * durable entry is on all legs in sync. So one leg that has no part of it shows that there is none.
 */
struct says {
	bool none, part, unread, lost;
	struct kvp_why why;	/* of what could not be read */
};

/* @bad: why the leg of the entry in @buf has no next entry at @lsn */
static void note_says(const struct walker *k, struct says *s, int ret, u64 lsn,
		      const struct kvp_log_hdr *h, const void *buf, const struct kvp_why *bad)
{
	struct kvp_why why;

	if (ret == -EIO || ret == -EILSEQ)
		s->why = *bad;
	if (h->blocks && !walker_follows(k, h, &why))
		s->none = true;
	else if (ret == -EIO)
		s->unread = true;
	else if (ret == -EILSEQ)
		s->lost = true;
	else if (walker_may_be_entry(k, buf, lsn))
		s->part = true;
	else
		s->none = true;
}

static bool is_unknown(const struct says *s)
{
	return !s->none && (s->unread || (s->lost && !s->part));
}

/* Looks for the next entry of the chain at @lsn on all legs, and leaves it in buf[0]. */
static bool find_at(struct walker *k, u64 lsn, struct kvp_log_hdr *found, struct kvp_why *why)
{
	u32 turn = kvp_log_turn(&k->track, lsn);
	unsigned int i, bad = 0, faults = k->w->fault_count;
	bool is_bad[KVP_MAX_LEGS];
	struct says says = { .none = false };
	bool have = false;

	if (k->rows)
		return log_rows_find(k, lsn, found, why);
	k->near = false;

	for (i = 0; i < k->leg_count; i++) {
		struct kvp_log_hdr h;
		void *buf = k->buf[have];
		struct kvp_why bad_why;
		u64 at;
		int ret;

		is_bad[i] = false;
		if (k->legs[i].pool->vdev != turn || !room_on(k, i, lsn, &at))
			continue;
		ret = read_entry(k, i, lsn, at, true, buf, &h, &bad_why);
		is_bad[i] = ret || !walker_follows(k, &h, &bad_why);
		if (is_bad[i]) {
			walker_fault(k, i, lsn, &bad_why);
			if (!k->near)
				*why = bad_why;
			k->near |= ret != -ENODATA;
			note_says(k, &says, ret, lsn, &h, buf, &bad_why);
		}
		bad += is_bad[i];
		if (!is_bad[i] && !have) {
			*found = h;
			have = true;
		}
	}
	if (!have && find_header(k, lsn, found)) {
		k->w->by_header++;
		have = true;
	}
	for (i = 0; have && bad && i < k->leg_count; i++)
		if (is_bad[i])
			walker_note_bad(k, i, lsn);
	if (!have)
		k->w->fault_count = faults;
	k->unread = !have && is_unknown(&says);
	if (k->unread)
		*why = says.why;
	return have;
}

static void count_entry(struct walker *k, const struct kvp_log_hdr *h)
{
	struct log_walk *w = k->w;
	struct kvp_rec r;
	u32 i;

	w->entries++;
	w->last = *h;
	if (h->durable > w->watermark)
		w->watermark = h->durable;
	if (h->epoch > w->max_epoch)
		w->max_epoch = h->epoch;
	for (i = 0; i < h->rec_count; i++) {
		log_rec(k->buf[0], i, &r);
		w->data += r.kind == KVP_REC_DATA;
		w->intents += r.kind == KVP_REC_INTENT;
		w->discards += r.kind == KVP_REC_DISCARD;
		w->parity += r.kind == KVP_REC_PARITY;
		w->clean += r.kind == KVP_REC_CLEAN;
	}
	k->prev_lsn = h->lsn;
	k->prev_csum = h->csum;
	k->lsn = h->lsn + h->blocks;
}

/* The older generation that is being walked; NULL in the newest one. */
static const struct kvp_generation *generation(const struct walker *k)
{
	const struct kvp_sb *sb = k->pool->sb;

	return k->generation < sb->generation_count ? &sb->generations[k->generation] : NULL;
}

/* The next generation begins only where the superblock says that one ends. */
static void pass_generations(struct walker *k)
{
	const struct kvp_generation *g;

	while ((g = generation(k)) && k->prev_lsn == g->last_lsn && k->prev_csum == g->last_csum) {
		k->generation++;
		k->lsn = g->next_lsn;
		g = generation(k);
		k->nonce = g ? g->nonce : k->pool->sb->log_nonce;
	}
}

/* The next entry follows at once, or at the start of the next segment, or generation. */
static bool next_entry(struct walker *k, u64 limit, struct kvp_log_hdr *h)
{
	const struct kvp_geometry *g = k->pool->g;
	struct kvp_why why;
	bool near;
	u64 skip;

	k->near = k->unread = k->w->unread = false;
	pass_generations(k);
	if (generation(k))
		limit = generation(k)->next_lsn;
	skip = kvp_log_segment_end(g, k->lsn);
	if (k->lsn < limit && find_at(k, k->lsn, h, &k->w->end))
		return true;
	near = k->near;
	k->w->unread = k->unread;
	if (!(k->lsn % g->segment_blocks) || skip >= limit)
		return false;
	if (find_at(k, skip, h, &why)) {
		k->w->unread = false;
		return true;
	}
	/* If the log is damaged, or its end is unknown, this is the reason. */
	if ((k->near && !near) || (k->unread && !k->w->unread))
		k->w->end = why;
	k->w->unread |= k->unread;
	return false;
}

/* Most blocks are sorted out by this. */
bool walker_may_be_entry(const struct walker *k, const void *block, u64 lsn)
{
	const struct kvp_disk_log_hdr *d = block;

	return le32_to_cpu(d->magic) == KVP_LOG_MAGIC &&
	       le64_to_cpu(d->nonce) == k->nonce && le64_to_cpu(d->lsn) == lsn;
}

void walker_saw(struct walker *k, const void *buf, u32 avail, u64 lsn)
{
	struct kvp_log_hdr h;
	struct kvp_why why;
	u64 epoch;

	if (kvp_log_epoch(buf, avail, k->pool->sb->nonce, &epoch) && epoch > k->w->max_epoch)
		k->w->max_epoch = epoch;
	if (!walker_decode(k, buf, avail, lsn, &h, &why) && h.durable > k->w->watermark)
		k->w->watermark = h.durable;
}

/* Looks at block @i of the @count blocks in buf[0]; the first of them is that of @lsn. */
static void look_at_block(struct walker *k, unsigned int leg, u64 lsn, u64 at, u32 i, u32 count)
{
	const void *block = (u8 *)k->buf[0] + ((size_t)i << KVP_BLOCK_SHIFT);
	struct kvp_log_hdr h;
	struct kvp_why why;
	u64 epoch;

	if (kvp_log_epoch(block, count - i, k->pool->sb->nonce, &epoch) &&
	    epoch > k->w->max_epoch)
		k->w->max_epoch = epoch;
	if (walker_may_be_entry(k, block, lsn + i) &&
	    !read_entry(k, leg, lsn + i, at + i, false, k->buf[1], &h, &why) &&
	    h.durable > k->w->watermark)
		k->w->watermark = h.durable;
}

/*
 * Blocks behind the log's end, as in a recovery (recovery/unread.c). A few bad sectors there may
 * exist for years. But if most could not be read, or an error says so, a leg does not answer.
 */
struct asked {
	u64 asked, missed;
	unsigned int worst;	/* rank() of their errors */
	u64 lsn;		/* of the block with that error */
};

/* Those behind the end up to @far, and the first ones of the segments from there on. */
struct beyond {
	u64 far;
	struct asked near_end, firsts;
};

/* How likely is it that a later try reads the block? Least if the medium has lost it for good. */
static unsigned int rank(int error)
{
	if (!error)
		return 0;
	if (device_lost(error))
		return 1;
	return error == -EIO ? 2 : 3;
}

/* @missed: rank() of the error, if no leg gave the block at @lsn; else 0 */
static void count_asked(const struct walker *k, struct beyond *b, u64 lsn, unsigned int missed)
{
	struct asked *a = lsn < b->far ? &b->near_end : &b->firsts;

	if (lsn >= b->far && lsn % k->pool->g->segment_blocks)
		return;
	a->asked++;
	a->missed += !!missed;
	if (missed <= a->worst)
		return;
	a->worst = missed;
	a->lsn = lsn;
}

static bool in_vain(const struct asked *a)
{
	return a->worst > 2 || (a->worst == 2 && a->missed > 1 && a->missed > a->asked / 2);
}

/* What the legs whose turn it is said of a block: the rank of the worst error, until one gave it */
struct told {
	bool given;
	u8 missed;
};

/*
 * Looks at @count blocks from @lsn on one leg, within a segment. @told: of each of them; a leg of
 * another turn may have an entry of an older activation, but tells nothing of this one.
 */
static void look_at(struct walker *k, unsigned int leg, u64 lsn, u32 count, struct told *told)
{
	int error;
	u64 at;
	u32 i;

	if (!room_on(k, leg, lsn, &at))
		return;
	error = leg_read(k, leg, at, count, k->buf[0]);
	/* an unreadable block must not hide the others */
	if (error && count > 1) {
		for (i = 0; i < count; i++)
			look_at(k, leg, lsn + i, 1, told + i);
		return;
	}
	for (i = 0; i < count; i++) {
		if (!error)
			look_at_block(k, leg, lsn, at, i, count);
		if (kvp_log_turn(&k->track, lsn + i) != k->legs[leg].pool->vdev)
			continue;
		told[i].given |= !error;
		if (rank(error) > told[i].missed)
			told[i].missed = (u8)rank(error);
	}
}

/*
 * An entry beyond the end may name a higher watermark than the entries before it: then one of those
 * is damaged. An entry with a higher epoch than the superblock's shows that the superblock is old.
 */
static void look_beyond(struct walker *k, u64 limit, struct beyond *b)
{
	struct told told[KVP_MAX_ENTRY_BLOCKS];
	u64 lsn = k->lsn, room;
	unsigned int i;
	u32 count;

	for (; k->rows && lsn < limit; lsn++) {
		log_rows_look(k, lsn);
		count_asked(k, b, lsn, rank(log_rows_missed(k->rows, lsn)));
	}
	while (lsn < limit) {
		room = kvp_log_segment_end(k->pool->g, lsn) - lsn;
		if (room > limit - lsn)
			room = limit - lsn;
		count = room < KVP_MAX_ENTRY_BLOCKS ? (u32)room : KVP_MAX_ENTRY_BLOCKS;
		memset(told, 0, sizeof(told));
		for (i = 0; i < k->leg_count; i++)
			look_at(k, i, lsn, count, told);
		for (i = 0; i < count; i++)
			count_asked(k, b, lsn + i, told[i].given ? 0 : told[i].missed);
		lsn += count;
	}
}

/* Looks behind the end of the log: may more have been durable than was found? */
static void judge_end(struct walker *k, u64 limit)
{
	struct beyond b = {
		.far = kvp_log_segment_end(k->pool->g, k->lsn + KVP_LOG_UNWITNESSED),
	};
	const struct asked *a;

	look_beyond(k, limit, &b);
	a = in_vain(&b.near_end) ? &b.near_end : &b.firsts;
	/* what shows damage tells more */
	if (!in_vain(a) || k->w->unread || k->lsn < k->w->watermark)
		return;
	k->w->unread = true;
	snprintf(k->w->end.text, sizeof(k->w->end.text), "log block %llu: cannot be read, and may "
		 "show that the log went on", (unsigned long long)a->lsn);
}

static void judge(struct walker *k)
{
	struct log_walk *w = k->w;
	unsigned int i, n, kept;

	w->head = k->lsn;
	w->damaged = w->head < w->watermark;
	for (i = 0; i < k->leg_count; i++) {
		u64 *found = &w->bad[k->legs[i].pool->index[k->legs[i].place]];

		kept = k->note_count[i] < LOG_BAD_NOTES ? k->note_count[i] : LOG_BAD_NOTES;
		for (n = 0; n < kept; n++)
			*found += k->notes[i][n] < w->watermark;
	}
	for (i = n = 0; i < w->fault_count; i++)
		if (w->faults[i].lsn < w->watermark)
			w->faults[n++] = w->faults[i];
	w->fault_count = n;
}

static void walker_free(struct walker *k)
{
	if (!k)
		return;
	log_rows_free(k->rows);
	free(k->buf[0]);
	free(k->buf[1]);
	free(k);
}

/*
 * The watermark that the first headers of the newest generation's segments name, as in a recovery.
 */
static void find_known(struct walker *k, u64 limit)
{
	const struct kvp_sb *sb = k->pool->sb;
	const struct kvp_generation *last = sb->generation_count ?
		&sb->generations[sb->generation_count - 1] : NULL;
	u64 lsn = last ? last->next_lsn : kvp_log_segment_end(k->pool->g, sb->log_tail),
		nonce = k->nonce, at;
	struct kvp_log_hdr h;
	struct kvp_why why;
	unsigned int i;

	k->known = last ? lsn : 0;
	k->nonce = sb->log_nonce;
	for (; lsn < limit; lsn += k->pool->g->segment_blocks)
		for (i = 0; i < k->leg_count; i++)
			if (room_on(k, i, lsn, &at) && !read_entry(k, i, lsn, at, false, k->buf[0],
				&h, &why) &&
			    h.durable > k->known)
				k->known = h.durable;
	k->nonce = nonce;
}

static struct walker *walker_new(const struct offline_pool *pool, struct log_walk *w)
{
	struct walker *k = calloc(1, sizeof(*k));
	const struct offline_pool *p;
	unsigned int i;

	memset(w, 0, sizeof(*w));
	if (!k)
		return NULL;
	k->pool = pool;
	k->w = w;
	kvp_log_track(pool->sb, &k->track);
	for (p = pool; p; p = p->log_next)
		for (i = 0; i < p->leg_count; i++)
			k->legs[k->leg_count++] = (struct log_leg){ p, i };
	k->nonce = generation(k) ? generation(k)->nonce : pool->sb->log_nonce;
	k->buf[0] = blocks_alloc(KVP_MAX_ENTRY_BLOCKS);
	k->buf[1] = blocks_alloc(KVP_MAX_ENTRY_BLOCKS);
	if (kvp_log_striped(pool->g))
		k->rows = log_rows_alloc(pool);
	if (k->buf[0] && k->buf[1] && (k->rows || !kvp_log_striped(pool->g)))
		return k;
	walker_free(k);
	return NULL;
}

int log_walk(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg)
{
	u64 limit = pool->sb->log_tail + kvp_log_window(pool->g);
	struct walker *k = walker_new(pool, w);
	struct kvp_log_hdr h;
	int ret = 0;

	if (!k)
		return -ENOMEM;
	k->lsn = pool->sb->log_tail;
	k->prev_lsn = pool->sb->log_prev_lsn;
	k->prev_csum = pool->sb->log_prev_csum;
	w->watermark = pool->sb->log_commit;
	if (kvp_log_by_headers(pool->sb))
		find_known(k, limit);
	while (!ret && next_entry(k, limit, &h)) {
		count_entry(k, &h);
		if (fn)
			ret = fn(arg, &h, k->buf[0]);
	}
	if (!ret)
		judge_end(k, limit);
	judge(k);
	walker_free(k);
	return ret;
}

/* One walk along the chain; with @fn the caller knows that the chain is complete. */
static int walk_chain(struct walker *k, bool *complete, struct log_at *end, log_entry_fn fn,
		      void *arg)
{
	const struct kvp_sb *sb = k->pool->sb;
	u64 limit = sb->log_tail + kvp_log_window(k->pool->g);
	struct kvp_log_hdr h;
	int ret = 0;

	k->nonce = sb->redo_nonce;
	k->generation = sb->generation_count;
	k->lsn = sb->redo_lsn;
	k->prev_lsn = 0;
	k->prev_csum = 0;
	*complete = false;
	while (!ret && !*complete && next_entry(k, limit, &h)) {
		count_entry(k, &h);
		*complete = h.flags & KVP_LOG_LAST;
		*end = (struct log_at){ h.limit_lsn, h.limit_rec };
		if (fn)
			ret = fn(arg, &h, k->buf[0]);
	}
	return ret;
}

int log_chain(const struct offline_pool *pool, struct log_walk *w, bool *complete,
	      struct log_at *end, log_entry_fn fn, void *arg)
{
	struct log_at found;
	struct log_walk own;
	struct walker *k;
	int ret = 0;

	*complete = false;
	/* While the chain is being written, the parity in it has not been written home. */
	if (!pool->sb->redo_nonce || pool->sb->redo_state == KVP_REDO_BEGUN ||
	    pool->sb->redo_state == KVP_REDO_AGAIN)
		return 0;
	k = walker_new(pool, &own);
	if (!k)
		return -ENOMEM;
	walk_chain(k, complete, &found, NULL, NULL);
	if (!*complete && own.unread && !w->unread) {
		w->unread = true;
		w->end = own.end;
	}
	if (*complete) {
		*end = found;
		ret = walk_chain(k, complete, &found, fn, arg);
	}
	walker_free(k);
	return ret;
}

int log_part(const struct offline_pool *pool, struct log_walk *w, log_entry_fn fn, void *arg)
{
	u64 limit = pool->sb->log_tail + kvp_log_window(pool->g), at;
	struct walker *k = walker_new(pool, w);
	struct kvp_log_hdr h;
	struct kvp_why why;
	int ret = 0;

	if (!k)
		return -ENOMEM;
	w->watermark = pool->sb->log_commit;
	for (k->lsn = pool->sb->log_tail; !ret && k->lsn < limit;) {
		bool here = room_on(k, 0, k->lsn, &at);

		if (!here || kvp_log_turn(&k->track, k->lsn) != pool->vdev ||
		    read_entry(k, 0, k->lsn, at, true, k->buf[0], &h, &why)) {
			/* the next entry may follow one that another vdev has */
			k->lsn = here && k->track.nr > 1 ? k->lsn + 1 :
				kvp_log_segment_end(pool->g, k->lsn);
			continue;
		}
		count_entry(k, &h);
		if (fn)
			ret = fn(arg, &h, k->buf[0]);
	}
	w->head = w->entries ? w->last.lsn + w->last.blocks : pool->sb->log_tail;
	walker_free(k);
	return ret;
}

/* Reads the block at @lsn from the first leg on which it has its sum. */
static bool read_copy(const struct offline_pool *p, u64 lsn, u32 crc,
		      u32 (*sum)(void *arg, const void *data),
		      void *arg, void *buf)
{
	unsigned int i;
	u64 at;

	for (i = 0; i < p->leg_count; i++)
		if (on_leg(p, i, lsn, &at) && !device_read(p->legs[i], at, 1, buf) &&
		    sum(arg, buf) == crc)
			return true;
	return false;
}

int log_read(const struct offline_pool *pool, const struct log_payload *at, u32 crc,
	     u32 (*sum)(void *arg, const void *data), void *arg, void *buf)
{
	const struct offline_pool *p = pool;
	struct kvp_log_track track;

	kvp_log_track(pool->sb, &track);
	while (p && p->vdev != kvp_log_turn(&track, at->entry))
		p = p->log_next;
	if (p && read_copy(p, at->lsn, crc, sum, arg, buf))
		return 0;
	return p && at->row && !log_rows_make(p, at->lsn, at->row, buf) &&
	       sum(arg, buf) == crc ? 0 : -EIO;
}
