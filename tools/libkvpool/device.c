// SPDX-License-Identifier: GPL-2.0-only
/* Block devices, from /sys, /proc and the device itself. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "reader.h"
#include "watched.h"

#define MAX_DEPTH	8	/* of devices stacked on each other */

unsigned int device_patience = WATCHED_PATIENCE;
bool device_takes_files;

void *blocks_alloc(u32 count)
{
	void *p;

	if (posix_memalign(&p, KVP_BLOCK_SIZE, (size_t)count << KVP_BLOCK_SHIFT))
		return NULL;
	return p;
}

void block_xor(void *to, const void *from)
{
	const u64 *source = from;
	u64 *sum = to;
	size_t i;

	for (i = 0; i < KVP_BLOCK_SIZE / sizeof(*sum); i++)
		sum[i] ^= source[i];
}

static int probe_block(struct device *d, struct err *err)
{
	int sector = 0, readonly = 0;
	u64 bytes = 0;

	if (ioctl(d->fd, BLKGETSIZE64, &bytes) || ioctl(d->fd, BLKSSZGET, &sector) ||
	    ioctl(d->fd, BLKROGET, &readonly))
		return err_set(err, ERR_IO, d->path, "check the device", "%s", strerror(errno));
	d->bytes = bytes;
	d->sector = (unsigned int)sector;
	d->readonly = readonly;
	return 0;
}

int device_open_now(const char *path, bool allow_file, struct device *d, struct err *err)
{
	const char *mend = "check the path";
	struct stat st;

	memset(d, 0, sizeof(*d));
	d->fd = -1;
	if ((size_t)snprintf(d->path, sizeof(d->path), "%s", path) >= sizeof(d->path))
		return err_set(err, ERR_USAGE, "device", mend, "its path is too long");
	if (stat(path, &st))
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, path, mend, "%s",
			       strerror(errno));
	if (!S_ISBLK(st.st_mode) &&
	    !((allow_file || device_takes_files) && S_ISREG(st.st_mode)))
		return err_set(err, ERR_NOT_BLOCK_DEVICE, path,
			       "name a block device; a file needs losetup first",
			       "not a block device");
	d->fd = open(path, O_RDONLY | O_CLOEXEC | (S_ISBLK(st.st_mode) ? O_DIRECT : 0));
	if (d->fd < 0)
		return err_set(err, errno == EACCES || errno == EPERM ? ERR_PERMISSION : ERR_IO,
			       path, geteuid() && (errno == EACCES || errno == EPERM) ?
			       "run as root" : "check the device", "%s", strerror(errno));
	d->rdev = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	d->file_dev = st.st_dev;
	d->file_ino = st.st_ino;
	d->bytes = (u64)st.st_size;
	d->sector = 512;
	if (d->rdev && probe_block(d, err)) {
		device_close(d);
		return -1;
	}
	d->blocks = d->bytes >> KVP_BLOCK_SHIFT;
	return 0;
}

/* --- devices that hang -------------------------------------------------------------- */

#define SILENT_MAX	KVP_MAX_LEGS

/* Those that have not answered this process lately. */
static struct silent {
	char path[PATH_MAX];
	dev_t rdev, file_dev;	/* @rdev 0: a file */
	ino_t file_ino;
	time_t when;
} *silent;
static unsigned int silent_count;

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static bool is_silent(const struct silent *s, const struct stat *st)
{
	if (now() - s->when > (time_t)device_patience)
		return false;
	if (S_ISBLK(st->st_mode))
		return s->rdev == st->st_rdev;
	return !s->rdev && s->file_dev == st->st_dev && s->file_ino == st->st_ino;
}

void device_note(const char *path, bool hangs)
{
	struct silent *list;
	struct stat st;
	unsigned int i;

	if (stat(path, &st))
		return;
	for (i = 0; i < silent_count; i++)
		if (is_silent(&silent[i], &st))
			silent[i--] = silent[--silent_count];
	if (!hangs || silent_count == SILENT_MAX)
		return;
	list = realloc(silent, (silent_count + 1) * sizeof(*list));
	if (!list)
		return;
	silent = list;
	list = memset(&silent[silent_count++], 0, sizeof(*list));
	snprintf(list->path, sizeof(list->path), "%s", path);
	list->rdev = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	list->file_dev = st.st_dev;
	list->file_ino = st.st_ino;
	list->when = now();
}

