// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the commands that bring a leg back or replace it, and wait for that. The
 * answers of device-mapper are a script: each pause of a command leads to the next scene.
 *
 * returns		the tests
 * returns plan		the plan of `online -n -j`, for schema.py
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctl.h"
#include "dm.h"
#include "expect.h"
#include "foreign.h"
#include "legs.h"
#include "names.h"
#include "pool_lock.h"
#include "reload.h"
#include "resilver.h"
#include "shadow.h"
#include "spares.h"
#include "stats.h"
#include "replace.h"

extern const struct command cmd_attach, cmd_cancel, cmd_detach, cmd_online, cmd_offline, cmd_rename,
	cmd_replace,
	cmd_wait;

/* --- the script ------------------------------------------------------------------------- */

#define POOL_UUID	"0f0e0d0c-0b0a-0908-0706-050403020100"
#define LEG(n)		"1f0e0d0c-0b0a-0908-0706-05040302010" #n

/* What the pool says at a time: state and path of each leg, and what runs. */
struct scene {
	const char *leg[4];	/* two of a mirror, two SSDs of a cache */
	const char *more;	/* lines of stats that come first */
};

#define MAX_SCENES	4

static struct script {
	struct scene scenes[MAX_SCENES];
	unsigned int count, at, naps;
	const char *kind;	/* of the first vdev, if it is no mirror */
	const char *options;	/* of the table: their number and words; NULL: 0 */
	char first[512], loaded[512];	/* the first table, and the last */
	unsigned int loads;
	const char *path[4];
	const char *refusal;	/* of a message; NULL: it is carried out */
	const char *label;	/* the name in the labels; NULL: tank */
	const char *signature;	/* of another tool, on the leg that is probed; NULL: none */
	char probed[64];	/* the path of that */
	bool readonly, reloads;
	char sent[8][64];	/* messages */
	unsigned int sent_count;
} script;

static const struct scene *scene(void)
{
	return &script.scenes[script.at];
}

static const char table[] = POOL_UUID " 0 mirror 2 8:16 8:0 cache 2 8:32 8:48";

static char *stats_now(void)
{
	char *text, *p;
	unsigned int i;

	p = text = calloc(1, 8192);
	p += sprintf(p, "name=%s\nera=90\nlosses_survivable=0\nvdev.0.kind=%s\nvdev.0.first_leg=0\n"
		     "vdev.0.legs=2\nvdev.1.kind=cache\nvdev.1.first_leg=2\nvdev.1.legs=2\ncache.vdev=1\n"
		     "cache.mode=writeback\nlog.on=cache\n%s", script.label ?: "tank",
		     script.kind ?: "mirror", scene()->more ?: "");
	for (i = 0; i < 4; i++)
		p += sprintf(p, "leg.%u.uuid=1f0e0d0c-0b0a-0908-0706-05040302010%u\nleg.%u.path=%s\n"
			     "leg.%u.state=%s\nleg.%u.in_sync_era=70\n", i, i, i,
			     script.path[i], i, scene()->leg[i] ?: "online", i);
	return text;
}

/* Has this process the lock of the pool? */
static bool is_locked(void)
{
	char path[128];
	bool locked;
	int fd;

	snprintf(path, sizeof(path), "%s/kvpoolctl-" POOL_UUID ".lock", pool_lock_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	locked = flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return locked;
}

/* A wait may take hours: it is without the lock. */
int usleep(useconds_t us)
{
	(void)us;
	expect(!is_locked());
	script.naps++;
	if (script.at + 1 < script.count)
		script.at++;
	if (script.naps > 100)
		abort();	/* it would never end */
	return 0;
}

int dm_list(struct dm_entry **list, unsigned int *count, struct err *err)
{
	(void)err;
	*list = NULL;
	*count = 0;
	return 0;
}

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	*e = (struct dm_entry){ .name = "tank", .uuid = POOL_UUID, .live = true,
				.readonly = script.readonly };
	return strcmp(name, "tank") ? err_set(err, ERR_NOT_FOUND, name, "-", "no such pool") : 0;
}

int dm_message(const char *name, const char *message, char **text, struct err *err)
{
	expect(!strcmp(name, "tank"));
	if (text) {
		*text = stats_now();
		return 0;
	}
	if (script.sent_count < 8)
		snprintf(script.sent[script.sent_count++], 64, "%s", message);
	return script.refusal ? err_set(err, ERR_REFUSED, name, "mend it", "%s", script.refusal) : 0;
}

int dm_table(const char *name, u64 *sectors, char **params, struct err *err)
{
	(void)name, (void)err;
	*sectors = 2097152;
	if (asprintf(params, "%s %s%s", POOL_UUID, script.options ?: "0",
		     table + strlen(POOL_UUID " 0")) < 0)
		abort();
	return 0;
}

int dm_reload(const char *name, u64 sectors, const char *params, u64 old_sectors, const char *old,
	      struct err *err)
{
	(void)sectors, (void)old_sectors, (void)old;
	expect(is_locked());
	snprintf(script.loaded, sizeof(script.loaded), "%s", params);
	if (!script.loads++)
		snprintf(script.first, sizeof(script.first), "%s", params);
	if (script.reloads)
		return 0;
	return err_set(err, ERR_KERNEL, name, "-", "not in this test");
}

bool dm_is_pool(dev_t rdev)
{
	(void)rdev;
	return false;
}

bool dm_name_used(const char *name)
{
	(void)name;
	return false;
}

int dm_rename(const char *name, const char *to, struct err *err)
{
	expect(is_locked());
	return err_set(err, ERR_KERNEL, name, "mend it", "cannot be renamed to %s", to);
}

int names_check(const char *name, const char *uuid, struct err *err)
{
	expect(!strcmp(uuid, POOL_UUID));
	return strcmp(name, "taken") ? 0 :
	       err_set(err, ERR_NAME_IN_USE, name, "choose another", "a pool has it");
}

