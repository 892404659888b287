// SPDX-License-Identifier: GPL-2.0-only
/* The plan of new devices: for a new pool, or for one that runs. */
#include <stdarg.h>
#include <uuid/uuid.h>

#include "alignment.h"
#include "around.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "format/stripe.h"
#include "former.h"
#include "host.h"
#include "memory.h"
#include "overlap.h"
#include "plan.h"
#include "pool_object.h"
#include "protect.h"
#include "returned.h"
#include "scan.h"
#include "signature.h"

/* bytes of an SSD of a cache; a smaller one is more likely a mistake */
#define CACHE_LEAST	(64ull << 20)

static const char vdev_mend[] =
	"give 'single DEV', 'mirror DEV DEV...' or 'parity1 DEV DEV DEV...', or several of them, "
	"and 'cache [mirror|parity1] DEV...' and 'spare DEV...' after them";

int plan_option(struct plan *p, const char *text, struct err *err)
{
	struct setting *s = &p->settings[p->setting_count];
	u64 *size = !strncmp(text, "log_size=", 9) ? &p->log_bytes :
		    !strncmp(text, "size=", 5) ? &p->use_bytes :
		    !strncmp(text, "chunk=", 6) ? &p->chunk_bytes :
		    !strncmp(text, "cache_dirty_max=", 16) ? &p->dirty_bytes : NULL;

	if (size) {
		if (kvp_bytes_parse(strchr(text, '=') + 1, size) || !*size)
			return err_set(err, ERR_USAGE, text, "give bytes, or a suffix K, M, G, T",
				       "not a size");
		return 0;
	}
	if (!strncmp(text, KEY_COMMENT "=", sizeof(KEY_COMMENT))) {
		if (setting_parse(text, &p->comment, err))
			return -1;
		snprintf(p->comment_text, sizeof(p->comment_text), "%s", strchr(text, '=') + 1);
		return 0;
	}
	if (p->setting_count == KVP_MAX_TUNABLES)
		return err_set(err, ERR_USAGE, text, "give each once", "too many -o");
	if (setting_parse(text, s, err))
		return -1;
	p->setting_count++;
	return 0;
}

/* --- a running pool --------------------------------------------------------------- */

/* Reads the label of a used leg, which has the layout. */
static int read_label(struct plan *p, const struct stats *s, struct err *err)
{
	const char *state, *path;
	char name[PATH_MAX];
	struct label l;
	unsigned int i;
	int ret = 0;

	for (i = 0; (state = stats_text(s, "leg.%u.state", i)); i++)
		if (!strcmp(state, "online"))
			break;
	path = state ? stats_text(s, "leg.%u.path", i) : NULL;
	if (!path)
		return err_set(err, ERR_MISSING_LEGS, p->name,
			       "see kvpoolctl status; mend that first",
			       "no leg of it is online");
	if (label_read_path(leg_path(path, name, sizeof(name)), false, &l, err))
		return -1;
	if (label_fault(&l))
		ret = err_set(err, ERR_IO, name, label_mend(&l, "see kvpoolctl inspect"), "%s",
			      label_fault(&l));
	else
		p->whole = p->sb = *l.sb;
	label_free(&l);
	return ret;
}

/* Keeps the cache apart: it stays the last vdev, and the plan is made of the vdevs before it. */
static int set_cache_aside(struct plan *p, struct kvp_geometry *aside, bool *logs_there,
			   struct err *err)
{
	struct kvp_sb *sb = &p->sb;
	int cache = kvp_cache_find(sb);

	if (cache < 0)
		return 0;
	if ((u32)cache + 1 < sb->vdev_count)
		return err_set(err, ERR_REFUSED, p->name, "make another pool",
			       "its cache is not the last of its vdevs, so this version cannot "
			       "change it");
	*logs_there = kvp_log_on_cache(sb);
	*aside = sb->vdevs[--sb->vdev_count];
	memset(&sb->vdevs[sb->vdev_count], 0, sizeof(sb->vdevs[0]));
	sb->leg_count = aside->first_leg;
	sb->log_vdev = 0;
	/* the mode that the pool was given is not asked for again */
	sb->tunable_mask &= ~(1ull << KVP_T_CACHE_MODE);
	return 0;
}

int plan_pool(struct plan *p, const struct stats *s, struct kvp_geometry *cache, bool *logs_there,
	      struct err *err)
{
	memset(cache, 0, sizeof(*cache));
	*logs_there = false;
	if (read_label(p, s, err) || set_cache_aside(p, cache, logs_there, err))
		return -1;
	p->first_vdev = p->sb.vdev_count;
	p->first_leg = p->sb.leg_count;
	p->leg_count = p->first_leg;
	p->roots = (u32)kvp_sb_roots(&p->sb);
	return 0;
}

static bool is_kind(const char *word)
{
	static const char *const kinds[] = { "single", "mirror", "parity1", "cache", "spare" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(word, kinds[i]))
			return true;
	return false;
}

