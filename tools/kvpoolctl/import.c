// SPDX-License-Identifier: GPL-2.0-only
/* Which pools can be imported, and the reasons against it. */
#include <stdarg.h>

#include "foreign.h"
#include "format/logplace.h"
#include "format/shadow.h"
#include "format/tunables.h"
#include "found.h"
#include "import.h"
#include "log.h"
#include "memory.h"
#include "spare_devices.h"

static void __attribute__((format(printf, 5, 6)))
refuse(struct refusals *r, const char *pool, enum err_code code, const char *mend,
       const char *why, ...)
{
	struct err *e = &r->list[r->count];
	char text[sizeof(e->why)];
	va_list ap;

	if (r->count == MAX_REFUSALS)
		return;
	va_start(ap, why);
	vsnprintf(text, sizeof(text), why, ap);
	va_end(ap);
	err_set(e, code, pool, mend, "%s", text);
	r->count++;
}

static void check_name(const struct found_pool *p, const char *name, struct refusals *r)
{
	const char *fault = name_fault(name, command_names());

	if (fault)
		refuse(r, p->sb->name, ERR_REFUSED, "import it by UUID under a new name",
		       "this name is not allowed: %s", fault);
	else if (dm_name_used(name))
		refuse(r, p->sb->name, ERR_NAME_IN_USE, "import it under a new name",
		       "a mapped device called %s exists", name);
}

/* Two hosts that write to the same legs destroy the pool. */
static void check_host(const struct found_pool *p, const struct host *self, struct refusals *r)
{
	char host[HOST_SHOWN], when[TIME_BUF];

	if (host_has_other(self, p->sb))
		refuse(r, p->sb->name, ERR_OTHER_HOST, "export it there; or, once that host cannot "
		       "write to its legs any more, --takeover",
		       "host %s runs it, or did not stop it; it last wrote to its labels at %s",
		       host_shown(p->sb, host), time_print(p->sb->write_time, when));
}

static void check_active(const struct found_pool *p, struct refusals *r)
{
	char uuid[UUID_BUF];
	struct dm_entry e;

	if (dm_find(uuid_print(p->sb->pool_uuid, uuid), &e, NULL))
		return;
	if (e.live)
		refuse(r, p->sb->name, ERR_ACTIVE, "nothing to do; 'kvpoolctl status' shows it",
		       "it is active as %s", e.name);
	else
		refuse(r, p->sb->name, ERR_ACTIVE, "if no other command starts it: dmsetup remove "
		       "NAME, with that name; then import it",
		       "the device %s has its UUID, and no table: another command starts it, or "
		       "was killed while it did", e.name);
}

const char *import_word(const struct scan *s, const struct found_pool *p, char uuid[UUID_BUF])
{
	const struct kvp_sb *other;
	unsigned int i;

	/* A label may be anybody's: what it says must not be a part of a command. */
	if (name_fault(p->sb->name, command_names()))
		return uuid_print(p->sb->pool_uuid, uuid);
	for (i = 0; i < s->pool_count; i++) {
		other = s->pools[i].sb;
		if (!(other->flags & KVP_SB_DESTROYED) && !strcmp(other->name, p->sb->name) &&
		    memcmp(other->pool_uuid, p->sb->pool_uuid, 16))
			return uuid_print(p->sb->pool_uuid, uuid);
	}
	return p->sb->name;
}

bool import_complete(const struct found_pool *p)
{
	u32 i;

	for (i = 0; i < p->sb->leg_count; i++)
		if (!p->legs[i] && p->sb->legs[i].state == KVP_LEG_IN_SYNC)
			return false;
	return !p->sb->shadow.of || p->shadow;
}

/* The value that was set, or the default. */
static u64 tunable_of(const struct kvp_sb *sb, enum kvp_tunable_id id)
{
	return sb->tunable_mask >> id & 1 ? sb->tunables[id] : kvp_tunables[id].def;
}

bool import_automatic(const struct kvp_sb *sb)
{
	return tunable_of(sb, KVP_T_AUTOIMPORT);
}

