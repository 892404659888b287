// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"
#include "owner.h"
#include "watched.h"

#define RECORDS		256	/* of one answer of the kernel */
#define OPEN_FLAGS	(O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_NOATIME)

/* A part of a range that is in use. */
struct part {
	u32 range;
	u64 offset, bytes;
	u64 inode, at;		/* 0: the file system does not know */
};

struct parts {
	struct part *list;
	size_t count;
};

struct search {
	dev_t rdev;
	const char *root;
	const struct owner_range *ranges;
	u32 count;
	int fd;			/* of the root */
	FILE *out;
	struct parts wanted, rest;	/* in use; of these, what has no owner yet */
	char **todo;		/* directories, by path from the root */
	size_t todos;
	u64 unread;
	bool unknown;		/* some of wanted has no inode */
};

static void *grown(void *list, size_t count, size_t size)
{
	/* when count is a power of two, the room is used up */
	if (count & (count - 1))
		return list;
	list = realloc(list, (count ? count * 2 : 1) * size);
	if (!list)
		_exit(1);
	return list;
}

static void parts_add(struct parts *p, const struct part *new)
{
	p->list = grown(p->list, p->count, sizeof(*p->list));
	p->list[p->count++] = *new;
}

/* Takes from @p what lies within @offset and @end. */
static void parts_take(struct parts *p, u64 offset, u64 end)
{
	struct part old;
	size_t i = 0;

	while (i < p->count) {
		old = p->list[i];
		if (old.offset >= end || old.offset + old.bytes <= offset) {
			i++;
			continue;
		}
		p->list[i] = p->list[--p->count];
		if (old.offset < offset) {
			struct part left = old;

			left.bytes = offset - old.offset;
			parts_add(p, &left);
		}
		if (old.offset + old.bytes > end) {
			old.bytes = old.offset + old.bytes - end;
			old.offset = end;
			parts_add(p, &old);
		}
	}
}

static void tell(struct search *s, const struct part *p, enum owner_kind kind, const char *path)
{
	struct owner o = { .range = p->range, .kind = kind, .offset = p->offset,
			   .bytes = p->bytes, .inode = p->inode, .at = p->at };

	snprintf(o.path, sizeof(o.path), "%s", path);
	fwrite(&o, sizeof(o), 1, s->out);
}

/* --- what the file system knows by itself ------------------------------------------------ */

static void take_record(struct search *s, const struct fsmap *f, const struct part *range)
{
	u64 end = range->offset + range->bytes, last = f->fmr_physical + f->fmr_length;
	struct part p = *range;

	if (f->fmr_physical > p.offset)
		p.offset = f->fmr_physical;
	if (last < end)
		end = last;
	if (p.offset >= end)
		return;
	p.bytes = end - p.offset;
	if (!(f->fmr_flags & FMR_OF_SPECIAL_OWNER)) {
		p.inode = f->fmr_owner;
		if (!(f->fmr_flags & (FMR_OF_ATTR_FORK | FMR_OF_EXTENT_MAP)))
			p.at = f->fmr_offset + (p.offset - f->fmr_physical);
		parts_add(&s->wanted, &p);
	} else if (f->fmr_owner == FMR_OWN_UNKNOWN) {
		parts_add(&s->wanted, &p);
		s->unknown = true;
	} else {
		tell(s, &p, f->fmr_owner == FMR_OWN_FREE ? OWNER_FREE : OWNER_METADATA, "");
	}
	parts_take(&s->rest, p.offset, p.offset + p.bytes);
}

/* As the kernel's new_encode_dev(). */
static u32 device_code(dev_t rdev)
{
	return (minor(rdev) & 0xff) | major(rdev) << 8 | (minor(rdev) & ~0xffu) << 12;
}