int module_load(struct err *err)
{
	return err_set(err, ERR_MODULE, "module", "-", "not in this test");
}

/* In place of libkvpool/foreign_find.c. */
void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	expect(count == 1);
	snprintf(script.probed, sizeof(script.probed), "%s", paths[0]);
	snprintf(type[0], SIGNATURE_TYPE, "%s", script.signature ?: "");
	if (!strcmp(type[0], FOREIGN_UNKNOWN))
		*type[0] = 0;
}

void foreign_find_sure(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	foreign_find(paths, count, type);
	snprintf(type[0], SIGNATURE_TYPE, "%s", script.signature ?: "");
}

/* --- a run of a command ----------------------------------------------------------------- */

static struct {
	int status;
	char out[4096];
	struct err err;
} last;

/* Runs @cmd on @words; its output is in last. */
static void run(const struct command *cmd, bool json, bool dry, const char *const *words)
{
	struct ctl ctl = { .cmd = cmd, .json = json, .dry_run = dry };
	FILE *out = stdout, *errors = stderr;
	char copy[6][64], *argv[7] = { NULL };
	int argc = 0;

	for (; words[argc]; argc++) {
		snprintf(copy[argc], sizeof(copy[argc]), "%s", words[argc]);
		argv[argc] = copy[argc];
	}
	memset(&last, 0, sizeof(last));
	stdout = stderr = fmemopen(last.out, sizeof(last.out) - 1, "w");
	optind = 0;
	last.status = cmd->run(&ctl, argc, argv);
	pool_unlock();
	fclose(stdout);
	stdout = out;
	stderr = errors;
}

#define RUN(cmd, json, dry, ...) run(cmd, json, dry, (const char *const[]){ __VA_ARGS__, NULL })

static void begin(const struct scene *scenes, unsigned int count)
{
	script = (struct script){ .count = count, .path = { "8:0", "8:16", "8:32", "8:48" } };
	memcpy(script.scenes, scenes, count * sizeof(*scenes));
}

#define BEGIN(...) begin((const struct scene[]){ __VA_ARGS__ },	\
			 sizeof((const struct scene[]){ __VA_ARGS__ }) / sizeof(struct scene))
#define LEG_IS(state)	{ .leg = { NULL, state, NULL, NULL } }
#define DONE(part)	"resilver.state=running\nresilver.total=400\nresilver.done=" part "\n"

static bool said(const char *text)
{
	return strstr(last.out, text);
}

static bool sent_only(const char *message)
{
	return script.sent_count == 1 && !strcmp(script.sent[0], message);
}

/* --- online ----------------------------------------------------------------------------- */

/* A leg that is out is brought online by one message, which names it by its UUID. */
static void test_online(void)
{
	static const char *const states[] = { "offline", "faulted", "stale" };
	size_t i;

	for (i = 0; i < 3; i++) {
		BEGIN(LEG_IS(states[i]));
		RUN(&cmd_online, false, false, "online", "tank", "8:16");
		expect(last.status == EXIT_DONE && sent_only("online " LEG(1)) && !script.naps);
		expect(said("8:16 resilvers; then the pool survives the loss of 1 leg(s)"));
	}
	BEGIN(LEG_IS("offline"));
	RUN(&cmd_online, false, true, "online", "tank", LEG(1));
	expect(last.status == EXIT_DONE && !script.sent_count);
	expect(said("since checkpoint 70") && said("the pool is at 90"));
	expect(said("loss of 1 leg(s) then, now 0"));
	BEGIN(LEG_IS("offline"));
	script.refusal = "its label belongs to another history";
	RUN(&cmd_online, false, false, "online", "tank", "8:16");
	expect(last.status == EXIT_REFUSED);
	expect(said("tank: its label belongs to another history -- mend it"));
}

/* With --wait it ends when the leg is in sync; otherwise the reason is told. */
static void test_online_waits(void)
{
	BEGIN(LEG_IS("offline"), { .leg = { NULL, "resilvering" }, .more = DONE("100") },
	      { .leg = { NULL, "resilvering" }, .more = DONE("300") }, LEG_IS("online"));
	script.at = 1;
	RUN(&cmd_online, false, false, "online", "--wait", "tank", "8:16");
	expect(last.status == EXIT_DONE && !script.sent_count);	/* it resilvered already */
	expect(script.naps == 2 && said("8:16 is online; the pool survives the loss of 1 leg(s)"));
	BEGIN(LEG_IS("offline"), LEG_IS("resilvering"), LEG_IS("resilvering"), LEG_IS("faulted"));
	RUN(&cmd_online, false, false, "online", "--wait", "tank", "8:16");
	expect(last.status == EXIT_FAILED && said("it is offline, and not in sync"));
	expect(sent_only("online " LEG(1)));
	BEGIN(LEG_IS("resilvering"), LEG_IS("resilvering"), LEG_IS("faulted"));
	RUN(&cmd_online, true, false, "online", "--wait", "tank", "8:16");
	expect(last.status == EXIT_FAILED && script.naps == 2);
	expect(said("\"code\":\"failed\"") && said("it is faulted, and not in sync"));
}

