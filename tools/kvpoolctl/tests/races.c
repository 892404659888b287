// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of what happens beside a command: another host, another command, a device that
 * changes. The answers of device-mapper are made up, and what happens beside happens in them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "device.h"
#include "dm.h"
#include "expect.h"
#include "foreign.h"
#include "format/outs.h"
#include "image.h"
#include "import.h"
#include "label.h"
#include "plan.h"
#include "pmbr.h"
#include "pool_lock.h"
#include "returned.h"
#include "ssds.h"
#include "signature.h"
#include "silent.h"

extern const struct command cmd_add, cmd_create, cmd_detach, cmd_export, cmd_import, cmd_remove,
	cmd_replace;

/* --- in place of libkvpool/dm.c ----------------------------------------------------------- */

#define POOL_UUID	"50505050-5050-5050-5050-505050505050"

/* A mirror of two legs with a cache of two SSDs, on images; device-mapper has it as "tank". */
static struct {
	struct image m;
	bool runs, drains;
	bool no_table;			/* a start was killed */
	bool ssd_out;			/* the second SSD: its device has gone */
	char table[128], loaded[512];
	char without[512];		/* the table that lets go of devices, if one was loaded */
	char sent[8][64];		/* messages */
	unsigned int sent_count;
	const char *refuses;		/* this message */
	unsigned int room;		/* this one of the spares is refused; 0: none */
	bool stop_fails;
	const char *interrupted;	/* at this message SIGTERM comes */
	unsigned int *stops;		/* counted for another process */
	void (*at_drain)(void);		/* what happens while the log leaves the cache */
} pool;

static struct {
	char started[4][64];		/* names */
	char table[512];		/* of the last one */
	unsigned int starts;
	unsigned int probes;		/* of the second leg of pool "one", before a start */
	bool unseen;			/* no device can be looked at */
	void (*at_start)(void);		/* what happens while a pool starts */
	void (*at_load)(void);		/* before a start, once it was decided */
} world;

int dm_list(struct dm_entry **list, unsigned int *count, struct err *err)
{
	(void)err;
	*list = NULL;
	*count = 0;
	return 0;
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

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	*e = (struct dm_entry){ .name = "tank", .uuid = POOL_UUID,
				.live = !pool.no_table };
	if (pool.runs && (!strcmp(name, "tank") || !strcmp(name, POOL_UUID)))
		return 0;
	return err_set(err, ERR_NOT_FOUND, name, "-", "no such pool is active");
}

bool dm_name_used(const char *name)
{
	(void)name;
	return false;
}

bool dm_is_pool(dev_t rdev)
{
	(void)rdev;
	return false;
}

int dm_start(const char *name, const char *uuid, u64 sectors, const char *params, bool readonly,
	     struct err *err)
{
	(void)uuid, (void)sectors, (void)readonly, (void)err;
	snprintf(world.table, sizeof(world.table), "%s", params);
	snprintf(world.started[world.starts++ % 4], 64, "%s", name);
	if (world.at_start)
		world.at_start();
	return 0;
}

static char *stats_now(void)
{
	char *text = calloc(1, 8192), *p = text, uuid[UUID_BUF];
	bool on_cache = pool.m.sb.log_vdev == 1;
	unsigned int i;

	p += sprintf(p, "name=tank\nstate=online\nera=90\nlosses_survivable=1\nlegs=4\nvdevs=2\n"
		     "vdev.0.kind=mirror\nvdev.0.first_leg=0\nvdev.0.legs=2\nvdev.1.kind=cache\n"
		     "vdev.1.first_leg=2\nvdev.1.legs=2\ncache.vdev=1\ncache.mode=%s\nlog.on=%s\n"
		     "drain.state=%s\n", on_cache ? "writeback" : "writethrough",
		     on_cache ? "cache" : "legs", pool.drains ? "running" : "finished");
	for (i = 0; i < 4; i++)
		p += sprintf(p, "leg.%u.uuid=%s\nleg.%u.path=%s\nleg.%u.state=%s\n", i,
			     uuid_print(pool.m.sb.legs[i].uuid, uuid), i, pool.m.path[i], i,
			     i == 3 && pool.ssd_out ? "faulted" : "online");
	return text;
}

static void move_log(u32 vdev)
{
	pool.m.sb.log_vdev = vdev;
	pool.m.sb.sequence++;
	image_seal(&pool.m);
}

/* The first look at a drain finds it running: it takes hours. */
static void look_at_drain(void)
{
	if (!pool.drains)
		return;
	expect(!is_locked());
	pool.drains = false;
	move_log(0);
	if (pool.at_drain)
		pool.at_drain();
}

int dm_message(const char *name, const char *message, char **answer, struct err *err)
{
	expect(!strcmp(name, "tank"));
	if (answer) {
		*answer = stats_now();
		look_at_drain();
		return 0;
	}
	snprintf(pool.sent[pool.sent_count++ % 8], 64, "%s", message);
	if (pool.interrupted && !strcmp(message, pool.interrupted))
		raise(SIGTERM);
	if (pool.refuses && !strcmp(message, pool.refuses))
		return err_set(err, ERR_KERNEL, name, "mend it", "no leg takes the label");
	if (!strncmp(message, "spare add", 9) && pool.room && pool.room-- == 1)
		return err_set(err, ERR_REFUSED, name, "remove one", "it has enough spares");
	pool.drains |= !strncmp(message, "drain start", 11);
	if (!strncmp(message, "set cache_mode writeback", 24))
		move_log(1);
	return 0;
}