static const struct silent *find_silent(const char *path)
{
	struct stat st;
	unsigned int i;

	for (i = 0; silent_count && !stat(path, &st) && i < silent_count; i++)
		if (is_silent(&silent[i], &st))
			return &silent[i];
	return NULL;
}

/* Names the others, too, so that a user need not find them one by one. */
static int refuse_silent(const char *path, struct err *err)
{
	const struct silent *this = find_silent(path);
	char others[300] = "";
	unsigned int i;
	size_t len = 0;

	for (i = 0; i < silent_count; i++)
		if (&silent[i] != this && now() - silent[i].when <= (time_t)device_patience &&
		    len + strlen(silent[i].path) + 16 < sizeof(others))
			len += (size_t)snprintf(others + len, sizeof(others) - len, "%s %s",
						len ? "," : "; nor does", silent[i].path);
	return err_set(err, ERR_IO, path, "see the kernel log; reset the device or take it away",
		       "it does not answer: given up after %u s%s", device_patience, others);
}

/* In a process of its own. An error is an answer, too. */
static int ask(void *arg, FILE *out)
{
	void *buf = blocks_alloc(1);
	struct device d;

	(void)out;
	if (buf && !device_open_now(arg, true, &d, NULL)) {
		device_read(&d, 0, 1, buf);
		device_read(&d, d.blocks - 1, 1, buf);
		device_close(&d);
	}
	free(buf);
	return 0;
}

void device_ask(const char *const *paths, unsigned int count)
{
	struct watched *w = device_patience && count > 1 ? calloc(count, sizeof(*w)) : NULL;
	unsigned int i;

	for (i = 0; w && i < count; i++)
		w[i] = (struct watched){ .work = ask, .arg = (void *)paths[i] };
	if (w)
		watched_all(w, count, (int)device_patience);
	for (i = 0; w && i < count; i++) {
		device_note(paths[i], w[i].error == ETIMEDOUT);
		free(w[i].text);
	}
	free(w);
}

/* seconds for work that may be left out */
#define SOON	5

struct apart {
	int (*work)(void *arg, struct err *err);
	void *arg, *result;
	size_t size;
};

static int work_apart(void *arg, FILE *out)
{
	const struct apart *a = arg;
	struct err err = { 0 };
	int ret = a->work(a->arg, &err);

	return fwrite(&ret, sizeof(ret), 1, out) != 1 || fwrite(&err, sizeof(err), 1, out) != 1 ||
	       (a->size && fwrite(a->result, a->size, 1, out) != 1);
}

static int apart(const char *path, struct apart *a, unsigned int patience, struct err *err)
{
	struct watched w = { .work = work_apart, .arg = a };
	struct err said;
	int ret = -1;

	if (!device_patience)
		return a->work(a->arg, err);
	if (find_silent(path))
		return refuse_silent(path, err);
	watched_all(&w, 1, (int)patience);
	if (w.error == ETIMEDOUT) {
		device_note(path, true);
		refuse_silent(path, err);
	} else if (w.error || w.size != sizeof(ret) + sizeof(said) + a->size) {
		err_set(err, ERR_FAILED, path, "free some memory, then try again",
			"the operation there failed");
	} else {
		memcpy(&ret, w.text, sizeof(ret));
		memcpy(&said, w.text + sizeof(ret), sizeof(said));
		if (a->size)
			memcpy(a->result, w.text + sizeof(ret) + sizeof(said), a->size);
		if (ret && err)
			*err = said;
	}
	free(w.text);
	return ret;
}

int device_apart(const char *path, int (*work)(void *arg, struct err *err), void *arg, void *result,
		 size_t size, struct err *err)
{
	struct apart a = { work, arg, result, size };

	return apart(path, &a, device_patience, err);
}

int device_apart_soon(const char *path, int (*work)(void *arg, struct err *err), void *arg,
		      void *result, size_t size, struct err *err)
{
	struct apart a = { work, arg, result, size };

	return apart(path, &a, device_patience < SOON ? device_patience : SOON, err);
}

/* --- opening ------------------------------------------------------------------------------ */

int device_open(const char *path, bool allow_file, struct device *d, struct err *err)
{
	bool hangs;

	if (!device_patience)
		return device_open_now(path, allow_file, d, err);
	memset(d, 0, sizeof(*d));
	d->fd = -1;
	if (find_silent(path))
		return refuse_silent(path, err);
	if (!reader_start(path, allow_file, d, &hangs, err))
		return 0;
	if (!hangs)
		return -1;
	device_note(path, true);
	return refuse_silent(path, err);
}