/* By its tunable, or by the module's parameter. */
static bool starts_degraded(const struct kvp_sb *sb)
{
	return module_starts_degraded() || tunable_of(sb, KVP_T_DEGRADED_START) == 1;
}

/* The number of the vdev's legs that are there and in sync. */
static unsigned int in_sync(const struct found_pool *p, const struct kvp_geometry *g)
{
	unsigned int n = 0;
	u32 i;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += scan_leg_in_sync(p, i);
	return n;
}

/* The first vdev with too few legs, or NULL. */
static const struct kvp_geometry *incomplete_vdev(const struct found_pool *p)
{
	u32 i;

	for (i = 0; i < p->sb->vdev_count; i++)
		if (in_sync(p, &p->sb->vdevs[i]) < offline_needed(&p->sb->vdevs[i]))
			return &p->sb->vdevs[i];
	return NULL;
}

bool import_may_lack(const struct found_pool *p)
{
	u32 i, l;

	for (i = 0; i < p->sb->vdev_count; i++) {
		const struct kvp_geometry *g = &p->sb->vdevs[i];
		unsigned int missing = 0;

		for (l = g->first_leg; l < g->first_leg + g->leg_count; l++)
			missing += !p->legs[l] && p->sb->legs[l].state == KVP_LEG_IN_SYNC;
		if (missing < offline_needed(g))
			return false;
	}
	return true;
}

/* The number of legs that may still be lost, whichever they are. */
int import_losses(const struct found_pool *p)
{
	int least = KVP_MAX_LEGS, left;
	u32 i;

	for (i = 0; i < p->sb->vdev_count; i++) {
		if (!kvp_has_data(&p->sb->vdevs[i])) {
			left = (int)in_sync(p, &p->sb->vdevs[i]) -
			       (int)kvp_log_needs(&p->sb->vdevs[i]);
			if (i == p->sb->log_vdev && left >= 0)
				least = left < least ? left : least;
			continue;
		}
		left = (int)in_sync(p, &p->sb->vdevs[i]) - (int)offline_needed(&p->sb->vdevs[i]);
		least = left < least ? left : least;
	}
	return least;
}

static void check_legs(const struct found_pool *p, const struct import_options *o,
		       struct refusals *r)
{
	const struct kvp_geometry *g = incomplete_vdev(p);
	const char *name = p->sb->name;

	if (p->duplicate)
		refuse(r, name, ERR_DUPLICATE_LEG, DUPLICATE_MEND,
		       "%.200s carries the same UUID as another leg",
		       p->duplicate->dev.path);
	if (p->fork && !o->accept_fork)
		refuse(r, name, ERR_FORK, "decide which legs are right; --accept-fork takes those "
		       "with the newest epoch, and loses the data that only the others have",
		       "%.200s was written alone: its history is not part of the others'",
		       p->fork->dev.path);
	if (p->outdated && (!scan_in_sync(p) || g))
		refuse(r, name, ERR_MISSING_LEGS,
		       "connect it in its newest state, or the legs that are missing",
		       "%.200s was put back to an older state: its label is behind the others, "
		       "and without it they do not suffice",
		       p->outdated->dev.path);
	else if (!scan_in_sync(p))
		refuse(r, name, ERR_MISSING_LEGS, "connect a leg that was in sync",
		       "no leg that is in sync was found");
	else if (g && kvp_is_parity1(g))
		refuse(r, name, ERR_MISSING_LEGS, "connect the others",
		       "%u of %u legs are there and in sync; a parity1 needs all but one",
		       in_sync(p, g), g->leg_count);
	else if (g)
		refuse(r, name, ERR_MISSING_LEGS, "connect a leg of it that was in sync",
		       "of vdev %u no leg that is in sync was found",
		       (unsigned int)(g - p->sb->vdevs));
	else if (import_may_lack(p) && !starts_degraded(p->sb) && !o->degraded)
		refuse(r, name, ERR_MISSING_LEGS, "connect them, or give --degraded, if data that "
		       "only they have can be given up",
		       "%u of %u legs are missing and may hold newer data", scan_missing(p),
		       p->sb->leg_count);
}