static int check_leg_count(const struct kvp_geometry *g, struct err *err)
{
	const char *kind = vdev_word(g->kind);

	if (g->kind == KVP_VDEV_SINGLE && g->leg_count != 1)
		return err_set(err, ERR_USAGE, kind, vdev_mend, "a single has one leg, not %u",
			       g->leg_count);
	if (g->kind == KVP_VDEV_MIRROR && (g->leg_count < 2 || g->leg_count > KVP_MAX_MIRROR_LEGS))
		return err_set(err, ERR_USAGE, kind, vdev_mend,
			       "a mirror has 2 to %d legs, not %u", KVP_MAX_MIRROR_LEGS,
			       g->leg_count);
	if (g->kind == KVP_VDEV_PARITY1 &&
	    (g->leg_count < KVP_STRIPE_MIN_LEGS || g->leg_count > KVP_STRIPE_MAX_LEGS))
		return err_set(err, ERR_USAGE, kind, vdev_mend,
			       "a parity1 has %d to %d legs, not %u", KVP_STRIPE_MIN_LEGS,
			       KVP_STRIPE_MAX_LEGS, g->leg_count);
	return 0;
}

/* One leg; or several, if the word mirror or parity1 stands before them. */
static int check_cache_legs(const struct kvp_geometry *g, bool mirror, struct err *err)
{
	if (kvp_log_striped(g))
		return g->leg_count >= KVP_STRIPE_MIN_LEGS &&
		       g->leg_count <= KVP_STRIPE_MAX_LEGS ? 0 :
		       err_set(err, ERR_USAGE, "cache", "give 'cache parity1 DEV DEV DEV...'",
			       "a cache of kind parity1 has %d to %d legs, not %u",
			       KVP_STRIPE_MIN_LEGS,
			       KVP_STRIPE_MAX_LEGS, g->leg_count);
	if (mirror ? g->leg_count >= 2 && g->leg_count <= KVP_MAX_MIRROR_LEGS : g->leg_count == 1)
		return 0;
	return err_set(err, ERR_USAGE, "cache",
		       "give 'cache DEV', 'cache mirror DEV DEV...' or 'cache parity1 DEV DEV "
		       "DEV...'",
		       "a cache has one leg, a mirrored cache has 2 to %d; this has %u",
		       KVP_MAX_MIRROR_LEGS, g->leg_count);
}

static int begin_cache(struct plan *p, struct err *err)
{
	static const char mend[] = "name the vdevs with data first, then one cache";

	if (!p->sb.vdev_count)
		return err_set(err, ERR_USAGE, "cache", mend, "a cache needs a vdev before it");
	if (kvp_cache_find(&p->sb) >= 0)
		return err_set(err, ERR_USAGE, "cache", mend, "a pool has one cache at most");
	return 0;
}

static int begin_vdev(struct plan *p, const char *word, struct err *err)
{
	u32 kind = !strcmp(word, "single") ? KVP_VDEV_SINGLE :
		   !strcmp(word, "mirror") ? KVP_VDEV_MIRROR :
		   !strcmp(word, "parity1") ? KVP_VDEV_PARITY1 :
		   !strcmp(word, "cache") ? KVP_VDEV_CACHE : 0;

	if (p->in_spares)
		return err_set(err, ERR_USAGE, word, "name the spares last, after one word spare",
			       "it follows the spares");
	if (!strcmp(word, "spare")) {
		p->in_spares = true;
		return 0;
	}
	if (!kind)
		return err_set(err, ERR_USAGE, word, vdev_mend,
			       "this version cannot make vdevs of this kind");
	if (kind == KVP_VDEV_CACHE && begin_cache(p, err))
		return -1;
	if (kind != KVP_VDEV_CACHE && kvp_cache_find(&p->sb) >= 0)
		return err_set(err, ERR_USAGE, word, "name the cache last",
			       "a vdev with data cannot follow the cache");
	if (p->sb.vdev_count == KVP_MAX_VDEVS)
		return err_set(err, ERR_USAGE, word, "make fewer, of more legs",
			       "a pool has at most %d vdevs", KVP_MAX_VDEVS);
	p->sb.vdevs[p->sb.vdev_count].kind = kind;
	p->sb.vdevs[p->sb.vdev_count++].first_leg = p->leg_count;
	return 0;
}

/*
 * Takes the word after cache, which says how the cache lies on its SSDs. False: the word is a
 * device.
 */
static bool cache_lies(struct plan *p, const char *word, bool *mirror)
{
	struct kvp_geometry *g = &p->sb.vdevs[p->sb.vdev_count - 1];

	*mirror = !strcmp(word, "mirror");
	if (!strcmp(word, "parity1"))
		g->kind = KVP_VDEV_CACHE_PARITY1;
	return *mirror || kvp_log_striped(g);
}

static int add_spare(struct plan *p, const char *word, struct err *err)
{
	if (p->spare_count == MAX_SPARES)
		return err_set(err, ERR_USAGE, word, "name fewer",
			       "a pool has at most %d spares", MAX_SPARES);
	snprintf(p->spares[p->spare_count].dev.path, PATH_MAX, "%s", word);
	p->spares[p->spare_count++].dev.fd = -1;
	return 0;
}