static int refuse_other(const char *path, struct err *err)
{
	return err_set(err, ERR_HELD, path, "see what it is now, then ask for it again",
		       "its path leads to another device than when it was checked");
}

int device_reopen(const struct device *was, struct device *d, struct err *err)
{
	if (device_open(was->path, true, d, err))
		return -1;
	if (device_same(was, d))
		return 0;
	device_close(d);
	return refuse_other(was->path, err);
}

void device_close(struct device *d)
{
	if (d->reader)
		reader_stop(d->reader);
	d->reader = NULL;
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

static int read_by_reader(const struct device *d, u64 block, u32 count, void *buf)
{
	bool hung = reader_hangs(d->reader);
	int ret = reader_read(d->reader, block, count, buf);

	if (!hung && reader_hangs(d->reader))
		device_note(d->path, true);
	return ret;
}

int device_read(const struct device *d, u64 block, u32 count, void *buf)
{
	size_t left = (size_t)count << KVP_BLOCK_SHIFT;
	off_t at = (off_t)(block << KVP_BLOCK_SHIFT);
	char *p = buf;
	ssize_t n;

	if (block > d->blocks || count > d->blocks - block)
		return -EINVAL;
	if (d->reader)
		return read_by_reader(d, block, count, buf);
	while (left) {
		n = pread(d->fd, p, left, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

bool device_same(const struct device *a, const struct device *b)
{
	if (a->rdev || b->rdev)
		return a->rdev == b->rdev;
	return a->file_dev == b->file_dev && a->file_ino == b->file_ino;
}

dev_t device_make(unsigned int ma, unsigned int mi)
{
	return makedev(ma, mi);
}

const char *device_numbers(dev_t rdev, char buf[32])
{
	snprintf(buf, 32, "%u:%u", major(rdev), minor(rdev));
	return buf;
}

/* First line of a small file, without its newline. */
static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(buf, (int)size, f);
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = 0;
	return ok;
}

static void sys_path(dev_t rdev, const char *rest, char *buf, size_t size)
{
	snprintf(buf, size, "/sys/dev/block/%u:%u/%s", major(rdev), minor(rdev), rest);
}

bool device_readonly(const struct device *d)
{
	char path[128], text[8];

	sys_path(d->rdev, "ro", path, sizeof(path));
	return d->rdev && read_line(path, text, sizeof(text)) ? *text == '1' : d->readonly;
}

dev_t device_disk(dev_t rdev)
{
	char path[128], text[64];
	unsigned int ma, mi;

	sys_path(rdev, "partition", path, sizeof(path));
	if (access(path, F_OK))
		return rdev;
	/* the link leads to a folder of the disk */
	sys_path(rdev, "../dev", path, sizeof(path));
	if (!read_line(path, text, sizeof(text)) || sscanf(text, "%u:%u", &ma, &mi) != 2)
		return rdev;
	return makedev(ma, mi);
}

int device_rotates(dev_t rdev)
{
	char path[128], text[8];

	sys_path(device_disk(rdev), "queue/rotational", path, sizeof(path));
	return rdev && read_line(path, text, sizeof(text)) ? *text != '0' : -1;
}

int device_discards(dev_t rdev)
{
	char path[128], text[32];

	sys_path(device_disk(rdev), "queue/discard_max_bytes", path, sizeof(path));
	return rdev && read_line(path, text, sizeof(text)) ? strtoull(text, NULL, 10) > 0 : -1;
}

bool device_sys_line(dev_t rdev, const char *rest, char *buf, size_t size)
{
	char path[256];

	sys_path(rdev, rest, path, sizeof(path));
	return read_line(path, buf, size);
}

const char *device_name(dev_t rdev, char *buf, size_t size)
{
	char path[128], link[PATH_MAX], name[256];
	ssize_t n;
	char *p;

	sys_path(rdev, "dm/name", path, sizeof(path));
	if (read_line(path, name, sizeof(name))) {
		snprintf(buf, size, "/dev/mapper/%s", name);
		return buf;
	}
	sys_path(rdev, "", path, sizeof(path));
	path[strlen(path) - 1] = 0;
	n = readlink(path, link, sizeof(link) - 1);
	link[n < 0 ? 0 : n] = 0;
	p = strrchr(link, '/');
	if (!p) {
		snprintf(buf, size, "%u:%u", major(rdev), minor(rdev));
		return buf;
	}
	/* a '!' of a kernel name is a '/' in /dev */
	snprintf(buf, size, "/dev/%s", p + 1);
	for (p = buf; (p = strchr(p, '!')); )
		*p = '/';
	return buf;
}

/* libdevmapper quotes backslashes in a table. Nothing else in a table can be quoted. */
static bool is_word(const char *path)
{
	size_t len = strlen(path);

	while (*path > ' ' && *path <= '~')
		path++;
	return !*path && len < DEVICE_WORD;
}

const char *device_word(const struct device *d, char buf[DEVICE_WORD])
{
	char name[PATH_MAX];
	const char *path = d->path;
	dev_t rdev = 0;

	if (strncmp(path, "/dev/", 5) || strstr(path, "/../") || !is_word(path))
		path = device_name(d->rdev, name, sizeof(name));
	if (is_word(path) && !device_find(path, &rdev) && rdev == d->rdev)
		memcpy(buf, path, strlen(path) + 1); /* fits: is_word() */
	else
		device_numbers(d->rdev, buf);
	return buf;
}

int device_find(const char *path, dev_t *rdev)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	*rdev = st.st_rdev;
	return 0;
}

static bool is_swap(dev_t rdev)
{
	FILE *f = fopen("/proc/swaps", "re");
	char line[PATH_MAX];
	dev_t d = 0;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\n")] = 0;
		found = *line == '/' && !device_find(line, &d) && d == rdev;
	}
	if (f)
		fclose(f);
	return found;
}

void device_unescape(char *text)
{
	unsigned int code;
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
			*to++ = (char)code;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

bool device_mountpoint(dev_t rdev, char *buf, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX + 256], where[PATH_MAX];
	unsigned int ma, mi;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = sscanf(line, "%*u %*u %u:%u %*s %4095s", &ma, &mi, where) == 3 &&
			makedev(ma, mi) == rdev;
	}
	if (f)
		fclose(f);
	if (found) {
		device_unescape(where);
		snprintf(buf, size, "mounted at %.200s", where);
	}
	if (!found && (found = is_swap(rdev)))
		snprintf(buf, size, "in use as swap");
	return found;
}