static bool was_sent(const char *message)
{
	unsigned int i;

	for (i = 0; i < pool.sent_count && i < 8; i++)
		if (!strcmp(pool.sent[i], message))
			return true;
	return false;
}

int module_load(struct err *err)
{
	(void)err;
	if (world.at_load)
		world.at_load();
	return 0;
}

static int not_now(const char *name, struct err *err)
{
	return err_set(err, ERR_KERNEL, name, "-", "not in this test");
}

int dm_table(const char *name, u64 *sectors, char **params, struct err *err)
{
	(void)name, (void)err;
	*sectors = 2097152;
	*params = strdup(pool.table);
	return 0;
}

int dm_reload(const char *name, u64 sectors, const char *params, u64 old_sectors, const char *old,
	      struct err *err)
{
	(void)name, (void)sectors, (void)old_sectors, (void)old, (void)err;
	expect(is_locked());
	if (strstr(params, " 0 mirror ")) {
		snprintf(pool.without, sizeof(pool.without), "%s", params);
		snprintf(pool.table, sizeof(pool.table), "%s", params);
	} else {
		snprintf(pool.loaded, sizeof(pool.loaded), "%s", params);
	}
	return 0;
}

int dm_rename(const char *name, const char *to, struct err *err)
{
	(void)to;
	return not_now(name, err);
}

int dm_stop(const char *name, struct err *err)
{
	expect(is_locked());
	if (pool.stops)
		++*pool.stops;
	return pool.stop_fails ? err_set(err, ERR_BUSY, name, "see lsblk", "the device is in use") :
				 0;
}

int dm_resume(const char *name, struct err *err)
{
	return not_now(name, err);
}

void dm_above(dev_t rdev, u64 offset, u64 bytes, struct dm_above *a)
{
	(void)rdev, (void)offset;
	memset(a, 0, sizeof(*a));
	a->bytes = bytes;
}

bool module_version(char *buf, size_t size)
{
	snprintf(buf, size, "0.1.0");
	return true;
}

bool module_starts_degraded(void)
{
	return false;
}

/* --- in place of libkvpool/foreign_find.c --------------------------------------------- */

static struct image one, two;	/* pools to import */

/* Without the patience, and counted. */
void foreign_find(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	struct err err;
	unsigned int i;

	for (i = 0; i < count; i++) {
		signature_find(paths[i], type[i], sizeof(type[i]), &err);
		world.probes += !world.starts && !strcmp(paths[i], one.path[1]);
	}
}

void foreign_find_sure(const char *const *paths, unsigned int count, char (*type)[SIGNATURE_TYPE])
{
	unsigned int i;

	foreign_find(paths, count, type);
	for (i = 0; world.unseen && i < count; i++)
		snprintf(type[i], SIGNATURE_TYPE, FOREIGN_UNKNOWN);
}

/* What mkswap leaves in the first page. The labels of a leg lie behind it. */
static void make_swap(const char *path)
{
	const u32 header[2] = { 1, 100 };	/* version, last page */
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, header, sizeof(header), 1024) != (ssize_t)sizeof(header) ||
	    pwrite(fd, "SWAPSPACE2", 10, 4086) != 10)
		abort();
	close(fd);
}

/* --- a run of a command ------------------------------------------------------------------- */

static char out[8192];

static int run(const struct command *cmd, bool dry, const char *const *words)
{
	struct ctl ctl = { .cmd = cmd, .dry_run = dry };
	FILE *was_out = stdout, *was_errors = stderr;
	char copy[8][64], *argv[9] = { NULL };
	int argc = 0, ret;

	for (; words[argc]; argc++) {
		snprintf(copy[argc], sizeof(copy[argc]), "%s", words[argc]);
		argv[argc] = copy[argc];
	}
	memset(out, 0, sizeof(out));
	stdout = stderr = fmemopen(out, sizeof(out) - 1, "w");
	optind = 0;
	ret = cmd->run(&ctl, argc, argv);
	pool_unlock();
	fclose(stdout);
	stdout = was_out;
	stderr = was_errors;
	return ret;
}

#define RUN(cmd, dry, ...) run(cmd, dry, (const char *const[]){ __VA_ARGS__, NULL })

/* --- the lock ----------------------------------------------------------------------------- */

static char dir[] = "/tmp/races.XXXXXX";

#define LOCKED	"0f0e0d0c-0b0a-0908-0706-050403020100"

static const struct command other_command = { .name = "replace" };

/* A process that has the lock until it reads from @tell. */
static pid_t start_holder(int *tell)
{
	struct ctl ctl = { .cmd = &other_command };
	int go[2], ready[2];
	char c;
	pid_t pid;

	if (pipe(go) || pipe(ready))
		abort();
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (pool_lock(&ctl, LOCKED, NULL) || write(ready[1], "r", 1) != 1)
			_exit(1);
		_exit(read(go[0], &c, 1) < 0);
	}
	close(go[0]);
	expect(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	*tell = go[1];
	return pid;
}

static void end_holder(pid_t pid, int tell)
{
	int status;

	close(tell);
	expect(waitpid(pid, &status, 0) == pid && !status);
}