static int add_leg(struct plan *p, const char *word, struct err *err)
{
	if (p->in_spares)
		return add_spare(p, word, err);
	if (p->sb.vdev_count == p->first_vdev)
		return err_set(err, ERR_USAGE, word, vdev_mend, strchr(word, '/') ?
			       "a device needs the kind of its vdev before it" :
			       "not a kind of vdev (for RAID 5 or raidz1 use parity1, for RAID 1 "
			       "mirror)");
	if (p->leg_count == KVP_MAX_LEGS)
		return err_set(err, ERR_USAGE, word, "use fewer, larger devices",
			       "a pool has at most %d legs", KVP_MAX_LEGS);
	snprintf(p->legs[p->leg_count].dev.path, PATH_MAX, "%s", word);
	p->legs[p->leg_count++].dev.fd = -1;
	p->sb.vdevs[p->sb.vdev_count - 1].leg_count++;
	return 0;
}

int plan_vdevs(struct plan *p, int count, char **words, struct err *err)
{
	bool parity = false, data = false, mirrored_cache = false;
	int i;
	u32 v;

	for (i = 0; i < count; i++) {
		if (is_kind(words[i]) ? begin_vdev(p, words[i], err) : add_leg(p, words[i], err))
			return -1;
		if (!strcmp(words[i], "cache") && i + 1 < count)
			i += cache_lies(p, words[i + 1], &mirrored_cache);
	}
	if (p->in_spares && !p->spare_count)
		return err_set(err, ERR_USAGE, "spare", "name it", "no device follows");
	if (p->in_spares && !p->sb.vdev_count)
		return err_set(err, ERR_USAGE, "spare", vdev_mend, "spares are no vdev");
	for (v = p->first_vdev; v < p->sb.vdev_count; v++) {
		if (!kvp_has_data(&p->sb.vdevs[v]) &&
		    check_cache_legs(&p->sb.vdevs[v], mirrored_cache, err))
			return -1;
		if (check_leg_count(&p->sb.vdevs[v], err))
			return -1;
		parity |= kvp_is_parity1(&p->sb.vdevs[v]);
		data |= kvp_has_data(&p->sb.vdevs[v]);
	}
	if ((p->log_bytes || p->use_bytes) && !data && v > p->first_vdev)
		return err_set(err, ERR_USAGE, p->log_bytes ? "log_size" : "size",
			       "leave it out; cache_dirty_max= limits the dirty data of a cache",
			       "it applies to a vdev with data; a cache uses all of its SSDs");
	if (p->chunk_bytes && !parity)
		return err_set(err, ERR_USAGE, "chunk", "leave it out",
			       "only a parity1 has chunks");
	if (p->dirty_bytes && kvp_cache_find(&p->sb) < 0)
		return err_set(err, ERR_USAGE, "cache_dirty_max", "leave it out, or name a cache",
			       "it applies to a cache, and none is named");
	return 0;
}

/* Two partitions may share a disk. Two legs may not share a block. */
static int check_other(const struct plan *p, const struct device *d, const struct device *other,
		       struct err *err)
{
	dev_t disk = device_disk(d->rdev);
	char wwid[DEVICE_WWID];

	if (device_same(other, d))
		return err_set(err, ERR_LISTED_TWICE, d->path, "name each device once",
			       "the same device as %.200s", other->path);
	if (d->rdev && (disk == other->rdev || device_disk(other->rdev) == d->rdev))
		return err_set(err, ERR_LISTED_TWICE, d->path,
			       "name the disk, or its partitions",
			       "%s of %.200s", disk == other->rdev ?
			       "a partition" : "the disk", other->path);
	if (device_overlaps(d, other))
		return err_set(err, ERR_LISTED_TWICE, d->path, "name devices that lie apart",
			       "it shares blocks with %.200s", other->path);
	if (!p->force && device_same_wwid(d, other, wwid))
		return err_set(err, ERR_LISTED_TWICE, d->path,
			       "set up multipath, and name its device; or, if they are two disks "
			       "that have one number, -f",
			       "it is another path to the disk of %.200s, says its WWID %s",
			       other->path, wwid);
	return 0;
}

/* @d against all legs before @leg, and all spares before @spare. */
static int check_twice(const struct plan *p, const struct device *d, unsigned int leg,
		       unsigned int spare, struct err *err)
{
	unsigned int i;
	int ret = 0;

	for (i = p->first_leg; !ret && i < leg; i++)
		ret = check_other(p, d, &p->legs[i].dev, err);
	for (i = 0; !ret && i < spare; i++)
		ret = check_other(p, d, &p->spares[i].dev, err);
	return ret;
}

/* A leg that an interrupted add or replace has left: the same pool may try again. */
static int check_joining(const struct plan *p, const struct kvp_sb *sb, const char *path,
			 struct err *err)
{
	u32 i;

	for (i = 0; i < p->first_leg && !memcmp(sb->pool_uuid, p->sb.pool_uuid, 16); i++)
		if (!memcmp(p->sb.legs[i].uuid, sb->leg_uuid, 16))
			break;
	if (p->first_leg && i == p->first_leg)
		return 0;
	return err_set(err, ERR_MEMBER, path,
		       "if that pool runs without it: kvpoolctl labelclear -f DEV",
		       "an unfinished add or replace was to add it to the pool %s", sb->name);
}