/* Nothing is sent for what the tool knows to be wrong. */
static void test_online_refused(void)
{
	BEGIN(LEG_IS("online"));
	RUN(&cmd_online, false, false, "online", "tank", "8:16");
	expect(last.status == EXIT_REFUSED && said("it is in use") && !script.sent_count);
	BEGIN(LEG_IS("resilvering"));
	RUN(&cmd_online, false, false, "online", "tank", "8:16");
	expect(last.status == EXIT_REFUSED);
	expect(said("it resilvers already -- kvpoolctl wait -t resilver tank"));
	/* the pool does not have its device, and none is named that has its label */
	BEGIN(LEG_IS("missing"));
	script.path[1] = "-";
	RUN(&cmd_online, false, false, "online", "tank", LEG(1));
	expect(last.status == EXIT_REFUSED && said("the pool does not have its device -- connect it"));
	expect(!script.sent_count);
	/* the path leads to a device that the table does not name, or to none */
	BEGIN(LEG_IS("faulted"));
	script.path[1] = "8:80";
	RUN(&cmd_online, false, true, "online", "tank", "8:80");
	expect(last.status == EXIT_REFUSED && said("its device had gone; and 8:80 has not its label"));
	BEGIN(LEG_IS("faulted"));
	script.path[1] = "/dev/there-is-no-such";
	RUN(&cmd_online, false, false, "online", "tank", "/dev/there-is-no-such");
	expect(last.status == EXIT_REFUSED && said("its device has gone") && !script.sent_count);
	BEGIN(LEG_IS("offline"));
	script.readonly = true;
	RUN(&cmd_online, false, false, "online", "tank", "8:16");
	expect(last.status == EXIT_REFUSED && said("read-only") && !script.sent_count);
	BEGIN(LEG_IS("offline"));
	RUN(&cmd_online, false, false, "online", "tank", "/dev/null");
	expect(last.status == EXIT_FAILED && said("not a leg of pool tank"));
}

/* What mkswap or mkfs has left on a leg that was out would be written over. */
static void test_online_reused(void)
{
	static const char *const types[] = { "swap", "ext4" };
	char text[64];
	size_t i;

	for (i = 0; i < 4; i++) {
		BEGIN(LEG_IS("offline"));
		script.signature = types[i / 2];
		RUN(&cmd_online, i % 2, i % 2, "online", "tank", "8:16");
		expect(last.status == EXIT_REFUSED && !script.sent_count && !*script.loaded);
		snprintf(text, sizeof(text), "it carries a signature of %s", script.signature);
		expect(said(text) && said("kvpoolctl labelclear --foreign DEV"));
		expect(strstr(script.probed, "8:16"));
	}
	/* what cannot be looked at may carry one: its owner knows */
	BEGIN(LEG_IS("offline"));
	script.signature = FOREIGN_UNKNOWN;
	RUN(&cmd_online, false, false, "online", "tank", "8:16");
	expect(last.status == EXIT_FAILED && !script.sent_count && said("cannot be looked at"));
	RUN(&cmd_online, false, false, "online", "-f", "tank", "8:16");
	expect(last.status == EXIT_DONE && script.sent_count == 1);
	/* nothing is written to it anew: it is in use, or resilvers */
	BEGIN(LEG_IS("resilvering"), LEG_IS("online"));
	script.signature = "swap";
	RUN(&cmd_online, false, false, "online", "--wait", "tank", "8:16");
	expect(last.status == EXIT_DONE && !*script.probed);
}

/* A leg that leaves is wiped, unless it carries something, or may do so. */
static void test_detach_reused(void)
{
	BEGIN(LEG_IS("offline"));
	script.reloads = true;
	RUN(&cmd_detach, false, false, "detach", "tank", "8:16");
	expect(last.status == EXIT_DONE && script.loads == 1 && !said("keeps its label"));
	BEGIN(LEG_IS("offline"));
	script.reloads = true;
	script.signature = "swap";
	RUN(&cmd_detach, false, false, "detach", "tank", "8:16");
	expect(last.status == EXIT_REFUSED && !script.loads && said("signature of swap"));
	/* it is let go of first */
	BEGIN(LEG_IS("offline"));
	script.reloads = true;
	script.signature = FOREIGN_UNKNOWN;
	RUN(&cmd_detach, false, true, "detach", "tank", "8:16");
	expect(last.status == EXIT_DONE && said("leave its label: it cannot be looked at"));
	RUN(&cmd_detach, false, false, "detach", "tank", "8:16");
	expect(last.status == EXIT_DONE && script.loads == 2 && said("keeps its label, since"));
	expect(strstr(script.first, POOL_UUID " 0 mirror 2 ") && strstr(script.first, " -"));
	expect(!strstr(script.first, " 8:16") && strstr(script.loaded, " 1 replace single 1 8:0"));
}

static bool none_gone(const char *word)
{
	(void)word;
	return false;
}

static bool second_ssd_gone(const char *word)
{
	return !strcmp(word, "8:48");
}

/* The table with 8:80 as leg @leg of the scene. */
static bool table_is(unsigned int leg, bool (*gone)(const char *word), const char *params,
		     const char *want)
{
	char buf[256] = "";
	struct stats s;
	bool same;

	if (stats_load("tank", &s, NULL))
		return false;
	same = resilver_table(&s, leg, makedev(8, 80), params, gone, buf, sizeof(buf)) &&
	       !strcmp(buf, want);
	stats_free(&s);
	if (!same)
		printf("the table is: %s\n", buf);
	return same;
}

