// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile answers of device-mapper, to commands:
 *
 * answers [RUNS [FIRST_SEED]]
 * answers top: runs that command on sound answers, for a test of its terminal
 * answers top-silent: what it shows when device-mapper does not answer any more
 * answers history [-j]: the same
 * answers history-old: the same with an older module
 * answers advised [-v]: are the commands that advice names carried out? (lib/advised.h)
 * answers with STATS COMMAND ARG...: runs a command on sound answers, with these lines of stats
 * before all others; with mode=ro, of a pool that was imported read-only
 *
 * The tool trusts the module's answers no more than a device's data: the module may be of another
 * version, or broken. Functions with sound answers replace libkvpool/dm.c. The answers are spoilt
 * in a few places, and every command that asks the module runs on them, up to its first change.
 * Under the sanitizers any misstep aborts. An alarm ends a loop over a count from an answer. The
 * seed is printed on a failure.
 *
 * With WHOIS_ON=DEVICE, the pool's device has DEVICE above it from 1 MiB on, its second half first.
 *
 * tests/fuzz/answers.c includes this file; there libFuzzer chooses instead of chance.
 */
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctl.h"
#include "device.h"
#include "dm.h"
#include "foreign.h"
#include "pool_lock.h"
#include "top_view.h"

#define ANSWER_MAX	(64u << 10)

extern const struct command cmd_add, cmd_attach, cmd_cancel, cmd_clear, cmd_destroy, cmd_detach,
	cmd_diff,
	cmd_events, cmd_export, cmd_get, cmd_giveup, cmd_grow, cmd_history, cmd_iostat,
	cmd_list, cmd_metrics, cmd_offline, cmd_online, cmd_remove, cmd_rename, cmd_replace,
		cmd_scrub, cmd_set,
	cmd_status, cmd_top, cmd_trim, cmd_upgrade, cmd_wait, cmd_whois;

static bool no_list;	/* device-mapper does not answer */
static unsigned long sent, statuses[EXIT_FAULTED + 1];
static bool all_sound;
static const char *sound_events;	/* for all_sound, instead of events */
static const char *sound_orders;		/* for all_sound; NULL: an older module */
static const char *sound_table;		/* for all_sound, instead of table */
/* for all_sound: is the order carried out? NULL: all are */
static bool (*takes)(const char *message, struct err *err);
static const char *sound_stats = "";	/* for all_sound, before all others */

#ifdef FUZZ_INPUT
static u64 rnd(u64 below);
#else
#include "seeded.h"
#endif

/* Each run would wait for the lock of another that is tested beside it. */
static void __attribute__((constructor)) no_locks(void)
{
	pool_lock_dir = "/nonexistent";
}

/* --- in place of libkvpool/foreign_find.c: the made-up devices have no signatures ------- */

void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	unsigned int i;

	(void)paths;
	for (i = 0; i < count; i++)
		*type[i] = 0;
}

void foreign_find_sure(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	foreign_find(paths, count, type);
}

/* --- sound answers -------------------------------------------------------------- */

#define UUID	"0f0e0d0c-0b0a-0908-0706-050403020100"