/*
 * Checks for a label of another pool. It is fine if that pool was destroyed. -f does not override
 * this; it is only for foreign signatures.
 */
static int check_label(struct plan *p, struct plan_leg *leg, struct err *err)
{
	static const char mend[] = "to give up its data: kvpoolctl labelclear -f DEV";
	const char *path = leg->dev.path;
	struct label l;
	int ret = 0;

	if (label_read(&leg->dev, &l, err))
		return -1;
	plan_note_label(leg, &l);
	if (!leg->labels)
		ret = p->takes_back ? returned_no_label(path, err) : 0;
	else if (p->takes_spare && label_is_spare(&l) &&
		 !memcmp(l.spare.pool_uuid, p->sb.pool_uuid, 16))
		leg->spare = true;
	else if (l.spare_valid)
		ret = err_set(err, ERR_MEMBER, path, "kvpoolctl remove POOL DEV; if that pool is "
			      "gone: kvpoolctl labelclear -f DEV", "%s", label_fault(&l));
	else if (label_fault(&l))
		ret = err_set(err, ERR_MEMBER, path, label_mend(&l, mend),
			      "it carries a kvpool label: %s",
			      label_fault(&l));
	else if (p->takes_back)
		ret = returned_check(path, &l, p->takes_back, &p->whole, err);
	else if (l.sb->flags & KVP_SB_JOINING)
		ret = check_joining(p, l.sb, path, err);
	else if (scan_was_destroyed(l.sb))
		snprintf(leg->old_pool, sizeof(leg->old_pool), "%s", l.sb->name);
	else
		ret = former_refuse(path, l.sb, mend, err);
	label_free(&l);
	return ret;
}

/* Stands for the protective MBR on a device that has no label. */
static const char was_leg[] = "kvpool";

void plan_note_label(struct plan_leg *leg, const struct label *l)
{
	leg->labels = l->valid + l->bad;
	leg->epoch = l->sb ? l->sb->epoch : 0;
	leg->sequence = l->sb ? l->sb->sequence : 0;
	if (l->sb) {
		memcpy(leg->label_pool, l->sb->pool_uuid, sizeof(leg->label_pool));
		memcpy(leg->label_uuid, l->sb->leg_uuid, sizeof(leg->label_uuid));
	} else if (l->spare_valid) {
		memcpy(leg->label_pool, l->spare.pool_uuid, sizeof(leg->label_pool));
		memcpy(leg->label_uuid, l->spare.uuid, sizeof(leg->label_uuid));
	}
}

/* The numbers of a new pool may be those of an old one. */
static bool same_label(const struct plan_leg *was, const struct plan_leg *now)
{
	return was->labels == now->labels && was->epoch == now->epoch &&
	       was->sequence == now->sequence &&
	       !memcmp(was->label_pool, now->label_pool, sizeof(was->label_pool)) &&
	       !memcmp(was->label_uuid, now->label_uuid, sizeof(was->label_uuid));
}

int plan_leg_same(const struct plan_leg *was, const struct plan_leg *now, struct err *err)
{
	static const char mend[] = "see what it holds, then ask for it again";
	const char *path = was->dev.path;

	if (!device_same(&was->dev, &now->dev) || was->dev.bytes != now->dev.bytes)
		return err_set(err, ERR_REFUSED, path, mend,
			       "it is another device now, or has another size, than when it was "
			       "checked");
	if (strcmp(was->signature, now->signature))
		return err_set(err, ERR_SIGNATURE, path, mend,
			       "its contents have changed since it was checked: it holds %s, and "
			       "had %s", *now->signature ? now->signature : "no signature",
			       *was->signature ? was->signature : "none");
	if (!same_label(was, now))
		return err_set(err, ERR_MEMBER, path, mend,
			       "its kvpool label has changed since it was checked");
	return 0;
}

void plan_note_former(struct plan_leg *leg)
{
	if (!*leg->signature && !leg->labels && protect_is_there(&leg->dev))
		memcpy(leg->signature, was_leg, sizeof(was_leg));
}

static int find_signature(void *arg, struct err *err)
{
	struct plan_leg *leg = arg;

	return signature_find(leg->dev.path, leg->signature, sizeof(leg->signature), err) < 0;
}

static int refuse_signature(const struct plan *p, const struct plan_leg *leg, struct err *err)
{
	if (!strcmp(leg->signature, was_leg))
		return err_set(err, ERR_SIGNATURE, leg->dev.path,
			       "kvpoolctl labelclear DEV, if its data is not needed any more; or "
			       "-f here",
			       "it was a leg or a spare of a kvpool pool, says its protective MBR; "
			       "it has no label any more");
	return err_set(err, ERR_SIGNATURE, leg->dev.path, p->takes_back ?
		       "kvpoolctl labelclear --foreign DEV, if its data is not needed any more" :
		       "-f, if its data is not needed any more",
		       "it holds a signature: %s", leg->signature);
}

static int check_signature(struct plan *p, struct plan_leg *leg, struct err *err)
{
	if (device_apart(leg->dev.path, find_signature, leg, leg->signature,
			 sizeof(leg->signature), err))
		return -1;
	plan_note_former(leg);
	return *leg->signature && !p->force ? refuse_signature(p, leg, err) : 0;
}

