// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of commands on several pools that run, some of which cannot be asked; and of what
 * device-mapper has of a pool that does not run. The answers of device-mapper are made up.
 */
#define _GNU_SOURCE
#include <json-c/json.h>
#include <stdlib.h>
#include <unistd.h>

#include "boot.h"
#include "ctl.h"
#include "dm.h"
#include "expect.h"
#include "image.h"
#include "pool_lock.h"

extern const struct command cmd_events, cmd_list, cmd_rename, cmd_status;

/* --- in place of libkvpool/dm.c ----------------------------------------------------------- */

#define LONG_NAME	"l123456789012345678901234567890123456789012345678901234567890123"

static struct {
	const char *pools[5];		/* those that run; a name with '-' does not answer */
	const char *image;		/* device-mapper has this UUID, too */
	bool live;			/* with a table */
	bool keeps_name;		/* a device cannot be renamed */
	char sent[4][128];		/* messages, but for questions */
	unsigned int sent_count;
} world;

void (*dm_udev_late)(const char *name);

static void fill(struct dm_entry *e, const char *name)
{
	*e = (struct dm_entry){ .live = true };
	snprintf(e->name, sizeof(e->name), "%s", name);
	snprintf(e->uuid, sizeof(e->uuid), "0f0e0d0c-0b0a-0908-0706-0504030201%02x", *name);
}

int dm_list(struct dm_entry **list, unsigned int *count, struct err *err)
{
	(void)err;
	*list = calloc(sizeof(world.pools) / sizeof(*world.pools), sizeof(**list));
	for (*count = 0; world.pools[*count]; ++*count)
		fill(&(*list)[*count], world.pools[*count]);
	return 0;
}

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	unsigned int i;

	for (i = 0; world.pools[i]; i++) {
		fill(e, world.pools[i]);
		if (!strcmp(e->name, name) || !strcmp(e->uuid, name))
			return 0;
	}
	fill(e, "image");
	e->live = world.live;
	return world.image && !strcmp(name, world.image) ? 0 :
	       err_set(err, ERR_NOT_FOUND, name, "-", "no such pool is active");
}