/* The device takes the leg's place, and no place of a device in use. */
static void test_table(void)
{
	struct stats s;
	char small[16], text[128];

	BEGIN(LEG_IS("missing"));
	script.path[1] = "-";
	expect(table_is(1, none_gone, "u 0 mirror 2 8:0 - cache 2 8:32 8:48",
			"- 0 mirror 2 8:0 8:80 cache 2 8:32 8:48"));
	expect(table_is(1, none_gone, "u 2 host=1:h readonly mirror 2 - 8:0 cache 2 8:32 8:48",
			"- 0 mirror 2 8:80 8:0 cache 2 8:32 8:48"));
	expect(table_is(1, second_ssd_gone, "u 0 mirror 2 8:0 - cache 2 8:32 8:48",
			"- 0 mirror 2 8:0 8:80 cache 2 8:32 -"));
	/* its device was pulled out, and its path leads to the one that is back */
	script.path[1] = "8:80";
	expect(table_is(1, none_gone, "u 0 mirror 2 8:0 8:16 cache 2 8:32 8:48",
			"- 0 mirror 2 8:0 8:80 cache 2 8:32 8:48"));
	expect(!stats_load("tank", &s, NULL));
	expect(resilver_table(&s, 1, 0, table, none_gone, text, sizeof(text)));
	expect(!strcmp(text, "- 0 mirror 2 - 8:0 cache 2 8:32 8:48"));
	stats_free(&s);
	/*
	 * its old device stays, as its disk has gone beneath; a table has the legs in another order
	 */
	script.path[1] = "8:16";
	expect(table_is(1, none_gone, table, "- 0 mirror 2 8:80 8:0 cache 2 8:32 8:48"));
	expect(table_is(1, none_gone, "u 0 mirror 2 8:0 8:16 cache 2 8:32 8:48",
			"- 0 mirror 2 8:0 8:80 cache 2 8:32 8:48"));
	script.path[1] = "8:80";
	/* both are out: each has its own place */
	script.path[0] = "-";
	expect(table_is(0, none_gone, "u 0 mirror 2 - - cache 2 8:32 8:48",
			"- 0 mirror 2 8:80 - cache 2 8:32 8:48"));
	expect(table_is(1, none_gone, "u 0 mirror 2 - - cache 2 8:32 8:48",
			"- 0 mirror 2 - 8:80 cache 2 8:32 8:48"));
	expect(!stats_load("tank", &s, NULL));
	expect(!resilver_table(&s, 1, makedev(8, 80), table, none_gone, small, sizeof(small)));
	expect(!resilver_table(&s, 1, makedev(8, 80), "nonsense", none_gone, small, sizeof(small)));
	stats_free(&s);
}

/* An SSD of the cache goes another way: it begins anew by a table. */
static void test_online_ssd(void)
{
	struct stats s;

	BEGIN({ .leg = { NULL, NULL, NULL, "faulted" } });
	expect(!stats_load("tank", &s, NULL));
	expect(!resilver_is_ssd(&s, 0) && !resilver_is_ssd(&s, 1) && resilver_is_ssd(&s, 2) &&
	       resilver_is_ssd(&s, 3));
	stats_free(&s);
	RUN(&cmd_online, false, true, "online", "tank", "8:48");
	expect(!script.sent_count && !said("copies"));
}

/* --- replace ---------------------------------------------------------------------------- */

/* Leg 1 is one of a parity1, and a device is to take its place. */
#define SHADOW_UUID	"2f0e0d0c-0b0a-0908-0706-050403020100"
#define SHADOW(state)	"shadow.uuid=" SHADOW_UUID "\nshadow.path=8:80\nshadow.state=" state	\
	"\nshadow.leg=1\nshadow.replaces=" LEG(1) "\n"

/* A device of this machine, which is not gone. False: it has none. */
static bool some_device(char word[64])
{
	DIR *dir = opendir("/sys/dev/block");
	struct dirent *d;

	*word = 0;
	while (dir && !*word && (d = readdir(dir)))
		if (*d->d_name != '.')
			snprintf(word, 64, "%.60s", d->d_name);
	if (dir)
		closedir(dir);
	return *word;
}

/* The option stays in each table while the device is there. */
static void test_shadow_table(void)
{
	char word[64], params[128], want[128], buf[128];

	table_options("u 1 host=1:h mirror 2 8:0 8:1", "replace", buf, sizeof(buf));
	expect(!strcmp(buf, "1 replace"));
	table_options("u 1 shadow=4095:1048575 mirror 2 8:0 8:1", "", buf, sizeof(buf));
	expect(!strcmp(buf, "0"));
	table_options("u 0 mirror 2 8:0 shadow=8:1", "", buf, sizeof(buf));
	expect(!strcmp(buf, "0"));
	if (!some_device(word))
		return;
	snprintf(params, sizeof(params), "u 2 host=1:h shadow=%s parity1 3 8:0 8:1 8:2", word);
	table_options(params, "", buf, sizeof(buf));
	snprintf(want, sizeof(want), "1 shadow=%s", word);
	expect(!strcmp(buf, want));
	table_options(params, "replace a=b", buf, sizeof(buf));
	snprintf(want, sizeof(want), "3 replace a=b shadow=%s", word);
	expect(!strcmp(buf, want));
}

static void test_shadow_refused(void)
{
	BEGIN({ .more = SHADOW("resilvering") });
	script.kind = "parity1";
	RUN(&cmd_replace, false, false, "replace", "tank", "8:16", "8:96");
	expect(last.status == EXIT_REFUSED && said("is being replaced") &&
	       said("cancel tank replace"));
	RUN(&cmd_offline, false, false, "offline", "tank", "8:80");
	expect(last.status == EXIT_REFUSED && said("it is no leg of pool tank yet"));
	RUN(&cmd_detach, false, false, "detach", "tank", "8:16");
	expect(last.status == EXIT_REFUSED && said("is being replaced"));
	BEGIN({ .leg = { NULL, "faulted" }, .more = SHADOW("stale") });
	script.kind = "parity1";
	RUN(&cmd_replace, false, false, "replace", "tank", LEG(1), "8:96");
	expect(last.status == EXIT_REFUSED && said("is being replaced"));
	BEGIN({ .more = SHADOW("resilvering") });
	script.kind = "parity1";
	script.readonly = true;
	RUN(&cmd_cancel, false, false, "cancel", "tank", "replace");
	expect(said("it was imported read-only"));
	expect(!*script.loaded && !script.sent_count);
}

/*
 * It is waited for until it has everything, or cannot go on. Then a table lets it take the place.
 */