static int open_device(struct device *d, struct err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", d->path);
	return device_open(path, false, d, err);
}

static int open_leg(struct plan *p, unsigned int i, struct err *err)
{
	struct device *d = &p->legs[i].dev;

	return open_device(d, err) || check_twice(p, d, i, 0, err) ? -1 : 0;
}

static int check_leg(struct plan *p, struct plan_leg *leg, struct err *err)
{
	const char *path = leg->dev.path;

	if (device_unused(&leg->dev, err))
		return -1;
	/* without the device of multipath it has no holder, and no scan would find its label */
	if (device_of_multipath(leg->dev.rdev))
		return err_set(err, ERR_HELD, path,
			       "name that device: multipath -ll; if there is to be none: "
			       "multipath -w DEV, udevadm trigger DEV",
			       "it is a path of a multipath device, says udev");
	if (leg->dev.sector > KVP_BLOCK_SIZE)
		return err_set(err, ERR_BLOCK_SIZE, path, "use another device",
			       "its logical blocks are %u bytes, more than %u", leg->dev.sector,
			       KVP_BLOCK_SIZE);
	if (leg->dev.readonly)
		return err_set(err, ERR_READ_ONLY, path, "make it writable: blockdev --setrw",
			       "it is read-only");
	return check_label(p, leg, err) || around_check(&leg->dev, err) ||
	       check_signature(p, leg, err) ? -1 : 0;
}

static int lay_out_vdev(struct plan *p, struct kvp_geometry *g, struct err *err)
{
	const struct plan_leg *smallest = &p->legs[g->first_leg];
	struct kvp_why why;
	unsigned int i;
	int ret;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		if (p->legs[i].dev.blocks < smallest->dev.blocks)
			smallest = &p->legs[i];
	if (kvp_has_data(g) && p->use_bytes >> KVP_BLOCK_SHIFT > smallest->dev.blocks)
		return err_set(err, ERR_TOO_SMALL, smallest->dev.path, "give a smaller size=",
			       "it has only %" PRIu64 " bytes", smallest->dev.bytes);
	g->chunk_blocks = kvp_has_data(g) ? kvp_chunk_asked(p->chunk_bytes) : 0;
	g->log_window = kvp_log_window_asked(p->dirty_bytes);
	ret = kvp_layout_one(g->kind, g->leg_count, kvp_leg_room(smallest->dev.blocks),
			     p->use_bytes >> KVP_BLOCK_SHIFT, p->log_bytes,
			     p->max_roots, g, &why);
	if (ret == -ENOSPC)
		return err_set(err, ERR_TOO_SMALL, smallest->dev.path,
			       "use larger devices, or a smaller log: -o log_size=4M", "%s",
			       why.text);
	if (ret == -ERANGE)
		return err_set(err, ERR_USAGE, "cache_dirty_max", "give 64M to 64G", "%s",
			       why.text);
	if (ret)
		return err_set(err, ERR_USAGE, p->chunk_bytes &&
			       !p->log_bytes ? "chunk" : "log_size",
			       "give a size that fits", "%s", why.text);
	return 0;
}

/* Takes cache_mode from -o, as the module will see it. */
static void note_cache_mode(struct plan *p)
{
	struct kvp_why why;
	unsigned int i;

	for (i = 0; i < p->setting_count; i++)
		if (!strcmp(p->settings[i].key, kvp_tunables[KVP_T_CACHE_MODE].key) &&
		    !kvp_tunable_parse(KVP_T_CACHE_MODE, p->settings[i].value,
				       &p->sb.tunables[KVP_T_CACHE_MODE], &why))
			p->sb.tunable_mask |= 1ull << KVP_T_CACHE_MODE;
}

static int check_cache(const struct plan *p, struct err *err)
{
	bool given = p->sb.tunable_mask >> KVP_T_CACHE_MODE & 1;

	if (kvp_cache_find(&p->sb) < 0)
		return given ? err_set(err, ERR_USAGE, "cache_mode", "leave it out",
				       "the pool has no cache") : 0;
	if (kvp_log_on_cache(&p->sb) && kvp_cache_lowers(&p->sb) && !p->force)
		return err_set(err, ERR_REFUSED, "cache_mode",
			       "make the cache a mirror; or give -f to accept this",
			       "with its log on one SSD the pool would not survive the loss of "
			       "that SSD and a power cut");
	return 0;
}

/* True if each vdev that may come to carry the log holds a discard of such chunks. */
static bool logs_hold(const struct plan *p, const struct kvp_geometry *cache, u32 chunk_blocks)
{
	bool moves = cache->leg_count || kvp_cache_find(&p->sb) >= 0;
	bool hold = !cache->leg_count || kvp_log_holds_discard(cache, chunk_blocks);
	u32 spare[KVP_MAX_VDEVS] = { 0 }, leader, v;

	for (v = 0; v < p->sb.vdev_count; v++)
		spare[v] = kvp_losses(&p->sb.vdevs[v]);
	leader = kvp_log_leader(&p->sb, spare);
	for (v = 0; v < p->sb.vdev_count; v++)
		if (moves || v == leader)
			hold &= kvp_log_holds_discard(&p->sb.vdevs[v], chunk_blocks);
	return hold;
}