static void ask_range(struct search *s, const struct part *range, struct fsmap_head *h)
{
	u32 i;

	memset(h, 0, sizeof(*h));
	h->fmh_count = RECORDS;
	h->fmh_keys[0].fmr_device = h->fmh_keys[1].fmr_device = device_code(s->rdev);
	h->fmh_keys[0].fmr_physical = range->offset;
	h->fmh_keys[1].fmr_physical = range->offset + range->bytes - 1;
	h->fmh_keys[1].fmr_owner = h->fmh_keys[1].fmr_offset = ~0ull;
	h->fmh_keys[1].fmr_flags = ~0u;
	while (!ioctl(s->fd, FS_IOC_GETFSMAP, h) && h->fmh_entries) {
		for (i = 0; i < h->fmh_entries; i++)
			take_record(s, &h->fmh_recs[i], range);
		if (h->fmh_recs[h->fmh_entries - 1].fmr_flags & FMR_OF_LAST)
			break;
		fsmap_advance(h);
	}
}

/* Fills wanted: of all ranges what is in use. What the kernel does not name is taken for in use. */
static void ask_file_system(struct search *s)
{
	struct fsmap_head *h = malloc(fsmap_sizeof(RECORDS));
	struct part p;
	size_t i;
	u32 r;

	if (!h)
		_exit(1);
	for (r = 0; r < s->count; r++) {
		p = (struct part){ .range = r, .offset = s->ranges[r].offset,
				   .bytes = s->ranges[r].bytes };
		s->rest.count = 0;
		parts_add(&s->rest, &p);
		ask_range(s, &p, h);
		for (i = 0; i < s->rest.count; i++)
			parts_add(&s->wanted, &s->rest.list[i]);
		s->unknown |= s->rest.count;
	}
	free(h);
	s->rest.count = 0;
	for (i = 0; i < s->wanted.count; i++)
		parts_add(&s->rest, &s->wanted.list[i]);
}

/* --- all files ------------------------------------------------------------------------------ */

/* Files of an XFS with a realtime device may lie on that one. */
static bool on_other_device(int fd)
{
	struct fsxattr x;

	return !ioctl(fd, FS_IOC_FSGETXATTR, &x) && x.fsx_xflags & FS_XFLAG_REALTIME;
}

static void take_extent(struct search *s, int fd, const struct fiemap_extent *e,
			const struct stat *st, const char *path)
{
	u64 end = e->fe_physical + e->fe_length;
	size_t i;

	if (e->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_ENCODED |
			   FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED))
		return;
	for (i = 0; i < s->wanted.count; i++) {
		struct part p = s->wanted.list[i];
		u64 last = p.offset + p.bytes < end ? p.offset + p.bytes : end;

		if (p.offset < e->fe_physical)
			p.offset = e->fe_physical;
		if (p.inode || p.offset >= last || on_other_device(fd))
			continue;
		p.bytes = last - p.offset;
		p.inode = st->st_ino;
		p.at = e->fe_logical + (p.offset - e->fe_physical);
		tell(s, &p, S_ISDIR(st->st_mode) ? OWNER_DIRECTORY : OWNER_FILE, path);
		parts_take(&s->rest, p.offset, last);
	}
}

static void ask_extents(struct search *s, int fd, const struct stat *st, const char *path)
{
	_Alignas(struct fiemap) char room[sizeof(struct fiemap) +
					  RECORDS * sizeof(struct fiemap_extent)];
	struct fiemap *m = (struct fiemap *)room;
	const struct fiemap_extent *e = NULL;
	u64 next = 0;
	u32 i;

	do {
		memset(m, 0, sizeof(*m));
		m->fm_start = next;
		m->fm_length = FIEMAP_MAX_OFFSET - next;
		m->fm_extent_count = RECORDS;
		if (ioctl(fd, FS_IOC_FIEMAP, m)) {
			/* XFS does not tell where directories lie */
			s->unread += !S_ISDIR(st->st_mode) || errno != EOPNOTSUPP;
			return;
		}
		for (i = 0; i < m->fm_mapped_extents; i++) {
			e = &m->fm_extents[i];
			take_extent(s, fd, e, st, path);
		}
		if (!i || e->fe_logical + e->fe_length <= next)
			return;
		next = e->fe_logical + e->fe_length;
	} while (!(e->fe_flags & FIEMAP_EXTENT_LAST));
}

