// SPDX-License-Identifier: GPL-2.0-only
/* Reading and clearing of labels. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "label.h"
#include "pmbr.h"

const char *vdev_word(u32 kind)
{
	switch (kind) {
	case KVP_VDEV_SINGLE:	return "single";
	case KVP_VDEV_MIRROR:	return "mirror";
	case KVP_VDEV_PARITY1:	return "parity1";
	case KVP_VDEV_CACHE:	return "cache";
	case KVP_VDEV_CACHE_PARITY1: return "cache-parity1";
	default:		return "unknown";
	}
}

const char *leg_word(u32 state)
{
	switch (state) {
	case KVP_LEG_IN_SYNC:	return "online";
	case KVP_LEG_STALE:	return "stale";
	case KVP_LEG_FAULTED:	return "faulted";
	case KVP_LEG_OFFLINE:	return "offline";
	case KVP_LEG_RESILVERING: return "resilvering";
	default:		return "unknown";
	}
}

/* Text from a device may be anything: it must not control a terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Takes over *@sb, and hands back the buffer for the next slot. */
static void note_valid(struct label *l, struct label_slot *s, struct kvp_sb **sb)
{
	struct kvp_sb *old = l->sb;

	make_printable((*sb)->name);
	make_printable((*sb)->comment);
	make_printable((*sb)->host_name);
	l->valid++;
	s->epoch = (*sb)->epoch;
	s->sequence = (*sb)->sequence;
	if (old && (memcmp(old->pool_uuid, (*sb)->pool_uuid, 16) ||
		    memcmp(old->leg_uuid, (*sb)->leg_uuid, 16)))
		l->ambiguous = true;
	if (!old || kvp_sb_newer(*sb, old)) {
		l->sb = *sb;
		*sb = old ?: malloc(sizeof(**sb));
	}
}

/*
 * A label that would be sound if the device were as large as the label says. The reason is a dock
 * or a host that hides the last sectors. The leg cannot be used, but it is there: the error names
 * it.
 */
static void note_short(const struct device *d, struct label *l, struct label_slot *s,
		       const struct kvp_disk_sb *raw, struct kvp_sb **sb)
{
	struct kvp_sb *old = l->short_sb;
	u32 leg = le32_to_cpu(raw->leg_index);
	struct kvp_why why;
	u64 blocks;

	if (leg >= KVP_MAX_LEGS)
		return;
	blocks = le64_to_cpu(raw->legs[leg].size_blocks);
	if (blocks <= d->blocks || blocks >> (64 - KVP_BLOCK_SHIFT) ||
	    kvp_sb_decode(raw, s->offset, blocks, *sb, &why))
		return;
	make_printable((*sb)->name);
	l->short_by = (blocks << KVP_BLOCK_SHIFT) - d->bytes;
	snprintf(s->why.text, sizeof(s->why.text),
		 "%llu bytes smaller than when it became a leg of pool %s",
		 (unsigned long long)l->short_by, (*sb)->name);
	if (!old || kvp_sb_newer(*sb, old)) {
		l->short_sb = *sb;
		*sb = old ?: malloc(sizeof(**sb));
	}
}

/*
 * Is the slot that of a spare, but for the size of the device? It cannot be used as such: the other
 * label of a spare is not where the module looks for it.
 */
static bool note_resized(const struct device *d, struct label *l, struct label_slot *s,
			 const struct kvp_disk_sb *raw, struct kvp_spare *spare)
{
	u64 blocks = spare->size_blocks;
	struct kvp_why why;

	if (blocks == d->blocks || blocks >> (64 - KVP_BLOCK_SHIFT) ||
	    kvp_spare_decode(raw, s->offset, blocks, spare, &why))
		return false;
	make_printable(spare->name);
	l->spare_resized = true;
	l->spare = *spare;
	if (blocks > d->blocks)
		snprintf(s->why.text, sizeof(s->why.text),
			 "%llu bytes smaller than when it became a spare of pool %s",
			 (unsigned long long)((blocks << KVP_BLOCK_SHIFT) - d->bytes), spare->name);
	else
		snprintf(s->why.text, sizeof(s->why.text),
			 "larger than when it became a spare of pool %s", spare->name);
	return true;
}