/* A missing leg with data, or a missing SSD of a cache, whose device is here; or NULL. */
static const struct found_leg *find_unusable(const struct found_pool *p, bool data)
{
	u32 v, i;

	for (v = 0; v < p->sb->vdev_count; v++) {
		const struct kvp_geometry *g = &p->sb->vdevs[v];

		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
			if (kvp_has_data(g) == data && !p->legs[i] && p->unusable[i])
				return p->unusable[i];
	}
	return NULL;
}

/* A missing leg is on a device that is not there, but a part of that is: the refusal says so. */
static void name_part(const struct found_leg *leg, struct err *e)
{
	size_t n = strlen(e->why);

	snprintf(e->why + n, sizeof(e->why) - n,
		 "; %.150s is a part of another device, which has the leg: %.40s", leg->dev.path,
		 leg->part);
	snprintf(e->mend, sizeof(e->mend), "%s%s", FOUND_PART,
		 strstr(e->mend, "--degraded") ? "; or give --degraded, if data that only the leg "
		 "has can be given up" : "");
}

/* A missing leg is there, but its device cannot be used: the refusal says so. */
static void name_unusable(const struct found_pool *p, struct refusals *r)
{
	const struct found_leg *leg;
	struct err *e;
	size_t n;

	for (e = r->list; e < r->list + r->count; e++) {
		if (e->code != ERR_MISSING_LEGS && e->code != ERR_NO_CACHE)
			continue;
		leg = find_unusable(p, e->code == ERR_MISSING_LEGS);
		if (leg && *leg->part)
			name_part(leg, e);
		if (!leg || !label_is_small(&leg->label))
			continue;
		n = strlen(e->why);
		snprintf(e->why + n, sizeof(e->why) - n,
			 "; %.200s is %s of it, but %llu bytes smaller than when it became one",
			 leg->dev.path, e->code == ERR_MISSING_LEGS ? "a leg" : "an SSD",
			 (unsigned long long)leg->label.short_by);
		snprintf(e->mend, sizeof(e->mend), "%s%s", FOUND_FULL_SIZE,
			 strstr(e->mend, "--degraded") ? "; or give --degraded, if data that only "
			 "it has can be given up" : "");
	}
}

/* Legs are missing, and a device cannot be read that may be one of them. */
static void name_unread(const struct found_pool *p, struct refusals *r)
{
	struct err *e;
	size_t n;

	for (e = r->list; p->unread && e < r->list + r->count; e++) {
		if (e->code != ERR_MISSING_LEGS && e->code != ERR_NO_CACHE)
			continue;
		n = strlen(e->why);
		snprintf(e->why + n, sizeof(e->why) - n, "; %.150s may be a leg of it: %.80s",
			 p->unread->dev.path, label_fault(&p->unread->label));
	}
}

bool import_log_lost(const struct found_pool *p)
{
	const struct kvp_geometry *g = &p->sb->vdevs[p->sb->log_vdev];

	return kvp_log_on_cache(p->sb) && !(p->sb->flags & KVP_SB_CLEAN) &&
	       in_sync(p, g) < kvp_log_needs(g);
}

bool import_log_damaged(const struct found_pool *p)
{
	struct offline_pool pool;
	struct log_walk w;
	bool damaged;

	if (!kvp_log_on_cache(p->sb) || p->sb->flags & KVP_SB_CLEAN)
		return false;
	if (offline_open(&pool, p, p->sb->log_vdev, NULL))
		return false;
	/* If it cannot be read, a start finds out whether that is damage. */
	damaged = pool.leg_count && !log_walk(&pool, &w, NULL, NULL) && w.damaged;
	offline_close(&pool);
	return damaged;
}

/* Is the log of a cache there, or not needed? (R14) */
static void check_cache(const struct found_pool *p, const struct import_options *o,
			struct refusals *r)
{
	const char *name = p->sb->name;
	char when[TIME_BUF], missing[64] = "its cache is missing";
	int cache = kvp_cache_find(p->sb);