/* Waits for the lock in another process, and sends it @send, if not 0. Returns its status. */
static int wait_in_child(bool held_back, int send)
{
	struct ctl ctl = { .cmd = &other_command, .quiet = true };
	sigset_t set, before;
	struct err err;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(held_back ? SIG_BLOCK : SIG_UNBLOCK, &set, &before);
	pid = fork();
	if (!pid) {
		alarm(100);
		_exit(pool_lock(&ctl, LOCKED, &err) ? 3 : 0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	usleep(300000);
	if (send)
		kill(pid, send);
	waitpid(pid, &status, 0);
	return status;
}

static void test_lock(void)
{
	struct ctl ctl = { .cmd = &other_command };
	FILE *errors = stderr;
	char said[256] = "";
	struct err err;
	pid_t pid;
	int tell, status;

	pid = start_holder(&tell);
	/* a signal ends the wait; where signals are held back, the wait fails */
	status = wait_in_child(false, SIGTERM);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	status = wait_in_child(true, SIGTERM);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	close(tell);
	/* what is said to the user names the other command */
	stderr = fmemopen(said, sizeof(said) - 1, "w");
	status = pool_lock(&ctl, LOCKED, &err);
	fclose(stderr);
	stderr = errors;
	expect(!status);
	if (*said)
		expect(strstr(said, "waiting for kvpoolctl replace, process "));
	waitpid(pid, &status, 0);
	/* once more does nothing; after that others go on */
	expect(!pool_lock(&ctl, LOCKED, &err));
	pool_unlock();
	status = wait_in_child(false, 0);
	expect(WIFEXITED(status) && !WEXITSTATUS(status));
	pid = start_holder(&tell);
	end_holder(pid, tell);
}

/* --- import ------------------------------------------------------------------------------- */

#define OTHER_HOST	8

static void make(struct image *m, const char *name, u8 uuid)
{
	image_make(m, 2, IMAGE_SMALL);
	memset(m->sb.pool_uuid, uuid, 16);
	snprintf(m->sb.name, sizeof(m->sb.name), "%s", name);
	m->sb.flags |= KVP_SB_EXPORTED;
	image_stop(m);
}

/* As the label of a pool that another host has started. */
static void other_host_starts(struct image *m)
{
	m->sb.epoch++;
	m->sb.host = OTHER_HOST;
	strcpy(m->sb.host_name, "beta");
	m->sb.flags &= ~(u32)(KVP_SB_CLEAN | KVP_SB_EXPORTED);
	image_seal(m);
}

static void other_host_starts_two(void)
{
	world.at_start = NULL;
	other_host_starts(&two);
}

static void other_host_starts_one(void)
{
	world.at_load = NULL;
	other_host_starts(&one);
}

/* A label of the same host: a name or a tunable was changed. */
static void label_changes(void)
{
	world.at_load = NULL;
	image_seal(&one);
}

static void label_changes_always(void)
{
	image_seal(&one);
}

static void begin_import(void)
{
	memset(&world, 0, sizeof(world));
	make(&one, "one", 0x51);
	make(&two, "two", 0x52);
}

static void end_import(void)
{
	image_free(&one);
	image_free(&two);
}

#define IMPORT(...) RUN(&cmd_import, false, "import", "-d", one.path[0], "-d", one.path[1], \
			__VA_ARGS__)

static int import_both(bool dry)
{
	char where[4][64];
	const char *words[] = { "import", "-a", where[0], where[1], where[2], where[3], NULL };
	int i;

	for (i = 0; i < 4; i++)
		snprintf(where[i], 64, "-d%s", (i < 2 ? one : two).path[i % 2]);
	return run(&cmd_import, dry, words);
}

/* All pools are found first, and started one after another. */
static void test_import_all(void)
{
	begin_import();
	expect(!import_both(false) && world.starts == 2);
	end_import();
	begin_import();
	world.at_start = other_host_starts_two;
	expect(import_both(false) == EXIT_REFUSED && world.starts == 1);
	expect(!strcmp(world.started[0], "one") && strstr(out, "the labels of pool two have changed"));
	expect(strstr(out, "host beta runs it"));
	end_import();
}

/* What happens after the decision, as while a heartbeat is watched, or its module is loaded. */
static void test_import_late(void)
{
	begin_import();
	world.at_load = other_host_starts_one;
	expect(IMPORT("one") == EXIT_REFUSED && !world.starts && strstr(out, "host beta runs it"));
	end_import();
	begin_import();
	world.at_load = label_changes;
	expect(!IMPORT("one") && world.starts == 1);
	end_import();
	begin_import();
	world.at_load = label_changes_always;
	expect(IMPORT("one") == EXIT_REFUSED && !world.starts);
	expect(strstr(out, "its labels change again and again"));
	end_import();
}

/* A leg that has gone meanwhile is not one that is as it was. */
static void leg_goes(void)
{
	world.at_load = NULL;
	image_write(&one, 1, 0, (const u8[KVP_BLOCK_SIZE]){ 0 }, KVP_BLOCK_SIZE);
	one.sb.sequence += 4;
	one.legs = 1;
	image_seal(&one);
	one.legs = 2;
}

static void other_host_exports_two(void)
{
	world.at_start = NULL;
	two.sb.flags |= KVP_SB_EXPORTED;
	image_stop(&two);
}

static void test_import_refused_before(void)
{
	begin_import();
	other_host_starts(&one);
	expect(IMPORT("one") == EXIT_REFUSED && !world.starts && !strstr(out, "have changed"));
	end_import();
	/* refused as its labels were at first; by now it is exported there */
	begin_import();
	other_host_starts(&two);
	world.at_start = other_host_exports_two;
	expect(!import_both(false) && world.starts == 2);
	end_import();
	begin_import();
	world.at_load = leg_goes;
	IMPORT("one");
	expect(strstr(out, "the labels of pool one have changed"));
	end_import();
}

/* A leg that was out may have got another use. An import leaves it out, and probes it once. */
static void test_import_reused(void)
{
	bool reused;
	int i;

	for (i = 0; i < 2; i++) {
		reused = i;
		begin_import();
		one.sb.legs[1].state = KVP_LEG_STALE;
		image_stop(&one);
		if (reused)
			make_swap(one.path[1]);
		expect(!IMPORT("one") && world.starts == 1 && world.probes == 1);
		expect(!strstr(world.table, " -") == !reused);
		expect(!strstr(out, "is left out: it was out of use, and carries a signature of "
			       "swap") == !reused);
		end_import();
	}
	/* what cannot be looked at may be in use */
	begin_import();
	one.sb.legs[1].state = KVP_LEG_STALE;
	image_stop(&one);
	world.unseen = true;
	expect(!IMPORT("one") && world.starts == 1 && strstr(world.table, " -"));
	expect(strstr(out, "is left out: it was out of use, and it cannot be looked at"));
	end_import();
	/* in sync, it has all that the pool has */
	begin_import();
	make_swap(one.path[1]);
	expect(!IMPORT("one") && !world.probes && !strstr(world.table, " -"));
	expect(!strstr(out, "is left out"));
	end_import();
}

/* --- a change of SSDs --------------------------------------------------------------------- */

#define TABLE(leg)	POOL_UUID " 0 mirror 2 8:0 " leg " cache 2 8:32 8:48"

static char spare[64], second[64];	/* image files: a new SSD, and another device */

static void make_file(char *path, const char *name)
{
	int fd;

	snprintf(path, 64, "%s/%s", dir, name);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, IMAGE_SMALL << KVP_BLOCK_SHIFT))
		abort();
	close(fd);
}