int plan_check_logs(const struct plan *p, const struct kvp_geometry *cache, struct err *err)
{
	u32 v;

	for (v = 0; v < p->sb.vdev_count; v++)
		if (!logs_hold(p, cache, p->sb.vdevs[v].chunk_blocks))
			return err_set(err, ERR_USAGE, "log_size",
				       "give a larger one or larger SSDs, or smaller chunks",
				       "a log of the pool is too small for chunks of %u KiB",
				       p->sb.vdevs[v].chunk_blocks * 4);
	return 0;
}

/* Lays out the vdevs like the module does. */
static int lay_out(struct plan *p, struct err *err)
{
	static const struct kvp_geometry none;
	u32 v;

	if (p->chunk_bytes % KVP_BLOCK_SIZE)
		return err_set(err, ERR_USAGE, "chunk", "give a multiple of 4K",
			       "chunks consist of whole blocks of 4 KiB");
	p->max_roots = (KVP_MAX_ROOTS - p->roots) / (p->sb.vdev_count - p->first_vdev);
	for (v = p->first_vdev; v < p->sb.vdev_count; v++)
		if (lay_out_vdev(p, &p->sb.vdevs[v], err))
			return -1;
	note_cache_mode(p);
	if (p->first_vdev ? kvp_regions_add(&p->sb, p->first_vdev) : kvp_regions_lay_out(&p->sb))
		return err_set(err, ERR_USAGE, p->name,
			       "use fewer vdevs, or less of each leg: -o size=",
			       "the vdevs are too large together, or their sizes too different");
	if (plan_check_logs(p, &none, err))
		return -1;
	return check_cache(p, err);
}

u64 plan_blocks(const struct plan *p)
{
	return kvp_map_blocks(&p->sb.map);
}

static const struct kvp_geometry *cache_of(const struct plan *p)
{
	int cache = kvp_cache_find(&p->sb);

	return cache < 0 ? NULL : &p->sb.vdevs[cache];
}

u64 plan_cache_bytes(const struct plan *p)
{
	const struct kvp_geometry *g = cache_of(p);

	return g ? kvp_log_blocks(g) << KVP_BLOCK_SHIFT : 0;
}

u64 plan_cache_dirty(const struct plan *p)
{
	const struct kvp_geometry *g = cache_of(p);

	return g ? kvp_log_window(g) << KVP_BLOCK_SHIFT : 0;
}

int plan_losses(const struct plan *p)
{
	int least = KVP_MAX_LEGS, n;
	u32 v;

	for (v = 0; v < p->sb.vdev_count; v++) {
		if (!kvp_has_data(&p->sb.vdevs[v]) && v != p->sb.log_vdev)
			continue;
		n = (int)kvp_losses(&p->sb.vdevs[v]);
		least = n < least ? n : least;
	}
	return least;
}

void plan_write(struct plan *p, const char *format, ...)
{
	size_t len = strlen(p->params);
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->params + len, sizeof(p->params) - len, format, ap);
	va_end(ap);
}

void plan_write_vdevs(struct plan *p)
{
	char word[DEVICE_WORD];
	unsigned int i;
	u32 v;

	for (v = p->first_vdev; v < p->sb.vdev_count; v++) {
		const struct kvp_geometry *g = &p->sb.vdevs[v];

		plan_write(p, " %s %u", vdev_word(g->kind), g->leg_count);
		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
			plan_write(p, " %s", device_word(&p->legs[i].dev, word));
	}
}

void plan_write_sizes(struct plan *p)
{
	if (p->log_bytes)
		plan_write(p, " log_size=%" PRIu64, p->log_bytes);
	if (p->use_bytes)
		plan_write(p, " size=%" PRIu64, p->use_bytes);
	if (p->chunk_bytes)
		plan_write(p, " chunk=%" PRIu64, p->chunk_bytes);
	if (p->dirty_bytes)
		plan_write(p, " cache_dirty_max=%" PRIu64, p->dirty_bytes);
}

unsigned int plan_sizes(const struct plan *p)
{
	return !!p->log_bytes + !!p->use_bytes + !!p->chunk_bytes + !!p->dirty_bytes;
}

static void write_params(struct plan *p)
{
	char host[HOST_WORD];
	struct host self;
	unsigned int i;

	host_self(&self);
	host_word(&self, host);
	*p->params = 0;
	plan_write(p, "%s %u format name=%s%s%s", p->uuid,
	    2 + !!*host + p->setting_count + plan_sizes(p), p->name,
	    *host ? " " : "", host);
	plan_write_sizes(p);
	for (i = 0; i < p->setting_count; i++)
		plan_write(p, " %s=%s", p->settings[i].key, p->settings[i].value);
	plan_write_vdevs(p);
}

