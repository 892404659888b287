// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl whois: the files that blocks of a pool belong to. */
#include <stdint.h>

#include "device.h"
#include "owner.h"
#include "pool_object.h"
#include "signature.h"
#include "stats.h"
#include "watched.h"

#define RANGES_MAX	1000
#define DEPTH_MAX	8

/* Bytes of the pool, and where they lie on the topmost device that has them. */
struct leaf {
	u64 pool, bytes;
	dev_t rdev;
	u64 offset;
	bool asked, blocked;	/* blocked: a driver above, or a suspended device */
	char why[384];		/* if blocked */
};

struct whois {
	struct leaf *list;
	u32 count;
	json_object *answers;
	u64 unread;
	bool untold;		/* some block has no known owner */
};

static const char *const words[OWNER_KINDS] = {
	[OWNER_FILE]	  = "file",
	[OWNER_DIRECTORY] = "directory",
	[OWNER_METADATA]  = "metadata",
	[OWNER_FREE]	  = "free",
	[OWNER_NONE]	  = "unnamed",
};

/* --- through what is stacked on the pool ----------------------------------------------- */

static void add_leaf(struct whois *w, const struct leaf *l)
{
	w->list = realloc(w->list, (w->count + 1) * sizeof(*l));
	if (!w->list)
		abort();
	w->list[w->count++] = *l;
}

/* Splits @l where devices above it begin and end. */
static void climb(struct whois *w, struct leaf l, int depth)
{
	u64 left = l.bytes;
	struct dm_above a;
	struct leaf next;

	for (; left; left -= a.bytes, l.pool += a.bytes, l.offset += a.bytes) {
		dm_above(l.rdev, l.offset, left, &a);
		next = l;
		next.bytes = a.bytes;
		next.blocked = true;
		if (device_suspended(l.rdev)) {
			snprintf(next.why, sizeof(next.why), "the device is suspended");
		} else if (a.kind == DM_ABOVE_OTHER) {
			snprintf(next.why, sizeof(next.why), "%s is above it, and may put blocks "
				 "anywhere", a.what);
		} else if (a.kind == DM_ABOVE_LINEAR && depth < DEPTH_MAX) {
			next.rdev = a.rdev;
			next.offset = a.offset;
			climb(w, next, depth + 1);
			continue;
		} else {
			next.blocked = false;
		}
		add_leaf(w, &next);
	}
}

/* --- answers --------------------------------------------------------------------------- */

/* Is it UTF-8 without control characters, as far as JSON and a terminal need it? */
static bool is_plain(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	int more;

	for (; *p; p++) {
		more = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
		if (*p < ' ' || *p == 0x7f || (*p >= 0x80 && *p < 0xc2) || *p > 0xf4)
			return false;
		for (; more; more--)
			if ((*++p & 0xc0) != 0x80)
				return false;
	}
	return true;
}

/* The path as shown. Bytes that cannot be shown become '?': the inode tells the file. */
static void add_path(json_object *o, const struct owner_mount *m, const struct owner *own)
{
	char path[2 * PATH_MAX + 2];
	unsigned char *p;

	if (own->kind != OWNER_FILE && own->kind != OWNER_DIRECTORY) {
		json_text(o, "path", NULL);
		return;
	}
	snprintf(path, sizeof(path), "%s%s%s", m->path,
		 !*own->path || !strcmp(m->path, "/") ? "" : "/", own->path);
	for (p = is_plain(path) ? NULL : (unsigned char *)path; p && *p; p++)
		if (*p < ' ' || *p >= 0x7f)
			*p = '?';
	json_text(o, "path", path);
}

/* Whole blocks of the pool around some bytes. */
static json_object *answer(struct whois *w, const struct leaf *l, u64 from, u64 bytes,
			   const char *state, const char *why)
{
	u64 first = (l->pool + from) >> KVP_BLOCK_SHIFT;
	json_object *o = json_item(w->answers);
	char name[PATH_MAX];

	json_number(o, "lba", first);
	json_number(o, "blocks", ((l->pool + from + bytes - 1) >> KVP_BLOCK_SHIFT) - first + 1);
	json_text(o, "state", state);
	json_text(o, "device", device_name(l->rdev, name, sizeof(name)));
	json_text(o, "why", why);
	w->untold |= !!why;
	return o;
}

static void cannot_tell(struct whois *w, const struct leaf *l, const char *why)
{
	json_object *o = answer(w, l, 0, l->bytes, "unknown", why);

	json_text(o, "filesystem", NULL);
	json_text(o, "path", NULL);
	json_object_object_add(o, "inode", NULL);
	json_object_object_add(o, "at", NULL);
}

static void answer_owner(struct whois *w, const struct leaf *l, const struct owner_mount *m,
			 const struct owner *own)
{
	const char *why = own->kind != OWNER_NONE ? NULL : m->whole ?
		"in use, by no file that was found: metadata, a file that was deleted and is "
		"open, or one below another mount" :
		"in use, by no file that was found: only a folder of the file system is mounted";
	json_object *o = answer(w, l, own->offset - l->offset, own->bytes, words[own->kind], why);

	json_text(o, "filesystem", m->type);
	add_path(o, m, own);
	json_object_object_add(o, "inode", own->inode ? json_object_new_uint64(own->inode) : NULL);
	json_object_object_add(o, "at", json_at(o, "path") ? json_object_new_uint64(own->at) :
							     NULL);
}

