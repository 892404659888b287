// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of what happens beside a command: another host, another command, a device that
 * changes. The answers of device-mapper are made up, and what happens beside happens in them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "device.h"
#include "dm.h"
#include "expect.h"
#include "image.h"
#include "import.h"
#include "pool_lock.h"

extern const struct command cmd_import;

/* --- in place of libkvpool/dm.c ----------------------------------------------------------- */

static struct {
	char started[4][64];		/* names */
	unsigned int starts;
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

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	(void)e;
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
	(void)uuid, (void)sectors, (void)params, (void)readonly, (void)err;
	snprintf(world.started[world.starts++ % 4], 64, "%s", name);
	if (world.at_start)
		world.at_start();
	return 0;
}

int dm_message(const char *name, const char *message, char **answer, struct err *err)
{
	(void)message, (void)answer;
	return err_set(err, ERR_KERNEL, name, "-", "not in this test");
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
	*sectors = 0;
	*params = NULL;
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

/* Waits for the lock in another process, which has 5 s; returns its status. */
static int wait_in_child(bool held_back, int send)
{
	struct ctl ctl = { .cmd = &other_command, .quiet = true };
	sigset_t set;
	struct err err;
	int status;
	pid_t pid = fork();

	if (!pid) {
		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		if (held_back)
			sigprocmask(SIG_BLOCK, &set, NULL);
		alarm(20);
		_exit(pool_lock(&ctl, LOCKED, &err) ? 3 : 0);
	}
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

static struct image one, two;

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

int main(void)
{
	char command[64];

	if (!mkdtemp(dir))
		abort();
	pool_lock_dir = dir;
	import_takes_files = true;
	test_lock();
	test_import_all();
	test_import_late();
	test_import_refused_before();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		failed++;
	printf("%u passed, %u failed\n", passed, failed);
	return !!failed;
}