/* A newer version may have other fields. A new feature leaves these as they are. */
static void note_newer(struct label *l, const struct kvp_disk_sb *raw)
{
	if (le32_to_cpu(raw->version) != KVP_FORMAT_VERSION)
		return;
	memcpy(l->newer_pool, raw->pool_uuid, sizeof(l->newer_pool));
	memcpy(l->newer_leg, raw->leg_uuid, sizeof(l->newer_leg));
}

/* Is the slot of a spare? It is no leg, and counts as bad. */
static void note_spare(const struct device *d, struct label *l, struct label_slot *s,
		       const struct kvp_disk_sb *raw)
{
	struct kvp_why why = s->why;
	struct kvp_spare spare = { .size_blocks = d->blocks };
	int ret = kvp_spare_decode(raw, s->offset, d->blocks, &spare, &s->why);

	if (ret == -EUCLEAN && note_resized(d, l, s, raw, &spare))
		return;
	if (ret == -ENODATA)
		s->why = why;
	if (ret == -ENODATA || ret == -EOPNOTSUPP)
		l->unsupported = true;
	if (ret == -ENODATA)
		note_newer(l, raw);
	if (ret)
		return;
	make_printable(spare.name);
	if (l->spare_valid && (memcmp(l->spare.pool_uuid, spare.pool_uuid, 16) ||
			       memcmp(l->spare.uuid, spare.uuid, 16)))
		l->ambiguous = true;
	l->spare = spare;
	l->spare_valid++;
	snprintf(s->why.text, sizeof(s->why.text), "it is a spare of pool %s", spare.name);
}

static void say_silent(struct label_slot *s)
{
	snprintf(s->why.text, sizeof(s->why.text), "it does not answer: given up after %u s",
		 device_patience);
}

static void read_slot(const struct device *d, struct label *l, struct label_slot *s,
		      struct kvp_disk_sb *raw, struct kvp_sb **sb)
{
	int ret = device_read(d, s->offset >> KVP_BLOCK_SHIFT, KVP_SB_BLOCKS, raw);

	if (ret) {
		s->state = -EIO;
		l->unreadable++;
		if (ret == -ETIMEDOUT)
			say_silent(s);
		else
			snprintf(s->why.text, sizeof(s->why.text), "cannot be read: %s",
				 strerror(-ret));
	} else {
		s->state = kvp_sb_decode(raw, s->offset, d->blocks, *sb, &s->why);
	}
	if (!s->state)
		note_valid(l, s, sb);
	else if (s->state != -ENODATA)
		l->bad++;
	if (s->state && !ret && s->state != -ENODATA)
		note_short(d, l, s, raw, sb);
	if (s->state == -EOPNOTSUPP)
		note_spare(d, l, s, raw);
}

/* Has the pool grown since, and the device is small again? Then the label is of before. */
static void drop_outgrown(struct label *l)
{
	if (!l->short_sb || !kvp_sb_newer(l->short_sb, l->sb))
		return;
	free(l->sb);
	l->sb = NULL;
}

/* The newest superblock may be at the end that the device had before it grew. */
static void read_old_end(const struct device *d, struct label *l, struct kvp_disk_sb *raw,
			 struct kvp_sb **sb)
{
	u64 made = l->sb->legs[l->sb->leg_index].size_blocks;
	unsigned int i;

	for (i = 0; *sb && i < KVP_SB_RING; i++) {
		struct label_slot *s = &l->old[i];

		s->state = -ENODATA;
		if (made <= 2 * KVP_LABEL_BLOCKS || made >= d->blocks)
			continue;
		s->offset = kvp_sb_slot_offset(made, 1, i);
		s->state = device_read(d, s->offset >> KVP_BLOCK_SHIFT, KVP_SB_BLOCKS, raw) ? -EIO :
			   kvp_sb_decode(raw, s->offset, made, *sb, &s->why);
		if (!s->state && memcmp(l->sb->leg_uuid, (*sb)->leg_uuid, 16))
			s->state = -ENODATA;
		if (!s->state)
			note_valid(l, s, sb);
		else if (s->state == -EOPNOTSUPP)
			l->unsupported = true;
	}
}

