// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl create: a new pool on blank or wiped devices. */
#include "announce.h"
#include "format/logplace.h"
#include "plan.h"
#include "spare_devices.h"

static void print_plan(struct ctl *ctl, const struct plan *p)
{
	json_object *root = plan_object(p), *plan = json_at(root, "plan");
	char a[SIZE_BUF], b[SIZE_BUF];

	if (ctl->json) {
		ctl_json(root);
		return;
	}
	printf("would create pool %s:", p->name);
	plan_print_vdevs(ctl, p);
	printf("usable    %s\n", ctl_size(ctl, json_number_at(plan, "size"), a));
	if (plan_cache_bytes(p))
		printf("cache     %s, of which %s may be dirty\n",
		       ctl_size(ctl, plan_cache_bytes(p), a),
		       ctl_size(ctl, plan_cache_dirty(p), b));
	/* With a parity1 cache each leg has only a part of the log. */
	printf("log       %s on %s%s, table %s on each leg\n",
	       ctl_size(ctl, json_number_at(plan, "log_size"), a),
	       kvp_log_striped(&p->sb.vdevs[p->sb.log_vdev]) ? "all legs" : "each leg",
	       strcmp(json_text_at(plan, "log_on"), "cache") ? "" :
	       kvp_log_striped(&p->sb.vdevs[p->sb.log_vdev]) ? " of the cache together" :
	       " of the cache",
	       ctl_size(ctl, json_number_at(plan, "table_size"), b));
	printf("memory    %s\n", ctl_size(ctl, json_number_at(plan, "ram_bytes"), a));
	printf("survives  loss of %" PRIu64 " leg(s)\n", json_number_at(plan, "redundancy.after"));
	if (*p->comment_text)
		printf("comment   %s\n", p->comment_text);
	printf("table     %s\n", json_text_at(plan, "table"));
	json_object_put(root);
}

static int label_spares(struct plan *p, struct err *err)
{
	char why[sizeof(err->why)];

	if (!spares_write(p, err))
		return 0;
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.340s (the pool was made, but without this spare, and those "
		 "named after it)", err->why);
	memcpy(err->why, why, sizeof(why));
	return -1;
}

/* The pool runs by now. */
static int finish(struct plan *p, struct err *err)
{
	struct err ignored;
	bool lacks = *p->comment.key && setting_apply(p->name, &p->comment, &ignored);

	if (label_spares(p, err))
		return -1;
	return !lacks ? 0 : err_set(err, ERR_FAILED, p->name, "kvpoolctl set it, if it matters",
				    "the pool was made, but without its comment");
}

static int execute(struct plan *p, struct err *err)
{
	char why[sizeof(err->why)];
	unsigned int i;
	int ret;

	if (module_load(err))
		return -1;
	ret = plan_wipe(p, err);
	plan_close(p);
	if (!ret)
		ret = dm_start(p->name, p->uuid, plan_blocks(p) << KVP_SECTORS_SHIFT, p->params,
			       false, err);
	for (i = 0; i < p->leg_count; i++)
		announce_joined(p->legs[i].dev.rdev);
	if (!ret)
		return finish(p, err);
	/* a refusal would say that the devices are unchanged */
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.380s (no pool was made; first and last MiB of the legs "
		 "may be zeroed)", err->why);
	memcpy(err->why, why, sizeof(why));
	return -1;
}

static int parse(struct ctl *ctl, struct plan *p, int argc, char **argv)
{
	const char *fault;
	struct err err;
	int c, n;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		if (c == 'f')
			p->force = true;
		else if (plan_option(p, optarg, &err))
			return ctl_fail(ctl, &err);
	}
	n = ctl_args(ctl, argc, 2, -1);
	p->name = argv[optind];
	fault = name_fault(p->name, command_names());
	if (fault) {
		err_set(&err, ERR_USAGE, *p->name ? p->name : "POOL", "choose another name", "%s",
			fault);
		return ctl_fail(ctl, &err);
	}
	return plan_vdevs(p, n - 1, argv + optind + 1, &err) ? ctl_fail(ctl, &err) : 0;
}

/* A trial pool may share a disk on purpose, but the user should know it. */
static void note_shared_disk(const struct ctl *ctl, const struct plan *p)
{
	unsigned int a, b;

	if (!ctl->quiet && plan_shares_disk(p, &a, &b))
		fprintf(stderr, "kvpoolctl: note: %s and %s are partitions of one disk, and are "
			"lost together\n", p->legs[b].dev.path, p->legs[a].dev.path);
}

