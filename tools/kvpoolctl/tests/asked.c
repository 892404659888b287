// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of libkvpool/dm.c: which pools run, and changes of a table while udev is late.
 * Functions here stand for those of libdevmapper that ask the kernel, and for /proc/misc.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "dm.h"
#include "drain.h"
#include "expect.h"

/* --- the kernel ------------------------------------------------------------------------- */

/* "a" and "c" are pools, "b" is not. */
static struct {
	const char *misc;		/* /proc/misc; NULL: it cannot be read */
	const char *fails, *gone;	/* that device cannot be asked; has gone */
	int error;			/* that libdevmapper tells */
	bool list_fails;
	/* tables of the pool in these tests; an order to the kernel that fails, and a table */
	char live[16], inactive[16];
	int refuses;
	const char *refused_table;
	bool removed, renamed;
	unsigned int sectors;	/* of a table of another target; 0: there is none */
	bool udev_late;
	unsigned int notes;	/* that udev is late */
	int signal;		/* comes at this order; 0: none does */
	int interrupted;
	unsigned int *resumed;	/* counted for another process */
} kernel;

struct dm_task {
	int type;
	char name[16], params[16];
	struct dm_names *names;
};

FILE *fopen(const char *path, const char *mode)
{
	int fd;

	if (!strcmp(path, "/proc/misc"))
		return kernel.misc ? fmemopen((void *)kernel.misc, strlen(kernel.misc), "r") : NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, mode);
}

uid_t geteuid(void)
{
	return 0;
}

void dm_log_with_errno_init(dm_log_with_errno_fn fn)
{
	(void)fn;
}

struct dm_task *dm_task_create(int type)
{
	struct dm_task *t = calloc(1, sizeof(*t));

	t->type = type;
	return t;
}

int dm_task_set_name(struct dm_task *t, const char *name)
{
	snprintf(t->name, sizeof(t->name), "%s", name);
	return 1;
}

int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

int dm_task_add_target(struct dm_task *t, uint64_t start, uint64_t size, const char *kind,
		       const char *params)
{
	(void)start, (void)size, (void)kind;
	snprintf(t->params, sizeof(t->params), "%s", params);
	return 1;
}

int dm_task_set_cookie(struct dm_task *t, uint32_t *cookie, uint16_t flags)
{
	(void)t, (void)flags;
	*cookie = 1;
	return 1;
}

int dm_udev_wait_immediate(uint32_t cookie, int *ready)
{
	(void)cookie;
	*ready = !kernel.udev_late;
	return 1;
}

int dm_udev_complete(uint32_t cookie)
{
	(void)cookie;
	return 1;
}

int dm_udev_wait(uint32_t cookie)
{
	(void)cookie;
	return 1;
}

void dm_task_update_nodes(void)
{
}

int dm_task_retry_remove(struct dm_task *t)
{
	(void)t;
	return 1;
}

int dm_task_set_newname(struct dm_task *t, const char *name)
{
	(void)t, (void)name;
	return 1;
}

int dm_task_set_uuid(struct dm_task *t, const char *uuid)
{
	(void)t, (void)uuid;
	return 1;
}

int dm_task_set_sector(struct dm_task *t, uint64_t sector)
{
	(void)t, (void)sector;
	return 1;
}

int dm_task_set_message(struct dm_task *t, const char *message)
{
	(void)t, (void)message;
	return 1;
}

void *dm_get_next_target(struct dm_task *t, void *next, uint64_t *start, uint64_t *length,
			 char **type, char **params)
{
	(void)t, (void)next;
	*start = 0;
	*length = kernel.sectors;
	*type = kernel.sectors ? "error" : NULL;
	*params = "";
	return NULL;
}