static void test_shadow_waited(void)
{
	char word[64], options[80], want[200];

	BEGIN({ .more = SHADOW("resilvering") }, { .more = SHADOW("faulted") });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(script.naps == 1 && last.status == EXIT_FAILED && said("it is faulted, and ") &&
	       said("cancel tank replace undoes it") && !*script.loaded);
	BEGIN({ .leg = { NULL, "resilvering" }, .more = SHADOW("stale") },
	      { .more = SHADOW("missing") });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(script.naps == 1 && said("it is missing, and ") && !*script.loaded);
	BEGIN({ .more = SHADOW("resilvering") });
	RUN(&cmd_cancel, false, true, "cancel", "tank", "replace");
	expect(last.status == EXIT_DONE && said("would detach") && said(" 2 replace shadow=- mirror 2 "));
	if (!some_device(word))
		return;
	snprintf(options, sizeof(options), "1 shadow=%s", word);
	snprintf(want, sizeof(want), " 1 replace mirror 2 8:0 %s cache", word);
	BEGIN({ .more = SHADOW("resilvering") }, { .more = SHADOW("online") }, { .more = "" });
	script.options = options;
	script.reloads = true;
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(!last.status && script.naps == 2 && strstr(script.loaded, want));
	/* at once, if the leg is lost; and then for its resilver */
	BEGIN({ .leg = { NULL, "faulted" }, .more = SHADOW("stale") },
	      { .leg = { NULL, "resilvering" }, .more = "resilver.state=running\n" }, { .more = "" });
	script.options = options;
	script.reloads = true;
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(!last.status && script.naps <= 2 && strstr(script.loaded, want));
	BEGIN({ .more = SHADOW("online") });
	script.options = options;
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_FAILED && said("not in this test"));
}

/* It waits for a leg that returns, and only for one that does. */
static void test_shadow_waits_for_its_leg(void)
{
	BEGIN({ .leg = { NULL, "stale" }, .more = SHADOW("stale") });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_FAILED && said("it is stale, and does not return by itself") &&
	       said("kvpoolctl online --wait tank 8:16") && script.naps >= 50);
	BEGIN({ .leg = { NULL, "resilvering" }, .more = SHADOW("stale") });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_FAILED && said("its resilver stands still") && script.naps >= 50);
	/* a step of the resilver in between: it is waited for on */
	BEGIN({ .leg = { NULL, "stale" }, .more = SHADOW("stale") },
	      { .leg = { NULL, "resilvering" }, .more = DONE("40") SHADOW("stale") },
	      { .leg = { NULL, "stale" }, .more = SHADOW("stale") }, { .more = "" });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_DONE && script.naps == 3);
	expect(!*script.loaded && !script.sent_count);
}

static bool is_lost_with(const char *leg, const char *more)
{
	struct stats s;
	bool lost;

	BEGIN({ .leg = { NULL, leg }, .more = more });
	if (stats_load("tank", &s, NULL))
		return false;
	lost = shadow_is_lost(&s, 1);
	expect(!shadow_is_lost(&s, 0));
	stats_free(&s);
	return lost;
}

/* Both are lost: another device may take the place, and the order is cancelled for that. */
static void test_shadow_is_lost(void)
{
	struct ctl ctl = { .cmd = &cmd_replace };
	struct dm_entry e = { .name = "tank", .uuid = POOL_UUID, .live = true };
	struct stats s;

	expect(is_lost_with("faulted", SHADOW("faulted")) && is_lost_with("missing", SHADOW("missing")) &&
	       is_lost_with("offline", SHADOW("missing")));
	expect(!is_lost_with("faulted", SHADOW("stale")) && !is_lost_with("online", SHADOW("faulted")) &&
	       !is_lost_with("resilvering", SHADOW("missing")) && !is_lost_with("faulted", ""));
	BEGIN({ .leg = { NULL, "faulted" }, .more = SHADOW("faulted") });
	script.kind = "parity1";
	/* it ends at the device, before anything changes */
	RUN(&cmd_replace, false, false, "replace", "tank", LEG(1), "/dev/null");
	expect(last.status != EXIT_DONE && !said("is being replaced"));
	expect(!*script.loaded && !script.sent_count);
	script.reloads = true;
	expect(!stats_load("tank", &s, NULL));
	expect(!pool_lock(&ctl, POOL_UUID, NULL));
	expect(!shadow_forget(&ctl, &e, &s, NULL) && strstr(script.loaded, " 2 replace shadow=- mirror 2 "));
	pool_unlock();
	stats_free(&s);
}

/* What is not replaced. Nothing is sent for any other. */
static void test_replace_refused(void)
{
	BEGIN(LEG_IS("online"));
	RUN(&cmd_replace, false, false, "replace", "tank", "8:16");
	expect(last.status == EXIT_REFUSED && said("a spare takes its place only with --spare"));
	BEGIN(LEG_IS("resilvering"));
	RUN(&cmd_replace, false, false, "replace", "tank", LEG(1), "8:80");
	expect(last.status == EXIT_REFUSED && said("it is resilvering"));
	expect(said("wait -t resilver tank"));
	BEGIN(LEG_IS("offline"));
	script.readonly = true;
	RUN(&cmd_replace, false, false, "replace", "tank", "8:16", "8:80");
	expect(last.status == EXIT_REFUSED && said("read-only"));
	BEGIN(LEG_IS("offline"));
	RUN(&cmd_replace, false, false, "replace", "tank", "/dev/null", "8:80");
	expect(last.status == EXIT_FAILED && said("not a leg of pool tank") && !script.sent_count);
}

/* The table with 8:80 in the place of leg @leg of the scene. */
static bool replace_is(unsigned int leg, bool (*gone)(const char *word), const char *params,
		       const char *want)
{
	char buf[256] = "";
	struct stats s;
	bool same;

	if (stats_load("tank", &s, NULL))
		return false;
	same = replace_table(&s, leg, makedev(8, 80), params, gone, buf, sizeof(buf)) &&
	       !strcmp(buf, want);
	stats_free(&s);
	if (!same)
		printf("the table is: %s\n", buf);
	return same;
}

