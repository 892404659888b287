// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "expect.h"
#include "silent.h"
#include "watched.h"

/*
 * These images do not answer reads from byte @from to @to, or with @error if that is not 0; seen by
 * all processes.
 */
static struct silent {
	unsigned int count;
	ino_t images[IMAGE_MAX_LEGS];
	off_t from, to;
	int error;
} *silent;

/* @other is a second path to the file open as @fd. */
static struct {
	ino_t other;
	int fd;
} twins = { .fd = -1 };

static int by_path(int fd)
{
	struct stat st;

	return twins.fd >= 0 && !fstat(fd, &st) && st.st_ino == twins.other ? twins.fd : fd;
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return syscall(SYS_pwrite64, by_path(fd), buf, size, at);
}

/* In the place of the C library's: a read of such an image hangs, or fails. */
ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	struct stat st;
	unsigned int i;

	for (i = 0; silent && i < silent->count; i++)
		while (!fstat(fd, &st) && st.st_ino == silent->images[i] && i < silent->count &&
		       at + (off_t)size > silent->from && at < silent->to) {
			errno = silent->error;
			if (errno)
				return -1;
			pause();
		}
	return syscall(SYS_pread64, by_path(fd), buf, size, at);
}

void file_two_paths(const char *file, const char *other)
{
	struct stat st;

	if (twins.fd >= 0)
		close(twins.fd);
	twins.fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
	expect(!file || (twins.fd >= 0 && !stat(other, &st)));
	twins.other = file ? st.st_ino : 0;
}

void image_hangs_at(const struct image *m, u32 leg, off_t from, off_t to)
{
	struct stat st;

	if (!silent)
		silent = mmap(NULL, sizeof(*silent), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(silent != MAP_FAILED && !fstat(m->fd[leg], &st));
	silent->from = from;
	silent->to = to;
	silent->error = 0;
	silent->images[silent->count++] = st.st_ino;
	device_patience = 3;
}

void image_hangs(const struct image *m, u32 leg)
{
	image_hangs_at(m, leg, 0, INT64_MAX);
}

void image_fails_from(const struct image *m, u32 leg, u64 from, u64 to, int error)
{
	image_hangs_at(m, leg, (off_t)from, (off_t)to);
	silent->error = error;
}

/* A block at byte @at cannot be read. */
void image_fails_at(const struct image *m, u32 leg, u64 at, int error)
{
	image_fails_from(m, leg, at, at + KVP_BLOCK_SIZE, error);
}

void image_answers(void)
{
	silent->count = 0;
	device_patience = WATCHED_PATIENCE;
}