static void note_state(struct kvp_sb_rings *r, unsigned int ring, unsigned int slot,
		       const struct label_slot *s)
{
	r->state[ring][slot] = !s->state ? KVP_SLOT_VALID :
		s->state == -ENODATA ? KVP_SLOT_NONE :
		s->state == -EIO || s->state == -EOPNOTSUPP ? KVP_SLOT_UNREADABLE : KVP_SLOT_BAD;
	r->epoch[ring][slot] = s->epoch;
	r->sequence[ring][slot] = s->sequence;
}

static u64 may_hold(const struct label *l)
{
	struct kvp_sb_rings r = { 0 };
	unsigned int i;

	for (i = 0; i < LABEL_SLOTS; i++)
		note_state(&r, i / KVP_SB_RING, i % KVP_SB_RING, &l->slots[i]);
	for (i = 0; i < KVP_SB_RING; i++)
		note_state(&r, KVP_RING_OLD_BACK, i, &l->old[i]);
	return kvp_sb_rings_may_hold(&r, l->sb->sequence);
}

int label_read(const struct device *d, struct label *l, struct err *err)
{
	struct kvp_disk_sb *raw = blocks_alloc(KVP_SB_BLOCKS);
	struct kvp_sb *sb = malloc(sizeof(*sb));
	unsigned int i;

	memset(l, 0, sizeof(*l));
	for (i = 0; raw && sb && i < LABEL_SLOTS; i++) {
		l->slots[i].state = -ENODATA;
		if (d->blocks < 2 * KVP_LABEL_BLOCKS)
			continue;
		l->slots[i].offset = kvp_sb_slot_offset(d->blocks, i / KVP_SB_RING,
							i % KVP_SB_RING);
		read_slot(d, l, &l->slots[i], raw, &sb);
	}
	if (raw && sb && l->sb)
		read_old_end(d, l, raw, &sb);
	i = raw && sb;
	if (i && l->sb)
		drop_outgrown(l);
	if (i && l->sb)
		l->held = may_hold(l);
	l->all_read = i && l->sb && !l->unreadable && !l->unsupported &&
		      l->held == l->sb->sequence;
	free(raw);
	free(sb);
	if (i)
		return 0;
	label_free(l);
	return err_set(err, ERR_FAILED, d->path, "free some memory", "out of memory");
}

int label_read_path(const char *path, bool allow_file, struct label *l, struct err *err)
{
	struct device d;
	int ret;

	if (device_open(path, allow_file, &d, err))
		return -1;
	ret = label_read(&d, l, err);
	device_close(&d);
	return ret;
}

void label_free(struct label *l)
{
	free(l->sb);
	free(l->short_sb);
	l->sb = NULL;
	l->short_sb = NULL;
}

void label_silent(struct label *l)
{
	unsigned int i;

	memset(l, 0, sizeof(*l));
	l->bad = l->unreadable = LABEL_SLOTS;
	for (i = 0; i < LABEL_SLOTS; i++) {
		l->slots[i].state = -EIO;
		say_silent(&l->slots[i]);
	}
}

bool label_unread(const struct label *l)
{
	static const u8 none[16];

	return l->unreadable == LABEL_SLOTS ||
	       (l->unsupported && !l->sb && !l->spare_valid && !memcmp(l->newer_pool, none, 16));
}

bool label_is_newer(const struct label *l)
{
	return l->unsupported && (!l->sb || l->held > l->sb->sequence);
}

const char *label_mend(const struct label *l, const char *mend)
{
	return label_is_newer(l) ? LABEL_NEWER_MEND : mend;
}

