// SPDX-License-Identifier: GPL-2.0-only
/* The plan of a create. */
#include <stdarg.h>

#include "format/stripe.h"
#include "host.h"
#include "plan.h"
#include "signature.h"

static const char vdev_mend[] = "give 'single DEV', 'mirror DEV DEV...' or 'parity1 DEV DEV DEV...'";

int plan_option(struct plan *p, const char *text, struct err *err)
{
	struct setting *s = &p->settings[p->setting_count];
	u64 *size = !strncmp(text, "log_size=", 9) ? &p->log_bytes :
		    !strncmp(text, "size=", 5) ? &p->use_bytes :
		    !strncmp(text, "chunk=", 6) ? &p->chunk_bytes : NULL;

	if (size) {
		if (size_parse(strchr(text, '=') + 1, size) || !*size)
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

static bool is_kind(const char *word)
{
	static const char *const kinds[] = { "single", "mirror", "parity1", "cache", "spare" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(word, kinds[i]))
			return true;
	return false;
}

static int check_leg_count(const struct plan *p, struct err *err)
{
	const char *kind = vdev_word(p->kind);

	if (p->kind == KVP_VDEV_SINGLE && p->leg_count != 1)
		return err_set(err, ERR_USAGE, kind, vdev_mend, "a single has one leg, not %u",
			       p->leg_count);
	if (p->kind == KVP_VDEV_MIRROR && p->leg_count < 2)
		return err_set(err, ERR_USAGE, kind, vdev_mend,
			       "a mirror has 2 to %d legs, not %u", KVP_MAX_MIRROR_LEGS,
			       p->leg_count);
	if (p->kind == KVP_VDEV_PARITY1 && p->leg_count < KVP_STRIPE_MIN_LEGS)
		return err_set(err, ERR_USAGE, kind, vdev_mend,
			       "a parity1 has %d to %d legs, not %u", KVP_STRIPE_MIN_LEGS,
			       KVP_STRIPE_MAX_LEGS, p->leg_count);
	if (p->chunk_bytes && p->kind != KVP_VDEV_PARITY1)
		return err_set(err, ERR_USAGE, "chunk", "leave it out",
			       "only a parity1 has chunks");
	return 0;
}

int plan_vdevs(struct plan *p, int count, char **words, struct err *err)
{
	int i;

	if (!is_kind(words[0]))
		return err_set(err, ERR_USAGE, words[0], vdev_mend,
			       "a device needs the kind of its vdev before it");
	if (!strcmp(words[0], "single"))
		p->kind = KVP_VDEV_SINGLE;
	else if (!strcmp(words[0], "mirror"))
		p->kind = KVP_VDEV_MIRROR;
	else if (!strcmp(words[0], "parity1"))
		p->kind = KVP_VDEV_PARITY1;
	else
		return err_set(err, ERR_USAGE, words[0], vdev_mend,
			       "this version does not make vdevs of this kind");
	for (i = 1; i < count; i++) {
		if (is_kind(words[i]))
			return err_set(err, ERR_USAGE, words[i], vdev_mend,
				       "this version makes pools of one vdev");
		if (p->leg_count == KVP_MAX_MIRROR_LEGS)
			return err_set(err, ERR_USAGE, words[0], vdev_mend,
				       "a mirror has 2 to %d legs, a parity1 %d to %d",
				       KVP_MAX_MIRROR_LEGS, KVP_STRIPE_MIN_LEGS,
				       KVP_STRIPE_MAX_LEGS);
		snprintf(p->legs[p->leg_count].dev.path, PATH_MAX, "%s", words[i]);
		p->legs[p->leg_count++].dev.fd = -1;
	}
	return check_leg_count(p, err);
}

static int check_twice(const struct plan *p, unsigned int leg, struct err *err)
{
	const struct device *d = &p->legs[leg].dev, *other;
	dev_t disk = device_disk(d->rdev);
	unsigned int i;

	for (i = 0; i < leg; i++) {
		other = &p->legs[i].dev;
		if (device_same(other, d))
			return err_set(err, ERR_LISTED_TWICE, d->path, "name each device once",
				       "the same device as %.200s", other->path);
		/* of two partitions neither is the disk */
		if (disk == other->rdev || device_disk(other->rdev) == d->rdev)
			return err_set(err, ERR_LISTED_TWICE, d->path,
				       "name the disk, or its partitions",
				       "%s of %.200s", disk == other->rdev ?
				       "a partition" : "the disk", other->path);
	}
	return 0;
}

/* A label of another pool: fine if that pool is gone, -f if it was exported. */
static int check_label(struct plan *p, struct plan_leg *leg, struct err *err)
{
	static const char mend[] = "to give up what it holds: kvpoolctl labelclear -f DEV";
	const char *path = leg->dev.path;
	struct label l;
	int ret = 0;

	if (label_read(&leg->dev, &l, err))
		return -1;
	if (!l.valid && !l.bad)
		ret = 0;
	else if (label_fault(&l))
		ret = err_set(err, ERR_MEMBER, path, mend, "it carries a kvpool label: %s",
			      label_fault(&l));
	else if (!(l.sb->flags & (KVP_SB_DESTROYED | KVP_SB_EXPORTED)))
		ret = err_set(err, ERR_MEMBER, path, mend,
			      "it is a member of pool %s, which was not destroyed", l.sb->name);
	else if (!(l.sb->flags & KVP_SB_DESTROYED) && !p->force)
		ret = err_set(err, ERR_MEMBER, path, "-f, if that pool is not needed any more",
			      "it is a member of the exported pool %s", l.sb->name);
	else
		snprintf(leg->old_pool, sizeof(leg->old_pool), "%s", l.sb->name);
	label_free(&l);
	return ret;
}

static int check_signature(struct plan *p, struct plan_leg *leg, struct err *err)
{
	int found = signature_find(leg->dev.path, leg->signature, sizeof(leg->signature),
				   err);

	if (found > 0 && !p->force)
		return err_set(err, ERR_SIGNATURE, leg->dev.path,
			       "-f, if what is there is not needed any more",
			       "it holds a signature: %s", leg->signature);
	return found < 0 ? -1 : 0;
}

static int open_leg(struct plan *p, unsigned int i, struct err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", p->legs[i].dev.path);
	return device_open(path, false, &p->legs[i].dev, err) || check_twice(p, i, err) ? -1 : 0;
}

static int check_leg(struct plan *p, struct plan_leg *leg, struct err *err)
{
	const char *path = leg->dev.path;

	if (device_unused(&leg->dev, err))
		return -1;
	if (leg->dev.sector > KVP_BLOCK_SIZE)
		return err_set(err, ERR_BLOCK_SIZE, path, "use another device",
			       "its logical blocks are %u bytes, more than %u", leg->dev.sector,
			       KVP_BLOCK_SIZE);
	if (leg->dev.readonly)
		return err_set(err, ERR_READ_ONLY, path, "make it writable: blockdev --setrw",
			       "it is read-only");
	return check_label(p, leg, err) || check_signature(p, leg, err) ? -1 : 0;
}

static int lay_out(struct plan *p, struct err *err)
{
	const struct plan_leg *smallest = &p->legs[0];
	struct kvp_why why;
	unsigned int i;
	int ret;

	for (i = 1; i < p->leg_count; i++)
		if (p->legs[i].dev.blocks < smallest->dev.blocks)
			smallest = &p->legs[i];
	if (p->use_bytes >> KVP_BLOCK_SHIFT > smallest->dev.blocks)
		return err_set(err, ERR_TOO_SMALL, smallest->dev.path, "give a smaller size=",
			       "it has only %" PRIu64 " bytes", smallest->dev.bytes);
	if (p->chunk_bytes % KVP_BLOCK_SIZE)
		return err_set(err, ERR_USAGE, "chunk", "give a multiple of 4K",
			       "chunks have whole blocks of 4 KiB");
	p->g.chunk_blocks = (u32)(p->chunk_bytes >> KVP_BLOCK_SHIFT);
	ret = kvp_layout(p->kind, p->leg_count, smallest->dev.blocks,
			 p->use_bytes >> KVP_BLOCK_SHIFT, p->log_bytes, &p->g, &why);
	if (ret == -ENOSPC)
		return err_set(err, ERR_TOO_SMALL, smallest->dev.path,
			       "use larger devices, or a smaller log: -o log_size=4M", "%s",
			       why.text);
	if (ret)
		return err_set(err, ERR_USAGE, "log_size", "give a size that fits", "%s",
			       why.text);
	return 0;
}

static void __attribute__((format(printf, 2, 3))) add(struct plan *p, const char *format, ...)
{
	size_t len = strlen(p->params);
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->params + len, sizeof(p->params) - len, format, ap);
	va_end(ap);
}

static void write_params(struct plan *p)
{
	char word[DEVICE_WORD], host[HOST_WORD];
	struct host self;
	unsigned int i;

	host_self(&self);
	host_word(&self, host);
	*p->params = 0;
	add(p, "%s %u format name=%s%s%s", p->uuid,
	    2 + !!*host + p->setting_count + !!p->log_bytes + !!p->use_bytes + !!p->chunk_bytes, p->name,
	    *host ? " " : "", host);
	if (p->log_bytes)
		add(p, " log_size=%" PRIu64, p->log_bytes);
	if (p->use_bytes)
		add(p, " size=%" PRIu64, p->use_bytes);
	if (p->chunk_bytes)
		add(p, " chunk=%" PRIu64, p->chunk_bytes);
	for (i = 0; i < p->setting_count; i++)
		add(p, " %s=%s", p->settings[i].key, p->settings[i].value);
	add(p, " %s %u", vdev_word(p->kind), p->leg_count);
	for (i = 0; i < p->leg_count; i++)
		add(p, " %s", device_word(&p->legs[i].dev, word));
}

int plan_make(struct plan *p, struct err *err)
{
	unsigned int i;
	u8 uuid[16];

	if (dm_name_used(p->name))
		return err_set(err, ERR_NAME_IN_USE, p->name, "choose another name",
			       "a mapped device has this name");
	for (i = 0; i < p->leg_count; i++)
		if (open_leg(p, i, err))
			return -1;
	for (i = 0; i < p->leg_count; i++)
		if (check_leg(p, &p->legs[i], err))
			return -1;
	if (lay_out(p, err))
		return -1;
	if (uuid_make(uuid))
		return err_set(err, ERR_FAILED, p->name, "try again", "no random numbers");
	uuid_print(uuid, p->uuid);
	write_params(p);
	return 0;
}

bool plan_shares_disk(const struct plan *p, unsigned int *a, unsigned int *b)
{
	for (*a = 0; *a < p->leg_count; (*a)++)
		for (*b = 0; *b < *a; (*b)++)
			if (device_disk(p->legs[*a].dev.rdev) == device_disk(p->legs[*b].dev.rdev))
				return true;
	return false;
}

void plan_close(struct plan *p)
{
	unsigned int i;

	for (i = 0; i < p->leg_count; i++)
		device_close(&p->legs[i].dev);
}

/* What a tunable will be: as given, else its default. */
static u64 tunable_value(const struct plan *p, unsigned int id)
{
	unsigned int i = p->setting_count;

	while (i--)
		if (!strcmp(p->settings[i].key, kvp_tunables[id].key))
			return strtoull(p->settings[i].value, NULL, 10);
	return kvp_tunables[id].def;
}

static void add_legs(json_object *vdev, const struct plan *p)
{
	json_object *legs = json_list(vdev, "legs"), *leg;
	unsigned int i;

	for (i = 0; i < p->leg_count; i++) {
		leg = json_item(legs);
		json_text(leg, "path", p->legs[i].dev.path);
		json_number(leg, "size", p->legs[i].dev.bytes);
		json_text(leg, "wipes", *p->legs[i].signature ? p->legs[i].signature : NULL);
		json_text(leg, "former_pool", *p->legs[i].old_pool ? p->legs[i].old_pool : NULL);
	}
}

json_object *plan_object(const struct plan *p)
{
	json_object *root = json_root(), *plan = json_child(root, "plan"), *o;
	u64 sectors = p->g.data_blocks << KVP_SECTORS_SHIFT;
	char table[sizeof(p->params) + 64];

	json_text(plan, "action", "create");
	json_text(plan, "pool", p->name);
	json_text(plan, "uuid", p->uuid);
	json_text(plan, "comment", p->comment_text);
	json_number(plan, "size", p->g.data_blocks << KVP_BLOCK_SHIFT);
	json_number(plan, "log_size", kvp_log_region(&p->g) << KVP_BLOCK_SHIFT);
	json_number(plan, "table_size",
		    kvp_table_blocks(&p->g) *
		    kvp_table_copies(&p->g) << KVP_BLOCK_SHIFT);
	json_number(plan, "ram_bytes", tunable_value(p, KVP_T_WRITE_BUFFER) +
		    tunable_value(p, KVP_T_TABLE_CACHE) + tunable_value(p, KVP_T_RAM_CACHE));
	json_redundancy(plan, -1, kvp_is_parity1(&p->g) ? 1 : (int)p->leg_count - 1);
	o = json_item(json_list(plan, "vdevs"));
	json_text(o, "kind", vdev_word(p->kind));
	add_legs(o, p);
	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", sectors, p->params);
	json_text(plan, "table", table);
	return root;
}
