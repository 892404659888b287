// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"
#include "remember.h"

#define MAX_DEPTH	8		/* of devices stacked on each other */
#define MAX_TEXT	(1u << 20)	/* bytes about one device */

const char *remember_dir = "/run", *remember_sys = "/sys/dev/block";

/* --- stamps ------------------------------------------------------------------------------- */

/* Numbers of a file in the folder of @rdev; how many there are, at most @max. */
static unsigned int numbers(dev_t rdev, const char *file, unsigned long long *list,
			    unsigned int max)
{
	char path[PATH_MAX];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u:%u/%s", remember_sys, major(rdev), minor(rdev), file);
	f = fopen(path, "re");
	while (f && n < max && fscanf(f, "%llu", &list[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

static bool is_loop(dev_t rdev)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u:%u/loop", remember_sys, major(rdev), minor(rdev));
	return !access(path, F_OK);
}

/* Adds the counters of @rdev, a whole disk. */
static bool add_counters(dev_t rdev, struct stamp *s)
{
	unsigned long long stat[17] = { 0 }, on = 0;

	if (is_loop(rdev) || !numbers(rdev, "queue/iostats", &on, 1) || !on ||
	    numbers(rdev, "stat", stat, 17) < 15)
		return false;
	s->reads += stat[0] + stat[2];
	/* writes, then discards; a write of zeros counts as one of them */
	s->writes += stat[4] + stat[6] + stat[11] + stat[13];
	return true;
}

/* Adds the counters of @rdev, and of all that is below. */
static bool add_stack(dev_t rdev, int depth, struct stamp *s)
{
	char path[PATH_MAX], file[PATH_MAX + 300];
	unsigned int ma, mi;
	struct dirent *e;
	bool ok;
	FILE *f;
	DIR *dir;

	rdev = device_disk(rdev);
	ok = depth < MAX_DEPTH && add_counters(rdev, s);
	snprintf(path, sizeof(path), "%s/%u:%u/slaves", remember_sys, major(rdev), minor(rdev));
	dir = ok ? opendir(path) : NULL;
	while (ok && dir && (e = readdir(dir))) {
		if (*e->d_name == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s/dev", path, e->d_name);
		f = fopen(file, "re");
		ok = f && fscanf(f, "%u:%u", &ma, &mi) == 2 &&
		     add_stack(makedev(ma, mi), depth + 1, s);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return ok;
}

bool stamp_take(dev_t rdev, struct stamp *s)
{
	unsigned long long seq, sectors;

	memset(s, 0, sizeof(*s));
	if (!rdev || !numbers(device_disk(rdev), "diskseq", &seq, 1) ||
	    !numbers(rdev, "size", &sectors, 1))
		return false;
	s->diskseq = seq;
	s->sectors = sectors;
	return add_stack(rdev, 0, s);
}

static bool same(const struct stamp *a, const struct stamp *b)
{
	return a->diskseq == b->diskseq && a->sectors == b->sectors && a->writes == b->writes;
}

/* --- the file ---------------------------------------------------------------------------- */

/* Its head: what is remembered is in the words of one build. */
struct head {
	u64 dev, ino, size, seconds, nanoseconds;
};

struct entry {
	u64 rdev, size;
	struct stamp stamp;
};

static bool this_build(struct head *h)
{
	struct stat st;

	if (stat("/proc/self/exe", &st))
		return false;
	*h = (struct head){ st.st_dev, st.st_ino, (u64)st.st_size, (u64)st.st_mtim.tv_sec,
			    (u64)st.st_mtim.tv_nsec };
	return true;
}

static struct remembered *find(const struct memory *m, dev_t rdev)
{
	unsigned int i;

	for (i = 0; i < m->count; i++)
		if (m->list[i].rdev == rdev)
			return &m->list[i];
	return NULL;
}

/* Takes over @text. */
static bool set(struct memory *m, dev_t rdev, const struct stamp *stamp, void *text, size_t size)
{
	struct remembered *r = find(m, rdev), *list;

	if (r) {
		free(r->text);
	} else {
		list = realloc(m->list, (m->count + 1) * sizeof(*list));
		if (!list) {
			free(text);
			return false;
		}
		m->list = list;
		r = &list[m->count++];
	}
	*r = (struct remembered){ rdev, *stamp, text, size };
	return true;
}

static bool read_entry(struct memory *m, FILE *f)
{
	struct entry e;
	void *text = NULL;

	if (fread(&e, sizeof(e), 1, f) != 1 || e.size > MAX_TEXT)
		return false;
	if (e.size) {
		text = malloc(e.size);
		if (!text || fread(text, e.size, 1, f) != 1) {
			free(text);
			return false;
		}
	}
	return set(m, (dev_t)e.rdev, &e.stamp, text, e.size);
}

void memory_open(struct memory *m, const char *name)
{
	struct head head, now;
	FILE *f;
	int fd;

	memset(m, 0, sizeof(*m));
	if ((size_t)snprintf(m->path, sizeof(m->path), "%s/kvpoolctl-%s", remember_dir, name) >=
	    sizeof(m->path) - sizeof(".new-4294967295")) {
		*m->path = 0;
		return;
	}
	fd = open(m->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	if (f && fread(&head, sizeof(head), 1, f) == 1 && this_build(&now) &&
	    !memcmp(&head, &now, sizeof(now)))
		while (read_entry(m, f))
			;
	if (f)
		fclose(f);
}

const struct remembered *memory_find(const struct memory *m, dev_t rdev, const struct stamp *now)
{
	const struct remembered *r = find(m, rdev);

	return r && same(&r->stamp, now) ? r : NULL;
}

void memory_keep(struct memory *m, dev_t rdev, const struct stamp *before, const void *text,
		 size_t size)
{
	struct stamp now;
	void *copy = NULL;

	if (!stamp_take(rdev, &now) || !same(&now, before) || now.reads == before->reads ||
	    size > MAX_TEXT)
		return;
	if (size) {
		copy = malloc(size);
		if (!copy)
			return;
		memcpy(copy, text, size);
	}
	m->changed |= set(m, rdev, before, copy, size);
}

/* Devices that have gone are forgotten. */
static bool is_here(const struct remembered *r)
{
	unsigned long long seq;

	return numbers(device_disk(r->rdev), "diskseq", &seq, 1) && seq == r->stamp.diskseq;
}

static bool write_file(const struct memory *m, FILE *f)
{
	struct head head;
	unsigned int i;

	if (!this_build(&head) || fwrite(&head, sizeof(head), 1, f) != 1)
		return false;
	for (i = 0; i < m->count; i++) {
		const struct remembered *r = &m->list[i];
		struct entry e = { r->rdev, r->size, r->stamp };

		if (is_here(r) && (fwrite(&e, sizeof(e), 1, f) != 1 ||
				   (r->size && fwrite(r->text, r->size, 1, f) != 1)))
			return false;
	}
	return true;
}

/* A new file takes the place of the old one, as others may be reading that. */
static void save(const struct memory *m)
{
	char path[sizeof(m->path) + 16];
	FILE *f;
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s.new-%u", m->path, (unsigned int)getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	f = fdopen(fd, "w");
	ok = f && write_file(m, f);
	if (f)
		ok &= !fclose(f);
	else
		close(fd);
	if (!ok || rename(path, m->path))
		unlink(path);
}

void memory_close(struct memory *m)
{
	unsigned int i;

	if (m->changed && *m->path)
		save(m);
	for (i = 0; i < m->count; i++)
		free(m->list[i].text);
	free(m->list);
	memset(m, 0, sizeof(*m));
}
