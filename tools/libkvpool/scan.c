// SPDX-License-Identifier: GPL-2.0-only
/* Finds legs, and groups them into pools. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dm.h"
#include "remember.h"
#include "scan.h"
#include "watched.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_FAILED, "scan", "free some memory", "out of memory");
}

static bool known(const struct scan *s, const struct device *d)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (device_same(&s->legs[i]->dev, d))
			return true;
	return false;
}

/*
 * True for a part of a stack whose top shows the same label, and for a pool's own device; with
 * @free_only also for a leg in use.
 */
static bool hidden(const struct device *d, bool free_only)
{
	char name[256], uuid[160];

	if (!d->rdev)
		return false;
	/* A read of a suspended device waits until the device is resumed. */
	if (dm_is_pool(d->rdev) || device_suspended(d->rdev) || device_of_multipath(d->rdev))
		return true;
	return device_holder(d->rdev, name, sizeof(name), uuid, sizeof(uuid)) &&
	       (free_only || strncmp(uuid, DM_POOL_PREFIX, strlen(DM_POOL_PREFIX)));
}

/* Takes over @leg if it has a trace of a label. */
static int keep(struct scan *s, struct found_leg *leg, struct err *err)
{
	struct found_leg **legs;

	if (!leg->label.valid && !leg->label.bad) {
		label_free(&leg->label);
		free(leg);
		return 0;
	}
	legs = realloc(s->legs, (s->leg_count + 1) * sizeof(*legs));
	if (!legs) {
		label_free(&leg->label);
		free(leg);
		return no_memory(err);
	}
	s->legs = legs;
	legs[s->leg_count++] = leg;
	return 0;
}

/* --- reading the labels of many devices ----------------------------------------------- */

/* What the process that reads a label writes: this, and the superblocks that the label has. */
struct answer {
	int ret;		/* of device_open_now() or label_read() */
	bool opened;
	struct err why;		/* if ret */
	struct found_leg leg;
};

/* The devices to look at, closed. */
struct places {
	struct device *list;
	unsigned int count;
	bool free_only;		/* no legs in use */
};

/* A device to look at. */
struct sight {
	struct stamp before;	/* if it has one */
	bool stamped;
	const struct remembered *known;	/* what was read of it holds; then @job is NULL */
	struct watched *job;
};

static bool tell_sb(const struct kvp_sb *sb, FILE *out)
{
	return !sb || fwrite(sb, sizeof(*sb), 1, out) == 1;
}

/* Only a device that is larger than the leg on it can be a part of another device. */
static void look_behind(struct found_leg *leg)
{
	const struct kvp_sb *sb = leg->label.sb;
	u64 blocks = sb ? sb->legs[sb->leg_index].size_blocks : leg->dev.blocks;

	if (blocks < leg->dev.blocks)
		signature_of_raid(leg->dev.path, blocks << KVP_BLOCK_SHIFT, leg->part);
}

static int look(void *arg, FILE *out)
{
	struct answer *a = calloc(1, sizeof(*a));
	const struct device *d = arg;
	bool whole;

	if (!a)
		return 1;
	a->ret = device_open_now(d->path, true, &a->leg.dev, &a->why);
	a->opened = !a->ret;
	if (a->opened)
		a->ret = label_read(&a->leg.dev, &a->leg.label, &a->why);
	device_close(&a->leg.dev);
	if (a->opened && !a->ret)
		look_behind(&a->leg);
	whole = fwrite(a, sizeof(*a), 1, out) == 1 && tell_sb(a->leg.label.sb, out) &&
		tell_sb(a->leg.label.short_sb, out);
	label_free(&a->leg.label);
	free(a);
	return !whole;
}

/* Put a copy of the superblock at *@text in place of *@sb, which is of another process. */
static bool hear_sb(struct kvp_sb **sb, const char **text, const char *end)
{
	if (!*sb)
		return true;
	*sb = (size_t)(end - *text) >= sizeof(**sb) ? malloc(sizeof(**sb)) : NULL;
	if (!*sb)
		return false;
	memcpy(*sb, *text, sizeof(**sb));
	*text += sizeof(**sb);
	return true;
}

