// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl extract: copy the device of a pool from its legs, without the module. */
#include "check.h"
#include "import.h"
#include "opened.h"
#include "target.h"

struct extract {
	struct opened legs;
	struct target to;
	struct verify v;
};

static void draw(void *ctl, u64 done, u64 total)
{
	ctl_progress(ctl, "extract", done, total);
}

/* What is wrong with the copy, in one line; NULL: it is whole. */
static const char *advice(const struct extract *x)
{
	if (x->legs.found->doubtful)
		return "slots of a label cannot be read, and may hold a newer superblock: the copy "
		       "may be of an older state; try again";
	if (log_state(opened_log(&x->legs), &x->v.log) == LOG_UNKNOWN)
		return "the log may go on where no leg given can be read: the copy may lack the "
		       "newest writes; try again, or find another leg";
	if (import_may_lack(x->legs.found))
		return "legs that were not given may hold newer data: name them too";
	if (x->v.blocks[VERIFY_UNREAD])
		return "a leg does not give blocks of which it may have the only newest version: "
		       "they are holes in the copy; try again, or repair that leg";
	if (x->v.pages_lost || x->v.blocks[VERIFY_UNREPAIRED])
		return "some blocks are lost on every leg given, and are holes in the copy: find "
		       "another leg, or restore them from a backup";
	if (x->v.blocks[VERIFY_POISONED])
		return "some blocks are recorded as lost, and are holes in the copy: restore them "
		       "from a backup";
	return NULL;
}

static json_object *object(const struct extract *x)
{
	const struct kvp_sb *sb = x->legs.found->sb;
	json_object *o = json_object_new_object();
	char uuid[UUID_BUF];

	json_text(o, "pool", sb->name);
	json_text(o, "uuid", uuid_print(sb->pool_uuid, uuid));
	json_number(o, "checkpoint", sb->era);
	json_text(o, "file", x->to.path);
	json_number(o, "size", x->to.bytes);
	json_number(o, "written", x->to.written);
	check_blocks(o, &x->v);
	json_text(o, "advice", advice(x));
	return o;
}

static void print(const struct ctl *ctl, json_object *o)
{
	char size[SIZE_BUF], written[SIZE_BUF];

	printf("copied pool %s to %s: %s, of which %s are not zeros\n", json_text_at(o, "pool"),
	       json_text_at(o, "file"), ctl_size(ctl, json_number_at(o, "size"), size),
	       ctl_size(ctl, json_number_at(o, "written"), written));
	check_print_damage(o);
	if (json_at(o, "advice"))
		printf(" advice: %s\n", json_text_at(o, "advice"));
}

static int report(const struct ctl *ctl, const struct extract *x)
{
	json_object *o = object(x), *root;

	if (ctl->json) {
		root = json_root();
		json_object_object_add(root, "extract", o);
		ctl_json(root);
	} else {
		if (!ctl->quiet)
			print(ctl, o);
		json_object_put(o);
	}
	return advice(x) ? EXIT_DEGRADED : EXIT_DONE;
}

static int print_plan(const struct ctl *ctl, const struct extract *x)
{
	const struct kvp_sb *sb = x->legs.found->sb;
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char uuid[UUID_BUF], size[SIZE_BUF];

	json_text(plan, "action", "extract");
	json_text(plan, "pool", sb->name);
	json_text(plan, "uuid", uuid_print(sb->pool_uuid, uuid));
	json_text(plan, "file", x->to.path);
	json_number(plan, "size", x->to.bytes);
	json_flag(plan, "overwrites", x->to.exists);
	if (ctl->json) {
		ctl_json(root);
		return EXIT_DONE;
	}
	printf("would copy pool %s to %s%s\nsize      %s, of which a file has only what is not "
	       "zeros\n", sb->name, x->to.path, x->to.exists ? ", and overwrite that" : "",
	       ctl_size(ctl, x->to.bytes, size));
	json_object_put(root);
	return EXIT_DONE;
}

static int copy(struct ctl *ctl, struct extract *x, struct err *err)
{
	int ret;

	x->v.progress = draw;
	x->v.progress_arg = ctl;
	x->v.contents = target_take;
	x->v.contents_arg = &x->to;
	ret = opened_verify(&x->legs, &x->v, err);
	ret = target_end(&x->to, ret, err) ?: ret;
	ctl_progress(ctl, "extract", 0, 0);
	return ret;
}

static int extract(struct ctl *ctl, const struct scan *s, const char *path, bool force)
{
	struct extract *x = calloc(1, sizeof(*x));
	struct err err;
	int ret;

	if (!x)
		abort();
	x->to.path = path;
	x->to.force = force;
	ret = opened_begin(s, &x->legs, &err);
	if (ret) {
		free(x);
		return ctl_fail(ctl, &err);
	}
	x->to.bytes = x->legs.found->sb->pool_blocks << KVP_BLOCK_SHIFT;
	ret = opened_fault(&x->legs, &err) || target_check(&x->to, s, &err);
	if (!ret && ctl->dry_run)
		ret = print_plan(ctl, x);
	else
		ret = ret || copy(ctl, x, &err) ? ctl_fail(ctl, &err) : report(ctl, x);
	opened_end(&x->legs);
	free(x);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *path = NULL;
	bool force = false;
	struct scan s;
	struct err err;
	int c, n, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		if (c == 'f')
			force = true;
		else
			path = optarg;
	n = ctl_args(ctl, argc, 1, KVP_MAX_LEGS);
	if (!path)
		return ctl_usage(ctl, "-o is missing: where shall the copy go?");
	if (opened_scan(argv + optind, n, &s, &err))
		return ctl_fail(ctl, &err);
	ret = extract(ctl, &s, path, force);
	scan_free(&s);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'o', NULL, "FILE", "the copy: a new file, or with -f a block device" },
	{ 'f', NULL, NULL, "overwrite FILE, with all signatures of other tools there" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_extract = {
	.name = "extract",
	.purpose = "copy a whole pool to a file, offline and verified",
	.args = "[-n] [-f] DEV... -o FILE",
	.about = "Copies the device of a pool that does not run, from its legs or images of them. "
		"The log is applied in memory, and every block is verified, or rebuilt from "
		"parity. Name the SSDs of a cache, too. The legs are only read, and no module is "
		"needed. Exit status 4: blocks are lost, or newer data may be on legs that were "
		"not named, or where a leg cannot be read.",
	.more = "The copy is complete only if the exit status is 0 or 4. A lost block becomes a "
		"hole, which reads as zeros, and is listed. Unwritten blocks and blocks of zeros "
		"become holes, too, so a file is smaller than the pool. Where a write was cut "
		"short, the copy has what a start would accept. extract refuses to write over a "
		"leg. It refuses to begin if the log is damaged, or if too few legs are named. A "
		"block device must be at least as large as the pool's device, and not a leg of any "
		"pool that was not destroyed.",
	.example = "kvpoolctl extract -o tank.img /dev/sdb /dev/sdc",
	.options = options,
	.dry_run = true,
	.run = run,
};