/* The file system has named the inode; this is its path. */
static void take_inode(struct search *s, const struct stat *st, const char *path)
{
	size_t i;

	for (i = 0; i < s->wanted.count; i++) {
		const struct part *p = &s->wanted.list[i];

		if (p->inode != st->st_ino)
			continue;
		tell(s, p, S_ISDIR(st->st_mode) ? OWNER_DIRECTORY : OWNER_FILE, path);
		parts_take(&s->rest, p->offset, p->offset + p->bytes);
	}
}

static void visit(struct search *s, int dir, const char *name, const char *path)
{
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		s->unread++;
		return;
	}
	if (st.st_dev != s->rdev)
		return;
	take_inode(s, &st, path);
	if (S_ISDIR(st.st_mode)) {
		s->todo = grown(s->todo, s->todos, sizeof(*s->todo));
		s->todo[s->todos] = strdup(path);
		if (!s->todo[s->todos++])
			_exit(1);
	}
	if (!s->unknown || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return;
	fd = openat(dir, name, OPEN_FLAGS);
	if (fd < 0) {
		s->unread++;
		return;
	}
	ask_extents(s, fd, &st, path);
	close(fd);
}

static void list_directory(struct search *s, const char *path)
{
	int fd = openat(s->fd, *path ? path : ".", OPEN_FLAGS | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char below[PATH_MAX];
	struct dirent *e;

	errno = 0;
	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "",
				     e->d_name) < sizeof(below))
			visit(s, dirfd(dir), e->d_name, below);
		else
			s->unread++;
		errno = 0;
	}
	s->unread += !dir || errno;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

static int search(void *arg, FILE *out)
{
	struct search *s = arg;
	char *path;
	size_t i;

	s->out = out;
	s->fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME);
	if (s->fd < 0)
		return 1;
	ask_file_system(s);
	if (s->wanted.count)
		visit(s, s->fd, ".", "");
	while (s->todos) {
		path = s->todo[--s->todos];
		list_directory(s, path);
		free(path);
	}
	for (i = 0; i < s->rest.count; i++)
		tell(s, &s->rest.list[i], OWNER_NONE, "");
	return fwrite(&s->unread, sizeof(s->unread), 1, out) != 1;
}

/* --- for the caller --------------------------------------------------------------------------- */

bool owner_mounted(dev_t rdev, struct owner_mount *m)
{
	char *line = NULL, where[PATH_MAX], root[PATH_MAX];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned int ma, mi;
	bool found = false;
	const char *rest;
	size_t size = 0;

	while (f && !(found && m->whole) && getline(&line, &size, f) > 0) {
		rest = strstr(line, " - ");
		if (!rest || sscanf(line, "%*u %*u %u:%u %4095s %4095s", &ma, &mi, root,
				    where) != 4 || makedev(ma, mi) != rdev)
			continue;
		if (sscanf(rest, " - %31s", m->type) != 1)
			continue;
		device_unescape(where);
		memcpy(m->path, where, sizeof(where));
		m->whole = !strcmp(root, "/");
		found = true;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

bool owner_knows(const char *type)
{
	return !strcmp(type, "ext4") || !strcmp(type, "ext3") || !strcmp(type, "ext2") ||
	       !strcmp(type, "xfs");
}

int owner_find(dev_t rdev, const struct owner_mount *m, const struct owner_range *ranges,
	       u32 count, struct owners *o, struct err *err)
{
	struct search s = { .rdev = rdev, .root = m->path, .ranges = ranges, .count = count };
	char *text;
	size_t size;

	memset(o, 0, sizeof(*o));
	if (watched_run(search, &s, WATCHED_PATIENCE, m->path, &text, &size, err))
		return -1;
	if (size < sizeof(o->unread) || (size - sizeof(o->unread)) % sizeof(*o->list)) {
		free(text);
		return err_set(err, ERR_FAILED, m->path, "try again", "the search broke off");
	}
	o->list = (struct owner *)text;
	o->count = size / sizeof(*o->list);
	memcpy(&o->unread, text + o->count * sizeof(*o->list), sizeof(o->unread));
	o->cut = o->count > OWNERS_MAX;
	if (o->cut)
		o->count = OWNERS_MAX;
	return 0;
}

void owner_free(struct owners *o)
{
	free(o->list);
	memset(o, 0, sizeof(*o));
}