static const char *const stats[] = {
	"name=p\nuuid=" UUID "\nstate=online\nmode=rw\nsize=1073741824\ncomment=no "
			     "comment\nfeatures=vdevs,cache\n",
	"epoch=5\nera=7\nuptime_ms=100000\nwritten_blocks=1000\npoisoned_blocks=3\nlosses_survivable=1\nlegs=7\n"
	"heartbeat.age_ms=1400\nheartbeat.left_ms=13600\n"
	"vdevs=3\n",
	"vdev.0.kind=mirror\nvdev.0.state=online\nvdev.0.first_leg=0\nvdev.0.legs=2\nvdev.0.leg_size=1\nvdev.0.size=1\n",
	"vdev.1.kind=parity1\nvdev.1.state=online\nvdev.1.first_leg=2\nvdev.1.legs=3\nvdev.1.size=1\nvdev.1.chunk=65536\n",
	"vdev.2.kind=cache\nvdev.2.state=online\nvdev.2.first_leg=5\nvdev.2.legs=2\nvdev.2.size=1\n",
	"log.vdev=2\nlog.vdevs=4\nlog.on=cache\nlog.size=8388608\nlog.used=4096\nlog.commits=4\nlog.flushes=4\nlog.lsn=9\n"
	"log.failed=0\n",
	"cache.mode=writeback\ncache.vdev=2\ncache.dirty_max=67108864\ncache.dirty_max_wanted=0\ndrain.state=none\ndrain.left=0\ndrain.total=0\n"
	"drain.rate=0\n",
	"ram.write_buffer=67108864\nram.dirty_blocks=4\nram.table_budget=67108864\nram.table_used=4096\nram.hits=10\n"
	"ram.misses=1\nram.bypassed_long=0\n",
	"ssd.size=67108864\nssd.clean=4096\nssd.parked=0\nssd.hits=8\nssd.misses=2\nssd.written_data=100\n"
	"ssd.written_headers=10\nssd.refused_stream=4\n",
	"destage.rate=0\ndestage.drain_ms=0\nlog.data_blocks=9\nlog.intent_blocks=8\n",
	"scrub.state=finished\nscrub.done=100\nscrub.total=100\nscrub.healed=1\nscrub.unrepaired=0\n"
	"scrub.started=1700000000\nscrub.finished=1700000001\n",
	"grow.state=ready\ngrow.pages=4\nleg.1.by_order=0\n",
	"leg.0.slow=no\nleg.1.slow=yes\nleg.1.slow_by=read\nleg.1.slow_others=1000000\nleg.1.p99_read=80000000\n"
	"leg.1.p99_write=100000\nleg.3.slow=expected\nleg.3.slow_by=long_read\nleg.3.slow_others=4\n",
	"resilver.state=none\nresilver.done=0\nresilver.total=0\nresilver.copied=0\ntrim.state=none\n",
	"recovery.last_ms=10\nrecovery.worst_case_ms=100\ntunable.write_buffer=67108864\ntunable.strict=0\n"
	"tunable.fill_dwpd=1\ntunable.cache_mode=writeback\n",
};

static const char latency[] = "flush sum 123456\nflush 1000 4\nflush 2000 5\nflush 4000 1\n"
	"flush 18446744073709551615 1\n";
static const char poisoned[] = "17 1\n100 2\n4096 8\n";
static const char changed[] = "17 1\n100 2\nnext 102\n", changed_more[] = "102 2\n4096 8\nend\n";
static const char point[] = "58@1f2e3d4c\n";
static const char events[] = "1 1700000000 recovered replayed=0 kept=0 torn_accepted=0 ms=4\n"
	"2 1700000001 leg_lost leg=1 path=/dev/b why=write error\n3 1700000002 healed leg=0 "
	"block=77\n";
static const char ordered[] = "3 1700000000 set key=strict uid=0 login=1000 value=1\n"
	"4 1700000001 imported epoch=5 legs=2 uid=0 host=nas 1\n5 1700000002 healed leg=0 block=77\n"
	"6 1700000002 settled x=1\n7 1700000003 set key=comment value=created host=x\n"
	"8 1700000004 imported epoch=6 legs=2 degraded=1 host=-\n";
/*
 * The first two are no longer among the events. The last two differ from the events that have the
 * same numbers.
 */
static const char kept_orders[] = "0 1699990000 created epoch=1 legs=2 uid=0 login=1001 host=old\n"
	"2 1699990001 renamed old=q name=p uid=0\n"
	"3 1700000000 set key=strict uid=0 login=1000 value=1\n"
	"4 1700000001 imported epoch=5 legs=2 uid=0 host=nas 1\n"
	"7 1700000003 renamed old=p name=q uid=0\n8 1700000003 renamed old=q name=p uid=0\n";
static const char table[] = UUID " 1 host=12:h mirror 2 8:0 8:16 parity1 3 8:32 8:48 8:64 cache 2 "
				 "8:80 -";

static void write_stats(char *buf)
{
	unsigned int i;
	size_t n = (size_t)snprintf(buf, ANSWER_MAX, "%s", sound_stats);

	for (i = 0; i < sizeof(stats) / sizeof(*stats); i++)
		n += (size_t)snprintf(buf + n, ANSWER_MAX - n, "%s", stats[i]);
	for (i = 0; i < 7; i++)
		n += (size_t)snprintf(buf + n, ANSWER_MAX - n,
				      "leg.%u.path=/dev/none%u\nleg.%u.uuid=0f0e0d0c-0b0a-0908-"
				      "0706-05040302010%u\nleg.%u.state=online\nleg.%u.err_read=0\nleg.%u.err_write=0\n"
				      "leg.%u.err_checksum=0\nleg.%u.healed=0\nleg.%u.size=1073741824\n",
				      i, i, i, i, i, i, i, i, i, i);
}