	if (cache >= 0 && in_sync(p, &p->sb->vdevs[cache]))
		snprintf(missing, sizeof(missing),
			 "only %u of %u SSDs of its cache are there, one too few",
			 in_sync(p, &p->sb->vdevs[cache]), p->sb->vdevs[cache].leg_count);
	if (!o->discard_log && import_log_lost(p))
		refuse(r, name, ERR_NO_CACHE, "connect an SSD of it; if none will come back, "
		       "--discard-log discards the log: some of its data may be older than that "
		       "checkpoint",
		       "%s, whose log, from lsn %llu on, may have the only copy of data: "
		       "%llu MiB that the last checkpoint counted, at %s, and all later writes",
		       missing,
		       (unsigned long long)p->sb->log_tail,
		       (unsigned long long)kvp_log_counted_mib(p->sb),
		       p->sb->checkpoint_time ? time_print(p->sb->checkpoint_time, when) :
		       "an unknown time");
	if (o->discard_log && kvp_cache_find(p->sb) < 0)
		refuse(r, name, ERR_NO_CACHE, "leave out --discard-log; if the import is refused "
		       "without it, kvpoolctl check explains why",
		       "it has no cache: its log lies on its legs, and is needed");
	else if (o->discard_log && !import_log_lost(p) && !import_log_damaged(p))
		refuse(r, name, ERR_NO_CACHE, "leave out --discard-log",
		       "its log need not be given up: it is there, and not known to be damaged");
}

static int entry_found(void *arg, const struct kvp_log_hdr *h, const void *buf)
{
	(void)arg, (void)h, (void)buf;
	return 1;
}

/* Would a start have to write? After a clean stop the log is not read. */
static bool log_holds_writes(const struct found_pool *p)
{
	struct offline_pool *pools;
	const struct offline_pool *log;
	struct log_walk w;
	bool found = false;
	u32 opened = 0;

	if (p->sb->flags & KVP_SB_CLEAN)
		return false;
	pools = calloc(p->sb->vdev_count, sizeof(*pools));
	while (pools && opened < p->sb->vdev_count && !offline_open(&pools[opened], p, opened,
		NULL))
		opened++;
	if (pools && opened == p->sb->vdev_count) {
		log = offline_link_log(pools);
		found = log->leg_count && log_walk(log, &w, entry_found, NULL) == 1;
	}
	while (opened)
		offline_close(&pools[--opened]);
	free(pools);
	return found;
}

void import_check(const struct found_pool *p, const struct import_options *o,
		  struct refusals *r)
{
	r->count = 0;
	check_active(p, r);
	if (r->count)
		return;
	/* Alone: the others would propose to go on without that leg, from before the upgrade. */
	if (p->newer) {
		refuse(r, p->sb->name, ERR_UNSUPPORTED, LABEL_NEWER_MEND,
		       "a newer kvpool wrote the labels of %.200s, and the other legs may have the "
		       "state before that", p->newer->dev.path);
		return;
	}
	if (p->sb->flags & KVP_SB_JOINING) {
		refuse(r, p->sb->name, ERR_MISSING_LEGS, "connect the pool's own legs; if it runs "
		       "without these: kvpoolctl labelclear -f DEV",
		       "only legs are here that an unfinished add or replace was to add");
		return;
	}
	if (p->sb->flags & KVP_SB_DESTROYED && !o->destroyed)
		refuse(r, p->sb->name, ERR_DESTROYED, "--destroyed brings it back",
		       "it was destroyed");
	if (!o->takeover)
		check_host(p, &o->self, r);
	if (p->sb->ro_compat & ~KVP_RO_COMPAT_KNOWN && !o->readonly)
		refuse(r, p->sb->name, ERR_UNSUPPORTED, "--readonly, or a newer kvpool",
		       "it can only be read: features %#llx are not known",
		       (unsigned long long)p->sb->ro_compat);
	check_cache(p, o, r);
	if (o->readonly && log_holds_writes(p))
		refuse(r, p->sb->name, ERR_NOT_CLEAN,
		       "import it without --readonly, then kvpoolctl export --drain POOL",
		       "its log holds writes that are not yet home");
	check_legs(p, o, r);
	name_unusable(p, r);
	name_unread(p, r);
	check_name(p, o->new_name ?: p->sb->name, r);
}