/* Legs with data are in the order of the superblock, whatever the table has; SSDs stay. */
static void test_replace_table(void)
{
	struct stats s;
	char small[16];

	BEGIN(LEG_IS("faulted"));
	expect(replace_is(1, none_gone, "u 0 mirror 2 8:0 8:16 cache 2 8:32 8:48",
			  " mirror 2 8:0 8:80 cache 2 8:32 8:48"));
	expect(replace_is(1, none_gone, "u 1 host=1:h mirror 2 8:16 8:0 cache 2 8:48 8:32",
			  " mirror 2 8:0 8:80 cache 2 8:48 8:32"));
	expect(replace_is(1, second_ssd_gone, "u 0 mirror 2 8:0 - cache 2 8:32 8:48",
			  " mirror 2 8:0 8:80 cache 2 8:32 8:48"));
	/* the other one is out too: its device is named if the table has it */
	BEGIN({ .leg = { "faulted", "missing" } });
	script.path[1] = "-";
	expect(replace_is(1, none_gone, "u 0 mirror 2 8:0 -", " mirror 2 8:0 8:80"));
	script.path[0] = "8:96";
	expect(replace_is(1, none_gone, "u 0 mirror 2 8:0 -", " mirror 2 - 8:80"));
	expect(!stats_load("tank", &s, NULL));
	expect(!replace_table(&s, 1, makedev(8, 80), table, none_gone, small, sizeof(small)));
	expect(!replace_table(&s, 9, makedev(8, 80), table, none_gone, small, sizeof(small)));
	stats_free(&s);
}

/* The table with one leg less, or with 8:80 as one more. */
static bool legs_are(unsigned int out, const char *params, const char *want)
{
	char buf[256] = "";
	struct stats s;
	bool same;

	if (stats_load("tank", &s, NULL))
		return false;
	same = legs_table(&s, params, 0, out, out == LEGS_NONE ? makedev(8, 80) : 0, none_gone, buf,
			  sizeof(buf)) && !strcmp(buf, want);
	stats_free(&s);
	if (!same)
		printf("the table is: %s\n", buf);
	return same;
}

static void test_legs_table(void)
{
	struct stats s;
	char small[16];

	BEGIN(LEG_IS("online"));
	expect(legs_are(LEGS_NONE, "u 0 mirror 2 8:0 8:16 cache 2 8:32 8:48",
			" mirror 3 8:0 8:16 8:80 cache 2 8:32 8:48"));
	expect(legs_are(LEGS_NONE, "u 1 host=1:h single 1 8:0 mirror 1 8:16 cache 2 8:48 8:32",
			" mirror 2 8:0 8:80 mirror 1 8:16 cache 2 8:48 8:32"));
	expect(legs_are(0, "u 0 mirror 2 8:16 8:0 cache 2 8:32 8:48",
			" single 1 8:16 cache 2 8:32 8:48"));
	/* one that is out, and stays, is named by its UUID */
	BEGIN({ .leg = { NULL, "missing" } });
	script.path[1] = "-";
	expect(legs_are(0, "u 0 mirror 2 8:0 -", " single 1 " LEG(1)));
	expect(!stats_load("tank", &s, NULL));
	expect(!legs_table(&s, table, 0, 0, 0, none_gone, small, sizeof(small)));
	expect(!legs_table(&s, table, 9, 0, 0, none_gone, small, sizeof(small)));
	expect(losses_with_copy(&s, 0) == 1 && losses_with_copy(&s, 1) == 0);
	stats_free(&s);
}

#define REPLACES	"leg.1.replaces=" LEG(0) "\n"
#define LEFT		REPLACES "leg.0.by_order=1\n"

/* A leg in use is being replaced. The one that has left is detached at the end. */
static void test_wait_replaced(void)
{
	BEGIN({ .leg = { NULL, "resilvering" }, .more = DONE("40") REPLACES },
	      { .leg = { NULL, NULL }, .more = REPLACES },
	      { .leg = { "offline", NULL }, .more = LEFT });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_FAILED && script.naps == 2 && said("not in this test"));
	/* the monitor has detached it */
	BEGIN({ .leg = { NULL, "resilvering" }, .more = DONE("40") REPLACES }, { .leg = { NULL } });
	RUN(&cmd_wait, false, false, "wait", "tank");
	expect(last.status == EXIT_DONE && script.naps == 1);
	BEGIN({ .leg = { NULL, "resilvering" }, .more = DONE("40") REPLACES },
	      { .leg = { NULL, "faulted" }, .more = REPLACES });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_FAILED && said("it is faulted, and") &&
	       said("cancel tank replace undoes it"));
	/* the pool does not take it out, for another leg is out */
	BEGIN({ .leg = { NULL, NULL }, .more = REPLACES });
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_FAILED && said("but it stays"));
	BEGIN(LEG_IS("online"));
	RUN(&cmd_wait, false, false, "wait", "-t", "replace", "tank");
	expect(last.status == EXIT_DONE && !script.naps);
}

/* For the monitor, which must not be held up for hours: what can be ended is, and no more. */
static void test_end_replaced(void)
{
	BEGIN({ .leg = { NULL, "resilvering" }, .more = DONE("40") REPLACES });
	RUN(&cmd_wait, false, false, "wait", "--now", "-t", "replace", "tank");
	expect(last.status == EXIT_DONE && !script.naps && !*script.loaded);
	BEGIN({ .leg = { NULL, "faulted" }, .more = REPLACES });
	RUN(&cmd_wait, false, false, "wait", "--now", "-t", "replace", "tank");
	expect(last.status == EXIT_DONE && !script.naps && !*script.loaded);
	BEGIN({ .leg = { "offline", NULL }, .more = LEFT });
	RUN(&cmd_wait, false, false, "wait", "--now", "-t", "replace", "tank");
	expect(!script.naps && strstr(script.loaded, " single 1 8:16"));
	BEGIN({ .more = SHADOW("resilvering") });
	RUN(&cmd_wait, false, false, "wait", "--now", "-t", "replace", "tank");
	expect(last.status == EXIT_DONE && !script.naps && !*script.loaded);
	BEGIN(LEG_IS("online"));
	RUN(&cmd_wait, false, false, "wait", "--now", "-t", "replace,scrub", "tank");
	expect(last.status == EXIT_USAGE);
}

static int settle(struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	replaced_settle(ctl, "tank");
	return EXIT_DONE;
}

