// SPDX-License-Identifier: GPL-2.0-only
/* The only file that uses libdevmapper. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdevmapper.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dm.h"
#include "interrupts.h"

#define TARGET		"kvpool"
#define PARAMETERS	"/sys/module/dm_kvpool/parameters/"
#define LAST_REFUSAL	PARAMETERS "last_refusal"
/* Of tables and starts alone: others may send messages meanwhile. Older modules lack it. */
#define LAST_TABLE	PARAMETERS "last_table_refusal"
#define UDEV_PATIENCE	120		/* seconds */

static void __attribute__((format(printf, 5, 6)))
no_log(int level, const char *file, int line, int code, const char *format, ...)
{
	(void)level, (void)file, (void)line, (void)code, (void)format;
}

/* Is device-mapper in this kernel? Without it no pool can run. If that cannot be read: perhaps. */
static bool have_dm(void)
{
	FILE *f = fopen("/proc/misc", "re");
	char name[64];
	bool found = !f;

	while (f && !found && fscanf(f, "%*d %63s", name) == 1)
		found = !strcmp(name, "device-mapper");
	if (f)
		fclose(f);
	return found;
}

static struct dm_task *task_new(int type, const char *name)
{
	static bool ready;
	struct dm_task *t;

	if (!ready) {
		dm_log_with_errno_init(no_log);
		ready = true;
	}
	t = dm_task_create(type);
	if (t && name && !dm_task_set_name(t, name)) {
		dm_task_destroy(t);
		t = NULL;
	}
	return t;
}

/* Errno of a failed task; libdevmapper does not always set one. */
static int task_errno(struct dm_task *t)
{
	int e = t ? dm_task_get_errno(t) : ENOMEM;

	return e ?: EIO;
}

static int task_failed(int e, const char *name, const char *doing, struct err *err)
{
	/* without root libdevmapper makes no task and gives no reason */
	if (geteuid())
		return err_set(err, ERR_PERMISSION, name, "run as root",
			       "%s: only root may use device-mapper", doing);
	if (e == ETIME)
		return err_set(err, ERR_KERNEL, name,
			       "look after udev: systemctl status systemd-udevd",
			       "%s: udev has not answered for %d s", doing, UDEV_PATIENCE);
	return err_set(err, ERR_KERNEL, name, "check that device-mapper works: dmsetup version",
		       "%s: %s", doing, strerror(e));
}

/* Waits with a time limit: a worker of udev may have died, or was told to stop. */
static int wait_for_udev(uint32_t cookie)
{
	int ready = 0, i;

	for (i = 0; i < UDEV_PATIENCE * 100; i++) {
		if (!dm_udev_wait_immediate(cookie, &ready) || ready)
			return ready ? 0 : EIO;
		usleep(10000);
	}
	dm_udev_complete(cookie);
	dm_udev_wait(cookie);
	return ETIME;
}

void (*dm_udev_late)(const char *name);

/*
 * Runs a task that changes a device, and waits until udev has made its node. Where udev does not
 * run, as in a rescue shell, there is no cookie: libdevmapper makes the node.
 * @late: receives ETIME or another error if udev does not say that it has ended; else 0
 *
 * Return: 0 if the kernel has made the change, however late udev is; else errno.
 */
static int run_with_udev(struct dm_task *t, int *late)
{
	uint32_t cookie = 0;
	int e = 0;

	*late = 0;
	if (!dm_task_set_cookie(t, &cookie, 0))
		return EIO;
	if (!dm_task_run(t))
		e = task_errno(t);
	if (cookie)
		*late = wait_for_udev(cookie);
	dm_task_update_nodes();
	return e;
}

/* The change was made: to undo it, or to call it failed, would be wrong. */
static void note_late(const char *name, int late)
{
	if (late && dm_udev_late)
		dm_udev_late(name);
}

/* --- the module's reasons ---------------------------------------------- */

/* Removes an old refusal, so that a later one belongs to our next action. */
static void clear(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "\n", 1) < 0)
		errno = 0;	/* the next refusal replaces the old one in any case */
	close(fd);
}

static void clear_refusal(void)
{
	clear(LAST_REFUSAL);
	clear(LAST_TABLE);
}