/* --- devices that are not mounted ------------------------------------------------------- */

struct probe {
	const char *path;
	u64 offset;
};

static int probe(void *arg, FILE *out)
{
	const struct probe *p = arg;
	char type[SIGNATURE_TYPE];
	struct err err;
	int part;

	if (signature_find(p->path, type, sizeof(type), &err) < 0) {
		fprintf(out, "it cannot be read: %s", err.why);
		return 0;
	}
	part = signature_partition(p->path, p->offset);
	if (part)
		fprintf(out, "it is in partition %d, and no device has that: kpartx -a %s", part,
			p->path);
	else if (!strcmp(type, "LVM2_member"))
		fprintf(out, "it is in no active linear volume of LVM: vgchange -ay");
	else if (owner_knows(type))
		fprintf(out, "its file system (%s) is not mounted: mount -o ro", type);
	else if (!*type)
		fprintf(out, "no file system is known there");
	else
		fprintf(out, "it holds %s, whose files cannot be asked for", type);
	return 0;
}

static void ask_unmounted(struct whois *w, const struct leaf *l)
{
	char name[PATH_MAX], where[PATH_MAX];
	struct probe p = { device_name(l->rdev, name, sizeof(name)), l->offset };
	struct err err;
	size_t size;
	char *text;

	if (device_mountpoint(l->rdev, where, sizeof(where))) {
		cannot_tell(w, l, where);	/* swap */
	} else if (watched_run(probe, &p, WATCHED_PATIENCE, name, &text, &size, &err)) {
		cannot_tell(w, l, err.why);
	} else {
		cannot_tell(w, l, text);
		free(text);
	}
}

/* --- file systems ------------------------------------------------------------------------ */

static void ask_mounted(struct whois *w, struct leaf **mine, u32 count,
			const struct owner_mount *m)
{
	struct owner_range *ranges = calloc(count, sizeof(*ranges));
	struct owners found;
	struct err err;
	size_t i;
	u32 r;

	if (!ranges)
		abort();
	for (r = 0; r < count; r++)
		ranges[r] = (struct owner_range){ mine[r]->offset, mine[r]->bytes };
	if (owner_find(mine[0]->rdev, m, ranges, count, &found, &err)) {
		for (r = 0; r < count; r++)
			cannot_tell(w, mine[r], err.why);
	} else {
		for (i = 0; i < found.count; i++)
			if (found.list[i].range < count && found.list[i].kind < OWNER_KINDS)
				answer_owner(w, mine[found.list[i].range], m, &found.list[i]);
		w->unread += found.unread;
		w->untold |= found.cut;
		owner_free(&found);
	}
	free(ranges);
}

/* Asks for all blocks of one device at once: its files are gone through only once. */
static void ask_device(struct whois *w, dev_t rdev)
{
	struct leaf **mine = calloc(w->count, sizeof(*mine));
	struct owner_mount m;
	char why[96];
	u32 i, n = 0;

	if (!mine)
		abort();
	for (i = 0; i < w->count; i++) {
		if (w->list[i].asked || w->list[i].rdev != rdev)
			continue;
		w->list[i].asked = true;
		if (w->list[i].blocked)
			cannot_tell(w, &w->list[i], w->list[i].why);
		else
			mine[n++] = &w->list[i];
	}
	if (n && owner_mounted(rdev, &m)) {
		snprintf(why, sizeof(why), "files of %s cannot be asked for", m.type);
		for (i = 0; i < n && !owner_knows(m.type); i++)
			cannot_tell(w, mine[i], why);
		if (owner_knows(m.type))
			ask_mounted(w, mine, n, &m);
	} else {
		for (i = 0; i < n; i++)
			ask_unmounted(w, mine[i]);
	}
	free(mine);
}

/* --- output ------------------------------------------------------------------------------- */

static void print(json_object *o)
{
	u64 lba = json_number_at(o, "lba"), blocks = json_number_at(o, "blocks");
	const char *state = json_text_at(o, "state"), *device = json_text_at(o, "device");

	printf("lba %" PRIu64 ", %" PRIu64 " block(s): ", lba, blocks);
	if (json_at(o, "why"))
		printf("cannot tell, on %s: %s\n", device, json_text_at(o, "why"));
	else if (json_at(o, "path"))
		printf("%s %s, from byte %" PRIu64 " (inode %" PRIu64 ", %s on %s)\n", state,
		       json_text_at(o, "path"), json_number_at(o, "at"),
		       json_number_at(o, "inode"), json_text_at(o, "filesystem"), device);
	else
		printf("%s of %s on %s\n", !strcmp(state, "free") ? "free space" : state,
		       json_text_at(o, "filesystem"), device);
}

static int by_lba(const void *a, const void *b)
{
	json_object *left = *(json_object *const *)a, *right = *(json_object *const *)b;
	u64 l = json_number_at(left, "lba"), r = json_number_at(right, "lba");

	return l < r ? -1 : l > r;
}