const char *label_fault(const struct label *l)
{
	unsigned int i;

	if (l->ambiguous || (l->sb && l->spare_valid))
		return "its labels name different pools or legs";
	if (label_is_newer(l))
		return "its labels need a newer kvpool";
	if (l->sb)
		return NULL;
	for (i = 0; i < LABEL_SLOTS; i++)
		if (l->slots[i].state && l->slots[i].state != -ENODATA)
			return l->slots[i].why.text;
	return "it has no kvpool label";
}

bool label_is_spare(const struct label *l)
{
	return l->spare_valid == 2 && l->bad == 2 && !l->valid && !l->ambiguous;
}

bool label_is_resized_spare(const struct label *l)
{
	return l->spare_resized && !l->spare_valid && !l->valid && !l->ambiguous && !l->unsupported;
}

bool label_is_small(const struct label *l)
{
	return l->short_sb && !l->sb;
}

/* A newer superblock has higher numbers. The rest is for one that was written by other means. */
static bool same_sb(const struct kvp_sb *a, const struct kvp_sb *b)
{
	return !a || !b ? a == b :
	       a->epoch == b->epoch && a->sequence == b->sequence && a->flags == b->flags &&
	       a->host == b->host && a->write_time == b->write_time &&
	       !memcmp(a->pool_uuid, b->pool_uuid, 16) && !memcmp(a->leg_uuid, b->leg_uuid, 16);
}

bool label_same(const struct label *a, const struct label *b)
{
	return same_sb(a->sb, b->sb) && same_sb(a->short_sb, b->short_sb) &&
	       a->valid == b->valid && a->bad == b->bad && a->unreadable == b->unreadable &&
	       a->held == b->held && a->spare_valid == b->spare_valid &&
	       (!a->spare_valid || !memcmp(a->spare.uuid, b->spare.uuid, 16));
}

static int clear_slots(const struct device *d, const struct label *l, int fd, struct err *err)
{
	static const char zeros[KVP_SB_SIZE];
	unsigned int i;

	for (i = 0; i < LABEL_SLOTS + KVP_SB_RING; i++) {
		const struct label_slot *s = i < LABEL_SLOTS ? &l->slots[i] :
							       &l->old[i - LABEL_SLOTS];

		if (s->state == -ENODATA || (i >= LABEL_SLOTS && (s->state || !s->offset)))
			continue;
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)s->offset) != sizeof(zeros))
			return err_set(err, ERR_IO, d->path, "check the device, then try again",
				       "cannot be written: %s; some labels are cleared",
				       strerror(errno));
	}
	if (fsync(fd))
		return err_set(err, ERR_IO, d->path, "check the device, then try again", "%s",
			       strerror(errno));
	return 0;
}

struct clearing {
	const struct device *d;
	const struct label *l;
};

/* The device is held now: what is seen here stays. */
static int check_again(const struct clearing *c, struct err *err)
{
	struct device d;
	struct label now;
	bool same;

	if (device_open_now(c->d->path, true, &d, err))
		return -1;
	if (label_read(&d, &now, err)) {
		device_close(&d);
		return -1;
	}
	same = device_same(&d, c->d) && d.bytes == c->d->bytes && label_same(&now, c->l);
	label_free(&now);
	device_close(&d);
	return same ? 0 :
	       err_set(err, ERR_MEMBER, c->d->path, "see what it holds, then ask for it again",
		       "its kvpool label, or its size, has changed since it was checked");
}

static int claim_and_clear(void *arg, struct err *err)
{
	const struct clearing *c = arg;
	int fd = device_claim(c->d, err), ret;

	if (fd < 0)
		return -1;
	if (check_again(c, err)) {
		close(fd);
		return -1;
	}
	/* First: what has labels, and no MBR, is as an older kvpoolctl made it. */
	if (pmbr_clear(fd) < 0)
		ret = err_set(err, ERR_IO, c->d->path, "check the device, then try again",
			      "its block 0 cannot be read or written: %s", strerror(errno));
	else
		ret = clear_slots(c->d, c->l, fd, err);
	close(fd);
	return ret;
}

int label_clear(const struct device *d, const struct label *l, struct err *err)
{
	struct clearing c = { d, l };

	return device_apart(d->path, claim_and_clear, &c, NULL, 0, err);
}