/* Return: false if there is no such file. */
static bool read_from(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	buf[n < 0 ? 0 : n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	text_clean(buf, "");
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Why a table was refused, or a start. */
static void read_refusal(char *buf, size_t size)
{
	if (!read_from(LAST_TABLE, buf, size) && read_from(LAST_REFUSAL, buf, size) &&
	    !strncmp(buf, "message ", 8))
		*buf = 0;
}

/* Splits "what | why | mend"; the error is about @name. */
static int refusal_set(char *text, const char *name, struct err *err)
{
	char *why = strstr(text, " | "), *mend = why ? strstr(why + 3, " | ") : NULL;

	if (!mend)
		return err_set(err, ERR_REFUSED, name, "see docs/dm-interface.md", "%s", text);
	*mend = 0;
	return err_set(err, ERR_REFUSED, name, mend + 3, "%s", why + 3);
}

/* --- finding pools ------------------------------------------------------ */

/*
 * 1: @e is the pool of that name; 0: that device is no pool, or has gone meanwhile; else -errno.
 * What cannot be asked is not absent.
 */
static int entry_read(const char *name, struct dm_entry *e)
{
	struct dm_task *t = task_new(DM_DEVICE_INFO, name);
	const char *uuid = NULL;
	struct dm_info info;
	int ret;

	memset(e, 0, sizeof(*e));
	ret = t && dm_task_run(t) && dm_task_get_info(t, &info) ? 0 : -task_errno(t);
	if (!ret && info.exists)
		uuid = dm_task_get_uuid(t);
	if (uuid && !strncmp(uuid, DM_POOL_PREFIX, strlen(DM_POOL_PREFIX))) {
		snprintf(e->name, sizeof(e->name), "%s", name);
		snprintf(e->uuid, sizeof(e->uuid), "%s", uuid + strlen(DM_POOL_PREFIX));
		e->rdev = makedev(info.major, info.minor);
		e->open_count = (unsigned int)info.open_count;
		e->suspended = info.suspended;
		e->readonly = info.read_only;
		e->live = info.live_table;
		ret = 1;
	}
	if (t)
		dm_task_destroy(t);
	return ret;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct dm_entry *)a)->name, ((const struct dm_entry *)b)->name);
}

/* Return: 0 or -errno. */
static int collect(struct dm_names *names, struct dm_entry **list, unsigned int *count)
{
	struct dm_entry *more;
	int ret;

	if (!names || !names->dev)
		return 0;
	for (;;) {
		more = realloc(*list, (*count + 1) * sizeof(**list));
		if (!more)
			return -ENOMEM;
		*list = more;
		ret = entry_read(names->name, &more[*count]);
		if (ret < 0)
			return ret;
		*count += (unsigned int)ret;
		if (!names->next)
			return 0;
		names = (struct dm_names *)((char *)names + names->next);
	}
}

int dm_list(struct dm_entry **list, unsigned int *count, struct err *err)
{
	struct dm_task *t;
	int ret;

	*list = NULL;
	*count = 0;
	if (!have_dm())
		return 0;
	t = task_new(DM_DEVICE_LIST, NULL);
	ret = t && dm_task_run(t) ? collect(dm_task_get_names(t), list, count) : -task_errno(t);
	if (t)
		dm_task_destroy(t);
	if (ret) {
		ret = task_failed(-ret, "pools", "cannot be listed", err);
		*count = 0;
		free(*list);
		*list = NULL;
	} else if (*count) {
		qsort(*list, *count, sizeof(**list), by_name);
	}
	return ret;
}

int dm_find(const char *name, struct dm_entry *e, struct err *err)
{
	struct dm_entry *list;
	unsigned int i, count;

	if (dm_list(&list, &count, err))
		return -1;
	for (i = 0; i < count; i++) {
		if (strcmp(list[i].name, name) && strcasecmp(list[i].uuid, name))
			continue;
		*e = list[i];
		free(list);
		return 0;
	}
	free(list);
	return err_set(err, ERR_NOT_FOUND, name,
		       "'kvpoolctl list' shows what runs, 'kvpoolctl import' what can be imported",
		       "no such pool is active");
}

bool dm_name_used(const char *name)
{
	struct dm_task *t;
	struct dm_info info;
	bool used;

	if (!have_dm())
		return false;
	t = task_new(DM_DEVICE_INFO, name);
	used = t && dm_task_run(t) && dm_task_get_info(t, &info) && info.exists;
	if (t)
		dm_task_destroy(t);
	return used;
}