/* Probe the legs that are out. All others are not called reused. */
static void find_reused(const struct found_pool *p, char (*reused)[SIGNATURE_TYPE])
{
	char types[KVP_MAX_LEGS][SIGNATURE_TYPE];
	const char *paths[KVP_MAX_LEGS] = { NULL };
	unsigned int n = 0;
	u32 of[KVP_MAX_LEGS], i;

	for (i = 0; i < KVP_MAX_LEGS; i++)
		*reused[i] = 0;
	for (i = 0; i < p->sb->leg_count; i++) {
		if (!p->legs[i] || scan_leg_in_sync(p, i))
			continue;
		of[n] = i;
		paths[n++] = p->legs[i]->dev.path;
	}
	if (n)
		foreign_find_sure(paths, n, types);
	for (i = 0; i < n; i++)
		memcpy(reused[of[i]], types[i], SIGNATURE_TYPE);
}

/*
 * @p without its read-only legs, with @all also those in sync; and without legs that have got
 * another use while they were out. Whether others suffice, and whether a leg may have newer data,
 * import_check() says, as of legs that are missing.
 */
static bool leave_out(const struct found_pool *p, const struct import_options *o, bool all,
		      struct import_without *without)
{
	struct found_pool *rest = &without->pool;
	struct refusals r;
	unsigned int left = 0;
	u32 i;

	*rest = *p;
	for (i = 0; i < p->sb->leg_count; i++) {
		struct found_leg *leg = p->legs[i];

		if (!leg || !(*without->reused[i] ||
			      (leg->dev.readonly && (all || !scan_leg_in_sync(p, i)))))
			continue;
		rest->unusable[i] = leg;
		rest->legs[i] = NULL;
		left++;
	}
	if (!left)
		return false;
	import_check(rest, o, &r);
	return !r.count;
}

bool import_leave_out(const struct found_pool *p, const struct import_options *o,
		      struct import_without *without)
{
	if (o->readonly)
		return false;
	find_reused(p, without->reused);
	return leave_out(p, o, true, without) || leave_out(p, o, false, without);
}

/* Checks a leg that is there: false if it cannot be used. */
static bool check_device(const struct device *d, const struct import_options *o, struct err *err)
{
	if (!d->rdev && !device_takes_files)
		err_set(err, ERR_NOT_BLOCK_DEVICE, d->path, "attach it with losetup first",
			"an image file");
	else if (d->readonly && !o->readonly)
		err_set(err, ERR_READ_ONLY, d->path,
			"make it writable: blockdev --setrw; or import the pool --readonly, or "
			"--degraded, without it",
			"it is read-only");
	else
		return !device_unused(d, err);
	return false;
}

static void refuse_reused(const struct device *d, const char *type, struct refusals *r)
{
	if (r->count == MAX_REFUSALS || !*type)
		return;
	if (!strcmp(type, FOREIGN_UNKNOWN))
		err_set(&r->list[r->count++], ERR_IO, d->path,
			"try it again; or name only the other legs, by -d; or --readonly",
			FOREIGN_UNSEEN ": since the pool was destroyed, it may have got another "
			"use, and an import would write over that");
	else
		err_set(&r->list[r->count++], ERR_SIGNATURE, d->path,
			"name only the other legs, by -d; or, if nothing on it is needed, "
			"kvpoolctl labelclear --foreign DEV",
			"it carries a signature of %.60s: since the pool was destroyed, it may "
			"have got another use, and an import would write over that", type);
}

/*
 * The legs of a destroyed pool are free for any use. mkfs asks nothing there, and may leave enough
 * of the label. In sync as it says it is, such a leg would get superblocks, and the pool's blocks
 * wherever the new contents do not verify.
 */