/* --- spoilt answers ------------------------------------------------------------------ */

static const char *some_text(void)
{
	static const char *const texts[] = {
		"0", "1", "2", "7", "47", "48", "49", "64", "65", "2147483647", "2147483648",
		"4294967295", "4294967296",
		"4294967294", "9223372036854775807", "9223372036854775808", "18446744073709551615",
		"18446744073709551616", "99999999999999999999999", "-1", "-9223372036854775808", "",
		" ", "-", "1e999",
		"nan", "0x10", "online", "faulted", "missing", "stale", "suspended", "mirror",
		"parity1", "cache",
		"cache-parity1", "legs", "writeback", "4294967295:4294967295", "8:0", ",,,",
		"\xff\xfe", "%s%n", "=", "\t",
	};

	return texts[rnd(sizeof(texts) / sizeof(*texts))];
}

/* The start of a value, after a '=' or a blank, and its length. */
static size_t some_value(const char *buf, size_t *length)
{
	size_t size = strlen(buf), at;

	*length = 0;
	if (!size)
		return 0;
	at = rnd(size);
	at += strcspn(buf + at, "= ");
	at += !!buf[at];
	*length = strcspn(buf + at, "\n ");
	return at;
}

static void replace(char *buf, size_t at, size_t length, const char *by)
{
	size_t rest = strlen(buf + at + length) + 1, n = strlen(by);

	if (at + n + rest > ANSWER_MAX)
		return;
	memmove(buf + at + n, buf + at + length, rest);
	memcpy(buf + at, by, n);
}

#define LEG_UUID(n)	"0f0e0d0c-0b0a-0908-0706-05040302010" #n

static const char *some_state(void)
{
	static const char *const states[] = {
		"leg.1.replaces=" LEG_UUID(0), "leg.0.replaces=" LEG_UUID(0),
		"leg.1.replaces=" LEG_UUID(0) "\nleg.0.by_order=1\nleg.0.state=offline",
		"leg.1.replaces=" LEG_UUID(0) "\nleg.0.replaces=" LEG_UUID(1),
		"leg.1.replaces=" LEG_UUID(0) "\nleg.1.state=missing\nleg.1.path=-",
		"leg.6.replaces=" LEG_UUID(5), "leg.0.state=missing\nleg.0.path=-",
		"leg.3.state=resilvering\nresilver.state=running\nresilver.total=9\nresilver.unread=45056",
		"leg.5.state=faulted\nleg.6.state=faulted\nlog.on=legs", "state=faulted",
		"drain.state=failed", "trim.state=failed", "scrub.state=paused", "vdev.2.legs=1",
		"vdev.0.first_leg=6", "vdev.2.first_leg=47\nvdev.2.legs=48", "cache.vdev=0",
		"vdev.0.kind=single",
		"grow.state=running\ngrow.pages=18446744073709551615", "legs=0", "losses_survivable=-1",
	};

	return states[rnd(sizeof(states) / sizeof(*states))];
}

static void spoil(char *buf)
{
	size_t size = strlen(buf), at, length;
	char text[600];

	switch (rnd(9)) {
	case 8:		/* the pool is in another state: the first line of a name counts */
		snprintf(text, sizeof(text), "%s\n", some_state());
		replace(buf, 0, 0, text);
		break;
	case 0:		/* the answer ends early */
		buf[rnd(size + 1)] = 0;
		break;
	case 1:		/* a byte changes */
		if (size)
			buf[rnd(size)] = (char)(1 + rnd(255));
		break;
	case 2:		/* a line is missing */
		at = rnd(size + 1);
		replace(buf, at, strcspn(buf + at, "\n"), "");
		break;
	case 3:		/* a line is doubled */
		at = rnd(size + 1);
		length = strcspn(buf + at, "\n");
		snprintf(text, sizeof(text), "\n%.*s\n", (int)(length < 500 ? length : 500),
			 buf + at);
		replace(buf, at, 0, text);
		break;
	case 4:		/* a long value */
		at = some_value(buf, &length);
		memset(text, 'a' + (int)rnd(26), sizeof(text) - 1);
		text[sizeof(text) - 1] = 0;
		replace(buf, at, length, text);
		break;
	default:
		at = some_value(buf, &length);
		replace(buf, at, length, some_text());
	}
}

