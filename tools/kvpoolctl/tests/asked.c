// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of libkvpool/dm.c: which pools run. Functions here stand for those of libdevmapper
 * that ask the kernel, and for /proc/misc.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <unistd.h>

#include "ctl.h"
#include "dm.h"
#include "expect.h"

/* --- the kernel ------------------------------------------------------------------------- */

/* "a" and "c" are pools, "b" is not. */
static struct {
	const char *misc;		/* /proc/misc; NULL: it cannot be read */
	const char *fails, *gone;	/* that device cannot be asked; has gone */
	int error;			/* that libdevmapper tells */
	bool list_fails;
} kernel;

struct dm_task {
	int type;
	char name[16];
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

int dm_task_run(struct dm_task *t)
{
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

int main(void)
{
	test_listed();
	test_not_asked();
	printf("%u passed, %u failed\n", passed, failed);
	return !!failed;
}