bool dm_is_pool(dev_t rdev)
{
	char path[64], uuid[sizeof(DM_POOL_PREFIX)] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/dm/uuid", major(rdev), minor(rdev));
	f = fopen(path, "re");
	if (f && !fgets(uuid, sizeof(uuid), f))
		*uuid = 0;
	if (f)
		fclose(f);
	return !strcmp(uuid, DM_POOL_PREFIX);
}

/* --- starting and stopping ---------------------------------------------- */

static int dev_create(const char *name, const char *uuid)
{
	struct dm_task *t = task_new(DM_DEVICE_CREATE, name);
	char dm_uuid[sizeof(DM_POOL_PREFIX) + UUID_LEN];
	int e = 0;

	snprintf(dm_uuid, sizeof(dm_uuid), DM_POOL_PREFIX "%s", uuid);
	if (!t || !dm_task_set_uuid(t, dm_uuid) || !dm_task_run(t))
		e = task_errno(t);
	if (t)
		dm_task_destroy(t);
	return e;
}

static int dev_load(const char *name, u64 sectors, const char *params, bool readonly)
{
	struct dm_task *t = task_new(DM_DEVICE_RELOAD, name);
	int e = 0;

	if (!t || (readonly && !dm_task_set_ro(t)) ||
	    !dm_task_add_target(t, 0, sectors, TARGET, params) || !dm_task_run(t))
		e = task_errno(t);
	if (t)
		dm_task_destroy(t);
	return e;
}

/* @late: as of run_with_udev() */
static int dev_resume_late(const char *name, int *late)
{
	struct dm_task *t = task_new(DM_DEVICE_RESUME, name);
	int e = t ? run_with_udev(t, late) : ENOMEM;

	if (t)
		dm_task_destroy(t);
	return e;
}

static int dev_resume(const char *name)
{
	int late = 0, e = dev_resume_late(name, &late);

	note_late(name, late);
	return e;
}

/* @late: as of run_with_udev() */
static int dev_remove_late(const char *name, int *late)
{
	struct dm_task *t = task_new(DM_DEVICE_REMOVE, name);
	int e = ENOMEM;

	/* udev may have the device open for a moment */
	if (t && dm_task_retry_remove(t))
		e = run_with_udev(t, late);
	if (t)
		dm_task_destroy(t);
	return e;
}

static int dev_remove(const char *name)
{
	int late = 0, e = dev_remove_late(name, &late);

	note_late(name, late);
	return e;
}

int dm_rename(const char *name, const char *to, struct err *err)
{
	struct dm_task *t = task_new(DM_DEVICE_RENAME, name);
	int e = ENOMEM, late = 0;

	if (t && dm_task_set_newname(t, to))
		e = run_with_udev(t, &late);
	if (t)
		dm_task_destroy(t);
	note_late(to, late);
	return e ? task_failed(e, name, "cannot be renamed", err) : 0;
}

static int start(const char *name, const char *uuid, u64 sectors, const char *params, bool readonly,
		 struct err *err)
{
	const char *doing = "its table cannot be loaded";
	char refusal[1024];
	int e, late = 0;

	e = dev_create(name, uuid);
	if (e == EBUSY)
		return err_set(err, ERR_ACTIVE, name, "see 'kvpoolctl list' and 'dmsetup ls'",
			       "a mapped device with this name or UUID exists");
	if (e)
		return task_failed(e, name, "cannot be created", err);
	clear_refusal();
	e = dev_load(name, sectors, params, readonly);
	if (!e) {
		doing = "cannot be started";
		e = dev_resume_late(name, &late);
	}
	/* Without its node no program can use it: it is as if it had not started. */
	e = e ?: late;
	if (!e)
		return 0;
	read_refusal(refusal, sizeof(refusal));
	/* The error tells of udev; what the user has ordered is not done. */
	dev_remove_late(name, &late);
	return *refusal ? refusal_set(refusal, name, err) : task_failed(e, name, doing, err);
}

/* If this ended in the middle, a device without a table would stay, and have the pool's name. */
int dm_start(const char *name, const char *uuid, u64 sectors, const char *params, bool readonly,
	     struct err *err)
{
	sigset_t before;
	int ret;

	if (!have_dm())
		return err_set(err, ERR_KERNEL, name, "modprobe dm-mod",
			       "this kernel has no device-mapper");
	interrupts_hold(&before);
	ret = start(name, uuid, sectors, params, readonly, err);
	interrupts_release(&before);
	return ret;
}