static char *answer(const char *sound)
{
	char *buf = malloc(ANSWER_MAX), *exact;
	u64 times = all_sound ? 0 : rnd(6);

	if (!buf)
		abort();
	snprintf(buf, ANSWER_MAX, "%s", sound);
	while (times--)
		spoil(buf);
	exact = strdup(buf);	/* so that the sanitizers notice a read beyond its end */
	free(buf);
	return exact;
}

/* --- in place of libkvpool/dm.c ------------------------------------------------------ */

static struct dm_entry entry(void)
{
	struct dm_entry e = { .name = "p", .uuid = UUID, .rdev = makedev(254, 77), .live = true };

	e.readonly = strstr(sound_stats, "mode=ro");
	if (all_sound)
		return e;
	e.suspended = !rnd(16);
	e.readonly = !rnd(16);
	return e;
}

int dm_list(struct dm_entry **list, unsigned int *count, struct err *err)
{
	if (no_list)
		return err_set(err, ERR_KERNEL, "device-mapper", "-", "no answer");
	*list = malloc(sizeof(**list));
	if (!*list)
		abort();
	**list = entry();
	*count = 1;
	return 0;
}

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	*e = entry();
	if (strcmp(name, "p") && strcmp(name, UUID))
		return err_set(err, ERR_NOT_FOUND, name, "-", "no such pool is active");
	return 0;
}

int dm_message(const char *name, const char *message, char **text, struct err *err)
{
	char all[ANSWER_MAX];

	(void)name;
	if (!text) {
		sent++;
		if (takes && !takes(message, err))
			return -1;
		return all_sound || rnd(4) ? 0 : err_set(err, ERR_REFUSED, "p", "mend", "refused");
	}
	if (!strcmp(message, "stats")) {
		write_stats(all);
		*text = answer(all);
	} else if (!strcmp(message, "latency")) {
		*text = answer(latency);
	} else if (!strncmp(message, "poisoned", 8) || !strncmp(message, "skipped", 7)) {
		*text = answer(poisoned);
	} else if (!strncmp(message, "changed", 7)) {
		*text = answer(strstr(message, " 262144") ? "end\n" :
			       strcmp(message + strlen(message) - 2, " 0") ? changed_more : changed);
	} else if (!strcmp(message, "point")) {
		*text = answer(point);
	} else if (!strncmp(message, "orders", 6)) {
		if (all_sound && !sound_orders)
			return err_set(err, ERR_REFUSED, "p", "mend", "unknown message");
		*text = answer(sound_orders ?: events);
	} else if (!strncmp(message, "events", 6)) {
		*text = answer(sound_events ?: events);
	} else {
		*text = answer("");
	}
	return 0;
}

int dm_table(const char *name, u64 *sectors, char **params, struct err *err)
{
	(void)name, (void)err;
	*sectors = 2097152;
	*params = answer(sound_table ?: table);
	return 0;
}

static int not_now(const char *name, struct err *err)
{
	return err_set(err, ERR_KERNEL, name, "-", "not in this test");
}

int dm_start(const char *name, const char *uuid, u64 sectors, const char *params, bool readonly,
	     struct err *err)
{
	(void)uuid, (void)sectors, (void)params, (void)readonly;
	return not_now(name, err);
}

int dm_reload(const char *name, u64 sectors, const char *params, u64 old_sectors, const char *old,
	      struct err *err)
{
	(void)sectors, (void)params, (void)old_sectors, (void)old;
	return not_now(name, err);
}

int dm_rename(const char *name, const char *to, struct err *err)
{
	(void)to;
	return not_now(name, err);
}

int dm_stop(const char *name, struct err *err)
{
	return not_now(name, err);
}

int dm_resume(const char *name, struct err *err)
{
	return not_now(name, err);
}

bool dm_name_used(const char *name)
{
	return !strcmp(name, "p");
}

/* The halves of the device WHOIS_ON change places on the pool's device; else no one can tell. */
void dm_above(dev_t rdev, u64 offset, u64 bytes, struct dm_above *a)
{
	const char *path = getenv("WHOIS_ON");
	struct err err;
	struct device d;
	u64 half;

	memset(a, 0, sizeof(*a));
	a->bytes = bytes;
	a->kind = path ? DM_ABOVE_NONE : DM_ABOVE_OTHER;
	if (!path || rdev != entry().rdev || offset < 1u << 20)
		return;
	if (device_open(path, false, &d, &err))
		abort();
	half = d.bytes / 2;
	offset -= 1u << 20;
	if (offset < d.bytes) {
		a->kind = DM_ABOVE_LINEAR;
		a->rdev = d.rdev;
		a->offset = offset < half ? offset + half : offset - half;
		if (a->bytes > half - offset % half)
			a->bytes = half - offset % half;
	}
	device_close(&d);
}