/* Can the spare be a leg of the vdev? What rotates is no SSD. @least: blocks of a leg with data. */
static bool serves(const struct kvp_geometry *g, const struct device *spare, u64 *least)
{
	struct kvp_why why;

	if (!g->leg_count || (!kvp_has_data(g) && device_rotates(spare->rdev)))
		return false;
	if (kvp_has_data(g) && kvp_leg_least(g) < *least)
		*least = kvp_leg_least(g);
	return !kvp_geometry_check(g, spare->blocks, &why);
}

/* A spare must be large enough for one of the legs at least, or for an SSD of the cache. */
static int check_spare_size(const struct plan *p, const struct kvp_geometry *cache,
			    const struct plan_leg *spare, struct err *err)
{
	u64 least = ~0ull;
	u32 v;

	if (serves(cache, &spare->dev, &least))
		return 0;
	for (v = 0; v < p->sb.vdev_count; v++)
		if (serves(&p->sb.vdevs[v], &spare->dev, &least))
			return 0;
	return err_set(err, ERR_TOO_SMALL, spare->dev.path, "use a larger one",
		       "it has %" PRIu64 " bytes, and a leg of this pool needs %" PRIu64,
		       spare->dev.bytes, least << KVP_BLOCK_SHIFT);
}

int plan_spares(struct plan *p, const struct kvp_geometry *cache, struct err *err)
{
	struct plan_leg *spare;
	unsigned int i;

	for (i = 0; i < p->spare_count; i++) {
		spare = &p->spares[i];
		if (open_device(&spare->dev, err) ||
		    check_twice(p, &spare->dev, p->leg_count, i, err) ||
		    check_leg(p, spare, err) || check_spare_size(p, cache, spare, err))
			return -1;
	}
	return 0;
}

/* All at once: those that hang are refused after one wait. */
static void ask_devices(const struct plan *p)
{
	const char *paths[KVP_MAX_LEGS + MAX_SPARES];
	unsigned int i, n = 0;

	for (i = p->first_leg; i < p->leg_count; i++)
		paths[n++] = p->legs[i].dev.path;
	for (i = 0; i < p->spare_count; i++)
		paths[n++] = p->spares[i].dev.path;
	device_ask(paths, n);
}

int plan_devices(struct plan *p, struct err *err)
{
	static const struct kvp_geometry none;	/* the plan has the cache */
	unsigned int i;

	ask_devices(p);

	for (i = p->first_leg; i < p->leg_count; i++)
		if (open_leg(p, i, err))
			return -1;
	for (i = p->first_leg; i < p->leg_count; i++)
		if (check_leg(p, &p->legs[i], err))
			return -1;
	return lay_out(p, err) || plan_spares(p, &none, err) ? -1 : 0;
}

static const struct kvp_geometry *vdev_of(const struct plan *p, unsigned int leg)
{
	const struct kvp_geometry *g = p->sb.vdevs;

	while (g < p->sb.vdevs + p->sb.vdev_count - 1 && leg >= g->first_leg + g->leg_count)
		g++;
	return g;
}

int plan_replace(struct plan *p, unsigned int leg, const char *dev, struct err *err)
{
	const struct kvp_geometry *g = vdev_of(p, leg);
	struct device *d = &p->legs[p->first_leg].dev;
	struct kvp_why why;

	snprintf(d->path, sizeof(d->path), "%s", dev);
	d->fd = -1;
	p->leg_count = p->first_leg + 1;
	if (open_leg(p, p->first_leg, err) || check_leg(p, &p->legs[p->first_leg], err))
		return -1;
	if (kvp_geometry_check(g, d->blocks, &why))
		return err_set(err, ERR_TOO_SMALL, d->path, "use a larger one",
			       "it has %" PRIu64 " bytes, and a leg of that vdev needs %" PRIu64,
			       d->bytes, kvp_leg_least(g) << KVP_BLOCK_SHIFT);
	return 0;
}

int plan_cache_size(const struct plan *p, struct err *err)
{
	int cache = kvp_cache_find(&p->sb);
	const struct kvp_geometry *g = &p->sb.vdevs[cache < 0 ? 0 : cache];
	unsigned int i;

	for (i = g->first_leg; cache >= 0 && !p->force && i < g->first_leg + g->leg_count; i++)
		if (p->legs[i].dev.bytes < CACHE_LEAST)
			return err_set(err, ERR_TOO_SMALL, p->legs[i].dev.path,
				       "use a larger one; or -f, for a trial",
				       "an SSD of a cache needs 64 MiB, and this one has %" PRIu64
				       " bytes: it would be full in a moment",
				       p->legs[i].dev.bytes);
	return 0;
}

int plan_make(struct plan *p, struct err *err)
{
	u8 uuid[16];

	if (dm_name_used(p->name))
		return err_set(err, ERR_NAME_IN_USE, p->name, "choose another name",
			       "a mapped device has this name");
	if (plan_devices(p, err) || plan_cache_size(p, err))
		return -1;
	uuid_generate_random(uuid);
	uuid_print(uuid, p->uuid);
	write_params(p);
	return 0;
}

void plan_note_alignment(const struct ctl *ctl, const struct plan *p)
{
	unsigned int i;

	for (i = p->first_leg; i < p->leg_count && !ctl->quiet; i++)
		if (device_misaligned(p->legs[i].dev.rdev))
			fprintf(stderr, "kvpoolctl: note: %s begins inside a block of its disk, so "
				"the disk reads before each small write; let partitions begin at "
				"multiples of 1 MiB\n",
				p->legs[i].dev.path);
}