static void check_reused(const struct found_pool *p, struct refusals *r)
{
	char types[KVP_MAX_LEGS + 1][SIGNATURE_TYPE];
	const struct found_leg *legs[KVP_MAX_LEGS + 1];
	const char *paths[KVP_MAX_LEGS + 1] = { NULL };
	unsigned int n = 0, i;

	for (i = 0; i < p->sb->leg_count; i++)
		if (p->legs[i])
			legs[n++] = p->legs[i];
	if (p->shadow)
		legs[n++] = p->shadow;
	for (i = 0; i < n; i++)
		paths[i] = legs[i]->dev.path;
	foreign_find_sure(paths, n, types);
	for (i = 0; i < n; i++)
		refuse_reused(&legs[i]->dev, types[i], r);
}

void import_check_devices(const struct found_pool *p, const struct import_options *o,
			  struct refusals *r)
{
	u32 i;

	if (r->count && r->list[0].code == ERR_ACTIVE)
		return;
	if (p->sb->flags & KVP_SB_DESTROYED && o->destroyed && !o->readonly)
		check_reused(p, r);
	for (i = 0; i < p->sb->leg_count && r->count < MAX_REFUSALS; i++)
		if (p->legs[i] && !check_device(&p->legs[i]->dev, o, &r->list[r->count]))
			r->count++;
}

static bool add(char *buf, size_t size, const char *text)
{
	size_t len = strlen(buf);

	return (size_t)snprintf(buf + len, size - len, "%s%s", len ? " " : "", text) < size - len;
}

/* The pool starts without one that cannot be used: that is told, and the order waits. */
bool import_has_shadow(const struct found_pool *p)
{
	struct err ignored;

	return p->shadow && p->shadow->dev.rdev && !p->shadow->dev.readonly &&
	       !device_unused(&p->shadow->dev, &ignored);
}

bool import_params(const struct found_pool *p, const struct import_options *o, char *buf,
		   size_t size)
{
	char words[400] = "", head[480], uuid[UUID_BUF], word[DEVICE_WORD], host[HOST_WORD];
	bool undestroy = o->destroyed && p->sb->flags & KVP_SB_DESTROYED, ok;
	unsigned int n = 0;
	u32 v, i;

	n += *host_word(&o->self, host) && add(words, sizeof(words), host);
	if (o->new_name) {
		snprintf(head, sizeof(head), "name=%s", o->new_name);
		n += add(words, sizeof(words), head);
	}
	if (import_has_shadow(p) && !o->readonly) {
		snprintf(head, sizeof(head), "shadow=%s", device_word(&p->shadow->dev, word));
		n += add(words, sizeof(words), head);
	}
	n += o->readonly && add(words, sizeof(words), "readonly");
	n += o->degraded && add(words, sizeof(words), "degraded");
	n += o->accept_fork && add(words, sizeof(words), "accept_fork");
	n += o->discard_log && add(words, sizeof(words), "discard_log");
	n += undestroy && add(words, sizeof(words), "undestroy");
	snprintf(head, sizeof(head), "%s %u%s%s", uuid_print(p->sb->pool_uuid, uuid), n,
		 n ? " " : "", words);
	*buf = 0;
	ok = add(buf, size, head);
	for (v = 0; ok && v < p->sb->vdev_count; v++) {
		const struct kvp_geometry *g = &p->sb->vdevs[v];

		snprintf(head, sizeof(head), "%s %u", vdev_word(g->kind), g->leg_count);
		ok = add(buf, size, head);
		for (i = g->first_leg; ok && i < g->first_leg + g->leg_count; i++)
			ok = add(buf, size, p->legs[i] ? device_word(&p->legs[i]->dev, word) : "-");
	}
	return ok;
}

static const char *state_word(const struct found_pool *p, const struct refusals *r)
{
	if (r->count && r->list[0].code == ERR_ACTIVE)
		return "active";
	if (p->sb->flags & KVP_SB_DESTROYED)
		return "destroyed";
	if (p->sb->flags & KVP_SB_EXPORTED)
		return "exported";
	return p->sb->flags & KVP_SB_CLEAN ? "clean" : "unclean";
}