int dm_table(const char *name, u64 *sectors, char **params, struct err *err)
{
	struct dm_task *t = task_new(DM_DEVICE_TABLE, name);
	char *type = NULL, *text = NULL;
	uint64_t start, length = 0;
	int ret = 0;

	*params = NULL;
	*sectors = 0;
	if (!t || !dm_task_run(t))
		return task_failed(task_errno(t), name, "its table cannot be read", err);
	dm_get_next_target(t, NULL, &start, &length, &type, &text);
	if (type && text && !strcmp(type, TARGET))
		*params = strdup(text);
	*sectors = length;
	if (!*params)
		ret = err_set(err, ERR_KERNEL, name, "see dmsetup table",
			      "it has no table of a pool");
	dm_task_destroy(t);
	return ret;
}

/* Does @refusal say that leg @leg is gone? */
static bool leg_gone(const char *refusal, char leg[32])
{
	const char *at = strstr(refusal, "leg ");
	char error[16];

	return at && sscanf(at, "leg %31s cannot be opened: -%15s", leg, error) == 2 &&
	       (!strcmp(error, "ENXIO") || !strcmp(error, "ENODEV"));
}

/* Puts "-" in place of the word @leg; false: there is no such word. */
static bool leave_out(char *params, const char *leg)
{
	size_t len = strlen(leg);
	char *at = params;

	while ((at = strstr(at, leg)) &&
	       !(at > params && at[-1] == ' ' && (at[len] == ' ' || !at[len])))
		at++;
	if (!at || !len)
		return false;
	*at = '-';
	memmove(at + 1, at + len, strlen(at + len) + 1);
	return true;
}

/*
 * Loads the old table again. A device that has gone was held open by the running table, and cannot
 * be opened again: the table is then loaded without it. The user can mend any other fault of a leg.
 */
static int load_again(const char *name, u64 sectors, const char *old)
{
	char *params = strdup(old), refusal[1024], leg[32];
	int e;

	if (!params)
		return ENOMEM;
	for (;;) {
		clear_refusal();
		e = dev_load(name, sectors, params, false);
		if (!e)
			break;
		read_refusal(refusal, sizeof(refusal));
		if (!leg_gone(refusal, leg) || !leave_out(params, leg))
			break;
	}
	free(params);
	return e;
}

/*
 * Resumes with the loaded table; waiting I/O continues there. Returns to @old if the resume fails.
 */
static int resume_or_go_back(const char *name, u64 sectors, const char *old, struct err *err)
{
	char refusal[1024], why[sizeof(err->why)];
	int e = dev_resume(name);

	if (!e)
		return 0;
	read_refusal(refusal, sizeof(refusal));
	if (*refusal)
		refusal_set(refusal, name, err);
	else
		task_failed(e, name, "cannot be resumed", err);
	/* The pool stopped cleanly when its table was taken away, so it starts again. */
	if (load_again(name, sectors, old) || dev_resume(name)) {
		memcpy(why, err->why, sizeof(why));
		return err_set(err, ERR_FAILED, name,
			       "dmsetup resume, once that is mended; or export and import it",
			       "%.200s; the pool is suspended, as its old table does not start "
			       "again, and waiting I/O goes on waiting", why);
	}
	err->code = ERR_FAILED;
	return -1;
}

int dm_reload(const char *name, u64 sectors, const char *params, u64 old_sectors, const char *old,
	      struct err *err)
{
	char refusal[1024];
	int e;

	clear_refusal();
	e = dev_load(name, sectors, params, false);
	if (!e)
		return resume_or_go_back(name, old_sectors, old, err);
	read_refusal(refusal, sizeof(refusal));
	return *refusal ? refusal_set(refusal, name, err) :
			  task_failed(e, name, "its table cannot be loaded", err);
}

int dm_stop(const char *name, struct err *err)
{
	int e = dev_remove(name);

	if (!e)
		return 0;
	if (e == EBUSY)
		return err_set(err, ERR_BUSY, name, "see what uses it: lsblk, fuser",
			       "the device is in use");
	return task_failed(e, name, "cannot be removed", err);
}

int dm_resume(const char *name, struct err *err)
{
	int e = dev_resume(name);

	return e ? task_failed(e, name, "cannot be resumed", err) : 0;
}

/* Has the device a table, and of another target? */
static bool lacks_pool(const char *name)
{
	char *params;
	struct err err;
	u64 sectors;
	bool lacks = dm_table(name, &sectors, &params, &err) && sectors;

	free(params);
	return lacks;
}