static int report(struct ctl *ctl, const struct whois *w, json_object *root)
{
	size_t i;

	json_object_array_sort(w->answers, by_lba);
	json_number(root, "unread", w->unread);
	if (ctl->json) {
		ctl_json(root);
	} else {
		for (i = 0; i < json_object_array_length(w->answers); i++)
			print(json_object_array_get_idx(w->answers, i));
		if (w->unread)
			printf("%" PRIu64 " files or directories could not be read\n", w->unread);
		json_object_put(root);
	}
	return w->untold ? EXIT_FAILED : EXIT_DONE;
}

static int ask(struct ctl *ctl, struct whois *w, const struct dm_entry *e)
{
	json_object *root = json_root(), *o = json_child(root, "whois");
	u32 i;

	json_text(o, "pool", e->name);
	w->answers = json_list(o, "answers");
	ctl_busy(ctl, "looking for the owners of blocks");
	for (i = 0; i < w->count; i++)
		if (!w->list[i].asked)
			ask_device(w, w->list[i].rdev);
	ctl_busy_end();
	free(w->list);
	return report(ctl, w, root);
}

/* --- which blocks -------------------------------------------------------------------------- */

static void add_range(struct whois *w, const struct dm_entry *e, u64 lba, u64 blocks)
{
	struct leaf l = { .pool = lba << KVP_BLOCK_SHIFT, .bytes = blocks << KVP_BLOCK_SHIFT,
			  .rdev = e->rdev };

	l.offset = l.pool;
	climb(w, l, 0);
}

static bool parse(const char *text, u64 *lba, u64 *blocks)
{
	int end = 0;

	*blocks = 1;
	if (*text < '0' || *text > '9')
		return false;
	if (sscanf(text, "%" SCNu64 "%n", lba, &end) == 1 && !text[end])
		return true;
	return text[end] == '+' && text[end + 1] >= '0' && text[end + 1] <= '9' &&
	       sscanf(text + end + 1, "%" SCNu64 "%n", blocks, &(int){ 0 }) == 1 &&
	       strspn(text + end + 1, "0123456789") == strlen(text + end + 1) && *blocks;
}

/* Asks the module for no more than its counters: that needs no disk. */
static int add_named(struct ctl *ctl, struct whois *w, const struct dm_entry *e, char **args)
{
	u64 lba, blocks, end;
	struct stats s;
	struct err err;

	if (stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	end = stats_number(&s, "size") >> KVP_BLOCK_SHIFT;
	stats_free(&s);
	for (; *args; args++) {
		if (!parse(*args, &lba, &blocks))
			return ctl_usage(ctl, "'%s' is no block: a number, or FIRST+COUNT", *args);
		if (lba >= end || blocks > end - lba)
			return ctl_usage(ctl, "%s: the pool has %" PRIu64 " blocks, from 0 on",
					 *args,
					 end);
		add_range(w, e, lba, blocks);
	}
	return 0;
}

static int add_poisoned(struct ctl *ctl, struct whois *w, const struct dm_entry *e)
{
	json_object *pool, *list, *range;
	struct err err;
	size_t i, n;

	pool = pool_object(e, &err);
	if (!pool)
		return ctl_fail(ctl, &err);
	list = json_at(pool, "poisoned");
	n = list ? json_object_array_length(list) : 0;
	for (i = 0; i < n; i++) {
		range = json_object_array_get_idx(list, i);
		add_range(w, e, json_number_at(range, "lba"), json_number_at(range, "blocks"));
	}
	if (!n)
		ctl_say(ctl, "no block of pool %s is poisoned", e->name);
	json_object_put(pool);
	return 0;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct whois w = { .count = 0 };
	struct dm_entry e;
	int ret;

	ctl_getopt(ctl, argc, argv);
	ctl_args(ctl, argc, 1, 1 + RANGES_MAX);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (argv[optind + 1])
		ret = add_named(ctl, &w, &e, argv + optind + 1);
	else
		ret = add_poisoned(ctl, &w, &e);
	return ret ?: ask(ctl, &w, &e);
}

const struct command cmd_whois = {
	.name = "whois",
	.purpose = "the files that blocks of a pool belong to",
	.args = "POOL [LBA[+COUNT]]...",
	.about = "Tells which file owns a block of the pool, such as the lost blocks that "
		"'kvpoolctl status' lists. LBA counts blocks of 4 KiB of the pool's device. "
		"Without LBA it takes all poisoned blocks, up to 1000 ranges. It only reads. Exit "
		"status 1: for some block it cannot tell, and says why.",
	.more = "The file system must be mounted, and be ext4 or XFS. It may lie on the pool, on a "
		"partition of it, or on a linear volume of LVM. If the file system does not record "
		"the owner of a block, the command goes through all its files, which takes time. "
		"It lists all files that share a block, and all names of a file. It does not find "
		"files that are hidden below another mount. It gives up on a device that does not "
		"answer for 30 s.",
	.example = "kvpoolctl whois tank\nkvpoolctl whois tank 70144 80000+16",
	.run = run,
};