/* Users of several kinds of vdev may expect each vdev to stand alone. */
static void note_weakest(const struct ctl *ctl, const struct plan *p)
{
	int least = KVP_MAX_LEGS, most = 0, n;
	u32 v;

	for (v = 0; v < p->sb.vdev_count; v++) {
		n = (int)kvp_losses(&p->sb.vdevs[v]);
		if (!kvp_has_data(&p->sb.vdevs[v]))
			continue;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	if (!ctl->quiet && least < most)
		fprintf(stderr, "kvpoolctl: note: some vdevs survive the loss of %d leg(s), others "
			"of %d; all vdevs are needed, so the pool survives that of %d\n", most,
			least, least);
}

/* A cache without the log is hardly what the user wanted. */
static void note_idle_cache(const struct ctl *ctl, const struct plan *p)
{
	if (ctl->quiet || kvp_cache_find(&p->sb) < 0 || kvp_log_on_cache(&p->sb))
		return;
	fprintf(stderr, "kvpoolctl: note: the cache is write-through: the log stays on the "
		"legs%s\n", kvp_cache_lowers(&p->sb) ? ", which survive more losses than one SSD; "
		"'cache mirror DEV DEV', or -o cache_mode=writeback -f, moves it there" : "");
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct plan *p = calloc(1, sizeof(*p));
	char size[SIZE_BUF];
	struct err err;
	int ret;

	if (!p)
		abort();
	ret = parse(ctl, p, argc, argv);
	if (!ret && plan_make(p, &err))
		ret = ctl_fail(ctl, &err);
	if (!ret) {
		note_shared_disk(ctl, p);
		plan_note_alignment(ctl, p);
		note_weakest(ctl, p);
		note_idle_cache(ctl, p);
	}
	if (!ret && ctl->dry_run)
		print_plan(ctl, p);
	else if (!ret && execute(p, &err))
		ret = ctl_fail(ctl, &err);
	else if (!ret && ctl->json)
		print_plan(ctl, p);
	else if (!ret)
		ctl_say(ctl, "created pool %s: %s at /dev/mapper/%s", p->name,
			ctl_size(ctl, plan_blocks(p) << KVP_BLOCK_SHIFT, size), p->name);
	plan_close(p);
	free(p);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "wipe foreign signatures (file systems, partition tables, RAID); accept one SSD for "
	  "the log of a pool that survives more losses (-o cache_mode=writeback); accept an SSD "
	  "of less than 64 MiB in a cache; accept devices that have one WWID" },
	{ 'o', NULL, "KEY=VALUE",
	  "set a tunable, or the comment; only here, and in add for its new vdevs, these can be "
	  "given: log_size= (size of the log, 4M to 64G), size= (how much of each leg to use), "
	  "chunk= (neighbouring blocks on one leg of a parity1, 64K by default), "
	  "cache_dirty_max= (how much of the cache may be dirty, 64M to 64G, 1G by default)" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_create = {
	.name = "create",
	.purpose = "make a pool of devices",
	.args = "[-n] [-f] [-o KEY=VALUE]... POOL VDEV...",
	.about = "Makes a pool. It can be used at once, as /dev/mapper/POOL, and reads as zeros: "
		"it needs no synchronisation.\n"
		"VDEV is single DEV, mirror DEV DEV... or parity1 DEV DEV DEV... A pool may have "
		"several vdevs, and needs all of them. After these, cache DEV, cache mirror DEV "
		"DEV... or cache parity1 DEV DEV DEV... puts the log on SSDs. At the end, spare "
		"DEV... names devices that wait until a leg or an SSD of the cache is lost.",
	.more = "Several vdevs take turns, so large reads and writes use all of them, in "
		"proportion to their sizes. The pool survives as many losses as its weakest "
		"vdev.\n"
		"Devices are refused if they are mounted, held by another driver, too small, or "
		"members of a pool that was not destroyed. They are also refused if they are "
		"listed twice: directly, as a disk and its partition, as a loop device and what "
		"it lies on, or as two paths to one disk. Two paths are known by the WWID, and "
		"by a mark that is written to each leg before the pool is made, and cleared. A "
		"path that is to be part of a multipath device is refused. A note names each "
		"partition that begins inside a block of its disk. -f wipes all signatures of a "
		"device. Block 0 of each leg and spare gets a protective MBR, so that mkfs and "
		"other tools ask before they overwrite it.\n"
		"Each GiB of cache_dirty_max takes 6 MiB of memory. 'kvpoolctl set' changes its "
		"value later.",
	.example = "kvpoolctl create -n tank mirror /dev/sdb /dev/sdc\n"
		"kvpoolctl create -o comment=archive tank mirror /dev/sdb /dev/sdc "
		"cache mirror /dev/nvme0n1 /dev/nvme1n1",
	.options = options,
	.dry_run = true,
	.run = run,
};