int dm_message(const char *name, const char *message, char **answer, struct err *err)
{
	char uuid[UUID_BUF] = "";
	struct dm_entry e;

	if (strchr(name, '-'))
		return err_set(err, ERR_KERNEL, name, "-", "it does not answer");
	if (!answer) {
		snprintf(world.sent[world.sent_count++ % 4], sizeof(world.sent[0]), "%s", message);
		return 0;
	}
	fill(&e, name);
	snprintf(uuid, sizeof(uuid), "%s", e.uuid);
	if (asprintf(answer, !strcmp(message, "stats") ? "name=%s\nuuid=%s\nstate=online\nmode=rw\n"
		     "losses_survivable=1\n" : !strncmp(message, "events", 6) ?
		     "1 1700000000 created name=%s uuid=%s\n" : "", name, uuid) < 0)
		abort();
	return 0;
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

int dm_rename(const char *name, const char *to, struct err *err)
{
	(void)to;
	return world.keeps_name ? err_set(err, ERR_KERNEL, name, "-", "it keeps its name") : 0;
}

int dm_start(const char *name, const char *uuid, u64 sectors, const char *params, bool readonly,
	     struct err *err)
{
	(void)uuid, (void)sectors, (void)params, (void)readonly;
	return err_set(err, ERR_KERNEL, name, "-", "no kernel");
}

int dm_table(const char *name, u64 *sectors, char **params, struct err *err)
{
	*params = NULL;
	*sectors = 0;
	return err_set(err, ERR_KERNEL, name, "-", "no kernel");
}

int dm_reload(const char *name, u64 sectors, const char *params, u64 old_sectors, const char *old,
	      struct err *err)
{
	(void)sectors, (void)params, (void)old_sectors, (void)old;
	return err_set(err, ERR_KERNEL, name, "-", "no kernel");
}

int dm_stop(const char *name, struct err *err)
{
	return err_set(err, ERR_KERNEL, name, "-", "no kernel");
}

int dm_resume(const char *name, struct err *err)
{
	return err_set(err, ERR_KERNEL, name, "-", "no kernel");
}

void dm_above(dev_t rdev, u64 offset, u64 bytes, struct dm_above *a)
{
	(void)rdev, (void)offset, (void)bytes;
	memset(a, 0, sizeof(*a));
}

int module_load(struct err *err)
{
	return err_set(err, ERR_MODULE, "dm-kvpool", "-", "no kernel");
}

bool module_version(char *buf, size_t size)
{
	(void)buf, (void)size;
	return false;
}

bool module_starts_degraded(void)
{
	return false;
}

/* --- a run of a command ------------------------------------------------------------------- */

static char out[8192], errors[4096];
static char dir[] = "/tmp/running.XXXXXX";

static int run(const struct command *cmd, bool json, const char *const *words)
{
	struct ctl ctl = { .cmd = cmd, .json = json };
	FILE *was_out = stdout, *was_errors = stderr;
	char copy[8][128], *argv[9] = { NULL };
	int argc = 0, ret;

	for (; words[argc]; argc++) {
		snprintf(copy[argc], sizeof(copy[argc]), "%s", words[argc]);
		argv[argc] = copy[argc];
	}
	memset(out, 0, sizeof(out));
	memset(errors, 0, sizeof(errors));
	stdout = fmemopen(out, sizeof(out) - 1, "w");
	stderr = fmemopen(errors, sizeof(errors) - 1, "w");
	optind = 0;
	ret = cmd->run(&ctl, argc, argv);
	pool_unlock();
	fclose(stdout);
	fclose(stderr);
	stdout = was_out;
	stderr = was_errors;
	return ret;
}

#define RUN(cmd, json, ...) run(cmd, json, (const char *const[]){ __VA_ARGS__, NULL })

static unsigned int lines(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* --- pools that cannot be asked ------------------------------------------------------------- */

/* Is the output one object, and is that an error of the pool @name? */
static bool is_error(const char *name)
{
	json_object *o = json_tokener_parse(out);
	bool is = o && lines(out) == 1 && !strcmp(json_text_at(o, "error.what"), name);

	json_object_put(o);
	return is;
}

/* An error object replaces the whole output: one, however many pools cannot be asked. */
static void test_one_object(void)
{
	expect(RUN(&cmd_list, true, "list") == EXIT_FAILED && is_error("bad-1"));
	expect(strstr(errors, "bad-1") && strstr(errors, "bad-2"));
	expect(RUN(&cmd_status, true, "status", "-d", dir) == EXIT_FAILED && is_error("bad-1"));
	expect(strstr(errors, "bad-1") && strstr(errors, "bad-2"));
	/* people see those that answer */
	expect(RUN(&cmd_list, false, "list", "-H", "-o", "name") == EXIT_FAILED);
	expect(!strcmp(out, "alpha\ncharlie\n"));
}

/* It hides no events of others. */
static void test_events_of_others(void)
{
	expect(RUN(&cmd_events, false, "events") == EXIT_FAILED);
	expect(lines(out) == 2 && strstr(out, " alpha created ") && strstr(out, " charlie "));
	expect(strstr(errors, "bad-1") && strstr(errors, "bad-2"));
	expect(RUN(&cmd_events, false, "events", "bad-2") == EXIT_FAILED && !*out);
}

/* --- names ---------------------------------------------------------------------------------- */

/* The labels get back all of the old name. */
static void test_rename_back(void)
{
	world.pools[0] = LONG_NAME;
	world.pools[1] = NULL;
	world.keeps_name = true;
	expect(RUN(&cmd_rename, false, "rename", LONG_NAME, "short") == EXIT_FAILED);
	expect(world.sent_count == 2 && !strcmp(world.sent[0], "rename short"));
	expect(!strcmp(world.sent[1], "rename " LONG_NAME));
	world.keeps_name = false;
}

/* --- boot ----------------------------------------------------------------------------------- */

/*
 * A start that was killed leaves a device without a table, and one that goes on has none yet. The
 * import finds out which, once it has the lock: it does not end here as if the pool ran.
 */
static void test_boot_without_table(void)
{
	const struct found_pool *p;
	const char *places[2], *why;
	struct boot_request b = { .places = places, .place_count = 2 };
	struct image m;
	struct err err;
	struct scan s;

	image_standard(&m, 2, IMAGE_SMALL);
	places[0] = b.leg = m.path[0];
	places[1] = m.path[1];
	expect(boot_find(&b, &s, &p, &why, &err) == 1);
	scan_free(&s);
	world.image = "50505050-5050-5050-5050-505050505050";
	world.live = true;
	expect(!boot_find(&b, &s, &p, &why, &err) && strstr(why, "active"));
	world.live = false;
	expect(boot_find(&b, &s, &p, &why, &err) == 1);
	expect(p == &s.pools[0]);
	scan_free(&s);
	image_free(&m);
}

int main(void)
{
	device_takes_files = true;
	pool_lock_dir = mkdtemp(dir);
	world.pools[0] = "alpha";
	world.pools[1] = "bad-1";
	world.pools[2] = "bad-2";
	world.pools[3] = "charlie";
	test_one_object();
	test_events_of_others();
	test_rename_back();
	world.pools[0] = NULL;
	test_boot_without_table();
	if (chdir(dir) || unlink("kvpoolctl-0f0e0d0c-0b0a-0908-0706-05040302016c.lock"))
		perror(dir);
	rmdir(dir);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