/* Device number in the file @dir/@name/dev of /sys. */
static bool sys_devno(const char *dir, const char *name, dev_t *rdev)
{
	char path[PATH_MAX], line[64];
	unsigned int ma, mi;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/dev", dir, name) >= sizeof(path))
		return false;
	if (!read_line(path, line, sizeof(line)) || sscanf(line, "%u:%u", &ma, &mi) != 2)
		return false;
	*rdev = makedev(ma, mi);
	return true;
}

unsigned int device_partitions(dev_t rdev, dev_t *list, unsigned int max)
{
	char path[PATH_MAX];
	unsigned int n = 0;
	struct dirent *e;
	DIR *dir;

	sys_path(rdev, "", path, sizeof(path));
	dir = opendir(path);
	/* folders with the number of a device: the disk has no others */
	while (dir && n < max && (e = readdir(dir)))
		if (*e->d_name != '.' && sys_devno(path, e->d_name, &list[n]) && list[n] != rdev)
			n++;
	if (dir)
		closedir(dir);
	return n;
}

bool device_holder(dev_t rdev, char *name, size_t size, char *dm_uuid, size_t uuid_size)
{
	char path[PATH_MAX], file[PATH_MAX + 300];
	struct dirent *e;
	DIR *dir;

	*name = *dm_uuid = 0;
	sys_path(rdev, "holders", path, sizeof(path));
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (*e->d_name == '.')
			continue;
		snprintf(name, size, "%s", e->d_name);
		snprintf(file, sizeof(file), "%s/%s/dm/uuid", path, e->d_name);
		if (!read_line(file, dm_uuid, uuid_size))
			*dm_uuid = 0;
		break;
	}
	if (dir)
		closedir(dir);
	return *name;
}