static void begin_change(void)
{
	memset(&pool, 0, sizeof(pool));
	image_standard_cached(&pool.m, 2, IMAGE_SMALL, IMAGE_TWO_SSDS);
	pool.runs = true;
	strcpy(pool.table, TABLE("8:16"));
	make_file(spare, "spare");
	make_file(second, "second");
}

static void end_change(void)
{
	image_free(&pool.m);
	pool.runs = false;
}

static const char *ssd(void)
{
	static char uuid[UUID_BUF];

	return uuid_print(pool.m.sb.legs[3].uuid, uuid);
}

#define CHANGE(cmd, ...) RUN(cmd, false, (cmd)->name, __VA_ARGS__)

/* The monitor has replaced a leg meanwhile. */
static void other_leg(void)
{
	strcpy(pool.table, TABLE("8:64"));
}

/* Another change of SSDs ends, and returns the log. */
static void log_returns_once(void)
{
	pool.at_drain = NULL;
	move_log(1);
}

static void log_returns(void)
{
	move_log(1);
}

static void test_change_after_drain(void)
{
	begin_change();
	pool.at_drain = other_leg;
	expect(!CHANGE(&cmd_detach, "tank", ssd()));
	expect(strstr(pool.loaded, " mirror 2 8:0 8:64 cache 1 "));
	expect(was_sent("set cache_mode writeback") && pool.m.sb.log_vdev == 1);
	end_change();
	begin_change();
	pool.at_drain = other_leg;
	expect(!CHANGE(&cmd_remove, "tank", "cache") && strstr(pool.loaded, " mirror 2 8:0 8:64"));
	end_change();
	begin_change();
	pool.at_drain = log_returns_once;
	expect(!CHANGE(&cmd_detach, "tank", ssd()) && strstr(pool.loaded, " cache 1 "));
	expect(pool.m.sb.log_vdev == 1);
	end_change();
	begin_change();
	pool.at_drain = log_returns;
	expect(CHANGE(&cmd_detach, "tank", ssd()) && !*pool.loaded);
	expect(strstr(out, "other commands return the log"));
	end_change();
	begin_change();
	pool.at_drain = log_returns;
	expect(CHANGE(&cmd_remove, "tank", "cache") && !*pool.loaded);
	end_change();
}

/* Someone makes a LUKS volume on the new SSD. */
static void make_luks(const char *path)
{
	static const char luks[] = "LUKS\xba\xbe\0\1aes";
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (pwrite(fd, luks, sizeof(luks), 0) != sizeof(luks))
		abort();
	close(fd);
}

static void gets_contents(void)
{
	make_luks(spare);
}

static void gets_another_device(void)
{
	if (rename(second, spare))
		abort();
}