/* Orders about the pool; -1: another one. */
static int run_change(const struct dm_task *t)
{
	if (t->type == DM_DEVICE_RELOAD) {
		if (kernel.refused_table && !strcmp(t->params, kernel.refused_table))
			return 0;
		strcpy(kernel.inactive, t->params);
	} else if (t->type == DM_DEVICE_RESUME) {
		if (*kernel.inactive)
			strcpy(kernel.live, kernel.inactive);
		*kernel.inactive = 0;
	} else if (t->type == DM_DEVICE_REMOVE) {
		kernel.removed = true;
	} else if (t->type == DM_DEVICE_RENAME) {
		kernel.renamed = true;
	} else {
		return -1;
	}
	return kernel.refuses != t->type;
}

int dm_task_run(struct dm_task *t)
{
	int ret = run_change(t);

	if (kernel.resumed && t->type == DM_DEVICE_RESUME)
		++*kernel.resumed;
	if (kernel.signal && t->type == kernel.interrupted)
		raise(kernel.signal);
	if (ret >= 0)
		return ret;
	if (t->type == DM_DEVICE_TARGET_MSG)
		return 0;
	if (t->type == DM_DEVICE_LIST)
		return !kernel.list_fails;
	return !kernel.fails || strcmp(t->name, kernel.fails);
}

int dm_task_get_errno(struct dm_task *t)
{
	(void)t;
	return kernel.error;
}

int dm_task_get_info(struct dm_task *t, struct dm_info *info)
{
	memset(info, 0, sizeof(*info));
	info->exists = !kernel.gone || strcmp(t->name, kernel.gone);
	info->live_table = 1;
	return 1;
}

const char *dm_task_get_uuid(const struct dm_task *t)
{
	return *t->name == 'b' ? "LVM-1" : *t->name == 'a' ? DM_POOL_PREFIX "0001" :
	       DM_POOL_PREFIX "0002";
}

struct dm_names *dm_task_get_names(struct dm_task *t)
{
	char *buf = calloc(4, 64);
	struct dm_names *n;
	int i;

	t->names = (struct dm_names *)buf;
	for (i = 0; i < 3; i++) {
		n = (struct dm_names *)(buf + 64 * i);
		n->dev = 1;
		n->next = i < 2 ? 64 : 0;
		n->name[0] = "cba"[i];
	}
	return t->names;
}

void dm_task_destroy(struct dm_task *t)
{
	free(t->names);
	free(t);
}

/* --- tests ------------------------------------------------------------------------------ */

static const char misc[] = " 59 cpu_dma_latency\n236 device-mapper\n";

/* Return: as dm_list(); the names of its pools are in @names. */
static int names_listed(char names[8], struct err *err)
{
	struct dm_entry *list;
	unsigned int count, i;
	int ret = dm_list(&list, &count, err);

	*names = 0;
	for (i = 0; i < count; i++)
		strncat(names, list[i].name, 1);
	free(list);
	return ret;
}

static void test_listed(void)
{
	char names[8];
	struct err err;

	kernel.misc = misc;
	expect(!names_listed(names, &err) && !strcmp(names, "ac"));
	kernel.gone = "a";
	expect(!names_listed(names, &err) && !strcmp(names, "c"));
	kernel.gone = NULL;
	kernel.misc = " 59 cpu_dma_latency\n";
	expect(!names_listed(names, &err) && !*names);
}

/* What cannot be asked is not absent. */
static void test_not_asked(void)
{
	struct dm_entry e;
	char names[8];
	struct err err;

	kernel.misc = misc;
	kernel.fails = "a";
	kernel.error = ENOMEM;
	expect(names_listed(names, &err) && !*names && strstr(err.why, "Cannot allocate memory"));
	expect(dm_find("a", &e, &err) && err.code != ERR_NOT_FOUND);
	kernel.error = 0;
	expect(names_listed(names, &err));
	kernel.fails = NULL;
	kernel.misc = NULL;
	expect(!names_listed(names, &err) && !strcmp(names, "ac"));
	kernel.list_fails = true;
	expect(names_listed(names, &err) && !*names);
	kernel.list_fails = false;
}

static void note(const char *name)
{
	expect(!strcmp(name, "tank") || !strcmp(name, "lake"));
	kernel.notes++;
}

static void begin_change(bool late)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.misc = misc;
	kernel.error = EINVAL;
	kernel.udev_late = late;
	strcpy(kernel.live, "old");
	dm_udev_late = note;
}