/* The leg in an answer; NULL without memory. */
static struct found_leg *leg_of(const char *text, size_t size)
{
	struct found_leg *leg = malloc(sizeof(*leg));
	const struct answer *a = (const struct answer *)text;
	const char *end = text + size;
	bool whole;

	if (!leg)
		return NULL;
	*leg = a->leg;
	text += sizeof(*a);
	whole = hear_sb(&leg->label.sb, &text, end);
	if (!whole)
		leg->label.short_sb = NULL;
	if (whole && hear_sb(&leg->label.short_sb, &text, end))
		return leg;
	label_free(&leg->label);
	free(leg);
	return NULL;
}

static struct found_leg *silent(const struct device *d)
{
	struct found_leg *leg = malloc(sizeof(*leg));

	if (!leg)
		return NULL;
	leg->dev = *d;
	*leg->part = 0;
	label_silent(&leg->label);
	return leg;
}

/*
 * Leaves out a device that cannot be opened: a scan takes all that it finds. Without the right to
 * open any device there is no scan at all.
 */
static int take(struct scan *s, const struct device *d, const struct watched *w, struct err *err)
{
	const struct answer *a = (const struct answer *)w->text;
	struct found_leg *leg;

	if (w->error && w->error != ETIMEDOUT)
		return err_set(err, ERR_FAILED, d->path, "free some memory", "cannot be looked at");
	if (!w->error && !a->opened)
		return a->why.code == ERR_PERMISSION && geteuid() ?
		       err_set(err, a->why.code, d->path, a->why.mend, "%s", a->why.why) : 0;
	if (!w->error && a->ret)
		return err_set(err, a->why.code, d->path, a->why.mend, "%s", a->why.why);
	if (known(s, w->error ? d : &a->leg.dev))
		return 0;
	leg = w->error ? silent(d) : leg_of(w->text, w->size);
	return leg ? keep(s, leg, err) : no_memory(err);
}

/* Takes what was remembered of @d, as if it had been read now. */
static int take_known(struct scan *s, const struct device *d, const struct remembered *known,
		      struct err *err)
{
	struct watched w = { .text = known->text, .size = known->size };
	unsigned int before = s->leg_count;
	int ret = known->size >= sizeof(struct answer) ? take(s, d, &w, err) : 0;

	/* It may have had another name then. */
	if (s->leg_count > before)
		snprintf(s->legs[s->leg_count - 1]->dev.path, sizeof(d->path), "%s", d->path);
	return ret;
}

/* Remembers what was read, unless it may be different the next time: an error, for example. */
static void remember(struct memory *m, const struct device *d, const struct sight *sight)
{
	const struct watched *w = sight->job;
	const struct answer *a = (const struct answer *)w->text;
	const struct label *l = a ? &a->leg.label : NULL;

	if (!sight->stamped || w->error || !l || a->ret || l->unreadable)
		return;
	memory_keep(m, d->rdev, &sight->before, w->text, l->valid || l->bad ? w->size : 0);
}

/* Prepares @jobs for the devices that have to be read. Returns how many. */
static unsigned int look_up(const struct places *p, const struct memory *m, struct sight *sights,
			    struct watched *jobs)
{
	unsigned int i, n = 0;

	for (i = 0; i < p->count; i++) {
		struct sight *sight = &sights[i];

		sight->stamped = m && stamp_take(p->list[i].rdev, &sight->before);
		if (sight->stamped)
			sight->known = memory_find(m, p->list[i].rdev, &sight->before);
		if (sight->known)
			continue;
		sight->job = &jobs[n++];
		*sight->job = (struct watched){ .work = look, .arg = &p->list[i] };
	}
	return n;
}

static int take_all(struct scan *s, const struct places *p, const struct sight *sights,
		    struct err *err)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < p->count; i++)
		if (sights[i].job)
			device_note(p->list[i].path, sights[i].job->error == ETIMEDOUT);
	for (i = 0; !ret && i < p->count; i++)
		ret = sights[i].known ? take_known(s, &p->list[i], sights[i].known, err) :
					take(s, &p->list[i], sights[i].job, err);
	return ret;
}