/* After a start: a leg of a mirror that has left is detached, and nothing else is changed. */
static void test_settle(void)
{
	static const struct command cmd = { .name = "import", .run = settle };

	BEGIN({ .leg = { "offline", NULL }, .more = LEFT });
	RUN(&cmd, false, false, "import");
	expect(strstr(script.loaded, " single 1 8:16"));
	expect(last.status == EXIT_DONE && said("8:0 was replaced") && said("wait -t replace tank"));
	BEGIN({ .leg = { "offline", NULL }, .more = LEFT });
	script.readonly = true;
	RUN(&cmd, false, false, "import");
	expect(!*script.loaded && !said("replaced"));
	BEGIN({ .leg = { NULL, "resilvering" }, .more = REPLACES });
	RUN(&cmd, false, false, "import");
	expect(!*script.loaded);
	/* the leg of a parity1 may only be late */
	BEGIN({ .leg = { NULL, "missing" }, .more = SHADOW("resilvering") });
	RUN(&cmd, false, false, "import");
	expect(!*script.loaded);
	BEGIN(LEG_IS("online"));
	RUN(&cmd, false, false, "import");
	expect(!*script.loaded && !script.naps);
}

/* With -n nothing is waited for, and nothing changes. */
static void test_wait_planned(void)
{
	BEGIN({ .leg = { "offline", NULL }, .more = LEFT "scrub.state=running\n" });
	RUN(&cmd_wait, false, true, "wait", "tank");
	expect(last.status == EXIT_DONE && said("would wait for scrub, replace in pool tank"));
	expect(said("detaches  8:0, and wipes its label: 8:16 has its place"));
	RUN(&cmd_wait, false, true, "wait", "--now", "-t", "replace", "tank");
	expect(last.status == EXIT_DONE && said("would end 1 replacement(s) in pool tank"));
	RUN(&cmd_wait, true, true, "wait", "-t", "replace,trim", "tank");
	expect(said("\"kinds\":[\"replace\"]") && said("{\"old\":\"8:0\",\"new\":\"8:16\"}"));
	RUN(&cmd_wait, false, true, "wait", "-t", "trim", "tank");
	expect(last.status == EXIT_DONE && said("would wait for nothing in pool tank"));
	BEGIN({ .more = SHADOW("resilvering") });
	RUN(&cmd_wait, false, true, "wait", "--now", "-t", "replace", "tank");
	expect(said("would end 0 replacement(s)"));
	BEGIN({ .leg = { NULL, "faulted" }, .more = SHADOW("resilvering") });
	RUN(&cmd_wait, true, true, "wait", "tank");
	expect(said("\"ends\":[{\"old\":"));
	expect(!script.naps && !*script.loaded && !script.sent_count);
}

static void test_cancel_planned(void)
{
	BEGIN({ .more = "drain.state=running\ndrain.left=4096\n" });
	RUN(&cmd_cancel, false, true, "cancel", "tank", "drain");
	expect(last.status == EXIT_DONE && said("would cancel the drain of the cache of pool tank"));
	expect(said("4.00 KiB of its log are not home"));
	RUN(&cmd_cancel, true, true, "cancel", "tank", "drain");
	expect(said("\"what\":\"drain\"") && said("\"left\":4096") && !script.sent_count);
	BEGIN(LEG_IS("online"));
	RUN(&cmd_cancel, false, true, "cancel", "tank", "drain");
	expect(last.status == EXIT_REFUSED && said("no drain is running") && !script.sent_count);
}

static void test_cancel_replaced(void)
{
	BEGIN({ .leg = { NULL, "resilvering" }, .more = DONE("40") REPLACES });
	RUN(&cmd_cancel, false, true, "cancel", "tank", "replace");
	expect(last.status == EXIT_DONE && said("would detach") && said("single 1 8:0"));
	RUN(&cmd_cancel, false, false, "cancel", "tank", "replace");
	expect(last.status == EXIT_FAILED && said("not in this test"));
	RUN(&cmd_replace, false, false, "replace", "tank", "8:0", "/dev/null");
	expect(last.status == EXIT_REFUSED && said("it is being replaced already"));
	BEGIN({ .leg = { "offline", NULL }, .more = LEFT });
	RUN(&cmd_cancel, false, false, "cancel", "tank", "replace");
	expect(last.status == EXIT_REFUSED && said("has left already"));
	BEGIN(LEG_IS("online"));
	RUN(&cmd_cancel, false, false, "cancel", "tank", "replace");
	expect(last.status == EXIT_REFUSED && said("no leg in use is being replaced"));
	expect(!script.sent_count);
}

static void test_attach_refused(void)
{
	BEGIN(LEG_IS("offline"));
	RUN(&cmd_detach, false, false, "detach", "tank", "8:0");
	expect(last.status == EXIT_REFUSED && said("is in use, and leg 8:16 of its vdev is offline"));
	script.kind = "parity1";
	RUN(&cmd_attach, false, false, "attach", "tank", "8:0", "/dev/null");
	expect(last.status == EXIT_REFUSED && said("the number of legs of a parity1 is fixed"));
	RUN(&cmd_detach, false, false, "detach", "tank", "8:0");
	expect(last.status == EXIT_REFUSED && said("the number of legs of a parity1 is fixed"));
	script.kind = NULL;
	script.readonly = true;
	RUN(&cmd_detach, false, false, "detach", "tank", "8:16");
	expect(last.status == EXIT_REFUSED && said("read-only") && !script.sent_count);
	/* a mirror with all the legs that there may be */
	BEGIN(LEG_IS("online"));
	script.kind = "mirror\nvdev.0.legs=16";
	RUN(&cmd_attach, false, false, "attach", "tank", "8:0", "/dev/null");
	expect(last.status == EXIT_REFUSED && said("at most 16 legs"));
}