bool plan_shares_disk(const struct plan *p, unsigned int *a, unsigned int *b)
{
	for (*a = p->first_leg; *a < p->leg_count; (*a)++)
		for (*b = p->first_leg; *b < *a; (*b)++)
			if (device_disk(p->legs[*a].dev.rdev) == device_disk(p->legs[*b].dev.rdev))
				return true;
	return false;
}

void plan_print_vdevs(const struct ctl *ctl, const struct plan *p)
{
	char size[SIZE_BUF];
	unsigned int i;
	u32 v;

	for (v = p->first_vdev; v < p->sb.vdev_count; v++) {
		const struct kvp_geometry *g = &p->sb.vdevs[v];

		printf("%s%s of %u\n", v > p->first_vdev ? "and " : " ", vdev_word(g->kind),
		       g->leg_count);
		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
			printf("  %s, %s%s%s\n", p->legs[i].dev.path,
			       ctl_size(ctl, p->legs[i].dev.bytes, size),
			       *p->legs[i].signature ? ", wiping " : "", p->legs[i].signature);
	}
	for (i = 0; i < p->spare_count; i++)
		printf("%s  %s, %s%s%s\n", i ? "" : v > p->first_vdev ? "and spare\n" : " spare\n",
		       p->spares[i].dev.path, ctl_size(ctl, p->spares[i].dev.bytes, size),
		       *p->spares[i].signature ? ", wiping " : "", p->spares[i].signature);
}

void plan_close(struct plan *p)
{
	unsigned int i;

	for (i = p->first_leg; i < p->leg_count; i++)
		device_close(&p->legs[i].dev);
	for (i = 0; i < p->spare_count; i++)
		device_close(&p->spares[i].dev);
}

/* The value that a tunable will have: as given, else its default. */
static u64 tunable_value(const struct plan *p, unsigned int id)
{
	unsigned int i = p->setting_count;

	while (i--)
		if (!strcmp(p->settings[i].key, kvp_tunables[id].key))
			return strtoull(p->settings[i].value, NULL, 10);
	return kvp_tunables[id].def;
}

void plan_add_leg(json_object *legs, const struct plan_leg *l)
{
	json_object *leg = json_item(legs);

	json_text(leg, "path", l->dev.path);
	json_number(leg, "size", l->dev.bytes);
	json_text(leg, "wipes", *l->signature ? l->signature : NULL);
	json_text(leg, "former_pool", *l->old_pool ? l->old_pool : NULL);
}

void plan_add_vdev(json_object *vdevs, const struct plan *p, const struct kvp_geometry *g)
{
	json_object *vdev = json_item(vdevs), *legs;
	unsigned int i;

	json_text(vdev, "kind", vdev_word(g->kind));
	legs = json_list(vdev, "legs");
	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		plan_add_leg(legs, &p->legs[i]);
}

json_object *plan_object(const struct plan *p)
{
	json_object *root = json_root(), *plan = json_child(root, "plan"), *vdevs;
	const struct kvp_geometry *g = &p->sb.vdevs[p->sb.log_vdev];
	const struct kvp_geometry *data = kvp_has_data(g) ? g : &p->sb.vdevs[0];
	char table[sizeof(p->params) + 64];
	json_object *spares;
	unsigned int i;
	u32 v;

	json_text(plan, "action", "create");
	json_text(plan, "pool", p->name);
	json_text(plan, "uuid", p->uuid);
	json_text(plan, "comment", p->comment_text);
	json_number(plan, "size", plan_blocks(p) << KVP_BLOCK_SHIFT);
	json_number(plan, "log_size",
		    (kvp_has_data(g) ? kvp_log_area(g) : kvp_log_window(g)) << KVP_BLOCK_SHIFT);
	json_number(plan, "table_size",
		    kvp_table_blocks(data) * kvp_table_copies(data) << KVP_BLOCK_SHIFT);
	json_text(plan, "log_on", kvp_has_data(g) ? "legs" : "cache");
	json_number(plan, "cache_size", plan_cache_bytes(p));
	json_number(plan, "cache_dirty_max", plan_cache_dirty(p));
	json_number(plan, "ram_bytes", tunable_value(p, KVP_T_WRITE_BUFFER) +
		    tunable_value(p, KVP_T_TABLE_CACHE) + tunable_value(p, KVP_T_RAM_CACHE) +
		    memory_of_cache(&p->sb));
	json_redundancy(plan, -1, plan_losses(p));
	vdevs = json_list(plan, "vdevs");
	for (v = 0; v < p->sb.vdev_count; v++)
		plan_add_vdev(vdevs, p, &p->sb.vdevs[v]);
	spares = json_list(plan, "spares");
	for (i = 0; i < p->spare_count; i++)
		plan_add_leg(spares, &p->spares[i]);
	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s",
		 plan_blocks(p) << KVP_SECTORS_SHIFT, p->params);
	json_text(plan, "table", table);
	return root;
}