/* @m: NULL: remember nothing */
static int look_at(struct scan *s, struct places *p, struct memory *m, struct err *err)
{
	struct watched *jobs = calloc(p->count + 1, sizeof(*jobs));
	struct sight *sights = calloc(p->count + 1, sizeof(*sights));
	unsigned int i, n;
	int ret;

	if (!jobs || !sights) {
		free(jobs);
		free(sights);
		return no_memory(err);
	}
	n = look_up(p, m, sights, jobs);
	watched_all(jobs, n, (int)device_patience);
	ret = take_all(s, p, sights, err);
	for (i = 0; m && i < p->count; i++)
		if (sights[i].job)
			remember(m, &p->list[i], &sights[i]);
	for (i = 0; i < n; i++)
		free(jobs[i].text);
	free(jobs);
	free(sights);
	return ret;
}

/* --- where to look -------------------------------------------------------------------------- */

static int add_path(struct places *p, const char *path, struct err *err)
{
	struct device *d, *list;
	struct stat st;

	if (stat(path, &st))
		return 0;
	list = realloc(p->list, (p->count + 1) * sizeof(*list));
	if (!list)
		return no_memory(err);
	p->list = list;
	d = memset(&list[p->count], 0, sizeof(*list));
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->fd = -1;
	d->rdev = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	d->file_dev = st.st_dev;
	d->file_ino = st.st_ino;
	p->count += !hidden(d, p->free_only);
	return 0;
}

static int add_folder(struct places *p, const char *dir, struct err *err)
{
	char path[PATH_MAX];
	struct dirent **names;
	struct stat st;
	int i, n = scandir(dir, &names, NULL, alphasort), ret = 0;

	if (n < 0)
		return err_set(err, ERR_NOT_FOUND, dir, "check the path", "%s", strerror(errno));
	for (i = 0; i < n; i++) {
		if (!ret && (size_t)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name) <
		    sizeof(path) && !stat(path, &st) &&
		    (S_ISBLK(st.st_mode) || S_ISREG(st.st_mode)))
			ret = add_path(p, path, err);
		free(names[i]);
	}
	free(names);
	return ret;
}

static int add_all(struct places *p, struct err *err)
{
	char path[PATH_MAX], text[64];
	struct dirent **names;
	unsigned int ma, mi;
	int i, n = scandir("/sys/class/block", &names, NULL, alphasort), ret = 0;
	FILE *f;

	if (n < 0)
		return err_set(err, ERR_IO, "/sys/class/block", "mount /sys", "%s",
			       strerror(errno));
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/sys/class/block/%s/dev", names[i]->d_name);
		f = ret || *names[i]->d_name == '.' ? NULL : fopen(path, "re");
		if (f && fgets(text, sizeof(text), f) && sscanf(text, "%u:%u", &ma, &mi) == 2) {
			device_name(device_make(ma, mi), path, sizeof(path));
			ret = add_path(p, path, err);
		}
		if (f)
			fclose(f);
		free(names[i]);
	}
	free(names);
	return ret;
}

struct found_pool *scan_pool(struct scan *s, const u8 uuid[16])
{
	unsigned int i;

	for (i = 0; i < s->pool_count; i++)
		if (!memcmp(s->pools[i].sb->pool_uuid, uuid, 16))
			return &s->pools[i];
	return NULL;
}

/* Its label says so, and no more: it may have been made a leg by a superblock that no leg has. */
static bool is_shadow(const struct kvp_sb *pool, const struct kvp_sb *own)
{
	return pool->shadow.of && own->flags & KVP_SB_JOINING &&
	       !memcmp(pool->shadow.uuid, own->leg_uuid, 16);
}

static struct kvp_rival rival_of(const struct found_leg *leg)
{
	return (struct kvp_rival){ leg->label.sb, leg->label.all_read };
}

bool scan_forked(const struct found_pool *p, const struct found_leg *leg)
{
	const struct kvp_rival r = rival_of(leg);

	return kvp_sb_forked(r.sb, p->sb, false) && !kvp_rival_passed(&r, p->sb);
}

/* The number of the leg with this UUID, or leg_count. */
static u32 place_of(const struct found_pool *p, const u8 uuid[16])
{
	u32 i = 0;

	while (i < p->sb->leg_count && memcmp(p->sb->legs[i].uuid, uuid, 16))
		i++;
	return i;
}

/* The leg of @sb is missing, as its device cannot be used. */
static void place_unusable(struct found_pool *p, struct found_leg *leg, const struct kvp_sb *sb)
{
	u32 i = place_of(p, sb->leg_uuid);

	if (i < p->sb->leg_count)
		p->unusable[i] = leg;
	else if (is_shadow(p->sb, sb))
		p->unusable_shadow = leg;
}