bool dm_is_pool(dev_t rdev)
{
	(void)rdev;
	return false;
}

int module_load(struct err *err)
{
	return not_now("module", err);
}

bool module_starts_degraded(void)
{
	return false;
}

bool module_version(char *buf, size_t size)
{
	snprintf(buf, size, "0.1.0");
	return true;
}

/* --- the commands ------------------------------------------------------------------------ */

/* stands for an empty folder: this test is not about devices */
#define EMPTY	"@"

static char empty[] = "/tmp/answers.XXXXXX";

/* What top does, without its seconds. */
static int run_view(struct ctl *ctl, int argc, char **argv)
{
	struct top *t = top_new(argc > 1 ? argv[1] : NULL);
	FILE *out = fopen("/dev/null", "w");
	struct err err;
	unsigned int i;

	for (i = 0; out && i < 3; i++)
		if (!top_take(t, &err))
			top_draw(ctl, t, (unsigned int)rnd(100), out);
	if (out)
		fclose(out);
	top_free(t);
	return EXIT_DONE;
}

static const struct command view = { .name = "view", .run = run_view };

static const struct trial {
	const struct command *cmd;
	const char *words[6];
	bool dry;
} trials[] = {
	{ &cmd_status, { "status", "-d", EMPTY }, false },
		{ &cmd_status, { "status", "-v", "p" }, false },
	{ &cmd_status, { "status", "-x", "-d", EMPTY }, false }, { &cmd_list, { "list" }, false },
	{ &cmd_get, { "get", "p" }, false }, { &cmd_get, { "get", "p", "chunk" }, false },
	{ &cmd_metrics, { "metrics", "-d", EMPTY }, false }, { &cmd_iostat, { "iostat", "-v", "p" }, false },
	{ &cmd_events, { "events", "p" }, false }, { &cmd_history, { "history", "p" }, false },
	{ &cmd_offline, { "offline", "p", UUID }, true },
	{ &cmd_offline, { "offline", "p", "/dev/none1" }, false },
		{ &cmd_remove, { "remove", "p", "cache" }, true },
	{ &cmd_detach, { "detach", "p", "/dev/none5" }, true },
	{ &cmd_replace, { "replace", "p", "/dev/none6", "/dev/none8" }, true },
	{ &cmd_attach, { "attach", "p", "/dev/none6", "/dev/none8" }, true },
	{ &cmd_add, { "add", "p", "mirror", "/dev/none8", "/dev/none9" }, true },
	{ &cmd_grow, { "grow", "p" }, true },
	{ &cmd_export, { "export", "p" }, true }, { &cmd_clear, { "clear", "p", "/dev/none2" },
						    false },
	{ &cmd_scrub, { "scrub", "p" }, false }, { &cmd_wait, { "wait", "p" }, false },
	{ &cmd_upgrade, { "upgrade", "p" }, false }, { &cmd_upgrade, { "upgrade" }, false },
	{ &cmd_diff, { "diff", "--since", "57@1f2e3d4c", "p" }, false },
	{ &cmd_whois, { "whois", "p" }, false }, { &cmd_whois, { "whois", "p", "17+4" }, false },
	{ &view, { "view" }, false }, { &view, { "view", "p" }, false },
	{ &cmd_online, { "online", "p", "/dev/none1" }, true },
	{ &cmd_cancel, { "cancel", "p", "replace" }, true },
		{ &cmd_cancel, { "cancel", "p", "drain" }, false },
	{ &cmd_wait, { "wait", "-t", "replace", "p" }, false },
		{ &cmd_wait, { "wait", "-t", "drain,trim", "p" }, false },
	{ &cmd_trim, { "trim", "p" }, false }, { &cmd_trim, { "trim", "--wait", "p" }, false },
	{ &cmd_giveup, { "giveup", "p", "17" }, false },
	{ &cmd_rename, { "rename", "p", "q" }, true }, { &cmd_destroy, { "destroy", "p" }, true },
	{ &cmd_set, { "set", "p", "strict=1" }, false },
		{ &cmd_set, { "set", "p", "cache_mode=writethrough" }, false },
	{ &cmd_set, { "set", "p", "cache_dirty_max=64M" }, true },
		{ &cmd_set, { "set", "p", "cache_dirty_max=64M" }, false },
	{ &cmd_scrub, { "scrub", "p" }, true }, { &cmd_trim, { "trim", "--wait", "p" }, true },
	{ &cmd_clear, { "clear", "p", "/dev/none2" }, true },
	{ &cmd_giveup, { "giveup", "p", "17" }, true },
	{ &cmd_set, { "set", "p", "cache_mode=writeback" }, true },
	{ &cmd_detach, { "detach", "p", "/dev/none0" }, true },
	{ &cmd_online, { "online", "p", UUID }, false }, { &cmd_online, { "online", "p", "/dev/none5" }, true },
};

