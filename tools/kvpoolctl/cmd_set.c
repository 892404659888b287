// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl set: change a tunable of a running pool. */
#define _GNU_SOURCE
#include "drain.h"
#include "pool_lock.h"
#include "setting.h"

/* KEY=VALUE, or KEY and VALUE as two words. */
static int parse(struct ctl *ctl, const char *key, const char *value, struct setting *s)
{
	char *text = NULL;
	struct err err;
	int ret;

	if (value && strchr(key, '='))
		return ctl_usage(ctl, "too many arguments");
	if (value && asprintf(&text, "%s=%s", key, value) < 0)
		err_set(&err, ERR_FAILED, key, "free some memory", "no memory");
	else if (!setting_parse(text ?: key, s, &err)) {
		free(text);
		return 0;
	}
	ret = ctl_fail(ctl, &err);
	free(text);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false;
	struct dm_entry e;
	struct setting s;
	struct err err;
	int n, ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;	/* -f is the only option */
	n = ctl_args(ctl, argc, 2, 3);
	ret = parse(ctl, argv[optind + 1], n == 3 ? argv[optind + 2] : NULL, &s);
	if (ret)
		return ret;
	if (dm_find(argv[optind], &e, &err))
		return ctl_fail(ctl, &err);
	if (force && strcmp(s.key, "cache_mode")) {
		err_set(&err, ERR_USAGE, "-f", "leave it out", "only cache_mode takes it");
		return ctl_fail(ctl, &err);
	}
	if (!strcmp(s.key, "cache_mode"))
		ret = pool_lock(ctl, e.uuid, &err) ?:
		      drain_set_mode(ctl, e.name, s.value, force, &err);
	else
		ret = setting_apply(e.name, &s, &err);
	if (ret)
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "cache_mode=writeback onto a single SSD, although the pool then survives fewer losses" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_set = {
	.name = "set",
	.purpose = "change a tunable; durable at once",
	.args = "[-f] POOL KEY=VALUE|KEY VALUE",
	.about = "Changes a tunable of a running pool. The change is durable when the command "
		"returns. 'kvpoolctl get' lists all tunables with range, default and meaning. "
		"cache_mode moves the log onto the cache or off it. That may take minutes, and the "
		"pool stays in use. If the command is interrupted before the log moves, nothing "
		"has changed.",
	.example = "kvpoolctl set tank scrub_rate=100M",
	.options = options,
	.run = run,
};