static void add_vdev(json_object *vdevs, const struct found_pool *p, const struct kvp_geometry *g)
{
	json_object *vdev = json_item(vdevs), *legs, *leg;
	u32 i, shadowed = kvp_shadow_leg(p->sb);
	char uuid[UUID_BUF];

	json_text(vdev, "kind", vdev_word(g->kind));
	legs = json_list(vdev, "legs");
	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
		leg = json_item(legs);
		json_text(leg, "path", p->legs[i] ? p->legs[i]->dev.path : NULL);
		json_text(leg, "uuid", uuid_print(p->sb->legs[i].uuid, uuid));
		json_text(leg, "state", p->legs[i] ? leg_word(p->sb->legs[i].state) : "missing");
		/* null until foreign_note() has probed the leg */
		json_text(leg, "foreign", NULL);
		found_json(leg, p->legs[i] ? NULL : p->unusable[i]);
	}
	if (shadowed >= g->first_leg && shadowed < g->first_leg + g->leg_count) {
		leg = json_item(legs);
		json_text(leg, "path", p->shadow ? p->shadow->dev.path : NULL);
		json_text(leg, "uuid", uuid_print(p->sb->shadow.uuid, uuid));
		json_text(leg, "state", p->shadow ? "resilvering" : "missing");
		json_text(leg, "foreign", NULL);
		found_json(leg, p->shadow ? NULL : p->unusable_shadow);
	}
}

static void add_vdevs(json_object *o, const struct found_pool *p)
{
	json_object *vdevs = json_list(o, "vdevs");
	u32 i;

	for (i = 0; i < p->sb->vdev_count; i++)
		add_vdev(vdevs, p, &p->sb->vdevs[i]);
}

json_object *import_plan(const struct found_pool *p, const char *name, const char *params)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	u64 sectors = p->sb->pool_blocks << KVP_SECTORS_SHIFT;
	char uuid[UUID_BUF], table[PARAMS_MAX + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", sectors, params);
	json_text(plan, "action", "import");
	json_text(plan, "pool", name);
	json_text(plan, "uuid", uuid_print(p->sb->pool_uuid, uuid));
	json_number(plan, "size", p->sb->pool_blocks << KVP_BLOCK_SHIFT);
	json_number(plan, "ram_bytes", tunable_of(p->sb, KVP_T_WRITE_BUFFER) +
		    tunable_of(p->sb, KVP_T_TABLE_CACHE) + tunable_of(p->sb, KVP_T_RAM_CACHE) +
		    memory_of_cache(p->sb));
	json_number(plan, "legs", p->sb->leg_count);
	json_number(plan, "missing", scan_missing(p));
	json_redundancy(plan, -1, import_losses(p));
	add_vdevs(plan, p);
	json_text(plan, "table", table);
	return root;
}

json_object *import_object(const struct found_pool *p, const struct refusals *r)
{
	json_object *o = json_object_new_object(), *list;
	char uuid[UUID_BUF], host[HOST_SHOWN];
	unsigned int i;

	json_text(o, "name", p->sb->name);
	json_text(o, "uuid", uuid_print(p->sb->pool_uuid, uuid));
	json_text(o, "state", state_word(p, r));
	json_flag(o, "importable", !r->count);
	json_flag(o, "autoimport", import_automatic(p->sb));
	json_number(o, "size", p->sb->pool_blocks << KVP_BLOCK_SHIFT);
	json_number(o, "epoch", p->sb->epoch);
	json_time(o, "last_written", p->sb->write_time);
	json_text(o, "last_host", host_shown(p->sb, host));
	add_vdevs(o, p);
	spares_add_found(o, p);
	spares_add_missing(o, p);
	list = json_list(o, "refused");
	for (i = 0; i < r->count; i++)
		json_error(json_item(list), &r->list[i]);
	return o;
}