static int reload(struct err *err)
{
	return dm_reload("tank", 8, "new", 8, "old", err);
}

/* A change that the kernel has made is made, however late udev is: it is told, and not undone. */
static void test_udev_late(void)
{
	struct err err = { 0 };

	begin_change(false);
	expect(!reload(&err) && !strcmp(kernel.live, "new") && !kernel.notes);
	begin_change(true);
	expect(!reload(&err) && !strcmp(kernel.live, "new") && kernel.notes == 1);
	/* also where the old table would not be taken again */
	begin_change(true);
	kernel.refused_table = "old";
	expect(!reload(&err) && !strcmp(kernel.live, "new"));
	begin_change(true);
	expect(!dm_stop("tank", &err) && kernel.removed && kernel.notes == 1);
	begin_change(true);
	expect(!dm_rename("tank", "lake", &err) && kernel.renamed && kernel.notes == 1);
	begin_change(true);
	expect(!dm_resume("tank", &err) && kernel.notes == 1);
	/* a start is undone: no program could open the device; and no note says that it was made */
	begin_change(true);
	expect(dm_start("tank", "0001", 8, "new", false, &err) && kernel.removed);
	expect(strstr(err.why, "udev has not answered") && !kernel.notes);
}

/* What the kernel refuses is refused. */
static void test_change_refused(void)
{
	struct err err = { 0 };

	begin_change(false);
	kernel.refused_table = "new";
	expect(reload(&err) && !strcmp(kernel.live, "old") && !strstr(err.why, "suspended"));
	begin_change(true);
	kernel.refuses = DM_DEVICE_RESUME;
	expect(reload(&err) && strstr(err.why, "the pool is suspended"));
	begin_change(true);
	kernel.refuses = DM_DEVICE_REMOVE;
	expect(dm_stop("tank", &err));
}

/* In a child: the signal ends it, and leaves no core. */
static void without_dump(int number)
{
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
}

/* A start goes on to its end if a signal comes at this order, and the process ends then. */
static void start_interrupted(int order, int signal)
{
	unsigned int *resumed = mmap(NULL, sizeof(*resumed), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct err err;
	int status;
	pid_t pid;

	begin_change(false);
	kernel.signal = signal;
	kernel.interrupted = order;
	kernel.resumed = resumed;
	pid = fork();
	if (!pid) {
		without_dump(signal);
		dm_start("tank", "0001", 8, "new", false, &err);
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == signal && *resumed == 1);
	munmap(resumed, sizeof(*resumed));
}

/* No device without a table stays, which would look like the pool. */
static void test_start_interrupted(void)
{
	/* the terminal has a key for two of them; the last one is a closed pipe's */
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		start_interrupted(DM_DEVICE_CREATE, signals[i]);
		start_interrupted(DM_DEVICE_RELOAD, signals[i]);
	}
}

/* From then on neither a key of the terminal nor a closed pipe ends the command. */
static void test_shield(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };
	size_t i;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
			without_dump(signals[i]);
		drain_shield();
		for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
			raise(signals[i]);
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* A device without a table is none that another target has, and is told apart from a pool. */
static void test_no_table(void)
{
	struct err err = { 0 };

	begin_change(false);
	kernel.error = ENXIO;
	expect(dm_message("tank", "clear", NULL, &err) && strstr(err.why, "has no table"));
	expect(strstr(err.mend, "dmsetup remove NAME"));
	kernel.sectors = 8;
	expect(dm_message("tank", "clear", NULL, &err) && !strstr(err.why, "has no table"));
	kernel.error = EINVAL;
	expect(dm_message("tank", "clear", NULL, &err) && strstr(err.why, "another target"));
}

int main(void)
{
	test_udev_late();
	test_change_refused();
	test_start_interrupted();
	test_shield();
	test_no_table();
	memset(&kernel, 0, sizeof(kernel));
	test_listed();
	test_not_asked();
	printf("%u passed, %u failed\n", passed, failed);
	return !!failed;
}