/* A newer kvpool went on with a leg of a pool that has other legs here. */
static void place_newer(struct scan *s, struct found_leg *leg)
{
	const struct label *l = &leg->label;
	struct found_pool *p = scan_pool(s, l->sb ? l->sb->pool_uuid : l->newer_pool);
	u32 i = p ? place_of(p, l->sb ? l->sb->leg_uuid : l->newer_leg) : 0;

	if (!p)
		return;
	p->newer = leg;
	if (i < p->sb->leg_count)
		p->unusable[i] = leg;
}

static void place_leg(struct found_pool *p, struct found_leg *leg)
{
	const struct kvp_sb *sb = leg->label.sb;
	u32 i = place_of(p, sb->leg_uuid);

	if (i == p->sb->leg_count) {
		*(is_shadow(p->sb, sb) ? &p->shadow : &p->odd) = leg;
		return;
	}
	if (p->legs[i])
		p->duplicate = leg;
	else
		p->legs[i] = leg;
	if (scan_forked(p, leg))
		p->fork = leg;
	else if (p->sb->legs[i].state == KVP_LEG_IN_SYNC && kvp_sb_lag(p->sb, sb, leg->label.held))
		p->outdated = leg;
	else if (p->sb->legs[i].state == KVP_LEG_IN_SYNC && leg->label.held > p->sb->sequence)
		p->doubtful = leg;
}

static void place_spare(struct scan *s, struct found_leg *leg)
{
	struct found_pool *p = scan_pool(s, leg->label.spare.pool_uuid);

	if (p && p->spare_count < MAX_SPARES)
		p->spares[p->spare_count++] = leg;
}

static bool usable(const struct found_leg *leg)
{
	return !label_fault(&leg->label) && !*leg->part;
}

/* The superblock of a leg whose device cannot be used; NULL: it can be used, or is no leg. */
static const struct kvp_sb *unusable_sb(const struct found_leg *leg)
{
	if (label_is_small(&leg->label))
		return leg->label.short_sb;
	return *leg->part && !label_fault(&leg->label) ? leg->label.sb : NULL;
}

/* Choose the superblock of @p that counts, as a start does. */
static void choose(const struct scan *s, struct found_pool *p, struct kvp_rival *rivals)
{
	unsigned int i;
	u32 n = 0;

	for (i = 0; i < s->leg_count; i++)
		if (usable(s->legs[i]) &&
		    !memcmp(s->legs[i]->label.sb->pool_uuid, p->sb->pool_uuid, 16))
			rivals[n++] = rival_of(s->legs[i]);
	p->sb = kvp_rivals_choose(rivals, n);
}

static int choose_all(struct scan *s, struct err *err)
{
	struct kvp_rival *rivals = calloc(s->leg_count + 1, sizeof(*rivals));
	unsigned int i;

	if (!rivals)
		return no_memory(err);
	for (i = 0; i < s->pool_count; i++)
		choose(s, &s->pools[i], rivals);
	free(rivals);
	return 0;
}

static int group(struct scan *s, struct err *err)
{
	unsigned int i;

	s->pools = calloc(s->leg_count + 1, sizeof(*s->pools));
	if (!s->pools)
		return no_memory(err);
	for (i = 0; i < s->leg_count; i++) {
		const struct kvp_sb *sb = s->legs[i]->label.sb;

		if (!usable(s->legs[i]))
			continue;
		if (!scan_pool(s, sb->pool_uuid))
			s->pools[s->pool_count++].sb = sb;
	}
	if (choose_all(s, err))
		return -1;
	for (i = 0; i < s->leg_count; i++) {
		struct label *l = &s->legs[i]->label;
		const struct kvp_sb *unusable = unusable_sb(s->legs[i]);
		struct found_pool *p = unusable ? scan_pool(s, unusable->pool_uuid) : NULL;

		if (usable(s->legs[i]))
			place_leg(scan_pool(s, l->sb->pool_uuid), s->legs[i]);
		else if (label_is_spare(l) || label_is_resized_spare(l))
			place_spare(s, s->legs[i]);
		else if (p)
			place_unusable(p, s->legs[i], unusable);
		else if (label_is_newer(l))
			place_newer(s, s->legs[i]);
	}
	for (i = 0; i < s->pool_count; i++)
		if (scan_missing(&s->pools[i]))
			s->pools[i].unread = scan_unread(s);
	return 0;
}