/* Has the device no table at all? A start that was killed leaves such a one. */
static bool lacks_table(const char *name)
{
	char *params;
	struct err err;
	u64 sectors;
	bool lacks = dm_table(name, &sectors, &params, &err) && err.code == ERR_KERNEL && !sectors;

	free(params);
	return lacks;
}

/* Sets @err to the module's reason for refusing a message. */
static int message_failed(const char *name, const char *message, int e, struct err *err)
{
	char refusal[1024], subject[64], doing[160];

	if (e == EROFS)
		return err_set(err, ERR_READ_ONLY, name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	read_from(LAST_REFUSAL, refusal, sizeof(refusal));
	snprintf(subject, sizeof(subject), "message %.*s |", (int)strcspn(message, " "), message);
	if (!strncmp(refusal, subject, strlen(subject))) {
		refusal_set(refusal, name, err);
		/* the module tried and failed: something may have changed */
		if (err && (e == EIO || e == ENOMEM))
			err->code = ERR_KERNEL;
		return -1;
	}
	snprintf(doing, sizeof(doing), "message '%.100s'", message);
	if (geteuid())
		return task_failed(e, name, doing, err);
	if (e == EINVAL && lacks_pool(name))
		return err_set(err, ERR_KERNEL, name,
			       "end what uses the device (lsblk, fuser), then dmsetup remove "
			       "NAME, and kvpoolctl import NAME",
			       "the pool does not run: its device has the table of another "
			       "target, as dmsetup remove --force leaves it");
	if (e == ENXIO && lacks_table(name))
		return err_set(err, ERR_KERNEL, name,
			       "if no other command starts it: dmsetup remove NAME, then kvpoolctl "
			       "import NAME",
			       "its device has no table: another command starts it, or was killed "
			       "while it did");
	return err_set(err, ERR_KERNEL, name, "see kvpoolctl status and kvpoolctl events",
		       "%s: %s", doing, strerror(e));
}

int dm_message(const char *name, const char *message, char **answer, struct err *err)
{
	struct dm_task *t = task_new(DM_DEVICE_TARGET_MSG, name);
	const char *text;
	int ret = 0;

	/* Some callers repeat a question. It leaves the last refusal for other readers. */
	if (!answer)
		clear_refusal();
	if (!t || !dm_task_set_sector(t, 0) || !dm_task_set_message(t, message) ||
	    !dm_task_run(t)) {
		ret = message_failed(name, message, task_errno(t), err);
	} else if (answer) {
		text = dm_task_get_message_response(t);
		*answer = strdup(text ?: "");
		if (*answer)
			text_clean(*answer, "\n");
		else
			ret = err_set(err, ERR_FAILED, name, "free some memory", "out of memory");
	}
	if (t)
		dm_task_destroy(t);
	return ret;
}

/* --- the module ----------------------------------------------------------- */

/* Device-mapper answers only root; sysfs answers everyone. */
static bool version_in_sys(char *buf, size_t size)
{
	FILE *f = fopen("/sys/module/dm_kvpool/version", "re");
	bool found = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	if (found)
		buf[strcspn(buf, "\n")] = 0;
	return found;
}

bool module_version(char *buf, size_t size)
{
	struct dm_task *t = have_dm() ? task_new(DM_DEVICE_LIST_VERSIONS, NULL) : NULL;
	struct dm_versions *v = NULL;
	bool found = false;

	if (t && dm_task_run(t))
		v = dm_task_get_versions(t);
	while (v && !found) {
		found = !strcmp(v->name, TARGET);
		if (found)
			snprintf(buf, size, "%u.%u.%u", v->version[0], v->version[1],
				 v->version[2]);
		v = v->next ? (struct dm_versions *)((char *)v + v->next) : NULL;
	}
	if (t)
		dm_task_destroy(t);
	return found || (geteuid() && version_in_sys(buf, size));
}

bool module_starts_degraded(void)
{
	FILE *f = fopen("/sys/module/dm_kvpool/parameters/degraded_start", "re");
	bool yes = f && fgetc(f) == 'Y';

	if (f)
		fclose(f);
	return yes;
}

/* The first line that comes from @fd, without the newline; the rest is read and dropped. */
static void read_first_line(int fd, char *buf, size_t size)
{
	char rest[256];
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = 0;
	buf[strcspn(buf, "\n")] = 0;
	while (read(fd, rest, sizeof(rest)) > 0)
		;
}

/* @said: first line of modprobe's errors, empty if there is none */
static void run_modprobe(char *said, size_t size)
{
	int fds[2], status;
	pid_t pid;

	*said = 0;
	if (pipe2(fds, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		if (dup2(fds[1], 1) >= 0 && dup2(fds[1], 2) >= 0)
			execlp("modprobe", "modprobe", "dm-kvpool", NULL);
		_exit(127);
	}
	close(fds[1]);
	if (pid > 0) {
		read_first_line(fds[0], said, size);
		waitpid(pid, &status, 0);
	}
	close(fds[0]);
}

int module_load(struct err *err)
{
	char version[32], said[256];

	if (module_version(version, sizeof(version)))
		return 0;
	if (geteuid())
		return err_set(err, ERR_PERMISSION, "dm-kvpool", "run as root",
			       "the module is not loaded, and only root can load it");
	run_modprobe(said, sizeof(said));
	if (module_version(version, sizeof(version)))
		return 0;
	return err_set(err, ERR_MODULE, "dm-kvpool",
		       "install it for this kernel (make install or DKMS), with Secure Boot "
		       "signed, then modprobe dm-kvpool",
		       "the module is not loaded and modprobe cannot load it%s%s",
		       *said ? ": " : "",
		       said);
}

/* --- what is stacked on a device ---------------------------------------------- */

/* Is @rdev among the devices of a target? Words of its parameters are numbers of devices. */
static bool target_has(const char *params, dev_t rdev)
{
	char number[32], *at;
	size_t len = (size_t)snprintf(number, sizeof(number), "%u:%u", major(rdev), minor(rdev));

	for (at = strstr(params, number); at; at = strstr(at + len, number))
		if ((at == params || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/* One target of a device above: does it begin before the end of @a, or hold all of it? */
static void above_target(const char *name, dev_t upper, const char *type, const char *params,
			 u64 start, u64 length, dev_t rdev, u64 offset, struct dm_above *a)
{
	unsigned int ma, mi;
	u64 from;

	if (!target_has(params, rdev))
		return;
	if (strcmp(type, "linear") ||
	    sscanf(params, "%u:%u %" SCNu64, &ma, &mi, &from) != 3) {
		if (a->kind == DM_ABOVE_NONE) {
			a->kind = DM_ABOVE_OTHER;
			snprintf(a->what, sizeof(a->what), "%.128s (%.32s)", name, type);
		}
		return;
	}
	if (offset >= from * 512 && offset - from * 512 < length * 512) {
		u64 inside = offset - from * 512;

		a->kind = DM_ABOVE_LINEAR;
		a->rdev = upper;
		a->offset = start * 512 + inside;
		if (length * 512 - inside < a->bytes)
			a->bytes = length * 512 - inside;
		snprintf(a->what, sizeof(a->what), "%.128s", name);
	} else if (from * 512 > offset && from * 512 - offset < a->bytes) {
		a->bytes = from * 512 - offset;
	}
}

static void above_device(const char *name, dev_t rdev, u64 offset, struct dm_above *a)
{
	struct dm_task *t = task_new(DM_DEVICE_TABLE, name);
	char *type = NULL, *params = NULL;
	uint64_t start, length;
	struct dm_info info;
	void *next = NULL;

	if (t && dm_task_run(t) && dm_task_get_info(t, &info) && info.exists) {
		do {
			next = dm_get_next_target(t, next, &start, &length, &type, &params);
			if (type && params)
				above_target(name, makedev(info.major, info.minor), type, params,
					     start, length, rdev, offset, a);
		} while (next);
	}
	if (t)
		dm_task_destroy(t);
}

void dm_above(dev_t rdev, u64 offset, u64 bytes, struct dm_above *a)
{
	char path[384], name[256];
	struct dirent *e;
	DIR *dir;
	FILE *f;

	memset(a, 0, sizeof(*a));
	a->bytes = bytes;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(rdev), minor(rdev));
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/block/%.255s/dm/name", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f)) {
			name[strcspn(name, "\n")] = 0;
			above_device(name, rdev, offset, a);
		} else if (a->kind == DM_ABOVE_NONE) {
			a->kind = DM_ABOVE_OTHER;
			snprintf(a->what, sizeof(a->what), "%.200s", e->d_name);
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}