/* Return: the exit status. */
static int run_one(void)
{
	const struct trial *t = &trials[rnd(sizeof(trials) / sizeof(*trials))];
	struct ctl ctl = { .cmd = t->cmd, .json = rnd(2), .plain = rnd(2), .dry_run = t->dry };
	char words[6][64], *argv[7] = { NULL };
	int argc = 0, status;

	for (; argc < 6 && t->words[argc]; argc++) {
		snprintf(words[argc], sizeof(words[argc]), "%s",
			 strcmp(t->words[argc], EMPTY) ? t->words[argc] : empty);
		argv[argc] = words[argc];
	}
	optind = 0;
	status = t->cmd->run(&ctl, argc, argv);
	if (status < 0 || status > EXIT_FAULTED)
		abort();
	statuses[status]++;
	return status;
}

#ifndef FUZZ_INPUT
#include "advised.h"

static int run_with(int argc, char **argv)
{
	struct ctl ctl = { .plain = true };
	size_t i;

	all_sound = true;
	sound_stats = argv[0];
	sound_events = getenv("ANSWER_EVENTS");
	for (i = 0; i < sizeof(trials) / sizeof(*trials); i++)
		if (!strcmp(trials[i].words[0], argv[1]))
			ctl.cmd = trials[i].cmd;
	return ctl.cmd ? ctl.cmd->run(&ctl, argc - 1, argv + 1) : 2;
}

static int run_silent(void)
{
	struct top *t = top_new(NULL);
	struct ctl ctl = { .cmd = &cmd_top };
	struct err err;
	int ret;

	all_sound = true;
	ret = top_take(t, &err);
	no_list = true;
	ret |= !top_take(t, &err);
	top_draw(&ctl, t, 9, stdout);
	top_free(t);
	return ret;
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, i;
	unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);

	if (argc > 1 && !strncmp(argv[1], "history", 7)) {
		char *words[] = { (char []){ "history" }, (char []){ "p" }, NULL };
		struct ctl ctl = { .cmd = &cmd_history, .json = argc > 2 };

		all_sound = true;
		sound_events = ordered;
		sound_orders = argv[1][7] ? NULL : kept_orders;
		return cmd_history.run(&ctl, 2, words);
	}
	if (argc > 1 && !strcmp(argv[1], "advised"))
		return run_advised(argc > 2);
	if (argc > 3 && !strcmp(argv[1], "with"))
		return run_with(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "top-silent"))
		return run_silent();
	if (argc > 1 && !strcmp(argv[1], "top")) {
		struct ctl ctl = { .cmd = &cmd_top };

		all_sound = true;
		return cmd_top.run(&ctl, argc - 1, argv + 1);
	}
	print_seed_on_failure("answers");
	dup2(null, STDOUT_FILENO);
	device_patience = 0;	/* no device hangs, and processes take time */
	if (!mkdtemp(empty))
		return 2;
	/* for the output of the commands; the sanitizers keep the descriptor */
	stderr = fdopen(null, "w");
	for (i = 0; i < runs; i++) {
		seed(first + i);
		alarm(20);
		run_one();
	}
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	rmdir(empty);
	printf("answers: %lu runs: done %lu, failed %lu, usage %lu, refused %lu, degraded %lu, "
	       "faulted %lu; %lu messages\n",
	       runs, statuses[0], statuses[1], statuses[2], statuses[3], statuses[4], statuses[5],
	       sent);
	return runs >= 1000 && (!statuses[0] || !statuses[3] || !statuses[4] || !statuses[5] ||
				!sent);
}
#endif