static u64 bytes_written(const char *path)
{
	static char buf[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u64 n = 0;
	ssize_t got, i;

	while ((got = read(fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < got; i++)
			n += buf[i] != 0;
	close(fd);
	return n;
}

static void test_device_after_drain(void)
{
	begin_change();
	expect(!CHANGE(&cmd_replace, "tank", ssd(), spare) && strstr(pool.loaded, " cache 2 8:32 "));
	end_change();
	begin_change();
	pool.at_drain = gets_contents;
	expect(CHANGE(&cmd_replace, "tank", ssd(), spare) && !*pool.loaded);
	expect(strstr(out, "it holds a signature") && bytes_written(spare));
	expect(pool.m.sb.log_vdev == 1);
	end_change();
	/* -f was given for what it had, and that was nothing */
	begin_change();
	pool.at_drain = gets_contents;
	expect(CHANGE(&cmd_replace, "-f", "tank", ssd(), spare) && !*pool.loaded);
	expect(strstr(out, "have changed since it was checked") && bytes_written(spare));
	end_change();
	begin_change();
	pool.at_drain = gets_another_device;
	expect(CHANGE(&cmd_replace, "tank", ssd(), spare) && !*pool.loaded);
	expect(strstr(out, "it is another device now"));
	end_change();
	begin_change();
	pool.at_drain = gets_contents;
	expect(CHANGE(&cmd_add, "-f", "tank", "single", spare) && !*pool.loaded);
	expect(strstr(out, "have changed since it was checked") && bytes_written(spare));
	expect(pool.m.sb.log_vdev == 1);
	end_change();
	begin_change();
	pool.at_drain = other_leg;
	expect(!CHANGE(&cmd_add, "-f", "tank", "single", spare));
	expect(strstr(pool.loaded, " mirror 2 8:0 8:64 single 1 "));
	end_change();
}

/* --- an SSD that is back ------------------------------------------------------------------ */

/* The orders of `online` for an SSD whose device is found, as SSD 3 of the pool. */
static int return_ssd(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "online", .pool = "tank", .leg = ssd(), .new = argv[1],
				.leaves = true, .returns = true };

	(void)argc;
	return pool_lock_named(ctl, "tank") ?: ssds_change(ctl, &o);
}

static const struct command cmd_return = { .name = "online", .run = return_ssd };

/* The other legs get superblocks that the SSD lacks: its loss was recorded, and counts. */
static void lose_ssd(void)
{
	pool.m.sb.legs[3].state = KVP_LEG_STALE;
	pool.m.sb.legs[3].out = pool.m.sb.sequence;
	pool.m.sb.epoch++;
	pool.m.legs = 3;
	image_seal(&pool.m);
	pool.ssd_out = true;
}

/* @before: what is so before the loss */
static void begin_return(void (*before)(void))
{
	begin_change();
	pool.m.sb.poisoned_blocks = 0;
	if (before)
		before();
	image_seal(&pool.m);
	lose_ssd();
}

static void end_return(void)
{
	pool.m.legs = 4;
	pool.ssd_out = false;
	end_change();
}

static u64 sum_of(const char *path)
{
	static char buf[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u64 sum = 0;
	ssize_t got, i;

	while ((got = read(fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < got; i++)
			sum = sum * 31 + (unsigned char)buf[i];
	close(fd);
	return sum;
}

/* Refused, as @why tells, and nothing on @path was changed. Ends the test of a return. */
static void refused_return(const char *path, const char *why)
{
	u64 sum = sum_of(path);

	expect(RUN(&cmd_return, false, "online", path) && !*pool.loaded);
	expect(strstr(out, why));
	if (!strstr(out, why))
		printf("no '%s' in: %s", why, out);
	expect(sum_of(path) == sum);
	end_return();
}

static bool has_label(const char *path)
{
	struct device d;
	struct label l;
	bool has;

	expect(!device_open_now(path, true, &d, NULL) && !label_read(&d, &l, NULL));
	has = l.valid || l.bad;
	label_free(&l);
	device_close(&d);
	return has;
}

static void test_return(void)
{
	begin_return(NULL);
	expect(!RUN(&cmd_return, true, "online", pool.m.path[3]));
	expect(!*pool.loaded && has_label(pool.m.path[3]) && !pool.sent_count);
	expect(strstr(out, "online, empty, in the cache of pool tank"));
	expect(!RUN(&cmd_return, false, "online", pool.m.path[3]));
	expect(strstr(pool.loaded, " 1 replace mirror 2 8:0 8:16 cache 2 8:32 "));
	/* its device that has gone may have its name */
	expect(strstr(pool.without, " 0 mirror 2 8:0 8:16 cache 2 8:32 -"));
	expect(!has_label(pool.m.path[3]) && has_label(pool.m.path[2]));
	expect(was_sent("set cache_mode writeback") && pool.m.sb.log_vdev == 1);
	end_return();
	/* another device: no label, or that of another SSD, or of a leg */
	begin_return(NULL);
	refused_return(spare, "it has no label of the pool");
	/* it has got another use */
	begin_return(NULL);
	make_swap(pool.m.path[3]);
	refused_return(pool.m.path[3], "it holds a signature: swap");
	begin_return(NULL);
	refused_return(pool.m.path[2], "it has not the label of the SSD");
	begin_return(NULL);
	refused_return(pool.m.path[0], "it has not the label of the SSD");
}

static int online_ssd(struct ctl *ctl, int argc, char **argv)
{
	struct dm_entry e;
	struct stats s;
	int ret;

	(void)argc;
	if (pool_lock_named(ctl, "tank") || dm_find("tank", &e, NULL) || stats_load("tank", &s, NULL))
		return -1;
	ret = ssds_online(ctl, &e, &s, 3, argv[1], false);
	stats_free(&s);
	return ret;
}

/* A device of this machine, by its numbers. */
static bool some_device(char word[32])
{
	DIR *folder = opendir("/sys/dev/block");
	struct dirent *d;

	*word = 0;
	while (folder && !*word && (d = readdir(folder)))
		if (*d->d_name != '.')
			snprintf(word, 32, "%.31s", d->d_name);
	if (folder)
		closedir(folder);
	return *word;
}

/* The device that the pool has for the SSD is there: it may lie on the same disk. */
static void test_return_beside(void)
{
	static const struct command cmd = { .name = "online", .run = online_ssd };
	char word[32];

	begin_return(NULL);
	expect(RUN(&cmd, false, "online", "8:4095") && strstr(out, "its device has gone"));
	if (some_device(word)) {
		snprintf(pool.table, sizeof(pool.table), POOL_UUID " 0 mirror 2 8:0 8:16 cache 2 8:32 %s",
			 word);
		expect(RUN(&cmd, false, "online", "8:4095") && !*pool.loaded);
		expect(strstr(out, "and it is still there"));
	}
	end_return();
}

/* An SSD is out, and its device is there. */
static bool begin_reused(void)
{
	char word[32];

	begin_return(NULL);
	if (!some_device(word))
		return false;
	snprintf(pool.table, sizeof(pool.table), POOL_UUID " 0 mirror 2 8:0 8:16 cache 2 8:32 %s",
		 word);
	return true;
}

/*
 * It is replaced, or leaves, and its label is wiped. But somebody has made a LUKS volume there
 * since it is out.
 */
static void test_reused(void)
{
	if (begin_reused()) {
		expect(!CHANGE(&cmd_replace, "tank", ssd(), spare) && !*pool.without);
		expect(strstr(pool.loaded, " cache 2 8:32 "));
	}
	end_return();
	if (begin_reused()) {
		make_luks(pool.m.path[3]);
		expect(!CHANGE(&cmd_replace, "tank", ssd(), spare));
		expect(strstr(pool.without, " cache 2 8:32 -"));
		expect(strstr(pool.loaded, " 1 replace mirror 2 8:0 8:16 cache 2 8:32 "));
	}
	end_return();
	if (begin_reused()) {
		make_luks(pool.m.path[3]);
		expect(!CHANGE(&cmd_detach, "tank", ssd()) && strstr(pool.without, " 8:32 -"));
	}
	end_return();
	if (begin_reused()) {
		world.unseen = true;
		expect(!CHANGE(&cmd_detach, "tank", ssd()) && strstr(pool.without, " 8:32 -"));
		world.unseen = false;
	}
	end_return();
	if (begin_reused()) {
		make_luks(pool.m.path[3]);
		expect(CHANGE(&cmd_remove, "tank", "cache") && !*pool.loaded);
		expect(strstr(out, "signature of crypto_LUKS") && strstr(out, "would be wiped"));
	}
	end_return();
}

static void knows_fork(void)
{
	pool.m.sb.forks[pool.m.sb.fork_count++] = 77;
	image_seal(&pool.m);
	pool.m.sb.fork_count--;
	pool.m.legs = 3;	/* the SSD was started without the others */
}

static void calls_out(void)
{
	pool.m.sb.legs[1].state = KVP_LEG_STALE;
	image_seal(&pool.m);
	pool.m.sb.legs[1].state = KVP_LEG_IN_SYNC;
	pool.m.legs = 3;
}

/* It was started elsewhere meanwhile. */
static void gets_newer_label(void)
{
	u32 legs = pool.m.legs;

	pool.m.legs = 4;
	image_seal(&pool.m);
	pool.m.legs = legs;
}

/* What cannot be read may be newer. */
static void unread_label(void)
{
	struct device d;
	struct label l;
	struct err err;

	begin_return(NULL);
	expect(!device_open_now(pool.m.path[3], true, &d, NULL) && !label_read(&d, &l, NULL));
	expect(!returned_check(d.path, &l, ssd(), &pool.m.sb, &err));
	l.all_read = false;
	expect(returned_check(d.path, &l, ssd(), &pool.m.sb, &err));
	expect(strstr(err.why, "cannot be read as a whole"));
	label_free(&l);
	device_close(&d);
	end_return();
}

/* What the pool may lack, or what another history may need, stays where it is. */
static void test_return_needed(void)
{
	begin_return(NULL);
	pool.m.sb.legs[3].out = KVP_OUT_CALLED;
	image_seal(&pool.m);
	refused_return(pool.m.path[3], "has not recorded yet");
	begin_return(NULL);
	pool.m.sb.legs[3].out = 0;
	pool.m.sb.legs[3].state = KVP_LEG_IN_SYNC;
	image_seal(&pool.m);
	refused_return(pool.m.path[3], "has not recorded yet");
	begin_return(NULL);
	gets_newer_label();
	refused_return(pool.m.path[3], "in another history");
	begin_return(knows_fork);
	refused_return(pool.m.path[3], "in another history");
	begin_return(calls_out);
	refused_return(pool.m.path[3], "in another history");
	begin_return(NULL);
	pool.m.sb.log_discards++;
	image_seal(&pool.m);
	refused_return(pool.m.path[3], "discarded its log without this SSD");
	begin_return(NULL);
	pool.m.sb.poisoned_blocks = 2;
	image_seal(&pool.m);
	refused_return(pool.m.path[3], "has lost 2 block(s), which this SSD may have");
	unread_label();
}

/* What is said of an SSD that the pool holds; NULL: it may begin anew. */
static const char *held_fault(const char *path)
{
	static struct err err;

	*err.why = 0;
	if (!returned_check_held(path, ssd(), &pool.m.sb, &err))
		return NULL;
	expect(strstr(err.mend, "online -f"));
	return err.why;
}

static void test_held(void)
{
	begin_return(NULL);
	expect(!held_fault(pool.m.path[3]));
	/* blank */
	expect(!held_fault(spare));
	expect(strstr(held_fault(pool.m.path[2]) ?: "", "it has not the label"));
	pool.m.sb.poisoned_blocks = 2;
	expect(strstr(held_fault(pool.m.path[3]) ?: "", "has lost 2 block(s)"));
	pool.m.sb.poisoned_blocks = 0;
	pool.m.sb.log_discards++;
	expect(strstr(held_fault(pool.m.path[3]) ?: "", "discarded its log"));
	pool.m.sb.log_discards--;
	pool.m.sb.legs[3].out = KVP_OUT_CALLED;
	expect(strstr(held_fault(pool.m.path[3]) ?: "", "has not recorded yet"));
	end_return();
	/* it has got another use, which may have left no label */
	begin_return(NULL);
	make_swap(pool.m.path[3]);
	make_swap(spare);
	expect(strstr(held_fault(pool.m.path[3]) ?: "", "carries a signature of swap"));
	expect(strstr(held_fault(spare) ?: "", "carries a signature of swap"));
	end_return();
	begin_return(NULL);
	gets_newer_label();
	expect(strstr(held_fault(pool.m.path[3]) ?: "", "in another history"));
	end_return();
}

/* Somebody brings the SSD back while the log leaves the cache. */
static void is_back(void)
{
	pool.ssd_out = false;
}

static void loses_blocks(void)
{
	pool.m.sb.poisoned_blocks = 1;
	image_seal(&pool.m);
}

static void test_return_after_drain(void)
{
	begin_return(NULL);
	pool.at_drain = is_back;
	refused_return(pool.m.path[3], "it is in use");
	begin_return(NULL);
	pool.at_drain = gets_newer_label;
	expect(RUN(&cmd_return, false, "online", pool.m.path[3]) && !*pool.loaded);
	expect(strstr(out, "in another history") && has_label(pool.m.path[3]));
	end_return();
	begin_return(NULL);
	pool.at_drain = loses_blocks;
	refused_return(pool.m.path[3], "has lost 1 block(s)");
}

static bool no_wipe(void *arg, const struct signature *s)
{
	(void)arg, (void)s;
	return false;
}

/* A claim goes by the device, not by its path; so does all that opens a device once more. */
static void test_claim(void)
{
	static const char gone[] = "leads to another device";
	struct device d;
	struct err err;
	int fd;

	make_file(spare, "spare");
	make_file(second, "second");
	expect(!device_open_now(spare, true, &d, &err));
	fd = device_claim(&d, &err);
	expect(fd >= 0);
	close(fd);
	fd = device_again(&d, true, &err);
	expect(fd >= 0 && !signature_each(spare, fd, no_wipe, NULL, &err));
	gets_another_device();
	expect(device_claim(&d, &err) < 0 && strstr(err.why, gone));
	expect(device_again(&d, true, &err) < 0 && strstr(err.why, gone));
	/* what is found on one must not be wiped on the other */
	expect(signature_each(spare, fd, no_wipe, NULL, &err) && strstr(err.why, gone));
	close(fd);
	device_close(&d);
}

/* The undo of a change may fail, too, and is not dropped. */
static void test_undo_fails(void)
{
	begin_change();
	pool.at_drain = gets_contents;
	pool.refuses = "set cache_mode writeback force";
	expect(CHANGE(&cmd_replace, "tank", ssd(), spare) == EXIT_FAILED);
	expect(strstr(out, "it holds a signature") && strstr(out, "the cache is write-through now: "
							       "no leg takes the label"));
	end_change();
	begin_change();
	pool.stop_fails = true;
	expect(CHANGE(&cmd_export, "tank") == EXIT_REFUSED && was_sent("mark none"));
	expect(!strstr(out, "ITS LABELS SAY"));
	pool.refuses = "mark none";
	expect(CHANGE(&cmd_export, "tank") == EXIT_FAILED);
	expect(strstr(out, "the device is in use") && strstr(out, "THE POOL RUNS, AND ITS LABELS SAY "
							     "THAT IT WAS EXPORTED"));
	expect(strstr(out, "dmsetup message tank 0 mark none"));
	end_change();
}

/* A signal that comes between the mark and the stop leaves no pool that runs and is marked. */
static void test_stop_interrupted(void)
{
	unsigned int *stops = mmap(NULL, sizeof(*stops), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t none;
	int status;
	pid_t pid;

	sigemptyset(&none);
	begin_change();
	pool.interrupted = "mark exported";
	pool.stops = stops;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		/* changes before this one have held signals back */
		sigprocmask(SIG_SETMASK, &none, NULL);
		CHANGE(&cmd_export, "tank");
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM && *stops == 1);
	end_change();
	munmap(stops, sizeof(*stops));
}

/* What was done before a failure is done, and told. */
static void test_part_done(void)
{
	begin_change();
	pool.room = 2;
	expect(CHANGE(&cmd_add, "tank", "spare", spare, second) == EXIT_FAILED);
	expect(strstr(out, "it has enough spares (1 spare(s) named before it were added)"));
	end_change();
	/* nothing was done */
	begin_change();
	pool.room = 1;
	expect(CHANGE(&cmd_add, "tank", "spare", spare, second) == EXIT_REFUSED);
	end_change();
	/* without its comment the pool still gets its spare */
	begin_change();
	pool.refuses = "set comment x";
	expect(CHANGE(&cmd_create, "-o", "comment=x", "tank", "single", second, "spare", spare) ==
	       EXIT_FAILED);
	expect(strstr(out, "without its comment") && bytes_written(spare));
	end_change();
}

static int import_tank(const char *all)
{
	return RUN(&cmd_import, false, "import", "-d", pool.m.path[0], "-d", pool.m.path[1], all);
}

/* What a killed start has left is no pool that runs. */
static void test_no_table(void)
{
	begin_change();
	expect(import_tank("tank") == EXIT_REFUSED && strstr(out, "nothing to do"));
	expect(!import_tank("-a"));
	pool.no_table = true;
	expect(import_tank("tank") == EXIT_REFUSED && strstr(out, "and no table"));
	expect(strstr(out, "dmsetup remove"));
	expect(import_tank("-a") == EXIT_REFUSED && strstr(out, "and no table"));
	end_change();
}

static void clear_label(const char *path, void (*meanwhile)(void))
{
	struct device d;
	struct label l;
	struct err err;
	int ret;

	expect(!device_open_now(path, true, &d, &err) && !label_read(&d, &l, &err));
	if (meanwhile)
		meanwhile();
	ret = label_clear(&d, &l, &err);
	expect(!ret == !meanwhile && has_label(path) == !!meanwhile);
	expect(!ret || strstr(err.why, "has changed since it was checked"));
	label_free(&l);
	device_close(&d);
}

static void label_goes_on(void)
{
	image_seal(&pool.m);
}

/* A label that was written since it was looked at was not asked for. */
static void test_clear_again(void)
{
	begin_change();
	clear_label(pool.m.path[3], label_goes_on);
	clear_label(pool.m.path[3], NULL);
	end_change();
}

/* Note the device @path as a plan does. */
static void plan_for(struct plan_leg *leg, const char *path)
{
	struct err err;
	struct label l;

	memset(leg, 0, sizeof(*leg));
	expect(!device_open_now(path, true, &leg->dev, &err) && !label_read(&leg->dev, &l, &err));
	plan_note_label(leg, &l);
	label_free(&l);
	plan_note_former(leg);
	device_close(&leg->dev);
}

static void test_plan_same(void)
{
	struct plan_leg *was = calloc(2, sizeof(*was)), *now = was + 1;
	struct plan p = { .force = true };
	unsigned char sector[PMBR_BYTES];
	struct err err;
	int fd;

	/* another pool with the same numbers */
	begin_change();
	plan_for(was, pool.m.path[3]);
	plan_for(now, pool.m.path[3]);
	expect(!plan_leg_same(was, now, &err));
	memset(pool.m.sb.pool_uuid, 7, 16);
	pool.m.sb.sequence--;
	image_seal(&pool.m);
	plan_for(now, pool.m.path[3]);
	expect(plan_leg_same(was, now, &err));
	expect(strstr(err.why, "label has changed"));
	/* a device that was a leg, and has no label any more */
	pmbr_make(sector);
	fd = open(spare, O_WRONLY | O_CLOEXEC);
	expect(pwrite(fd, sector, sizeof(sector), 0) == (ssize_t)sizeof(sector));
	close(fd);
	plan_for(was, spare);
	expect(!strcmp(was->signature, "kvpool"));
	expect(!plan_wipe_leg(&p, was, &err) && !bytes_written(spare));
	end_change();
	free(was);
}

static char third[64];

/* @second is another path to @spare; the new legs must be refused, and have no mark. */
static void one_disk(const struct command *cmd, const char *const *words, const char *first)
{
	char text[256];

	begin_change();
	pool.m.sb.log_vdev = 0;
	image_seal(&pool.m);
	make_file(third, "third");
	file_two_paths(spare, second);
	expect(run(cmd, false, words) == EXIT_FAILED);
	snprintf(text, sizeof(text), "it is the same disk as %s: ", first);
	expect(strstr(out, text) && !world.starts && !*pool.loaded);
	expect(!bytes_written(spare) && !bytes_written(second) && !bytes_written(third));
	file_two_paths(NULL, NULL);
	end_change();
}

/* Two paths to one disk look like two disks, which would be a mirror with one copy. */
static void test_one_disk(void)
{
	memset(&world, 0, sizeof(world));
	one_disk(&cmd_create, (const char *const[]){ "create", "new", "mirror", spare, second,
						     NULL }, spare);
	one_disk(&cmd_create, (const char *const[]){ "create", "-f", "new", "mirror", second, third,
						     spare, NULL }, second);
	one_disk(&cmd_create, (const char *const[]){ "create", "-f", "new", "single", spare,
						     "cache", second, NULL }, spare);
	one_disk(&cmd_add, (const char *const[]){ "add", "-f", "tank", "parity1", third, spare,
						  second, NULL }, spare);
	/* two disks: nothing is left of the marks */
	begin_change();
	expect(!CHANGE(&cmd_create, "new", "mirror", spare, second) && world.starts == 1);
	expect(!bytes_written(spare) && !bytes_written(second));
	end_change();
	/* a spare that is a second path to a leg */
	begin_change();
	file_two_paths(spare, second);
	expect(CHANGE(&cmd_add, "tank", "spare", spare, second) == EXIT_FAILED);
	expect(strstr(out, "its kvpool label has changed since it was checked"));
	file_two_paths(NULL, NULL);
	end_change();
}

int main(void)
{
	char command[64];

	if (!mkdtemp(dir))
		abort();
	pool_lock_dir = dir;
	device_takes_files = true;
	test_lock();
	test_import_all();
	test_import_late();
	test_import_reused();
	test_import_refused_before();
	test_change_after_drain();
	test_device_after_drain();
	test_return();
	test_return_beside();
	test_reused();
	test_return_needed();
	test_held();
	test_return_after_drain();
	test_claim();
	test_undo_fails();
	test_stop_interrupted();
	test_part_done();
	test_no_table();
	test_clear_again();
	test_plan_same();
	test_one_disk();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		failed++;
	printf("%u passed, %u failed\n", passed, failed);
	return !!failed;
}