static void test_losses_with_leg(void)
{
	struct stats s;

	BEGIN(LEG_IS("offline"));
	expect(!stats_load("tank", &s, NULL));
	expect(losses_with_leg(&s, 1) == 1 && losses_with_leg(&s, 0) == 0);
	stats_free(&s);
	/* the cache survives no loss either, and has the log */
	BEGIN({ .leg = { NULL, "offline", "faulted", NULL } });
	expect(!stats_load("tank", &s, NULL) && losses_with_leg(&s, 1) == 0);
	stats_free(&s);
}

/* --- offline, wait ---------------------------------------------------------------------- */

static void test_offline(void)
{
	BEGIN(LEG_IS("online"));
	RUN(&cmd_offline, false, false, "offline", "tank", "8:16");
	expect(last.status == EXIT_DONE && sent_only("offline " LEG(1)));
	expect(said("undone by kvpoolctl online, which copies what the leg missed"));
	BEGIN(LEG_IS("online"));
	RUN(&cmd_offline, false, true, "offline", "tank", "8:32");
	expect(said("undone by kvpoolctl online, which starts the SSD empty") && !script.sent_count);
	BEGIN(LEG_IS("resilvering"));
	RUN(&cmd_offline, true, false, "offline", "tank", "8:16");
	expect(last.status == EXIT_DONE && sent_only("offline " LEG(1)) && said("\"cache\":false"));
}

static void test_wait(void)
{
	BEGIN({ .leg = { "resilvering", "resilvering" }, .more = DONE("0") },
	      { .leg = { "online", "resilvering" }, .more = DONE("10") }, LEG_IS("online"));
	RUN(&cmd_wait, false, false, "wait", "-t", "resilver", "tank");
	expect(last.status == EXIT_DONE && script.naps == 2 && !script.sent_count);
	BEGIN({ .leg = { "resilvering", "resilvering" } }, { .leg = { "offline", "resilvering" } },
	      { .leg = { "offline", "online" } });
	RUN(&cmd_wait, false, false, "wait", "-t", "scrub,resilver", "tank");
	expect(last.status == EXIT_FAILED && script.naps == 2);
	expect(said("8:0: it is offline, and not in sync"));
	/* a leg that joins later is waited for too, also one that is about to begin */
	BEGIN({ .leg = { NULL, "stale" }, .more = DONE("0") },
	      { .leg = { NULL, "resilvering" }, .more = DONE("0") },
	      { .leg = { NULL, "faulted" } });
	RUN(&cmd_wait, false, false, "wait", "-t", "resilver", "tank");
	expect(last.status == EXIT_FAILED && script.naps == 2 && said("8:16: it is faulted"));
	/* a leg that was out all the time is not waited for */
	BEGIN(LEG_IS("faulted"));
	RUN(&cmd_wait, false, false, "wait", "-t", "resilver", "tank");
	expect(last.status == EXIT_DONE && !script.naps);
	BEGIN({ .more = "scrub.state=running\ntrim.state=running\n" },
	      { .more = "scrub.state=paused\ntrim.state=running\n" },
	      { .more = "scrub.state=finished\ntrim.state=running\n" },
	      { .more = "scrub.state=finished\ntrim.state=failed\n" });
	RUN(&cmd_wait, false, false, "wait", "tank");
	expect(last.status == EXIT_FAILED && script.naps == 3 && said("the trim failed"));
	BEGIN({ .more = "scrub.state=running\ntrim.state=failed\ndrain.state=cancelled\n" },
	      { .more = "scrub.state=stopped\ntrim.state=failed\ndrain.state=cancelled\n" });
	RUN(&cmd_wait, false, false, "wait", "tank");
	expect(last.status == EXIT_DONE && script.naps == 1);
	RUN(&cmd_wait, false, false, "wait", "-t", "drain", "tank");
	expect(last.status == EXIT_FAILED && said("cancelled"));
	RUN(&cmd_wait, false, false, "wait", "-t", "scrub,", "tank");
	expect(last.status == EXIT_USAGE);
}

/* The labels take the name, the device does not: the labels get their own old name again. */
static void test_rename_undone(void)
{
	static const struct scene calm[] = { { { NULL }, NULL } };

	begin(calm, 1);
	script.label = "pond";
	RUN(&cmd_rename, false, false, "rename", "tank", "lake");
	expect(last.status == (int)err_exit(ERR_KERNEL) && script.sent_count == 2);
	expect(!strcmp(script.sent[0], "rename lake") && !strcmp(script.sent[1], "rename pond"));
	begin(calm, 1);
	RUN(&cmd_rename, false, false, "rename", "tank", "taken");
	expect(last.status == EXIT_REFUSED && !script.sent_count && said("choose another"));
	RUN(&cmd_rename, false, true, "rename", "tank", "taken");
	expect(last.status == EXIT_REFUSED);
}

static char lock_dir[] = "/tmp/returns.XXXXXX";

static void remove_lock_dir(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/kvpoolctl-" POOL_UUID ".lock", lock_dir);
	unlink(path);
	rmdir(lock_dir);
}

int main(int argc, char **argv)
{
	if (!mkdtemp(lock_dir))
		abort();
	pool_lock_dir = lock_dir;
	atexit(remove_lock_dir);
	if (argc > 1 && !strcmp(argv[1], "plan")) {
		BEGIN(LEG_IS("offline"));
		RUN(&cmd_online, true, true, "online", "tank", "8:16");
		fputs(last.out, stdout);
		return last.status;
	}
	test_online();
	test_online_waits();
	test_online_refused();
	test_online_reused();
	test_detach_reused();
	test_table();
	test_replace_refused();
	test_shadow_table();
	test_shadow_refused();
	test_shadow_waited();
	test_shadow_waits_for_its_leg();
	test_shadow_is_lost();
	test_replace_table();
	test_legs_table();
	test_attach_refused();
	test_wait_replaced();
	test_end_replaced();
	test_settle();
	test_wait_planned();
	test_cancel_planned();
	test_cancel_replaced();
	test_online_ssd();
	test_losses_with_leg();
	test_offline();
	test_wait();
	test_rename_undone();
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