bool device_of_multipath(dev_t rdev)
{
	char path[PATH_MAX], text[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/run/udev/data/b%u:%u", major(rdev), minor(rdev));
	f = fopen(path, "re");
	while (f && !found && fgets(text, sizeof(text), f))
		found = !strcmp(text, "E:DM_MULTIPATH_DEVICE_PATH=1\n");
	if (f)
		fclose(f);
	return found;
}

bool device_suspended(dev_t rdev)
{
	char path[PATH_MAX], text[8];

	sys_path(rdev, "dm/suspended", path, sizeof(path));
	return read_line(path, text, sizeof(text)) && *text == '1';
}

static bool mounted_through(dev_t rdev, int depth, char *buf, size_t size);

/* Looks for mounts below @rdev: among its holders, or with "" among its partitions. */
static bool mounted_below(dev_t rdev, const char *rest, int depth, char *buf, size_t size)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;
	dev_t below;
	DIR *dir;

	sys_path(rdev, rest, path, sizeof(path));
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		if (*e->d_name == '.' || !sys_devno(path, e->d_name, &below) || below == rdev)
			continue;
		found = mounted_through(below, depth + 1, buf, size);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool mounted_through(dev_t rdev, int depth, char *buf, size_t size)
{
	char where[480], name[200];

	if (depth > MAX_DEPTH)
		return false;
	if (!device_mountpoint(rdev, where, sizeof(where)))
		return mounted_below(rdev, "holders", depth, buf, size) ||
		       mounted_below(rdev, "", depth, buf, size);
	snprintf(buf, size, "%s", where);
	if (depth && strlen(buf) + sizeof(name) < size)
		snprintf(buf + strlen(buf), size - strlen(buf), " (through %s)",
			 device_name(rdev, name, sizeof(name)));
	return true;
}

static int refuse_held(const struct device *d, const char *holder, const char *uuid,
		       struct err *err)
{
	char path[PATH_MAX], name[129];

	snprintf(path, sizeof(path), "/sys/class/block/%.200s/dm/name", holder);
	if (strncmp(uuid, "KVPOOL-", 7) || !read_line(path, name, sizeof(name)))
		return err_set(err, ERR_HELD, d->path, "stop what is stacked on it first",
			       "held by %.200s%s%.128s%s", holder, *uuid ? " (" : "", uuid,
			       *uuid ? ")" : "");
	return err_set(err, ERR_HELD, d->path,
		       "name another device; or export or destroy that pool",
		       "it is a leg of pool %s, which is active", name);
}

static int hold(void *arg, struct err *err)
{
	const struct device *d = arg;
	int fd = open(d->path, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd < 0 && errno == EBUSY)
		return err_set(err, ERR_HELD, d->path, "see what uses it: lsblk, fuser",
			       "another driver or program holds it");
	if (fd < 0)
		return err_set(err, ERR_IO, d->path, "check the device", "%s", strerror(errno));
	close(fd);
	return 0;
}

int device_unused(const struct device *d, struct err *err)
{
	char text[768], uuid[160], holder[256];

	if (!d->rdev)
		return 0;
	/* to free a leg, no user would unmount the pool */
	if (device_holder(d->rdev, holder, sizeof(holder), uuid, sizeof(uuid)) &&
	    !strncmp(uuid, "KVPOOL-", 7))
		return refuse_held(d, holder, uuid, err);
	if (mounted_through(d->rdev, 0, text, sizeof(text)))
		return err_set(err, ERR_MOUNTED, d->path, "unmount it first (swap: swapoff)", "%s",
			       text);
	if (*holder)
		return refuse_held(d, holder, uuid, err);
	return device_apart(d->path, hold, (void *)d, NULL, 0, err);
}

/* A path may lead elsewhere by now. */
static bool is_still(int fd, const struct device *d)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (d->rdev || S_ISBLK(st.st_mode))
		return S_ISBLK(st.st_mode) && st.st_rdev == d->rdev;
	return st.st_dev == d->file_dev && st.st_ino == d->file_ino;
}

static int open_again(const struct device *d, int flags, struct err *err)
{
	int fd = open(d->path, flags | O_CLOEXEC);

	if (fd >= 0 && is_still(fd, d))
		return fd;
	if (fd >= 0) {
		close(fd);
		return refuse_other(d->path, err);
	}
	if (errno == EBUSY)
		return err_set(err, ERR_HELD, d->path, "see what uses it: lsblk, fuser",
			       "another driver or program holds it");
	if (errno == EROFS || errno == EACCES || errno == EPERM)
		return err_set(err, ERR_READ_ONLY, d->path, "make it writable: blockdev --setrw",
			       "cannot be written: %s", strerror(errno));
	return err_set(err, ERR_IO, d->path, "check the device", "%s", strerror(errno));
}

int device_claim(const struct device *d, struct err *err)
{
	return open_again(d, O_RDWR | O_EXCL, err);
}

int device_again(const struct device *d, bool write, struct err *err)
{
	return open_again(d, write ? O_RDWR : O_RDONLY, err);
}

void device_announce(dev_t rdev)
{
	char path[128];
	int fd;

	sys_path(rdev, "uevent", path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "change", 6) < 0)
		errno = 0;	/* udev finds the change at the next boot */
	close(fd);
}