static int find_places(const char *const *where, unsigned int count, struct places *p,
		       struct err *err)
{
	unsigned int i;
	struct stat st;
	int ret = count ? 0 : add_all(p, err);

	for (i = 0; !ret && i < count; i++) {
		if (stat(where[i], &st))
			ret = err_set(err, ERR_NOT_FOUND, where[i], "check the path", "%s",
				      strerror(errno));
		else
			ret = S_ISDIR(st.st_mode) ? add_folder(p, where[i], err) :
						    add_path(p, where[i], err);
	}
	return ret;
}

enum scan_kind { SCAN, SCAN_GLANCE, SCAN_OFFLINE };

static int scan(const char *const *where, unsigned int count, enum scan_kind kind, struct scan *s,
		struct err *err)
{
	bool glance = kind == SCAN_GLANCE;
	struct places p = { .free_only = glance };
	struct memory m;
	unsigned int i;
	int ret;

	memset(s, 0, sizeof(*s));
	if (glance)
		memory_open(&m, "labels");
	ret = find_places(where, count, &p, err);
	if (!ret)
		ret = look_at(s, &p, glance ? &m : NULL, err);
	if (glance)
		memory_close(&m);
	for (i = 0; kind == SCAN_OFFLINE && i < s->leg_count; i++)
		*s->legs[i]->part = 0;
	if (!ret)
		ret = group(s, err);
	free(p.list);
	if (ret)
		scan_free(s);
	return ret;
}

int scan_run(const char *const *where, unsigned int count, struct scan *s, struct err *err)
{
	return scan(where, count, SCAN, s, err);
}

int scan_offline(const char *const *where, unsigned int count, struct scan *s, struct err *err)
{
	return scan(where, count, SCAN_OFFLINE, s, err);
}

int scan_glance(const char *const *where, unsigned int count, struct scan *s, struct err *err)
{
	return scan(where, count, SCAN_GLANCE, s, err);
}

void scan_free(struct scan *s)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++) {
		label_free(&s->legs[i]->label);
		free(s->legs[i]);
	}
	free(s->legs);
	free(s->pools);
	memset(s, 0, sizeof(*s));
}

struct found_leg *scan_unread(const struct scan *s)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (label_unread(&s->legs[i]->label))
			return s->legs[i];
	return NULL;
}

struct found_leg *scan_newer(const struct scan *s)
{
	unsigned int i;

	for (i = 0; i < s->leg_count; i++)
		if (label_is_newer(&s->legs[i]->label))
			return s->legs[i];
	return NULL;
}

unsigned int scan_missing(const struct found_pool *p)
{
	unsigned int n = 0;
	u32 i;

	for (i = 0; i < p->sb->leg_count; i++)
		n += !p->legs[i];
	return n;
}

bool scan_leg_in_sync(const struct found_pool *p, u32 i)
{
	const struct label *l = p->legs[i] ? &p->legs[i]->label : NULL;

	return l && p->sb->legs[i].state == KVP_LEG_IN_SYNC && !scan_forked(p, p->legs[i]) &&
	       !kvp_sb_lag(p->sb, l->sb, l->held);
}

unsigned int scan_in_sync(const struct found_pool *p)
{
	unsigned int n = 0;
	u32 i;

	for (i = 0; i < p->sb->leg_count; i++)
		n += scan_leg_in_sync(p, i);
	return n;
}

bool scan_was_destroyed(const struct kvp_sb *sb)
{
	const struct found_pool *p;
	struct scan s;
	struct err err;
	bool gone;

	if (sb->flags & KVP_SB_DESTROYED)
		return true;
	if (scan_run(NULL, 0, &s, &err))
		return false;
	p = scan_pool(&s, sb->pool_uuid);
	gone = p && p->sb->flags & KVP_SB_DESTROYED && kvp_sb_newer(p->sb, sb) && !p->fork &&
	       !p->duplicate && !p->doubtful && !p->newer;
	scan_free(&s);
	return gone;
}
