// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl create: a new pool on blank or wiped devices. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/logplace.h"
#include "plan.h"
#include "signature.h"

#define LABEL_BYTES	((size_t)KVP_LABEL_BLOCKS << KVP_BLOCK_SHIFT)

static void print_plan(struct ctl *ctl, const struct plan *p)
{
	json_object *root = plan_object(p), *plan = json_at(root, "plan");
	char a[SIZE_BUF], b[SIZE_BUF];
	unsigned int i;
	u32 v;

	if (ctl->json) {
		ctl_json(root);
		return;
	}
	printf("would create pool %s:", p->name);
	for (v = 0; v < p->sb.vdev_count; v++) {
		const struct kvp_geometry *g = &p->sb.vdevs[v];

		printf("%s%s of %u\n", v ? "and " : " ", vdev_word(g->kind), g->leg_count);
		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
			printf("  %s, %s%s%s\n", p->legs[i].dev.path,
			       ctl_size(ctl, p->legs[i].dev.bytes, a),
			       *p->legs[i].signature ? ", wiping " : "", p->legs[i].signature);
	}
	printf("usable    %s\n", ctl_size(ctl, json_number_at(plan, "size"), a));
	printf("log       %s on each leg%s, table %s on each leg\n",
	       ctl_size(ctl, json_number_at(plan, "log_size"), a),
	       strcmp(json_text_at(plan, "log_on"), "cache") ? "" : " of the cache",
	       ctl_size(ctl, json_number_at(plan, "table_size"), b));
	printf("memory    %s\n", ctl_size(ctl, json_number_at(plan, "ram_bytes"), a));
	printf("survives  loss of %" PRIu64 " leg(s)\n", json_number_at(plan, "redundancy.after"));
	if (*p->comment_text)
		printf("comment   %s\n", p->comment_text);
	printf("table     %s\n", json_text_at(plan, "table"));
	json_object_put(root);
}

static int zero_label(int fd, u64 at, const struct device *d, struct err *err)
{
	static const char zeros[1 << 20];

	_Static_assert(sizeof(zeros) == KVP_LABEL_BLOCKS * KVP_BLOCK_SIZE, "a label area");
	if (pwrite(fd, zeros, LABEL_BYTES, (off_t)at) != (ssize_t)LABEL_BYTES)
		return err_set(err, ERR_IO, d->path, "check the device",
			       "its label area cannot be zeroed: %s", strerror(errno));
	return 0;
}

static int wipe_leg(const struct plan *p, const struct plan_leg *leg, struct err *err)
{
	int fd = device_claim(&leg->dev, err), ret = 0;

	if (fd < 0)
		return -1;
	if (p->force)
		ret = signature_wipe(fd, leg->dev.path, err);
	if (!ret)
		ret = zero_label(fd, 0, &leg->dev, err);
	if (!ret)
		ret = zero_label(fd, (leg->dev.blocks - KVP_LABEL_BLOCKS) << KVP_BLOCK_SHIFT,
				 &leg->dev, err);
	if (!ret && fsync(fd))
		ret = err_set(err, ERR_IO, leg->dev.path, "check the device", "%s",
			      strerror(errno));
	/* partitions that are gone; one that is not a whole disk has none */
	if (!ret && *leg->signature && ioctl(fd, BLKRRPART))
		errno = 0;
	close(fd);
	return ret;
}

static int execute(struct plan *p, struct err *err)
{
	char why[sizeof(err->why)];
	unsigned int i;
	int ret = 0;

	if (module_load(err))
		return -1;
	for (i = 0; !ret && i < p->leg_count; i++)
		ret = wipe_leg(p, &p->legs[i], err);
	plan_close(p);
	if (!ret)
		ret = dm_start(p->name, p->uuid, plan_blocks(p) << KVP_SECTORS_SHIFT, p->params,
			       false, err);
	for (i = 0; i < p->leg_count; i++)
		device_announce(p->legs[i].dev.rdev);
	if (!ret && *p->comment.key && setting_apply(p->name, &p->comment, err)) {
		err_set(err, ERR_FAILED, p->name, "kvpoolctl set it, if it matters",
			"the pool was made, but has no comment");
		return -1;
	}
	if (!ret)
		return 0;
	/* a refusal would say that nothing was changed */
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

/* It may be wanted, for a trial; but nobody should learn of it from the disk. */
static void note_shared_disk(const struct ctl *ctl, const struct plan *p)
{
	unsigned int a, b;

	if (!ctl->quiet && plan_shares_disk(p, &a, &b))
		fprintf(stderr, "kvpoolctl: note: %s and %s are partitions of one disk, and are "
			"lost together\n", p->legs[b].dev.path, p->legs[a].dev.path);
}

/* A cache that does nothing is not what was wanted. */
static void note_idle_cache(const struct ctl *ctl, const struct plan *p)
{
	if (ctl->quiet || kvp_cache_find(&p->sb) < 0 || kvp_log_on_cache(&p->sb))
		return;
	fprintf(stderr, "kvpoolctl: note: the cache is idle, write-through: the log stays on the "
		"legs%s\n", kvp_cache_lowers(&p->sb) ? ", as one SSD is less than they survive; "
		"'cache mirror DEV DEV', or -o cache_mode=writeback -f, puts it there" : "");
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

const struct command cmd_create = {
	.name = "create",
	.args = "[-n] [-f] [-o KEY=VALUE]... POOL VDEV...",
	.help = "Makes a pool; it is there at once, as /dev/mapper/POOL, and reads as zeros.\n"
		"VDEV is single DEV, mirror DEV DEV... or parity1 DEV DEV DEV...; of several, which\n"
		"take turns, all are needed. cache DEV or cache mirror DEV DEV... behind them puts the\n"
		"log on SSDs.\n\n"
		"  -f            wipe foreign signatures (file systems, partition tables, RAID)\n"
		"                and take devices of an exported pool; let one SSD carry the\n"
		"                log of a pool that survives more (-o cache_mode=writeback)\n"
		"  -o KEY=VALUE  set a tunable; log_size=, size= (use less of each leg) and chunk=\n"
		"                (of a parity1) can be given only here",
	.shorts = "fo:",
	.dry_run = true,
	.run = run,
};
